"""Count the extent of the change in one release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.decision.gate import altered_groups, altered_share, group_caution
from engine.decision.statements import words
from engine.mechanisms import amount, mechanism
from engine.models.record_release import RecordRelease, numeric_columns
from engine.plan.households import places_of
from engine.release.records import ReleasedTable
from engine.report.detected import release_verdict
from engine.report.extent_facts import ChangedRow, Extent
from engine.report.places import place_changes
from engine.report.unit_counts import units_changed

if TYPE_CHECKING:
    from engine.plan import Plan
    from engine.sweeps.remake import Remade

_MOST_GROUPS = 2000


def extent(realisation: Remade, plan: Plan) -> Extent:
    """Return the extent of the change in one realisation of a plan."""
    data, n = realisation.data, realisation.data.n_records
    original, spec = ReleasedTable(data), realisation.spec
    release = RecordRelease(original, realisation.tables, plan, spec)
    min_n = plan.tolerances.min_n
    groups = altered_groups(realisation, min_n)
    caution, places = group_caution(groups, altered_share(realisation), min_n), places_of(plan)
    changed = [release.changed(table, range(len(data.domain))).sum() for table in realisation.tables]
    return Extent(
        mechanism="Random swap" if spec.by_roles else mechanism(spec.mechanism).title,
        spec=spec.text,
        amount=mechanism(spec.mechanism).rate,
        asked=spec.rate,
        asked_amount=str(amount(spec)),
        records=int(realisation.changed.sum()),
        share=int(realisation.changed.sum()) / n,
        tables=len(realisation.tables),
        per_table=float(np.mean(changed)),
        attributes=tuple(_changed_rows(realisation, plan, original)),
        groups=groups[:_MOST_GROUPS],
        caution=words(caution) if caution else "",
        units=units_changed(realisation),
        levels=place_changes(realisation, places, plan.analyse)[0] if places else (),
        verdict=release_verdict(realisation, plan),
    )


def _changed_rows(realisation: Remade, plan: Plan, original: ReleasedTable) -> list[ChangedRow]:
    """Attributes and numeric columns with the records whose value is another one, on average over tables."""
    data, rows = realisation.data, []
    for j, name in enumerate(data.domain.names):
        changed = float(np.mean([np.count_nonzero(t.codes(j) != data.codes[j]) for t in realisation.tables]))
        rows.append(ChangedRow(name, round(changed), changed / data.n_records))
    for column in numeric_columns(plan, data):
        before = original.numeric(column)
        counts = [np.count_nonzero((t.numeric(column) != before) & ~np.isnan(before)) for t in realisation.tables]
        rows.append(ChangedRow(column, round(float(np.mean(counts))), float(np.mean(counts)) / data.n_records))
    return rows
