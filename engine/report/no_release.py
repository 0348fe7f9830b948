"""The decision to release nothing, for the board: exposure of the data as they are, candidates considered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.report.context import candidate_words
from engine.report.redaction import Redactor
from engine.report.sentences import headline
from engine.report.template_reader import texts

if TYPE_CHECKING:
    from engine.frontier.risk_utility_map import RiskUtilityMap
    from engine.study.study import Study


def reason(study: Study, why: str) -> str:
    """The reason given, without what identifies a run."""
    return Redactor.of(study, {})(why)


def considered(study: Study, view: RiskUtilityMap) -> list[str]:
    """What the decision rests on, in sentences: figures of the original only, candidates by what they do.

    ``view`` is the map under the plan's measures.  No rate, run or id is in them.
    """
    bound, within = study.plan.decision.max_risk, None
    if bound is not None:
        loss = -float(bound) if view.measures[view.risk].measure.better == "higher" else float(bound)
        within = int(np.count_nonzero(view.meets(loss) & np.isfinite(view.utility_loss)))
    frontier = view.frontier().tolist()
    extents = sorted({rate for rate in study.plan.space.rates if rate}, key=float)
    names = {
        "headline": headline(study, view, None),
        "n_candidates": len(view.scenarios),
        "n_frontier": int(view.dominance.undominated.sum()),
        "n_within": within,
        "n_riskier": int(view.riskier_than_original.sum()),
        "ends": [
            (end, candidate_words(view.scenarios[index].spec, extents))
            for end, indices in (("safest", frontier[:1]), ("most useful", frontier[-1:]))
            for index in indices
        ],
    }
    return texts("no_release.txt", names)
