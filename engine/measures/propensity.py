"""Propensity measures: how well a model tells released records from original ones.

Original and release are stacked and the chance of being a released record is modelled from the attributes of the plan's
analyse list and its numeric columns.  Where the release is as good as the original nothing can be told and every
propensity is one half.

Woo, Reiter, Oganian and Karr (2009), Global measures of data utility for microdata masked for disclosure limitation,
Journal of Privacy and Confidentiality 1(1), doi:10.29012/jpc.v1i1.568; Snoke, Raab, Nowok, Dibben and Slavkovic (2018),
General and specific utility measures for synthetic data, JRSS A 181(3), doi:10.1111/rssa.12358; Bowen and Snoke (2021),
Comparative study of differentially private synthetic data algorithms, Journal of Privacy and Confidentiality 11(1),
doi:10.29012/jpc.748.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from engine.common.errors import EngineError
from engine.common.processes import one_thread
from engine.measures.base import Figure, Measure, Positive, ZeroOne
from engine.models.record_release import RecordRelease, numbers_of, numeric_columns
from engine.models.regression import binomial, newton
from engine.release.records import ReleasedTable

_CELLS = 60_000_000  # entries of the design matrix
_ROUND = 9  # decimals of a propensity that mean something


class Stacked(NamedTuple):
    """Distinct rows of original and release with how often each has them, and the model's columns by variable."""

    before: np.ndarray
    after: np.ndarray
    codes: np.ndarray
    numbers: np.ndarray


def _stack(release: RecordRelease, table: ReleasedTable, places: tuple[int, ...]) -> Stacked:
    """Original and released records, equal ones together; numbers in standard deviations of the original."""
    original, columns = release.original, numeric_columns(release.plan, release.data)
    if not columns:
        cells = np.concatenate([original.cells(places), table.cells(places)])
        distinct, first, inverse = np.unique(cells, return_index=True, return_inverse=True)
        n, m = release.data.n_records, len(distinct)
        codes = np.array([np.concatenate([original.codes(j), table.codes(j)])[first] for j in places])
        before, after = np.bincount(inverse[:n], minlength=m), np.bincount(inverse[n:], minlength=m)
        return Stacked(before, after, codes.reshape(len(places), m).T, np.zeros((m, 0)))
    old_codes, new_codes = (np.array([t.codes(j) for j in places]).T for t in (original, table))
    old_codes, new_codes = (c.reshape(release.data.n_records, len(places)) for c in (old_codes, new_codes))
    old, new = (
        np.column_stack([numbers_of(t, original, column, release.plan) for column in columns])
        for t in (original, table)
    )
    moved = (old_codes != new_codes).any(axis=1) | ((old != new) & ~(np.isnan(old) & np.isnan(new))).any(axis=1)
    spread = np.nanstd(old, axis=0)
    centre = np.nanmean(old, axis=0)
    scaled = [(x - centre) / np.where(spread > 0, spread, 1) for x in (old, new[moved])]
    missing = np.isnan(old).any(axis=0)
    # A missing number is the mean and says so in a column of its own.
    designs = [np.column_stack([np.where(np.isnan(x), 0, x), np.isnan(x)[:, missing]]) for x in scaled]
    return Stacked(
        np.concatenate([np.ones(len(old)), np.zeros(len(designs[1]))]),
        np.concatenate([~moved, np.ones(len(designs[1]))]),
        np.concatenate([old_codes, new_codes[moved]]),
        np.concatenate(designs),
    )


def _columns(stacked: Stacked, shape: tuple[int, ...], interactions: int) -> np.ndarray:
    """Design matrix: intercept, a dummy for every level but the commonest, numbers; products of every two variables."""
    weight = stacked.before + stacked.after
    groups = []
    for j, levels in enumerate(shape):
        codes = stacked.codes[:, j]
        totals = np.bincount(codes, weights=weight, minlength=levels)
        used_levels = [level for level in range(levels) if totals[level] > 0 and level != totals.argmax()]
        if used_levels:
            groups.append((codes[:, None] == np.array(used_levels)).astype(float))
    groups += [stacked.numbers[:, [c]] for c in range(stacked.numbers.shape[1])]
    sizes = [group.shape[1] for group in groups]
    total = 1 + sum(sizes) + (sum(a * b for a, b in combinations(sizes, 2)) if interactions else 0)
    if total * len(weight) > _CELLS:
        raise EngineError(
            f"the propensity model has {total} columns for {len(weight)} distinct rows, which is too large; use "
            "interactions=0 or fewer attributes"
        )
    columns = [np.ones((len(weight), 1)), *groups]
    if interactions:
        for a, b in combinations(groups, 2):
            columns.append((a[:, :, None] * b[:, None, :]).reshape(len(weight), -1))
    x = np.concatenate(columns, axis=1)
    return x[:, (x != 0).any(axis=0)]


