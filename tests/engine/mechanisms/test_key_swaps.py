"""RDS and DDS: the twin's swaps from the same random numbers, its law from its own, what must always hold; kernels that
choose donors, beside whole arrays and plain lists.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare

from engine.common import compiled
from engine.common.compiled import below, wrapping
from engine.common.errors import EngineError, UsageError
from engine.common.streams import derive, kernel_state
from engine.data.microdata import Microdata
from engine.mechanisms import donor_kernels as partners
from engine.mechanisms import key_swaps, smike
from engine.mechanisms.base import Drawn, Mechanism, table_stream
from engine.mechanisms.donor_kernels import below_largest, choose, exchange
from engine.mechanisms.key_swaps import DDS, RDS
from engine.models import location
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
from tests.examples import examples
from tests.numeric_data import cells_of, numbered, with_numbers
from tests.plain_python import plain
from tests.twins import key_swaps as twin
from tests.twins import smike as risk_twin

OK, FAILED, NOOP, PARTIAL = RunStatus

KEY = bytes(range(16))
DERIVED = derive(KEY, "test")


def run(mechanism: Mechanism, data: Microdata, derived: bytes = DERIVED, /, **given: str) -> Drawn:
    setting = mechanism.setting(data, given, range(len(data.domain.names)))
    return mechanism.draw(mechanism.prepare(setting), setting, derived)


def source_of(drawn: Drawn) -> np.ndarray:
    (table,) = drawn.tables
    return np.arange(table.data.n_records) if table.source is None else table.source


def made(seed: int, n: int = 60) -> Microdata:
    rng = np.random.default_rng(seed)
    cell = rng.choice(9, n, p=np.arange(1, 10) / 45)
    return numbered({"A": cell // 3, "B": cell % 3}, {"u": rng.normal(size=n)})


def cells(data: Microdata) -> np.ndarray:
    return location.key_cells(data, range(len(data.domain.names)), 3, "le").x


class Picks:
    """The engine's own draws of partners, for the twin."""

    def __init__(self, derived: bytes, of: int | np.ndarray):
        rng = table_stream(derived, 1)
        self.order = rng.permutation(of)
        self.state = kernel_state(rng.bytes(32))

    def __call__(self, k: int) -> int:
        with wrapping():
            return int(below(self.state, k))


POOLS = [("any", "no"), ("any", "yes"), ("other_cell", "no"), ("other_cell", "yes")]


@pytest.mark.parametrize(("pool", "avoid"), POOLS)
@pytest.mark.parametrize("rate", ["0.1", "0.5", "1"])
def test_random_swaps_are_the_twins_from_the_same_random_numbers(pool: str, avoid: str, rate: str):
    for seed in range(4):
        data, derived = made(seed, 60 + seed), derive(KEY, "test", (seed,))
        drawn = run(RDS, data, derived, rate=rate, partner_pool=pool, avoid_initiators=avoid)
        pick = Picks(derived, 60 + seed)
        wanted = int(np.floor(float(rate) * (60 + seed) + 0.5))
        slow, stuck = twin.swap(
            cells(data).tolist(), pick.order[:wanted].tolist(), pick, pool == "other_cell", avoid == "yes"
        )
        assert source_of(drawn).tolist() == slow
        assert drawn.diagnostics["without_partner"] == stuck
        assert drawn.diagnostics["initiators"] == wanted


@pytest.mark.parametrize("s", [1, 3, 8, 20])
def test_swaps_out_of_sensitive_cells_are_the_twins_from_the_same_random_numbers(s: int):
    for seed in range(4):
        data, derived = made(seed), derive(KEY, "test", (seed,))
        drawn = run(DDS, data, derived, s=str(s))
        small = location.key_cells(data, (0, 1), s, "le").records
        if not len(small):
            assert drawn.status == NOOP
            continue
        pick = Picks(derived, small)
        slow, stuck = twin.swap(cells(data).tolist(), pick.order.tolist(), pick, True)
        assert source_of(drawn).tolist() == slow and drawn.diagnostics["without_partner"] == stuck


def law(sources: list[list[int]]) -> Counter[tuple[int, ...]]:
    return Counter(tuple(one) for one in sources)


def agree(fast: Counter[Any], slow: Counter[Any]) -> float:
    kinds = [k for k in set(fast) | set(slow) if fast[k] + slow[k] >= 10]
    return float(chi2_contingency([[fast[k] for k in kinds], [slow[k] for k in kinds]]).pvalue)


FIVE = [0, 0, 1, 1, 2]


