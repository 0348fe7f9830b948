"""Tables of candidates, as CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.common.wording import as_cell
from engine.frontier.choosing import best_under_bound, supporting_line
from engine.frontier.risk_utility_map import RiskUtilityMap, over_limits
from engine.frontier.summary import losses
from engine.mechanisms import amount
from engine.release.scenarios import RunStatus, Scenario

Row = dict[str, Any]
Table = tuple[list[str], list[Row]]
"""Names of columns in order, the same with and without rows, and the rows; undefined figures are None."""
_UNDEFINED = np.array(None)
NO_CHANGE = "no change"
"""Standing of a scenario that is the original, in place of its dominance."""


def scenario_table(
    view: RiskUtilityMap, max_risk: float | None = None, slope: float | None = None, undominated: bool = False
) -> Table:
    """One row per scenario: raw means with standard errors, its place on the frontier, and whether the rule asked for
    picks it.

    With a bound ``max_risk`` on single runs there is the quantile that it is held against, with the ends of its
    interval; an end that so few runs do not have is undefined.
    """
    bounded = view.offered_risk if max_risk is None else view.bounded_risk
    optimal = _optimal(bounded, view.utility_loss, max_risk, slope)
    summary, dominance, single = view.summary, view.dominance, view.single_runs
    shown = np.flatnonzero(dominance.undominated) if undominated else np.arange(len(view.scenarios))
    listed = [view.scenarios[i] for i in shown.tolist()]
    known = ~np.isnan(summary.loss[:, list(view.objectives)]).any(axis=1)
    standing = np.where(known, np.where(dominance.clear, "clear", "uncertain"), _UNDEFINED)
    columns: Row = _specs(listed, [scenario.label for scenario in listed]) | {
        "replicates": summary.counted[shown],
        "failed": summary.failed[shown],
        "records_changed": summary.changed[shown],
    }
    for k, call in enumerate(view.measures):
        columns |= {str(call): summary.mean[shown, k], f"{call}_se": summary.se[shown, k]}
    if max_risk is not None and single is not None:
        risk = view.measures[view.risk]
        for name, ends in (("quantile", single.quantile), ("quantile_low", single.low), ("quantile_high", single.high)):
            figures = -ends[shown] if risk.measure.better == "higher" else ends[shown]
            columns[f"{risk}_{name}"] = np.where(np.isfinite(figures), figures, np.nan)
    return _table(
        columns
        | {
            "undominated": dominance.undominated[shown],
            "dominance": np.where(view.changes_nothing, NO_CHANGE, standing)[shown],
            "share_undominated": dominance.share[shown],
            "riskier_than_original": view.riskier_than_original[shown],
            "optimal": np.isin(shown, optimal),
        }
    )


def run_table(
    view: RiskUtilityMap, max_risk: float | None = None, slope: float | None = None, undominated: bool = False
) -> Table:
    """One row per run; failed runs keep their figures and are marked, but stand outside the frontier unless allowed."""
    results = view.results
    loss = losses(results.values, [call.measure for call in view.measures])
    loss[~results.counted(view.allow_partial) | results.changes_nothing] = np.nan
    allowed = np.where(over_limits(results.values, view.edit_limits), np.nan, loss[:, view.risk])
    optimal = _optimal(allowed, loss[:, view.utility], max_risk, slope)
    on_frontier = view.realisations_undominated()
    shown = np.flatnonzero(on_frontier) if undominated else np.arange(len(results))
    listed = [view.scenarios[i] for i in results.scenario[shown].tolist()]
    replicates = results.replicate[shown].tolist()
    labels = [f"{scenario.label}/{replicate}" for scenario, replicate in zip(listed, replicates, strict=True)]
    columns: Row = _specs(listed, labels) | {
        "replicate": results.replicate[shown],
        "status": [RunStatus(status).word for status in results.status[shown].tolist()],
        "records_changed": results.changed[shown],
    }
    columns |= {str(call): results.values[shown, k] for k, call in enumerate(view.measures)}
    return _table(columns | {"undominated": on_frontier[shown], "optimal": np.isin(shown, optimal)})


def _specs(scenarios: Sequence[Scenario], labels: list[str]) -> Row:
    specs = [scenario.spec for scenario in scenarios]
    return {
        "id": labels,
        "mechanism": [spec.mechanism for spec in specs],
        "rate": [spec.rate for spec in specs],
        "amount": [str(amount(spec)) for spec in specs],
        "spec": [spec.text for spec in specs],
    }


def _table(columns: Row) -> Table:
    for name, values in columns.items():
        if isinstance(values, np.ndarray):
            is_figure = values.dtype == float
            columns[name] = (np.where(np.isnan(values), _UNDEFINED, values) if is_figure else values).tolist()
    names = list(columns)
    return names, [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _optimal(risk: np.ndarray, loss: np.ndarray, max_risk: float | None, slope: float | None) -> list[int]:
    """Rows that the rule asked for picks; empty without a rule or when nothing satisfies it."""
    if max_risk is not None:
        best = best_under_bound(risk, loss, max_risk)
        return [] if best is None else [best]
    return supporting_line(risk, loss, slope) if slope is not None else []


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
