"""Record a choice: the scenario, the rule that picked it, and the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.common.errors import Remedy, UsageError
from engine.decision.bounds import figure_words, in_words
from engine.decision.gate import ReleasedRun, figure_or_none, gate, released_run
from engine.decision.statements import Statement
from engine.frontier.choosing import FEWEST_RUNS
from engine.frontier.risk_utility_map import RiskUtilityMap, check_realisation, refuse_void
from engine.frontier.summary import summarise
from engine.measures.planned import check_bounded
from engine.release.scenarios import Choice, Results
from engine.study.decision_log import append, check_seal
from engine.study.map_reader import objective_indices, realisation_of, risk_utility_map
from engine.study.study import Study

NAMED_BY_HAND = "named by hand"
"""The rule of a choice that follows none."""


def planned_indices(study: Study, view: RiskUtilityMap) -> list[int]:
    """The scenarios that the plan's rule picks on a map: one, two where a slope is an edge's, none without a rule."""
    return _by_rule(view, *_planned(study))


def _planned(study: Study) -> tuple[float | None, float | None]:
    bound, slope = study.plan.decision.max_risk, study.plan.decision.slope
    return None if bound is None else float(bound), None if slope is None else float(slope)


def _by_rule(view: RiskUtilityMap, max_risk: float | None, slope: float | None) -> list[int]:
    if max_risk is not None:
        check_bounded(view.measures[view.risk], max_risk)
        return [view.under_bound(max_risk)]
    return [] if slope is None else view.by_slope(slope)


def finalists(study: Study, view: RiskUtilityMap) -> list[int]:
    """The scenarios that deserve fresh runs: the frontier of a map, and what was chosen last, which single runs may
    have decided and means leave off the frontier."""
    indices = [int(index) for index in view.frontier()]
    if choices := study.choices.all():
        indices.append(study.find(choices[-1].label)[0].index)
    return list(dict.fromkeys(indices))


@dataclass(frozen=True)
class Pick:
    """The pick of a rule: the scenario's ``index``, the ``replicate`` that is to be released, the ``rule`` in words,
    and the ``bound`` on risk or the ``slope`` where it is one of these."""

    index: int
    replicate: int
    rule: str
    bound: float | None = None
    slope: float | None = None


def pick(
    study: Study,
    view: RiskUtilityMap,
    *,
    candidate: str | None = None,
    max_risk: float | None = None,
    slope: float | None = None,
) -> Pick:
    """Pick a scenario of a map by its id, under a bound on risk or by a slope; if by none, by the rule of the plan.

    The realisation follows the plan's rule.  Raises :class:`UsageError` for more than one rule, or
    none, and where the rule picks no scenario or two.
    """
    if candidate is None and max_risk is None and slope is None:
        max_risk, slope = _planned(study)
    if sum(option is not None for option in (candidate, max_risk, slope)) != 1:
        raise UsageError(
            "choose by exactly one of candidate, max_risk and slope (the plan's rule counts when none is given)",
            Remedy.RULE,
        )
    named_replicate, rule = None, NAMED_BY_HAND
    if candidate is not None:
        scenario, named_replicate = study.find(candidate)
        index = scenario.index
    else:
        index, *others = _by_rule(view, max_risk, slope)
        if others:
            labels = " and ".join(view.scenarios[i].label for i in (index, *others))
            raise UsageError(f"at slope {slope:g} {labels} are equally good; choose one of them", Remedy.CANDIDATE)
        call, single = view.measures[view.risk], view.single_runs
        limit = None if max_risk is None else figure_words(call, max_risk)
        share = None if single is None else single.probability
        rule = in_words("picked", call, view.measures[view.utility], limit, slope, share)
    replicate = realisation_of(
        study, study.runs.of([index]), index, view.risk, bound=max_risk, allow_partial=view.allow_partial
    )
    if named_replicate is not None and named_replicate != replicate:
        raise UsageError(
            f"the plan releases replicate {replicate} of {view.scenarios[index].label}, not {named_replicate}: "
            "choosing among runs by their figures is selection on noise. Leave the replicate out, or fix it in the "
            "plan before the sweep."
        )
    return Pick(index, replicate, rule, max_risk, slope)


def choose(
    study: Study,
    view: RiskUtilityMap,
    why: str,
    *,
    by: str = "",
    others: Sequence[Mapping[str, str]] = (),
    candidate: str | None = None,
    max_risk: float | None = None,
    slope: float | None = None,
) -> Choice:
    """Record the choice of a scenario as :func:`pick` makes it.

    A reason in words is required.  Nothing is recorded on fewer than
    :data:`~engine.frontier.choosing.FEWEST_RUNS` runs: a frontier from few runs is mostly luck.  A reason that says how
    many records are changed is refused.  ``by`` names who recommends; ``others`` are alternatives that were considered
    (``candidate``, ``difference`` and ``why`` not).  The choice is logged too.
    """
    if not why.strip():
        raise UsageError("a decision needs its reason in words", Remedy.REASON)
    picked = pick(study, view, candidate=candidate, max_risk=max_risk, slope=slope)
    index, replicate = picked.index, picked.replicate
    if (counted := int(view.summary.counted[index])) < FEWEST_RUNS:
        raise UsageError(
            f"{view.scenarios[index].label} has {counted} runs that count, and a choice needs at least {FEWEST_RUNS}; "
            f"add {FEWEST_RUNS - counted} to the study",
            Remedy.REPLICATES,
        )
    scenario, summary, runs = view.scenarios[index], view.summary, study.runs.of([index])
    row = check_realisation(runs, index, replicate, scenario.label, view.allow_partial)
    refuse_void(runs, row, scenario.label)
    record: dict[str, Any] = {
        "spec": scenario.spec.text,
        "rate": scenario.spec.rate,
        "risk": str(view.measures[view.risk]),
        "utility": str(view.measures[view.utility]),
        "figures": {
            str(call): {
                "mean": figure_or_none(summary.mean[index, k]),
                "se": figure_or_none(summary.se[index, k]),
                "original": figure_or_none(view.original[k]),
            }
            for k, call in enumerate(view.measures)
        },
        "replicates": int(summary.counted[index]),
        "failed": int(summary.failed[index]),
        "undominated": bool(view.dominance.undominated[index]),
        "clear": bool(view.dominance.clear[index]),
        "share": figure_or_none(view.dominance.share[index]),
        "riskier_than_original": bool(view.riskier_than_original[index]),
        "released": {str(call): figure_or_none(runs.values[row, k]) for k, call in enumerate(view.measures)},
        "fresh": fresh_figures(study, index, view.allow_partial),
        "bound": picked.bound,
        "slope": picked.slope,
        "planned": _follows_the_plan(study, view, index),
    }
    found = gate(study, view, runs, row, record)
    record["run"] = _standing(view, released_run(study, view, runs, row, record))
    for severity in ("obstacle", "caution", "note"):
        record[f"{severity}s"] = [each.stored() for each in found if each.severity == severity]
    record["others"] = [dict(other) for other in others]
    check_seal(study)
    choice = study.choices.record(scenario, replicate, picked.rule, why.strip(), record)
    shown = ("figures", "released", "run", "fresh", "obstacles", "cautions", "others")
    named = {"candidate": choice.label, "replicate": replicate, "rule": picked.rule, "why": choice.why}
    detail = {"choice": len(study.choices.all()), **named, **{name: record[name] for name in shown}}
    append(study, "chosen", detail, by=by.strip())
    return choice


def measures_of(study: Study, choice: Choice | None) -> tuple[str | None, str | None]:
    """The measures of risk and of utility that a choice rests on; None is the plan's own."""
    names = {str(call) for call in study.measures}
    record = choice.record if choice else {}
    risk, utility = (record[kind] if record.get(kind) in names else None for kind in ("risk", "utility"))
    return risk, utility


