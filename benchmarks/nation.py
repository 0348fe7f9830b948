"""The cost of a nation's file: the first pass by streaming, beside the parser alone, and the export of a release,
beside a copy of the file.

A hundred million records are made up from CPS-8D where the shared folder holds it, else from the sample ``fair``: 8
attributes and a carried number, as Parquet files with row groups of a million records, the first tenth also as CSV.
The first pass and the parser take turns, each in a process of its own, over the same shares of the files; the time of
starting is left out of both where one more record is priced. A tenth of the records is released in pairs, as Parquet.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks._harness import process, word
from benchmarks._tables import CALLS, KEY, first_table
from engine.bundle.released_files import ExternalShuffle, SecondPass, buckets_for, check_written, write_files
from engine.common.streams import derive
from engine.data.io import stream as parts
from engine.data.io.counting import count, default_threads
from engine.data.io.stream import BATCH, open_stream
from engine.plan import AttributePlan, DataPlan, Plan, plan_to_toml
from engine.plan.coding import code, tabulate
from engine.plan.types import SpacePlan
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.study.study import Study
from engine.sweeps.evaluator import Question
from engine.sweeps.remake import remake_cells

RECORDS, RATE = 10**8, "0.1"
MOST_MEMORY, MOST_RATIO = 1.5e9, 2.0
"""Targets: bytes of memory; CPU time of one more record, beside the parser alone."""
MODELLED = (330_000_000, 1_400_000_000)
_GROUP = 1_000_000  # records of a row group, ten of them a file
_SHARES = (0.1, 0.3, 1.0)  # of the records, for the model of the time
_ROUNDS = 3  # after one that finds code and files unprepared
_TASKS = {"parse": "parser alone", "count": "counted by streaming"}
_PAIR_BYTES = 40  # bytes of memory a pair, counted array by array
_ROW_BYTES = 24  # bytes of a row in a bucket, as SecondPass.row_bytes reckons them


class Cost(NamedTuple):
    """The cost of a process: seconds by the clock and of the processors, bytes of memory at most, records, rows."""

    clock: float
    busy: float
    memory: int
    n_records: int = 0
    n_rows: int = 0


def make_up(folder: Path, n_records: int) -> None:
    """Write records with the attributes of a random record of the sample, and with a number of their own."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    table, rng = first_table(), np.random.default_rng(5)
    ends, attributes = np.cumsum(table.counts), table.domain.attributes[:8]

    def group(n: int) -> pa.Table:
        cells = table.cells[np.searchsorted(ends, rng.integers(0, ends[-1], n), side="right")]
        columns = {a.name: pa.array(a.levels).take(pa.array(cells[:, j])) for j, a in enumerate(attributes)}
        return pa.table({**columns, "weight": np.round(rng.gamma(2.0, 700.0, n))})

    def groups(n: int) -> list[int]:
        return [min(_GROUP, n - start) for start in range(0, n, _GROUP)]

    sizes = groups(n_records)
    for number in range(0, len(sizes), 10):
        with parquet.ParquetWriter(folder / f"part-{number // 10:03}.parquet", group(1).schema) as writer:
            for n in sizes[number : number + 10]:
                writer.write_table(group(n), row_group_size=_GROUP)
    with csv.CSVWriter(folder.parent / "people.csv", group(1).schema) as writer:
        for n in groups(n_records // 10):
            writer.write_table(group(n))


def cost_of_this(action: Callable[[], tuple[int, int]]) -> Cost:
    """The cost of an action, which returns records and rows, where this process does nothing else."""
    began, busy = time.perf_counter(), time.process_time()
    counts = action()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Cost(time.perf_counter() - began, time.process_time() - busy, memory, *counts)


def work(task: str, *arguments: str) -> Cost:
    """Parse or count the first pieces of a source, or run a command."""
    if task == "command":
        from engine.cli.main import main as command

        return cost_of_this(lambda: (command(list(arguments)), 0))
    stream, share = open_stream(Path(arguments[0])), float(arguments[1])
    names = stream.names[:-1]
    if share < 1:  # whole files of it
        n_parts = max(1, round(share * len(stream.parts)))
        stream = type(stream)(stream.path, stream.names, stream.parts[:n_parts], stream.states[:n_parts], stream.source)

    def counted() -> tuple[int, int]:
        found = count(stream, names)
        return int(found.counts.sum()), len(found.counts)

    def parsed() -> tuple[int, int]:
        def parse(unit: parts.Unit) -> int:
            return sum(n for _, n in parts.read_unit(stream.parts[unit.part], unit, names, BATCH))

        with ThreadPoolExecutor(default_threads()) as executor:
            return sum(executor.map(parse, stream.units())), 0

    return cost_of_this(counted if task == "count" else parsed)


def cost_of(task: str, *arguments: object) -> Cost:
    """The cost of a task in a process of its own."""
    return Cost(*json.loads(process("-m", "benchmarks.nation", task, *map(str, arguments)).out.splitlines()[-1]))


def rounds_of(path: Path, shares: Sequence[float] = (1.0,)) -> list[dict[str, list[Cost]]]:
    """The costs of both tasks for each share of the records, round after round."""
    return [{task: [cost_of(task, path, share) for share in shares] for task in _TASKS} for _ in range(1 + _ROUNDS)][1:]


def middle(costs: Sequence[Cost]) -> Cost:
    """The cost with the median CPU time."""
    return sorted(costs, key=lambda cost: cost.busy)[len(costs) // 2]


def line(costs: Sequence[Cost], what: str) -> tuple[float, float]:
    """The seconds of one more record and of the start: those of a straight line through the costs."""
    slope, start = np.polyfit([cost.n_records for cost in costs], [getattr(cost, what) for cost in costs], 1)
    return float(slope), float(start)


def first_pass(people: Path) -> None:
    """Print the cost of the first pass and of the parser alone."""
    print(f"{'first pass':34} {'records':>13} {'clock s':>8} {'CPU s':>8} {'ns/record':>10} {'MB of memory':>13}")

    def show(what: str, cost: Cost) -> None:
        each, memory = 1e9 * cost.busy / cost.n_records, cost.memory / 1e6
        print(f"{what:34} {cost.n_records:13,} {cost.clock:8.2f} {cost.busy:8.2f} {each:10.1f} {memory:13,.0f}")

    rounds, of_text = rounds_of(people, _SHARES), rounds_of(people.parent / "people.csv")
    costs = {task: [middle([of[task][k] for of in rounds]) for k in range(len(_SHARES))] for task in _TASKS}
    text = {task: middle([of[task][0] for of in of_text]) for task in _TASKS}
    for task, what in _TASKS.items():
        for cost in costs[task]:
            show(what, cost)
        show(f"CSV, {what}", text[task])
    whole, parser = costs["count"][-1], costs["parse"][-1]
    print(
        f"beside the parser alone, start included: CPU {whole.busy / parser.busy:.2f}, clock "
        f"{whole.clock / parser.clock:.2f}; of CSV, CPU {text['count'].busy / text['parse'].busy:.2f}"
    )
    model_first_pass(rounds, costs["count"])


def model_first_pass(rounds: Sequence[Mapping[str, Sequence[Cost]]], costs: Sequence[Cost]) -> None:
    """Print the time of larger files by a straight line through the measured ones, and the targets."""
    if len({cost.n_records for cost in costs}) > 1:
        ratios = sorted(line(of["count"], "busy")[0] / line(of["parse"], "busy")[0] for of in rounds)
        ratio = ratios[len(ratios) // 2]
        verdict = word("one more record, CPU ÷ parser alone", ratio, most=MOST_RATIO)
        print(f"one more record beside the parser alone, CPU, median: {ratio:.2f} (<= {MOST_RATIO:g}: {verdict})")
        for what in ("clock", "busy"):
            slope, start = line(costs, what)
            later = ", ".join(f"{start + slope * m:,.0f} s for {m:,}" for m in MODELLED)
            print(f"model, {what}: t = {start:.2f} s + {1e9 * slope:.1f} ns a record, so {later}")
    memory = costs[-1].memory / 1e6
    met = word("memory of the first pass, MB", memory, most=MOST_MEMORY / 1e6)
    print(
        f"memory at most {memory:,.0f} MB (<= {MOST_MEMORY / 1e6:,.0f} MB: {met}); it follows the size of a row group "
        f"and the {costs[-1].n_rows:,} distinct rows, not the records\n"
    )


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
    """Read and write the same columns by the same library, as they stand."""
    from pyarrow import parquet

    files = sorted(source.iterdir())
    with parquet.ParquetWriter(target, parquet.read_schema(files[0])) as writer:
        for path in files:
            with parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(_GROUP):
                    writer.write_batch(batch, row_group_size=_GROUP)
    target.unlink()


def steps(folder: Path, people: Path, plan: Plan) -> list[tuple[str, float, float]]:
    """Time the copy and each step of an export."""
    clock = _Clock()
    clock("copy of the file", lambda: _copy(people, folder / "copy.parquet"))
    data = code(clock("first pass: cells", lambda: tabulate(open_stream(people), plan)), plan)
    spec = ReleaseSpec(AttributeSpec(data.domain.names, "SS" + "U" * (len(data.domain) - 2)), RATE)
    question = Question(data.table, CALLS, plan)
    remade = clock("pairs of cells, figures", lambda: remake_cells(data, question, spec, derive(KEY, "run")))
    second_pass = clock("pairs to raw rows", lambda: SecondPass(remade, ()))
    n_buckets = buckets_for(data.n_records, second_pass.row_bytes)
    shuffle = ExternalShuffle(folder, KEY, n_buckets)
    clock("second pass into buckets", lambda: [shuffle.add(rows) for rows in second_pass.rows()] and None)
    shuffle.close()
    scratch = sum(file.stat().st_size for file in folder.glob("*.rows"))
    clock("buckets to Parquet", lambda: write_files(folder, ("parquet",), second_pass, shuffle.shuffled()))
    released = folder / "release.parquet"
    clock("reading back", lambda: check_written(released, remade, plan, second_pass.names))
    print(
        f"export: {len(remade.pairs):,} pairs of {len(data.table):,} cells, {n_buckets} buckets of "
        f"{scratch / 1e6:,.0f} MB in all, release {released.stat().st_size / 1e6:,.0f} MB"
    )
    released.unlink()
    return clock.rows


def exported(folder: Path, people: Path, plan: Plan) -> Cost:
    """The cost of ``frontier export`` as a process."""
    (folder / "plan.toml").write_text(plan_to_toml(plan), encoding="utf-8")
    study = folder / "people.study"
    sweep = ("sweep", people, "--stream", "--plan", folder / "plan.toml", "--study", study, "--workers", "1")
    cost_of("command", *sweep)
    with Study.open(study) as opened:
        run = f"{opened.scenarios[0].label}/1"
    export = ("export", study, "--data", people, "--candidate", run, "--out", folder / "out", "--formats", "parquet")
    return cost_of("command", *export)


def export(folder: Path, people: Path, n_records: int) -> None:
    """Print the steps of an export, the whole command, and the model of larger files."""
    attributes = open_stream(people).names[:-1]
    space = SpacePlan(specs=(f"{attributes[0]}:S {attributes[1]}:S",), rates=(RATE,), replicates=1)
    data = DataPlan(tuple(AttributePlan(name) for name in attributes), carry=("weight",))
    plan = Plan(data, space=space, measures=tuple(map(str, CALLS)))
    rows, cost = steps(folder, people, plan), exported(folder, people, plan)
    rows.append(("export, all steps", sum(row[1] for row in rows[1:]), sum(row[2] for row in rows[1:])))
    rows.append(("frontier export, the process", cost.clock, cost.busy))
    print(f"{'step':29} {'clock s':>8} {'CPU s':>8} {'ns/record':>10} {'CPU of a copy':>14}")
    for step, clock, busy in rows:
        print(f"{step:29} {clock:8.2f} {busy:8.2f} {1e9 * busy / n_records:10.0f} {busy / rows[0][2]:14.2f}")
    met = word("memory of the export, MB", cost.memory / 1e6, most=MOST_MEMORY / 1e6)
    print(f"memory of the process at most {cost.memory / 1e6:,.0f} MB (<= {MOST_MEMORY / 1e6:,.0f} MB: {met})")
    model_export(cost, n_records)


def model_export(cost: Cost, n_records: int) -> None:
    """Larger files: time in proportion to records, memory to pairs and to the largest bucket, held three times."""

    def varying(n: int, rate: float = float(RATE)) -> float:
        return _PAIR_BYTES * rate / 2 * n + 3 * _ROW_BYTES * n / buckets_for(n, _ROW_BYTES)

    base = cost.memory - varying(n_records)
    for n in MODELLED:
        minutes, busy = (n * taken / n_records / 60 for taken in (cost.clock, cost.busy))
        sizes = " and ".join(f"{(base + varying(n, rate)) / 1e6:,.0f} MB at {rate:.0%}" for rate in (0.01, float(RATE)))
        print(f"  model, {n:13,} records: {minutes:.0f} minutes by the clock, {busy:.0f} of CPU; memory {sizes}")


def main(small: bool = False) -> None:
    """Make the records, measure, and remove them."""
    n_records = RECORDS // 2000 if small else RECORDS
    with tempfile.TemporaryDirectory(prefix="nation-") as name:
        people = Path(name) / "people"
        people.mkdir()
        make_up(people, n_records)
        sizes = [file.stat().st_size for file in people.iterdir()]
        print(f"{n_records:,} records, {sum(sizes) / 1e6:,.0f} MB in {len(sizes)} Parquet files")
        first_pass(people)
        export(Path(name), people, n_records)


if __name__ == "__main__":
    print(json.dumps(work(*sys.argv[1:])))
