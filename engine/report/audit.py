"""Checks of a remade release: invariants and coherence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.data.domain import KINDS
from engine.data.table import occupied
from engine.decision.statements import statement
from engine.mechanisms import mechanism
from engine.plan.coding import edit_failures
from engine.plan.households import places_of
from engine.release.records import order_trace
from engine.release.scenarios import RunStatus
from engine.release.spec import pairs_wanted
from engine.report.facts import EDITS, MISFITS, RECODES, ROW_ORDER, Check
from engine.report.losses import weights_of
from engine.report.places import place_changes
from engine.sweeps.reader_attacks import released_misfits, released_recodes

if TYPE_CHECKING:
    from engine.models.record_release import RecordRelease
    from engine.plan import Plan
    from engine.sweeps.remake import Remade

_MISSING = KINDS.index("missing")
_SAME = 1e-9  # weighted totals are sums of many numbers in another order


def checks(
    realisation: Remade, release: RecordRelease, plan: Plan, order: np.ndarray | None = None
) -> tuple[Check, ...]:
    """All checks, each looked at on the records themselves.

    ``order`` holds the original record that stands in each row of the public file; None where that file is not made
    together with the report.
    """
    return (
        _marginals(release),
        _unswapped(realisation, release),
        _blocks(release),
        _recodes(realisation),
        *_misfits(realisation, plan),
        *_edits(release, plan),
        *new_to_places(realisation, plan),
        _missing(release),
        _partners(realisation),
        _totals(release),
        _row_order(order, release.data.n_records),
    )


def _row_order(order: np.ndarray | None, n_records: int) -> Check:
    name = ROW_ORDER
    if order is None:
        return Check(name, statement("row_order", found="later"), None)
    if not np.array_equal(np.sort(order), np.arange(n_records)):
        return Check(name, statement("row_order", found="other records"), False)
    kept = order_trace(order).is_kept
    return Check(name, statement("row_order", found="kept" if kept else "random"), not kept)


def _marginals(release: RecordRelease) -> Check:
    data, changed = release.data, []
    for j, attribute in enumerate(data.domain.attributes):
        before = np.bincount(data.codes[j], minlength=attribute.size)
        if any(not np.array_equal(before, np.bincount(t.codes(j), minlength=attribute.size)) for t in release.tables):
            changed.append(attribute.name)
    found = statement("one_way_tables", n=len(data.domain), changed=tuple(changed))
    return Check("One-way tables kept", found, not changed)


def _unswapped(realisation: Remade, release: RecordRelease) -> Check:
    data = release.data
    name = "Other attributes kept"
    swap = realisation.spec.by_roles
    altered = [
        j for j in range(len(data.domain)) if not all(np.array_equal(data.codes[j], t.codes(j)) for t in release.tables)
    ]
    # what another method changes follows from its parameters; what it did change is looked at
    may_be_altered = set(realisation.spec.attributes.having("S") if swap else altered)
    for j, attribute in enumerate(data.domain.attributes):
        if j not in may_be_altered and j in altered:
            return Check(name, statement("not_to_change", attribute=attribute.name), False)
    kept = tuple(a.name for j, a in enumerate(data.domain.attributes) if j not in may_be_altered)
    renumbered = tuple(c for c in data.raw.names if any(t.is_renumbered(c) for t in release.tables))
    carried = sum(c not in renumbered for c in data.carried)
    return Check(name, statement("others_kept", kept=kept, carried=carried, renumbered=renumbered), True)


def _blocks(release: RecordRelease) -> Check:
    several = [a for a in release.data.domain.attributes if len(a.columns) > 1]
    if not several:
        return Check("Blocks of columns kept whole", statement("no_blocks"), None)
    names = tuple(f"{a.name} ({', '.join(a.columns)})" for a in several)
    kept_whole = all(
        t.swapped_columns.issuperset(a.columns) or not t.swapped_columns.intersection(a.columns)
        for a in several
        for t in release.tables
    )
    return Check("Blocks of columns kept whole", statement("blocks", names=names, whole=kept_whole), kept_whole)


def _recodes(realisation: Remade) -> Check:
    recodes = released_recodes(realisation)
    if not recodes:
        return Check(RECODES, statement("no_recodes"), None)
    broken = [recode for recode in recodes if recode.broken]
    if not broken:
        return Check(RECODES, statement("recodes_kept", pairs=len(recodes)), True)
    # how many records contradict themselves would tell how many were exchanged
    recode = next((recode for recode in broken if recode.undone), broken[0])
    pair = {"decider": recode.decider, "decided": recode.decided}
    found = statement("recode_broken", **pair, undone=bool(recode.undone), more=len(broken) - 1)
    return Check(RECODES, found, False)


def _misfits(realisation: Remade, plan: Plan) -> list[Check]:
    """The check that fails where columns that stayed tell which records were altered; none where they do not."""
    misfits = released_misfits(realisation, plan)
    if not misfits or not misfits[0].is_telling:
        return []
    best = misfits[0]
    found = statement("misfit", attribute=best.attribute, beside=tuple(best.beside), undoes=bool(best.undoes))
    return [Check(MISFITS, found, False)]


def _edits(release: RecordRelease, plan: Plan) -> list[Check]:
    data = release.data
    if not plan.edits:
        return [Check(EDITS, statement("no_edits"), None)]
    checks_of_rules = []
    attributes = range(len(data.domain))
    before, cell_of_record = occupied(list(data.codes), data.domain.shape, data.n_records)
    counts = np.bincount(cell_of_record, minlength=len(before))
    after = [occupied([t.codes(j) for j in attributes], data.domain.shape, data.n_records) for t in release.tables]
    for rule in plan.edits:
        broken_before = int(counts[edit_failures(before, data.domain, (rule,), before)[:, 0]].sum())
        broken_after = [
            int(edit_failures(cells, data.domain, (rule,), before)[inverse].sum()) for cells, inverse in after
        ]
        most_broken = max(broken_after)
        found = statement("edits_broken", before=broken_before, after=most_broken)
        holds = most_broken <= broken_before
        checks_of_rules.append(Check(f"Edit rule “{rule.name}”", found, holds))
    return checks_of_rules


def new_to_places(realisation: Remade, plan: Plan) -> list[Check]:
    """The check that nobody has a value that nobody in their area had; none where the plan names no places."""
    places, name = places_of(plan), "Values known in their place"
    if not places:
        return []
    levels, areas = place_changes(realisation, places, plan.analyse)
    new = {attribute for row in areas for attribute in row.attributes_new}
    attributes = tuple(attribute for attribute in plan.analyse if attribute in new)
    n = levels[-1].areas_new
    return [Check(name, statement("new_to_place", areas=n, place=places[-1], attributes=attributes), not new)]


def _missing(release: RecordRelease) -> Check:
    """Whether values are missing where they were missing before, count for count by attribute."""
    data, name = release.data, "Missing values"
    is_missing = {j: a.kind_codes == _MISSING for j, a in enumerate(data.domain.attributes)}
    before = {j: int(np.count_nonzero(levels[data.codes[j]])) for j, levels in is_missing.items()}
    incomplete = [j for j, number in before.items() if number]
    if not incomplete:
        return Check(name, statement("none_missing"), True)
    changed = [
        data.domain.names[j]
        for j, levels in is_missing.items()
        if any(int(np.count_nonzero(levels[table.codes(j)])) != before[j] for table in release.tables)
    ]
    if changed:
        return Check(name, statement("missing_changed", attributes=tuple(changed)), False)
    counts = tuple(f"{before[j]:,} of {data.domain.names[j]}" for j in incomplete[:6])
    return Check(name, statement("missing_kept", counts=counts, more=len(incomplete) - len(counts)), True)


def _partners(realisation: Remade) -> Check:
    name = "A partner for every record"
    if mechanism(realisation.spec.mechanism).partners_differ:
        _, pairs = pairs_wanted(realisation.spec.rate, realisation.data.n_records)
        missing = 2 * pairs - int(realisation.changed.sum())
        if realisation.status == RunStatus.NOOP:
            return Check(name, statement("partners", found="nothing to exchange"), None)
        if missing == 0:
            return Check(name, statement("partners", found="all"), True)
        return Check(name, statement("without_partner", n=missing), False)
    if realisation.status in (RunStatus.FAILED, RunStatus.PARTIAL):
        return Check(name, statement("partners", found="not all"), False)
    if not mechanism(realisation.spec.mechanism).exchanges:
        return Check(name, statement("partners", found="no pairs"), None)
    return Check(name, statement("partners", found="none reported"), True)


def _totals(release: RecordRelease) -> Check:
    data = release.data
    weights = weights_of(release.original)
    name = "Calibration totals"
    if weights is None:
        return Check(name, statement("no_weights"), None)
    largest, level_name = 0.0, ""
    for j, attribute in enumerate(data.domain.attributes):
        before = np.bincount(data.codes[j], weights, attribute.size)
        for table in release.tables:
            change = np.abs(np.bincount(table.codes(j), weights, attribute.size) - before)
            share = np.divide(change, before, out=np.where(change > 0, np.inf, 0.0), where=before > 0)
            level = int(share.argmax())
            if share[level] > largest:
                largest, level_name = float(share[level]), f"{attribute.name}: {attribute.levels[level]}"
    if largest <= _SAME:
        return Check(name, statement("totals_kept"), True)
    change = largest if np.isfinite(largest) else None
    return Check(name, statement("totals_moved", level=level_name, change=change), False)
