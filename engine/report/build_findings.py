"""Build findings from a study and a remade release."""

from __future__ import annotations

import platform
import re
import time
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import numpy as np

from engine.common import __version__
from engine.decision.states import STATES, State, meant_run
from engine.measures.planned import sensitive
from engine.mechanisms import mechanism
from engine.models.record_release import RecordRelease, numeric_columns
from engine.plan.differences import departures
from engine.release.records import ReleasedTable
from engine.report.audit import checks
from engine.report.context import ReportContext, measure_rows, recommendation, report_context, the_map
from engine.report.describe import occupancy
from engine.report.detected import detected_once, suspected
from engine.report.exposed import discarded, exposure
from engine.report.extent import extent
from engine.report.facts import (
    Approved,
    AttributeRow,
    Certificate,
    Cover,
    Design,
    Publish,
    Threat,
)
from engine.report.findings import FORMAT, Findings
from engine.report.log import change_text, history, late_words, ledger_facts
from engine.report.losses import utility
from engine.report.other_keys import all_but_one, altered_in, key_set, unswapped_keys, with_left, worst_few
from engine.report.parameters import (
    ROLE_WORDS,
    SWAP_TITLE,
    coding_words,
    file_names,
    parameters,
    rule_words,
    run_words,
)
from engine.report.public_wording import claims
from engine.report.recognised_facts import KeySet, Recognised
from engine.report.sheet_counts import sheet
from engine.report.side_by_side import side_by_side
from engine.study.decision_log import entries
from engine.study.ledger import bound_origin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.data.domain import Attribute
    from engine.data.microdata import RawTable
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
    release = RecordRelease(ReleasedTable(realisation.data), realisation.tables, plan, realisation.spec)
    risk = context.view.measures[context.view.risk]
    fewest = int(risk.values.get("n_rule", 3))
    coefficient_runs, analysis_runs = side_by_side(context, release)
    losses = utility(release, plan)
    return Findings(
        format=FORMAT,
        cover=_cover(context),
        design=_design(context, realisation),
        threat=_threat(context, realisation),
        approved=_approved(context),
        recommendation=recommendation(context),
        measures=measure_rows(context, realisation),
        exposure=exposure(release, plan, fewest),
        utility=replace(losses, coefficient_runs=coefficient_runs, analysis_runs=analysis_runs),
        map=the_map(context),
        checks=checks(realisation, release, plan, order),
        publish=_publish(context),
        certificate=_certificate(context, realisation),
        recognised=recognised(release, realisation, plan, fewest),
        sheet=sheet(context, realisation, release, losses.figures),
        claims=claims(release, plan, losses.associations, float(realisation.changed.mean())),
        extent=extent(realisation, plan),
    )


def recognised(release: RecordRelease, realisation: Remade, plan: Plan, fewest: int) -> Recognised:
    """What an intruder would recognise in a release; a cell of fewer than ``fewest`` records is small."""
    table, altered = realisation.data.table, altered_in(release)
    found = detected_once(realisation, plan)

    def counted(sets: Sequence[KeySet]) -> tuple[KeySet, ...]:
        return with_left(release, sets, plan.keys, fewest)

    unswapped = unswapped_keys(table, plan.keys, altered, fewest)
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
    about, publish, redact = context.study.plan.about, context.study.plan.publish, context.redact
    has_decision = context.choice is not None or context.status.state == "withheld"
    state = context.status.state if has_decision else "none"

    return Cover(
        classification=about.classification,
        title=publish.title,
        survey=about.survey,
        vintage=about.vintage,
        sponsor=about.sponsor,
        contact=about.contact,
        authority=about.authority,
        release_type=about.release_type,
        changes=redact(about.changes),
        overlaps=redact(about.overlaps),
        state=state,
        state_words=STATES[state],
        recommended=_day(context.choice.at) if context.choice else "",
        number=context.status.number if has_decision else "",
        conditions=redact(context.status.conditions) if has_decision else "",
        decided=_decided(context, state) if has_decision else "",
    )


def _decided(context: ReportContext, state: State) -> str:
    """The day of the board's decision that ``state`` rests on; empty where it rests on none."""
    event = {"approved": "approved", "released": "approved", "returned": "returned"}.get(state)
    at = [entry.at for entry in entries(context.study) if entry.event == event]
    return at[-1][:10] if at else ""


def _day(time_stamp: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(time_stamp))


