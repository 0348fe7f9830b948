"""Random data swapping with role constraints (Gomatam, Karr and Sanil 2005, Appendix A).

:func:`prepare` does once what all replicates, rates and splits of a structure share; :meth:`Prepared.draw` draws pairs
of cells from a replicate's stream (a lower rate is the beginning of a higher one); :func:`records_of_pairs` chooses the
records, when somebody wants them.  :mod:`engine.release.touched` turns pairs into post-swap tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from engine.common.errors import EngineError
from engine.common.streams import derive, generator, kernel_state
from engine.data.microdata import Microdata
from engine.data.table import ContingencyTable
from engine.mechanisms.base import BatchedDraw, Drawn, Mechanism
from engine.mechanisms.restricted_swap import Restricted, prepare_restricted
from engine.release.parameter import Parameter, Setting
from engine.release.records import ReleasedTable
from engine.release.results import RunStatus
from engine.release.spec import AttributeSpec, ReleaseSpec, Structure, pairs_wanted, structure_of

NAME = "random_swap"
_RUNS_KEPT = 1 << 20  # most runs remembered per structure (16 MB); what does not fit is looked up again
_GUIDE = 4  # entries per cell of the table that leads from positions to cells


@dataclass
class Prepared:
    """One structure's cells in drawing order, and what the draw remembers.

    Fields are as :func:`engine.mechanisms.kernels.draw_pairs` takes them; positions are 32 bits wide wherever records
    are few enough, because what stays in the processor's nearest cache is read several times faster.
    """

    order: np.ndarray
    class_of: np.ndarray
    class_start: np.ndarray
    first_class: np.ndarray
    last_class: np.ndarray
    values: np.ndarray
    others: np.ndarray
    start: np.ndarray
    guide: np.ndarray
    shift: int
    runs: np.ndarray
    spare: int
    reach: np.ndarray
    offset: np.ndarray
    memo: np.ndarray
    used: np.ndarray = field(default_factory=lambda: np.zeros(2, np.int64))

    def draw(self, derived: bytes, wanted: int) -> np.ndarray:
        """Pairs of table cells in drawing order, shape ``(pairs, 2)``; fewer than ``wanted`` when no feasible pair is
        left."""
        from engine.common.compiled import wrapping
        from engine.mechanisms import kernels

        pairs = np.empty((wanted, 2), np.int64)
        with wrapping():
            n_pairs = kernels.draw_pairs(
                wanted,
                self.order,
                self.class_of,
                self.class_start,
                self.first_class,
                self.last_class,
                self.values,
                self.others,
                self.start,
                self.guide,
                self.shift,
                self.runs,
                self.spare,
                self.reach,
                self.offset,
                self.memo,
                self.used,
                kernel_state(derived),
                pairs,
            )
        return pairs[:n_pairs]

    def draw_told(self, derived: bytes, wanted: int) -> tuple[np.ndarray, None]:
        """The same; the published draw has nothing to tell."""
        return self.draw(derived, wanted), None


def prepare(structure: Structure, table: ContingencyTable) -> Prepared | Restricted:
    """The cells made ready for one structure: for the published draw where roles are all that is asked."""
    return prepare_published(structure, table) if structure.is_published else prepare_restricted(structure, table)


def prepare_published(structure: Structure, table: ContingencyTable) -> Prepared:
    """Sort a table's cells by stratum and class for one structure.

    Strata are equal on F and on the kinds of levels of ``same_kind``; classes are equal on S∪C.  Attributes with fewer
    levels sort first, so that the classes a record may meet lie in few runs.
    """
    from engine.mechanisms import kernels

    shape, attributes = table.domain.shape, table.domain.attributes
    differ = sorted(structure.differ, key=lambda j: (shape[j], j))
    kinds = [attributes[j].kind_codes[table.cells[:, j]] for j in structure.same_kind]
    keys = np.column_stack(
        [*(table.cells[:, j] for j in structure.equal), *kinds, *(table.cells[:, j] for j in differ)]
    ).astype(np.int64)
    sizes = np.array([*(shape[j] for j in structure.equal), *([3] * len(kinds)), *(shape[j] for j in differ)], np.int64)
    order = kernels.sort_cells(keys, sizes)
    keys = keys[order]
    n_stratum = len(structure.equal) + len(kinds)
    class_of, class_start, first_class, last_class = kernels.classes(keys, n_stratum)
    n, m = table.n_records, len(order)
    width = np.int32 if n < 2**31 else np.int64
    others = np.arange(m)
    if structure.needs_free_difference:
        others = table.group_numbers(structure.free)[order]
    shift = max(0, n.bit_length() - (_GUIDE * m).bit_length())
    start, guide = np.empty(m + 1, width), np.empty((n >> shift) + 1, np.int32)
    kernels.number_positions(table.counts[order], start, np.empty(m, width), guide, shift)
    longest = last_class - first_class
    spare = int(min(_RUNS_KEPT, (longest // 2 + 1).sum() + 1))
    room = spare + int(longest.max()) // 2 + 1
    return Prepared(
        order=order,
        class_of=class_of,
        class_start=class_start,
        first_class=first_class,
        last_class=last_class,
        values=np.ascontiguousarray(keys[class_start[:-1], n_stratum:]),
        others=others,
        start=start,
        guide=guide,
        shift=shift,
        runs=np.empty((room, 2), np.int32),
        spare=spare,
        reach=np.empty(room, width),
        offset=np.empty(room, width),
        memo=np.full((len(class_start) - 1, 4), -1, width),
    )


class _Written:
    """A part of a stream's name that has been written out already: its ``repr`` is that text."""

    def __init__(self, value: object) -> None:
        self._text = repr(value)

    def __repr__(self) -> str:
        return self._text


