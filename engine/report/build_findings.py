"""Build findings from a study and a remade release."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from engine.common import __version__
from engine.decision.bounds import in_words
from engine.decision.states import meant_run
from engine.measures.planned import sensitive
from engine.mechanisms import mechanism
from engine.models.record_release import RecordRelease, numeric_columns
from engine.plan.differences import departures
from engine.release.records import ReleasedTable
from engine.report.audit import checks
from engine.report.context import ReportContext, measure_rows, recommendation, report_context, the_map
from engine.report.detected import detected_once, suspected
from engine.report.exposed import discarded, exposure
from engine.report.extent import extent
from engine.report.facts import Approved, AttributeRow, Certificate, Cover, Design, Publish, Threat
from engine.report.findings import FORMAT, Findings
from engine.report.log import change_text, history, late_words, ledger_facts
from engine.report.losses import utility
from engine.report.other_keys import all_but_one, altered_in, key_set, unswapped_keys, with_left, worst_few
from engine.report.parameters import ROLE_WORDS, SWAP_TITLE, coding_words, file_names, parameters
from engine.report.public_wording import claims
from engine.report.recognised_facts import KeySet, Recognised
from engine.report.sheet_counts import sheet
from engine.report.side_by_side import side_by_side
from engine.study.decision_log import entries
from engine.study.ledger import bound_origin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.plan import Plan
    from engine.study.study import Study
    from engine.sweeps.remake import Remade

_CLOSE = 1e-9


def findings(study: Study, realisation: Remade, order: np.ndarray | None = None) -> Findings:
    """The findings on a remade release of a study.

    ``realisation`` is the one to be released, as :func:`engine.report.describe.remade` gives it; its scenario must be
    one of the study's.  ``order`` is that of the rows of the public file, where it is made together with the report.
    """
    context, plan = report_context(study, realisation), study.plan
    redact, publish = context.redact, plan.publish
    release = RecordRelease(ReleasedTable(realisation.data), realisation.tables, plan, realisation.spec)
    fewest = int(context.view.measures[context.view.risk].values.get("n_rule", 3))
    coefficient_runs, analysis_runs = side_by_side(context, release)
    losses = utility(release, plan)
    return Findings(
        format=FORMAT,
        cover=_cover(context),
        design=_design(context, realisation),
        threat=Threat(
            keys=plan.keys,
            intruder=redact(plan.threat.intruder),
            public_files=redact.all(file_names(plan)),
            harm=redact(plan.threat.harm),
        ),
        approved=_approved(context),
        recommendation=recommendation(context),
        measures=measure_rows(context, realisation),
        exposure=exposure(release, plan, fewest),
        utility=replace(losses, coefficient_runs=coefficient_runs, analysis_runs=analysis_runs),
        map=the_map(context),
        checks=checks(realisation, release, plan, order),
        publish=Publish(
            title=publish.title,
            wording=redact(publish.wording),
            extent=publish.rate_range if publish.rate_policy == "range" else "",
            include=publish.include,
        ),
        certificate=_certificate(context, realisation),
        recognised=recognised(release, realisation, plan, fewest),
        sheet=sheet(context, realisation, release, losses.figures),
        claims=claims(release, plan, losses.associations, float(realisation.changed.mean())),
        extent=extent(realisation, plan),
    )


def recognised(release: RecordRelease, realisation: Remade, plan: Plan, fewest: int) -> Recognised:
    """What an intruder would recognise in a release; a cell of fewer than ``fewest`` records is small."""
    table, altered = realisation.data.table, altered_in(release)
    found, unswapped = detected_once(realisation, plan), unswapped_keys(table, plan.keys, altered, fewest)

    def counted(sets: Sequence[KeySet]) -> tuple[KeySet, ...]:
        return with_left(release, sets, plan.keys, fewest)

    return Recognised(
        fewest=fewest,
        nothing_done=counted([key_set(table, plan.keys, altered, fewest)])[0],
        unswapped=unswapped and counted([unswapped])[0],
        few_keys=counted(worst_few(release, plan.keys, fewest)),
        published=plan.threat.published_tables,
        rare=found.finds_rare,
        rare_of=found.of,
        all_but_one=counted(all_but_one(table, plan.keys, altered, fewest)),
        sensitive=sensitive(plan),
        discarded=discarded(release, plan, fewest, suspected(realisation, plan)),
    )


def _cover(context: ReportContext) -> Cover:
    about, status, redact = context.study.plan.about, context.status, context.redact
    has_decision = context.choice is not None or status.state == "withheld"
    state = status.state if has_decision else "none"
    # the board's decision that the state rests on, and its day
    event = {"approved": "approved", "released": "approved", "returned": "returned"}.get(state)
    decided = [entry.at[:10] for entry in entries(context.study) if entry.event == event]
    return Cover(
        classification=about.classification,
        title=context.study.plan.publish.title,
        survey=about.survey,
        vintage=about.vintage,
        sponsor=about.sponsor,
        contact=about.contact,
        authority=about.authority,
        release_type=about.release_type,
        changes=redact(about.changes),
        overlaps=redact(about.overlaps),
        state=state,
        recommended=time.strftime("%Y-%m-%d", time.gmtime(context.choice.at)) if context.choice else "",
        number=status.number if has_decision else "",
        conditions=redact(status.conditions) if has_decision else "",
        decided=decided[-1] if decided else "",
    )


def _design(context: ReportContext, realisation: Remade) -> Design:
    plan, data, spec = context.study.plan, realisation.data, realisation.spec
    planned = {attribute.name: attribute for attribute in plan.attributes}
    rows = []
    for j, attribute in enumerate(data.domain.attributes):
        as_original = all(np.array_equal(data.codes[j], table.codes(j)) for table in realisation.tables)
        role = "not changed" if as_original else "changed by the method"
        # several columns have no label of their own, and one that holds the name says no more
        label = data.raw.about(attribute.columns[0]).label if len(attribute.columns) == 1 else ""
        says_name = len(attribute.name) > 2 and attribute.name.casefold() in re.findall(r"\w+", label.casefold())
        rows.append(
            AttributeRow(
                name=attribute.name,
                columns=attribute.columns,
                levels=attribute.size,
                coding=coding_words(planned[attribute.name], attribute.levels),
                key=attribute.name in plan.keys,
                analysed=attribute.name in plan.analyse,
                role=ROLE_WORDS[spec.attributes.roles[j]] if spec.by_roles else role,
                label="" if says_name else label,
            )
        )
    return Design(
        n_records=data.n_records,
        attributes=tuple(rows),
        carried=data.carried,
        dropped=len(data.dropped),
        numeric=numeric_columns(plan, data),
        design=context.redact(plan.about.design),
        geography=plan.about.geography,
        method=SWAP_TITLE if spec.by_roles else mechanism(spec.mechanism).title,
        swap=spec.by_roles,
        tables=len(realisation.tables),
        n_units=0 if data.units is None else len(data.units),
    )


def _approved(context: ReportContext) -> Approved:
    plan, view, late = context.study.plan, context.view, late_words(context, of_plan=True)
    risk, utility_measure = view.measures[view.risk], view.measures[view.utility]
    rule = in_words("rule", plan, risk, utility_measure, late)
    sentences = [change_text(each.entry, each.words, context.redact) for each in departures(plan).values()]
    is_off_rule = context.choice is not None and context.choice.record.get("planned") is False
    if plan.lock and is_off_rule:
        sentences.append("The selection rule: the recommended candidate is not the one that it picks.")
    return Approved(
        number=plan.lock.number if plan.lock else "",
        at=plan.lock.at[:10] if plan.lock else "",
        by=context.redact(plan.lock.by) if plan.lock else "",
        rule=f"{rule}; it does not pick the recommended candidate" if is_off_rule else rule,
        parameters=parameters(plan, risk, utility_measure, f"{len(view.scenarios):,}", late),
        departures=tuple(sentences),
        log=history(context.study, context.redact, context),
        run_rule=in_words("released_run", plan, None if context.choice is None else context.bound is not None),
        ledger=ledger_facts(context.study, context.redact),
        limit_origin="" if context.bound is None else bound_origin(context.study, context.bound),
    )


def _certificate(context: ReportContext, realisation: Remade) -> Certificate:
    view, index = context.view, context.scenario.index
    meant = meant_run(context.study, index, view.risk, runs=view.results, allow_partial=view.allow_partial)
    stored = view.results.values[(view.results.scenario == index) & (view.results.replicate == meant)]
    remade = np.array([realisation.figures[str(call)] for call in view.measures])
    close = (np.abs(stored - remade) <= _CLOSE * np.maximum(1, np.abs(stored))) | (np.isnan(stored) & np.isnan(remade))
    return Certificate(len(remade), int(close.sum()), __version__)  # one run at most
