"""Annex B, for the analyst."""

from __future__ import annotations

import json
import time
from functools import partial
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
    view, index = context.view, context.scenario.index
    return html(
        "annex_analyst.html",
        plan=study.plan,
        context=context,
        view=view,
        spec=realisation.spec,
        amount=str(amount(realisation.spec)),
        word=lambda status: RunStatus(status).word,
        status=realisation.status,
        changed=int(realisation.changed.sum()),
        units=units_changed(realisation),
        frontier=view.frontier().tolist(),
        households=np.zeros(len(view.scenarios)) if view.households is None else np.nan_to_num(view.households),
        rows=np.flatnonzero(view.results.scenario == index).tolist(),
        notes=[note for note in study.notes.of(index) if note.kind is not NoteKind.COUNT],
        most=_MOST,
        begun=time.strftime("%Y-%m-%d", time.gmtime(float(study.about["created"]))),
        came_before=ledger_sentences(ledger_of(study) or Ledger()),
        log=entries(study),
        events=EVENTS,
        as_json=partial(json.dumps, ensure_ascii=False),
        facts=facts,
        most_groups=_GROUPS,
    )
