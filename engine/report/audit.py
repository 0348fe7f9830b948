"""Checks of a remade release: invariants and coherence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.data.domain import KINDS
from engine.data.table import occupied
from engine.decision.statements import Statement, statement
from engine.mechanisms import mechanism
from engine.plan.coding import edit_failures
from engine.plan.households import places_of
from engine.release.records import order_trace
from engine.release.scenarios import RunStatus
from engine.release.spec import pairs_wanted
from engine.report.facts import EDITS, MISFITS, RECODES, ROW_ORDER, Check
from engine.report.losses import weights_of
from engine.report.other_keys import altered_in
from engine.report.places import place_changes
from engine.sweeps.reader_attacks import released_misfits, released_recodes

if TYPE_CHECKING:
    from engine.models.record_release import RecordRelease
    from engine.plan import Plan
    from engine.sweeps.remake import Remade

Found = tuple[Statement, bool | None]
"""What was found, and whether the check holds (None: it does not apply)."""
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
        Check("One-way tables kept", *_marginals(release)),
        Check("Other attributes kept", *_unswapped(realisation, release)),
        Check("Blocks of columns kept whole", *_blocks(release)),
        Check(RECODES, *_recodes(realisation)),
        *_misfits(realisation, plan),
        *_edits(release, plan),
        *new_to_places(realisation, plan),
        Check("Missing values", *_missing(release)),
        Check("A partner for every record", *_partners(realisation)),
        Check("Calibration totals", *_totals(release)),
        Check(ROW_ORDER, *_row_order(order, release.data.n_records)),
    )


def _row_order(order: np.ndarray | None, n_records: int) -> Found:
    if order is None:
        return statement("row_order", found="later"), None
    if not np.array_equal(np.sort(order), np.arange(n_records)):
        return statement("row_order", found="other records"), False
    kept = order_trace(order).is_kept
    return statement("row_order", found="kept" if kept else "random"), not kept


def _codes(release: RecordRelease, j: int) -> list[np.ndarray]:
    """The codes of an attribute in the original, and in every released table."""
    return [release.data.codes[j], *(table.codes(j) for table in release.tables)]


def _marginals(release: RecordRelease) -> Found:
    domain = release.data.domain
    changed = []
    for j, attribute in enumerate(domain.attributes):
        before, *after = (np.bincount(codes, minlength=attribute.size) for codes in _codes(release, j))
        if any(not np.array_equal(before, other) for other in after):
            changed.append(attribute.name)
    return statement("one_way_tables", n=len(domain), changed=tuple(changed)), not changed


def _unswapped(realisation: Remade, release: RecordRelease) -> Found:
    data, spec = release.data, realisation.spec
    altered = altered_in(release)
    # what another method changes follows from its parameters; what it did change is looked at
    may_be_altered = spec.attributes.names_having("S") if spec.by_roles else altered
    for name in altered:
        if name not in may_be_altered:
            return statement("not_to_change", attribute=name), False
    kept = tuple(name for name in data.domain.names if name not in may_be_altered)
    renumbered = tuple(c for c in data.raw.names if any(t.is_renumbered(c) for t in release.tables))
    carried = sum(c not in renumbered for c in data.carried)
    return statement("others_kept", kept=kept, carried=carried, renumbered=renumbered), True


def _blocks(release: RecordRelease) -> Found:
    several = [a for a in release.data.domain.attributes if len(a.columns) > 1]
    if not several:
        return statement("no_blocks"), None
    names = tuple(f"{a.name} ({', '.join(a.columns)})" for a in several)
    whole = all(
        t.swapped_columns.issuperset(a.columns) or t.swapped_columns.isdisjoint(a.columns)
        for a in several
        for t in release.tables
    )
    return statement("blocks", names=names, whole=whole), whole


def _recodes(realisation: Remade) -> Found:
    recodes = released_recodes(realisation)
    if not recodes:
        return statement("no_recodes"), None
    broken = [recode for recode in recodes if recode.broken]
    if not broken:
        return statement("recodes_kept", pairs=len(recodes)), True
    # how many records contradict themselves would tell how many were exchanged
    recode = next((recode for recode in broken if recode.undone), broken[0])
    pair = {"decider": recode.decider, "decided": recode.decided}
    return statement("recode_broken", **pair, undone=bool(recode.undone), more=len(broken) - 1), False


def _misfits(realisation: Remade, plan: Plan) -> list[Check]:
    """The check that fails where columns that stayed tell which records were altered; none where they do not."""
    misfits = released_misfits(realisation, plan)
    if not misfits or not misfits[0].is_telling:
        return []
    best = misfits[0]
    found = statement("misfit", attribute=best.attribute, beside=tuple(best.beside), undoes=bool(best.undoes))
    return [Check(MISFITS, found, False)]


def _edits(release: RecordRelease, plan: Plan) -> list[Check]:
    if not plan.edits:
        return [Check(EDITS, statement("no_edits"), None)]
    data, rows = release.data, []
    tables = zip(*(_codes(release, j) for j in range(len(data.domain))), strict=True)
    occupied_cells = [occupied(list(codes), data.domain.shape, data.n_records) for codes in tables]
    original = occupied_cells[0][0]
    for rule in plan.edits:
        before, *after = (
            int(edit_failures(cells, data.domain, (rule,), original)[inverse].sum())
            for cells, inverse in occupied_cells
        )
        found = statement("edits_broken", before=before, after=max(after))
        rows.append(Check(f"Edit rule “{rule.name}”", found, max(after) <= before))
    return rows


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


def _missing(release: RecordRelease) -> Found:
    """Whether values are missing where they were missing before, count for count by attribute."""
    before, changed = dict[str, int](), []
    for j, attribute in enumerate(release.data.domain.attributes):
        is_missing = attribute.kind_codes == _MISSING
        n, *after = (int(np.count_nonzero(is_missing[codes])) for codes in _codes(release, j))
        if n:
            before[attribute.name] = n
        if any(n != other for other in after):
            changed.append(attribute.name)
    if not before:
        return statement("none_missing"), True
    if changed:
        return statement("missing_changed", attributes=tuple(changed)), False
    counts = tuple(f"{n:,} of {name}" for name, n in before.items())
    return statement("missing_kept", counts=counts[:6], more=max(0, len(counts) - 6)), True


def _partners(realisation: Remade) -> Found:
    method, status = mechanism(realisation.spec.mechanism), realisation.status
    if method.partners_differ:
        _, pairs = pairs_wanted(realisation.spec.rate, realisation.data.n_records)
        missing = 2 * pairs - int(realisation.tables[0].as_drawn.changed.sum())
        if missing and status != RunStatus.NOOP:
            return statement("without_partner", n=missing), False
        found = "nothing to exchange" if status == RunStatus.NOOP else "all"
    elif status in (RunStatus.FAILED, RunStatus.PARTIAL):
        found = "not all"
    else:
        found = "none reported" if method.exchanges else "no pairs"
    return statement("partners", found=found), {"all": True, "none reported": True, "not all": False}.get(found)


def _totals(release: RecordRelease) -> Found:
    data, weights = release.data, weights_of(release.original)
    if weights is None:
        return statement("no_weights"), None
    largest, level_name = 0.0, ""
    for j, attribute in enumerate(data.domain.attributes):
        before, *tables = (np.bincount(codes, weights, attribute.size) for codes in _codes(release, j))
        for after in tables:
            change = np.abs(after - before)
            share = np.divide(change, before, out=np.where(change > 0, np.inf, 0.0), where=before > 0)
            level = int(share.argmax())
            if share[level] > largest:
                largest, level_name = float(share[level]), f"{attribute.name}: {attribute.levels[level]}"
    if largest <= _SAME:
        return statement("totals_kept"), True
    return statement("totals_moved", level=level_name, change=largest if np.isfinite(largest) else None), False
