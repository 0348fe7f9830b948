"""The decision to release nothing, for the board: exposure of the data as they are, candidates considered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.report.context import candidate_words
from engine.report.redaction import Safe
from engine.report.sentences import headline
from engine.report.words import plural

if TYPE_CHECKING:
    from engine.frontier.risk_utility_map import RiskUtilityMap
    from engine.study.study import Study


def reason(study: Study, why: str) -> str:
    """The reason given, without what identifies a run."""
    return Safe.of(study, {})(why)


def considered(study: Study, view: RiskUtilityMap) -> list[str]:
    """What the decision rests on, in sentences: figures of the original only, candidates by what they do.

    ``view`` is the map under the plan's measures.  No rate, run or id is in them.
    """
    known = np.isfinite(view.risk_loss) & np.isfinite(view.utility_loss)
    said = [
        headline(study, view, None),
        f"{plural(len(view.scenarios), 'candidate')} were run, of which {int(view.dominance.undominated.sum()):,} are"
        " on the frontier: no other one is both safer and more useful.",
    ]
    bound = study.plan.decision.max_risk
    if bound is not None:
        loss = -float(bound) if view.measures[view.risk].measure.better == "higher" else float(bound)
        within = int(np.count_nonzero(view.risk_loss[known] <= loss))
        said.append(f"Within the plan's bound on risk {'is' if within == 1 else 'are'} {within or 'none'} of them.")
    if riskier := int(view.riskier_than_original.sum()):
        said.append(f"{plural(riskier, 'candidate')} would on average have been riskier than the data as they are.")
    on = view.frontier().tolist()
    extents = sorted({rate for rate in study.plan.space.rates if rate}, key=float)
    for name, place in (("safest", on[:1]), ("most useful", on[-1:])):
        said += [f"The {name} of the frontier {candidate_words(view.scenarios[i].spec, extents)}." for i in place]
    return said
