"""The page of recommendations: what is recorded, in which state it is, and what each state offers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.proto.Block_pb2 import Block as BlockProto
from streamlit.testing.v1 import AppTest

from engine.decision.choice import choose
from engine.decision.comparison import differences
from engine.decision.states import decide, decision_status
from engine.plan.differences import lock
from engine.plan.samples import load
from engine.study.decision_log import append, entries
from engine.study.keys import key_path, read_key
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.sweep import recheck
from frontier_app.session.workspace import Workspace
from frontier_app.widgets import candidate_card
from tests.frontier_app.elements import has_button, leads_to, press
from tests.frontier_app.pages.test_pages import app, to, words


@pytest.fixture
def at(swept: Callable[..., Workspace]) -> Workspace:
    return swept()


def opened(at: Workspace) -> AppTest:
    return app(at, "decide")


def study_of(at: Workspace) -> Study:
    return Study.open(at.folder / "study-1.study")


def history(made: AppTest) -> str:
    return "\n".join(str(one.proto.body) for one in made.get("html"))


def recommend(at: Workspace, *, fresh: bool = True) -> str:
    with study_of(at) as study:
        view = risk_utility_map(study)
        place = int(view.frontier()[1])
        if fresh:
            recheck(study, load("czech")[0], read_key(key_path(study.path)), [place], 3)
        choose(study, view, "safe enough", candidate=study.scenarios[place].label, by="Ada")
        return study.scenarios[place].label


@pytest.mark.slow
@pytest.mark.parametrize(("bound", "replicates", "doubted"), [("0.5", 40, False), ("0.0026", 20, True)])
def test_the_share_of_runs_within_the_bound_is_told_once(swept: Callable[..., Workspace], bound, replicates, doubted):
    """By the words of the risk, or by what doubts it."""
    at = swept(max_risk=bound, replicates=replicates)
    with study_of(at) as study:
        view = risk_utility_map(study)
        recheck(study, load("czech")[0], read_key(key_path(study.path)), [view.under_bound(float(bound))])
        choose(study, view, "the plan's rule", by="Ada")
    made = opened(at)
    told = re.compile(r"of \d+ (?:fresh )?runs(?:\*\*)? [^:;]*?meets? the (?:bound|limit)")
    in_words = sum(len(told.findall(str(one.value))) for one in made.markdown)
    in_doubts = sum(len(told.findall(str(one.value))) for one in (*made.warning, *made.error))
    assert (in_words, in_doubts) == (int(not doubted), int(doubted))


@pytest.mark.slow
def test_conditions_are_proposed_with_a_submission(at: Workspace):
    recommend(at)
    made = opened(at)
    made.text_input(key="decide-submit-by").set_value("Ada")
    made.text_area(key="decide-submit-conditions").set_value("a warning to users")
    press(made, "record-submission")
    assert "Proposed condition:" in " ".join(str(one.value) for one in made.warning)
    assert made.text_area(key="decide-approve-conditions").value == "a warning to users"


@pytest.mark.slow
def test_a_recommendation_is_recorded_with_its_alternatives(at: Workspace):
    made = opened(at)
    assert "Nothing has been recommended yet" in words(made)
    made.radio(key="recommend-rule-0-none").set_value("bound").run()
    made.number_input(key="recommend-bound").set_value(0.0).run()
    assert any("no candidate meets the limit" in warning.value.lower() for warning in made.warning)
    made.number_input(key="recommend-bound").set_value(0.0025).run()
    assert not made.error and made.button(key="record-choice").disabled
    assert any("a reason and a name" in one.value for one in made.caption)
    why_not = next(box for box in made.text_input if box.label.startswith("Why not"))
    why_not.set_value("it loses too much").run()
    made.text_area(key="recommend-why-0-none").set_value("most useful of all").run()
    made.text_input(key="recommend-by").set_value("Ada").run()
    to(made, "compare")
    to(made, "decide")
    assert made.text_area(key="recommend-why-0-none").value == "most useful of all"
    press(made, "record-choice")
    assert not made.exception and not made.error
    with study_of(at) as study:
        now = decision_status(study)
        assert (now.state, now.by, now.why) == ("draft", "Ada", "most useful of all")
        assert now.choice is not None
        others = now.choice.record["others"]
        assert [one["why"] for one in others if one["why"]] == ["it loses too much"]
        assert all(one["candidate"] != now.choice.label for one in others)
    assert "Draft: now" in words(made) and "it loses too much" in history(made)
    assert any("is the one that was sealed with the study key" in one.value for one in made.caption)
    assert made.text_area(key="recommend-why-1-draft").value == ""


@pytest.mark.slow
def test_a_named_candidate_and_the_lucky_run(at: Workspace):
    with study_of(at) as study:
        label = study.scenarios[int(risk_utility_map(study).frontier()[0])].label
    made = opened(at)
    made.radio(key="recommend-rule-0-none").set_value("hand").run()
    box = next(box for box in made.selectbox if box.label == "Candidate")
    box.select(next(option for option in box.options if option.endswith(f"({label})"))).run()
    assert re.search(rf"#### .*\({label}\)", words(made))
    assert made.session_state["frontier"].selected == label


@pytest.mark.slow
def test_no_decision_on_one_replicate(swept: Callable[..., Workspace]):
    made = opened(swept(replicates=1))
    made.radio(key="recommend-rule-0-none").set_value("slope").run()
    made.number_input(key="recommend-slope").set_value(0.05).run()
    made.text_area(key="recommend-why-0-none").set_value("luck").run()
    made.text_input(key="recommend-by").set_value("Ada").run()
    press(made, "record-choice")
    assert any("has 1 runs that count, and a choice needs at least 10" in error.value for error in made.error)


def test_to_release_nothing_is_recorded(at: Workspace):
    made = opened(at)
    made.radio(key="recommend-rule-0-none").set_value("nothing").run()
    assert "No release" in words(made)
    made.text_area(key="recommend-why-0-none").set_value("too much is exposed").run()
    made.text_input(key="recommend-by").set_value("Board").run()
    press(made, "record-nothing")
    assert not made.exception and not made.error
    with study_of(at) as study:
        assert (decision_status(study).state, decision_status(study).why) == ("withheld", "too much is exposed")
    assert "Nothing is released." in words(made)
    assert made.radio(key="recommend-rule-0-withheld").value == "hand" and has_button(made, "see-board")
    assert not has_button(made, "record-nothing"), "it is not asked for again"
    made = to(made, "release")
    assert "decision is to release nothing" in words(made)


def test_nothing_is_submitted_before_fresh_runs(at: Workspace, monkeypatch):
    label = recommend(at, fresh=False)
    made = opened(at)
    assert "To bear in mind" in words(made)
    assert made.button(key="record-submission").disabled
    started = []
    monkeypatch.setattr("frontier_app.session.jobs.start_recheck", lambda *args: started.append(args))
    press(made, "run-fresh")
    ((_, labels, replicates, risk, utility),) = started
    assert label in labels and replicates == 100 and (risk, utility) == ("small_cells", "hellinger")


@pytest.mark.slow
def test_what_the_board_will_miss_is_listed_before_submission(at: Workspace):
    assert "Still to be filled in for the board" not in words(opened(at))
    recommend(at)
    made = opened(at)
    assert not made.exception
    assert "Still to be filled in for the board" in words(made) and "contact" in words(made)


def test_the_whole_way(at: Workspace):
    label = recommend(at)
    made = opened(at)
    assert "On fresh runs, beside the sweep" in words(made) and "frontier of the finalists" not in words(made)
    (table,) = [one.value for one in made.markdown if "| runs | unbeaten |" in one.value]
    assert re.search(rf"\| A · [^|]*\({label}\) ", table)
    press(made, "record-submission")
    assert any("who says" in error.value.lower() for error in made.error)
    made.text_input(key="decide-submit-by").set_value("Ada")
    press(made, "record-submission")
    assert "Submitted: now" in words(made)
    assert has_button(made, "see-board") and leads_to(made, "release")
    made.text_input(key="decide-approve-by").set_value("Board")
    press(made, "record-approval")
    assert any("needs the number" in error.value for error in made.error)
    made.text_input(key="decide-approve-number").set_value("17/26")
    made.text_area(key="decide-approve-conditions").set_value("Only with a notice")
    press(made, "record-approval")
    assert "Approved: now" in words(made) and "17/26" in words(made) and "Only with a notice" in words(made)
    made.text_input(key="decide-release-by").set_value("Bob")
    press(made, "record-publication")
    assert not made.exception and "Released: now" in words(made)
    with study_of(at) as study:
        now = decision_status(study)
        assert now.choice is not None
        assert (now.state, now.choice.label, now.number, now.by) == ("released", label, "17/26", "Bob")
        assert [entry.event for entry in entries(study)][-3:] == ["submitted", "approved", "released"]


def test_the_board_returns_it(at: Workspace):
    recommend(at)
    with study_of(at) as study:
        decide(study, "submitted", "Ada")
    made = opened(at)
    made.text_input(key="decide-return-by").set_value("Board")
    made.text_area(key="decide-return-why").set_value("say more on age")
    press(made, "record-return")
    assert "Returned: now" in words(made) and "say more on age" in words(made)
    assert not made.button(key="record-submission").disabled


@pytest.mark.slow
def test_a_new_recommendation_begins_again(at: Workspace):
    recommend(at)
    with study_of(at) as study:
        decide(study, "submitted", "Ada")
        decide(study, "withheld", "Board", why="wait")
    recommend(at, fresh=False)
    made = opened(at)
    assert "Draft: now" in words(made) and "it was decided to release nothing" in history(made)


def test_a_locked_plan_and_its_departures(at: Workspace):
    with study_of(at) as study:
        study.grow(lock(study.plan, "DAP-4", "Chair"))
    made = opened(at)
    assert any("DAP-4" in one.value and "still the approved one" in one.value for one in made.success)
    with study_of(at) as study:
        from dataclasses import replace

        study.grow(replace(study.plan, decision=replace(study.plan.decision, max_risk="0.5")))
        append(study, "deviation", {"what": ["the limit has moved"], "why": "new law"}, by="Ada")
    made = opened(at)
    assert any("departs from it" in one.value and "max_risk" in one.value for one in made.warning)
    assert "the limit has moved" in history(made)


def test_a_study_without_its_data(at: Workspace):
    recommend(at, fresh=False)
    at.note(data=None)
    made = app(at, "decide")
    assert not made.exception and not made.error
    assert leads_to(made, "data") and not has_button(made, "run-fresh")


@pytest.mark.slow
def test_a_log_that_was_cut_is_said(at: Workspace):
    recommend(at)
    with study_of(at) as study, study.database.transaction() as db:
        db.execute("delete from log where number = (select max(number) from log)")
    made = opened(at)
    assert not made.exception and any("decision log was cut" in one.value for one in made.error)


def test_a_broken_log_is_said(at: Workspace):
    recommend(at)
    with study_of(at) as study, study.database.transaction() as db:
        db.execute("update log set by = 'Eve' where event = 'chosen'")
    made = opened(at)
    assert not made.exception and any("log is broken" in error.value for error in made.error)


def forms(block: Any) -> dict[str, bool]:
    """The forms of a page by their names, with whether Enter in an input is their button."""
    found = {}
    for child in getattr(block, "children", {}).values():
        proto = getattr(child, "proto", None)
        if isinstance(proto, BlockProto) and proto.HasField("form"):
            found[proto.form.form_id] = proto.form.enter_to_submit
        found |= forms(child)
    return found


@pytest.mark.slow
def test_no_step_of_the_log_is_taken_by_enter(at: Workspace):
    recommend(at)
    seen: dict[str, bool] = {}
    for step, more in (("submitted", {}), ("approved", {"number": "17/26"}), ("", {})):
        seen |= forms(opened(at)._tree.main)
        with study_of(at) as study:
            if step:
                decide(study, step, "Board", **more)
    assert seen == dict.fromkeys(("decide-submit", "decide-approve", "decide-return", "decide-release"), False)


def test_a_slope_by_which_doing_nothing_is_better_is_said_before_and_after_it_is_recorded(at: Workspace):
    made = opened(at)
    made.radio(key="recommend-rule-0-none").set_value("slope").run()
    made.number_input(key="recommend-slope").set_value(0.0).run()
    assert not any("unaltered file is better" in one.value for one in made.warning)
    made.number_input(key="recommend-slope").set_value(100.0).run()
    assert any(one.value.startswith("By the slope that picks") for one in made.warning)
    made.text_area(key="recommend-why-0-none").set_value("useful").run()
    made.text_input(key="recommend-by").set_value("Ada").run()
    press(made, "record-choice")
    assert not made.exception and any("unaltered file is better" in one.value for one in made.warning)
    assert "between small-cell risk and Hellinger distance" in words(made)
    assert "between small-cell risk and Hellinger distance" in history(made)
    assert "between small_cells" not in words(made) + history(made)
    shown = words(app(at, "explore"))
    assert "The recorded recommendation: best on the straight line of slope 100" in shown
    assert "By the slope that picks the candidate, the unaltered file is better" in shown


@pytest.mark.slow
def test_the_plans_slope_is_held_against_doing_nothing(swept: Callable[..., Workspace]):
    at = swept(slope="100")
    assert "By the slope that picks the candidate, the unaltered file is better" in words(app(at, "explore"))
    made = opened(at)
    assert made.radio(key="recommend-rule-0-none").value == "plan"
    assert any(one.value.startswith("By the slope that picks") for one in made.warning)
    made.radio(key="recommend-rule-0-none").set_value("hand").run()
    assert not any("unaltered file is better" in one.value for one in made.warning)


def test_an_alternative_within_noise_is_called_that(at: Workspace):
    with study_of(at) as study:
        view = risk_utility_map(study)
        on, measures = view.frontier().tolist(), (view.risk, view.utility)
        seen = set()
        for place in on:
            for other in (i for i in on if i != place):
                found = differences(view, other, place, together=3)
                lines = candidate_card.difference(view, place, other, together=3).split("  \n")
                for k, line in zip(measures, lines, strict=True):
                    noise = found[k].better != 0 and not found[k].clear
                    assert line.endswith(", but within noise") == noise
                    seen.add(noise)
    assert seen == {True, False}


@pytest.mark.slow
def test_what_stands_against_a_release_is_shown_and_overruled_for_a_reason_alone(swept: Callable[..., Workspace]):
    at = swept(realisation="1")
    with study_of(at) as study:
        view = risk_utility_map(study)
        runs, risk = view.results, view.results.values[:, view.risk]
        first = (runs.replicate == 1) & (risk > view.original[view.risk])
        riskier = [k for k in runs.scenario[first] if not view.riskier_than_original[k]]
        safer = runs.scenario[(runs.replicate == 1) & (risk < view.original[view.risk])]
        key = read_key(key_path(study.path))
        for index, obstructed in ((int(safer[0]), False), (int(riskier[0]), True)):
            choose(study, view, "it serves", candidate=view.scenarios[index].label, by="Ada")
            recheck(study, load("czech")[0], key, [index], 2)
            made = opened(at)
            assert obstructed == any("What stands against this release" in error.value for error in made.error)
            assert obstructed == any(area.label == "Why it is submitted all the same" for area in made.text_area)
    obstacle = next(each.value for each in made.error if "What stands against" in each.value).partition("\n* ")[2]
    made.text_input(key="decide-submit-by").set_value("Ada")
    press(made, "record-submission")
    assert any("cannot be submitted" in error.value for error in made.error)
    made.text_area(key="decide-submit-despite").set_value("the board asked for it")
    press(made, "record-submission")
    assert not made.exception and "Submitted: now" in words(made)
    assert obstacle in history(made) and "the board asked for it" in history(made)
    assert any("The study key was fixed before the sweep" in one.value for one in made.caption)
