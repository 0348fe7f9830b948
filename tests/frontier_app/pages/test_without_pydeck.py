"""What Streamlit draws maps of places with is not installed for the demo, and no page asks for it."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from frontier_app.session.workspace import Workspace
from tests.frontier_app.conftest import to_page
from tests.frontier_app.pages.test_pages import app


@pytest.mark.slow
@pytest.mark.parametrize("page", ["explore", "compare", "release"])
def test_a_page_with_figures_is_drawn(page: str, swept: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pydeck", None)
    assert not to_page(app(swept()), page).exception
