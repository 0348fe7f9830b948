"""The lists of measures and mechanisms on a terminal."""

from __future__ import annotations

import pytest

from engine.cli import catalogue
from engine.cli.main import main


@pytest.mark.parametrize("command", ["measures", "mechanisms"])
@pytest.mark.parametrize("width", [79, 139])
def test_sentences_break_between_words_and_fit_the_terminal(
    command: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command]) == 0
    whole = capsys.readouterr().out
    monkeypatch.setattr(catalogue, "width_of", lambda stream: width)
    assert main([command]) == 0
    fitted = capsys.readouterr().out
    assert fitted.split() == whole.split(), "breaking lines changed the words"
    below = [line for line in fitted.splitlines() if line.startswith("    ")]
    assert len(below) > len(whole.splitlines()) / 2 and max(map(len, below)) <= width
