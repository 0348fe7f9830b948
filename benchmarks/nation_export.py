"""What the release of a nation's file costs: a second pass, a shuffle on disk and reading back, beside a copy.

``python benchmarks/nation_export.py [RECORDS]`` makes up so many records (10^8 when not told) like those of CPS-8D
where the shared folder holds it, else of the sample ``fair``: 8 attributes and a carried number.  They lie as a Parquet
file in the folder for temporary files; a tenth of them is released in pairs, as Parquet.  The copy reads and writes the
same columns by the same library, as they stand.  All files are removed at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
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
from benchmarks._targets import word
from engine.bundle.streamed_release import ExternalShuffle, SecondPass, buckets_for, check_written, write_files
from engine.common.streams import derive
from engine.data.io.stream import open_stream
from engine.data.io.writers import parquet_file
from engine.plan import AttributePlan, DataPlan, Plan, plan_to_toml
from engine.plan.coding import code, tabulate
from engine.plan.types import SpacePlan
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.study.study import Study
from engine.sweeps.evaluator import Question
from engine.sweeps.remake import remake_cells

RATE = "0.1"
MOST_MEMORY = 1.5e9
"""Target: bytes of memory."""
MODELLED = (330_000_000, 1_400_000_000)
_BATCH = 1 << 20
_PAIR_BYTES = 40  # bytes of memory a pair, counted array by array
_ROW_BYTES = 24  # bytes of a row in a bucket, as SecondPass.row_bytes reckons them
_COMMAND = """
import json, resource, sys, time
from engine.cli.main import main
began = time.perf_counter()
assert main(sys.argv[1:]) == 0
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([time.perf_counter() - began, time.process_time(), memory]))
"""


def make_up(path: Path, n_records: int) -> None:
    """Write records whose attributes are those of a random record of the sample, with a number of their own."""
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
            write([*arrays, pa.array(np.round(rng.gamma(2.0, 700.0, n)))])


class _Clock:
    """Steps with their seconds by the clock and of the processors."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, float]] = []

    def __call__(self, step: str, action: Callable[[], Any]) -> Any:
        began, busy = time.perf_counter(), time.process_time()
        result = action()
        self.rows.append((step, time.perf_counter() - began, time.process_time() - busy))
        return result


def _copy(source: Path, target: Path) -> None:
    from pyarrow import parquet

    with parquet.ParquetFile(source) as file, parquet.ParquetWriter(target, file.schema_arrow) as writer:
        for batch in file.iter_batches(_BATCH):
            writer.write_batch(batch, row_group_size=_BATCH)


def steps(folder: Path, path: Path, plan: Plan) -> list[tuple[str, float, float]]:
    """Time the copy and each step of an export."""
    clock = _Clock()
    clock("copy of the file", lambda: _copy(path, folder / "copy.parquet"))
    (folder / "copy.parquet").unlink()
    data = code(clock("first pass: cells", lambda: tabulate(open_stream(path), plan)), plan)
    spec = ReleaseSpec(AttributeSpec(data.domain.names, "SS" + "U" * (len(data.domain) - 2)), RATE)
    question = Question(data.table, CALLS, plan)
    remade = clock("pairs of cells, figures", lambda: remake_cells(data, question, spec, derive(KEY, "run")))
    second_pass = clock("pairs to raw rows", lambda: SecondPass(remade, ()))
    shuffle = ExternalShuffle(folder, KEY, buckets_for(data.n_records, second_pass.row_bytes))
    clock("second pass into buckets", lambda: [shuffle.add(rows) for rows in second_pass.rows()] and None)
    shuffle.close()
    scratch = sum(file.stat().st_size for file in folder.glob("*.rows"))
    clock("buckets to Parquet", lambda: write_files(folder, ("parquet",), second_pass, shuffle.shuffled()))
    released = folder / "release.parquet"
    clock("reading back", lambda: check_written(released, remade, plan, second_pass.names))
    print(
        f"\n{data.n_records:,} records, {path.stat().st_size / 1e6:,.0f} MB of Parquet: {len(remade.pairs):,} pairs of "
        f"{len(data.table):,} cells, {len(shuffle)} buckets of {scratch / 1e6:,.0f} MB in all, release "
        f"{released.stat().st_size / 1e6:,.0f} MB"
    )
    released.unlink()
    return clock.rows


