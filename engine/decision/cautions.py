"""Cautions about a recorded choice: one value each, and its words for the analyst.

The members of a board read them in other words, without figures: :mod:`engine.report.decision_history`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from engine.decision.slope import BeatenByOriginal, beaten_by_original, beaten_text, slope_of
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.release.results import Results, RunStatus
from engine.release.scenarios import SweepState
from engine.study.map_reader import objective_indices
from engine.study.study import Study


class CautionKind(StrEnum):
    """What a caution is about."""

    RISK_UNDEFINED = "risk undefined"
    RISKIER_THAN_ORIGINAL = "riskier than the original"
    BEATEN_BY_ORIGINAL = "beaten by the original"
    OFF_PLAN = "off the plan's rule"
    CHANGES_NOTHING = "changes nothing"
    PARTIAL_RUN = "partial run"
    ABOVE_PLANNED_BOUND = "mean above the plan's bound"
    RUN_ABOVE_BOUND = "run above the bound"
    NEAR_BOUND = "mean near the bound"
    FRESH_ABOVE_BOUND = "fresh mean above the bound"
    NOT_RECHECKED = "not run on fresh replicates"
    SWEEP_UNFINISHED = "sweep unfinished"


@dataclass(frozen=True)
class Caution:
    """One caution with its figures; a field that its kind does not need is empty.

    ``measure`` is the title of the risk measure within a sentence, ``reason`` why its figure is undefined, ``value``
    that figure (of the run to be released, else a mean), ``bound`` what it is held against.  ``changed`` records were
    swapped in a partial run; a sweep in the state ``sweep`` has ``done`` of ``total`` runs.
    """

    kind: CautionKind
    measure: str = ""
    reason: str = ""
    value: float = np.nan
    bound: float = np.nan
    changed: int = 0
    sweep: SweepState | None = None
    done: int = 0
    total: int = 0
    beaten: BeatenByOriginal | None = None


_TEXTS = {
    CautionKind.RISK_UNDEFINED: "its {measure} is undefined ({reason}), so it takes no part in the frontier",
    CautionKind.RISKIER_THAN_ORIGINAL: "its mean risk is above that of releasing the data unchanged",
    CautionKind.OFF_PLAN: "it is not the one that the plan's rule picks",
    CautionKind.CHANGES_NOTHING: "it changes nothing: the release is the original",
    CautionKind.PARTIAL_RUN: "the run to be released is partial: {changed:,} records were swapped, then none could",
    CautionKind.ABOVE_PLANNED_BOUND: "its mean {measure}, {value:.5g}, is above the plan's bound {bound:g}",
    CautionKind.RUN_ABOVE_BOUND: "the run to be released has a {measure} of {value:.5g}, above the bound {bound:g}: the"
    " bound is on the mean",
    CautionKind.NEAR_BOUND: "its mean {measure}, {value:.5g}, is within two standard errors of the bound {bound:g}",
    CautionKind.FRESH_ABOVE_BOUND: "on fresh replicates its mean {measure} is {value:.5g}, above the bound {bound:g}",
    CautionKind.NOT_RECHECKED: "its figures are those that led to the choice; it has not been run again on fresh"
    " replicates",
    CautionKind.SWEEP_UNFINISHED: "the sweep is {sweep}: {done:,} of {total:,} runs so far",
}


def caution_text(caution: Caution) -> str:
    """A caution for the analyst, in one sentence with its figures.  Studies store it in this form."""
    return beaten_text(caution.beaten) if caution.beaten else _TEXTS[caution.kind].format(**vars(caution))


def cautions(
    study: Study, view: RiskUtilityMap, index: int, released: Results, record: Mapping[str, Any]
) -> list[Caution]:
    """What a board should know about a choice before it relies on it; ``released`` is the run to be released."""
    measure = view.measures[view.risk].measure
    title, mean = measure.title.lower(), float(view.summary.mean[index, view.risk])
    collected = []
    if np.isnan(mean):
        collected.append(Caution(CautionKind.RISK_UNDEFINED, title, reason=measure.undefined))
    elif view.riskier_than_original[index]:
        collected.append(Caution(CautionKind.RISKIER_THAN_ORIGINAL))
    slope = slope_of(study, record)
    if slope is not None and (beaten := beaten_by_original(view, index, slope)):
        collected.append(Caution(CautionKind.BEATEN_BY_ORIGINAL, beaten=beaten))
    if record.get("planned") is False:
        collected.append(Caution(CautionKind.OFF_PLAN))
    if released.status[0] == RunStatus.NOOP:
        collected.append(Caution(CautionKind.CHANGES_NOTHING))
    if released.status[0] == RunStatus.FAILED:
        collected.append(Caution(CautionKind.PARTIAL_RUN, changed=int(released.changed[0])))
    collected += _bound_cautions(study, view, index, released, record)
    if record["fresh"] is None:
        collected.append(Caution(CautionKind.NOT_RECHECKED))
    progress = study.progress
    if progress.state != "finished":
        collected.append(
            Caution(CautionKind.SWEEP_UNFINISHED, sweep=progress.state, done=progress.done, total=progress.total)
        )
    return collected


def _bound_cautions(
    study: Study, view: RiskUtilityMap, index: int, released: Results, record: Mapping[str, Any]
) -> list[Caution]:
    """Where the risk stands against the plan's bound and the choice's own."""
    risk = view.measures[view.risk]
    title, collected = risk.measure.title.lower(), []
    mean, se = float(view.summary.mean[index, view.risk]), float(view.summary.se[index, view.risk])
    released_risk, bound, fresh = float(released.values[0, view.risk]), record["bound"], record["fresh"]
    planned_bound = study.plan.decision.max_risk
    uses_own_bound = (
        planned_bound is not None and bound != float(planned_bound) and view.risk == objective_indices(study)[0]
    )
    if (
        planned_bound is not None and uses_own_bound and mean > float(planned_bound)
    ):  # one's own bound does not undo the plan's
        collected.append(Caution(CautionKind.ABOVE_PLANNED_BOUND, title, value=mean, bound=float(planned_bound)))
    if bound is None:
        return collected
    if released_risk > bound:
        collected.append(Caution(CautionKind.RUN_ABOVE_BOUND, title, value=released_risk, bound=bound))
    if mean + 2 * se > bound:
        collected.append(Caution(CautionKind.NEAR_BOUND, title, value=mean, bound=bound))
    if fresh and (fresh_mean := fresh[str(risk)]["mean"] or 0) > bound:
        collected.append(Caution(CautionKind.FRESH_ABOVE_BOUND, title, value=fresh_mean, bound=bound))
    return collected
