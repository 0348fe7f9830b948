"""The sweep on the page Candidates: changes that alter no figure, departures from an approval, several studies."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.cli.main import main
from engine.decision.choice import choose
from engine.plan import DecisionPlan, MechanismPlan, ThreatPlan, plan_to_toml
from engine.plan.differences import _LISTS, _PARTS, lock
from engine.plan.samples import load
from engine.report.build_findings import findings
from engine.report.decision_pages import pages
from engine.report.describe import remade
from engine.study.decision_log import entries
from engine.study.ledger import ledger_of
from engine.study.map_reader import objective_indices, risk_utility_map
from engine.study.study import Study
from frontier_app.session import jobs, workspace
from frontier_app.session.workspace import Workspace
from frontier_app.wording.plan_words import label_of
from tests.engine.report.pages import text_of
from tests.frontier_app.conftest import APP, to_page
from tests.frontier_app.elements import has_button, press


def _open(at: Workspace) -> AppTest:
    made = AppTest.from_file(str(APP), default_timeout=300)
    made.query_params["w"] = at.token
    return to_page(made.run(), "candidates")


def _with_plan(made: AppTest, **changes: object) -> AppTest:
    state = made.session_state["frontier"]
    plan = replace(state.plan, **changes)
    made.session_state["frontier"] = replace(state, plan=plan, base=plan, version=state.version + 1)
    return made.run()


def test_a_change_that_alters_no_figure_is_kept_and_logged(swept: Callable[..., Workspace]) -> None:
    at = swept()
    made = _with_plan(_open(at), threat=ThreatPlan("a colleague"))
    press(made, "keep-changes")
    assert not made.exception and not made.error
    assert at.study is not None
    with Study.open(at.study) as study:
        assert study.plan.threat.intruder == "a colleague" and entries(study)[-1].event == "changed"
    assert any("decision log" in info.value for info in made.info)


def test_a_departure_asks_for_its_reason(swept: Callable[..., Workspace]) -> None:
    made = _open(swept())
    plan = made.session_state["frontier"].plan
    locked = lock(plan, "DRB-7", "Grace")
    _with_plan(made, lock=locked.lock, space=replace(plan.space, rates=("0.05",)))
    assert any("departs from the one approved as DRB-7" in warning.value for warning in made.warning)
    assert any(box.label == "Why the plan departs from its approval" for box in made.text_input)
    before = made.session_state["frontier"].workspace.study
    press(made, "begin-new")
    assert any("fill in above why it does, and your name" in error.value for error in made.error)
    assert made.session_state["frontier"].workspace.study == before, "nothing was begun"


@pytest.mark.slow
def test_what_has_changed_is_said_in_plain_words(swept: Callable[..., Workspace]) -> None:
    made = _open(swept())
    plan = made.session_state["frontier"].plan
    space = replace(plan.space, swap_sizes=(), all_specs=True, rates=("0.05",))
    _with_plan(made, space=space, mechanisms=(MechanismPlan("dds"),))
    said = {part.value for part in made.markdown if part.value.startswith("- ")}
    assert said == {
        "- Mechanisms: Random swap of attributes in the study, Swapping every sensitive key away (DDS) here",
        "- Numbers of attributes swapped together: 1 in the study, nothing here",
        "- Complete space: no in the study, yes here",
        "- Swap rates: 2 % and 10 % in the study, 5 % here",
    }


def test_every_entry_of_a_plan_has_a_name_on_the_pages() -> None:
    plan = load("czech")[1]
    parts = {f"{part}.{f.name}" for part in _PARTS for f in fields(getattr(plan, part))} - {"data.attributes"}
    assert all(label_of(name) for name in parts | set(_LISTS)) and not label_of("attribute.A")


def test_another_study_of_the_workspace_is_opened(swept: Callable[..., Workspace]) -> None:
    at = swept()
    for name in ("study-1.study", "study-1.study.key"):
        shutil.copy(at.folder / name, at.folder / name.replace("1", "2"))
    made = _open(at)
    assert any("Studies in this workspace" in part.value for part in made.subheader)
    made.button(key="study-study-2.study").click().run()
    assert not made.exception and at.study == at.folder / "study-2.study"


@pytest.mark.slow
def test_a_new_study_with_another_bound_tells_what_was_seen_before(
    swept: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first study has no bound, and is chosen from; the second one has a bound in its plan."""
    monkeypatch.setattr(jobs, "launch", lambda arguments, *_: main([*arguments, "--workers", "1"]))
    at = swept()
    assert at.study is not None
    with Study.open(at.study) as study:
        view = risk_utility_map(study)
        n = len(view.scenarios)
        choose(study, view, "a first try", candidate=view.scenarios[int(view.frontier()[0])].label)
    made = _open(at)
    _with_plan(made, decision=replace(made.session_state["frontier"].plan.decision, max_risk="0.5"))
    at.save_plan(plan_to_toml(made.session_state["frontier"].plan))
    press(made, "begin-new")
    assert not made.exception and not made.error and at.study == at.folder / "study-2.study"
    with Study.open(at.study) as study:
        choice = choose(study, risk_utility_map(study), "within the limit")
        told = findings(study, remade(study, load("czech")[0], choice.label, choice.replicate))
    page = text_of(pages(told))
    assert f"Results of {n} candidates had been seen in an earlier study of the same data" in page
    assert "after results of an earlier study of the same data could be seen" in told.approved.rule
    assert "study-1" not in page + told.to_json()