@functools.cache
def slow_law(pool: str, avoid: str) -> Counter[tuple[int, ...]]:
    rng = np.random.default_rng(1)
    return law([twin.rds(FIVE, 0.4, rng, pool == "other_cell", avoid == "yes") for _ in range(2000)])


@pytest.mark.slow
@pytest.mark.parametrize(("pool", "avoid"), POOLS)
def test_the_law_of_random_swaps_is_the_twins(pool: str, avoid: str):
    """Whole releases of five records are compared, so any other law of initiators or partners would be seen."""
    data = numbered({"K": FIVE}, {})
    setting = RDS.setting(data, {"rate": "0.4", "partner_pool": pool, "avoid_initiators": avoid}, (0,))
    prepared = RDS.prepare(setting)
    fast = law([source_of(RDS.draw(prepared, setting, derive(KEY, "law", (r,)))).tolist() for r in range(2000)])
    for other in POOLS:
        p = agree(fast, slow_law(*other))
        assert p > 1e-3 if other == (pool, avoid) else p < 1e-9


@pytest.mark.slow
def test_the_law_of_swaps_out_of_sensitive_cells_is_the_twins():
    data = numbered({"K": [0, 1, 1, 2, 2, 2]}, {})
    setting = DDS.setting(data, {"s": "2"}, (0,))
    prepared, rng = DDS.prepare(setting), np.random.default_rng(1)
    fast = law([source_of(DDS.draw(prepared, setting, derive(KEY, "law", (r,)))).tolist() for r in range(3000)])
    assert agree(fast, law([twin.dds([0, 1, 1, 2, 2, 2], 2, rng) for _ in range(3000)])) > 1e-3
    assert agree(fast, law([twin.dds([0, 1, 1, 2, 2, 2], 1, rng) for _ in range(3000)])) < 1e-9


@pytest.mark.slow
def test_partners_are_uniform():
    """One initiator, named by the engine itself; its partner is any of the others alike."""
    data = numbered({"K": [0, 0, 0, 1, 1, 2, 2]}, {})
    setting = RDS.setting(data, {"n_init": "1"}, (0,))
    prepared = RDS.prepare(setting)
    pairs: Counter[tuple[int, ...]] = Counter()
    for r in range(4200):
        pairs[tuple(np.flatnonzero(RDS.draw(prepared, setting, derive(KEY, "pair", (r,))).touched[0]).tolist())] += 1
    assert len(pairs) == 21
    assert chisquare(list(pairs.values())).pvalue > 1e-3


@pytest.mark.slow
@examples(60)
@given(with_numbers(), st.sampled_from(["s2", "0", "0.2", "0.55", "1"]), st.integers(1, 5), st.sampled_from(POOLS))
def test_what_always_holds_for_random_swaps(data: Microdata, rate: str, s: int, pool: tuple[str, str]):
    try:
        drawn = run(RDS, data, rate=rate, s=str(s), partner_pool=pool[0], avoid_initiators=pool[1])
    except EngineError as refused:
        assert str(refused) == "all records share one key cell; keys cannot be swapped"
        assert pool[0] == "other_cell"
        return
    pairs = always(data, drawn, s)
    x, wanted = cells(data), float(drawn.diagnostics["initiators"])
    assert pairs <= wanted
    if pool[0] == "other_cell":
        assert drawn.diagnostics["pairs_within_a_cell" if drawn.status != NOOP else "initiators"] == 0
    if drawn.status == NOOP:
        assert wanted == 0 or len(set(x.tolist())) == 1
    else:
        assert drawn.status == (PARTIAL if drawn.diagnostics["without_partner"] else OK)
        if pool == ("any", "no"):
            assert drawn.diagnostics["without_partner"] in (0, 1)
            assert pairs == data.n_records // 2 if rate == "1" else True
        if pool[1] == "yes":
            assert pairs + float(drawn.diagnostics["without_partner"]) == wanted


