"""The run to be released, its place among its siblings, and what stands against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.decision import gate
from engine.decision.statements import Statement, statement
from engine.frontier.choosing import run_quantiles, share_within
from engine.frontier.risk_utility_map import check_realisation
from engine.report.losses import optional
from engine.report.map_facts import ReleasedRun
from engine.report.redaction import title_of, unit_of
from engine.study.decision_log import entries
from engine.study.map_reader import risk_bound

if TYPE_CHECKING:
    from engine.frontier.risk_utility_map import RiskUtilityMap
    from engine.release.scenarios import Choice, Results
    from engine.report.context import ReportContext
    from engine.study.study import Study


def run_facts(context: ReportContext, choice: Choice) -> ReleasedRun:
    """Where the run to be released stands, in figures."""
    return standing(context.study, context.view, choice, context.results)


def standing(study: Study, view: RiskUtilityMap, choice: Choice, results: Results) -> ReleasedRun:
    """Where the run to be released stands; eq. 6 is shown as a count of records (``results``), its place is by the
    share."""
    index, k = study.find(choice.label)[0].index, view.risk
    runs, asked = study.runs.of([index]), study.plan.decision.run_share
    row = check_realisation(runs, index, choice.replicate, choice.label, allow_partial=True)
    bound = risk_bound(study, k, choice.record.get("bound"))
    run = gate.released_run(view, runs, row, bound=bound, probability=asked)
    call, share = view.measures[k], run.share
    mine = (view.results.scenario == index) & view.results.counted(view.allow_partial)
    losses = np.asarray(call.measure.loss(results.values[mine, k]), float)
    released = losses[view.results.replicate[mine] == choice.replicate]
    quantile = np.nan
    if asked is not None:
        quantile = float(run_quantiles(losses, np.zeros(len(losses), np.int64), 1, asked).quantile[0])
    sign = -1 if call.measure.better == "higher" else 1
    figures = (released[0] if len(released) else np.nan, losses.mean() if len(losses) else np.nan, quantile)
    shown = [optional(float(sign * value)) for value in figures]
    again = gate.counted_losses(view, study.runs.of([index], "fresh"))
    fresh = share_within(again, bound) if bound is not None and len(again) else None
    return ReleasedRun(
        place=run.place,
        of=run.of,
        title=title_of(call),
        unit=unit_of(call),
        released=shown[0],
        mean=shown[1],
        quantile=shown[2],
        asked=None if asked is None else float(asked),
        within=None if share is None else share.within,
        low=None if share is None else share.low,
        high=None if share is None else share.high,
        fresh=None if fresh is None else fresh.runs,
        fresh_within=None if fresh is None else fresh.within,
        fresh_low=None if fresh is None else fresh.low,
        fresh_high=None if fresh is None else fresh.high,
        as_safe=run.as_safe,
    )


def among_siblings(run: ReleasedRun) -> list[Statement]:
    """Return the place of the run to be released, and its figure beside that of all runs."""
    found = [statement("run_place", place=run.place, of=run.of, as_safe=run.as_safe or 1)]
    if run.released is not None and run.mean is not None:
        figures = {"value": run.released, "mean": run.mean, "quantile": run.quantile, "asked": run.asked}
        found.append(statement("run_and_mean", measure=run.title, **figures))
    return found


def despite_words(context: ReportContext) -> str:
    """The reason for which the recommendation was submitted despite obstacles; empty where it was not."""
    reason = ""
    for entry in entries(context.study):
        if entry.event == "chosen":
            reason = ""
        elif entry.event == "submitted":
            reason = str(entry.detail.get("despite", ""))
    return context.redact(reason)
