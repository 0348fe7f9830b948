"""Make one realisation again, down to records: for an export, a replay, or a look at its changes.

Make one realisation of a random swap again down to pairs of cells, of data whose records are not in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.common.registry import Cache
from engine.common.streams import derive, generator
from engine.data.microdata import Microdata
from engine.data.table import ContingencyTable
from engine.measures.turned_back import TurnedBack, exchanged_cells, most_turned_back
from engine.mechanisms import mechanism
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
from engine.release.spec import ReleaseSpec, pairs_wanted
from engine.sweeps.evaluator import Evaluator, Question
from engine.sweeps.groups import group_of
from engine.sweeps.realisations import CellRuns

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class RemadeCells:
    """One realisation down to pairs of cells.

    ``pairs`` are cells of the original's table, shape ``(pairs, 2)``; ``table`` is that of the release, in which
    ``n_changed`` records are altered.
    """

    data: Microdata
    spec: ReleaseSpec
    pairs: np.ndarray
    table: ContingencyTable
    status: RunStatus
    n_changed: int
    figures: dict[str, float]
    derived: bytes

    @property
    def swapped(self) -> tuple[int, ...]:
        """The attributes that partners exchange."""
        return tuple(self.spec.attributes.having("S"))

    @property
    def guesses(self) -> TurnedBack | None:
        """The guesses that give back most of the original values; None where none was altered."""
        return most_turned_back([exchanged_cells(self.data.table, self.pairs, self.spec.attributes)])


def remake_cells(data: Microdata, question: Question, spec: ReleaseSpec, derived: bytes) -> RemadeCells:
    """Draw a realisation of the random swap again from its derived key, over cells, and measure it again as a sweep
    does.  Other mechanisms need all records in memory (:class:`UsageError`)."""
    batched, group = mechanism(spec.mechanism).batched, group_of(spec, data.table)
    if batched is None or group.structure is None:
        raise UsageError(
            f"the data are read by streaming, and '{spec.mechanism}' draws over records in memory; export a "
            "candidate of the random swap"
        )
    row, table = CellRuns(question.table, question.calls, question.plan, None).remake_table(group, derived)
    wanted = pairs_wanted(spec.rate, data.n_records)[1]
    pairs, _ = batched.preparing(data.table)(group.structure).draw_told(derived, wanted)
    names = map(str, question.calls)
    figures = dict(zip(names, map(float, row[4:]), strict=True))
    return RemadeCells(data, spec, pairs, table, RunStatus(int(row[2])), int(row[3]), figures, derived)


@dataclass(frozen=True)
class Remade:
    """One realisation down to records: its tables over the original's records, in their order, and its figures.

    ``own`` keeps what is worked out of it, for as long as it lives.
    """

    data: Microdata
    spec: ReleaseSpec
    tables: tuple[ReleasedTable, ...]
    status: RunStatus
    figures: dict[str, float]
    derived: bytes
    own: Cache = field(default_factory=Cache, init=False, repr=False, compare=False)

    @property
    def changed(self) -> np.ndarray:
        """Mask of records whose level of some attribute is another one in some table."""
        mask = np.zeros(self.data.n_records, bool)
        for j in range(len(self.data.domain)):
            for table in self.tables:
                mask |= table.codes(j) != self.data.codes[j]
        return mask

    @property
    def n_changed(self) -> int:
        """Number of these records."""
        return int(self.changed.sum())

    def codes(self, attribute: int, table: int = 0) -> np.ndarray:
        """Released level codes of one attribute in one table, in the original order of records."""
        return self.tables[table].codes(attribute)


def stream_of(key: bytes, spec: ReleaseSpec, data: Microdata, replicate: int) -> bytes:
    """The derived key of one realisation of a study."""
    return mechanism(spec.mechanism).stream(key, spec, data.table, replicate)


def remake(data: Microdata, question: Question, spec: ReleaseSpec, derived: bytes) -> Remade:
    """Draw a realisation again from its derived key and measure it again, by the evaluator that draws it in a sweep."""
    made = Evaluator(replace(question, data=data)).remake(spec, derived)
    return Remade(data, spec, tuple(made.tables), made.status, made.figures, derived)


def released_columns(
    made: Remade,
    table: int,
    order: np.ndarray,
    include: Iterable[str] = (),
    new_numbers: Mapping[str, np.ndarray] | None = None,
) -> dict[str, pa.Array]:
    """Released raw columns of one table in file order; row ``i`` is record ``order[i]`` of the original.

    Dropped columns are left out, weight, id and unit unless asked for; of id and unit never the original numbers are
    released but ``new_numbers`` (by column, one per original record).  Values are dictionary-coded by the original's
    distinct values, which writers leave behind.  Where a mechanism drew a level anew, the raw values behind it are
    those of a random record of that level, whole blocks at a time.
    """
    import pyarrow as pa

    include = set(include)
    data, released = made.data, made.tables[table]
    columns: dict[str, pa.Array] = {}
    carriers = carriers_of(made, table)
    for name, column in data.raw.columns.items():
        if name in data.dropped or (name in data.single_uses and data.single_uses[name] not in include):
            continue
        if name in data.unit_columns[1:]:
            continue  # the household's new number stands in the place of the first
        if name in data.renumbered:
            assert new_numbers is not None, "ids and numbers of households leave only as new ones"
            columns[name] = pa.array(new_numbers[name][order])
            continue
        if released.is_renumbered(name):
            columns[name] = pa.array(released.numeric(name)[order])
            continue
        carrier = carriers.get(name)
        codes = column.codes[order if carrier is None else carrier[order]]
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32(), mask=codes < 0), column.values)
    return columns


def carriers_of(made: Remade, table: int) -> dict[str, np.ndarray]:
    """For every raw column whose values moved in one table, the original record whose value each record shows."""
    released = made.tables[table]
    carriers: dict[str, np.ndarray] = {}
    for j, attribute in enumerate(made.data.domain.attributes):
        if released.is_replaced(j):
            carriers |= dict.fromkeys(attribute.columns, _donors(made, table, j))
        elif released.source is not None and released.swapped_columns.intersection(attribute.columns):
            carriers |= dict.fromkeys(attribute.columns, released.source)
    return carriers


def _donors(made: Remade, table: int, attribute: int) -> np.ndarray:
    """For each record the one whose raw values it shows: itself where its level stayed, else a random one with it."""
    old, new = made.data.codes[attribute], made.codes(attribute, table)
    name = made.data.domain.names[attribute]
    rng = generator(derive(made.derived, "values", (table, name)))
    donors = np.arange(made.data.n_records)
    for level in np.unique(new[new != old]).tolist():
        here = np.flatnonzero((new == level) & (old != level))
        able = np.flatnonzero(old == level)
        if not len(able):
            raise EngineError(
                f"attribute '{name}' was given a level that no record has, so it has no raw values to show"
            )
        donors[here] = able[rng.integers(0, len(able), len(here))]
    return donors
