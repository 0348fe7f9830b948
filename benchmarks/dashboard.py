"""Times of the dashboard's interactions in a real browser, against their limits.

Each runs from the last key or button to the last change of the page, the median of three. The small studies are the
samples with one- and two-attribute swaps at three rates, 20 replicates each; the large one holds a million made-up
scenarios, whose figures follow rate and roles with noise on top; one has a file of 300 columns.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks._harness import word
from engine.data.io.readers import read_table
from engine.frontier.choosing import FEWEST_RUNS
from engine.plan import edit_plan, guess_plan, plan_to_toml, samples
from engine.release.spec import AttributeSpec
from engine.release.specs import ReleaseSpecs
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.sweep import sweep
from tests.conftest import find_chromium
from tests.shared import folder

if TYPE_CHECKING:
    from frontier_app.session.workspace import Workspace

MANY = 1_000_000
LIMITS = {"small": 0.5, "large": 1.5}
"""Seconds within which an interaction should answer."""
FIRST = 2.0
"""Seconds within which the first page, or the map of a study, should be there, on a fresh server too."""
WIDE = 300
"""Columns of the widest file."""
PAGES = {
    "candidates": "Candidates",
    "compare": "Compare",
    "decide": "Decide",
    "release": "Export",
    "data": "Data",
    "explore": "Explore",
}
"""Pages in the order in which they are gone to, with their names in the navigation."""


def sample(at: Workspace, name: str) -> Path:
    """The default study of a sample."""
    raw, plan = samples.load(name)
    plan = edit_plan(plan, swap_sizes=[1, 2], rates=["0.01", "0.02", "0.1"], replicates=20)
    at.save_plan(plan_to_toml(plan))
    sweep(raw, plan, at.folder / "study-1.study", workers=1).close()
    return at.folder / "study-1.study"


def wide(at: Workspace, seed: int = 1) -> Path:
    """The study of a file with :data:`WIDE` columns, of which four are attributes."""
    rng = np.random.default_rng(seed)
    columns = {f"q{i}": rng.integers(1, 2 + i % 7, 2_000).astype(str) for i in range(1, WIDE + 1)}
    path = at.folder / "wide.csv"
    lines = [",".join(row) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join([",".join(columns), *lines]) + "\n", encoding="utf-8")
    at.note(data=str(path), study="study-1.study")
    raw = read_table(path)
    plan = edit_plan(
        guess_plan(raw, attributes=["q2", "q3", "q4", "q5"]), swap_sizes=[1, 2], rates=["0.1"], replicates=20
    )
    at.save_plan(plan_to_toml(plan))
    sweep(raw, plan, at.folder / "study-1.study", workers=1).close()
    return at.folder / "study-1.study"


def large(at: Workspace, n: int, seed: int = 1) -> Path:
    """A study of ``n`` made-up scenarios, filled straight through the study's own interface.

    One in a hundred has as many runs as a choice takes, the others one each.
    """
    raw, plan = samples.load("czech")
    plan = edit_plan(plan, swap_sizes=[1], rates=["0.01"], replicates=1)
    path = at.folder / "study-1.study"
    sweep(raw, plan, path, workers=1).close()
    at.save_plan(plan_to_toml(plan))
    rng = np.random.default_rng(seed)
    with Study.open(path) as study:
        names, n_records = study.names, int(study.about["n_records"])
        roles = [AttributeSpec(names, "".join(r)) for r in product("SFCU", repeat=len(names)) if "S" in r]
        have = len(study.scenarios)
        rates = [f"{(i + 101) / 10_000:.4f}".rstrip("0") for i in range(-(-(n - have) // len(roles)))]
        places = np.arange(len(roles) * len(rates)).reshape(len(roles), -1).T.ravel()[: n - have]  # rate by rate
        specs = ReleaseSpecs.product(roles, rates).take(places)
        study.scenario_table.add(specs)
        total = len(study.scenarios)
        shares = np.array(list(map(float, rates)))[specs.procedure_codes]
        swapped = np.array([role.roles.count("S") for role in roles])[specs.spec_codes]
        loss = np.sqrt(shares * swapped) * rng.uniform(0.5, 1.5, len(specs))
        risk = 0.0027 * np.exp(-8 * loss * rng.uniform(0.5, 1.5, len(specs)))
        figures = np.column_stack([risk, *(loss * rng.uniform(0.9, 1.1, len(specs)) for _ in study.measures[1:])])
        study.acquire_lease(total, have)
        scenario = np.arange(have, total)
        runs = np.where(scenario % 100 == 0, FEWEST_RUNS, 1)
        replicate = np.arange(runs.sum()) - np.repeat(runs.cumsum() - runs, runs) + 1
        once = np.column_stack([scenario, (shares * n_records).astype(int), figures])
        each = np.repeat(once, runs, axis=0)
        study.runs.add(np.column_stack([each[:, 0], replicate, np.zeros(len(each)), each[:, 1:]]))
        study.lease.beat(total, total)
        risk_utility_map(study, as_writer=True)  # as a sweep does when it ends
        study.lease.release("finished")
    return path


def report(study: Path, name: str, limit: float, browser: dict[str, float]) -> None:
    """Print the table of one study."""
    with Study.open(study) as opened_study:
        count = opened_study.n_scenarios
    print(f"{name}: {count:,} scenarios, {study.stat().st_size / 1e6:,.0f} MB; limit {limit} s")
    for one, seconds in browser.items():
        opening = one.startswith("open")
        figure = f"{name}: {'opened' if opening else 'an interaction'}, seconds"
        print(f"{one:36}{seconds:8.2f}s  {word(figure, seconds, most=FIRST if opening else limit)}")
    print(flush=True)


def main(small: bool = False) -> None:
    """Make the studies and print a table for each."""
    if find_chromium() is None:
        print("skipped: no Chromium was found")
        return
    with tempfile.TemporaryDirectory() as home:
        os.environ["FRONTIER_HOME"] = home
        from benchmarks import _browser
        from frontier_app.session import workspace

        first = _browser.first_page(Path(home))
        within = word("first page, seconds", first, most=FIRST)
        print(f"first page {first:.2f} s after the health check answers (<= {FIRST} s: {within})\n")
        raw = folder() / "data" / "adult_raw.csv"
        studies: dict[str, Callable[[Workspace], Path]] = {"czech": partial(sample, name="czech")}
        if raw.is_file() and not small:
            samples.add("cps8d", raw)
            studies["cps8d"] = partial(sample, name="cps8d")
        if not small:
            studies |= {f"{WIDE} columns": wide, "made-up": partial(large, n=MANY)}
        for name, made in studies.items():
            at = workspace.create()
            at.note(data="czech" if name == "made-up" else name, study="study-1.study")
            path, many = made(at), name == "made-up"
            report(path, name, LIMITS["large" if many else "small"], _browser.seen(at, PAGES, many))