@pytest.mark.slow
@examples(60)
@given(with_numbers(), st.integers(1, 6), st.sampled_from(["le", "lt"]))
def test_what_always_holds_for_swaps_out_of_sensitive_cells(data: Microdata, s: int, rule: str):
    try:
        drawn = run(DDS, data, s=str(s), rule=rule)
    except EngineError as refused:
        assert str(refused) == "all records share one key cell; keys cannot be swapped"
        assert len(set(cells(data).tolist())) == 1
        return
    always(data, drawn, s if rule == "le" else s - 1)
    places = tuple(range(len(data.domain.names)))
    keys, source = location.key_cells(data, places, s, rule), source_of(drawn)
    stayed = np.count_nonzero(keys.x[source[keys.records]] == keys.x[keys.records])
    assert drawn.status == (NOOP if not len(keys.records) else FAILED if stayed else OK)
    assert (keys.x[source[drawn.touched[0]]] != keys.x[drawn.touched[0]]).all()
    if drawn.status == OK:
        assert risk_twin.r1(keys.x.tolist(), [keys.x[source].tolist()], s if rule == "le" else s - 1) == 0
    if drawn.status == FAILED:
        assert drawn.diagnostics["without_partner"] == stayed
        assert drawn.diagnostics["warning"] == (
            f"{stayed} sensitive records could not be moved: no unswapped record remains outside their cell"
        )
        open_ = set(keys.x[~drawn.touched[0]].tolist())
        assert len(open_) == 1  # whoever was left met nobody of another cell


def always(data: Microdata, drawn: Drawn, s: int) -> int:
    """Pairs, nobody twice, cell counts kept, other columns untouched, R1 by hand; returns the number of pairs."""
    (table,), original, n = drawn.tables, ReleasedTable(data), data.n_records
    places, source = tuple(range(len(data.domain.names))), source_of(drawn)
    assert np.array_equal(source[source], np.arange(n))
    assert np.array_equal(drawn.touched[0], source != np.arange(n))
    before, after = cells_of(original, places), cells_of(table, places)
    assert np.array_equal(np.sort(before), np.sort(after))
    for name in data.raw.names:
        if name.startswith("y"):
            assert np.array_equal(table.numeric(name), original.numeric(name))
    if s >= 1:
        _, x = np.unique(np.concatenate([before, after]), return_inverse=True)
        size = np.bincount(x[:n])[x[:n]]
        stay = float(np.sum(1 / size[(x[:n] == x[n:]) & (size <= s)]))
        assert risk_twin.r1(x[:n].tolist(), [x[n:].tolist()], s) == pytest.approx(stay)
    if drawn.status == NOOP:
        assert not drawn.touched.any()
    else:
        moved = before != after
        assert drawn.diagnostics["pairs"] == drawn.touched.sum() / 2
        assert drawn.diagnostics["pairs_within_a_cell"] == (drawn.touched.sum() - moved.sum()) / 2
    return int(drawn.touched.sum()) // 2


def test_a_larger_rate_continues_a_smaller_one():
    data = made(1)
    small, large = (source_of(run(RDS, data, rate=rate)) for rate in ("0.1", "0.4"))
    swapped = small != np.arange(60)
    assert swapped.sum() == 12 and np.array_equal(large[swapped], small[swapped])


def test_fewer_than_4_is_3_or_fewer():
    data = made(2)
    for mechanism in (RDS, DDS):
        assert np.array_equal(source_of(run(mechanism, data, s="4", rule="lt")), source_of(run(mechanism, data, s="3")))


def test_the_share_of_sensitive_records_that_move():
    """1 - (1 - p)², less the hits within a cell: within 0.02 at 750 records and 100 draws."""
    rng = np.random.default_rng(3)
    x = rng.choice(60, 750, p=rng.dirichlet(np.ones(60)))
    data = numbered({"K": np.unique(x, return_inverse=True)[1]}, {})
    setting = RDS.setting(data, {"s": "10", "rate": "0.3"}, (0,))
    prepared = RDS.prepare(setting)
    found = [RDS.draw(prepared, setting, derive(KEY, "share", (r,))).diagnostics for r in range(100)]
    touched = np.mean([float(one["touched_share"]) for one in found])
    moved = np.mean([float(one["sensitive_changed_share"]) for one in found])
    assert touched == pytest.approx(1 - 0.7**2, abs=0.005)
    sizes = np.bincount(np.unique(x, return_inverse=True)[1])
    small = sizes[sizes <= 10]
    same = float(np.sum(small * (small - 1))) / small.sum() / 749
    assert moved == pytest.approx((1 - 0.7**2) * (1 - same), abs=0.02)


@pytest.mark.parametrize(
    ("rate", "n", "wanted"), [("0.5", 5, 3), ("0.29", 100, 29), ("0.125", 4, 1), ("0.1", 4, 0), ("1", 7, 7)]
)
def test_initiators_round_half_up_and_exactly(rate: str, n: int, wanted: int):
    setting = RDS.setting(numbered({"K": np.arange(n)}, {}), {"rate": rate}, (0,))
    assert key_swaps.initiators(setting, 0) == wanted


