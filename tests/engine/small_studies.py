"""A small table to sweep, plans on it, and what a study of them holds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

from engine.plan import Plan, SpacePlan
from engine.plan.coding import code
from engine.study.study import Study
from engine.sweeps.candidates import scenarios_of
from engine.sweeps.evaluator import Question, question_of
from engine.sweeps.groups import TaskBatch, group
from engine.sweeps.sweep import sweep
from tests import forked
from tests.small_tables import KEY, Small

ROOT = Path(__file__).parents[2]
SHAPE = (3, 2, 4, 2)
SMALL = Small(tuple(cell for i, cell in enumerate(product(*map(range, SHAPE))) for _ in range(1 + (7 * i) % 5)), SHAPE)
RAW = SMALL.raw()


def plan_of(**parts) -> Plan:
    space = {"swap_sizes": (1, 2), "rates": ("0.1", "0.5"), "replicates": 4, **parts.pop("space", {})}
    return SMALL.plan(space=SpacePlan(**space), **parts)


def keyed(path: Path, key: bytes = KEY) -> Path:
    """The same path, with the key of its study beside it."""
    Path(f"{path}.key").write_text(key.hex() + "\n")
    return path


def table_of(study: Study) -> list[tuple]:
    """All rows with labels in place of places: two studies are the same when these are."""
    results = study.runs.results()
    labels = [scenario.label for scenario in study.scenarios]
    figures = map(tuple, np.nan_to_num(results.values, nan=-9).tolist())
    heads = zip(results.scenario, results.replicate, results.status, results.changed, strict=True)
    return sorted((labels[s], int(r), int(t), int(c), *f) for (s, r, t, c), f in zip(heads, figures, strict=True))


def swept(path: Path, plan: Plan | None = None, **how) -> list[tuple]:
    with sweep(RAW, plan, path, **{"workers": 1, **how}) as study:
        return table_of(study)


def sweep_with_stops(plan: Plan, path: Path, stops: Sequence[int]) -> None:
    """Fill a study that is interrupted after each of these numbers of runs and resumed every time."""
    for stop in (*stops, None):

        def on_progress(done: int, total: int, stop: int | None = stop) -> None:
            if stop is not None and done >= stop:
                raise KeyboardInterrupt

        try:
            sweep(RAW, plan, path, workers=1, on_progress=on_progress).close()
        except KeyboardInterrupt:
            assert stop is not None


def a_task(plan: Plan, replicates: tuple[int, ...] = (1, 2)) -> tuple[Question, TaskBatch]:
    """The question of a plan on these records, and a bundle of all its tasks."""
    asked = question_of(plan, code(RAW, plan))
    specs, _ = scenarios_of(plan, code(RAW, plan))
    return asked, TaskBatch((one, replicates) for one in group(specs, asked.table))


def wait_for(process: forked.Started, at_least: int) -> None:
    assert process.stdout
    for line in process.stdout:
        if int(line.split()[0]) >= at_least:
            return
    raise AssertionError("the sweep ended early")


def end(process: forked.Started) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream:
            stream.close()
