"""Checks of a remade release: invariants and coherence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.common.wording import listed, plural, upper_first
from engine.data.domain import KINDS
from engine.data.table import occupied
from engine.mechanisms import mechanism
from engine.plan.coding import edit_failures
from engine.plan.households import places_of
from engine.release.records import order_trace
from engine.release.scenarios import RunStatus
from engine.release.spec import pairs_wanted
from engine.report.facts import EDITS, MISFITS, RECODES, ROW_ORDER, Check
from engine.report.places import place_changes
from engine.report.shares import weights_of
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
        return Check(
            name,
            "The order is drawn and checked when the public file is made. A file that keeps anything of the original "
            "order is not written.",
            None,
        )
    if not np.array_equal(np.sort(order), np.arange(n_records)):
        return Check(name, "The rows of the public file are not the records of the original, each once.", False)
    if order_trace(order).is_kept:
        return Check(name, "The rows of the public file keep something of the original order.", False)
    return Check(
        name,
        "The rows of the public file are the same records in another order; neither neighbours nor places show the "
        "original one beyond chance.",
        True,
    )


def _marginals(release: RecordRelease) -> Check:
    data, changed = release.data, []
    for j, attribute in enumerate(data.domain.attributes):
        before = np.bincount(data.codes[j], minlength=attribute.size)
        if any(not np.array_equal(before, np.bincount(t.codes(j), minlength=attribute.size)) for t in release.tables):
            changed.append(attribute.name)
    if changed:
        found = (
            f"The counts of {listed(changed)} differ from the original. Published totals show that the file was "
            "altered; a method that exchanges values between records would keep them."
        )
        return Check("One-way tables kept", found, False)
    return Check("One-way tables kept", f"All {len(data.domain)} one-way tables are the same, count for count.", True)


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
            return Check(
                name, f"{attribute.name} was not to be changed and differs. The file must not be released.", False
            )
    unswapped = [a.name for j, a in enumerate(data.domain.attributes) if j not in may_be_altered]
    renumbered = [c for c in data.raw.names if any(t.is_renumbered(c) for t in release.tables)]
    carried = [c for c in data.carried if c not in renumbered]
    clauses = [
        f"{plural(len(unswapped), 'attribute')} ({listed(unswapped)}) "
        f"{'equals' if len(unswapped) == 1 else 'equal'} the original in every record"
        if unswapped
        else "every attribute was exchanged or changed"
    ]
    if carried:
        clauses.append(
            f"{plural(len(carried), 'further column')} {'stays' if len(carried) == 1 else 'stay'} with their record"
        )
    if renumbered:
        clauses.append(f"the numbers of {listed(renumbered)} were changed by the method")
    return Check(name, upper_first("; ".join(clauses)) + ".", True)


def _blocks(release: RecordRelease) -> Check:
    several = [a for a in release.data.domain.attributes if len(a.columns) > 1]
    if not several:
        return Check("Blocks of columns kept whole", "No attribute stands for more than one column.", None)
    names = listed(f"{a.name} ({', '.join(a.columns)})" for a in several)
    kept_whole = all(
        t.swapped_columns.issuperset(a.columns) or not t.swapped_columns.intersection(a.columns)
        for a in several
        for t in release.tables
    )
    outcome = "move as one" if kept_whole else "were torn apart: they contradict each other in altered records"
    return Check("Blocks of columns kept whole", f"The columns of {names} {outcome}.", kept_whole)


def _recodes(realisation: Remade) -> Check:
    recodes = released_recodes(realisation)
    if not recodes:
        return Check(RECODES, "No released column decides another one in every record.", None)
    broken = [recode for recode in recodes if recode.broken]
    if not broken:
        holds = "its decision holds" if len(recodes) == 1 else "their decisions hold"
        return Check(
            RECODES,
            f"{upper_first(plural(len(recodes), 'pair'))} of columns of which one decides the other: "
            f"{holds} in every released record.",
            True,
        )
    # how many records contradict themselves would tell how many were exchanged
    recode = next((recode for recode in broken if recode.undone), broken[0])
    consequence = (
        f"recomputing {recode.decided} undoes the exchange"
        if recode.undone
        else "this shows which records were altered"
    )
    further = f" So it is with {plural(len(broken) - 1, 'further pair')} of columns." if len(broken) > 1 else ""
    return Check(
        RECODES,
        f"{recode.decider} decides {recode.decided} in every original record, and in the release some records "
        f"contradict themselves: {consequence}, by anybody who has the file. No public bundle can be made of it."
        f"{further}",
        False,
    )


def _misfits(realisation: Remade, plan: Plan) -> list[Check]:
    """The check that fails where columns that stayed tell which records were altered; none where they do not."""
    found = released_misfits(realisation, plan)
    if not found or not found[0].is_telling:
        return []
    best = found[0]
    many = "nearly all altered records. No public bundle can be made of it" if best.undoes else "most altered records"
    return [
        Check(
            MISFITS,
            f"In these {best.attribute} no longer goes with {listed(best.beside)}, which stayed: whoever has the file "
            f"can name {many}.",
            False,
        )
    ]


def _edits(release: RecordRelease, plan: Plan) -> list[Check]:
    data = release.data
    if not plan.edits:
        return [Check(EDITS, "None are declared, so impossible combinations were not looked for.", None)]
    checks_of_rules = []
    attributes = range(len(data.domain))
    before, cell_of_record = occupied(list(data.codes), data.domain.shape, data.n_records)
    counts = np.bincount(cell_of_record, minlength=len(before))
    after = [occupied([t.codes(j) for j in attributes], data.domain.shape, data.n_records) for t in release.tables]
    for rule in plan.edits:
        broken_before = int(counts[edit_failures(before, data.domain, (rule,), before)].sum())
        broken_after = [
            int(np.bincount(inverse, minlength=len(cells))[edit_failures(cells, data.domain, (rule,), before)].sum())
            for cells, inverse in after
        ]
        most_broken = max(broken_after)
        found, holds = (
            f"Broken by {broken_before:,} records before and {most_broken:,} after.",
            most_broken <= broken_before,
        )
        if not holds:
            found += " Such records show that they were altered; `refuse` in the rule prevents it where the method can."
        checks_of_rules.append(Check(f"Edit rule “{rule.name}”", found, holds))
    return checks_of_rules


def new_to_places(realisation: Remade, plan: Plan) -> list[Check]:
    """The check that nobody has a value that nobody in their area had; none where the plan names no places.  Counts
    would tell how many records were exchanged."""
    places, name = places_of(plan), "Values known in their place"
    if not places:
        return []
    areas = place_changes(realisation, places, plan.analyse)[1]
    new = {attribute for row in areas for attribute in row.attributes_new}
    if not new:
        return [Check(name, f"No {places[-1]} holds a value that nobody there had in the original.", True)]
    attributes = listed([attribute for attribute in plan.analyse if attribute in new])
    found = (
        f"Some {places[-1]} gains a value of {attributes} that nobody there had, which tells that the record "
        "came from elsewhere. A remedy exists: an edit rule with `existing` and `refuse`, and a new sweep."
    )
    return [Check(name, found, False)]


def _missing(release: RecordRelease) -> Check:
    """Whether values are missing where they were missing before, count for count by attribute."""
    data, name = release.data, "Missing values"
    is_missing = {j: a.kind_codes == _MISSING for j, a in enumerate(data.domain.attributes)}
    before = {j: int(np.count_nonzero(levels[data.codes[j]])) for j, levels in is_missing.items()}
    incomplete = [j for j, number in before.items() if number]
    if not incomplete:
        return Check(name, "No attribute has a missing value.", True)
    changed = [
        data.domain.names[j]
        for j, levels in is_missing.items()
        if any(int(np.count_nonzero(levels[table.codes(j)])) != before[j] for table in release.tables)
    ]
    if changed:
        return Check(
            name,
            f"The numbers of missing values of {listed(changed)} differ from the original: users cannot rely on them.",
            False,
        )
    return Check(
        name,
        f"As many are missing as before: {listed([f'{before[j]:,} of {data.domain.names[j]}' for j in incomplete[:6]])}"
        + (f", and of {len(incomplete) - 6} further attributes." if len(incomplete) > 6 else "."),
        True,
    )


def _partners(realisation: Remade) -> Check:
    name = "A partner for every record"
    if mechanism(realisation.spec.mechanism).partners_differ:
        _, pairs = pairs_wanted(realisation.spec.rate, realisation.data.n_records)
        missing = 2 * pairs - int(realisation.changed.sum())
        if realisation.status == RunStatus.NOOP:
            return Check(name, "Nothing was to be exchanged: the release is the original.", None)
        if missing == 0:
            return Check(name, "Every record drawn for an exchange found a partner; none was left without.", True)
        return Check(
            name,
            f"{missing:,} records could not be exchanged as planned: less is protected. A lower rate can mend it.",
            False,
        )
    if realisation.status in (RunStatus.FAILED, RunStatus.PARTIAL):
        return Check(name, "Some records found no partner and stayed as they were: less is protected.", False)
    if not mechanism(realisation.spec.mechanism).exchanges:
        return Check(name, "The method pairs no records.", None)
    return Check(name, "The method reported none without a partner.", True)


def _totals(release: RecordRelease) -> Check:
    data = release.data
    weights = weights_of(release.original)
    name = "Calibration totals"
    if weights is None:
        return Check(name, "There are no weights, so there are no weighted totals to keep.", None)
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
        return Check(name, "All weighted totals of attribute levels are kept, and so is the sum of weights.", True)
    size = f"{100 * largest:.2g} %" if np.isfinite(largest) else "from nothing"
    return Check(
        name,
        "Weights stay with their records and their sum is kept; weighted totals of exchanged attributes move, "
        f"most for {level_name} ({size}). Weights that are calibrated anew can mend it.",
        False,
    )
