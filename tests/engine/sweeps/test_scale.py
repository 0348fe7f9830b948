"""What speed must not change: figures are the same bits however candidates are shared out, batched, stored or packed;
and memory follows occupied cells, never the product of levels."""

from __future__ import annotations

import tracemalloc
from itertools import islice

import numpy as np
import pytest

from engine.data.domain import Attribute, Domain
from engine.data.table import ContingencyTable, occupied
from engine.frontier.summary import dominance, summarise
from engine.measures import call
from engine.mechanisms import random_swap
from engine.plan import AttributePlan, DataPlan, Plan, SpacePlan
from engine.release import space
from engine.release.batch import CellIndex, unpack
from engine.release.scenarios import StoredResults
from engine.release.spec import AttributeSpec, pairs_wanted
from engine.study.map_reader import live_frontier, risk_utility_map
from engine.study.runs import Runs, invalidate
from engine.study.study import Study
from engine.sweeps import realisations as cell_evaluator
from engine.sweeps.evaluator import Evaluator, Question
from engine.sweeps.groups import Groups, TaskBatch, group
from engine.sweeps.sweep import sweep
from engine.sweeps.workers import open_local_executor
from tests.small_tables import KEY, Small, exchange

RATES = ("0.02", "0.1", "0.3")
CALLS = tuple(
    call(text)
    for text in ("small_cells", "hellinger", "total_variation", "entropy_change", "false_zeros", "hellinger_two_way")
)


def table_of(shape: tuple[int, ...], n: int, seed: int = 3) -> ContingencyTable:
    """Records at random, the first levels the most frequent."""
    rng = np.random.default_rng(seed)
    columns = [(rng.random(n) ** 2 * size).astype(np.int64) for size in shape]
    cells, inverse = occupied(columns, shape, n)
    attributes = tuple(Attribute(f"A{j}", tuple(map(str, range(size)))) for j, size in enumerate(shape))
    return ContingencyTable(Domain(attributes), cells, np.bincount(inverse).astype(np.int64))


def asked(table: ContingencyTable) -> Question:
    return Question(table, CALLS, Plan(DataPlan(tuple(AttributePlan(name) for name in table.domain.names))))


def all_groups(table: ContingencyTable, rates=RATES) -> Groups:
    names = table.domain.names
    specs = space.build(space.complete(names, names), table).specs
    return group(space.scenarios(specs, rates), table)


def in_order(rows: np.ndarray) -> np.ndarray:
    return rows[np.lexsort((rows[:, 1], rows[:, 0]))]


@pytest.fixture(scope="module")
def dense() -> ContingencyTable:
    return table_of((3, 4, 2, 5), 900)


@pytest.fixture(scope="module")
def expected(dense) -> np.ndarray:
    """Every candidate of the space with two replicates, all at once."""
    rows = Evaluator(asked(dense), KEY).run_all([(one, (1, 2)) for one in all_groups(dense)]).rows
    return in_order(rows)


# -- the same bits ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_workers_give_the_bits_of_one(dense, expected):
    bundles = [TaskBatch([(one, (1, 2))]) for one in all_groups(dense)]
    for workers in (1, 2):
        with open_local_executor(asked(dense), KEY, workers) as executor:
            rows = np.concatenate([outcome.rows for outcome in executor.run(bundles) if len(outcome.rows)])
        np.testing.assert_array_equal(in_order(rows), expected)


@pytest.mark.slow
@pytest.mark.parametrize("cells", [1, 300, 10**9])
def test_the_size_of_a_batch_changes_no_bit(dense, expected, cells, monkeypatch):
    monkeypatch.setattr(cell_evaluator, "_CELLS", cells)
    tasks = [(one, (replicate,)) for replicate in (2, 1) for one in reversed(all_groups(dense))]
    np.testing.assert_array_equal(in_order(Evaluator(asked(dense), KEY).run_all(tasks).rows), expected)