def _label(raw: RawTable, attribute: Attribute) -> str:
    """The label of an attribute's one column; empty where it has several or none, or where its name is a word of it."""
    label = raw.about(attribute.columns[0]).label if len(attribute.columns) == 1 else ""
    is_word = len(attribute.name) > 2 and attribute.name.casefold() in re.findall(r"\w+", label.casefold())
    return "" if is_word else label


def _design(context: ReportContext, realisation: Remade) -> Design:
    plan, data, spec = context.study.plan, realisation.data, realisation.spec
    planned = {attribute.name: attribute for attribute in plan.attributes}
    swap = spec.by_roles
    rows = []
    for j, attribute in enumerate(data.domain.attributes):
        role = spec.attributes.roles[j]
        as_original = all(np.array_equal(data.codes[j], table.codes(j)) for table in realisation.tables)
        role_text = ROLE_WORDS[role] if swap else ("not changed" if as_original else "changed by the method")
        rows.append(
            AttributeRow(
                name=attribute.name,
                columns=attribute.columns,
                levels=attribute.size,
                coding=coding_words(planned[attribute.name], attribute.levels),
                key=attribute.name in plan.keys,
                analysed=attribute.name in plan.analyse,
                role=role_text,
                label=_label(data.raw, attribute),
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
        method=SWAP_TITLE if swap else mechanism(spec.mechanism).title,
        swap=swap,
        tables=len(realisation.tables),
        n_units=0 if data.units is None else len(data.units),
    )


def _threat(context: ReportContext, realisation: Remade) -> Threat:
    plan = context.study.plan
    keys_table = occupancy(realisation.data.table, plan.keys)
    return Threat(
        keys=plan.keys,
        intruder=context.redact(plan.threat.intruder),
        public_files=context.redact.all(file_names(plan)),
        harm=context.redact(plan.threat.harm),
        combinations=keys_table.combinations,
        cells=keys_table.cells,
        ones=keys_table.ones,
        twos=keys_table.twos,
    )


def _approved(context: ReportContext) -> Approved:
    plan = context.study.plan
    sentences = [
        change_text(departure.entry, departure.words, context.redact) for departure in departures(plan).values()
    ]
    if plan.lock and context.is_off_rule:
        sentences.append("The selection rule: the recommended candidate is not the one that it picks.")
    return Approved(
        number=plan.lock.number if plan.lock else "",
        at=plan.lock.at[:10] if plan.lock else "",
        rule=_rule(context),
        parameters=_parameters(context),
        departures=tuple(sentences),
        log=history(context.study, context.redact, context),
        run_rule=run_words(plan, bounded=None if context.choice is None else context.bound is not None),
        ledger=ledger_facts(context.study, context.redact),
        limit_origin="" if context.bound is None else bound_origin(context.study, context.bound),
    )


def _rule(context: ReportContext) -> str:
    risk, utility = (context.view.measures[k] for k in (context.view.risk, context.view.utility))
    words = rule_words(context.study.plan, risk, utility, late_words(context, of_plan=True))
    return f"{words}; it does not pick the recommended candidate" if context.is_off_rule else words


def _parameters(context: ReportContext) -> tuple[tuple[str, str], ...]:
    view = context.view
    candidates = f"{len(view.scenarios):,}"
    return parameters(
        context.study.plan,
        view.measures[view.risk],
        view.measures[view.utility],
        candidates,
        late_words(context, of_plan=True),
    )


def _publish(context: ReportContext) -> Publish:
    plan = context.study.plan
    return Publish(
        title=plan.publish.title,
        wording=context.redact(plan.publish.wording),
        extent=plan.publish.rate_range if plan.publish.rate_policy == "range" else "",
        include=plan.publish.include,
    )


def _certificate(context: ReportContext, realisation: Remade) -> Certificate:
    results, index = context.view.results, context.scenario.index
    meant = meant_run(context.study, index, context.view.risk, runs=results, allow_partial=context.view.allow_partial)
    stored = results.values[(results.scenario == index) & (results.replicate == meant)]
    remade = np.array([realisation.figures[str(call)] for call in context.view.measures])
    close = (np.abs(stored - remade) <= _CLOSE * np.maximum(1, np.abs(stored))) | (np.isnan(stored) & np.isnan(remade))
    equal = int(close.sum())  # one run at most
    versions = [("Python", platform.python_version())]
    for name in ("numpy", "pyarrow", "numba"):
        try:
            versions.append((name, version(name)))
        except PackageNotFoundError:
            versions.append((name, "absent"))
    about = context.study.about
    return Certificate(len(remade), equal, __version__, int(about.get("stream_version", 0)), tuple(versions))
