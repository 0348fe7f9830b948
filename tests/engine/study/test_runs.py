"""Runs, scenarios and arrays computed from them come back as they were stored."""

from __future__ import annotations

import sqlite3
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import EngineError
from engine.common.untrusted import sum_of
from engine.measures import call
from engine.plan import SpacePlan
from engine.release.scenarios import params_text
from engine.release.space import complete
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.release.specs import ReleaseSpecs
from engine.study import runs as aggregate_cache
from engine.study import runs as runs_module
from engine.study import runs as scenario_rows
from engine.study import runs as scenario_table
from engine.study.lease import Lease
from engine.study.study import Study
from engine.sweeps.sweep import open_sweep
from tests.engine.small_studies import RAW, plan_of
from tests.examples import examples
from tests.small_tables import KEY, Small
from tests.twins.ids import short_ids


@pytest.mark.parametrize("values", [900, 20, 1])
def test_runs_are_stored_as_they_are_whatever_their_order(values, monkeypatch):
    monkeypatch.setattr(runs_module, "_VALUES", values)
    with open_sweep(RAW, plan_of(), None, key=KEY).listed() as study:
        width = len(study.measures)
        rng = np.random.default_rng(3)
        keys = [(s, r) for s in range(len(study.scenarios)) for r in range(1, 18)]
        figures = rng.random((len(keys), width))
        figures[::7, 0] = np.nan
        rows = np.column_stack([np.array(keys, float), np.zeros(len(keys)), np.full(len(keys), 4.0), figures])
        order = rng.permutation(len(rows))
        other = rows[order[:100]] + [0, 0, 0, 0, *[1.0] * width]
        added = [study.runs.add(rows[order[:101]]), study.runs.add(other), study.runs.add(rows[order[101:]])]
        assert study.runs.add(np.concatenate([rows, other])) == 0
        stored = study.runs.results()
    assert added == [101, 0, len(rows) - 101], "a run that is there already stays as it is"
    assert stored.values.tobytes() == figures.tobytes(), "ordered by scenario and replicate"
    assert list(zip(stored.scenario.tolist(), stored.replicate.tolist(), strict=True)) == keys


def test_of_one_run_given_twice_the_first_counts_and_later_measures_find_theirs():
    with open_sweep(RAW, plan_of(), None, key=KEY).listed() as study:
        width = len(study.measures)
        row = [3.0, 2.0, 0.0, 4.0, *[0.25] * width]
        again = [*row[:4], *[0.5] * width]
        assert study.runs.add([[0.0, 1.0, *row[2:]], row, again]) == 2
        columns = study.runs.begin_measures([call("false_zeros")])
        study.runs.update(columns, np.array([[3.0, 2.0, 0.0, 4.0, 7.0], [0.0, 1.0, 0.0, 4.0, 8.0]]), [], "realisation")
        study.finish_measures([call("false_zeros")], {"false_zeros": 0.0})
        assert study.runs.results().values.tolist() == [[*row[4:], 8.0], [*row[4:], 7.0]]


ARRAYS = {
    "matrix": np.random.default_rng(1).random((5, 3)),
    "undefined": np.full((4, 2), np.nan),
    "one": np.array(2.5),
    "none": np.zeros(0),
    "no rows": np.zeros((0, 3)),
    "no columns": np.zeros((4, 0)),
    "words": np.array(["ä", "bcd"]),
    "labels": np.array([b"x1", b"x23"]),
    "by columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "mask": np.ones(7, bool),
    "small": np.array([-5, 300]),
    "large": np.array([2**40, -1]),
    "of both signs and large": np.array([-1, 2**62 + 1]),
    "same": np.full(3, 9),
    "zeros of two signs": np.array([0.0, -0.0]),
}


@pytest.fixture
def db():
    made = sqlite3.connect(":memory:", isolation_level=None)
    yield made
    made.close()


