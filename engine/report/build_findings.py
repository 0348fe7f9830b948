"""Build findings from a study and a remade release."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from engine.report.audit import checks
from engine.report.change_log import CHANGE_TEXTS, LOG_TEXTS
from engine.report.context import Stand, measure_rows, stand, the_map
from engine.report.decision_history import late_words, recommendation
from engine.report.exposed import exposure
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
from engine.report.parameters import ROLE_WORDS, SWAP_TITLE, coding_words, file_names, parameters, rule_words
from engine.report.redaction import Safe, upper_first
from engine.report.utility import utility

if TYPE_CHECKING:
    from engine.study.decision_log import Entry
    from engine.study.study import Study
    from engine.sweeps.remake import Remade

_CLOSE = 1e-9
_LOGGED = {*LOG_TEXTS, *CHANGE_TEXTS}
_ENTRIES = {
    "space.rates": "the swap rates",
    "space.specs": "the list of candidates",
    "space.swap_sizes": "the numbers of attributes exchanged together",
    "space.all_specs": "whether all candidates are considered",
    "mechanisms": "the methods and their settings",
    "space.replicates": "the number of runs",
    "decision.realisation": "which run is released",
}
"""Entries of a plan whose values a member may not see, in words."""


def findings(study: Study, made: Remade) -> Findings:
    """The findings on a remade release of a study.

    ``made`` is the realisation to be released, as :func:`engine.report.describe.remade` gives it; its scenario must be
    one of the study's.
    """
    from engine.models.record_release import RecordRelease
    from engine.release.records import ReleasedTable

    at, plan = stand(study, made), study.plan
    release = RecordRelease(ReleasedTable(made.data), made.tables, plan, made.spec)
    risk = at.view.measures[at.view.risk]
    fewest = int(risk.values.get("n_rule", 3))
    exposed = exposure(release, plan, fewest, at.exposed)
    return Findings(
        format=FORMAT,
        cover=_cover(at),
        design=_design(at, made),
        threat=_threat(at, made),
        approved=_approved(at),
        recommendation=recommendation(at),
        measures=measure_rows(at, made),
        exposure=exposed,
        utility=utility(release, plan, fewest),
        map=the_map(at, made),
        checks=checks(made, release, plan),
        publish=_publish(at),
        certificate=_certificate(at, made),
    )


def _cover(at: Stand) -> Cover:
    about, publish, safe = at.study.plan.about, at.study.plan.publish, at.safe
    mine = at.choice is not None or at.status.state == "withheld"
    state = at.status.state if mine else "none"
    from engine.decision.states import STATES

    return Cover(
        classification=about.classification,
        title=publish.title,
        survey=about.survey,
        vintage=about.vintage,
        sponsor=about.sponsor,
        contact=about.contact,
        authority=about.authority,
        release_type=about.release_type,
        changes=safe(about.changes),
        overlaps=safe(about.overlaps),
        state=state,
        state_words=STATES[state],
        recommended=_day(at.choice.at) if at.choice else "",
        number=at.status.number if mine else "",
        conditions=safe(at.status.conditions) if mine else "",
    )


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at))


def _design(at: Stand, made: Remade) -> Design:
    import numpy as np

    from engine.mechanisms import mechanism
    from engine.models.columns import numeric_columns

    plan, data, spec = at.study.plan, made.data, made.spec
    parts = {part.name: part for part in plan.attributes}
    swap = spec.by_roles
    rows = []
    for j, attribute in enumerate(data.domain.attributes):
        role = spec.attributes.roles[j]
        same = all(np.array_equal(data.codes[j], table.codes(j)) for table in made.tables)
        words = ROLE_WORDS[role] if swap else ("not changed" if same else "changed by the method")
        rows.append(
            AttributeRow(
                name=attribute.name,
                columns=attribute.columns,
                levels=attribute.size,
                coding=coding_words(parts[attribute.name], attribute.levels),
                key=attribute.name in plan.keys,
                analysed=attribute.name in plan.analyse,
                role=words,
            )
        )
    return Design(
        n_records=data.n_records,
        attributes=tuple(rows),
        carried=data.carried,
        dropped=len(data.dropped),
        has_weight=data.weight is not None,
        has_id=data.id is not None,
        numeric=numeric_columns(plan, data),
        design=at.safe(plan.about.design),
        geography=plan.about.geography,
        method=SWAP_TITLE if swap else mechanism(spec.mechanism).title,
        swap=swap,
        tables=len(made.tables),
    )


def _threat(at: Stand, made: Remade) -> Threat:
    from engine.report.describe import occupancy

    plan = at.study.plan
    found = occupancy(made.data.table, plan.keys)
    return Threat(
        keys=plan.keys,
        intruder=at.safe(plan.threat.intruder),
        public_files=at.safe.all(file_names(plan)),
        harm=at.safe(plan.threat.harm),
        combinations=found.combinations,
        cells=found.cells,
        ones=found.ones,
        twos=found.twos,
    )


def _approved(at: Stand) -> Approved:
    from engine.plan.lock import departures

    plan = at.study.plan
    said = [change_text(departure.entry, departure.words, at.safe) for departure in departures(plan).values()]
    if plan.lock and at.is_off_rule:
        said.append("The selection rule: the recommended candidate is not the one that it picks.")
    return Approved(
        number=plan.lock.number if plan.lock else "",
        at=plan.lock.at[:10] if plan.lock else "",
        rule=_rule(at),
        parameters=_parameters(at),
        departures=tuple(said),
        changes=_changes(at),
    )


def change_text(entry: str, words: str, safe: Safe) -> str:
    """A change of the plan as a sentence, without values that a member may not see; ``entry`` may be empty."""
    for name, without_values in _ENTRIES.items():
        if entry == name or entry.startswith(name + "."):
            return f"Different: {without_values}"
    title = entry.replace(".", " ").replace("_", " ")
    return upper_first(safe(f"{title}: {words}" if title else words))


def _changes(at: Stand) -> tuple[tuple[str, str], ...]:
    from engine.study.decision_log import entries

    return tuple((entry.at[:10], _entry_text(entry, at.safe)) for entry in entries(at.study) if entry.event in _LOGGED)


def _entry_text(entry: Entry, safe: Safe) -> str:
    """An entry of the decision log as a member may read it."""
    begin = CHANGE_TEXTS.get(entry.event)
    if begin is None:
        return LOG_TEXTS[entry.event]
    what = "; ".join(change_text(change.entry, change.words, safe).rstrip(".") for change in entry.changes)
    why = safe(str(entry.detail.get("why", "")))
    return f"{begin}: {what}." + (f" Reason given: {why}" if why else "")


def _rule(at: Stand) -> str:
    risk, utility = (at.view.measures[k] for k in (at.view.risk, at.view.utility))
    words = rule_words(at.study.plan, risk, utility, late_words(at))
    return f"{words}; it does not pick the recommended candidate" if at.is_off_rule else words


def _parameters(at: Stand) -> tuple[tuple[str, str], ...]:
    view = at.view
    candidates = f"{len(view.scenarios):,}"
    return parameters(at.study.plan, view.measures[view.risk], view.measures[view.utility], candidates, late_words(at))


def _publish(at: Stand) -> Publish:
    plan = at.study.plan
    return Publish(
        title=plan.publish.title,
        wording=at.safe(plan.publish.wording),
        extent=plan.publish.rate_range if plan.publish.rate_policy == "range" else "",
        include=plan.publish.include,
    )


def _certificate(at: Stand, made: Remade) -> Certificate:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    import numpy as np

    from engine.common.version import __version__
    from engine.study.study_map import realisation_of

    results, place = at.view.results, at.scenario.index
    recorded = at.choice.replicate if at.choice else realisation_of(at.study, results, place, at.view.allow_partial)
    mine = results.values[(results.scenario == place) & (results.replicate == recorded)]
    got = np.array([made.figures[str(call)] for call in at.view.measures])
    close = (np.abs(mine - got) <= _CLOSE * np.maximum(1, np.abs(mine))) | (np.isnan(mine) & np.isnan(got))
    equal = int(close.sum())  # one run at most
    parts = [("Python", platform.python_version())]
    for name in ("numpy", "pyarrow", "numba"):
        try:
            parts.append((name, version(name)))
        except PackageNotFoundError:
            parts.append((name, "absent"))
    about = at.study.about
    return Certificate(len(got), equal, __version__, int(about.get("stream_version", 0)), tuple(parts))
