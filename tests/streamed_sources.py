"""Small sources for tests of streaming: the same records as a CSV file, a Parquet file and folders of parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from engine.common.errors import EngineError
from engine.data.io import stream
from engine.data.io import stream as parts

FORMS = ("csv", "parquet", "csv folder", "parquet folder")


def records(n: int, seed: int = 1, *, nulls: bool = True) -> pa.Table:
    """Records with numbers, text, amounts and a note that is carried; some values are missing."""
    rng = np.random.default_rng(seed)
    job = rng.choice(["clerk", 'said "yes"', "Müller, A", "guard"], n)
    job_missing = rng.random(n) < 0.1 if nulls else np.zeros(n, bool)
    return pa.table(
        {
            "age": pa.array(rng.integers(15, 90, n)),
            "job": pa.array(job, mask=job_missing),
            "sex": pa.array(rng.choice(["f", "m"], n)),
            "income": pa.array(np.round(rng.normal(2000, 800, n), 1)),
            "note": pa.array([f"n{k}" for k in range(n)]),
        }
    )


def write_source(folder: Path, form: str, table: pa.Table, cuts: list[int], group: int = 1 << 20) -> Path:
    """Write records as one of :data:`FORMS`; parts of a folder end at ``cuts``."""
    kind = form.split()[0]
    if form == kind:
        path = folder / f"people.{kind}"
        _write(path, table, group)
        return path
    path = folder / "people"
    path.mkdir()
    ends = [0, *sorted(cuts), len(table)]
    for number, (start, end) in enumerate(pairwise(ends)):
        _write(path / f"part-{number:03}.{kind}", table.slice(start, end - start), group)
    return path


def _write(path: Path, table: pa.Table, group: int) -> None:
    if path.suffix == ".csv":
        texts = {name: pc.fill_null(table[name].cast(pa.string()), "") for name in table.column_names}
        csv.write_csv(pa.table(texts), path)
    else:
        parquet.write_table(table, path, row_group_size=max(group, 1))


@contextmanager
def small_pieces(batch: int, unit: int, block: int) -> Iterator[None]:
    """Pieces so small that a test's file has many of them: records of a batch and a unit, bytes of a block of CSV."""
    with (
        mock.patch.object(stream, "BATCH", batch),
        mock.patch.object(parts, "_UNIT", unit),
        mock.patch.object(parts, "_CSV_BLOCK", block),
    ):
        yield


def refusal(action: Callable[[], object]) -> str:
    """The text of the error that an action raises."""
    try:
        action()
    except EngineError as error:
        return str(error)
    raise AssertionError("nothing was refused")
