"""The columns of a very wide file, read in groups on demand, so that memory follows the few in use."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any

from engine.data.labels import NO_LABELS, ColumnLabels

if TYPE_CHECKING:
    from engine.data.microdata import RawColumn

_PARTS = 10  # reads of the file for all columns, at most
_LEAST = 1024
MOST_PACKED = 64 << 20
"""Bytes of groups that are kept compressed, since unpacking takes far less time than reading them again."""


class GroupedColumns(Mapping[str, "RawColumn"]):
    """A read-only mapping from names to columns, in file order, that holds one group of neighbours at a time.

    Going through it in order reads each group once; groups that compress well stay in memory, compressed.
    :meth:`keep_in_memory` keeps columns that are needed again and again.  ``read`` gives the columns of some names, in
    their order, and may refuse with an :class:`~engine.common.errors.EngineError`; it travels to other processes with
    the columns in memory.  ``about`` are labels from a codebook.
    """

    def __init__(
        self,
        names: Sequence[str],
        read: Callable[[Sequence[str]], list[RawColumn]],
        about: Mapping[str, ColumnLabels] | None = None,
    ) -> None:
        self._names, self._read, self._about = tuple(names), read, dict(about or {})
        self._index = {name: index for index, name in enumerate(self._names)}
        self.group_size = max(_LEAST, -(-len(self._names) // _PARTS))
        self._in_memory: dict[str, RawColumn] = {}
        self._group: dict[str, RawColumn] = {}
        self._packed: dict[int, bytes] = {}
        self._n_values: dict[str, int] = {}
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __getitem__(self, name: str) -> RawColumn:
        index = self._index[name]
        with self._lock:
            column = self._in_memory.get(name) or self._group.get(name)
            if column is None:
                start = index - index % self.group_size
                self._group = {}  # before the next one takes memory
                self._group = self._unpacked(start)
                column = self._group[name]
            return column

    def groups(self) -> Iterator[tuple[str, ...]]:
        """The names of each group, in file order."""
        for start in range(0, len(self._names), self.group_size):
            yield self._names[start : start + self.group_size]

    def keep_in_memory(self, names: Iterable[str]) -> None:
        """Keep these columns from now on; those that are not there yet are read at once."""
        with self._lock:
            new = [name for name in dict.fromkeys(names) if name in self._index and name not in self._in_memory]
            self._in_memory |= {name: self._group[name] for name in new if name in self._group}
            missing = [name for name in new if name not in self._in_memory]
            if missing:
                self._in_memory |= self._columns(sorted(missing, key=self._index.__getitem__))

    def n_values(self, name: str) -> int:
        """The number of a column's distinct values, kept of every column that was ever read."""
        if name not in self._n_values:
            self[name]
        return self._n_values[name]

    def about(self, name: str) -> ColumnLabels:
        """A column's labels, which need no reading."""
        return self._about.get(name, NO_LABELS)

    def labelled(self, about: Mapping[str, ColumnLabels]) -> GroupedColumns:
        """The same columns with other labels of some."""
        return GroupedColumns(self._names, self._read, {**self._about, **about})

    def renamed(self, stored: Mapping[str, str]) -> GroupedColumns:
        """The same columns under other names, each given with the one that it has."""
        about = {name: self._about[old] for name, old in stored.items() if old in self._about}
        return GroupedColumns(tuple(stored), partial(_read_renamed, self._read, stored), about)

    def _unpacked(self, start: int) -> dict[str, RawColumn]:
        packed = self._packed.get(start)
        if packed is not None:
            result: dict[str, RawColumn] = pickle.loads(zlib.decompress(packed))
            return result
        columns = self._columns(self._names[start : start + self.group_size])
        packed = zlib.compress(pickle.dumps(columns, protocol=5), 1)
        if sum(map(len, self._packed.values())) + len(packed) <= MOST_PACKED:
            self._packed[start] = packed
        return columns

    def _columns(self, names: Sequence[str]) -> dict[str, RawColumn]:
        columns = {column.name: column for column in self._read(names)}
        self._n_values |= {name: len(column.values) for name, column in columns.items()}
        labelled = {name: self._about[name] for name in columns if name in self._about}
        return columns | {name: replace(columns[name], about=about) for name, about in labelled.items()}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_group": {}, "_packed": {}, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = RLock()


def _read_renamed(
    read: Callable[[Sequence[str]], list[RawColumn]], stored: Mapping[str, str], names: Sequence[str]
) -> list[RawColumn]:
    columns = read([stored[name] for name in names])
    return [replace(column, name=name) for name, column in zip(names, columns, strict=True)]
