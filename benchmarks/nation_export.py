"""What the release of a nation's file costs: the second pass, the shuffle on disk and reading back, beside a copy.

``python benchmarks/nation_export.py [RECORDS]`` makes up so many records (a million when not told) like those of CPS-8D
where the shared folder holds it, else of the sample ``fair``: 8 attributes of text and a carried number.  They lie as a
Parquet file in the folder for temporary files; a tenth of them is released in pairs, as Parquet.  All files are removed
at the end.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    # Run as a file, only this folder is searched; the engine and the twins are one above.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks._tables import CALLS, KEY, first_table
from engine.bundle.external_shuffle import ExternalShuffle, buckets_for
from engine.bundle.second_pass import SecondPass
from engine.bundle.streamed_release import check_written, write_files
from engine.common.streams import derive
from engine.data.io.stream import open_stream
from engine.data.io.writers import parquet_file
from engine.data.microdata import RawTable
from engine.plan import AttributePlan, DataPlan, Plan
from engine.plan.recode import code
from engine.plan.tabulate import tabulate
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.sweeps.evaluator import Question
from engine.sweeps.remade_cells import remake_cells

RATE = "0.1"
MOST_MEMORY = 1.5e9
"""Target: bytes of memory."""
MODELLED = (330_000_000, 1_400_000_000)
_BATCH = 1 << 20


def make_up(path: Path, n_records: int) -> None:
    """Records whose attributes are those of a random record of the sample, with a number of their own."""
    import pyarrow as pa

    table, rng = first_table(), np.random.default_rng(5)
    attributes = table.domain.attributes[:8]
    values = {a.name: pa.array(a.levels) for a in attributes}
    types = {name: texts.type for name, texts in values.items()} | {"weight": pa.float64()}
    ends = np.cumsum(table.counts)
    with parquet_file(path, types) as write:
        for start in range(0, n_records, _BATCH):
            n = min(_BATCH, n_records - start)
            like = table.cells[np.searchsorted(ends, rng.integers(0, ends[-1], n), side="right")]
            arrays = [texts.take(pa.array(like[:, j])) for j, texts in enumerate(values.values())]
            write([*arrays, pa.array(np.round(rng.gamma(2.0, 700.0, n), 2))])


class _Clock:
    """Steps with their seconds by the clock and of the processor."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, float]] = []

    def __call__(self, step: str, action: Callable[[], Any]) -> Any:
        began, busy = time.perf_counter(), time.process_time()
        result = action()
        self.rows.append((step, time.perf_counter() - began, time.process_time() - busy))
        return result


def _copy(source: Path, target: Path) -> None:
    """The same columns read and written, as they stand, by the same library."""
    from pyarrow import parquet

    with parquet.ParquetFile(source) as file, parquet.ParquetWriter(target, file.schema_arrow) as writer:
        for batch in file.iter_batches(_BATCH):
            writer.write_batch(batch, row_group_size=_BATCH)


def export(folder: Path, n_records: int) -> None:
    """Time each step, and print it beside the copy."""
    clock, path = _Clock(), folder / "people.parquet"
    make_up(path, n_records)
    clock("copy of the file", lambda: _copy(path, folder / "copy.parquet"))
    (folder / "copy.parquet").unlink()
    plan = Plan(DataPlan(tuple(AttributePlan(name) for name in open_stream(path).names[:-1]), carry=("weight",)))
    raw: RawTable = clock("first pass: cells", lambda: tabulate(open_stream(path), plan))
    data = code(raw, plan)
    spec = ReleaseSpec(AttributeSpec(data.domain.names, "SS" + "U" * (len(data.domain) - 2)), RATE)
    question = Question(data.table, CALLS, plan)
    remade = clock("pairs of cells, figures", lambda: remake_cells(data, question, spec, derive(KEY, "run")))
    second_pass = clock("pairs to raw rows", lambda: SecondPass(remade, ()))
    shuffle = ExternalShuffle(folder, KEY, buckets_for(n_records, second_pass.row_bytes))
    clock("second pass into buckets", lambda: [shuffle.add(rows) for rows in second_pass.rows()] and None)
    scratch = sum(file.stat().st_size for file in folder.glob("*.rows"))
    clock("buckets to Parquet", lambda: write_files(folder, ("parquet",), second_pass, shuffle.shuffled()))
    clock("reading back", lambda: check_written(folder / "release.parquet", remade.table, plan, second_pass.names))
    _print(clock.rows, n_records, path.stat().st_size, scratch, (folder / "release.parquet").stat().st_size)
    print(f"{len(remade.pairs):,} pairs of {len(data.table):,} cells, {len(shuffle)} buckets")


def _print(rows: list[tuple[str, float, float]], n_records: int, size: int, scratch: int, written: int) -> None:
    copy = rows[0]
    print(f"\nexport of {n_records:,} records ({size / 1e6:,.0f} MB of Parquet), {RATE} of them in pairs")
    print(f"{'step':26} {'clock s':>8} {'CPU s':>8} {'ns/record':>10} {'MB/s':>7} {'of a copy':>9}")
    whole = ("export, all steps", sum(row[1] for row in rows[1:]), sum(row[2] for row in rows[1:]))
    for step, clock, busy in (*rows, whole):
        print(
            f"{step:26} {clock:8.2f} {busy:8.2f} {1e9 * busy / n_records:10.0f} {size / 1e6 / max(clock, 1e-9):7.0f} "
            f"{busy / copy[2]:9.2f}"
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"buckets {scratch / 1e6:,.0f} MB, release {written / 1e6:,.0f} MB; memory at most {peak / 1e6:,.0f} MB",
        end=" ",
    )
    print(f"({'met' if peak <= MOST_MEMORY else 'missed'}: {MOST_MEMORY / 1e6:,.0f})")


def main(n_records: int = 10**6) -> None:
    """Print the steps."""
    with tempfile.TemporaryDirectory() as folder:
        export(Path(folder), n_records)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
