"""States are read from the log: legal steps are taken, all others refused, and nothing is ever overwritten."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.common.errors import EngineError, Remedy, UsageError
from engine.decision.choice import choose
from engine.decision.states import STATES, DecisionStatus, decide, decision_status, meant_run
from engine.decision.verdict_log import log_verdict
from engine.measures.verdict import Verdict
from engine.plan import DecisionPlan
from engine.release.scenarios import RunStatus
from engine.study import decision_log
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from tests.engine.attacks import log_attack
from tests.engine.frontier.test_risk_utility_map import ENOUGH, study_of


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with study_of(tmp_path, ENOUGH) as opened:
        yield opened


def recommend(study: Study, index: int = 0, *, fresh: bool = True) -> str:
    if fresh:
        study.runs.add([(index, 1_000_000 + r, RunStatus.OK, 2, 0.1, 0.4, 0.0) for r in (1, 2)], table="fresh")
    label = study.scenarios[index].label
    choose(study, risk_utility_map(study), "safe", candidate=label, by="Ada")
    log_attack(study)
    return label


def label_of(status: DecisionStatus) -> str:
    assert status.choice is not None
    return status.choice.label


def test_before_a_choice_there_is_nothing_to_decide(study):
    assert decision_status(study).state == "none" and decision_status(study).possible == ()
    with pytest.raises(UsageError, match="nothing is recommended yet"):
        decide(study, "submitted", "Ada")


def test_the_way_to_a_release(study):
    label = recommend(study)
    now = decision_status(study)
    assert (now.state, label_of(now), now.by, now.why, now.number) == ("draft", label, "Ada", "safe", "")
    now = decide(study, "submitted", " Ada ")
    assert (now.state, now.by, label_of(now)) == ("submitted", "Ada", label)
    now = decide(study, "approved", "Board", number="17/4", conditions="no ages")
    assert (now.state, now.by, now.number, now.conditions) == ("approved", "Board", "17/4", "no ages")
    now = decide(study, "released", "Bob")
    assert (now.state, now.by, now.number, now.conditions) == ("released", "Bob", "17/4", "no ages")
    assert label_of(now) == label
    log = decision_log.entries(study)
    decision_log.verify(log)
    assert [entry.event for entry in log] == ["chosen", "attacked", "submitted", "approved", "released"]
    del log[1]
    assert log[0].detail["candidate"] == label and log[0].detail["figures"]["small_cells"]["mean"] == pytest.approx(
        0.12
    )
    assert log[1].detail["fresh"]["small_cells"]["mean"] == pytest.approx(0.1)
    assert log[1].detail["cautions"] == [
        {"kind": "sweep_unfinished", "values": {"state": "new", "done": 0, "total": 0}}
    ]
    assert log[2].detail["number"] == "17/4"
    assert now.at == log[3].at


def test_no_release_is_approved_that_was_not_attacked(study):
    label = recommend(study)
    decide(study, "submitted", "Ada")
    decide(study, "returned", "Board", why="another one")
    study.runs.add([(1, 1_000_000 + r, RunStatus.OK, 2, 0.1, 0.4, 0.0) for r in (1, 2)], table="fresh")
    other = study.scenarios[1].label  # the verdict on one release is none on another
    choose(study, risk_utility_map(study), "safer", candidate=other, by="Ada")
    decide(study, "submitted", "Ada")
    with pytest.raises(UsageError, match="was not attacked yet") as caught:
        decide(study, "approved", "Board", number="1")
    assert caught.value.remedy is Remedy.RECHECK and caught.value.values["candidate"] == other != label
    assert decision_status(study).state == "submitted"
    log_attack(study)
    assert decide(study, "approved", "Board", number="1").state == "approved"


def test_an_approval_of_an_earlier_version_without_an_attack_is_read_as_one(study):
    label = recommend(study)
    choose(study, risk_utility_map(study), "safe", candidate=label, by="Ada")
    choice = decision_status(study).choice
    assert choice is not None
    detail = {"candidate": label, "replicate": choice.replicate}
    decision_log.append(study, "submitted", detail, by="Ada")
    decision_log.append(study, "approved", {**detail, "number": "1", "conditions": ""}, by="Board")
    assert decision_status(study).state == "approved"
    assert decide(study, "released", "Bob").state == "released"


LEGAL = {
    "draft": {"submitted"},
    "submitted": {"approved", "returned"},
    "returned": {"submitted"},
    "approved": {"released", "returned"},
    "released": set(),
    "withheld": set(),
}
WAYS = {
    "draft": [],
    "submitted": ["submitted"],
    "returned": ["submitted", "returned"],
    "approved": ["submitted", "approved"],
    "released": ["submitted", "approved", "released"],
    "withheld": ["withheld"],
}


STEPS = [*itertools.product(LEGAL, ("submitted", "approved", "returned", "released"))]


def step(study: Study, state: str) -> None:
    if state == "withheld":
        decide(study, "withheld", "Board", why="too risky")
    else:
        decide(
            study,
            state,
            "Board",
            number="1" if state == "approved" else "",
            why="not yet" if state == "returned" else "",
        )


@pytest.mark.parametrize(("state", "asked"), STEPS)
def test_every_step(study, state, asked):
    recommend(study)
    for state_name in WAYS[state]:
        step(study, state_name)
    assert decision_status(study).state == state
    if asked in LEGAL[state]:
        step(study, asked)
        assert decision_status(study).state == asked
        return
    before = decision_log.entries(study)
    with pytest.raises(UsageError, match=f"cannot be {asked}: ") as got:
        step(study, asked)
    assert all(possible in str(got.value) for possible in LEGAL[state])
    assert decision_log.entries(study) == before


def test_nothing_is_submitted_without_fresh_replicates(study):
    label = recommend(study, fresh=False)
    with pytest.raises(UsageError, match=f"{label} has only the figures that led to its choice"):
        decide(study, "submitted", "Ada")
    study.runs.add([(1, 1_000_001, RunStatus.OK, 2, 0.1, 0.4, 0.0)], table="fresh")  # another scenario's
    with pytest.raises(UsageError, match="run it on fresh replicates first"):
        decide(study, "submitted", "Ada")
    assert decision_status(study).state == "draft"


@pytest.mark.parametrize(
    ("state", "given", "words"),
    [
        ("submitted", {"by": ""}, "who says"),
        ("approved", {"by": "Board"}, "needs the number"),
        ("approved", {"by": " ", "number": "1"}, "who says"),
        ("returned", {"by": "Board"}, "for a reason"),
        ("returned", {"by": "Board", "why": "x", "conditions": "y"}, "belong to an approval"),
        ("published", {"by": "Board"}, "must be one of submitted"),
    ],
)
def test_what_a_step_needs(study, state, given, words):
    recommend(study)
    if state != "submitted":
        decide(study, "submitted", "Ada")
    with pytest.raises(UsageError, match=words):
        decide(study, state, **given)


def test_a_new_choice_begins_again_and_nothing_of_the_old_approval_stays(study):
    recommend(study)
    step(study, "submitted")
    step(study, "approved")
    label = recommend(study, 1)
    now = decision_status(study)
    assert (now.state, label_of(now), now.number, now.conditions) == ("draft", label, "", "")
    step(study, "submitted")
    step(study, "returned")
    assert decision_status(study).why == "not yet" and decision_status(study).number == ""


def test_an_approval_taken_back_is_no_approval(study):
    recommend(study)
    for state_name in ("submitted", "approved", "returned", "submitted"):
        step(study, state_name)
    assert decision_status(study).number == ""
    with pytest.raises(UsageError, match="cannot be released"):
        step(study, "released")


def test_to_release_nothing_is_a_decision(study):
    for by, why, words in (("", "x", "Give a name"), ("Board", " ", "for a reason")):
        with pytest.raises(UsageError, match=words):
            decide(study, "withheld", by, why=why)
    now = decide(study, "withheld", "Board", why="every candidate is too risky")  # without any choice before
    assert (now.state, now.choice, now.by, now.why) == ("withheld", None, "Board", "every candidate is too risky")
    recommend(study)
    assert decision_status(study).state == "draft"
    for state_name in ("submitted", "approved", "released"):
        step(study, state_name)
    with pytest.raises(UsageError, match="it is published"):
        decide(study, "withheld", "Board", why="too late")


def test_a_choice_of_an_earlier_version_is_a_draft(study):
    study.choices.record(study.scenarios[0], 1, "by hand", "old", {})
    now = decision_status(study)
    assert (now.state, now.why) == ("draft", "old") and now.at.endswith("Z")
    recommend(study, 1)
    assert label_of(decision_status(study)) == study.scenarios[1].label
    study.choices.record(study.scenarios[2], 1, "by hand", "ended before it was logged", {})
    assert decision_status(study).why == "ended before it was logged"


def test_a_broken_log_is_no_state(study):
    recommend(study)
    step(study, "submitted")
    with study.database.transaction() as db:
        db.execute("update log set event = 'approved' where number = 2")
    with pytest.raises(EngineError, match="broken at entry 2"):
        decision_status(study)


@pytest.mark.parametrize(
    "touched",
    ["scenario = 2", "replicate = 2", "why = 'another reason'", "rule = 'another rule'"],
)
def test_an_approval_counts_for_the_stored_choice_only(study, touched):
    """The log's chain does not cover the table of choices: one exchanged there would inherit the approval."""
    recommend(study)
    step(study, "submitted")
    step(study, "approved")
    assert decision_status(study).state == "approved"
    with study.database.transaction() as db:
        db.execute(f"update decision set {touched}")
    with pytest.raises(EngineError, match="about another choice"):
        decision_status(study)


