"""Make one realisation again, down to records: for an export, a replay, or a look at its changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.common.blas_threads import one_thread
from engine.common.errors import EngineError
from engine.common.streams import derive, generator
from engine.data.microdata import Microdata
from engine.data.table import occupied
from engine.measures import evaluate_records
from engine.mechanisms import mechanism
from engine.models.record_release import RecordRelease
from engine.release.records import ReleasedTable
from engine.release.results import FAILED, NOOP, OK
from engine.release.spec import RANDOM_SWAP, ReleaseSpec, pairs_wanted
from engine.sweeps.candidates import multi_kind, setting_of
from engine.sweeps.evaluator import Question
from engine.sweeps.record_evaluator import figure
from engine.sweeps.record_evaluator import stream as record_stream

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Remade:
    """One realisation down to records: its tables over the original's records, in their order, and its figures."""

    data: Microdata
    spec: ReleaseSpec
    tables: tuple[ReleasedTable, ...]
    status: int
    figures: dict[str, float]
    derived: bytes

    @property
    def changed(self) -> np.ndarray:
        """Mask of records whose level of some attribute is another one in some table."""
        mask = np.zeros(self.data.n_records, bool)
        for j in range(len(self.data.domain)):
            for table in self.tables:
                mask |= table.codes(j) != self.data.codes[j]
        return mask

    def codes(self, attribute: int, table: int = 0) -> np.ndarray:
        """Released level codes of one attribute in one table, in the original order of records."""
        return self.tables[table].codes(attribute)


def stream_of(key: bytes, spec: ReleaseSpec, data: Microdata, replicate: int) -> bytes:
    """The derived key of one realisation of a study."""
    if spec.mechanism != RANDOM_SWAP:
        return record_stream(key, spec, data, replicate)
    from engine.mechanisms.random_swap import stream

    return stream(key, spec.structure(multi_kind(data.table)), data.table, replicate)


def remake(data: Microdata, asked: Question, spec: ReleaseSpec, derived: bytes) -> Remade:
    """Draw a realisation again from its derived key and measure it again."""
    if spec.mechanism == RANDOM_SWAP:
        return _random_swap(data, asked, spec, derived)
    made = mechanism(spec.mechanism)
    with one_thread():
        setting = setting_of(spec.mechanism, dict(spec.params), asked.plan, data)
        found = made.draw(made.prepare(setting), setting, derived)
        release = RecordRelease(ReleasedTable(data), found.tables, asked.plan, spec)
        figures = {str(call): figure(call, release)[0] for call in asked.calls}
    return Remade(data, spec, tuple(found.tables), found.status, figures, derived)


def _random_swap(data: Microdata, asked: Question, spec: ReleaseSpec, derived: bytes) -> Remade:
    """A random swap from cells to records; the table of the records is compared with the one the figures rest on."""
    from engine.mechanisms import random_swap
    from engine.release.batch import CellIndex

    table = data.table
    to_swap, wanted = pairs_wanted(spec.rate, table.n_records)
    pairs = random_swap.prepare(spec.structure(multi_kind(table)), table).draw(derived, wanted)
    index = CellIndex(table)
    parts = random_swap.exchange(index, pairs, np.array([len(pairs)], np.int64), [spec.attributes])
    failing = asked.failing(index.words[: index.n_cells], index.layout)
    batch = random_swap.batch(index, parts, [2 * len(pairs)], [spec.attributes], failing)
    figures = {str(c): float(v) for c, v in zip(asked.calls, asked.measure(batch)[0], strict=True)}
    records = random_swap.records_of_pairs(derived, pairs, data.cell_of_record)
    source = np.arange(data.n_records)
    source[records[:, 0]], source[records[:, 1]] = records[:, 1], records[:, 0]
    released = ReleasedTable(data, source, spec.attributes.having("S"))
    if asked.on_records:
        release = RecordRelease(ReleasedTable(data), [released], asked.plan, spec)
        for k in asked.on_records:
            figures[str(asked.calls[k])] = evaluate_records(asked.calls[k], release).value
    status = NOOP if to_swap == 0 else OK if len(pairs) == wanted else FAILED
    made = Remade(data, spec, (released,), status, figures, derived)
    _audit(made, batch.cell, batch.after, index.words, index.layout)
    return made


def _audit(
    made: Remade, cell: np.ndarray, after: np.ndarray, words: np.ndarray, layout: Sequence[tuple[int, int, int]]
) -> None:
    """Recount the records themselves: their table must be the one the kernels counted."""
    from engine.release.batch import unpack

    domain = made.data.domain
    cells, inverse = occupied([made.codes(j) for j in range(len(domain))], domain.shape, made.data.n_records)
    counted = dict(zip(map(tuple, cells.tolist()), np.bincount(inverse).tolist(), strict=True))
    table = made.data.table
    expected = dict(zip(map(tuple, table.cells.tolist()), table.counts.tolist(), strict=True))
    touched = np.column_stack([unpack(words[cell], place) for place in layout])
    for key, count in zip(map(tuple, touched.tolist()), after.tolist(), strict=True):
        expected[key] = count
    if counted != {key: count for key, count in expected.items() if count}:
        raise EngineError(
            "the remade records do not give the table that was measured; nothing was written. Please report this."
        )


def released_columns(
    made: Remade, table: int, order: np.ndarray, include: Iterable[str] = (), ids: np.ndarray | None = None
) -> dict[str, pa.Array]:
    """Released raw columns of one table in file order; row ``i`` is record ``order[i]`` of the original.

    Dropped columns are left out, weight and id unless asked for; an id is never the original one but that of ``ids``
    (one per original record).  Values are dictionary-coded by the original's distinct values, which writers leave
    behind.  Where a mechanism drew a level anew, the raw values behind it are those of a random
    record of that level, whole blocks at a time.
    """
    import pyarrow as pa

    include = set(include)
    data, released = made.data, made.tables[table]
    columns: dict[str, pa.Array] = {}
    carriers = carriers_of(made, table)
    for name, column in data.raw.columns.items():
        if name in data.dropped or (name == data.weight and "weight" not in include):
            continue
        if name == data.id:
            if "id" in include:
                assert ids is not None, "an id leaves only as a new one"
                columns[name] = pa.array(ids[order])
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
    found: dict[str, np.ndarray] = {}
    for j, attribute in enumerate(made.data.domain.attributes):
        if released.is_replaced(j):
            found |= dict.fromkeys(attribute.columns, _donors(made, table, j))
        elif released.source is not None and released.swapped_columns.intersection(attribute.columns):
            found |= dict.fromkeys(attribute.columns, released.source)
    return found


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