def fit_propensities(x: np.ndarray, before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, int]:
    """Logistic propensities of distinct rows, and the number of parameters (the rank of ``x``).

    Newton's method until no propensity moves by more than 1e-11.  Propensities have a limit even where coefficients
    have none (rows that occur only before or only after).
    """
    from scipy.linalg import lapack

    trials = (before + after).astype(float)
    x = x / np.sqrt(np.einsum("i,ij,ij->j", trials, x, x))
    _, pivots, rank, _ = lapack.dpstrf((x * trials[:, None]).T @ x, tol=1e-9)
    x = x[:, np.sort(pivots[:rank] - 1)]
    top = newton(x, np.zeros(x.shape[1]), partial(binomial, wins=after, trials=trials), of_means=True)
    return top.at.mean, int(rank)


def tree_propensities(stacked: Stacked, shape: tuple[int, ...], leaf: int) -> np.ndarray:
    """Propensities of distinct rows by a classification tree (Gini) whose leaves hold at least ``leaf`` records.

    Deterministic: the state of scikit-learn's generator, which only breaks ties, is fixed, and columns come in an order
    that does not depend on how levels are numbered.
    """
    from sklearn.tree import DecisionTreeClassifier

    dummies = [
        (stacked.codes[:, [j]] == np.arange(levels)).astype(float) for j, levels in enumerate(shape) if levels > 1
    ]
    x = np.concatenate([*dummies, stacked.numbers, np.zeros((len(stacked.codes), 1))], axis=1)
    order = np.lexsort((stacked.after @ x**2, stacked.before @ x**2, stacked.after @ x, stacked.before @ x))
    x = x[:, order]
    total = float(stacked.before.sum() + stacked.after.sum())
    old, new = stacked.before > 0, stacked.after > 0
    rows = np.concatenate([np.flatnonzero(old), np.flatnonzero(new)])
    label = np.concatenate([np.zeros(int(old.sum())), np.ones(int(new.sum()))])
    weight = np.concatenate([stacked.before[old], stacked.after[new]]).astype(float)
    tree = DecisionTreeClassifier(min_weight_fraction_leaf=min(0.5, (leaf - 0.5) / total), random_state=0)
    tree.fit(x[rows], label, sample_weight=weight)
    leaves = tree.apply(x)
    of_after = np.bincount(leaves, weights=stacked.after)
    everyone = np.bincount(leaves, weights=stacked.before + stacked.after)
    result: np.ndarray = (of_after[leaves] / everyone[leaves]).astype(float)
    return result


def _modelled(
    release: RecordRelease, table: ReleasedTable, places: tuple[int, ...], interactions: int
) -> tuple[Stacked, np.ndarray, int]:
    """Stacked rows, their propensities and the number of parameters; shared by the measures on a table."""

    def work() -> tuple[Stacked, np.ndarray, int]:
        import scipy.linalg  # noqa: F401  (its library must be there when threads are limited)

        stacked = _stack(release, table, places)
        x = _columns(stacked, tuple(release.data.domain.shape[j] for j in places), interactions)
        with one_thread():
            return stacked, *fit_propensities(x, stacked.before, stacked.after)

    return table.cached(("propensity", places, interactions), work)


def _mean_square(stacked: Stacked, chance: np.ndarray) -> float:
    trials = stacked.before + stacked.after
    return float((trials * (chance - 0.5) ** 2).sum() / trials.sum())


def _over_tables(release: RecordRelease, figure: Callable[[ReleasedTable], float], notes: list[str]) -> Figure:
    values = [figure(table) for table in release.tables]
    return Figure(sum(values) / len(values), "; ".join(notes))


def pmse(release: RecordRelease, places: tuple[int, ...], interactions: ZeroOne = 1) -> Figure:
    """Propensity mean squared error, ``mean (p - 1/2)^2`` over original and released records.  In [0, 1/4], lower is
    better; 0 when main effects (and two-way products, ``interactions=1``) tell nothing apart.

    The two files have equally many records, so c = 1/2.  Mean over the released tables.
    """
    stacked, chance, _ = _modelled(release, release.tables[0], places, interactions)
    # the level whose records are told apart best, in words; empty where nothing can be told
    trials = stacked.before + stacked.after
    worst = (1e-18, "")
    for c, j in enumerate(places):
        attribute = release.data.domain.attributes[j]
        of_level = np.bincount(stacked.codes[:, c], weights=trials * (chance - 0.5) ** 2, minlength=attribute.size)
        of_level_trials = np.bincount(stacked.codes[:, c], weights=trials, minlength=attribute.size)
        mean = np.divide(of_level, of_level_trials, out=np.zeros(attribute.size), where=of_level_trials > 0)
        level = int(mean.argmax())
        worst = max(worst, (float(mean[level]), f"worst level {attribute.name}={attribute.levels[level]}"))
    note = worst[1]
    return _over_tables(
        release,
        lambda table: _mean_square(*_modelled(release, table, places, interactions)[:2]),
        [note] if note else [],
    )


