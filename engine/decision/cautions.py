"""Cautions about a recorded choice: one value each, and its words for the analyst.

The members of a board read them in other words, without figures: :mod:`engine.report.decision_history`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from engine.decision.bound_words import with_share
from engine.decision.release_check import counted_losses, percent, share_words
from engine.decision.slope import BeatenByOriginal, beaten_by_original, beaten_text, slope_of
from engine.frontier.chance import ShareWithin, share_within
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.frontier.summary import believed_errors
from engine.release.results import Results, RunStatus
from engine.release.scenarios import SweepState
from engine.study.map_reader import risk_bound
from engine.study.study import Study

FAR_ABOVE_RATE = 2.0
"""Times the share of altered records of all from which on that of a group is far above it."""


class CautionKind(StrEnum):
    """The subject of a caution."""

    RISK_UNDEFINED = "risk undefined"
    RISKIER_THAN_ORIGINAL = "riskier than the original"
    BEATEN_BY_ORIGINAL = "beaten by the original"
    OFF_PLAN = "off the plan's rule"
    CHANGES_NOTHING = "changes nothing"
    PARTIAL_RUN = "partial run"
    NEAR_BOUND = "mean near the bound"
    NOISE_UNKNOWN = "too few runs to say how near the bound"
    UNSETTLED = "share of runs within the bound unsettled"
    NOT_RECHECKED = "not run on fresh replicates"
    SWEEP_UNFINISHED = "sweep unfinished"
    UNEVEN_GROUPS = "altered share of a group far above that of all"


@dataclass(frozen=True)
class Caution:
    """One caution with its figures; a field that its kind does not need is empty.

    ``measure`` is the title of the risk measure within a sentence, ``reason`` why its figure is undefined, ``value``
    its mean, ``bound`` what it is held against, both a share of ``share_of`` where they are shares. The ``share`` of
    runs within the bound is held against ``probability``. ``changed`` records were swapped in a partial run; a mean
    rests on ``runs`` runs; a sweep in the state ``sweep`` has ``done`` of ``total`` runs.
    ``group`` carries ``value`` times the share of altered records that all carry.
    """

    kind: CautionKind
    measure: str = ""
    reason: str = ""
    value: float = np.nan
    bound: float = np.nan
    share_of: str = ""
    share: ShareWithin | None = None
    probability: Fraction | None = None
    changed: int = 0
    runs: int = 0
    sweep: SweepState | None = None
    done: int = 0
    total: int = 0
    group: str = "one group"
    beaten: BeatenByOriginal | None = None


_TEXTS = {
    CautionKind.RISK_UNDEFINED: "its {measure} is undefined ({reason}), so it takes no part in the frontier",
    CautionKind.RISKIER_THAN_ORIGINAL: "its mean risk is above that of releasing the data unchanged",
    CautionKind.OFF_PLAN: "it is not the one that the plan's rule picks",
    CautionKind.CHANGES_NOTHING: "it changes nothing: the release is the original",
    CautionKind.PARTIAL_RUN: "the run to be released is partial: {changed:,} records were swapped, then none could",
    CautionKind.NEAR_BOUND: "its mean {measure}, {value:.5g}, is within two standard errors of the bound {most}",
    CautionKind.NOISE_UNKNOWN: "its mean {measure}, {value:.5g}, rests on {runs} runs, too few to say how near the"
    " bound {most} it is",
    CautionKind.UNSETTLED: "{within} meet the bound {most}, which does not settle whether {asked} of all runs do",
    CautionKind.NOT_RECHECKED: "its figures are those that led to the choice; it has not been run again on fresh"
    " replicates",
    CautionKind.SWEEP_UNFINISHED: "the sweep is {sweep}: {done:,} of {total:,} runs so far",
    CautionKind.UNEVEN_GROUPS: "{group} carries much of the change: the share of altered records is {value:.2g} times"
    " that of all records",
}


def caution_text(caution: Caution) -> str:
    """A caution for the analyst, in one sentence with its figures.  Studies store it in this form."""
    if caution.beaten:
        return beaten_text(caution.beaten)
    within = "" if caution.share is None else share_words(caution.share)
    asked = "" if caution.probability is None else percent(caution.probability)
    most = with_share(caution.bound, caution.share_of)
    return _TEXTS[caution.kind].format(**vars(caution), within=within, asked=asked, most=most)


def cautions(
    study: Study, view: RiskUtilityMap, index: int, released: Results, record: Mapping[str, Any]
) -> list[Caution]:
    """All that a board should know about a choice before it relies on it; ``released`` is the run to be released."""
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
    collected += _bound_cautions(study, view, index, record)
    for k, call in enumerate(view.measures):  # without the records no group has a name
        if call.measure.name == "altered_share_max" and (share := float(view.summary.mean[index, k])) > FAR_ABOVE_RATE:
            collected.append(Caution(CautionKind.UNEVEN_GROUPS, value=share))
    if record["fresh"] is None:
        collected.append(Caution(CautionKind.NOT_RECHECKED))
    progress = study.progress
    if progress.state != "finished":
        collected.append(
            Caution(CautionKind.SWEEP_UNFINISHED, sweep=progress.state, done=progress.done, total=progress.total)
        )
    return collected


def _bound_cautions(study: Study, view: RiskUtilityMap, index: int, record: Mapping[str, Any]) -> list[Caution]:
    """Cautions where a bound is not met for certain: by a mean far from it, or by enough runs of the sweep.  Fresh runs
    that leave it open are an obstacle."""
    bound, probability = risk_bound(study, view.risk, record["bound"]), study.plan.decision.run_share
    if bound is None:
        return []
    measure = view.measures[view.risk].measure
    about = partial(Caution, measure=measure.title.lower(), bound=bound, share_of=measure.share_of)
    if probability is None:
        mean, se = float(view.risk_loss[index]), float(view.summary.se[index, view.risk])
        runs = int(view.summary.counted[index])
        if mean <= bound and np.isinf(believed_errors(np.array([se]), np.array([runs]))[0]):
            return [about(CautionKind.NOISE_UNKNOWN, value=mean, runs=runs)]
        near = mean <= bound < mean + 2 * se
        return [about(CautionKind.NEAR_BOUND, value=mean)] if near else []
    sweep_runs, fresh = (counted_losses(view, study.runs.of([index], table)) for table in ("realisation", "fresh"))
    share = share_within(sweep_runs, bound)
    if len(fresh) or share.settled(probability):  # a share that is refuted is an obstacle
        return []
    return [about(CautionKind.UNSETTLED, share=share, probability=probability)]
