from __future__ import annotations

import pytest

from tests.frontier_app.conftest import home, once_as_in_a_server, short_probe
from tests.goldens.studies import Studies

__all__ = ["home", "once_as_in_a_server", "short_probe"]


@pytest.fixture(scope="session")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Studies:
    return Studies(tmp_path_factory.mktemp("goldens"))
