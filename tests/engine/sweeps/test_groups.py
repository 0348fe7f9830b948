"""Groups as arrays are those that are formed spec by spec, and batches of them travel."""

from __future__ import annotations

import pickle
from itertools import groupby
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.domain import Attribute, Domain, EditRule, LevelKind
from engine.data.table import ContingencyTable
from engine.plan.coding import code
from engine.release.spec import AttributeSpec, ReleaseSpec, multi_kind
from engine.release.specs import ReleaseSpecs, Specs
from engine.sweeps import workers
from engine.sweeps.candidates import scenarios_of
from engine.sweeps.groups import TaskBatch, group, group_of, in_even_order
from engine.sweeps.runner import missing_runs
from engine.sweeps.sweep import open_sweep
from engine.sweeps.workers import batches_in_turn, task_batches
from tests.engine.small_studies import RAW, plan_of
from tests.examples import examples
from tests.small_tables import Small
from tests.twins import groups as twin

NAMES = ("A", "B", "C", "D")
WAYS = ((), (("lean", "1"), ("risk", "A")))
MAPS = [(("w0", w), ("D", d)) for w in ("0.8", "0.9") for d in ("5", "7")]
RANDOM = st.builds(
    lambda roles, rate, rule, way: ReleaseSpec(AttributeSpec(NAMES, roles), rate, rule, params=way),
    st.text("SFCU", min_size=4, max_size=4),
    st.sampled_from(("0.1", "0.5")),
    st.sampled_from(("strict", "loose")),
    st.sampled_from(WAYS),
)
OTHER = st.builds(
    lambda roles, params: ReleaseSpec(AttributeSpec(NAMES, roles), "", mechanism="maps", params=params),
    st.text("SU", min_size=4, max_size=4),
    st.sampled_from(MAPS),
)
LISTS = st.lists(st.one_of(RANDOM, OTHER), max_size=30, unique=True)


@st.composite
def tables(draw: st.DrawFn) -> ContingencyTable:
    """A table of two levels an attribute, some of unlike kinds, with and without an edit rule that refuses pairs."""
    unlike: tuple[tuple[LevelKind, ...], ...] = (("value", "value"), ("value", "missing"))
    kinds = [draw(st.sampled_from(unlike)) for _ in NAMES]
    ruled = draw(st.sets(st.sampled_from(NAMES), max_size=3))
    rules = (EditRule("r", tuple((name, ("0",)) for name in sorted(ruled)), True),) if ruled else ()
    attributes = tuple(Attribute(name, ("0", "1"), kinds=pair) for name, pair in zip(NAMES, kinds, strict=True))
    cells = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T
    return ContingencyTable(Domain(attributes, rules), cells, np.ones(16, np.int64))


@pytest.mark.slow
@given(LISTS, tables(), st.data())
@examples(120)
def test_groups_are_those_formed_spec_by_spec(listed, table, data):
    indices = data.draw(st.permutations(range(len(listed))))
    groups = group(listed, table, np.array(indices, np.int64))
    several = multi_kind(table)
    expected = twin.sharing(list(zip(indices, listed, strict=True)), {*several, *table.domain.ruled})
    assert [list(one.scenarios) for one in groups] == expected
    assert groups.sizes.tolist() == [len(one) for one in expected] == [len(one) for one in groups]
    assert groups.mechanisms == [one.mechanism for one in groups] == [one[0][1].mechanism for one in expected]
    for one in groups:
        structures = {spec.structure(several, table.domain.ruled) for _, spec in one.scenarios if spec.by_roles}
        assert structures == (set() if one.structure is None else {one.structure})
    order = data.draw(st.permutations(range(len(expected))))
    assert [list(one.scenarios) for one in groups.take(np.array(order, int))] == [expected[k] for k in order]
    assert sorted(map(min, (one.indices for one in in_even_order(groups)))) == sorted(min(one)[0] for one in expected)


@pytest.mark.slow
@given(LISTS, tables(), st.data(), st.integers(1, 5), st.sampled_from((1, 7, 400)))
@examples(120)
def test_batches_are_those_formed_scenario_by_scenario_and_travel(listed, table, data, replicates, size):
    done = data.draw(st.lists(st.integers(0, 5), min_size=len(listed), max_size=len(listed)))
    groups = group(listed, table)
    expected = [list(one.scenarios) for one in groups]
    assert missing_runs(groups, np.array(done, int), replicates) == twin.runs_missing(expected, done, replicates)
    batches = list(task_batches(groups, np.array(done, int), replicates, 10, size))
    plain = [[(list(one.scenarios), tuple(numbers)) for one, numbers in batch] for batch in batches]
    assert plain == twin.task_batches(expected, done, replicates, 10, size, workers.ON_RECORDS)
    for batch in batches:
        again = pickle.loads(pickle.dumps(batch))
        assert isinstance(again, TaskBatch) and len(again) == len(batch)
        for (one, numbers), (other, other_numbers) in zip(batch, again, strict=True):
            assert one.scenarios == other.scenarios and one.structure == other.structure
            assert list(numbers) == list(other_numbers)


