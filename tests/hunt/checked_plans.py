"""A plan that `plan check` finds no fault with is one that a sweep runs, and a plan that a sweep refuses is found."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from engine.common.errors import EngineError
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.plan import check_plan, edit_plan, plan_from_toml
from engine.sweeps.sweep import plan_problems, sweep
from tests.hunt import bad_plans


def trials(rng: random.Random, count: int) -> Iterator[tuple[str, str]]:
    """What comes of plans of :mod:`tests.hunt.bad_plans`, tried both ways."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.csv"
        data.write_text(bad_plans.DATA)
        raw = read_table(data)
        for number in range(count):
            yield compare(bad_plans.text(rng), raw, Path(folder) / f"{number}.study")


def compare(text: str, raw: RawTable, path: Path) -> tuple[str, str]:
    """What came of a plan: refused by both, accepted by both, or a fault."""
    try:
        plan = edit_plan(plan_from_toml(text), replicates=1)
        if plan.space.adaptive or plan.space.search:
            budget = min(plan.space.budget, 10) if plan.space.search else None
            plan = edit_plan(plan, replicates=plan.space.screen, budget=budget)
    except EngineError as error:
        return "refused", str(error)
    problems = plan_problems(plan, raw)
    try:
        with sweep(raw, plan, path, workers=1) as study:
            done = study.progress.state == "finished"
    except EngineError as error:
        left = sorted(one.name for one in path.parent.glob(path.name + "*"))
        if left and not problems:
            return "left", f"{left}: {error}\n{text}"
        return ("refused", str(error)) if problems else ("wrong", f"checked, and refused: {error}\n{text}")
    finally:
        for one in path.parent.glob(path.stem + ".*"):
            one.unlink()
    if problems and not check_plan(plan, raw):
        return "wrong", f"run, and found fault with: {problems}\n{text}"
    return ("accepted", "") if done else ("wrong", f"not finished\n{text}")