@pytest.mark.slow
def test_a_candidate_alone_has_the_bits_it_has_among_its_splits_and_rates(dense, expected):
    for one in islice(all_groups(dense), 0, None, 7):
        for place, index in enumerate(one.indices.tolist()):
            alone = Evaluator(asked(dense), KEY).run(one.part(slice(place, place + 1)), (2,)).rows
            np.testing.assert_array_equal(alone[0], expected[2 * index + 1])


def test_some_members_of_a_group_give_those_rows_and_no_others(dense, expected):
    most = max(all_groups(dense), key=len)
    some = most.part(slice(1, None, 4))
    rows = in_order(Evaluator(asked(dense), KEY).run(some, (1,)).rows)
    np.testing.assert_array_equal(rows, expected[2 * np.sort(some.indices)])


# -- many attributes, few of the possible cells ----------------------------------------------------------------------


def recount(table: ContingencyTable, pairs: np.ndarray, spec: AttributeSpec) -> dict[tuple[int, ...], int]:
    """The released table by going from pair to pair."""
    counts = {tuple(cell): int(n) for cell, n in zip(table.cells.tolist(), table.counts, strict=True)}
    for a, b in table.cells[pairs].tolist():
        swapped = [
            [y if role == "S" else x for x, y, role in zip(p, q, spec.roles, strict=True)] for p, q in ((a, b), (b, a))
        ]
        for cell, by in ((a, -1), (b, -1), (swapped[0], 1), (swapped[1], 1)):
            counts[tuple(cell)] = counts.get(tuple(cell), 0) + by
    return {cell: n for cell, n in counts.items() if n}


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(7,) * 12, (1000, 999, 500, 12) * 6], ids=["one word", "four words"])
def test_sparse_tables_are_counted_right(shape):
    table = table_of(shape, 600)
    index = CellIndex(table)
    assert index.n_words == (1 if len(set(shape)) == 1 else 4)
    names = table.domain.names
    splits = [AttributeSpec(names, roles + "U" * (len(names) - 2)) for roles in ("SC", "CS", "SS")]
    structure = all_groups_of(table, splits[0])
    wanted = pairs_wanted("0.3", table.n_records)[1]
    pairs = random_swap.prepare(structure, table).draw(random_swap.stream(KEY, structure, table, 1), wanted)
    assert len(pairs) == wanted
    stops = np.array([0, 7, wanted], np.int64)
    for spec, (ends, cell, before, after, kept) in zip(splits, exchange(index, pairs, stops, splits), strict=True):
        for stop, begin, end in zip(stops, [0, *ends[:-1]], ends, strict=True):
            counts = recount(table, pairs[:stop], spec)
            words = index.words[cell[begin:end]]
            cells = list(zip(*(unpack(words, place).tolist() for place in index.layout), strict=True))
            assert len(set(cells)) == len(cells), "a cell is listed twice"
            assert [counts.get(one, 0) for one in cells] == after[begin:end].tolist()
            untouched = dict(zip(map(tuple, table.cells.tolist()), table.counts.tolist(), strict=True))
            assert [untouched.get(one, 0) for one in cells] == before[begin:end].tolist()
            rest = {one: n for one, n in untouched.items() if one not in set(cells)}
            assert rest == {one: n for one, n in counts.items() if one not in set(cells)}
            assert (kept[begin:end] <= np.minimum(before[begin:end], after[begin:end])).all()
            assert (before - kept)[begin:end].sum() == 2 * stop == (after - kept)[begin:end].sum()


def all_groups_of(table, spec):
    return group(space.scenarios([spec], ["0.3"]), table)[0].structure


@pytest.mark.slow
def test_memory_follows_occupied_cells_and_not_the_product_of_levels():
    table = table_of((1000, 999, 500, 12) * 3, 2000)
    names = table.domain.names
    specs = space.build(space.by_swap_sizes(names, names[:4], (1, 2)), table).specs
    groups = group(space.scenarios(specs, RATES), table)
    question = asked(table)
    tracemalloc.start()
    try:
        Evaluator(question, KEY).run_all([(one, (1,)) for one in groups])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # 12 attributes make 66 two-way margins; everything else is a few arrays per cell
    assert peak < 100_000_000


