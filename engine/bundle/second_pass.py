"""The second pass over data that are read by streaming: their records with the values that they show, in file order.

Which records take part in the pairs is dealt while they come by (:mod:`engine.mechanisms.dealing`), so that memory
follows the pairs and the distinct raw rows.  These tell what each partner shows; of columns that were counted by
intervals a pass between the two notes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from engine.bundle.original_ids import IdWatch
from engine.bundle.streamed_source import coded_names, released_names
from engine.common.raw_values import smallest
from engine.data.cell_lookup import CellLookup
from engine.data.io.arrow_columns import plain_values
from engine.mechanisms.dealing import deal_rows
from engine.sweeps.remake import RemadeCells

if TYPE_CHECKING:
    import pyarrow as pa


class SecondPass:
    """The released records of one realisation, and after :meth:`rows` was gone through their pairs.

    ``names`` are the released columns in file order.  ``pairs`` are the two original records of each pair, counted from
    0 in file order, shape ``(pairs, 2)``; ``ids`` has compared the original ids, where there are some, with the columns
    that stay with their records.
    """

    def __init__(self, remade: RemadeCells, include: tuple[str, ...]) -> None:
        data, streamed = remade.data, remade.data.raw.streamed
        assert streamed is not None and data.streamed is not None, "the records are in memory"
        self._stream, self._lookup = streamed.stream, CellLookup(data)
        self._deal = deal_rows(remade.derived, remade.pairs, data.streamed.cell_of_row, streamed.counts)
        attributes = [data.domain.attributes[j] for j in remade.swapped]
        columns = [*dict.fromkeys(name for attribute in attributes for name in attribute.columns)]
        rows = streamed.rows.columns
        self._unknown = [name for name in columns if name in streamed.representatives]
        self._shown = {
            name: rows[name].codes[self._deal.cell_of_place] for name in columns if name not in self._unknown
        }
        self._values: dict[str, pa.Array] = {name: data.raw.columns[name].values for name in coded_names(data)}
        self._id = data.id
        self.names = released_names(data, include)
        self._carried = [name for name in self.names if name not in self._values and name != data.id]
        # half the memory, where records are few enough
        self.pairs = np.empty((len(remade.pairs), 2), np.uint32 if data.n_records <= 1 << 32 else np.int64)
        self.ids = IdWatch()

    @property
    def row_bytes(self) -> int:
        """About how many bytes the row of a record takes: codes, and of a carried column a word."""
        coded = [name for name in self.names if name in self._values]
        sizes = [smallest(np.zeros(0, np.int32), len(self._values[name])).itemsize for name in coded]
        return sum(sizes) + 16 * len(self._carried)

    def rows(self) -> Iterator[pa.RecordBatch]:
        """The records in the file order of the original, batch after batch: codes (-1: null) of attributes' columns,
        and carried ones as they are; no column of new ids."""
        import pyarrow as pa

        if self._unknown:
            self._collect()
        self._deal.restart()
        begun, record_of_place = 0, self.pairs.reshape(-1)
        plain = [*self._carried, *([] if self._id is None else [self._id])]
        for batch in self._stream.batches(self._lookup.columns, plain, known=self._lookup.values):
            places = self._deal.places(self._lookup.rows_of(batch))
            paired = np.flatnonzero(places >= 0)
            place = places[paired]
            record_of_place[place] = begun + paired
            begun += batch.n_records
            carried = {name: plain_values(batch.plain[name]) for name in self._carried}
            if self._id is not None:
                self.ids.compare(plain_values(batch.plain[self._id]), carried)
            columns = {}
            for name in self.names:
                if name in self._values:
                    codes = batch.coded[name].codes
                    if name in self._shown:
                        codes[paired] = self._shown[name][place ^ 1]
                    columns[name] = pa.array(smallest(codes, len(self._values[name])))
                elif name in carried:
                    columns[name] = carried[name]
            yield pa.RecordBatch.from_pydict(columns)
        self._deal.check_complete()

    def _collect(self) -> None:
        """Note the values at all places, in a pass of its own, of columns of which the first pass counted intervals."""
        self._shown |= {name: np.empty(self.pairs.size, np.int32) for name in self._unknown}
        self._deal.restart()
        for batch in self._stream.batches(self._lookup.columns, known=self._lookup.values):
            places = self._deal.places(self._lookup.rows_of(batch))
            paired = np.flatnonzero(places >= 0)
            for name in self._unknown:
                self._shown[name][places[paired]] = batch.coded[name].codes[paired]
        self._deal.check_complete()

    def columns(self, rows: pa.Table, first: int) -> dict[str, pa.Array]:
        """Some rows in their released order as released columns, ``first`` being the number of those before them."""
        import pyarrow as pa

        columns = {}
        for name in self.names:
            if name in self._values:
                codes = rows[name].combine_chunks().to_numpy(zero_copy_only=False)
                indices = pa.array(codes.astype(np.int32), mask=codes < 0)
                columns[name] = pa.DictionaryArray.from_arrays(indices, self._values[name])
            elif name in self._carried:
                columns[name] = rows[name].combine_chunks()
            else:
                columns[name] = pa.array(np.arange(first + 1, first + rows.num_rows + 1))
        return columns
