"""Records that are unique on the keys, in the file and in the population behind it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Literal

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.common.registry import remembered
from engine.data.table import occupied
from engine.measures.base import Figure, Measure, Several
from engine.models.loglinear import Counts, Model, fit
from engine.models.record_release import RecordRelease
from engine.release.batch import ReleaseBatch
from engine.release.records import ReleasedTable

Terms = Literal["main", "two_way"]


def sample_uniques(batch: ReleaseBatch) -> np.ndarray:
    """Number of released records that are alone in their key cell.  A count; lower is better."""
    base = int(np.count_nonzero(batch.original == 1))
    return base + batch.total((batch.after == 1).astype(np.int8) - (batch.before == 1))


def unchanged_uniques(batch: ReleaseBatch) -> np.ndarray:
    """Number of records alone in the same key cell before and after: what exact matching on the keys finds rightly.  A
    count; lower is better."""
    base = int(np.count_nonzero(batch.original == 1))
    stayed = (batch.before == 1) & (batch.kept == 1) & (batch.after == 1)
    result: np.ndarray = base - batch.total(batch.before == 1) + batch.total(stayed)
    return result


@remembered("own")
def k_anonymity(batch: ReleaseBatch, k: Several = 3) -> np.ndarray:
    """Number of released records in key cells of fewer than ``k`` records.  A count; lower is better; 0 means that the
    release is k-anonymous."""
    base = int(batch.original[batch.original < k].sum())
    return base + batch.total(batch.after * (batch.after < k) - batch.before * (batch.before < k))


def k_anonymity_share(batch: ReleaseBatch, k: Several = 3) -> np.ndarray:
    """:func:`k_anonymity` as a share of all records.  In [0, 1]; lower is better."""
    return k_anonymity(batch, k) / batch.n_records


def population_uniques(
    release: RecordRelease, places: tuple[int, ...], fraction: str = "weights", model: Terms = "main"
) -> Figure:
    """Expected number of population uniques among the released, unaltered records that are alone in their key cell
    (tau1 of Skinner and Shlomo 2008).

    The population count of cell ``k`` is Poisson with mean ``lambda_k`` and each person is in the file with probability
    ``pi``, so the part outside the file is Poisson with mean ``(1 - pi) lambda_k`` whatever the file holds.  A record
    alone in the original is alone in the population with probability ``exp(-(1 - pi) lambda_k)``; one that the release
    left alone, by altering others of its cell, is not: these people have its keys all the same.  ``lambda_k`` is the
    original's fitted count over ``pi``, from a log-linear model with main effects or all two-way terms.  From 0 to the
    number of sample uniques; lower is better.  With ``pi = 1`` it is the number of unaltered uniques of the original.
    """
    return _expected(release, places, fraction, model, lambda counts, unseen: (counts == 1) * np.exp(-unseen))


def expected_matches(
    release: RecordRelease, places: tuple[int, ...], fraction: str = "weights", model: Terms = "main"
) -> Figure:
    """Expected number of right matches when every released record that is alone in its key cell is matched to a
    population unit of that cell (tau2 of Skinner and Shlomo 2008).

    As :func:`population_uniques`, with the expectation of ``1 / F_k``.  With ``m = (1 - pi) lambda_k`` it is ``(1 -
    exp(-m)) / m`` for a record that is alone in the original, and the integral of ``t^(f - 1) exp(-m (1 - t))`` over
    ``t`` from 0 to 1 where the original holds ``f``.  Altered records are never matched rightly and count nothing.
    """

    def one_over(counts: np.ndarray, unseen: np.ndarray) -> np.ndarray:
        from scipy.special import hyp1f1

        alone: np.ndarray = np.divide(-np.expm1(-unseen), unseen, out=np.ones_like(unseen), where=unseen > 0)
        return np.where(counts == 1, alone, hyp1f1(1, counts + 1, -unseen) / counts)

    return _expected(release, places, fraction, model, one_over)


def _expected(
    release: RecordRelease,
    places: tuple[int, ...],
    fraction: str,
    model: str,
    chance: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Figure:
    sampled = _fraction(release, fraction)
    if sampled is None:
        return Figure(float("nan"), "no weight is declared; give the share of the population in the file as fraction=")
    cell, counts, fitted, note = release.original.cached(
        ("key cells and fitted counts", places, model), lambda: _fit(release.original, places, model)
    )
    unseen = (1 - sampled) / sampled * fitted
    alone = [_alone(release, table, places, cell, counts) for table in release.tables]
    figures = [float(chance(counts[here], unseen[here]).sum()) for here in alone]
    return Figure(sum(figures) / len(figures), note)


def _fraction(release: RecordRelease, fraction: str) -> float | None:
    """The share of the population in the file; None when it should come from weights and there are none."""
    if fraction != "weights":
        return float(Fraction(fraction))
    weights = release.original.weights
    if weights is None:
        return None
    total = float(weights.sum())
    if not np.isfinite(weights).all() or (weights < 0).any() or total < release.data.n_records:
        raise EngineError(
            f"weights sum to {total:g} for {release.data.n_records} records, so they do not say how many people a "
            "record stands for; give fraction="
        )
    return release.data.n_records / total


def _alone(
    release: RecordRelease, table: ReleasedTable, places: tuple[int, ...], cell: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """The original's key cells that hold, in a released table, one record only and that one unaltered."""
    old, new = release.original.cells(places), table.cells(places)
    changed = np.flatnonzero(old != new)
    numbers = release.original.cached(("key cell numbers", places), lambda: np.unique(old))
    unaltered = counts - np.bincount(cell[changed], minlength=len(counts))
    arrived = np.minimum(np.searchsorted(numbers, new[changed]), len(numbers) - 1)
    in_original = numbers[arrived] == new[changed]
    result: np.ndarray = (unaltered == 1) & (np.bincount(arrived[in_original], minlength=len(counts)) == 0)
    return result


