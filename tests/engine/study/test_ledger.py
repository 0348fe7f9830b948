"""The ledger tells earlier studies of the same data and changes of the plan."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.processes import hostname, process_birth
from engine.data.microdata import RawTable
from engine.decision.choice import choose
from engine.measures import call
from engine.plan import AboutPlan, DecisionPlan, Plan, TablePlan, ThreatPlan
from engine.plan.differences import lock
from engine.plan.samples import load
from engine.study import ledger as plan_changes
from engine.study.decision_log import append, entries, verify
from engine.study.ledger import (
    ALL_COUNT,
    EarlierStudy,
    Ledger,
    Predecessors,
    Unrelated,
    _Found,
    _ledger,
    bound_origin,
    change_plan,
    is_of_data,
    ledger_of,
    ledger_sentences,
    record_plan,
)
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps import sweep as sweeping
from engine.sweeps.sweep import open_sweep
from tests.engine.small_studies import RAW, SMALL, plan_of
from tests.small_tables import Small

PLAN = load("czech")[1]
BOUNDS = st.sampled_from((None, 0.1, 0.2))
TEXTS = st.text(max_size=8)
EARLIER = st.builds(
    EarlierStudy,
    id=TEXTS,
    name=TEXTS,
    begun=TEXTS,
    candidates=st.integers(0, 99),
    runs=st.integers(0, 2),
    choices=st.integers(0, 3),
    decision=st.sampled_from(("", "chosen", "approved", "an event of a later version")),
    bound=BOUNDS,
    bound_kept=st.booleans(),
    bounds_chosen=st.lists(st.floats(0, 1), max_size=2).map(tuple),
    differences=st.lists(TEXTS, max_size=2).map(tuple),
    later=TEXTS,
    certain=st.booleans(),
)
LEDGERS = st.builds(
    Ledger,
    st.lists(EARLIER, max_size=4).map(tuple),
    st.lists(st.builds(Unrelated, st.lists(TEXTS, max_size=2).map(tuple), TEXTS), max_size=2).map(tuple),
    st.lists(TEXTS, max_size=2).map(tuple),
)


def begun(plan: Plan, ledger: Ledger | None) -> Study:
    """A study in memory whose log was begun."""
    study = Study.create_in_memory(plan, {"measures": ["small_cells"], "attributes": list(plan.names)}, {})
    record_plan(study, ledger=ledger)
    return study


def with_bound(bound: float | None) -> Plan:
    return replace(PLAN, decision=DecisionPlan(max_risk=None if bound is None else str(bound)))


@pytest.mark.slow
@given(LEDGERS)
def test_a_ledger_comes_back_from_the_log_as_it_was_written(ledger: Ledger) -> None:
    with begun(PLAN, ledger) as study:
        assert ledger_of(study) == ledger
        told = ledger_sentences(ledger)
    assert len(told) == len(ledger.earlier) + len(ledger.unrelated) + bool(ledger.unread)


@pytest.mark.slow
@given(LEDGERS, BOUNDS.filter(bool))
def test_a_bound_is_fixed_only_where_every_plan_had_it_before_its_results(ledger: Ledger, bound: float) -> None:
    seen = [earlier for earlier in ledger.earlier if earlier.runs]
    fixed = {(earlier.bound, earlier.bound_kept) for earlier in seen} <= {(bound, True)}
    with begun(with_bound(bound), ledger) as study:
        assert bound_origin(study, bound) == ("fixed" if fixed else "after_earlier")
        assert bound_origin(study, bound / 2) == "chosen"


def test_a_bound_that_a_change_of_the_plan_sets_is_not_fixed() -> None:
    for start in (None, 0.2, 0.1):
        with begun(with_bound(start), Ledger()) as study:
            for bound in (0.2, 0.1):  # from 0.1 there and back again
                change_plan(study, with_bound(bound))
            assert bound_origin(study, 0.1) == "changed"
    with begun(with_bound(0.1), Ledger()) as study:
        change_plan(study, replace(study.plan, about=replace(study.plan.about, survey="Car workers")))
        assert bound_origin(study, 0.1) == "fixed"


def test_a_log_of_an_earlier_version_says_nothing_of_earlier_studies() -> None:
    study = Study.create_in_memory(with_bound(0.1), {"measures": [], "attributes": []}, {})
    with study:
        assert ledger_of(study) is None and bound_origin(study, 0.1) == "fixed"
        append(study, "plan", {"measures": [], "replicates": 20})
        assert ledger_of(study) is None and bound_origin(study, 0.1) == "fixed"


def test_a_ledger_that_this_program_never_writes_is_refused_in_a_sentence() -> None:
    study = Study.create_in_memory(PLAN, {"measures": [], "attributes": []}, {})
    with study:
        append(study, "plan", {"ledger": {"earlier": [{"id": 7}]}})
        with pytest.raises(EngineError, match="the ledger in the decision log of 'in memory'"):
            ledger_of(study)


def test_the_log_opens_with_the_ledger_and_says_so_to_any_json_reader(tmp_path: Path) -> None:
    with begun(PLAN, Ledger(unread=("old.study",))) as study:
        first = entries(study)[0]
        assert first.event == "plan" and json.loads(json.dumps(first.detail))["ledger"]["unread"] == ["old.study"]


SAMPLE_PLAN = plan_of(space={"swap_sizes": (1,), "replicates": 10})
OTHER = Small(tuple(reversed(SMALL.records)), SMALL.shape).raw()
ASKED = Predecessors(ask=True)


def made(path: Path, plan: Plan = SAMPLE_PLAN, raw: RawTable = RAW, earlier: Predecessors = ALL_COUNT) -> Ledger:
    """The ledger of a new study."""
    opened = open_sweep(raw, plan, path, earlier=earlier)
    with opened.study as study:
        opened.run(workers=1)
        ledger = ledger_of(study)
    assert ledger is not None
    return ledger


def names(ledger: Ledger) -> list[str]:
    return [study.name for study in ledger.earlier]


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A study with a choice under a bound that its plan does not name."""
    path = tmp_path / "first.study"
    assert made(path) == Ledger()
    with Study.open(path) as study:
        view = risk_utility_map(study)
        choose(study, view, "small loss", max_risk=float(view.risk_loss.max()), by="Ada")
    return path


