"""Tables of candidates, as CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from engine.common.wording import as_cell
from engine.decision.choice import figure_or_none
from engine.frontier.choosing import best_under_bound, supporting_line
from engine.frontier.risk_utility_map import RiskUtilityMap, over_limits
from engine.frontier.summary import losses
from engine.mechanisms import amount
from engine.release.scenarios import RunStatus

Row = dict[str, Any]
NO_CHANGE = "no change"
"""Standing of a scenario that is the original, in place of its dominance."""


def scenario_rows(
    view: RiskUtilityMap, max_risk: float | None = None, slope: float | None = None, undominated: bool = False
) -> list[Row]:
    """One row per scenario: raw means with standard errors, its place on the frontier, and whether the rule asked for
    picks it."""
    bounded = view.offered_risk if max_risk is None else view.bounded_risk
    optimal = _optimal(bounded, view.utility_loss, max_risk, slope)
    riskier = view.riskier_than_original
    rows = []
    indices = np.flatnonzero(view.dominance.undominated) if undominated else np.arange(len(view.scenarios))
    for i in indices.tolist():
        scenario = view.scenarios[i]
        row: Row = {
            "id": scenario.label,
            "mechanism": scenario.spec.mechanism,
            "rate": scenario.spec.rate,
            "amount": str(amount(scenario.spec)),
            "spec": scenario.spec.text,
            "replicates": int(view.summary.counted[i]),
            "failed": int(view.summary.failed[i]),
            "records_changed": figure_or_none(view.summary.changed[i]),
        }
        for k, call in enumerate(view.measures):
            row[str(call)] = figure_or_none(view.summary.mean[i, k])
            row[f"{call}_se"] = figure_or_none(view.summary.se[i, k])
        if max_risk is not None:
            row |= _quantile(view, i)
        row["undominated"] = bool(view.dominance.undominated[i])
        unknown = np.isnan(view.summary.loss[i, list(view.objectives)]).any()
        row["dominance"] = None if unknown else "clear" if view.dominance.clear[i] else "uncertain"
        if view.changes_nothing[i]:
            row["dominance"] = NO_CHANGE
        row["share_undominated"] = figure_or_none(view.dominance.share[i])
        row["riskier_than_original"] = bool(riskier[i])
        row["optimal"] = i in optimal
        rows.append(row)
    return rows


def quantile_columns(view: RiskUtilityMap) -> list[str]:
    """Names of the columns that a bound on single runs adds: the quantile that it is held against, and the ends of its
    interval; none where the bound is on the mean."""
    risk = view.measures[view.risk]
    return [] if view.single_runs is None else [f"{risk}_{name}" for name in _QUANTILES]


_QUANTILES = {"quantile": "quantile", "quantile_low": "low", "quantile_high": "high"}


def _quantile(view: RiskUtilityMap, i: int) -> Row:
    """The quantile of a scenario's single runs; an end that so few runs do not have is undefined."""
    if view.single_runs is None:
        return {}
    call = view.measures[view.risk]
    turned = -1 if call.measure.better == "higher" else 1
    row: Row = {}
    for column, name in _QUANTILES.items():
        value = turned * float(getattr(view.single_runs, name)[i])
        row[f"{call}_{column}"] = value if np.isfinite(value) else None
    return row


def realisation_rows(
    view: RiskUtilityMap, max_risk: float | None = None, slope: float | None = None, undominated: bool = False
) -> list[Row]:
    """One row per run; failed runs keep their figures and are marked, but stand outside the frontier unless allowed."""
    results = view.results
    loss = losses(results.values, [call.measure for call in view.measures])
    loss[~results.counted(view.allow_partial) | results.changes_nothing] = np.nan
    allowed = np.where(over_limits(results.values, view.edit_limits), np.nan, loss[:, view.risk])
    optimal = _optimal(allowed, loss[:, view.utility], max_risk, slope)
    undominated_rows = view.realisations_undominated()
    rows = []
    for r in (np.flatnonzero(undominated_rows) if undominated else np.arange(len(results))).tolist():
        scenario = view.scenarios[int(results.scenario[r])]
        row: Row = {
            "id": f"{scenario.label}/{results.replicate[r]}",
            "mechanism": scenario.spec.mechanism,
            "rate": scenario.spec.rate,
            "amount": str(amount(scenario.spec)),
            "spec": scenario.spec.text,
            "replicate": int(results.replicate[r]),
            "status": RunStatus(results.status[r]).word,
            "records_changed": int(results.changed[r]),
        }
        for k, call in enumerate(view.measures):
            row[str(call)] = figure_or_none(results.values[r, k])
        row["undominated"] = bool(undominated_rows[r])
        row["optimal"] = r in optimal
        rows.append(row)
    return rows


def _optimal(risk: np.ndarray, loss: np.ndarray, max_risk: float | None, slope: float | None) -> set[int]:
    """Rows that the rule asked for picks; empty without a rule or when nothing satisfies it."""
    if max_risk is not None:
        best = best_under_bound(risk, loss, max_risk)
        return set() if best is None else {best}
    return set(supporting_line(risk, loss, slope)) if slope is not None else set()


def as_csv(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Comma-separated text with a header; undefined figures are empty, truths are true and false, no text is a
    formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([as_cell(column) for column in columns])
    for row in rows:
        writer.writerow([_plain(row[column]) for column in columns])
    return out.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return as_cell(value)
    return "" if value is None else repr(value) if isinstance(value, float) else value


def as_json(rows: Sequence[Row]) -> str:
    """A JSON list of objects; undefined figures are null."""
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def columns_of(
    view: RiskUtilityMap, by: Literal["scenario", "realisation"], max_risk: float | None = None
) -> list[str]:
    """Column names in order, the same with and without rows; ``max_risk`` is the bound that the rows are held
    against."""
    if by == "realisation":
        return [
            "id",
            "mechanism",
            "rate",
            "amount",
            "spec",
            "replicate",
            "status",
            "records_changed",
            *map(str, view.measures),
            "undominated",
            "optimal",
        ]
    figures = [name for call in view.measures for name in (str(call), f"{call}_se")]
    bounded = [] if max_risk is None else quantile_columns(view)
    tail = [*bounded, "undominated", "dominance", "share_undominated", "riskier_than_original", "optimal"]
    return ["id", "mechanism", "rate", "amount", "spec", "replicates", "failed", "records_changed", *figures, *tail]