def streams(key: bytes, structure: Structure, table: ContingencyTable) -> Callable[[int], bytes]:
    """The derived keys of one structure's replicates by number: what they have in common is written out once."""
    parts = [_Written(part) for part in structure.stream_parts(table.domain)]
    return lambda replicate: derive(key, NAME, (*parts, replicate))


def stream(key: bytes, structure: Structure, table: ContingencyTable, replicate: int) -> bytes:
    """The derived key of one replicate of one structure; everything about its randomness follows from it."""
    return streams(key, structure, table)(replicate)


def records_of_pairs(derived: bytes, pairs: np.ndarray, cell_of_record: np.ndarray) -> np.ndarray:
    """Records for drawn pairs of cells, shape ``(pairs, 2)``, from a stream of their own.

    Every cell deals its records in a random order; a pair takes the next one of each of its cells.  A lower rate takes
    the same records as the beginning of a higher one.
    """
    if len(pairs) == 0:
        return np.zeros((0, 2), np.int64)
    shuffled = generator(derive(derived, "records")).permutation(len(cell_of_record))
    by_cell = shuffled[np.argsort(cell_of_record[shuffled], kind="stable")]
    size = np.bincount(cell_of_record)
    start = np.cumsum(size) - size
    flat = pairs.reshape(-1)
    order = np.argsort(flat, kind="stable")
    grouped = flat[order]
    first = np.searchsorted(grouped, grouped)
    records = np.empty(len(flat), np.int64)
    records[order] = by_cell[start[grouped] + np.arange(len(grouped)) - first]
    return records.reshape(-1, 2)


def exchanged(data: Microdata, records: np.ndarray, spec: AttributeSpec) -> ReleasedTable:
    """The table in which pairs of records, shape ``(pairs, 2)``, have exchanged what the spec swaps."""
    source = np.arange(data.n_records)
    source[records[:, 0]], source[records[:, 1]] = records[:, 1], records[:, 0]
    return ReleasedTable(data, source, spec.having("S"))


def _spec(setting: Setting) -> ReleaseSpec:
    if setting.spec is None:
        raise EngineError("the random swap needs a spec: roles of all attributes and a rate.")
    return setting.spec


def prepare_setting(setting: Setting) -> Prepared | Restricted:
    """The cells made ready for the structure of a scenario."""
    table = setting.data.table
    return prepare(structure_of(_spec(setting), table), table)


def draw(prepared: Prepared | Restricted, setting: Setting, derived: bytes) -> Drawn:
    """One replicate down to records: RunStatus.FAILED when fewer pairs could be formed than the rate asks for."""
    spec, data = _spec(setting), setting.data
    to_swap, n_wanted = pairs_wanted(spec.rate, data.n_records)
    pairs, told = prepared.draw_told(derived, n_wanted)
    records = records_of_pairs(derived, pairs, data.cell_of_record)
    touched = np.zeros((1, data.n_records), bool)
    touched[0, records.reshape(-1)] = True
    status = RunStatus.NOOP if to_swap == 0 else RunStatus.OK if len(pairs) == n_wanted else RunStatus.FAILED
    diagnostics = told.diagnostics(len(pairs), n_wanted) if told else {}
    return Drawn([exchanged(data, records, spec.attributes)], status, touched, diagnostics)


SWAP = Mechanism(
    name=NAME,
    title="Random swap of attributes",
    source="Gomatam, Karr and Sanil (2005), Data swapping as a decision problem",
    when="attributes may be exchanged one by one, and every one-way table must stay as it is",
    rate="records that take part in swaps, both partners counted, as a share of all records",
    prepare=prepare_setting,
    draw=draw,
    parameters=(
        Parameter(
            "lean",
            "decimal",
            "0",
            "how far the draw leans to rare keys: records are drawn by 1/count to this power; 0: all alike",
            low="0",
            high="10",
            label="How far the draw leans to rare keys",
        ),
        Parameter(
            "risk",
            "names",
            "",
            "attributes whose combinations are counted for lean, joined by +; default the keys",
            label="What makes a record rare",
        ),
        Parameter(
            "near",
            "names",
            "",
            "most steps between the levels of two partners, such as Age:2, joined by +",
            label="How far partners may lie apart",
        ),
        Parameter(
            "similar",
            "names",
            "",
            "attributes on which partners are compared, joined by +",
            label="On what partners are compared",
        ),
        Parameter(
            "similarity",
            "whole",
            "0",
            "on how many of similar two partners agree at least",
            low="0",
            label="On how many of these partners agree",
        ),
    ),
    by_roles=True,
    batched=BatchedDraw(prepare, streams, records_of_pairs),
    partners_differ=True,
    redrawable=True,
    refuses_pairs=True,
)
