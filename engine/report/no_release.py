"""The decision to release nothing, for the board: exposure of the data as they are, candidates considered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import UsageError
from engine.decision.statements import Statement, statement
from engine.decision.states import decision_status
from engine.plan.types import unstated
from engine.report.context import candidate_words, extents_tried
from engine.report.decision_pages import BANNER
from engine.report.documents import html
from engine.report.log import earlier_studies, history, ledger_facts, ledger_summary
from engine.report.parameters import parameters
from engine.report.redaction import Redactor
from engine.report.sentences import headline

if TYPE_CHECKING:
    from engine.frontier.risk_utility_map import RiskUtilityMap
    from engine.study.study import Study


def no_release_memo(study: Study, view: RiskUtilityMap) -> str:
    """The memo of a decision to release nothing, with the first page in the form of every memo.

    ``view`` is the map under the plan's measures.  Raises :class:`UsageError` where something else was decided.
    """
    status, plan = decision_status(study), study.plan
    if status.state != "withheld":
        raise UsageError(
            "this memo is of a decision to release nothing, and none is recorded; the memo of a release is in the "
            "board's bundle"
        )
    redact, risk, utility = Redactor({}, study.measures), view.measures[view.risk], view.measures[view.utility]
    ledger = ledger_facts(study, redact)
    return html(
        "no_release_memo.html",
        plan=plan,
        about=plan.about,
        BANNER=BANNER,
        status=status,
        why=redact(status.why),
        came_before=[*ledger_summary(ledger), *earlier_studies(ledger)],
        considered=considered(study, view) if len(view.results) else [],
        log=history(study, redact),
        parameters=parameters(plan, risk, utility, f"{len(view.scenarios):,}"),
        unstated=unstated(plan),
    )


def considered(study: Study, view: RiskUtilityMap) -> list[Statement]:
    """What the decision rests on: figures of the original only, candidates by what they do.

    ``view`` is the map under the plan's measures.  No rate, run or id is in them.
    """
    n, limit, frontier = len(view.scenarios), study.plan.decision.max_risk, view.frontier().tolist()
    told = [headline(study, view, None), statement("candidates_run", n=n, frontier=len(frontier))]
    if limit is not None:
        within = int(np.count_nonzero(view.meets(float(limit)) & np.isfinite(view.utility_loss)))
        told.append(statement("within_limit", n=within))
    if riskier := int(view.riskier_than_original.sum()):
        told.append(statement("riskier_than_original", n=riskier))
    for end, indices in (("safest", frontier[:1]), ("most useful", frontier[-1:])):
        for spec in (view.scenarios[index].spec for index in indices):
            candidate = candidate_words(spec, extents_tried(study, spec))
            told.append(statement("frontier_end", end=end, candidate=candidate))
    return told
