"""Records that are read by streaming: their distinct rows on some columns stay in memory, with counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from engine.common.errors import EngineError, NoRecords
from engine.data.labels import NO_LABELS, ColumnLabels

if TYPE_CHECKING:
    import pyarrow as pa

    from engine.data.io.stream import RecordStream
    from engine.data.microdata import RawColumn, RawTable
    from engine.data.table import ContingencyTable


MOST_COUNTED = 1 << 20
"""Distinct values of a column that no attribute needs, beyond which further ones are counted only if they tell."""


@dataclass(frozen=True)
class CountedValues:
    """Distinct values of a column over all records, with the number of records of each and its first record."""

    values: pa.Array
    counts: np.ndarray
    first: np.ndarray


def _count_values(stream: RecordStream, name: str, tells: Callable[[pa.Array], np.ndarray]) -> CountedValues:
    import pyarrow as pa
    import pyarrow.compute as pc

    known, n_records = None, 0
    for batch in stream.batches([], [name]):
        coded = batch.plain[name].dictionary_encode()
        codes = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
        first = np.zeros(len(coded.dictionary) + 1, np.int64)
        first[codes[::-1]] = n_records + np.arange(len(codes))[::-1]  # of repeated places the last one is kept
        counts = np.bincount(codes, minlength=len(first))
        new = pa.table({"value": coded.dictionary, "n": counts[:-1], "first": first[:-1]})
        if known is not None:
            if len(known) >= MOST_COUNTED:
                old = pc.is_in(new["value"], known["value"]).to_numpy(zero_copy_only=False)
                new = new.filter(pa.array(old | tells(coded.dictionary)))
            grouped = pa.concat_tables([known, new]).group_by("value", use_threads=False)
            new = grouped.aggregate([("n", "sum"), ("first", "min")]).rename_columns(["value", "n", "first"])
        known, n_records = new, n_records + batch.n_records
    if known is None:
        raise NoRecords(f"'{stream.source}' has columns but no records")
    return CountedValues(known["value"].combine_chunks(), known["n"].to_numpy(), known["first"].to_numpy())


@dataclass(frozen=True)
class Streamed:
    """The first pass over a ``stream``: the distinct ``rows`` of the columns that attributes need as a table of raw
    columns, the number of records of each, and the digest of the records on these columns.  Of the columns in
    ``representatives`` a row tells no more than the class of its value, by the first value of that class: they hold the
    code of it for each value."""

    stream: RecordStream
    rows: RawTable
    counts: np.ndarray
    digest: bytes
    representatives: Mapping[str, np.ndarray] = field(default_factory=dict)
    _counted: dict[str, CountedValues] = field(default_factory=dict, compare=False)

    def values_of(self, name: str, tells: Callable[[pa.Array], np.ndarray]) -> CountedValues:
        """The values of a column that was not counted, which reads it once: all of them up to :data:`MOST_COUNTED`, of
        further ones those of which ``tells`` says so."""
        if name not in self._counted:
            self._counted[name] = _count_values(self.stream, name, tells)
        return self._counted[name]


@dataclass(frozen=True)
class StreamedCells:
    """The coded ``table`` of streamed records, and the cell of each of their distinct rows, shape ``(n_rows,)``."""

    table: ContingencyTable
    cell_of_row: np.ndarray


class AbsentRecords:
    """Codes of records that are not in memory: any use of them is an :class:`EngineError` that says so."""

    def __init__(self, source: str) -> None:
        self._source = source

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise EngineError(
            f"the records of '{self._source}' are read by streaming and are not in memory, and this needs them; "
            "use measures and mechanisms that need counts alone, or a file that fits into memory"
        )

    __len__ = __iter__ = __getitem__ = __array__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __sub__ = __mul__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse()


class StreamedColumns(Mapping[str, "RawColumn"]):
    """The columns of streamed records, in file order.  Those that were counted have their values, and codes that are
    :class:`AbsentRecords`; any other is an :class:`EngineError`.  ``about`` is what a plan says of columns."""

    def __init__(
        self,
        names: tuple[str, ...],
        counted: Mapping[str, RawColumn],
        source: str,
        about: Mapping[str, ColumnLabels] | None = None,
    ) -> None:
        self._names, self._source, self._about = names, source, dict(about or {})
        self._counted = {name: replace(column, about=self.about(name)) for name, column in counted.items()}

    def about(self, name: str) -> ColumnLabels:
        """What a plan says of a column."""
        return self._about.get(name, NO_LABELS)

    def labelled(self, about: Mapping[str, ColumnLabels]) -> StreamedColumns:
        """The same columns with other labels of some."""
        return StreamedColumns(self._names, self._counted, self._source, {**self._about, **about})

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    @property
    def counted(self) -> tuple[str, ...]:
        """Names of the columns that were counted, in file order."""
        return tuple(name for name in self._names if name in self._counted)

    def __getitem__(self, name: str) -> RawColumn:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._counted:
            raise EngineError(
                f"column '{name}' of '{self._source}' belongs to no attribute and is not in memory, since its records "
                "are read by streaming; this needs it, so leave out what does, or use a file that fits into memory"
            )
        return self._counted[name]
