"""Earlier studies of the same data are found by their keyed fingerprints, and handed down from study to study."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.data.microdata import RawTable
from engine.decision.choice import choose
from engine.plan import DecisionPlan, Plan
from engine.study import ledger as plan_changes
from engine.study.decision_log import entries
from engine.study.ledger import (
    ALL_COUNT,
    BoundOrigin,
    EarlierStudy,
    Ledger,
    Predecessors,
    _Found,
    _ledger,
    bound_origin,
    is_of_data,
    ledger_of,
)
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps import sweep as sweeping
from engine.sweeps.sweep import open_sweep
from tests.engine.small_studies import RAW, SMALL, plan_of
from tests.small_tables import Small

PLAN = plan_of(space={"swap_sizes": (1,), "replicates": 10})
OTHER = Small(tuple(reversed(SMALL.records)), SMALL.shape).raw()
ASKED = Predecessors(ask=True)


def made(path: Path, plan: Plan = PLAN, raw: RawTable = RAW, earlier: Predecessors = ALL_COUNT) -> Ledger:
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
    plan = replace(PLAN, decision=DecisionPlan(max_risk="0.1"))
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
        assert bound_origin(study, 0.1) is BoundOrigin.AFTER_EARLIER
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
    before, last = made(folder / "third.study", replace(PLAN, keys=PLAN.names[:2])).earlier
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
