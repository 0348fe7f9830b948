"""Small tables of records, and swap runs over them the way a sweep makes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from engine.data.domain import KINDS, Attribute, Domain, LevelKind
from engine.data.microdata import RawColumn, RawTable
from engine.data.table import ContingencyTable, occupied
from engine.measures import call
from engine.mechanisms import random_swap
from engine.plan import AttributePlan, DataPlan, Plan
from engine.release.batch import CellIndex, ReleaseBatch, TouchedBuffer, TouchedCells, release_batch
from engine.release.spec import AttributeSpec, ReleaseSpec, Structure, multi_kind, pairs_wanted
from engine.release.specs import S, Specs
from engine.sweeps.evaluator import Evaluator, Question
from engine.sweeps.groups import Groups, group

Record = tuple[int, ...]
KEY = bytes(range(16))
MEASURED = ("small_cells", "hellinger", "total_variation", "entropy_change", "false_zeros")
"""Measures of a run where a test names none."""


@dataclass(frozen=True)
class Small:
    """Records as tuples of level codes, over attributes A, B, C, ... with that many levels each."""

    records: tuple[Record, ...]
    shape: tuple[int, ...]
    kinds: tuple[tuple[LevelKind, ...], ...] | None = None

    @property
    def domain(self) -> Domain:
        return Domain(
            tuple(
                Attribute(chr(65 + j), tuple(f"v{level}" for level in range(size)), self.kinds[j] if self.kinds else ())
                for j, size in enumerate(self.shape)
            )
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(chr(65 + j) for j in range(len(self.shape)))

    @property
    def columns(self) -> list[np.ndarray]:
        return list(np.array(self.records, dtype=np.int64).reshape(len(self.records), len(self.shape)).T)

    def coded(self) -> tuple[ContingencyTable, np.ndarray]:
        """The table, and each record's cell in it."""
        cells, inverse = occupied(self.columns, self.shape, len(self.records))
        return ContingencyTable(
            self.domain, cells, np.bincount(inverse, minlength=len(cells)).astype(np.int64)
        ), inverse

    def spec(self, roles: str) -> AttributeSpec:
        return AttributeSpec(self.names, roles)

    def plan(self, **parts: Any) -> Plan:
        """A plan that codes every attribute as it stands; ``parts`` are the plan's other parts."""
        return Plan(DataPlan(tuple(AttributePlan(name) for name in self.names)), **parts)

    def asked(self, *measures: str, **parts: Any) -> Question:
        """What an evaluator is asked: this table, some measures, a plan."""
        calls = tuple(call(name) for name in measures or MEASURED)
        return Question(self.coded()[0], calls, self.plan(**parts))

    def raw(self, source: str = "small") -> RawTable:
        """The records as a file would give them, levels as text."""
        columns = {}
        for name, codes in zip(self.names, self.columns, strict=True):
            values, inverse = np.unique(codes, return_inverse=True)
            columns[name] = RawColumn(name, pa.array([f"v{v}" for v in values]), inverse.astype(np.int32))
        return RawTable(columns, len(self.records), source)


def expand(cells: Sequence[Record], counts: Sequence[int], shape: tuple[int, ...]) -> Small:
    """Records from a table of counts."""
    return Small(tuple(cell for cell, count in zip(cells, counts, strict=True) for _ in range(count)), shape)


@dataclass(frozen=True)
class Run:
    """One release of one spec: the drawn cells, the records chosen for them, and the batch of one that is measured."""

    structure: Structure
    table: ContingencyTable
    cells: np.ndarray
    records: np.ndarray
    batch: ReleaseBatch
    to_swap: int
    wanted: int

    @property
    def failed(self) -> bool:
        return len(self.cells) < self.wanted


def exchange(
    index: CellIndex, pairs: np.ndarray, stops: np.ndarray, splits: Sequence[AttributeSpec]
) -> list[tuple[np.ndarray, ...]]:
    """Post-swap tables of several splits of one structure after each number of pairs in ``stops`` (non-decreasing).

    Returns per split ``(ends, cell, before, after, kept)`` as a batch holds them, one part per stop.
    """
    touched = TouchedBuffer()
    touched.exchange(
        index,
        pairs,
        stops,
        (Specs.of(splits).roles == S) @ index.table.packing.masks,
        np.ones((len(splits), len(stops)), bool),
    )
    results, begin = [], 0
    for ends in touched.ends.reshape(len(splits), len(stops)):
        results.append((ends - begin, *(row[begin : ends[-1]].copy() for row in touched.cells)))
        begin = int(ends[-1])
    return results


