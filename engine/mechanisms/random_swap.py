"""Random data swapping with role constraints (Gomatam, Karr and Sanil 2005, Appendix A).

:func:`prepare` does once what all replicates, rates and splits of a structure share; what it makes draws pairs of
cells from a replicate's stream (a lower rate is the beginning of a higher one); :func:`records_of_pairs` chooses the
records, when somebody wants them.  :mod:`engine.release.touched` turns pairs into post-swap tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from engine.common.errors import EngineError
from engine.common.streams import derive, derived_by_last, derived_by_rest, generator
from engine.data.microdata import Microdata
from engine.data.table import ContingencyTable
from engine.mechanisms.base import BatchedDraw, Drawn, Mechanism
from engine.mechanisms.published_swap import Prepared, Preparing
from engine.mechanisms.restricted_swap import Restricted, prepare_restricted
from engine.release.parameter import Parameter, Setting
from engine.release.records import ReleasedTable
from engine.release.results import RunStatus
from engine.release.spec import AttributeSpec, ReleaseSpec, Structure, pairs_wanted, structure_of
from engine.release.specs import C, F, S, U

NAME = "random_swap"
_ASKED = [bytes(role in asked for role in range(256)) for asked in ((S, C), (F,), (U,))]
"""What differs, is equal and is free, each as a mark for every role (its ASCII code)."""


def preparing(table: ContingencyTable) -> Callable[[Structure], Prepared | Restricted]:
    """Makes a table's cells ready for one structure after the other, for the published draw where roles are all that is
    asked: what was prepared holds until the next structure."""
    published: Preparing | None = None

    def prepare_next(structure: Structure) -> Prepared | Restricted:
        nonlocal published
        if not structure.is_published:
            return prepare_restricted(structure, table)
        published = published or Preparing(table)
        return published(structure)

    return prepare_next


def prepare(structure: Structure, table: ContingencyTable) -> Prepared | Restricted:
    """The cells made ready for one structure."""
    return preparing(table)(structure)


def streams(key: bytes, structure: Structure, table: ContingencyTable) -> Callable[[int], bytes]:
    """The derived keys of one structure's replicates by number: what they have in common is written out once."""
    return derived_by_last(key, NAME, structure.stream_parts(table.domain))


class RoleStreams:
    """Derived keys of structures as published, by the roles of any of their specs: those of :func:`stream`, without a
    structure for each of the thousands of which a sweep consists."""

    def __init__(self, key: bytes, table: ContingencyTable) -> None:
        self._derived = derived_by_rest(key, NAME, [table.domain.stream_part])
        self._places: dict[bytes, str] = {}

    def keys(self, roles: bytes, rule: str, several_kinds: Sequence[int], replicates: Sequence[int]) -> list[bytes]:
        """The keys of replicates; ``several_kinds`` are as :meth:`Structure.of_roles` takes them."""
        same_kind = tuple([j for j in several_kinds if roles[j] == S])
        parts = *(self._text(roles.translate(table)) for table in _ASKED), repr(C in roles), repr(rule), repr(same_kind)
        return [self._derived(*parts, repr(number)) for number in replicates]

    def _text(self, marks: bytes) -> str:
        """The marked places, written out."""
        if marks not in self._places:
            self._places[marks] = repr(tuple(j for j, mark in enumerate(marks) if mark))
        return self._places[marks]


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
    batched=BatchedDraw(preparing, streams, records_of_pairs),
    partners_differ=True,
    exchanges=True,
    redrawable=True,
    refuses_pairs=True,
)