@pytest.mark.slow
def test_a_study_of_the_same_data_beside_it_came_before(first: Path) -> None:
    plan = replace(SAMPLE_PLAN, decision=DecisionPlan(max_risk="0.1"))
    (earlier,) = made(first.with_name("second.study"), plan).earlier
    with Study.open(first) as study:
        log, scenarios, choice = entries(study), study.n_scenarios, study.choices.all()[-1]
    assert earlier == EarlierStudy(
        id=log[0].digest,
        name="first.study",
        begun=log[0].at,
        candidates=scenarios,
        runs=10 * scenarios,
        choices=1,
        decision="chosen",
        bound=None,
        bound_kept=True,
        bounds_chosen=(choice.record["bound"],),
        differences=("decision.max_risk: was nothing, is 0.1",),
    )
    with Study.open(first.with_name("second.study")) as study:
        assert bound_origin(study, 0.1) == "after_earlier"
        text = json.dumps(entries(study)[0].detail)
    key = first.with_name("first.study.key").read_text().strip()
    assert key not in text and str(first.parent) not in text and RAW.content_digest().hex() not in text


@pytest.mark.slow
def test_other_data_are_told_apart_by_the_keyed_fingerprint_alone(first: Path) -> None:
    assert OTHER.n_records == RAW.n_records and made(first.with_name("other.study"), raw=OTHER) == Ledger()
    with Study.open(first) as study:
        assert is_of_data(study, RAW) is True and is_of_data(study, OTHER) is False
        assert "content" not in str(study.about) and RAW.content_digest().hex() not in str(study.about)
    key = first.with_name("first.study.key")
    known = bytes.fromhex(key.read_text())
    key.unlink()
    with Study.open(first) as study:  # without its key only the shape of the data can be compared
        assert is_of_data(study, RAW) is None and is_of_data(study, OTHER) is None
        assert is_of_data(study, OTHER, [known]) is False and is_of_data(study, RAW, [known]) is True
        fewer = Small(SMALL.records[1:], SMALL.shape).raw()
        assert is_of_data(study, fewer) is False
        renamed = RawTable({f"{name}x": column for name, column in RAW.columns.items()}, RAW.n_records, "renamed")
        assert is_of_data(study, renamed) is False
    assert not made(first.with_name("second.study")).earlier[0].certain


@pytest.mark.slow
def test_what_an_earlier_study_tells_is_handed_down(first: Path) -> None:
    folder = first.parent
    made(folder / "second.study")
    for name in ("first.study", "first.study.key"):
        (folder / name).unlink()
    before, last = made(folder / "third.study", replace(SAMPLE_PLAN, keys=SAMPLE_PLAN.names[:2])).earlier
    assert (before.name, before.later, before.choices) == ("first.study", "second.study", 1)
    assert (last.name, last.later) == ("second.study", "")
    assert before.differences == () and len(last.differences) == 1
    for end in ("study", "study.key"):
        shutil.copy(folder / f"third.{end}", folder / f"x copy of third.{end}")
    assert len(made(folder / "fourth.study").earlier) == 3, "a copy is the same study"


