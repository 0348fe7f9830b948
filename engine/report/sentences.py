"""The effect of a release in counts, for people who decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.decision.statements import Statement, statement
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.measures import MeasureCall
from engine.mechanisms import mechanism
from engine.release.scenarios import NoteKind
from engine.release.spec import ReleaseSpec
from engine.report.words import small_cells_words
from engine.study.study import Study

ALL_FOUND = 0.95
"""The share of the true frontier from which on the runs are told to find it."""


@dataclass(frozen=True)
class Exposed:
    """Records that stand in small cells: ``original`` of ``n_records`` when nothing is done, and, unaltered, on average
    over the runs of a scenario ``mean``, from ``low`` to ``high``; cells are ``cells`` in words.  Where ``tables`` are
    released together, a run's number is the mean over them."""

    n_records: int
    original: int
    mean: float
    low: float
    high: float
    cells: str
    tables: int = 1


def counted_runs(study: Study, index: int, allow_partial: bool) -> np.ndarray:
    """The counted runs of one scenario as rows (replicate, records changed, one value per measure), by replicate."""
    runs = study.runs.of([index])
    result: np.ndarray = np.column_stack([runs.replicate, runs.changed, runs.values])[runs.counted(allow_partial)]
    return result


def unaltered_counts(
    call: MeasureCall, keys: Sequence[str], spec: ReleaseSpec, changed: np.ndarray, n_records: int
) -> np.ndarray:
    """Records that eq. 6 counts as unaltered, for numbers of records ``changed`` in any attribute.

    Only changes of what it tabulates (its own attributes, or the keys) matter to it.  The two records of a random swap
    differ on every swapped attribute, so all swapped records have changed there or none.  Another method may have
    changed a record inside or outside of them; where it may do both, the number is unknown (NaN).
    """
    tabulated = set(keys if call.attributes is None else call.attributes)
    method = mechanism(spec.mechanism)
    may_change = set(method.altered(spec))
    if not may_change & tabulated:
        return np.full(np.shape(changed), float(n_records))
    if not method.partners_differ and not may_change <= tabulated:
        return np.full(np.shape(changed), np.nan)
    return n_records - np.asarray(changed, float)


def noted_counts(study: Study, k: int) -> dict[tuple[int, int], float]:
    """The counts behind a small-cell risk (column ``k``) by scenario and replicate, each a mean over tables: of the
    runs that noted them, which are those over records.

    A swap of one table needs none: its share and its number of records changed give the count.
    """
    return {(note.scenario, note.replicate): float(note.text) for note in study.notes.on(k, NoteKind.COUNT)}


def exposed(study: Study, view: RiskUtilityMap, index: int) -> Exposed | None:
    """The small-cell risk of a scenario as counts of records; None for other risk measures, without a counted run, and
    where shares cannot be turned into counts (see :func:`unaltered_counts`).

    Eq. 6 is a share of unaltered records; every run is turned back into its count before anything is averaged, and what
    a run of several tables noted is the mean of their counts.
    """
    call = view.measures[view.risk]
    if not call.measure.of_unaltered:
        return None
    n = int(study.about["n_records"])
    runs, spec = counted_runs(study, index, view.allow_partial), view.scenarios[index].spec
    counts = np.round(runs[:, 2 + view.risk] * unaltered_counts(call, study.plan.keys, spec, runs[:, 1], n))
    noted = {} if mechanism(spec.mechanism).batched else noted_counts(study, view.risk)
    pairs = zip(runs[:, 0].astype(int).tolist(), counts.tolist(), strict=True)
    counts = np.array([noted.get((index, replicate), count) for replicate, count in pairs])
    counts = counts[np.isfinite(counts)]
    if not len(counts):
        return None
    cells = small_cells_words(int(call.values["n_rule"]))
    original = round(float(view.original[view.risk]) * n)
    tables = mechanism(spec.mechanism).n_tables(spec)
    return Exposed(n, original, float(counts.mean()), float(counts.min()), float(counts.max()), cells, tables)


def headline(study: Study, view: RiskUtilityMap, index: int | None, name: str = "") -> Statement:
    """The risk without protection, and under a scenario that is called ``name``."""
    call = view.measures[view.risk]
    n = int(study.about["n_records"])
    original = float(view.original[view.risk])
    mean = float(view.summary.mean[index, view.risk]) if index is not None else float("nan")
    if not np.isfinite(original):
        return statement("undefined_risk", title=call.measure.title, why=call.measure.undefined)
    if call.measure.of_unaltered:
        counts = exposed(study, view, index) if index is not None else None
        mean_count = None if counts is None else counts.mean
        share = mean if counts is None and np.isfinite(mean) else None
        counted = {"records": n, "small": round(original * n), "fewest": int(call.values["n_rule"])}
        return statement("counted_risk", **counted, after=mean_count, share=share, name=name)
    before, after = (_figure(call, value) or "" for value in (original, mean))
    title, better = call.measure.title, call.measure.better
    return statement("measured_risk", title=title, better=better, before=before, after=after, name=name)


def hidden(view: RiskUtilityMap) -> list[Statement]:
    """The share of the true frontier that the runs of a map may miss; nothing where it is small or unknown."""
    return [statement("hidden", share=1 - view.recall)] if view.recall < ALL_FOUND else []


def _figure(call: MeasureCall, value: float) -> str | None:
    if not np.isfinite(value):
        return None
    unit = call.measure.unit
    if call.measure.share_of:
        return f"{100 * value:.3g} % of {call.measure.share_of}"
    if call.measure.unit_kind == "count":
        return f"{value:,.0f} {unit}" if abs(value) >= 100 or value == round(value) else f"{value:,.3g} {unit}"
    return f"{value:.4g}"


def spread(study: Study, view: RiskUtilityMap, index: int) -> list[tuple[int, float, float]]:
    """Of every measure with a figure (column), the least and the greatest over the counted runs of a scenario."""
    runs = counted_runs(study, index, view.allow_partial)
    ranges = []
    for k in range(len(view.measures)):
        values = runs[:, 2 + k]
        values = values[np.isfinite(values)]
        if len(values):
            ranges.append((k, float(values.min()), float(values.max())))
    return ranges
