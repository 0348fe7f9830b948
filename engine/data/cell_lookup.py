"""The cells of streamed records, batch by batch: for a second pass over a source that was counted in a first one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import EngineError
from engine.data.distinct_rows import DistinctRows

if TYPE_CHECKING:
    import pyarrow as pa

    from engine.data.io.stream import Batch
    from engine.data.microdata import Microdata


class CellLookup:
    """Cells of the table of streamed ``data``, for batches of their source that hold the :attr:`columns` coded.

    Read them with ``stream.batches(lookup.columns, known=lookup.values)``, so that pieces may come in any order.
    """

    def __init__(self, data: Microdata) -> None:
        assert data.streamed is not None and data.raw.streamed is not None, "the records are in memory"
        rows = data.raw.streamed.rows
        self.columns = rows.names
        self.values: dict[str, pa.Array] = {name: column.values for name, column in rows.columns.items()}
        self._code_of = {
            name: np.append(codes, np.int32(-1)) for name, codes in data.raw.streamed.representatives.items()
        }
        self._source, self._cell_of_row = rows.source, data.streamed.cell_of_row.astype(np.int32)
        coded = [(column.codes.astype(np.int32), _identity(len(column.values))) for column in rows.columns.values()]
        self._rows = DistinctRows(len(coded))
        self._rows.add(coded, rows.n_records, [len(values) for values in self.values.values()])

    def cells_of(self, batch: Batch) -> np.ndarray:
        """The cell of each record of a batch, an index into ``data.table``, shape ``(batch.n_records,)``, int32; errors
        are those of :meth:`rows_of`."""
        result: np.ndarray = self._cell_of_row[self.rows_of(batch)]
        return result

    def rows_of(self, batch: Batch) -> np.ndarray:
        """The distinct row of each record of a batch, an index into ``data.raw.streamed.rows``, shape
        ``(batch.n_records,)``.

        Raises :class:`EngineError` for a record unlike any of the first pass.
        """
        columns = [batch.coded[name] for name in self.columns]
        if any(len(batch.coded[name].values) > len(values) for name, values in self.values.items()):
            raise self._changed()
        coded = []
        for name, column in zip(self.columns, columns, strict=True):
            code_of = self._code_of.get(name)
            coded.append((column.indices, column.code_of if code_of is None else code_of[column.code_of]))
        rows = self._rows.find(coded, batch.n_records)
        if len(rows) and int(rows.min()) < 0:
            raise self._changed()
        return rows

    def _changed(self) -> EngineError:
        return EngineError(
            f"'{self._source}' holds a record that it did not hold when it was counted; open it again, and leave it as "
            "it is while you work on it"
        )


def _identity(n_values: int) -> np.ndarray:
    return np.append(np.arange(n_values, dtype=np.int32), np.int32(-1))