@pytest.mark.slow
def test_nobody_is_asked_of_what_is_answered_already(first: Path) -> None:
    folder = first.parent
    path = folder / "second.study"
    with pytest.raises(UsageError, match=r"'first\.study' beside 'second\.study' is of the same data"):
        made(path, earlier=ASKED)
    assert not path.exists() and not path.with_name("second.study.key").exists()
    assert names(made(path, earlier=replace(ASKED, after=(first,)))) == ["first.study"]
    assert names(made(path, earlier=ASKED)) == ["first.study"], "the log was begun: nothing is asked any more"
    assert names(made(folder / "third.study", earlier=replace(ASKED, after=(path,)))) == ["first.study", "second.study"]
    (folder / "elsewhere").mkdir()
    alone = folder / "elsewhere" / "alone.study"
    assert made(alone) == Ledger(), "what lies in another folder is not beside it"
    wanted = r"'first\.study', 'second\.study' and 'third\.study' beside 'x\.study' are of the same data"
    with pytest.raises(UsageError, match=wanted):
        made(folder / "x.study", earlier=replace(ASKED, after=(alone,)))
    after = replace(ASKED, after=(alone, folder / "third.study"))
    everything = {"first.study", "second.study", "third.study", "alone.study"}
    assert {*names(made(folder / "x.study", earlier=after))} == everything
    assert len(made(alone.with_name("y.study"), earlier=Predecessors(after=(path,))).earlier) == 5, (
        "where nobody is asked, studies beside a named one count too"
    )


def test_a_reason_is_kept_for_those_that_are_not_named(first: Path) -> None:
    folder = first.parent
    ledger = made(folder / "second.study", earlier=Predecessors(unrelated=" other users ", ask=True))
    assert ledger.earlier == () and [(s.studies, s.why) for s in ledger.unrelated] == [
        (("first.study",), "other users")
    ]
    after = Predecessors(after=(folder / "second.study",), unrelated="a trial", ask=True)
    third = made(folder / "third.study", earlier=after)
    assert names(third) == ["second.study"] and [s.why for s in third.unrelated] == ["other users", "a trial"]
    (folder / "alone").mkdir()
    with pytest.raises(UsageError, match="leave the reason out"):
        made(folder / "alone" / "s.study", earlier=Predecessors(unrelated="for no study"))


def test_a_named_study_must_be_of_the_same_data(first: Path) -> None:
    other = first.with_name("other.study")
    made(other, raw=OTHER)
    with pytest.raises(UsageError, match=r"'other\.study' was made on other data"):
        made(first.with_name("second.study"), earlier=Predecessors(after=(other,)))


def test_files_that_cannot_be_read_are_told_of(first: Path) -> None:
    first.with_name("torn.study").write_bytes(b"SQLite format 3\0" + bytes(200))
    ledger = made(first.with_name("second.study"))
    assert ledger.unread == ("torn.study",) and names(ledger) == ["first.study"]


def test_a_log_that_a_kill_left_empty_gets_its_ledger_later(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = first.with_name("second.study")

    def killed(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    record: Callable[..., None] = plan_changes.record_plan
    monkeypatch.setattr(sweeping, "record_plan", killed)
    with pytest.raises(KeyboardInterrupt):
        made(path)
    monkeypatch.setattr(sweeping, "record_plan", record)
    with pytest.raises(UsageError, match="is of the same data"):
        made(path, earlier=ASKED)
    assert names(made(path, earlier=replace(ASKED, after=(first,)))) == ["first.study"]


def _earlier(name: str, later: str = "") -> EarlierStudy:
    return EarlierStudy(name, name, "", 1, 1, 0, "", None, True, (), (), later)


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sets(st.sampled_from("abcdefgh"))), max_size=5))
def test_every_study_that_ledgers_reach_is_told_once(given_studies: list[tuple[str, set[str]]]) -> None:
    """Studies that are there are told as they are now, others as the ledger that reaches them tells them."""
    found = [
        _Found(_earlier(name), Ledger(tuple(_earlier(before) for before in sorted(ledger))))
        for name, ledger in given_studies
    ]
    there = {name for name, _ in given_studies}
    told = _ledger(found, (), ()).earlier
    assert [study.name for study in told] == sorted(there.union(*(ledger for _, ledger in given_studies)))
    assert all((study.later == "") == (study.name in there) for study in told)


_PLAN = load("czech")[1]


def _study(path: Path, plan: Plan, why: str = "") -> Study:
    study = Study.create(path, plan, {"measures": ["small_cells"], "attributes": list(plan.names)}, {})
    record_plan(study, why=why, by="Ada")
    return study


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with _study(tmp_path / "s.study", _PLAN) as made:
        yield made


