"""A uniformly random order of rows that stream by, in memory of one bucket, from a secret.

Each row goes to one of ``B`` buckets on disk, drawn uniformly and independently of everything else; at the end every
bucket is read, put in a uniformly random order, and the buckets follow each other.

Why each of the ``N!`` orders of ``N`` rows is equally likely.  Take one order of the rows and sizes of buckets
``k_1 + ... + k_B = N``.  The rows come out in this order with buckets of these sizes just where the first ``k_1`` of
them went to the first bucket, the next ``k_2`` to the second, and so on, which has the chance ``B ** -N``; and where
each bucket was put in the one order that is asked, which has the chance ``1 / (k_1! ... k_B!)``.  Neither depends on
the order that was taken, and so neither does their sum over all sizes.

Numbers of buckets are drawn in blocks of rows, so that the order follows from the secret, the rows and the number of
buckets alone, and not from the batches in which the rows come.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.os_support import arrow_file
from engine.common.streams import derive, generator

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BUCKETS = 128
"""The most buckets: their files are open at the same time, and some systems allow a process 256."""
_BUCKET_BYTES = 1 << 26
_BLOCK = 1 << 16  # rows whose buckets are drawn together; part of the order


def buckets_for(n_rows: int, row_bytes: int) -> int:
    """The number of buckets for so many rows of so many bytes: 1 to :data:`MOST_BUCKETS`, of 64 MB where that is
    enough."""
    return min(MOST_BUCKETS, 1 + n_rows * row_bytes // _BUCKET_BYTES)


class ExternalShuffle:
    """Rows in an order in which each is as likely as any other.

    ``folder`` is an existing private folder for the buckets, which its owner removes.  :meth:`add` all rows, of one
    schema without dictionary-coded columns, then go once through :meth:`shuffled`.
    """

    def __init__(self, folder: Path, secret: bytes, n_buckets: int) -> None:
        if not 1 <= n_buckets <= MOST_BUCKETS:
            raise ValueError(f"{n_buckets} buckets, must be 1 to {MOST_BUCKETS}")
        self._secret = secret
        self._paths = [folder / f"{bucket}.rows" for bucket in range(n_buckets)]
        self._files: list[Any] = []
        self._writers: list[Any] = []
        self._n_rows = 0
        self._block = np.empty(0, np.uint8)

    def __len__(self) -> int:
        """The number of buckets."""
        return len(self._paths)

    @property
    def n_rows(self) -> int:
        """The number of rows that were added."""
        return self._n_rows

    def add(self, rows: pa.RecordBatch) -> None:
        """Take the next rows."""
        import pyarrow as pa
        from pyarrow import ipc

        if not self._n_rows:
            self._files = [arrow_file(path, "wb") for path in self._paths]
            self._writers = [ipc.new_stream(file, rows.schema) for file in self._files]
        bucket = self._buckets(rows.num_rows)
        order = np.argsort(bucket, kind="stable")
        partitioned, first = rows.take(pa.array(order)), 0
        for number, size in enumerate(np.bincount(bucket, minlength=len(self._paths)).tolist()):
            if size:
                self._writers[number].write_batch(partitioned.slice(first, size))
            first += size

    def shuffled(self) -> Iterator[pa.Table]:
        """The rows in their new order, a bucket at a time, whose file is removed."""
        import pyarrow as pa
        from pyarrow import ipc

        self.close()
        for number, path in enumerate(self._paths if self._n_rows else ()):
            with arrow_file(path) as file, ipc.open_stream(file) as stored:
                rows = stored.read_all().combine_chunks()
            path.unlink()
            order = generator(derive(self._secret, "rows in a bucket", (number,))).permutation(rows.num_rows)
            if rows.num_rows:
                yield rows.take(pa.array(order))

    def close(self) -> None:
        """Close the files of the buckets, all of them even where a full disk makes one fail: some systems keep a file
        that is open."""
        with ExitStack() as closing:
            for file in (*self._files, *self._writers):  # writers are closed first
                closing.callback(file.close)
            self._files, self._writers = [], []

    def _buckets(self, n_rows: int) -> np.ndarray:
        """The bucket of each of the next rows."""
        parts, needed = [], n_rows
        while needed:
            if not len(self._block):
                rng = generator(derive(self._secret, "bucket of a row", (self._n_rows // _BLOCK,)))
                self._block = rng.integers(0, len(self._paths), _BLOCK, dtype=np.uint8)
            part, self._block = self._block[:needed], self._block[needed:]
            parts.append(part)
            needed -= len(part)
            self._n_rows += len(part)
        return np.concatenate(parts) if parts else np.empty(0, np.uint8)
