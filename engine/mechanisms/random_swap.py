"""Random data swapping with role constraints (Gomatam, Karr and Sanil 2005, Appendix A).

:func:`prepare` does once what all replicates, rates and splits of a structure share; :meth:`Prepared.draw` draws pairs
of cells from a replicate's stream (a lower rate is the beginning of a higher one); :func:`exchange` turns pairs into
post-swap tables; :func:`records_of_pairs` chooses the records, when somebody wants them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.common.streams import derive, generator, kernel_state
from engine.data.table import ContingencyTable
from engine.release.batch import CellIndex, ReleaseBatch
from engine.release.spec import AttributeSpec, Structure

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


def prepare(structure: Structure, table: ContingencyTable) -> Prepared:
    """Sort a table's cells by block and class for one structure.

    Blocks are equal on F and on the kinds of levels of ``same_kind``; classes are equal on S∪C.  Attributes with fewer
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
    n_block = len(structure.equal) + len(kinds)
    class_of, class_start, first_class, last_class = kernels.classes(keys, n_block)
    n, m = table.n_records, len(order)
    width = np.int32 if n < 2**31 else np.int64
    others = np.arange(m)
    if structure.needs_free_difference:
        others = table.alike(structure.free)[order]
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
        values=np.ascontiguousarray(keys[class_start[:-1], n_block:]),
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

    def __init__(self, part: object) -> None:
        self._text = repr(part)

    def __repr__(self) -> str:
        return self._text


def streams(key: bytes, structure: Structure, table: ContingencyTable) -> Callable[[int], bytes]:
    """:func:`stream` for many replicates of one structure: what they have in common is written out once."""
    parts = [_Written(part) for part in structure.stream_parts(table.domain)]
    return lambda replicate: derive(key, "random_swap", (*parts, replicate))


def stream(key: bytes, structure: Structure, table: ContingencyTable, replicate: int) -> bytes:
    """The derived key of one replicate of one structure; everything about its randomness follows from it."""
    return derive(key, "random_swap", (*structure.stream_parts(table.domain), replicate))


class Touched:
    """The touched cells of many candidates, one after the other, in room that is used again."""

    def __init__(self, room: int = 1 << 14) -> None:
        self._cells = np.empty((4, room), np.int64)
        self._n = 0
        self._ends: list[np.ndarray] = []

    def __len__(self) -> int:
        return self._n

    def clear(self) -> None:
        """Forget everything; batches made before must not be used any more."""
        self._n = 0
        self._ends = []

    @property
    def ends(self) -> np.ndarray:
        """Where each candidate's cells end."""
        return np.concatenate([np.zeros(0, np.int64), *self._ends])

    @property
    def cells(self) -> np.ndarray:
        """Rows: cell, count before, count after, records that stayed."""
        return self._cells[:, : self._n]

    def exchange(
        self, index: CellIndex, pairs: np.ndarray, stops: np.ndarray, swapped: np.ndarray, asked: np.ndarray
    ) -> None:
        """Add the post-swap tables of several splits of one structure after each number of pairs in ``stops``
        (non-decreasing).

        ``swapped`` masks the words of each split's S (see :meth:`CellIndex.mask`); ``asked[split, stop]`` says which
        candidates are wanted, and these are added split by split.
        """
        from engine.common.compiled import wrapping
        from engine.release import exchanges

        most = min(2 * len(pairs), len(index.table))
        source, known = np.empty(most, np.int64), np.empty(len(stops), np.int64)
        removed, ends = np.empty((len(stops), most), np.int64), np.empty(asked.shape, np.int64)
        with wrapping():
            n_sources = exchanges.leave(pairs, stops, index.rank, source, removed, known)
            done = 0
            while True:
                done, index.n_cells, self._n = exchanges.arrive(
                    pairs,
                    stops,
                    done,
                    swapped,
                    asked,
                    index.rank,
                    source,
                    removed,
                    known,
                    index.words,
                    index.n_cells,
                    index.most_cells,
                    index.buckets,
                    index.bucket_shift,
                    index.counts,
                    index.arrived,
                    index.fresh,
                    self._cells,
                    self._n,
                    ends,
                )
                if done == len(swapped):
                    break
                index.make_room(2 * len(pairs) + 1)
                arriving = np.minimum(2 * stops, min(index.n_cells + 2 * len(pairs), index.most_cells))
                self._make_room(int(known.sum() + arriving.sum()) + 1)
            exchanges.forget(index.rank, source, n_sources)
        self._ends.append(ends[asked])

    def _make_room(self, more: int) -> None:
        if self._n + more > self._cells.shape[1]:
            cells = np.empty((4, max(self._n + more, 2 * self._cells.shape[1])), np.int64)
            cells[:, : self._n] = self.cells
            self._cells = cells

    def batch(
        self, index: CellIndex, changed: np.ndarray, swaps: np.ndarray, failing: np.ndarray | None = None
    ) -> ReleaseBatch:
        """What measures look at; ``changed`` and ``swaps`` have one row per candidate, in the order in which they were
        added.  It shares this object's room."""
        cell, before, after, kept = self.cells
        return ReleaseBatch(
            original=index.table.counts,
            n_records=index.table.n_records,
            ends=self.ends,
            cell=cell,
            before=before,
            after=after,
            kept=kept,
            changed=changed,
            swaps=swaps,
            index_words=index.words[: index.n_cells],
            layout=index.layout,
            shape=index.table.domain.shape,
            failing=failing,
            shared=index.shared,
        )