@pytest.mark.slow
@given(LISTS, tables(), st.data(), st.integers(1, 25))
@examples(60)
def test_batches_over_records_come_in_turns_and_hold_what_is_missing(listed, table, data, replicates):
    done = np.array(data.draw(st.lists(st.integers(0, 25), min_size=len(listed), max_size=len(listed))), int)
    groups = group(listed, table)
    question: Any = SimpleNamespace(on_records=[0], table=table, calls=(), plan=SimpleNamespace(keys=(), analyse=()))
    tasks = [task for batch in batches_in_turn(question, groups, done, replicates, 10) for task in batch]
    came = [(i, number - 10) for one, numbers in tasks for number in numbers for i in one.indices.tolist()]
    assert len(set(came)) == len(came)
    missing = {(i, number) for i in range(len(listed)) for number in range(done[i] + 1, replicates + 1)}
    assert missing <= set(came) and all(done[i] < replicates for i, _ in came)
    drawn = [(i, number) for i, number in came if group_of(listed[i], table).structure is not None]
    turn = -(-replicates // 10)
    turns = [(number - 1) // turn for _, number in drawn]
    assert turns == sorted(turns)
    fitted = [tuple(one.indices.tolist()) for one, _ in tasks if one.structure is None]
    assert len(set(fitted)) == len(list(groupby(fitted))), "no fit is made twice"
    question.on_records = []
    plain = [task for batch in batches_in_turn(question, groups, done, replicates, 10) for task in batch]
    expected = [task for batch in task_batches(groups, done, replicates, 10) for task in batch]
    assert [(one.scenarios, numbers) for one, numbers in plain] == [
        (one.scenarios, numbers) for one, numbers in expected
    ]


def test_one_scenario_alone_is_number_0_of_its_group():
    cells = np.array([[0, 0, 0, 0], [1, 1, 1, 1]])
    table = ContingencyTable(Domain(tuple(Attribute(name, ("0", "1")) for name in NAMES)), cells, np.ones(2, np.int64))
    spec = ReleaseSpec(AttributeSpec(NAMES, "SCFU"), "0.1")
    alone = group_of(spec, table)
    assert alone.scenarios == ((0, spec),) and alone.structure == spec.structure()


def test_a_batch_travels_in_few_bytes():
    """Groups of a complete space: 400 candidates took 19 kB as objects."""
    roles = np.frombuffer(b"SFCU", np.uint8)[np.indices((4,) * 4).reshape(4, -1).T]
    cells = np.array([[0, 0, 0, 0], [1, 1, 1, 1]])
    table = ContingencyTable(Domain(tuple(Attribute(name, ("0", "1")) for name in NAMES)), cells, np.ones(2, np.int64))
    groups = group(ReleaseSpecs.product(Specs(NAMES, roles), ["0.1", "0.2"]), table)
    batch = next(task_batches(groups, np.zeros(512, np.int64), 1))
    assert sum(len(one) for one, _ in batch) >= 400
    assert len(pickle.dumps(batch)) < 10_000


def test_no_release_spec_is_made_on_the_way_from_a_plan_to_batches(monkeypatch):
    """A space of hundreds of thousands of scenarios is arrays throughout."""
    plan = plan_of(space={"all_specs": True, "swap_sizes": ()})
    expected, _ = scenarios_of(plan, code(RAW, plan))

    def refuse(*_: object) -> None:
        raise AssertionError("a release spec was made")

    with monkeypatch.context() as patch:
        patch.setattr(ReleaseSpecs, "_made", refuse)
        opened = open_sweep(RAW, plan, None)
        specs = opened.listed().scenarios.specs
        groups = in_even_order(group(specs, opened.question.table))
        batches = list(task_batches(groups, np.zeros(len(specs), np.int64), 2))
        messages = [pickle.dumps(batch) for batch in batches]
    opened.study.close()
    assert specs == expected and len(messages) == len(batches) > 0


@pytest.mark.parametrize(("before", "first"), [((), 1), ((10,), 11)])
def test_runs_are_numbered_from_one_or_after_those_before(before: tuple[int, ...], first: int) -> None:
    small = Small(((0, 0), (1, 1)), (2, 2))
    groups = group([ReleaseSpec(small.spec("SU"), "0.5")], small.coded()[0])
    ((_, numbers),) = next(iter(task_batches(groups, np.zeros(1, int), 3, *before)))
    assert list(numbers) == [first, first + 1, first + 2]