# -- what the study keeps --------------------------------------------------------------------------------------------


@pytest.fixture
def study(tmp_path):
    rng = np.random.default_rng(5)
    columns = rng.integers(0, (3, 2, 4), (120, 3))
    columns[10:, 1] = 0  # so few differ on the second attribute that swapping it at 90 % must fail
    records = tuple(map(tuple, columns.tolist()))
    small = Small(records, (3, 2, 4))
    plan = small.plan(space=SpacePlan(all_specs=True, rates=("0.1", "0.9"), replicates=3))
    with sweep(small.raw(), plan, tmp_path / "a.study", key_file=tmp_path / "key", workers=1) as made:
        yield made


def same(a, b) -> None:
    for name, value in vars(a).items():
        np.testing.assert_array_equal(value, vars(b)[name])


@pytest.mark.parametrize("partial", [False, True])
def test_what_is_kept_equals_what_realisations_add_up_to(study, partial):
    measures = [one.measure for one in study.measures]
    results = study.runs.results()
    assert (results.status == 1).any(), "no failed runs: nothing to leave out"
    for _ in range(2):
        view = risk_utility_map(study, allow_partial=partial)
        summary = summarise(results, measures, len(study.scenarios), partial)
        same(summary, view.summary)
        same(dominance(summary, results, measures, (view.risk, view.utility), partial), view.dominance)
        assert len(view.results) == len(results)
        same(results, type(results)(*(getattr(view.results, name) for name in vars(results))))


def test_a_map_of_a_finished_sweep_reads_no_realisation(study, monkeypatch):
    def refuse(*args):
        raise AssertionError("realisations were read")

    monkeypatch.setattr(Runs, "results", refuse)
    view = risk_utility_map(study)
    assert isinstance(view.results, StoredResults) and len(view.results) == 3 * len(study.scenarios)
    with pytest.raises(AssertionError, match="were read"):
        view.results.counted(False)


def test_what_is_kept_goes_with_every_change(study):
    before = risk_utility_map(study)
    width = len(study.measures)
    study.runs.add([(0, 99, 0, 4, *([0.5] * width))])
    after = risk_utility_map(study)
    assert after.summary.counted[0] == before.summary.counted[0] + 1
    same(after.summary, summarise(study.runs.results(), [m.measure for m in study.measures], len(study.scenarios)))


def test_fresh_runs_leave_what_rests_on_the_sweep(study):
    width = len(study.measures)
    study.runs.add([(0, 99, 0, 4, *([0.5] * width))], table="fresh")
    assert study.cache.load("realisation runs") and study.cache.load("scenario")
    assert len(risk_utility_map(study, fresh=True).results) == 1
    study.runs.add([(0, 100, 0, 4, *([0.5] * width))], table="fresh")
    assert len(study.runs.results("fresh")) == 2 and len(risk_utility_map(study, fresh=True).results) == 2


@pytest.mark.slow
def test_a_growing_frontier_is_the_same_from_what_is_kept(study):
    known = live_frontier(study)
    with study.database.transaction() as db:
        invalidate(db, "realisation")
    added = live_frontier(study)
    assert known.scenarios.tolist() == added.scenarios.tolist() and known.runs == added.runs
    np.testing.assert_allclose(known.losses, added.losses, rtol=1e-12)


def test_nothing_is_kept_of_a_study_that_changes_meanwhile(study, tmp_path):
    def work():
        with Study.open(study.path) as other:
            other.runs.add([(0, 98, 0, 4, *([0.5] * len(study.measures)))])
        return {"n": np.array(1)}

    assert study.cache.get("x", work, study.database.data_version)["n"] == 1
    assert study.cache.get("x", lambda: {"n": np.array(2)}, study.database.data_version)["n"] == 2
    assert study.cache.get("x", lambda: {"n": np.array(3)}, study.database.data_version)["n"] == 2