def _fit(table: ReleasedTable, places: tuple[int, ...], model: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """Each record's key cell (in the order of the cells' numbers), the cells' counts, their fitted counts, and what is
    to be said about the fit."""

    shape = [table.data.domain.shape[j] for j in places]
    cells, cell = occupied([table.codes(j) for j in places], shape, table.data.n_records)
    counts = np.bincount(cell, minlength=len(cells))
    d = len(places)
    terms = combinations(range(d), 2) if model == "two_way" and d > 1 else ([j] for j in range(d))
    fitted = fit(Counts(cells, counts, shape), Model.of(terms), warn=False)
    note = ""
    if not fitted.converged:
        note = (
            f"the two-way model had not settled after {fitted.cycles} cycles (a margin was off by "
            f"{fitted.deviation:.2g} records)"
        )
    return cell, counts, counts.sum() * np.exp(fitted.log_p(list(cells.T))), note


def _check_population(fraction: str, model: str) -> None:
    if fraction == "weights":
        return
    try:
        good = 0 < Fraction(fraction) <= 1
    except (ValueError, ZeroDivisionError):
        good = False
    if not good:
        raise UsageError(
            f"fraction == '{fraction}', must be above 0 and at most 1, such as 0.01 or 1/100, or weights to take it "
            "from the declared weights."
        )


SAMPLE_UNIQUES = Measure.of(
    sample_uniques,
    "risk",
    symbol="SU",
    title="Sample uniques",
    unit="records",
    unit_kind="count",
    source="count of key cells of one record; Skinner and Shlomo (2008), doi:10.1198/016214507000001328",
    meaning=(
        "The number of released records whose keys no other record of the file has. Some of them are altered, and "
        "most may have doubles in the population."
    ),
    depends_on="table",
)
UNCHANGED_UNIQUES = Measure.of(
    unchanged_uniques,
    "risk",
    symbol="UU",
    title="Unaltered uniques",
    unit="records",
    unit_kind="count",
    source="count of records alone in the same key cell before and after (right one-to-one exact matches)",
    meaning=(
        "The number of records that are alone on the keys before and after, so that somebody with everyone's "
        "original keys finds them by exact matching."
    ),
)
K_ANONYMITY = Measure.of(
    k_anonymity,
    "risk",
    symbol="kA",
    title="Records below k-anonymity",
    unit="records",
    unit_kind="count",
    source="Samarati and Sweeney (1998); Sweeney (2002), doi:10.1142/S0218488502001648",
    meaning=(
        "The number of released records with a combination of keys that fewer than k records share; altered records "
        "count too."
    ),
    depends_on="table",
)
K_ANONYMITY_SHARE = Measure.of(
    k_anonymity_share,
    "risk",
    symbol="kA/n",
    title="Share of records below k-anonymity",
    share_of="records",
    source=K_ANONYMITY.source,
    meaning=(
        "The share of released records with a combination of keys that fewer than k records share; altered records "
        "count too."
    ),
    depends_on="table",
)
_SKINNER = "Skinner and Shlomo (2008), doi:10.1198/016214507000001328, "
POPULATION_UNIQUES = Measure.of(
    population_uniques,
    "risk",
    symbol="τ₁",
    title="Expected population uniques",
    range="0 to the number of sample uniques",
    unit="records",
    unit_kind="count",
    source=_SKINNER + "τ1, over unaltered records",
    meaning=(
        "The expected number of unaltered records that are alone on the keys both in the file and in the whole "
        "population, altered people counted as they are, under a statistical model."
    ),
    depends_on="unaltered",
    check=_check_population,
    needs="records",
    cost="about a millisecond per 50,000 records; fitted once",
)
EXPECTED_MATCHES = Measure.of(
    expected_matches,
    "risk",
    symbol="τ₂",
    title="Expected right matches of uniques",
    range="0 to the number of sample uniques",
    unit="records",
    unit_kind="count",
    source=_SKINNER + "τ2, over unaltered records",
    meaning=(
        "The expected number of right matches if every record that is alone on the keys in the file is matched to "
        "one person of the population with the same keys, under a statistical model."
    ),
    depends_on="unaltered",
    check=_check_population,
    needs="records",
    cost="about a millisecond per 50,000 records; fitted once",
)