def test_a_choice_that_is_gone_is_no_state(study):
    recommend(study)
    with study.database.transaction() as db:
        db.execute("delete from decision")
    with pytest.raises(EngineError, match="about another choice"):
        decision_status(study)


def test_two_at_once(study):
    recommend(study)
    last = decision_log.entries(study)[-1].digest
    step(study, "submitted")
    with pytest.raises(EngineError, match="somebody else"):
        decision_log.append(study, "submitted", {}, by="Eve", after=last)


def test_every_state_has_words():
    assert set(STATES) == {*LEGAL, "none"}


@pytest.mark.parametrize(
    ("event", "what", "words"),
    [
        ("changed", "publish.title: was ''", "the words for the public were changed after the recommendation was sub"),
        ("changed", "publish.include: the study has nothing", "what is released with the file was changed after the"),
        ("deviation", "tolerances.min_n: approved was 45", "the plan departed from the approved one after the recom"),
    ],
)
def test_what_was_altered_after_the_submission_is_not_approved(study, event, what, words):
    recommend(study)
    decide(study, "submitted", "Ada")
    decision_log.append(study, "changed", {"what": ["about.contact: was ''"], "why": "new"}, by="Ada")
    decision_log.append(study, event, {"what": [what], "why": "better so"}, by="Ada")
    with pytest.raises(UsageError, match=words):
        decide(study, "approved", "Board", number="7")
    decide(study, "returned", "Board", why="to be seen again")
    decide(study, "submitted", "Ada")
    decision_log.append(study, "changed", {"what": ["about.contact: was ''"], "why": "new"}, by="Ada")
    assert decide(study, "approved", "Board", number="7").state == "approved"


