"""The self-test passes here, within its time, and notices what it is there to notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.bundle import selftest
from engine.bundle.replay import Replay
from engine.cli.main import main


@pytest.mark.slow
def test_all_checks_pass_and_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest"]) == 0
    said = capsys.readouterr().out
    assert said.count("\nok  ") == len(selftest._CHECKS) and "all passed" in said


@pytest.mark.slow
def test_without_compilation_the_draws_are_the_same(tmp_path: Path) -> None:
    import subprocess
    import sys

    script = (
        "from engine.bundle.selftest import _draws; from pathlib import Path; import sys;"
        "sys.exit(not _draws(Path(sys.argv[1]))[0])"
    )
    from frontier_app.session.launch import environment

    found = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], env={**environment(), "FRONTIER_NUMBA": "0"}, capture_output=True
    )
    assert found.returncode == 0, found.stderr.decode()


def test_a_failure_is_said_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(folder: Path) -> tuple[bool, str]:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(selftest, "_CHECKS", {"broken": broken, "models": selftest._models})
    assert main(["selftest"]) == 1
    said = capsys.readouterr().out
    assert "FAILED  broken: ended with ZeroDivisionError: by zero" in said
    assert "ok      models" in said and "1 failed" in said


def test_other_draws_are_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(selftest, "KEY", bytes(16))
    passed, result = selftest._draws(tmp_path)
    assert not passed and "digest" in result


@pytest.mark.slow
def test_a_release_that_is_not_remade_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(selftest, "replay", lambda out, raw: Replay("x", ("release.csv",), ("n_records differs",)))
    assert selftest._release(tmp_path) == (False, "n_records differs")