def test_arrays_come_back_as_they_were(db):
    assert aggregate_cache.load(db, "realisation all") is None  # not even the table is there
    aggregate_cache.store(db, "realisation all", ARRAYS)
    aggregate_cache.store(db, "realisation", {"another": np.ones(2)})
    found = aggregate_cache.load(db, "realisation all")
    assert found is not None and set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape), name
        assert found[name].tobytes() == array.tobytes(), name
        assert not found[name].flags.writeable, name
    assert list(aggregate_cache.load(db, "realisation") or ()) == ["another"]
    assert aggregate_cache.load(db, "realisation al") is None


@pytest.mark.parametrize(
    ("writer", "as_writer", "kept"), [(None, False, True), (None, True, True), ("x", False, False), ("x", True, True)]
)
def test_a_reader_keeps_arrays_while_nobody_writes_and_the_writer_always(
    db, writer: str | None, as_writer: bool, kept: bool
) -> None:
    shared: Any = SimpleNamespace(
        connection=db, errors_in_words=nullcontext, transaction=lambda wait: nullcontext(db), data_version=3
    )
    subject: Any = SimpleNamespace(measures=("small_cells",))
    cache = aggregate_cache.AggregateCache(shared, subject, cast("Lease", SimpleNamespace(writer=writer)))
    for since, stored in ((2, False), (3, kept)):
        found = cache.get("fresh x", lambda: {"n": np.arange(3)}, since, as_writer=as_writer)
        assert found["n"].tolist() == [0, 1, 2] and (cache.load("fresh x") is not None) is stored
    if kept:
        assert cache.get("fresh x", dict, 3)["n"].tolist() == [0, 1, 2], "they are not computed again"


def test_arrays_too_large_for_a_value_are_not_stored(db, monkeypatch):
    monkeypatch.setattr(aggregate_cache, "_MOST", 79)
    aggregate_cache.store(db, "fresh x", {"n": np.zeros(10)})
    assert aggregate_cache.load(db, "fresh x") is None


@pytest.mark.parametrize("place", [0, 60, 300, -300, -1])
def test_arrays_that_damage_has_changed_count_as_none(db, place):
    """Wherever a bit turns, arrays are computed again or the same."""
    aggregate_cache.store(db, "fresh x", {"n": np.arange(50.0)})
    ((value,),) = db.execute("select value from aggregate").fetchall()
    turned = bytearray(value)
    turned[place] ^= 4
    db.execute("update aggregate set value = ?", (bytes(turned),))
    found = aggregate_cache.load(db, "fresh x")
    assert found is None or found["n"].tobytes() == np.arange(50.0).tobytes()
    assert place != 300 or found is None


def test_what_is_kept_goes_with_what_it_rests_on(db):
    def there() -> list[str]:
        return [name for name in ("scenario", "realisation x", "fresh x") if aggregate_cache.load(db, name)]

    for changed, left in (("fresh", ["scenario", "realisation x"]), ("realisation", ["scenario"]), ("scenario", [])):
        for name in ("scenario", "realisation x", "fresh x"):
            aggregate_cache.store(db, name, {"n": np.array(1)})
        for done in ("fresh", "realisation", "scenario"):
            aggregate_cache.invalidate(db, done)
            if done == changed:
                break
        assert there() == left


SMALL = Small(((0, 0, 0), (1, 1, 1)), (2, 2, 2))
ABOUT = {"attributes": list(SMALL.names), "measures": ["small_cells", "hellinger"], "n_records": 2}
SPECS = st.one_of(
    st.builds(
        lambda roles, rate, params: ReleaseSpec(AttributeSpec(SMALL.names, roles), rate, params=params),
        st.text("SFCU", min_size=3, max_size=3),
        st.sampled_from(("0.1", "0.2")),
        st.sampled_from(((), (("lean", "1"),))),
    ),
    st.sampled_from(("ü", "0.9")).map(
        lambda w: ReleaseSpec(SMALL.spec("SSU"), "", mechanism="maps", params=(("w0", w),))
    ),
)


