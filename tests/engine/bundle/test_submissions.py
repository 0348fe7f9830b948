"""What changed between two submissions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.bundle.submissions import Submission, differences, read_submission
from engine.cli.main import main
from engine.common.errors import EngineError, UsageError
from engine.data.domain import EditRule
from engine.decision.choice import choose
from engine.plan import AboutPlan, plan_to_toml
from engine.plan.differences import lock
from engine.plan.entries import AnalysisPlan, MechanismPlan, TablePlan
from engine.plan.samples import load
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.sweep import sweep

_RAW, _PLAN = load("czech")
_SMALL = replace(_PLAN, space=replace(_PLAN.space, swap_sizes=(1,), rates=("0.1",), replicates=10))


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("submissions")
    plans = (_SMALL, replace(_SMALL, about=AboutPlan("Car workers"), keys=_PLAN.names[:4]))
    for name, plan in zip("ab", plans, strict=True):
        sweep(_RAW, plan, folder / f"{name}.study", workers=1).close()
    with Study.open(folder / "b.study") as study:
        view = risk_utility_map(study)
        choose(study, view, "small loss", candidate=study.scenarios[int(view.frontier()[0])].label)
    return folder / "a.study", folder / "b.study"


@pytest.mark.slow
def test_two_studies(studies: tuple[Path, Path]) -> None:
    said = differences(*map(read_submission, studies))
    assert "plan, keys: was A, B, C, D, E, F, is A, B, C, D" in said
    assert "plan, about.survey: was nothing, is Car workers" in said
    assert "state: was none, is draft" in said
    assert any(text.startswith("recommended: new") for text in said)
    assert "reason: new, small loss" in said
    assert differences(read_submission(studies[1]), read_submission(studies[1])) == []


def test_plans_and_their_approval(tmp_path: Path, studies: tuple[Path, Path]) -> None:
    for name, plan in (("old", _SMALL), ("new", lock(_SMALL, "DRB-7", "Grace"))):
        (tmp_path / f"{name}.toml").write_text(plan_to_toml(plan))
    old, new = (read_submission(tmp_path / f"{name}.toml") for name in ("old", "new"))
    assert differences(old, new) == ["plan, approval: was none, is DRB-7"]
    assert differences(old, read_submission(studies[0])) == []  # a plan and a study: their plans are compared


def test_entries_of_several_parts_are_said_in_words() -> None:
    two = replace(
        _SMALL,
        analyses=(AnalysisPlan("smoke", "A ~ B + C", "logistic", by=("D",)), AnalysisPlan("more", "B ~ C")),
        mechanisms=(MechanismPlan("random_swap"), MechanismPlan.of("rds", {"s": [1, 2], "rate": ["0.1"]})),
        edits=(EditRule("none so", (("A", ("n", "y")), ("B", ("n",)))),),
        tables=(TablePlan("work by strain", ("A", "B")),),
        space=replace(_SMALL.space, adaptive=True, screen=2),
    )
    said = differences(Submission(_SMALL), Submission(two))
    assert said == [
        "plan, edits: was nothing, is none so (never A n or y with B n)",
        "plan, analyses: was nothing, is smoke (logistic): A ~ B + C, by D; more (linear): B ~ C",
        "plan, mechanisms: was nothing, is random_swap; rds (s 1, 2; rate 0.1)",
        "plan, tables: was nothing, is work by strain (A × B)",
        "plan, space.adaptive: was no, is yes",
        "plan, space.screen: was 4, is 2",
    ]


def test_what_cannot_be_compared_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        read_submission(tmp_path / "nowhere")
    with pytest.raises(EngineError, match="is a folder, not a study"):
        read_submission(tmp_path)


def test_the_command(studies: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    a, b = map(str, studies)
    assert main(["diff", a, b]) == 0 and "plan, keys" in capsys.readouterr().out
    assert main(["diff", a, a]) == 0 and "nothing has changed" in capsys.readouterr().out