def test_what_changes_no_figure_may_change_and_is_logged(study: Study) -> None:
    new = replace(
        _PLAN,
        decision=DecisionPlan(max_risk="0.01"),
        threat=ThreatPlan("a colleague"),
        tables=(TablePlan("t", _PLAN.names[:2]),),
    )
    said = change_plan(study, new, why="asked for by the board", by="Ada")
    assert len(said) == 3 and study.plan == new
    log = entries(study)
    assert [entry.event for entry in log] == ["plan", "changed"]
    assert log[1].by == "Ada" and log[1].detail == {"what": said, "why": "asked for by the board"}
    verify(log)


def test_what_changes_figures_is_refused_and_nothing_is_logged(study: Study) -> None:
    with pytest.raises(UsageError, match="another plan: keys"):
        change_plan(study, replace(_PLAN, keys=_PLAN.names[:3], threat=ThreatPlan("x")))
    more = replace(_PLAN, space=replace(_PLAN.space, replicates=50))
    for new, grow, remedy in (
        (more, False, Remedy.EXTEND),
        (replace(more, keys=_PLAN.names[:3]), False, None),
        (replace(more, keys=_PLAN.names[:3]), True, None),
        (replace(_PLAN, space=replace(_PLAN.space, replicates=2)), True, None),
    ):
        with pytest.raises(UsageError, match="another plan") as refused:
            change_plan(study, new, grow=grow)
        assert refused.value.remedy is remedy
    assert study.plan == _PLAN and len(entries(study)) == 1
    assert change_plan(study, more, grow=True) and study.plan == more
    with pytest.raises(UsageError, match=r"space\.replicates"):
        change_plan(study, _PLAN, grow=True)


def test_a_locked_plan_changes_by_recorded_deviation_only(tmp_path: Path) -> None:
    locked = lock(_PLAN, "DRB-7", "Grace")
    with _study(tmp_path / "s.study", locked) as study:
        assert [entry.event for entry in entries(study)] == ["plan", "locked"]
        change_plan(study, replace(locked, about=AboutPlan("Car workers")))  # an approval leaves that open
        change_plan(study, replace(study.plan, space=replace(locked.space, replicates=30)), grow=True)
        other = replace(study.plan, decision=DecisionPlan(max_risk="0.02"))
        with pytest.raises(UsageError, match=r"departs from the one approved as DRB-7: decision\.max_risk"):
            change_plan(study, other, why=" ")
        change_plan(study, other, why="the limit was a slip", by="Ada")
        assert [entry.event for entry in entries(study)] == ["plan", "locked", "changed", "changed", "deviation"]
        with pytest.raises(UsageError, match="cannot be changed or left out"):
            change_plan(study, replace(study.plan, lock=None), why="why not")


def test_a_study_that_departs_from_the_start_needs_a_reason(tmp_path: Path) -> None:
    departed = replace(lock(_PLAN, "DRB-7", "Grace"), keys=_PLAN.names[:3])
    with pytest.raises(UsageError, match="departs"):
        _study(tmp_path / "a.study", departed)
    with _study(tmp_path / "b.study", departed, why="three keys are public") as study:
        assert entries(study)[-1].event == "deviation"


def test_a_lock_may_come_later(study: Study) -> None:
    change_plan(study, lock(_PLAN, "DRB-7", "Grace"))
    assert [(entry.event, entry.by) for entry in entries(study)] == [("plan", "Ada"), ("locked", "Grace")]


def test_a_change_undoes_none_that_another_process_made_meanwhile(study: Study) -> None:
    with Study.open(study.path) as other:
        assert study.plan == other.plan == _PLAN
        ours = replace(_PLAN, threat=ThreatPlan("a colleague"))
        change_plan(other, ours)
        with pytest.raises(EngineError, match=r"'s.study' was changed meanwhile; look at it and make the change again"):
            change_plan(study, replace(_PLAN, about=AboutPlan("Car workers")))
        assert study.plan == ours and [entry.event for entry in entries(study)] == ["plan", "changed"]
        change_plan(study, replace(study.plan, about=AboutPlan("Car workers")))
        seen = study.plan
        other.finish_measures([call("sign_changes")], {})
        with pytest.raises(EngineError, match="changed meanwhile"):
            change_plan(study, replace(seen, threat=ThreatPlan("a neighbour")))
        assert study.plan.measures == (*_PLAN.measures, "sign_changes")


def test_no_other_runs_are_asked_for_while_another_process_is_the_writer(study: Study) -> None:
    with study.database.transaction() as db:
        about = ("measure", os.getppid(), hostname(), process_birth(os.getppid()), time.time())
        db.execute("update run set task = ?, pid = ?, host = ?, born = ?, beat = ?", about)
    with pytest.raises(EngineError, match="another process that adds measures"):
        change_plan(study, replace(_PLAN, space=replace(_PLAN.space, replicates=50)), grow=True)
    assert study.plan == _PLAN
    said = replace(_PLAN, about=AboutPlan("Car workers"))
    assert change_plan(study, said) and study.plan == said