def _follows_the_plan(study: Study, view: RiskUtilityMap, index: int) -> bool | None:
    """Return whether a scenario is what the plan's rule picks under the plan's measures; None where the plan has no
    rule."""
    if _planned(study) == (None, None):
        return None
    if (view.risk, view.utility) != objective_indices(study):
        return False
    try:
        return index in planned_indices(study, view)
    except UsageError:  # the rule picks nothing
        return False


def fresh_figures(study: Study, index: int, allow_partial: bool = False) -> dict[str, Any] | None:
    """Means and standard errors of a scenario on fresh replicates, by measure; None before it was re-evaluated."""
    runs = study.runs.of([index], "fresh")
    if not len(runs):
        return None
    measures = [call.measure for call in study.measures]
    summary = summarise(replace(runs, scenario=np.zeros(len(runs), np.int64)), measures, 1, allow_partial)
    return {
        str(call): {"mean": figure_or_none(summary.mean[0, k]), "se": figure_or_none(summary.se[0, k])}
        for k, call in enumerate(study.measures)
    }


def gate_now(study: Study, choice: Choice, allow_partial: bool = False) -> list[Statement]:
    """Return the obstacles to releasing a recorded choice and the cautions about it as they are today: fresh replicates
    may have come since, or further runs (:mod:`engine.decision.gate`)."""
    view = risk_utility_map(study, *measures_of(study, choice), allow_partial=allow_partial)
    return gate(study, view, *chosen_run(study, choice), choice.record)


def released_run_now(study: Study, choice: Choice, allow_partial: bool = False) -> ReleasedRun:
    """The standing of the run of a recorded choice today among the runs of its scenario."""
    view = risk_utility_map(study, *measures_of(study, choice), allow_partial=allow_partial)
    return released_run(study, view, *chosen_run(study, choice), choice.record)


def chosen_run(study: Study, choice: Choice) -> tuple[Results, int]:
    """The runs of the scenario of a recorded choice, and the row of the run to be released among them."""
    index = study.find(choice.label)[0].index
    runs = study.runs.of([index])
    return runs, check_realisation(runs, index, choice.replicate, choice.label, allow_partial=True)


def _standing(view: RiskUtilityMap, run: ReleasedRun) -> dict[str, Any]:
    """Return the standing of the run to be released among those of its scenario, for a record; figures are losses."""
    loss = view.measures[view.risk].measure.loss
    figures = {"mean": run.mean} if run.asked is None else {"mean": run.mean, "quantile": run.quantile}
    losses = {name: None if value is None else float(loss(np.array(value))) for name, value in figures.items()}
    share = {"within": run.within, "runs": run.of, "low": run.low, "high": run.high}
    return {"place": run.place, "of": run.of, **losses, **(share if run.within is not None else {})}
