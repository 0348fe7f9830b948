"""Households beside records: how many there are, how many changed, and how many persons live in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from engine.common.wording import plural
from engine.release.scenarios import NoteKind
from engine.report.candidate_table import Row
from engine.study.study import Study
from engine.sweeps.remake import Remade
from engine.sweeps.runner import FRESH_FROM

COLUMNS = ("households_swapped", "persons_swapped")
"""Columns of tables of candidates where records belong to households: means over runs."""


@dataclass(frozen=True)
class UnitsChanged:
    """Of ``n_units`` households those of which some member changed, and the ``persons`` who live in these."""

    n_units: int
    changed: int
    persons: int

    @property
    def words(self) -> str:
        """Such as ``12,000 persons in 5,100 households``."""
        return f"{plural(self.persons, 'person')} in {plural(self.changed, 'household')}"


def units_changed(made: Remade) -> UnitsChanged | None:
    """The households of which some member's record changed in some table; None where records belong to none."""
    units = made.data.units
    if units is None:
        return None
    changed = np.bincount(units.of_record[made.changed], minlength=len(units)) > 0
    return UnitsChanged(len(units), int(changed.sum()), int(units.size[changed].sum()))


def with_units(rows: Sequence[Row], study: Study, *, fresh: bool = False) -> list[Row]:
    """Rows of candidates or of runs with :data:`COLUMNS`, where the plan names a unit: what the mechanism counted, and
    None for one that does not move households; means are those of the sweep's runs, or of the ``fresh`` ones."""
    if study.plan.data.unit is None:
        return list(rows)
    notes_of, filled = cache(study.notes.of), []
    for row in rows:
        label, _, run = str(row["id"]).partition("/")
        told = (note for note in notes_of(study.find(label)[0].index) if note.kind is NoteKind.DIAGNOSTICS)
        asked = (n for n in told if (n.replicate == int(run) if run else (n.replicate >= FRESH_FROM) == fresh))
        runs = [json.loads(note.text) for note in asked]
        values = {name: [each[name] for each in runs if name in each] for name in COLUMNS}
        filled.append({**row, **{name: sum(own) / len(own) if own else None for name, own in values.items()}})
    return filled


def unit_columns(columns: Sequence[str], study: Study) -> list[str]:
    """The columns of a table of candidates with :data:`COLUMNS` beside the records changed, where there are some."""
    if study.plan.data.unit is None:
        return list(columns)
    place = list(columns).index("records_changed") + 1
    return [*columns[:place], *COLUMNS, *columns[place:]]
