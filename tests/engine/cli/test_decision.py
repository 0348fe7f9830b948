"""``frontier choose``, ``recheck`` and ``decide``: from a choice to a release, by the command line."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.decision.states import decision_status
from engine.decision.verdict_log import logged_verdict, verdict_words
from engine.plan import edit_plan, read_plan
from engine.plan.samples import load
from engine.study.decision_log import entries
from engine.study.ledger import change_plan
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.sweep import sweep


@pytest.fixture
def path(tmp_path: Path) -> Path:
    raw, plan = load("czech")
    plan = edit_plan(plan, swap_sizes=[1], rates=["0.02", "0.1"], replicates=10)
    (tmp_path / "c.study.key").write_text("0123456789abcdef" * 2)
    sweep(raw, plan, tmp_path / "c.study", workers=1).close()
    return tmp_path / "c.study"


def state(path: Path) -> str:
    with Study.open(path) as study:
        return decision_status(study).state


def test_the_whole_way(path, capsys):
    def run(*words: str) -> tuple[int, str]:
        code = main([words[0], str(path), *words[1:]])
        found = capsys.readouterr()
        return code, found.out + found.err

    assert run("decide") == (0, "  1  " + run("decide")[1][5:])  # asking changes nothing
    assert run("decide", "--state", "submitted", "--by", "Ada")[0] == 2 and state(path) == "none"
    assert run("choose", "--max-risk", "0.0025", "--why", "useful", "--by", "Ada")[0] == 0
    with Study.open(path) as study:
        label = study.choices.all()[0].label
        assert decision_status(study).by == "Ada"
    code, said = run("decide", "--state", "submitted", "--by", "Ada")
    assert code == 2 and f"frontier recheck c.study --data DATA --candidate {label}" in said
    assert run("recheck", "--data", "czech", "--candidate", label, "--replicates", "2")[0] == 0
    code, said = run("choose", "--candidate", label, "--why", "useful", "--by", "Ada")
    assert code == 0 and f"next: frontier decide {path} --state submitted --by NAME" in said
    assert run("decide", "--state", "submitted", "--by", "Ada")[0] == 0 and state(path) == "submitted"
    assert run("decide", "--state", "released", "--by", "Ada")[0] == 2 and state(path) == "submitted"
    code, said = run("decide", "--state", "approved", "--by", "Board")
    assert code == 2 and "--number NO" in said
    given = ("--number", "17", "--conditions", "with a notice")
    assert run("decide", "--state", "approved", "--by", "Board", *given)[0] == 0
    with Study.open(path) as study:
        approved = decision_status(study)
    assert (approved.state, approved.number, approved.conditions) == ("approved", *given[1::2])
    assert run("decide", "--state", "released", "--by", "Bob")[0] == 0
    assert run("decide", "--state", "withheld", "--by", "Board", "--why", "late")[0] == 2 and state(path) == "released"


def test_withholding_and_misplaced_options(path, capsys):
    assert main(["decide", str(path), "--state", "withheld", "--by", "B", "--why", "no", "--number", "1"]) == 2
    assert main(["decide", str(path), "--by", "B"]) == 2
    assert "need --state" in capsys.readouterr().err
    assert main(["decide", str(path), "--state", "withheld", "--by", "B", "--why", "too risky"]) == 0
    assert state(path) == "withheld"


@pytest.mark.slow
def test_a_choice_past_the_plans_rule_is_said(path, tmp_path, capsys):
    raw, plan = load("czech")
    plan = edit_plan(plan, swap_sizes=[1], rates=["0.02", "0.1"], replicates=10, max_risk="0.5")
    (tmp_path / "p.study.key").write_text("0123456789abcdef" * 2)
    sweep(raw, plan, tmp_path / "p.study", workers=1).close()
    words = "The plan's rule picks another candidate."
    assert main(["choose", str(tmp_path / "p.study"), "--why", "as planned"]) == 0
    assert words not in capsys.readouterr().out
    assert main(["choose", str(tmp_path / "p.study"), "--slope", "0", "--why", "safest"]) == 0
    assert words in capsys.readouterr().out
    assert main(["choose", str(path), "--slope", "0", "--why", "safest"]) == 0
    assert words not in capsys.readouterr().out, "this plan has no rule"


@pytest.mark.slow
def test_the_share_of_runs_within_the_bound_is_shown_with_its_limits(path, capsys):
    within = "9 of 10 runs meet the limit"
    assert main(["show", str(path), "--max-risk", "0.002", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    (picked,) = [row for row in rows if row["optimal"] == "true"]
    assert float(picked["small_cells_quantile"]) <= 0.002 and float(picked["small_cells_quantile_low"]) > 0
    assert picked["small_cells_quantile_high"] == "", "ten runs put no upper end to it"
    assert main(["choose", str(path), "--max-risk", "0.002", "--why", "useful", "--by", "Ada"]) == 0
    shown = capsys.readouterr().out
    assert picked["id"] in shown and within in shown
    assert main(["decide", str(path)]) == 0
    assert within in capsys.readouterr().out
    assert main(["show", str(path), "--format", "csv"]) == 0
    assert "small_cells_quantile" not in capsys.readouterr().out


@pytest.mark.slow
def test_a_release_against_its_risk_is_submitted_for_a_reason_alone(path, capsys):
    with Study.open(path) as study:
        change_plan(study, edit_plan(study.plan, realisation="1"), why="as it was before")
        view = risk_utility_map(study)
        runs, risk = view.results, view.results.values[:, view.risk]
        above = runs.scenario[(runs.replicate == 1) & (risk > view.original[view.risk])]
        riskiest = view.scenarios[int(above[0])].label
    assert main(["choose", str(path), "--candidate", riskiest, "--why", "useful", "--by", "Ada"]) == 0
    assert "The released run is no safer than the unaltered file: small-cell risk" in capsys.readouterr().out
    assert main(["recheck", str(path), "--data", "czech", "--candidate", riskiest, "--replicates", "2"]) == 0
    submit = ["decide", str(path), "--state", "submitted", "--by", "Ada"]
    assert main(submit) == 2
    refusal = capsys.readouterr().err
    assert f"{riskiest}/1 cannot be submitted" in refusal and "--despite TEXT" in refusal
    assert state(path) == "draft"
    assert main([*submit, "--despite", "the board asked for it"]) == 0
    assert state(path) == "submitted"
    assert main(["decide", str(path), "--state", "withheld", "--by", "B", "--why", "no", "--despite", "x"]) == 2
    assert "belongs to a submission" in capsys.readouterr().err


def test_a_decision_to_release_nothing_has_a_memo_and_others_have_none_here(path, tmp_path, capsys):
    out = tmp_path / "memo.html"
    assert main(["memo", str(path), "--out", str(out)]) == 2
    assert "none is recorded" in capsys.readouterr().err and not out.exists()
    assert main(["decide", str(path), "--state", "withheld", "--by", "Ada", "--why", "too risky"]) == 0
    assert main(["memo", str(path), "--out", str(out)]) == 0
    assert "To note the decision to release nothing" in out.read_text(encoding="utf-8")
    assert main(["memo", str(path), "--out", str(out)]) == 2  # nothing is overwritten
    out.write_bytes(b"")
    for unwritable, code in ((tmp_path / "no" / "memo.html", 2), (out / "memo.html", 1)):
        assert main(["memo", str(path), "--out", str(unwritable)]) == code
        assert "'memo.html' could not be written" in capsys.readouterr().err


def test_what_was_chosen_is_run_again_though_means_leave_it_off_the_frontier(path, capsys):
    with Study.open(path) as study:
        view = risk_utility_map(study)
        frontier = [view.scenarios[int(index)].label for index in view.frontier()]
        other = next(scenario.label for scenario in view.scenarios if scenario.label not in frontier)
    assert main(["choose", str(path), "--candidate", other, "--why", "useful", "--by", "Ada"]) == 0
    assert main(["recheck", str(path), "--data", "czech", "--replicates", "2"]) == 0
    said = capsys.readouterr().out.splitlines()
    with Study.open(path) as study:
        assert set(entries(study)[-1].detail["candidates"]) == {*frontier, other}
        choice = decision_status(study).choice
        assert choice is not None
        verdict = logged_verdict(study, f"{other}/{choice.replicate}")
    # the same verdict on every command, before anybody submits it
    assert verdict is not None and verdict.kind == "tables" and verdict_words(verdict) in said
    assert main(["decide", str(path)]) == 0 and verdict_words(verdict) in capsys.readouterr().out


def test_a_choice_that_was_not_attacked_says_how_to_attack_it(path, capsys):
    with Study.open(path) as study:
        label = study.scenarios[0].label
    assert main(["choose", str(path), "--candidate", label, "--why", "useful", "--by", "Ada"]) == 0
    capsys.readouterr()
    assert main(["decide", str(path)]) == 0
    assert f"was not attacked yet: frontier recheck {path} --data DATA" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("command", ["show", "choose", "sweep"])
def test_a_bound_on_a_measure_of_which_more_is_better_is_refused(tmp_path, capsys, command):
    """The words "at most" would ask for the least protection; the pages refuse it in the same words."""
    study = tmp_path / "p.study"
    asked = ["sweep", "czech", "--study", str(study), "--swap-sizes", "1", "--rates", "0.1", "--replicates", "10"]
    asked += ["--measures", "p1,hellinger", "--workers", "1"]
    if command == "sweep":
        assert main([*asked, "--max-risk", "0.2"]) == 2
        assert not study.exists()
    else:
        assert main(asked) == 0
        assert main([command, str(study), "--max-risk", "0.2", *(["--why", "x"] if command == "choose" else [])]) == 2
    assert "a limit is for a measure where lower is better; of 'p1' higher is better" in capsys.readouterr().err


@pytest.mark.slow
def test_a_first_plan_takes_the_options_of_a_sweep_and_the_bound(tmp_path, capsys):
    plan, study = tmp_path / "plan.toml", tmp_path / "s.study"
    options = ["--swap-sizes", "1", "--rates", "0.1", "--replicates", "10", "--max-risk", "0.5"]
    assert main(["plan", "init", "czech", *options, "--out", str(plan)]) == 0
    asked = read_plan(plan)
    assert (asked.space.rates, asked.space.replicates, asked.decision.max_risk) == (("0.1",), 10, "0.5")
    assert main(["sweep", "czech", "--study", str(study), "--plan", str(plan), "--workers", "1"]) == 0
    assert main(["choose", str(study), "--why", "the plan's rule"]) == 0
    assert "of at most 0.5 (50 % of unaltered records) in at least 90 % of single runs" in capsys.readouterr().out


def test_a_release_that_was_chosen_after_the_fresh_runs_is_attacked_before_it_is_approved(path, capsys):
    def run(*words: str) -> tuple[int, str]:
        code = main([words[0], str(path), *words[1:]])
        return code, "".join(capsys.readouterr())

    with Study.open(path) as study:
        view = risk_utility_map(study)
        label = view.scenarios[int(view.frontier()[0])].label
    recheck = ("recheck", "--data", "czech", "--candidate", label, "--replicates", "2")
    assert run(*recheck)[0] == 0  # nothing is recommended, so no release is attacked
    code, said = run("choose", "--candidate", label, "--why", "useful", "--by", "Ada")
    assert code == 0 and f"next: frontier recheck {path} --data DATA" in said
    assert run("decide", "--state", "submitted", "--by", "Ada", "--despite", "a try")[0] in (0, 2)
    if state(path) == "draft":
        assert run("decide", "--state", "submitted", "--by", "Ada")[0] == 0
    approve = ("decide", "--state", "approved", "--by", "Board", "--number", "17")
    code, said = run(*approve)
    assert code == 2 and f"frontier recheck c.study --data DATA --candidate {label}" in said
    assert run(*recheck)[0] == 0
    assert run(*approve)[0] == 0