def command(folder: Path, path: Path, plan: Plan) -> tuple[float, float, float]:
    """Seconds by the clock, of the processors, and bytes of memory at most of ``frontier export`` as a process."""
    (folder / "plan.toml").write_text(plan_to_toml(plan), encoding="utf-8")
    study = str(folder / "people.study")

    def run(*arguments: str) -> tuple[float, float, float]:
        words = [sys.executable, "-c", _COMMAND, *arguments]
        here = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=here)
        clock, busy, memory = json.loads(done.stdout.splitlines()[-1])
        return clock, busy, memory

    run("sweep", str(path), "--stream", "--plan", str(folder / "plan.toml"), "--study", study, "--workers", "1")
    with Study.open(study) as opened:
        run_of = f"{opened.scenarios[0].label}/1"
    export = ["export", study, "--data", str(path), "--candidate", run_of, "--out", str(folder / "out")]
    return run(*export, "--formats", "parquet")


def _model(cost: tuple[float, float, float], n_records: int) -> None:
    """Larger files: time in proportion to records, memory to pairs and to the largest bucket, held three times."""
    clock, busy, memory = cost

    def of_bucket(n: int) -> float:
        return 3 * _ROW_BYTES * n / buckets_for(n, _ROW_BYTES)

    def of_pairs(n: int, rate: float) -> float:
        return _PAIR_BYTES * rate / 2 * n

    base = memory - of_pairs(n_records, float(RATE)) - of_bucket(n_records)
    print(
        f"model: clock {1e9 * clock / n_records:.0f} ns and CPU {1e9 * busy / n_records:.0f} ns a record; memory "
        f"{base / 1e6:,.0f} MB, {_PAIR_BYTES} bytes a pair, and three buckets"
    )
    for n in MODELLED:
        sizes = " and ".join(
            f"{(base + of_pairs(n, rate) + of_bucket(n)) / 1e6:,.0f} MB at {100 * rate:g} %"
            for rate in (0.01, float(RATE))
        )
        print(
            f"  {n:13,} records: {n * clock / n_records / 60:.0f} minutes by the clock, "
            f"{n * busy / n_records / 60:.0f} of the processors; memory {sizes}"
        )


def main(n_records: int = 10**8) -> None:
    """Print the steps, the whole command, and the model of larger files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "people.parquet"
        make_up(path, n_records)
        attributes = open_stream(path).names[:-1]
        space = SpacePlan(specs=(f"{attributes[0]}:S {attributes[1]}:S",), rates=(RATE,), replicates=1)
        data = DataPlan(tuple(AttributePlan(name) for name in attributes), carry=("weight",))
        plan = Plan(data, space=space, measures=tuple(map(str, CALLS)))
        size = path.stat().st_size / 1e6
        rows = steps(folder, path, plan)
        cost = command(folder, path, plan)
    rows.append(("export, all steps", sum(row[1] for row in rows[1:]), sum(row[2] for row in rows[1:])))
    rows.append(("frontier export, the process", *cost[:2]))
    print(f"{'step':29} {'clock s':>8} {'CPU s':>8} {'ns/record':>10} {'MB/s':>7} {'CPU of a copy':>14}")
    for step, clock, busy in rows:
        of_copy = busy / rows[0][2]
        speed = size / max(clock, 1e-9)
        print(f"{step:29} {clock:8.2f} {busy:8.2f} {1e9 * busy / n_records:10.0f} {speed:7.0f} {of_copy:14.2f}")
    met = word("memory of the export, MB", cost[2] / 1e6, most=MOST_MEMORY / 1e6)
    print(f"memory of the process at most {cost[2] / 1e6:,.0f} MB ({met}: {MOST_MEMORY / 1e6:,.0f})")
    _model(cost, n_records)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