def test_a_release_is_not_submitted_against_its_risk_unless_a_reason_is_recorded(study):
    label = recommend(study, 2)  # riskier than the data unchanged
    before = decision_log.entries(study)
    with pytest.raises(UsageError, match=f"{label}/1 cannot be submitted: The released run is no safer than") as got:
        decide(study, "submitted", "Ada")
    assert "30 % without protection" in str(got.value)
    assert decision_log.entries(study) == before
    decide(study, "submitted", "Ada", despite=" the register is closed ")
    detail = decision_log.entries(study)[-1].detail
    assert detail["despite"] == "the register is closed"
    assert [(each["kind"], each["values"]["of"]) for each in detail["obstacles"]] == [
        ("not_safer", "run"),
        ("not_safer", "mean"),
    ]


def test_a_reason_to_overrule_belongs_to_a_submission_that_something_stands_against(study):
    recommend(study)
    with pytest.raises(UsageError, match="nothing stands against the release"):
        decide(study, "submitted", "Ada", despite="just in case")
    decide(study, "submitted", "Ada")
    with pytest.raises(UsageError, match="belongs to a submission"):
        decide(study, "approved", "Board", number="1", despite="it is late")


@pytest.mark.slow
def test_conditions_are_proposed_with_a_submission_and_taken_over_by_an_approval_unless_it_has_others(study):
    recommend(study)
    now = decide(study, "submitted", "Ada", conditions=" a warning to users ")
    assert (now.conditions, now.number) == ("a warning to users", "")
    assert decision_log.entries(study)[-1].detail["conditions"] == "a warning to users"
    assert decide(study, "approved", "Board", number="1").conditions == "a warning to users"
    assert decide(study, "returned", "Board", why="later").conditions == ""
    decide(study, "submitted", "Ada", conditions="a warning to users")
    assert decide(study, "approved", "Board", number="2", conditions="").conditions == ""
    decide(study, "returned", "Board", why="later")
    decide(study, "submitted", "Ada")
    assert decide(study, "approved", "Board", number="3", conditions="no ages").conditions == "no ages"