def test_a_study_that_lies_elsewhere_came_before_too(
    swept: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(jobs, "launch", lambda arguments, *_: main([*arguments, "--workers", "1"]))
    lent = swept()
    for name in ("study-1.study", "study-1.study.key"):
        shutil.copy(lent.folder / name, tmp_path / name.replace("study-1", "mine"))
    at = workspace.reopened(workspace.link(tmp_path / "mine.study", "czech").folder)
    made = _open(at)
    plan = replace(made.session_state["frontier"].plan, decision=DecisionPlan(max_risk="0.5"))
    _with_plan(made, decision=plan.decision)
    press(made, "begin-new")
    assert not made.exception and not made.error and at.study is not None
    with Study.open(at.study) as study:
        ledger = ledger_of(study)
    assert ledger is not None and [earlier.name for earlier in ledger.earlier] == ["mine.study"]
    assert {path.name for path in at.studies} == {"mine.study", "study-1.study"}


@pytest.mark.slow
def test_while_runs_are_made_the_map_shows_the_frontier_so_far_and_doing_nothing(
    swept: Callable[..., Workspace],
) -> None:
    at = swept()
    assert at.study is not None
    with Study.open(at.study) as study:
        study.acquire_lease(100, 40)
        (drawn,) = _open(at).get("plotly_chart")
        study.lease.release("cancelled")
        traces = json.loads(drawn.proto.spec)["data"]
        (nothing,) = [trace for trace in traces if trace.get("text") == ["unprotected file"]]
        risk, utility = (study.measures[k] for k in objective_indices(study))
        assert (nothing["x"], nothing["y"]) == ([study.original[str(utility)]], [study.original[str(risk)]])
    assert sum(len(trace["x"]) for trace in traces if "customdata" in trace) == 12


@pytest.mark.slow
def test_results_are_a_grid_and_a_rate_between_is_added_in_one_click(swept: Callable[..., Workspace]) -> None:
    at = swept(max_risk="0.0022")
    made = _open(at)
    assert made.title[0].value == "12 candidates, 120 runs: done"
    (drawn,) = made.get("plotly_chart")
    (cells,) = json.loads(drawn.proto.spec)["data"]
    assert sum(bool(word) for row in cells["text"] for word in row) == 12
    assert any("The limit lies between" in part.value for part in made.markdown)
    press(made, "try-rate")
    assert len(made.session_state["frontier"].plan.space.rates) == 3 and has_button(made, "begin-more")
    assert not has_button(made, "try-rate"), "it is in the plan"


def test_a_stop_is_answered_at_once(swept: Callable[..., Workspace]) -> None:
    """The writer, here this process, hears it only after the runs at hand."""
    at = swept()
    assert at.study is not None
    with Study.open(at.study) as study:
        study.acquire_lease(100, 40)
        made = _open(at)
        assert any("sweeping" in part.value for part in made.title)
        made.button(key="stop-sweep").click().run()
        stop = made.button(key="stop-sweep")
        assert not made.exception and stop.disabled and stop.label == "Stopping…"
        assert study.lease.beat(40), "the writer is told"
        assert jobs.status(at).state == "stopping"
        study.lease.release("cancelled")


def test_a_sweep_can_be_stopped_where_its_data_are_not_open(swept: Callable[..., Workspace]) -> None:
    at = swept()
    assert at.study is not None
    with Study.open(at.study) as study:
        study.acquire_lease(100, 40)
        made = _open(at)
        state = made.session_state["frontier"]
        made.session_state["frontier"] = replace(state, raw=None)
        made.run()
        assert not made.exception and has_button(made, "stop-sweep")
        study.lease.release("cancelled")