def pmse_ratio(release: RecordRelease, places: tuple[int, ...], interactions: ZeroOne = 1) -> Figure:
    """pMSE over its expectation for a file drawn from the original (a bootstrap, or a correct model fitted to it), ``(k
    - 1)(1 - c)^2 c / N`` with k parameters and N stacked records (Snoke et al. 2018).  0 upwards, lower is better.

    Two independent samples of one population have twice that.  Below 1 is normal for swapping, which keeps the same
    records; NaN for a model of an intercept only.
    """

    def figure(table: ReleasedTable) -> float:
        stacked, chance, k = _modelled(release, table, places, interactions)
        expected = (k - 1) / 8 / float((stacked.before + stacked.after).sum())
        return _mean_square(stacked, chance) / expected if k > 1 else np.nan

    return _over_tables(release, figure, [])


def pmse_tree(release: RecordRelease, places: tuple[int, ...], leaf: Positive = 5) -> Figure:
    """pMSE with a classification tree in place of the logistic model; its leaves hold at least ``leaf`` records of the
    two files together.  In [0, 1/4], lower is better.  It finds what products of two variables do not show."""
    shape = tuple(release.data.domain.shape[j] for j in places)

    def figure(table: ReleasedTable) -> float:
        stacked = _stack(release, table, places)
        with one_thread():
            return _mean_square(stacked, tree_propensities(stacked, shape, leaf))

    return _over_tables(release, figure, [])


def specks(release: RecordRelease, places: tuple[int, ...], interactions: ZeroOne = 1) -> Figure:
    """Largest difference between the distribution functions of the propensities of original and released records (the
    Kolmogorov-Smirnov distance; Bowen and Snoke 2021).  In [0, 1], lower is better.

    Propensities are rounded to nine decimals, below which they are noise of the arithmetic.
    """

    def figure(table: ReleasedTable) -> float:
        stacked, chance, _ = _modelled(release, table, places, interactions)
        _, inverse = np.unique(np.round(chance, _ROUND), return_inverse=True)
        gap = np.bincount(inverse, weights=stacked.after / stacked.after.sum() - stacked.before / stacked.before.sum())
        distance = float(np.abs(np.cumsum(gap)).max())
        return distance if distance > 1e-12 else 0.0

    return _over_tables(release, figure, [])


_measure = partial(
    Measure.of,
    kind="utility",
    undefined="no variable takes two values, so the model has nothing to tell records apart by",
    needs="records",
    cost="milliseconds for a thousand distinct rows; with numeric columns it grows with the records",
)


_WOO = "Woo, Reiter, Oganian and Karr (2009), doi:10.29012/jpc.v1i1.568"

PMSE = _measure(
    pmse,
    symbol="pMSE",
    title="Propensity mean squared error",
    range="0 to 1/4",
    least=0.0,
    most=0.25,
    unit="squared propensity",
    source=_WOO,
    meaning=(
        "How well a statistical model tells released records from original ones. At 0 it cannot, and the release "
        "serves as well for everything that the model looks at."
    ),
)
PMSE_RATIO = _measure(
    pmse_ratio,
    symbol="pMSE/E",
    title="Propensity mean squared error, ratio",
    least=0.0,
    unit="times the expected value",
    source="Snoke, Raab, Nowok, Dibben and Slavkovic (2018), doi:10.1111/rssa.12358",
    meaning=(
        "The propensity mean squared error as a multiple of what records drawn anew from the original itself would "
        "show; another sample of the same population would show about 2."
    ),
)
PMSE_TREE = _measure(
    pmse_tree,
    symbol="pMSE(tree)",
    title="Propensity mean squared error, tree",
    range="0 to 1/4",
    least=0.0,
    most=0.25,
    unit="squared propensity",
    source=_WOO + "; trees as in Snoke et al. (2018), doi:10.1111/rssa.12358",
    meaning=(
        "How well a decision tree tells released records from original ones; it also finds changes in combinations "
        "of three or more columns."
    ),
)
SPECKS = _measure(
    specks,
    symbol="KS",
    title="Distance of propensities (SPECKS)",
    least=0.0,
    most=1.0,
    unit="difference of shares",
    source="Bowen and Snoke (2021), doi:10.29012/jpc.748",
    meaning=(
        "How well a statistical model tells released records from original ones: the largest difference, at any "
        "limit, between the shares of both that the model finds typical of a release."
    ),
)
