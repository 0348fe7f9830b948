"""Contingency tables of occupied cells only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.data.domain import Domain

_DENSE = 1 << 20  # below this many combinations a presence array is cheaper than a sort


def occupied(columns: Sequence[np.ndarray], sizes: Sequence[int], n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Occupied combinations of coded columns.

    ``columns`` are integer arrays of length ``n_rows`` with codes below ``sizes``.  Returns ``(cells, inverse)``:
    ``cells`` of shape ``(m, d)`` in lexicographic order of codes, ``inverse`` of shape ``(n_rows,)`` with each row's
    cell.

    Columns are folded in one at a time and re-ranked to the combinations that occur, so neither time nor memory follows
    the product of the sizes.  Once every row has a combination of its own, no further column can change the ranks.
    """
    key = np.zeros(n_rows, dtype=np.int64)
    m = 1
    for column, size in zip(columns, sizes, strict=True):
        if m == n_rows > 1:
            break
        space = m * int(size)
        key = key * int(size)
        key += column
        if space <= max(_DENSE, 4 * n_rows):
            present = np.zeros(space, dtype=bool)
            present[key] = True
            distinct = np.flatnonzero(present)
            rank = np.empty(space, dtype=np.int64)
            rank[distinct] = np.arange(len(distinct))
            key = rank[key]
        else:
            distinct, key = np.unique(key, return_inverse=True)
        m = len(distinct)
    row = np.zeros(m, dtype=np.int64)  # some row of each cell
    row[key] = np.arange(n_rows)
    cells = np.empty((m, len(columns)), dtype=np.int32)
    for j, column in enumerate(columns):
        cells[:, j] = column[row]
    return cells, key.astype(np.int32 if m < 2**31 else np.int64)


_WORD_BITS = 62


def are_new(columns: Sequence[np.ndarray], original: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    """Return whether each combination of coded ``columns`` occurs nowhere in the columns of the ``original``."""
    together = [np.concatenate(both) for both in zip(original, columns, strict=True)]
    n_original = len(original[0])
    cells, number = occupied(together, sizes, len(together[0]))
    occurs = np.zeros(len(cells), bool)
    occurs[number[:n_original]] = True
    new: np.ndarray = ~occurs[number[n_original:]]
    return new


@dataclass(frozen=True)
class Packing:
    """Layout of level codes in machine words, a field of bits per attribute.

    ``fields`` holds the word, the shift and the mask (before shifting) of each attribute; ``bits`` are in use in the
    last of ``n_words`` words.
    """

    fields: tuple[tuple[int, int, int], ...]
    n_words: int
    bits: int

    @classmethod
    def of(cls, shape: Sequence[int]) -> Packing:
        """The packing of attributes with so many levels each."""
        fields = []
        word = shift = 0
        for size in shape:
            bits = max(1, (size - 1).bit_length())
            if shift + bits > _WORD_BITS:
                word, shift = word + 1, 0
            fields.append((word, shift, (1 << bits) - 1))
            shift += bits
        return cls(tuple(fields), word + 1, shift)

    def mask(self, attributes: Sequence[int]) -> np.ndarray:
        """Words with all bits of some attributes set, shape ``(n_words,)``."""
        mask = np.zeros(self.n_words, np.int64)
        for j in attributes:
            word, shift, bit_mask = self.fields[j]
            mask[word] |= bit_mask << shift
        return mask

    @cached_property
    def masks(self) -> np.ndarray:
        """The bits of each attribute in the words, shape ``(attributes,
        n_words)``."""
        return np.array([self.mask([j]) for j in range(len(self.fields))], np.int64).reshape(-1, self.n_words)


@dataclass(frozen=True)
class ContingencyTable:
    """Counts of the occupied cells of a full table.

    ``cells`` has shape ``(m, d)``: level codes in lexicographic order, which makes a table independent of the order of
    its records.  ``counts`` has shape ``(m,)`` and is at least 1 everywhere.
    """

    domain: Domain
    cells: np.ndarray
    counts: np.ndarray

    @property
    def n_records(self) -> int:
        """Total count."""
        return int(self.counts.sum())

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def levels_in_use(self) -> tuple[int, ...]:
        """Number of levels of each attribute that occur."""
        return tuple(
            int(np.count_nonzero(np.bincount(self.cells[:, j], minlength=size)))
            for j, size in enumerate(self.domain.shape)
        )

    @cached_property
    def packing(self) -> Packing:
        """Layout of cells in machine words."""
        return Packing.of(self.domain.shape)

    @cached_property
    def words(self) -> np.ndarray:
        """The cells, packed: shape ``(m, packing.n_words)``."""
        words = np.zeros((len(self), self.packing.n_words), np.int64)
        for j, (word, shift, _) in enumerate(self.packing.fields):
            words[:, word] |= self.cells[:, j].astype(np.int64) << shift
        return words

    def group_numbers(self, attributes: Sequence[int]) -> np.ndarray:
        """A number for each cell, the same for cells that are equal on all of some attributes, shape ``(m,)``."""
        masked = self.words & self.packing.mask(attributes)
        if self.packing.n_words == 1:
            return np.asarray(masked[:, 0])
        return np.unique(masked, axis=0, return_inverse=True)[1].reshape(-1)

    def margin(self, attributes: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Marginal table over some attributes: ``(cells, counts, inverse)`` with ``inverse`` mapping full cells to
        it."""
        sizes = [self.domain.shape[j] for j in attributes]
        cells, inverse = occupied([self.cells[:, j] for j in attributes], sizes, len(self))
        return cells, np.bincount(inverse, weights=self.counts, minlength=len(cells)).astype(np.int64), inverse

    def n_below(self, threshold: int) -> int:
        """Number of cells with a count from 1 to ``threshold - 1``."""
        return int(np.count_nonzero(self.counts < threshold))
