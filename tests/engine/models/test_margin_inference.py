"""Attributes and rate from two-way tables: the formula, what nothing moves tells, conditions, intervals that cover."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from math import sqrt

import numpy as np
import pytest

from engine.common.errors import UsageError
from engine.data.domain import Attribute, Domain
from engine.data.table import ContingencyTable, occupied
from engine.measures.detection import attacked
from engine.models import margin_inference
from engine.models.margin_inference import infer_from_margins, two_way_tables
from tests.swapped_batches import cps, swaps

NAMES = ("A", "B", "C", "D", "E")
SHAPE = (2, 3, 4, 2, 3)


@cache
def associated() -> ContingencyTable:
    """Five attributes that hang together by two groups of records."""
    n, rng = 20_000, np.random.default_rng(5)
    group = rng.random(n) < 0.35
    codes = []
    for size in SHAPE:
        shares = rng.dirichlet(np.full(size, 1.5), 2)
        codes.append(np.where(group, rng.choice(size, n, p=shares[0]), rng.choice(size, n, p=shares[1])))
    cells, inverse = occupied(codes, SHAPE, n)
    attributes = tuple(
        Attribute(name, tuple(f"v{level}" for level in range(size))) for name, size in zip(NAMES, SHAPE, strict=True)
    )
    return ContingencyTable(Domain(attributes), cells, np.bincount(inverse))


Runs = list[tuple[dict, dict, float]]


@cache
def of_associated(roles: str, rate: str, replicates: int, rule: str = "strict") -> Runs:
    """Runs on the attributes that hang together, for all who only read them."""
    return both(associated(), roles, rate, replicates, rule)


def both(table: ContingencyTable, roles: str, rate: str, replicates: int, rule: str = "strict") -> Runs:
    """Two-way tables of the original and of each release by names, with the true rate."""
    batch, names = swaps(table, roles, rate, replicates, rule), table.domain.names
    original = two_way_tables(table.cells, table.counts, table.domain.shape, names)
    return [
        (original, two_way_tables(*release, names), float(altered.sum() / table.n_records))
        for release, altered, _ in attacked(batch)
    ]


def literal(original: dict, released: dict, swapped: str) -> tuple[float, float]:
    """The estimate of one swapped attribute of two levels and its standard error, as the definition writes it."""
    top = bottom = 0.0
    n = next(iter(original.values())).sum()
    for (first, second), before in original.items():
        if swapped not in (first, second):
            continue
        after = released[first, second]
        if second == swapped:
            before, after = before.T, after.T
        p_l, p_m = before[0] / before[0].sum(), before[1] / before[1].sum()
        for x in range(before.shape[1]):
            d, weight = p_m[x] - p_l[x], p_l[x] * (1 - p_l[x]) + p_m[x] * (1 - p_m[x])
            top += (after[0, x] - before[0, x]) * d / weight
            bottom += d**2 / weight
    k = top / bottom
    return 2 * k / n, 2 * sqrt(k / bottom) / n


def test_one_attribute_of_two_levels_by_the_formula():
    for original, released, _ in of_associated("A:S", "0.1", 3):
        got = infer_from_margins(original, released)
        rate, error = literal(original, released, "A")
        assert got.attributes == ("A",) and got.fixed == ()
        assert got.rate == pytest.approx(rate, rel=1e-12) and got.error == pytest.approx(error, rel=1e-12)
        assert got.k == pytest.approx(rate * 20_000 / 2) and got.low < got.rate < got.high


def test_nothing_moved_tells_a_rate_of_nought_exactly():
    table = associated()
    original = two_way_tables(table.cells, table.counts, SHAPE, NAMES)
    got = infer_from_margins(original, original)
    assert (got.attributes, got.rate, got.low, got.high, got.k) == ((), 0.0, 0.0, 0.0, 0.0)
    assert set(got.moved.values()) == {0}


def test_a_full_permutation_moves_as_many_records_as_differ():
    """k is (1 - sum of squared shares) n / 2 on average: so many records get another level."""
    table, rng = associated(), np.random.default_rng(1)
    records = np.repeat(table.cells, table.counts, axis=0)
    original = two_way_tables(table.cells, table.counts, SHAPE)
    shares = np.bincount(records[:, 0]) / len(records)
    estimates = []
    for _ in range(30):
        permuted = records.copy()
        permuted[:, 0] = rng.permutation(permuted[:, 0])
        estimates.append(infer_from_margins(original, two_way_tables(permuted, np.ones(len(records)), SHAPE)).k)
    error = np.std(estimates) / sqrt(len(estimates))
    assert abs(np.mean(estimates) - (1 - (shares**2).sum()) * len(records) / 2) < 4 * error


@pytest.mark.parametrize(
    ("roles", "swapped", "fixed"),
    [
        ("A:S", ("A",), ()),
        ("C:S", ("C",), ()),
        ("A:S C:S", ("A", "C"), ()),
        ("B:S D:F", ("B",), ("D",)),
        ("B:S C:S A:F D:F", ("E",), ("A", "D")),  # with two fixed, B and C swapped is as good as E swapped
    ],
)
def test_which_attributes(roles, swapped, fixed):
    for original, released, _ in of_associated(roles, "0.1", 2):
        got = infer_from_margins(original, released)
        assert (got.attributes, got.fixed) == (swapped, fixed)


# -- gates, and what each must reject --------------------------------------------------------------------------------


def near_the_truth(roles: str, within: float = 0.02, rule: str = "loose") -> bool:
    """Whether the mean estimate over replicates is the rate, but for a bias of some hundredths of it and for chance."""
    runs = of_associated(roles, "0.1", 40, rule)
    estimates = [infer_from_margins(original, released).rate for original, released, _ in runs]
    truth = runs[0][2]
    return abs(np.mean(estimates) - truth) < within * truth + 4 * np.std(estimates) / sqrt(len(runs))


def covers(runs: Runs) -> float:
    """Share of 95 % intervals that hold the truth."""
    got = [(infer_from_margins(original, released), truth) for original, released, truth in runs]
    return float(np.mean([one.low <= truth <= one.high for one, truth in got]))


def spread(replicates: int) -> float:
    """What chance takes from a coverage of 95 %, four standard errors."""
    return 4 * sqrt(0.95 * 0.05 / replicates)


def independent_cells(before, roles, slopes, rate):
    """The variance of the estimate with cells taken as independent of one another."""
    sizes, counts = before.one_way(roles.swapped), before.blocks([roles.swapped], roles.moving)
    given = counts / sizes[:, None]
    part = given * (1 - given)
    return float((slopes[:1] ** 2 * 4 * part.sum(axis=0)).sum()) * before.n / 2


@pytest.mark.slow
def test_the_mean_estimate_is_the_rate():
    assert near_the_truth("A:S") and near_the_truth("C:S")
    assert near_the_truth("A:S D:F") and near_the_truth("C:S D:F", within=0.05) and near_the_truth("B:S D:F")
    assert near_the_truth("B:S C:S", within=0.1)


@pytest.mark.slow
def test_the_strict_rule_leaves_out_pairs_that_change_nothing():
    """So the others change more than a pair does on average: by the share of pairs that agree on all else."""
    table = associated()
    counts = table.margin([0, 1, 3, 4])[1]
    alike = float((counts**2).sum() / table.n_records**2)
    runs = of_associated("C:S", "0.1", 40)
    mean = np.mean([infer_from_margins(original, released).rate for original, released, _ in runs])
    assert 0.1 < mean < 0.1 * (1 + 2 * alike)


_Roles, _rate = margin_inference._Roles, margin_inference._rate
MUTANTS: dict[str, tuple[str, Callable, str]] = {
    "fixed attributes are taken as free": (
        "_Roles",
        lambda swapped, moving, fixed: _Roles(swapped, [*moving, *fixed], ()),
        "A:S D:F",
    ),
    "a pair counts as one record": (
        "_rate",
        lambda *parts: _half(_rate(*parts)),
        "A:S",
    ),
}


def _half(one):
    return one._replace(rate=one.rate / 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_the_gate_on_the_mean_rejects(name, monkeypatch):
    attribute, mutant, roles = MUTANTS[name]
    monkeypatch.setattr(margin_inference, attribute, mutant)
    assert not near_the_truth(roles, within=0.05)


@pytest.mark.slow
def test_intervals_cover_and_those_of_independent_cells_do_not(monkeypatch):
    replicates = 200
    for roles in ("A:S", "C:S"):
        assert abs(covers(of_associated(roles, "0.05", replicates)) - 0.95) < spread(replicates), roles
    monkeypatch.setattr(margin_inference, "_variance", independent_cells)
    assert covers(of_associated("A:S", "0.05", replicates)) < 0.95 - spread(replicates)


@pytest.mark.slow
@pytest.mark.parametrize("rate", ["0.01", "0.02", "0.05", "0.1"])
def test_intervals_cover_on_cps(rate, monkeypatch):
    """Race swapped: 95 % intervals hold the truth in 95 % of 400 releases; with the error of independent cells in three
    of four only."""
    runs = both(cps(), "Race:S", rate, 400)
    assert abs(covers(runs) - 0.95) < spread(400)
    monkeypatch.setattr(margin_inference, "_variance", independent_cells)
    assert covers(runs) < 0.85


# -- refusals --------------------------------------------------------------------------------------------------------


def test_tables_that_are_missing_are_named():
    table = associated()
    original = two_way_tables(table.cells, table.counts, SHAPE, NAMES)
    with pytest.raises(UsageError, match="the two-way table of 'B' and 'C' is missing; give all pairs"):
        infer_from_margins({pair: counts for pair, counts in original.items() if pair != ("B", "C")}, original)
    with pytest.raises(UsageError, match="there is no two-way table"):
        infer_from_margins({}, {})


def test_the_smallest_covers_come_first_in_order():
    """By brute force over small graphs."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        edges = [(a, b) for a in range(6) for b in range(a + 1, 6) if rng.random() < 0.4]
        got = margin_inference._fewest_covering(edges, range(6))
        subsets = sorted((sorted(s) for s in _subsets(6)), key=lambda some: (len(some), some))
        assert got == next(s for s in subsets if all(a in s or b in s for a, b in edges))


def _subsets(n: int) -> list[list[int]]:
    return [[j for j in range(n) if mask >> j & 1] for mask in range(1 << n)]


def test_more_moved_is_a_wider_interval():
    got = [infer_from_margins(*of_associated("A:S", rate, 1)[0][:2]) for rate in ("0.01", "0.05", "0.2")]
    assert all(a.high - a.low < b.high - b.low for a, b in pairwise(got))