def batch_of(
    index: CellIndex,
    parts: Sequence[tuple[np.ndarray, ...]],
    changed: Sequence[int],
    splits: Sequence[AttributeSpec],
) -> ReleaseBatch:
    """Join the results of :func:`exchange`; ``splits`` and ``changed`` have one entry per candidate, in the same
    order."""
    offsets = np.cumsum([0, *(len(part[1]) for part in parts)])
    ends = np.concatenate([part[0] + at for part, at in zip(parts, offsets, strict=False)])
    touched = TouchedCells(ends, *(np.concatenate([part[k] for part in parts]) for k in range(1, 5)))
    swaps = np.array([[role == "S" for role in spec.roles] for spec in splits])
    return release_batch(index.cells(), touched, np.asarray(changed, np.int64), swaps)


def run(small: Small, roles: str, rate: str, rule: str = "strict", replicate: int = 1, key: bytes = KEY) -> Run:
    """Draw, exchange, choose records."""
    table, cell_of_record = small.coded()
    spec = ReleaseSpec(small.spec(roles), rate, rule)
    structure = spec.structure(multi_kind(table))
    to_swap, wanted = pairs_wanted(spec.rate, table.n_records)
    derived = random_swap.stream(key, structure, table, replicate)
    pairs = random_swap.prepare(structure, table).draw(derived, wanted)
    index = CellIndex(table)
    parts = exchange(index, pairs, np.array([len(pairs)], np.int64), [spec.attributes])
    batch = batch_of(index, parts, [2 * len(pairs)], [spec.attributes])
    records = random_swap.records_of_pairs(derived, pairs, cell_of_record)
    return Run(structure, table, pairs, records, batch, to_swap, wanted)


def release(small: Small, roles: str, pairs: Sequence[tuple[int, int]]) -> ReleaseBatch:
    """The batch of one release in which these pairs of records exchange."""
    return releases(small, [(roles, pairs)])


def releases(small: Small, several: Sequence[tuple[str, Sequence[tuple[int, int]]]]) -> ReleaseBatch:
    """One batch of several releases, each given by its roles and the pairs of records that exchange."""
    table, cell_of_record = small.coded()
    index = CellIndex(table)
    parts: list[Any] = []
    for roles, pairs in several:
        cells = cell_of_record[np.array(pairs, np.int64).reshape(-1, 2)].astype(np.int64)
        parts += exchange(index, cells, np.array([len(cells)], np.int64), [small.spec(roles)])
    changed = [2 * len(pairs) for _, pairs in several]
    return batch_of(index, parts, changed, [small.spec(roles) for roles, _ in several])


def groups(asked: Question, specs: Sequence[ReleaseSpec]) -> Groups:
    """Scenarios by structure, numbered in the order given."""
    return group(specs, asked.table)


def rows(asked: Question, specs: Sequence[ReleaseSpec], replicates: Sequence[int], key: bytes = KEY) -> np.ndarray:
    """All candidates as a sweep has them, ordered by scenario and replicate."""
    evaluator = Evaluator(asked, key)
    found = np.concatenate([evaluator.run(one, replicates).rows for one in groups(asked, specs)])
    return found[np.lexsort((found[:, 1], found[:, 0]))]


@st.composite
def smalls(draw: st.DrawFn, with_kinds: bool = False, most_records: int = 40) -> Small:
    """Tables of 2 to 40 records over 2 to 5 attributes of 1 to 4 levels: unique cells and all-equal rows among them."""
    d = draw(st.integers(2, 5))
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=d, max_size=d)))
    n_cells = math.prod(shape)
    few = draw(st.lists(st.integers(0, n_cells - 1), min_size=1, max_size=6))
    # One number draws a record, in half the time of one for each level: its lower half are the few, its upper any cell.
    half = n_cells * len(few)
    drawn = draw(st.lists(st.integers(0, 2 * half - 1), min_size=2, max_size=most_records))
    cells = [few[number % len(few)] if number < half else number % n_cells for number in drawn]
    records = zip(*(levels.tolist() for levels in np.unravel_index(cells, shape)), strict=True)
    kinds = None
    if with_kinds:
        kinds = tuple(tuple(draw(st.sampled_from(KINDS)) for _ in range(size)) for size in shape)
    return Small(tuple(records), shape, kinds)


@st.composite
def roles_for(draw: st.DrawFn, d: int, letters: str = "SFCU") -> str:
    """Roles of d attributes: at least one S and one that is not."""
    roles = draw(st.lists(st.sampled_from(letters), min_size=d, max_size=d))
    at = draw(st.integers(0, d - 1))
    roles[at] = "S"
    if set(roles) == {"S"}:
        roles[at - 1] = draw(st.sampled_from(letters.replace("S", "")))
    return "".join(roles)


rates = st.sampled_from(["0", "0.01", "0.1", "0.3", "0.5", "0.77", "1"])
rules = st.sampled_from(["strict", "loose"])
