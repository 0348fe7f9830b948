"""The self-test passes here, within its time, and notices what it is there to notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.bundle import selftest
from engine.bundle import selftest as selftest_households
from engine.bundle.selftest import PLAN
from engine.cli.main import main
from engine.common.errors import EngineError


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
        "from engine.bundle.selftest import _draws; from pathlib import Path; import sys; _draws(Path(sys.argv[1]))"
    )
    from frontier_app.session.launch import environment

    found = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], env={**environment(), "FRONTIER_NUMBA": "0"}, capture_output=True
    )
    assert found.returncode == 0, found.stderr.decode()


def test_a_failure_is_said_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(folder: Path) -> str:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(selftest, "_CHECKS", {"broken": broken, "spaces": selftest._spaces})
    assert main(["selftest"]) == 1
    said = capsys.readouterr().out
    assert "FAILED  broken: ended with ZeroDivisionError: by zero" in said
    assert "ok      spaces" in said and "1 failed" in said


def test_other_draws_are_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(selftest, "KEY", bytes(16))
    with pytest.raises(selftest.Mismatch, match="digest"):
        selftest._draws(tmp_path)


def test_a_wrong_frontier_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import numpy as np

    monkeypatch.setattr("engine.bundle.selftest.undominated", lambda points: np.ones(len(points), bool))
    with pytest.raises(selftest.Mismatch, match="2 dimensions"):
        selftest._frontier(tmp_path)


def test_households_that_are_torn_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    single = PLAN[: PLAN.index("[[mechanism]]")] + PLAN[PLAN.index("[space]") :].replace(
        "replicates = 2", 'specs = ["region:S town:S"]\nrates = ["0.2"]\nreplicates = 2'
    )
    monkeypatch.setattr(selftest_households, "PLAN", single)
    with pytest.raises(EngineError, match="a home is in two towns"):
        selftest_households.check_households(tmp_path)
