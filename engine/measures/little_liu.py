"""Expected re-identifications by Little and Liu: records that stayed in a sensitive key cell.

R. J. A. Little and F. Liu, "Selective Multiple Imputation of Keys for Statistical Disclosure Control in Microdata",
University of Michigan Department of Biostatistics Working Paper 6 (2003).  A key cell is sensitive when it holds at
most ``s`` records (``rule`` "le") or fewer than ``s`` ("lt"); "lt" with ``s`` is "le" with ``s - 1``.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from engine.common.registry import remembered
from engine.measures.base import Figure, Measure, Positive
from engine.models.record_release import RecordRelease
from engine.release.batch import ReleaseBatch

SensitivityRule = Literal["le", "lt"]
Denominator = Literal["sensitive", "nonempty"]


def largest_sensitive(s: int, rule: SensitivityRule) -> int:
    """The largest size of a sensitive cell."""
    return s if rule == "le" else s - 1


def r_original(counts: np.ndarray, s: Positive = 3, rule: SensitivityRule = "le") -> int:
    """R(orig), the expected re-identifications in the unaltered data: every record of a sensitive cell of ``m`` counts
    ``1/m``, so it is the number of sensitive cells.

    ``counts`` are the counts of the key cells.  A property of the original, not of a release.
    """
    return int(np.count_nonzero((counts > 0) & (counts <= largest_sensitive(s, rule))))


def r1(batch: ReleaseBatch, s: Positive = 3, rule: SensitivityRule = "le") -> np.ndarray:
    """R1: ``1/m`` summed over the records that kept their key cell while its released size ``m`` is sensitive.

    From 0 to the number of key cells; lower is better; the unaltered data have R(orig).
    """
    return _r1(batch, largest_sensitive(s, rule))


@remembered("own")
def _r1(batch: ReleaseBatch, largest: int) -> np.ndarray:
    no_longer_sensitive = batch.total((batch.before > 0) & (batch.before <= largest))
    sensitive = (batch.after > 0) & (batch.after <= largest)
    stayed = sensitive * batch.kept / np.maximum(batch.after, 1)
    result: np.ndarray = r_original(batch.original, largest) - no_longer_sensitive + batch.total(stayed)
    return result


def r1_share(batch: ReleaseBatch, s: Positive = 3, rule: SensitivityRule = "le") -> np.ndarray:
    """R1 / R(orig), which is 1 - P1 and the form for frontiers.

    At least 0; lower is better; above 1 when swapping makes more cells sensitive than it empties; NaN without a
    sensitive cell.
    """
    return _ratio(r1(batch, s, rule), r_original(batch.original, s, rule))


def p1(
    batch: ReleaseBatch, s: Positive = 3, rule: SensitivityRule = "le", denominator: Denominator = "sensitive"
) -> np.ndarray:
    """Protection P1 = 1 - R1 / R(orig).

    At most 1; higher is safer; negative when cells that were not sensitive become so.  With ``denominator`` "nonempty"
    R1 is divided by the number of occupied key cells instead, and the unaltered data have more than 0.  NaN without a
    sensitive cell.
    """
    return 1 - _ratio(r1(batch, s, rule), _divisor(batch.original, s, rule, denominator))


def _divisor(counts: np.ndarray, s: int, rule: SensitivityRule, denominator: Denominator) -> int:
    sensitive = r_original(counts, s, rule)
    return int(np.count_nonzero(counts)) if sensitive and denominator == "nonempty" else sensitive


def _ratio(figures: np.ndarray, divisor: int) -> np.ndarray:
    return figures / divisor if divisor else np.full(len(figures), np.nan)


def r2(release: RecordRelease, places: tuple[int, ...], s: Positive = 3, rule: SensitivityRule = "le") -> Figure:
    """R2: what the D tables of a release give away jointly.

    ``e_ik`` is the number of tables that put record ``i`` into key cell ``k``, and ``u_k`` the number of records that
    attain the largest ``e_ik`` of cell ``k``.  A record counts ``1/u_k`` when it is among those for its true cell and
    ``u_k`` is sensitive.  From 0 to the number of key cells; lower is better; equal to R1 when D is 1.
    """
    return Figure(float(_joint_risk(release, places, largest_sensitive(s, rule)).sum()), _tables(release))


def p2(
    release: RecordRelease,
    places: tuple[int, ...],
    s: Positive = 3,
    rule: SensitivityRule = "le",
    denominator: Denominator = "sensitive",
) -> Figure:
    """Protection P2 = 1 - R2 / R(orig), with ``denominator`` as in :func:`p1`; NaN without a sensitive cell."""
    sizes = release.original.cached(
        ("key cell sizes", places), lambda: np.unique(release.original.cells(places), return_counts=True)[1]
    )
    divisor = _divisor(sizes, s, rule, denominator)
    if not divisor:
        return Figure(float("nan"), NO_SENSITIVE)
    return Figure(1 - float(_joint_risk(release, places, largest_sensitive(s, rule)).sum()) / divisor, _tables(release))


def _tables(release: RecordRelease) -> str:
    return f"{len(release.tables)} tables jointly" if len(release.tables) > 1 else "one table"


@remembered()
def _joint_risk(release: RecordRelease, places: tuple[int, ...], largest_size: int) -> np.ndarray:
    """Each record's share of R2, shape ``(n_records,)``; time and memory follow records times tables."""
    n, true = release.data.n_records, release.original.cells(places)
    released_cells = [table.cells(places) for table in release.tables]
    cells, cell = np.unique(np.concatenate(released_cells), return_inverse=True)
    pair, e = np.unique(cell * n + np.tile(np.arange(n), len(released_cells)), return_counts=True)
    of_pair = pair // n
    largest = np.zeros(len(cells), np.int64)
    np.maximum.at(largest, of_pair, e)
    at_most = e == largest[of_pair]
    u = np.bincount(of_pair[at_most], minlength=len(cells))
    true_cell = cells[of_pair] == true[pair % n]
    exposed = at_most & true_cell & (u[of_pair] <= largest_size)
    risk = np.zeros(n)
    risk[pair[exposed] % n] = 1 / u[of_pair[exposed]]
    return risk


