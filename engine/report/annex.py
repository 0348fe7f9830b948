"""Annex B, for the analyst."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

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
    from engine.report.context import ReportContext
    from engine.study.study import Study
    from engine.sweeps.remake import Remade

_MOST = 200
_GROUPS = 40


def analyst_sections(study: Study, realisation: Remade) -> str:
    """Annex B: names, specs and figures of the candidates, the runs of the chosen one, notes and the log."""
    context, spec = report_context(study, realisation), realisation.spec
    frontier, facts = context.view.frontier().tolist(), extent(realisation, study.plan)
    names = {
        "about": study.plan.about,
        "candidate": context.scenario,
        "letter": context.letter,
        "spec": spec,
        "amount": str(amount(spec)),
        "choice": context.choice,
        "status": RunStatus(realisation.status).word,
        "changed": int(realisation.changed.sum()),
        "units": units_changed(realisation),
        "changed_in": facts.changed_in,
        "letters": [
            (letter, context.view.scenarios[index])
            for letter, index in {**context.letters, **context.also_within}.items()
        ],
        "risk": str(context.view.measures[context.view.risk]),
        "utility": str(context.view.measures[context.view.utility]),
        "n_frontier": len(frontier),
        "n_candidates": len(context.view.scenarios),
        "frontier": [_candidate(context, index) for index in frontier[:_MOST]],
        "runs": _runs(context),
        "notes": _notes(study, context.scenario.index),
        "begun": time.strftime("%Y-%m-%d", time.gmtime(float(study.about["created"]))),
        "came_before": ledger_sentences(ledger_of(study) or Ledger()),
        "log": _log(study),
        "facts": facts,
        "min_n": study.plan.tolerances.min_n,
        "groups_shown": facts.groups[:_GROUPS],
        "levels": facts.levels,
    }
    return html("annex_analyst.html", **names)


def _candidate(context: ReportContext, index: int) -> tuple[Any, ...]:
    """A candidate of the frontier: its scenario, records changed, households moved (0: none are counted), mean and
    standard error of risk and of utility, and whether it is on the frontier by more than chance explains."""
    summary, households = context.view.summary, context.view.households
    figures = [
        (float(summary.mean[index, k]), float(summary.se[index, k])) for k in (context.view.risk, context.view.utility)
    ]
    return (
        context.view.scenarios[index],
        float(summary.changed[index]),
        0.0 if households is None else float(np.nan_to_num(households[index])),
        *figures,
        bool(context.view.dominance.clear[index]),
    )


def _runs(context: ReportContext) -> list[tuple[Any, ...]]:
    """Replicate, status, records changed, risk and utility of every run of the candidate."""
    results, columns = context.view.results, [context.view.risk, context.view.utility]
    rows = (results.scenario == context.scenario.index).nonzero()[0][:_MOST].tolist()
    return [
        (
            int(results.replicate[i]),
            RunStatus(results.status[i]).word,
            int(results.changed[i]),
            *results.values[i, columns].tolist(),
        )
        for i in rows
    ]


def _notes(study: Study, index: int) -> list[tuple[int, str]]:
    """What measures noted on the runs of a candidate, by replicate."""
    notes = [note for note in study.notes.of(index) if note.kind is not NoteKind.COUNT]
    return [(note.replicate, note.text) for note in notes[:_MOST]]


def _log(study: Study) -> list[tuple[Any, str, str]]:
    """Entries of the decision log, each with its event in words and its detail cut to some 300 letters."""

    rows = []
    for entry in entries(study):
        detail = json.dumps(entry.detail, ensure_ascii=False)
        rows.append((entry, EVENTS[entry.event], detail if len(detail) <= 300 else detail[:297] + "..."))
    return rows
