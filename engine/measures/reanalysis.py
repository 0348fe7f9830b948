"""Utility by re-analysis: the plan's declared regressions on the release and on the original.

Confidence interval overlap after Karr, Kohnen, Oganian, Reiter and Sanil (2006), A framework for evaluating the utility
of data altered to protect confidentiality, The American Statistician 60(3), 224-232, doi:10.1198/000313006X124640; as
used by Oganian and Lesaja for swapping.  Coefficients that a release does not let one estimate are never passed over in
silence: the note names and counts them, and ``coefficients_lost`` is their number.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from engine.measures.base import Figure, Measure, Summary, ZeroOne
from engine.models.analyses import DF, Compared, DegreesOfFreedom, chosen, compare
from engine.models.record_release import RecordRelease
from engine.models.regression import WHY
from engine.plan.entries import ALL

NO_ANALYSES = "the plan declares no analyses"


def interval_overlap(before: np.ndarray, half: np.ndarray, after: np.ndarray, half_after: np.ndarray) -> np.ndarray:
    """Overlap J of two intervals given by centre and half-width: the average of the overlap's share of either interval.

    1 when they coincide, 0 when they touch, negative (the gap relative to the lengths) when they are disjoint; NaN for
    an interval of no width.
    """
    low, high = np.maximum(before - half, after - half_after), np.minimum(before + half, after + half_after)
    same = (before == after) & (half == half_after)
    with np.errstate(divide="ignore", invalid="ignore"):
        overlap = ((high - low) / (2 * half) + (high - low) / (2 * half_after)) / 2
    return np.where((half > 0) & (half_after > 0), np.where(same, 1.0, overlap), np.nan)


class Joined:
    """Several analyses end to end, with what cannot be compared in words."""

    def __init__(self, compared: list[Compared]) -> None:
        self.compared = compared
        several = len(compared) > 1 or bool(compared[0].ready.strata[0])
        self.names = [
            f"{c.ready.design.analysis.name}, {name}" if several else name for c in compared for name in c.ready.names
        ]
        self.usable = np.concatenate([c.usable for c in compared])
        self.why = np.concatenate([c.why for c in compared])
        self.before = np.concatenate([c.before.estimate for c in compared])
        self.se = np.concatenate([c.before.se for c in compared])
        self.after = np.concatenate([c.after for c in compared])
        self.half = np.concatenate([c.half for c in compared])
        self.half_after = np.concatenate([c.half_after for c in compared])
        self.gamma = np.concatenate([c.gamma for c in compared])

    @property
    def lost(self) -> np.ndarray:
        """Coefficients that the original estimates and the release does not."""
        result: np.ndarray = self.usable & np.isnan(self.after)
        return result

    def strata(self) -> list[tuple[str, np.ndarray]]:
        """Name and coefficients of every stratum of every analysis that has strata."""
        results, begin = [], 0
        for c in self.compared:
            m, k = len(c.usable), len(c.ready.design.model.parameters)
            if c.ready.places:
                for s, stratum in enumerate(c.ready.strata):
                    results.append((f"{c.ready.design.analysis.name}, {stratum}", np.arange(k) + begin + s * k))
            begin += m
        return results

    def remarks(self) -> list[str]:
        """Notes on coefficients that cannot be compared; the first of the lost ones by name."""
        remarks = []
        lost = np.flatnonzero(self.lost)
        if len(lost):
            first = lost[0]
            remarks.append(
                f"{len(lost)} of {int(self.usable.sum())} coefficients cannot be estimated from the release, first "
                f"{self.names[first]} ({WHY[self.why[first]]})"
            )
        if not self.usable.all():
            remarks.append(f"{int((~self.usable).sum())} of {len(self.usable)} cannot be estimated from the original")
        return remarks


def joined(release: RecordRelease, analysis: str, df: DegreesOfFreedom = DF[0]) -> Joined | None:
    """The analysis of that name, or all of them, on a release; None where the plan declares none."""
    analyses = chosen(release.plan, analysis)
    return Joined([compare(release, declared, df) for declared in analyses]) if analyses else None


def _figure(value: float, notes: list[str], reason: str = "no coefficient can be compared") -> Figure:
    if np.isnan(value):
        return Figure(value, "; ".join([reason, *notes]))
    return Figure(value, "; ".join(notes))


def _overlaps(results: Joined) -> tuple[np.ndarray, list[str]]:
    overlap = interval_overlap(results.before, results.half, results.after, results.half_after)
    notes = results.remarks()
    flat = int((results.usable & ~results.lost & np.isnan(overlap)).sum())
    if flat:
        notes.append(f"{flat} with an interval of no width")
    return overlap, notes


def ci_overlap(
    release: RecordRelease, places: tuple[int, ...], analysis: str = ALL, df: DegreesOfFreedom = DF[0]
) -> Figure:
    """Mean overlap J of the 95 % intervals of all coefficients, before and after.  At most 1, higher is better;
    negative where intervals are disjoint.

    One released table: its naive interval.  Several: the interval of Reiter's rules.  NaN when no coefficient can be
    compared.
    """
    results = joined(release, analysis, df)
    if results is None:
        return Figure(np.nan, NO_ANALYSES)
    overlap, notes = _overlaps(results)
    if np.isnan(overlap).all():
        return _figure(np.nan, notes)
    worst = int(np.nanargmin(overlap))
    if overlap[worst] < 1:
        first = [f"worst {results.names[worst]}: J = {overlap[worst]:.2f}"]
        by_stratum = [
            (float(np.nanmean(overlap[at])), name) for name, at in results.strata() if not np.isnan(overlap[at]).all()
        ]
        if by_stratum:
            mean, name = min(by_stratum)
            first.append(f"worst subgroup {name}: mean J = {mean:.2f}")
        notes = first + notes
    return _figure(float(np.nanmean(overlap)), notes)


def ci_disjoint(
    release: RecordRelease, places: tuple[int, ...], analysis: str = ALL, df: DegreesOfFreedom = DF[0]
) -> Figure:
    """Number of coefficients whose 95 % intervals before and after do not overlap (J < 0).  Lower is better."""
    results = joined(release, analysis, df)
    if results is None:
        return Figure(np.nan, NO_ANALYSES)
    overlap, notes = _overlaps(results)
    if np.isnan(overlap).all():
        return _figure(np.nan, notes)
    disjoint = np.flatnonzero(overlap < 0)
    if len(disjoint):
        worst = disjoint[np.argmin(overlap[disjoint])]
        notes = [f"worst {results.names[worst]}: J = {overlap[worst]:.2f}", *notes]
    return _figure(float(len(disjoint)), notes)


def coefficient_shift(
    release: RecordRelease, places: tuple[int, ...], analysis: str = ALL, summary: Summary = "mean"
) -> Figure:
    """Mean (or largest) ``|estimate after - before| / standard error before``.  0 upwards, lower is better.

    Several released tables: the mean of their estimates.  Coefficients without a standard error in the original do not
    count.
    """
    results = joined(release, analysis)
    if results is None:
        return Figure(np.nan, NO_ANALYSES)
    shift = np.full(len(results.usable), np.nan)
    np.divide(np.abs(results.after - results.before), results.se, out=shift, where=results.se > 0)
    notes = results.remarks()
    if np.isnan(shift).all():
        return _figure(np.nan, notes)
    worst = int(np.nanargmax(shift))
    if shift[worst] > 0:
        notes = [f"worst {results.names[worst]}: {shift[worst]:.2f} standard errors", *notes]
    return _figure(float(np.nanmean(shift) if summary == "mean" else shift[worst]), notes)


def sign_changes(
    release: RecordRelease, places: tuple[int, ...], analysis: str = ALL, significant: ZeroOne = 0
) -> Figure:
    """Number of coefficients whose sign is opposite after; with ``significant=1`` only among those whose 95 % interval
    in the original leaves out zero.  Lower is better."""
    results = joined(release, analysis)
    if results is None:
        return Figure(np.nan, NO_ANALYSES)
    comparable = results.usable & ~results.lost
    clear = comparable & (np.abs(results.before) > results.half)
    reversed_sign = np.flatnonzero((clear if significant else comparable) & (results.before * results.after < 0))
    notes = results.remarks()
    if not comparable.any():
        return _figure(np.nan, notes)
    if len(reversed_sign):
        strength = np.divide(
            np.abs(results.before), results.half, out=np.zeros(len(comparable)), where=results.half > 0
        )
        worst = reversed_sign[np.argmax(strength[reversed_sign])]
        clarity = "clear of zero in the original" if clear[worst] else "not clear of zero in the original"
        notes = [f"worst {results.names[worst]}, {clarity}", *notes]
    return _figure(float(len(reversed_sign)), notes)


def coefficients_lost(release: RecordRelease, places: tuple[int, ...], analysis: str = ALL) -> Figure:
    """Number of coefficients that the original estimates and the release does not (a level gone from a stratum,
    separation, too few records).  Lower is better."""
    results = joined(release, analysis)
    if results is None:
        return Figure(np.nan, NO_ANALYSES)
    if not results.usable.any():
        return _figure(np.nan, results.remarks())
    return _figure(float(results.lost.sum()), results.remarks())


def information_loss(release: RecordRelease, places: tuple[int, ...], analysis: str = ALL) -> Figure:
    """Mean fraction of information lost, ``gamma = (B/D) / T`` of Reiter's rules, over all coefficients.  In [0, 1),
    lower is better; NaN for one released table, from which it cannot be known."""
    results = joined(release, analysis)
    if results is None:
        return Figure(np.nan, NO_ANALYSES)
    if len(release.tables) == 1:
        return Figure(np.nan, "one released table does not show what the mechanism adds to the uncertainty")
    if np.isnan(results.gamma).all():
        return _figure(np.nan, results.remarks())
    worst = int(np.nanargmax(results.gamma))
    notes = results.remarks()
    if results.gamma[worst] > 0:
        notes = [f"worst {results.names[worst]}: {results.gamma[worst]:.3f}", *notes]
    return _figure(float(np.nanmean(results.gamma)), notes)


_COST = (
    "a few milliseconds for each analysis on a thousand records (a tenth of a second for ordered models), shared by "
    "all measures of re-analysis"
)
_UNDEFINED = "no coefficient of a declared analysis can be compared"


_measure = partial(
    Measure.of,
    kind="utility",
    over="all",
    undefined=_UNDEFINED,
    needs="records",
    cost=_COST,
)


_KARR = "Karr, Kohnen, Oganian, Reiter and Sanil (2006), doi:10.1198/000313006X124640"

CI_OVERLAP = _measure(
    ci_overlap,
    symbol="J",
    title="Confidence interval overlap",
    better="higher",
    range="below 0 to 1",
    most=1.0,
    unit="share of the interval",
    source=_KARR,
    meaning=(
        "How far the confidence intervals of the declared regressions coincide before and after: at 1 they are the "
        "same, below 0 they do not touch. With one released table they leave out the uncertainty that protection "
        "adds."
    ),
)
CI_DISJOINT = _measure(
    ci_disjoint,
    symbol="#J<0",
    title="Disjoint confidence intervals",
    range="0 to the number of coefficients",
    least=0.0,
    unit="coefficients",
    source=_KARR,
    meaning=(
        "The number of regression coefficients whose confidence intervals before and after do not touch, so that a "
        "user of the release would reach another conclusion."
    ),
)
COEFFICIENT_SHIFT = _measure(
    coefficient_shift,
    symbol="|Δβ|/SE",
    title="Shift of regression coefficients",
    least=0.0,
    unit="standard errors of the original",
    source="absolute change of an estimate over its standard error in the original",
    meaning=(
        "How far the coefficients of the declared regressions move, in units of their standard error. Chance alone "
        "rarely moves one by more than about 2."
    ),
)
SIGN_CHANGES = _measure(
    sign_changes,
    symbol="±β",
    title="Sign changes of regression coefficients",
    range="0 to the number of coefficients",
    least=0.0,
    unit="coefficients",
    source="count of coefficients with opposite signs before and after",
    meaning="The number of regression coefficients whose sign protection reverses.",
)
COEFFICIENTS_LOST = _measure(
    coefficients_lost,
    symbol="β?",
    title="Coefficients that can no longer be estimated",
    range="0 to the number of coefficients",
    least=0.0,
    unit="coefficients",
    source="count of coefficients that are estimable in the original and not in the release",
    meaning="The number of regression coefficients that can be estimated from the original and not from the release.",
)
INFORMATION_LOSS = replace(
    _measure(
        information_loss,
        symbol="γ",
        title="Information lost to protection",
        least=0.0,
        most=1.0,
        unit="share of information",
        source="Reiter (2003), Survey Methodology 29(2), 181-188; Little and Liu, appendix",
        meaning=(
            "The share of the statistical information in the declared regressions that protection takes away, "
            "estimated from how far several released tables differ."
        ),
    ),
    unit_kind="share",
    share_of="information",
)