def test_by_default_as_many_initiators_as_sensitive_records():
    data = made(4)
    drawn = run(RDS, data)
    assert drawn.diagnostics["initiators"] == drawn.diagnostics["sensitive_records"] != 0
    assert drawn.diagnostics["sensitive"] == "cells with 3 or fewer records"
    assert np.array_equal(source_of(run(RDS, data, n_init=str(int(drawn.diagnostics["initiators"])))), source_of(drawn))


def test_everyone_an_initiator_leaves_one_of_an_odd_number():
    drawn = run(RDS, numbered({"K": np.arange(9)}, {}), rate="1")
    assert drawn.status == PARTIAL and drawn.touched.sum() == 8
    assert drawn.diagnostics["warning"] == "1 initiators found no partner"


def test_initiators_that_must_avoid_each_other_may_find_nobody():
    drawn = run(RDS, numbered({"K": np.arange(8)}, {}), n_init="7", avoid_initiators="yes")
    assert drawn.status == PARTIAL and drawn.diagnostics["pairs"] == 1
    assert drawn.diagnostics["warning"] == "6 initiators found no partner"


@pytest.mark.parametrize(
    ("data", "given", "warning"),
    [
        (made(1), {"rate": "0"}, "no record initiates a swap; the table is the original"),
        (made(1), {"rate": "0.005"}, "no record initiates a swap; the table is the original"),
        (numbered({"K": [0] * 5}, {}), {"rate": "1"}, "all records share one key cell; swapping keys changes nothing"),
    ],
)
def test_nothing_to_do_at_random(data: Microdata, given: dict[str, str], warning: str):
    drawn = run(RDS, data, **given)
    assert drawn.status == NOOP and drawn.diagnostics["warning"] == warning and drawn.tables[0].source is None


def test_nothing_sensitive():
    drawn = run(DDS, numbered({"K": [0] * 4 + [1] * 4}, {}))
    assert drawn.status == NOOP and not drawn.touched.any()
    assert drawn.diagnostics["warning"] == "no key cell is sensitive; the table is the original"


def test_one_key_cell_is_refused():
    cases: tuple[tuple[Mechanism, dict[str, str]], ...] = ((DDS, {}), (RDS, {"partner_pool": "other_cell"}))
    for mechanism, chosen in cases:
        with pytest.raises(EngineError, match=r"^all records share one key cell; keys cannot be swapped$"):
            run(mechanism, numbered({"K": [0] * 5}, {}), **chosen)


@pytest.mark.parametrize(
    ("mechanism", "given", "message"),
    [
        (RDS, {"s": "0"}, "sensitivity threshold must be a positive integer"),
        (DDS, {"s": "0"}, "sensitivity threshold must be a positive integer"),
        (RDS, {"rate": "1.2"}, "rate == 1.2, must be between 0 and 1. Did you mean 0.012?"),
        (RDS, {"rate": "half"}, "rate == 'half', must be a number or s2."),
        (RDS, {"n_init": "1.5"}, "n_init == '1.5', must be a whole number or rate."),
        (RDS, {"n_init": "61"}, "n_init == 61, must be at most the number of records (60)."),
        (RDS, {"n_init": "6", "rate": "0.10"}, "n_init == 6 and rate == 0.1, must not both be given."),
    ],
)
def test_parameters_out_of_range(mechanism: Mechanism, given: dict[str, str], message: str):
    with pytest.raises(UsageError) as refused:
        run(mechanism, made(1), **given)
    assert str(refused.value) == message


def test_equal_parameters_have_one_text():
    assert RDS.canonical({"rate": "0.10"}) == RDS.canonical({"rate": ".1"}) != RDS.canonical({})
    assert dict(RDS.canonical({}))["rate"] == "s2"


# -- the kernels -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(st.lists(st.booleans(), min_size=1, max_size=70), st.randoms(use_true_random=True))
def test_the_tree_counts_and_finds(flags: list[bool], random: Any):
    tree, pool = np.zeros(len(flags) + 1, np.int64), np.array(flags, np.int64)
    assert partners.plant(tree, pool) == sum(flags)
    while True:
        assert [int(partners.ahead(tree, p)) for p in range(len(pool) + 1)] == [0, *np.cumsum(pool).tolist()]
        inside = np.flatnonzero(pool).tolist()
        assert [int(partners.place_of(tree, r)) for r in range(len(inside))] == inside
        if not inside:
            return
        out = random.choice(inside)
        pool[out] = 0
        partners.take_out(tree, out)