def a_study() -> Study:
    plan = SMALL.plan(space=SpacePlan(swap_sizes=(1,), rates=("0.1", "0.2"), replicates=3))
    return Study.create_in_memory(plan, ABOUT, {"small_cells": 0.5, "hellinger": 0.0})


@pytest.mark.slow
@given(st.lists(st.lists(SPECS, max_size=25), max_size=4), st.sampled_from((1, 7, 50_000)))
@examples(60)
def test_rows_are_those_made_one_by_one(steps, at_once):
    known: dict[ReleaseSpec, None] = {}
    with a_study() as study, pytest.MonkeyPatch.context() as patch:
        patch.setattr(scenario_rows, "_CHUNK", at_once)
        for added in steps:
            known |= dict.fromkeys(added)
            indices = study.scenario_table.add(added)
            assert indices.tolist() == [list(known).index(spec) for spec in added]
        labels = short_ids([spec.digest() for spec in known], {})
        rows = [
            (index, label, s.mechanism, s.rate, s.rule, s.attributes.roles, params_text(s.params))
            for index, (label, s) in enumerate(zip(labels, known, strict=True))
        ]
        stored = study.database.rows("select * from scenario order by id")
        assert stored == [(*row, sum_of(row)) for row in rows]
        read = study.scenario_table.read()
        assert study.scenarios == read and study.scenarios.specs == list(known)
        for name, array in read.arrays().items():
            np.testing.assert_array_equal(study.scenarios.arrays()[name], array)


def test_two_candidates_of_one_label_are_refused_from_the_first_rows_on(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, third = (ReleaseSpec(AttributeSpec(SMALL.names, roles), "0.1") for roles in ("SSU", "SUU", "USU"))
    with a_study() as study:
        with monkeypatch.context() as mistaken:
            mistaken.setattr(scenario_table, "short_ids", lambda digests, taken: np.full(len(digests), b"x000", "S4"))
            with pytest.raises(EngineError, match="UNIQUE"):
                study.scenario_table.add([one, other])
        assert study.scenario_table.count() == 0
        study.scenario_table.add([one, other])
        monkeypatch.setattr(scenario_table, "short_ids", lambda digests, taken: taken[:1])
        with pytest.raises(EngineError, match="UNIQUE"):
            study.scenario_table.add([third])
        assert study.scenario_table.count() == 2


NAMES = tuple("abcde")
SWAPS = ReleaseSpecs.product(complete(NAMES, NAMES), ["0.01", "0.02", "0.1"], ways=[(), (("lean", "1"),)])
OTHER = ReleaseSpecs.of(
    ReleaseSpec(AttributeSpec(NAMES, "SSUUU"), "", mechanism="maps", params=(("w0", text),))
    for text in ("ü", "0.9", "")
)


@pytest.fixture
def memory():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(scenario_table.SCENARIOS)
    yield connection
    connection.close()


def written(memory: sqlite3.Connection, start: int, specs: ReleaseSpecs) -> tuple[list, list]:
    """Rows as they are written, and as they would be made one by one."""
    labels = np.array([f"x{k:04x}{'0123456789abcde'[: k % 16]}".encode() for k in range(len(specs))])
    scenario_rows.insert_scenarios(memory, start, labels, specs)
    rows = [
        (start + k, labels[k].decode(), s.mechanism, s.rate, s.rule, s.attributes.roles, params_text(s.params))
        for k, s in enumerate(specs)
    ]
    return memory.execute("select * from scenario order by id").fetchall(), [(*row, sum_of(row)) for row in rows]


@pytest.mark.parametrize("start", [0, 8, 95, 999_990])
@pytest.mark.parametrize("rows_at_once", [1, 7, 50_000])
def test_rows_are_those_made_one_by_one_of_scenario_rows(memory, monkeypatch, start, rows_at_once):
    monkeypatch.setattr(scenario_rows, "_AT_A_TIME", rows_at_once)
    specs = SWAPS[:40].joined(OTHER)
    stored, made = written(memory, start, specs)
    assert stored == made
    assert [list(map(type, row)) for row in stored] == [list(map(type, row)) for row in made]