NO_SENSITIVE = "no sensitive cell"
_PAPER = "Little and Liu (2003), "
R1 = Measure.of(
    r1,
    "risk",
    symbol="R₁",
    title="Expected re-identifications",
    range="0 to the number of key cells",
    unit="records",
    unit_kind="count",
    source=_PAPER + "R1",
    meaning=(
        "The number of records that an intruder is expected to match rightly who knows everyone's keys and guesses "
        "blindly within each small cell. Only records with unaltered keys count."
    ),
)
R1_SHARE = Measure.of(
    r1_share,
    "risk",
    symbol="R₁/R",
    title="Expected re-identifications, relative to the original",
    range="0 upwards; 1 is the unaltered data",
    least=0.0,
    unit="share of the original's expected re-identifications",
    source=_PAPER + "R1 / R(orig)",
    meaning=(
        "The expected number of right guesses in small key cells, as a share of that in the unaltered data; above 1 "
        "the release is worse than doing nothing."
    ),
    undefined=NO_SENSITIVE,
)
P1 = Measure.of(
    p1,
    "risk",
    symbol="P₁",
    title="Protection of small key cells",
    better="higher",
    range="at most 1; 0 is the unaltered data, negative is worse than it (denominator=nonempty: it may be above 0)",
    most=1.0,
    unit="share of the original's expected re-identifications",
    source=_PAPER + "P1 = 1 − R1/R(orig)",
    meaning=(
        "The share of the expected right guesses in small key cells that the release takes away: 1 takes away all, "
        "0 none."
    ),
    undefined=NO_SENSITIVE,
)
R2 = Measure.of(
    r2,
    "risk",
    symbol="R₂",
    title="Expected re-identifications from all tables jointly",
    range="0 to the number of key cells",
    unit="records",
    unit_kind="count",
    judges_jointly=("r1", "r1_share"),
    source=_PAPER + "R2",
    meaning=(
        "The number of records that an intruder is expected to match rightly who knows everyone's keys and sees the "
        "key cell of every record in each table of the release. With one table it equals R1."
    ),
    depends_on="unaltered",
    needs="records",
    cost="milliseconds per table, with the number of records",
)
P2 = Measure.of(
    p2,
    "risk",
    symbol="P₂",
    title="Protection of small key cells, all tables jointly",
    better="higher",
    range="at most 1; 0 is the unaltered data, negative is worse than it (denominator=nonempty: it may be above 0)",
    most=1.0,
    unit="share of the original's expected re-identifications",
    source=_PAPER + "P2 = 1 − R2/R(orig)",
    meaning=(
        "The share of the expected right guesses in small key cells that the release takes away from an intruder "
        "who sees all its tables together."
    ),
    depends_on="unaltered",
    undefined=NO_SENSITIVE,
    needs="records",
    cost="milliseconds per table, with the number of records",
)
