"""Annex B, for the analyst."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import numpy as np

from engine.mechanisms import amount
from engine.release.scenarios import NoteKind, RunStatus
from engine.report.context import report_context
from engine.report.documents import html
from engine.report.extent import extent
from engine.report.unit_counts import units_changed
from engine.study.decision_log import EVENTS, entries
from engine.study.ledger import Ledger, ledger_of, ledger_sentences

if TYPE_CHECKING:
    from engine.study.study import Study
    from engine.sweeps.remake import Remade

_MOST = 200
_GROUPS = 40


def analyst_sections(study: Study, realisation: Remade) -> str:
    """Annex B: names, specs and figures of the candidates, the runs of the chosen one, notes and the log."""
    context, facts = report_context(study, realisation), extent(realisation, study.plan)
    view, axes = context.view, [context.view.risk, context.view.utility]
    summary, results, frontier = view.summary, view.results, view.frontier().tolist()
    households = np.zeros(len(view.scenarios)) if view.households is None else np.nan_to_num(view.households)
    rows = np.flatnonzero(results.scenario == context.scenario.index)[:_MOST].tolist()
    notes = [note for note in study.notes.of(context.scenario.index) if note.kind is not NoteKind.COUNT]
    return html(
        "annex_analyst.html",
        about=study.plan.about,
        context=context,
        spec=realisation.spec,
        amount=str(amount(realisation.spec)),
        status=RunStatus(realisation.status).word,
        changed=int(realisation.changed.sum()),
        units=units_changed(realisation),
        risk=str(view.measures[view.risk]),
        utility=str(view.measures[view.utility]),
        n_frontier=len(frontier),
        frontier=[
            (
                view.scenarios[i],
                float(summary.changed[i]),
                float(households[i]),
                *((float(summary.mean[i, k]), float(summary.se[i, k])) for k in axes),
                bool(view.dominance.clear[i]),
            )
            for i in frontier[:_MOST]
        ],
        runs=[
            (
                int(results.replicate[i]),
                RunStatus(results.status[i]).word,
                int(results.changed[i]),
                *results.values[i, axes].tolist(),
            )
            for i in rows
        ],
        notes=notes[:_MOST],
        begun=time.strftime("%Y-%m-%d", time.gmtime(float(study.about["created"]))),
        came_before=ledger_sentences(ledger_of(study) or Ledger()),
        log=[(entry, EVENTS[entry.event], json.dumps(entry.detail, ensure_ascii=False)) for entry in entries(study)],
        facts=facts,
        min_n=study.plan.tolerances.min_n,
        groups_shown=facts.groups[:_GROUPS],
    )