def split_masks(index: CellIndex, splits: Sequence[AttributeSpec]) -> np.ndarray:
    """The masks of several splits' swapped attributes, shape ``(splits, words)``."""
    return np.array([index.mask(spec.having("S")) for spec in splits])


def exchange(
    index: CellIndex, pairs: np.ndarray, stops: np.ndarray, splits: Sequence[AttributeSpec]
) -> list[tuple[np.ndarray, ...]]:
    """Post-swap tables of several splits of one structure after each number of pairs in ``stops`` (non-decreasing).

    Returns per split ``(ends, cell, before, after, kept)`` as :class:`ReleaseBatch` holds them, one part per stop.
    """
    touched = Touched()
    touched.exchange(index, pairs, stops, split_masks(index, splits), np.ones((len(splits), len(stops)), bool))
    results, begin = [], 0
    for ends in touched.ends.reshape(len(splits), len(stops)):
        results.append((ends - begin, *(row[begin : ends[-1]].copy() for row in touched.cells)))
        begin = int(ends[-1])
    return results


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
    taken = np.empty(len(flat), np.int64)
    taken[order] = by_cell[start[grouped] + np.arange(len(grouped)) - first]
    return taken.reshape(-1, 2)


def batch(
    index: CellIndex,
    parts: Sequence[tuple[np.ndarray, ...]],
    changed: Sequence[int],
    splits: Sequence[AttributeSpec],
    failing: np.ndarray | None = None,
) -> ReleaseBatch:
    """Join the results of :func:`exchange`; ``splits`` and ``changed`` have one entry per candidate, in the same
    order."""
    offsets = np.cumsum([0, *(len(part[1]) for part in parts)])
    return ReleaseBatch(
        original=index.table.counts,
        n_records=index.table.n_records,
        ends=np.concatenate([part[0] + at for part, at in zip(parts, offsets, strict=False)]),
        cell=np.concatenate([part[1] for part in parts]),
        before=np.concatenate([part[2] for part in parts]),
        after=np.concatenate([part[3] for part in parts]),
        kept=np.concatenate([part[4] for part in parts]),
        changed=np.asarray(changed, np.int64),
        swaps=np.array([[role == "S" for role in spec.roles] for spec in splits]),
        index_words=index.words[: index.n_cells],
        layout=index.layout,
        shape=index.table.domain.shape,
        failing=failing,
        shared=index.shared,
    )