SCRIPT = """
import hashlib, json
import numpy as np
from engine.common import compiled
from engine.mechanisms import donor_kernels as partners

digest, rng = hashlib.sha256(), np.random.default_rng(1)
with compiled.wrapping():
    for n in (2, 7, 64, 100):
        cell = np.sort(rng.integers(0, 5, n))
        itself = np.arange(n), np.arange(n) + 1
        for low, high in (itself, (np.searchsorted(cell, cell), np.searchsorted(cell, cell, "right"))):
            for pool in (np.ones(n, np.int64), rng.integers(0, 2, n)):
                visits, source = rng.permutation(n), np.arange(n)
                state = rng.integers(0, 2**64, 4, np.uint64)
                tree = np.zeros(n + 1, np.int64)
                stuck = partners.pair_up(visits, low[visits], high[visits], pool, tree, state, source)
                digest.update(source.tobytes() + state.tobytes() + str(int(stuck)).encode())
found = [compiled.COMPILED, digest.hexdigest()]
print(json.dumps(found))
"""


def test_bits_are_the_same_without_compilation():
    if not compiled.COMPILED:
        pytest.skip(f"{compiled.WHY_NOT}; install numba and leave FRONTIER_NUMBA unset")
    here: dict[str, Any] = {}
    exec(SCRIPT, here)
    assert plain(SCRIPT) == [False, here["found"][1]]


def test_an_imputed_cell_is_the_same_compiled_and_in_whole_arrays(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 9, 300), rng.normal(size=(300, 2)) * 3
    setting = smike.SMIKE.setting(numbered({"K": x}, {"u": y[:, 0], "v": y[:, 1]}), {}, (0,), ("u", "v"))
    z = location.variables(setting, "SMIKe").z
    model = location.fit(z, x, 9, ("u", "v"))
    task = smike.Task(np.arange(300), np.arange(9), model, location.whiten(z, model.factor), 300)
    for uniforms in (rng.random(300), np.zeros(300), np.full(300, 1 - 2.0**-53)):
        theta, found = location.draw(model, rng), []
        for there in (True, False):
            monkeypatch.setattr(compiled, "COMPILED", there)
            found.append(smike.impute(task, theta, uniforms).tolist())
        assert found[0] == found[1]


def test_the_place_is_where_the_sum_of_weights_passes_the_number():
    weights = np.array([[1.0, 2.0, 1.0], [0.0, 0.0, 4.0], [0.0, 4.0, 0.0]])
    for u, places in ((0.0, [0, 2, 1]), (0.25, [1, 2, 1]), (0.5, [1, 2, 1]), (0.75, [2, 2, 1]), (1.0, [2, 2, 2])):
        chosen = np.empty(3, np.int64)
        choose(weights, np.full(3, u), chosen)
        assert chosen.tolist() == places, u


def test_a_row_s_largest_number_becomes_zero():
    rows = np.array([[3.0, 5.0, -1.0], [-2.0, -4.0, -3.0]])
    below_largest(rows)
    assert rows.tolist() == [[-2.0, 0.0, -6.0], [0.0, -2.0, -1.0]]


def plain_of_weight_kernels(
    visits: list[int], uniforms: list[float], candidates: list[list[int]], weights: list[list[float]], n: int
) -> list[int]:
    """The same exchanges from lists."""
    source, moved = list(range(n)), set[int]()
    for i, u, those, weigh in zip(visits, uniforms, candidates, weights, strict=True):
        if i in moved:
            continue
        open_ = [(j, w) for j, w in zip(those, weigh, strict=True) if j not in moved and j != i]
        left = u * (1 + sum(w for _, w in open_)) - 1
        for j, w in open_ if left >= 0 else []:
            left -= w
            if left < 0:
                source[i], source[j] = j, i
                moved |= {i, j}
                break
    return source


def test_exchanges_are_those_of_plain_lists():
    rng, swapped = np.random.default_rng(2), 0
    for _ in range(200):
        n = int(rng.integers(2, 9))
        visits = rng.permutation(n)[: rng.integers(1, n + 1)]
        near = rng.random((len(visits), n)) < 0.6
        # eighths of powers of two: sums in any order are exact
        weights, uniforms = rng.integers(1, 9, near.shape) / 8, rng.integers(0, 64, len(visits)) / 64
        source, free = np.arange(n), np.ones(n, bool)
        exchange(visits, uniforms, near.sum(axis=1).cumsum(), near.nonzero()[1], weights[near], free, source)
        own = [w[row].tolist() for w, row in zip(weights, near, strict=True)]
        partners = [row.nonzero()[0].tolist() for row in near]
        assert source.tolist() == plain_of_weight_kernels(visits.tolist(), uniforms.tolist(), partners, own, n)
        assert (free == (source == np.arange(n))).all()
        swapped += int((~free).sum())
    assert swapped > 200
