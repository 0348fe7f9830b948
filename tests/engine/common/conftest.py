"""A terminal to print on."""

from __future__ import annotations

import pytest

from engine.common import output as terminal
from tests.engine.common.screens import Screen


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """A terminal that obeys codes, with 60 columns."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(terminal, "_console_obeys", lambda stream: True)
    return Screen()