def test_fresh_runs_that_refute_the_probability_stop_a_submission_unless_a_reason_is_recorded(tmp_path):
    """Of 50 fresh runs 38 meet the bound, so 62 to 87 % of all do, and their mean does."""
    with study_of(tmp_path, ENOUGH, DecisionPlan(max_risk="0.2")) as study:
        risks = [0.1] * 38 + [0.25] * 12
        rows = [(0, 1_000_001 + r, RunStatus.OK, 2, risk, 0.4, 0.0) for r, risk in enumerate(risks)]
        study.runs.add(rows, table="fresh")
        choose(study, risk_utility_map(study), "safe", by="Ada")
        with pytest.raises(UsageError, match=r"Only 38 of 50 fresh runs .* requires 90 %"):
            decide(study, "submitted", "Ada")
        decide(study, "submitted", "Ada", despite="the law asks for this table")
        assert decision_log.entries(study)[-1].detail["obstacles"][0]["kind"] == "rarely_within"


def _log_untried(study, why="the records are read by streaming"):
    choice = decision_status(study).choice
    assert choice is not None
    log_verdict(study, f"{choice.label}/{choice.replicate}", Verdict("untried", why=why))


def test_a_release_that_could_not_be_attacked_is_submitted_for_a_reason_alone(study):
    recommend(study)
    _log_untried(study)
    with pytest.raises(UsageError, match="read by streaming") as refused:
        decide(study, "submitted", "Ada")
    assert refused.value.remedy is Remedy.DESPITE
    decide(study, "submitted", "Ada", despite="the file is too large")
    (obstacle,) = decision_log.entries(study)[-1].detail["obstacles"]
    assert obstacle == {"kind": "not_attacked", "values": {"why": "the records are read by streaming"}}
    assert decide(study, "approved", "Board", number="1").state == "approved"


def test_an_approval_of_what_was_never_said_to_be_unattacked_needs_a_reason(study):
    recommend(study)
    decide(study, "submitted", "Ada")
    _log_untried(study)
    with pytest.raises(UsageError, match="read by streaming") as refused:
        decide(study, "approved", "Board", number="1")
    assert refused.value.remedy is Remedy.REASON
    decide(study, "approved", "Board", number="1", why="attacked elsewhere")
    assert decision_log.entries(study)[-1].detail["why"] == "attacked elsewhere"


# -- the run that is meant -------------------------------------------------------------------------------------------


OWN = 0.1
"""A bound on risk below the plan's: run 1 of a scenario is above it, and run 2 within."""


def chosen(folder: Path, **rule: object) -> Study:
    risks = (0.15, *[0.05] * 19)
    rows = [(0, r, RunStatus.OK, 2, risk, 0.1, 0.0) for r, risk in enumerate(risks, 1)]
    study = study_of(folder, rows, DecisionPlan(max_risk="0.2"))
    choose(study, risk_utility_map(study), "safe", by="Ada", **rule)  # type: ignore[arg-type]
    return study


def test_the_run_of_a_recommendation_is_meant_although_the_plans_rule_alone_takes_another(tmp_path: Path) -> None:
    with chosen(tmp_path, max_risk=OWN) as study:
        (choice,) = study.choices.all()
        assert choice.replicate == meant_run(study, 0) == meant_run(study, 0, 0) == 2


def test_without_a_recommendation_that_stands_the_plans_rule_counts_and_a_bound_that_is_tried(tmp_path: Path) -> None:
    with chosen(tmp_path, max_risk=OWN) as study:
        decide(study, "withheld", "Ada", why="nobody needs it")
        assert meant_run(study, 0) == 1
        assert meant_run(study, 0, bound=OWN) == 2


def test_a_bound_that_is_tried_is_not_overruled_by_what_was_recommended(tmp_path: Path) -> None:
    with chosen(tmp_path) as study:
        assert meant_run(study, 0) == 1
        assert meant_run(study, 0, bound=OWN) == 2
