"""What a nation's file costs until it is a table of cells: the first pass by streaming, beside the parser alone.

``python benchmarks/nation.py [RECORDS]`` makes up so many records (a hundred million when not told) whose eight
attributes are those of records of CPS-8D where the shared folder holds it, else of the sample ``fair``.  They lie as
several Parquet files with row groups of a million records in the folder for temporary files, and the first tenth of
them also as a CSV file; all are removed at the end.  Each figure is that of a process of its own; the parser alone
reads the same columns of the same pieces with as many threads, and counts nothing.  Both take turns over the same
shares of the files, several times, and what starting costs is left out of both where one more record is priced.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, TypedDict

import numpy as np

if __name__ == "__main__":
    # Run as a file, only this folder is searched; the engine and the twins are one above.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks._tables import first_table
from benchmarks._targets import word
from engine.data.io import stream as parts
from engine.data.io.counting import count, default_threads
from engine.data.io.stream import BATCH, Unit, open_stream

HERE = Path(__file__).resolve()
MOST_MEMORY = 1.5e9
"""Target: bytes of memory."""
MOST_RATIO = 2.0
"""Target: time of the processors for one more record, beside the parser alone."""
MODELLED = (330_000_000, 1_400_000_000)
_GROUP = 1_000_000  # records of a row group
_GROUPS = 10  # row groups of a file
_SHARES = (0.1, 0.3, 1.0)  # of the records, for the model of the time
_ROUNDS = 3  # after one that finds code and files unprepared
_TASKS = {"parse": "parser alone", "count": "counted by streaming"}


class Cost(TypedDict):
    """The cost of a process: seconds by the clock and of the processors, bytes of memory at most, records, rows."""

    clock: float
    busy: float
    memory: int
    n_records: int
    n_rows: int


def make_up(folder: Path, n_records: int) -> None:
    """Write records whose attributes are those of a random record of the sample."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    table, rng = first_table(), np.random.default_rng(5)
    cell_of = np.repeat(np.arange(len(table)), table.counts)
    attributes = table.domain.attributes[:8]
    levels = [pa.array(attribute.levels) for attribute in attributes]

    def group(n: int) -> pa.Table:
        cells = table.cells[cell_of[rng.integers(0, len(cell_of), n)]]
        return pa.table(
            {
                a.name: texts.take(pa.array(cells[:, j]))
                for j, (a, texts) in enumerate(zip(attributes, levels, strict=True))
            }
        )

    for number, start in enumerate(range(0, n_records, _GROUP * _GROUPS)):
        end = min(n_records, start + _GROUP * _GROUPS)
        with parquet.ParquetWriter(folder / f"part-{number:03}.parquet", group(1).schema) as writer:
            for begin in range(start, end, _GROUP):
                writer.write_table(group(min(_GROUP, end - begin)), row_group_size=_GROUP)
    with csv.CSVWriter(folder.parent / "people.csv", group(1).schema) as writer:
        for begin in range(0, n_records // 10, _GROUP):
            writer.write_table(group(min(_GROUP, n_records // 10 - begin)))


def work(task: str, path: Path, share: float) -> Cost:
    """Parse or count the first pieces of a source; the cost is that of this process."""
    stream = open_stream(path)
    if share < 1:  # whole files of it
        n_parts = max(1, round(share * len(stream.parts)))
        stream = type(stream)(stream.path, stream.names, stream.parts[:n_parts], stream.states[:n_parts], stream.source)
    began, busy = time.perf_counter(), time.process_time()
    n_rows = 0
    if task == "count":
        counted = count(stream, stream.names)
        n_records, n_rows = int(counted.counts.sum()), len(counted.counts)
    else:

        def parse(unit: Unit) -> int:
            return sum(n for _, n in parts.read_unit(stream.parts[unit.part], unit, stream.names, BATCH))

        with ThreadPoolExecutor(default_threads()) as executor:
            n_records = sum(executor.map(parse, stream.units()))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Cost(
        clock=time.perf_counter() - began,
        busy=time.process_time() - busy,
        memory=memory,
        n_records=n_records,
        n_rows=n_rows,
    )


def cost_of(task: str, path: Path, share: float = 1.0) -> Cost:
    """The cost of a task in a process of its own."""
    command = [sys.executable, str(HERE), "--work", task, str(path), str(share)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    cost: Cost = json.loads(done.stdout.splitlines()[-1])
    return cost


def rounds_of(path: Path, shares: Sequence[float] = (1.0,)) -> list[dict[str, list[Cost]]]:
    """The costs of both tasks for each share of the records, round after round."""
    return [{task: [cost_of(task, path, share) for share in shares] for task in _TASKS} for _ in range(1 + _ROUNDS)][1:]


def middle(costs: Sequence[Cost]) -> Cost:
    """The cost whose time of the processors is the median."""
    return sorted(costs, key=lambda cost: cost["busy"])[len(costs) // 2]


def line(costs: Sequence[Cost], what: Literal["busy", "clock"]) -> tuple[float, float]:
    """The seconds of one more record and of the start: those of a straight line through the costs."""
    slope, start = np.polyfit([cost["n_records"] for cost in costs], [cost[what] for cost in costs], 1)
    return float(slope), float(start)


def run(folder: Path, n_records: int) -> None:
    """Measure and print."""
    people = folder / "people"
    people.mkdir()
    make_up(people, n_records)
    sizes = [file.stat().st_size for file in people.iterdir()]
    print(
        f"\nfirst pass over {n_records:,} records of 8 attributes, {sum(sizes) / 1e6:,.0f} MB in {len(sizes)} Parquet "
        "files"
    )
    print(f"{'what':34} {'records':>13} {'clock s':>8} {'CPU s':>8} {'ns/record':>10} {'MB of memory':>13}")
    rounds = rounds_of(people, _SHARES)
    costs = {task: [middle([of[task][k] for of in rounds]) for k in range(len(_SHARES))] for task in _TASKS}
    for task, what in _TASKS.items():
        for cost in costs[task]:
            _print(what, cost)
    whole, parser = costs["count"][-1], costs["parse"][-1]
    of_clock = whole["clock"] / parser["clock"]
    print(f"beside the parser alone, start included: CPU {whole['busy'] / parser['busy']:.2f}, clock {of_clock:.2f}")
    of_text = rounds_of(folder / "people.csv")
    text = {task: middle([of[task][0] for of in of_text]) for task in _TASKS}
    for task, what in _TASKS.items():
        _print(f"CSV, {what}", text[task])
    print(f"CPU beside the parser alone: {text['count']['busy'] / text['parse']['busy']:.2f}")
    _model(rounds, costs["count"])


def _print(what: str, cost: Cost) -> None:
    per_record = 1e9 * cost["busy"] / cost["n_records"]
    print(
        f"{what:34} {cost['n_records']:13,} {cost['clock']:8.2f} {cost['busy']:8.2f} {per_record:10.1f} "
        f"{cost['memory'] / 1e6:13,.0f}"
    )


def _model(rounds: Sequence[Mapping[str, Sequence[Cost]]], costs: Sequence[Cost]) -> None:
    """Print the time of larger files by a straight line through the measured ones, and the targets."""
    whole = costs[-1]
    if len({cost["n_records"] for cost in costs}) < 2:
        print("too few records for a model of the time")
        return
    ratios = sorted(line(of["count"], "busy")[0] / line(of["parse"], "busy")[0] for of in rounds)
    ratio = ratios[len(ratios) // 2]
    verdict = word("one more record, CPU ÷ parser alone", ratio, most=MOST_RATIO)
    print(
        f"one more record beside the parser alone, CPU: {ratio:.2f}, the median of "
        f"{', '.join(f'{of:.2f}' for of in ratios)} (target {MOST_RATIO}: {verdict})"
    )
    of_both: tuple[tuple[str, Literal["busy", "clock"]], ...] = (("clock", "clock"), ("CPU", "busy"))
    for what, kind in of_both:
        slope, start = line(costs, kind)
        later = ", ".join(f"{start + slope * m:,.0f} s for {m:,}" for m in MODELLED)
        print(f"model, {what}: t = {start:.2f} s + {1e9 * slope:.1f} ns a record, so {later}")
    met = word("memory of the first pass, MB", whole["memory"] / 1e6, most=MOST_MEMORY / 1e6)
    print(
        f"memory at most {whole['memory'] / 1e6:,.0f} MB (target {MOST_MEMORY / 1e6:,.0f} MB: {met}); it follows the "
        f"size of a row group and the {whole['n_rows']:,} distinct rows, not the records"
    )


def main(n_records: int = 100_000_000) -> None:
    """Make the records, measure, and remove them."""
    with tempfile.TemporaryDirectory(prefix="nation-") as folder:
        run(Path(folder), n_records)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        print(json.dumps(work(sys.argv[2], Path(sys.argv[3]), float(sys.argv[4]))))
    else:
        main(*(int(float(text.replace(",", ""))) for text in sys.argv[1:2]))
