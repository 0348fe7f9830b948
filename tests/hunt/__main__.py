"""``python -m tests.hunt``: try the product on generated bad inputs, kills and random interactions, and count what
happens.  Exit code 1 when anything is not as it should be."""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from tests.hunt import runner
from tests.hunt.case import VERDICTS, Case, Outcome
from tests.hunt.kinds import KINDS

Found = list[Outcome]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the hunt that the options describe."""
    args = _parser().parse_args(argv)
    found: Found = []
    began = time.monotonic()
    for name in args.only or KINDS:
        count = args.count or (KINDS[name].quick if args.quick else KINDS[name].whole)
        if not count:
            continue
        one = list(_hunt(name, count, args))
        found += one
        bad = [outcome for outcome in one if not outcome.good]
        took = time.monotonic() - began
        print(f"{name}: {len(one)} tried, {len(bad)} not as they should be, {took:.0f} s", flush=True)
        for outcome in bad[: args.show]:
            print(_words(outcome, args.seed), flush=True)
    print(table(found))
    return int(any(not outcome.good for outcome in found))


def _hunt(name: str, count: int, args: argparse.Namespace) -> Iterator[Outcome]:
    module = importlib.import_module(KINDS[name].module)
    if hasattr(module, "settle"):
        module.settle(args)
    if not hasattr(module, "cases"):
        yield from module.trials(random.Random(f"{name} {args.seed}"), count)
        return
    warm()
    if hasattr(module, "prepare"):
        module.prepare()
        gc.freeze()
    jobs = args.jobs if hasattr(os, "fork") else 1
    with tempfile.TemporaryDirectory() as folder:
        outcomes = [Path(folder) / f"{job}" for job in range(jobs)]
        children = []
        for job, to in enumerate(outcomes):
            if jobs == 1:
                _work(module, name, count, args, 0, 1, to)
            else:
                child = os.fork()
                if child == 0:
                    _child(module, name, count, args, job, jobs, to)
                children.append(child)
        failed = [child for child in children if os.waitpid(child, 0)[1]]
        if failed:
            raise SystemExit(f"the hunt itself failed on {name}")
        lines = [line for to in outcomes for line in to.read_text(encoding="utf-8").splitlines()]
    for fields in sorted(map(json.loads, lines), key=lambda fields: int(fields["number"])):
        yield Outcome(**{**fields, "argv": tuple(fields["argv"])})


def _child(*work: Any) -> None:
    code = 1
    try:
        _work(*work)
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def _work(module: Any, name: str, count: int, args: argparse.Namespace, job: int, jobs: int, to: Path) -> None:
    """Try every case whose number leaves ``job`` when divided by ``jobs``."""
    from engine.cli.main import main as command

    how = runner.in_a_fork(command)
    cases: Iterator[Case] = module.cases(random.Random(f"{name} {args.seed}"), count)
    with to.open("w", encoding="utf-8") as file:
        for number, case in enumerate(islice(cases, count)):
            if number % jobs != job or args.case not in (None, number):
                continue
            outcome = runner.try_one(case, how, number=number)
            file.write(json.dumps(outcome.__dict__) + "\n")
            if not outcome.good and args.keep:
                keep(case, outcome, args.keep / f"{name}-{args.seed}-{number}", args.seed)


def keep(case: Case, outcome: Outcome, folder: Path, seed: int) -> None:
    """Save a case that failed: its files, and beside them what was run and seen."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "work").mkdir(parents=True)
    runner.lay(case.files, folder / "work")
    (folder / "case.json").write_text(json.dumps(outcome.__dict__, indent=1), encoding="utf-8")
    (folder / "seen.txt").write_text(_words(outcome, seed), encoding="utf-8")


def _words(outcome: Outcome, seed: int) -> str:
    again = f"--only {outcome.kind} --seed {seed} --case {outcome.number}"
    said = "\n    ".join(outcome.detail.strip().splitlines()[-12:])
    return f"  {outcome.verdict}: {outcome.name}: frontier {' '.join(outcome.argv)[:300]}\n    ({again})\n    {said}"


def warm() -> None:
    """Load what commands need, at once or later, so that forks of this process have it; and what is loaded by then is
    nothing that each of them has to go through for garbage."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for module in (
        "engine.cli.main",
        "engine.plan.samples",
        "engine.sweeps.sweep",
        "engine.bundle.export",
        "engine.bundle.verify",
        "engine.mechanisms.swap_kernels",
        "pandas",
        "pyarrow.compute",
        "pyarrow.csv",
        "pyarrow.parquet",
        "scipy.stats",
        "statsmodels.api",
    ):
        importlib.import_module(module)
    gc.freeze()


def table(found: Found) -> str:
    """The counts, one line a kind."""
    kinds = dict.fromkeys(one.kind for one in found)
    counts = {kind: Counter(one.verdict for one in found if one.kind == kind) for kind in kinds}
    counts["all"] = Counter(one.verdict for one in found)
    lines = [["kind", "inputs", *VERDICTS.values()]]
    for kind, count in counts.items():
        lines.append([kind, str(count.total()), *(str(count[verdict]) for verdict in VERDICTS)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.rjust, line, widths)) for line in lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.hunt", description=__doc__)
    parser.add_argument("--only", action="append", choices=list(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--count", type=int, metavar="N", help="of each kind (default: what belongs to a whole hunt)")
    parser.add_argument("--quick", action="store_true", help="few of each kind: under a minute")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--case", type=int, metavar="K", help="only the case of that number")
    parser.add_argument("--step", type=int, metavar="K", help="of the browser: stop there")
    parser.add_argument("--jobs", type=int, default=2, metavar="J", help="cases at a time")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="save inputs that fail there")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="failures of a kind that are printed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
