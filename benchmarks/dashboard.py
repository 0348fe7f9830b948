"""Times of the dashboard's interactions on the server's side, page by page: ``python -m benchmarks.dashboard``.

Streamlit's own test harness runs the pages, so that drawing in the browser is not in the figures; a browser adds what
it takes to draw. The small study is the sample ``czech`` with its one- and two-attribute swaps at three rates, 20
replicates each; the large one holds a million made-up scenarios, whose figures follow rate and roles with noise on top.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine import datasets
from engine.decision import risk_utility_map
from engine.plan import edit_plan, plan_to_toml
from engine.spec import AttributeSpec, ReleaseSpec
from engine.study import Study
from engine.sweep import sweep

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest

    from frontier_app.workspace import Workspace

APP = Path(__file__).resolve().parents[1] / "frontier_app" / "app.py"
LIMITS = {"small": 0.5, "large": 1.5}
"""Seconds within which an interaction should answer."""


def small(at: Workspace) -> Path:
    """The default study of the sample ``czech``."""
    raw, plan = datasets.load("czech")
    plan = edit_plan(plan, swap_sizes=[1, 2], rates=["0.01", "0.02", "0.1"], replicates=20)
    at.save_plan(plan_to_toml(plan))
    sweep(raw, plan, at.folder / "study-1.study", workers=1).close()
    return at.folder / "study-1.study"


def large(at: Workspace, n: int, seed: int = 1) -> Path:
    """A study of ``n`` made-up scenarios with one run each, filled straight through the study's own interface."""
    raw, plan = datasets.load("czech")
    plan = edit_plan(plan, swap_sizes=[1], rates=["0.01"], replicates=1)
    path = at.folder / "study-1.study"
    sweep(raw, plan, path, workers=1).close()
    at.save_plan(plan_to_toml(plan))
    rng = np.random.default_rng(seed)
    with Study.open(path) as study:
        names, n_records = study.names, int(study.about["n_records"])
        roles = ["".join(r) for r in product("SFCU", repeat=len(names)) if "S" in r]
        have = len(study.scenarios)
        rates = [f"{(i + 101) / 10_000:.4f}".rstrip("0") for i in range(-(-(n - have) // len(roles)))]
        specs = [ReleaseSpec(AttributeSpec(names, role), rate) for rate in rates for role in roles][: n - have]
        study.add_scenarios(specs)
        total = len(study.scenarios)
        shares = np.array([float(spec.rate) for spec in specs])
        swapped = np.array([spec.attributes.roles.count("S") for spec in specs])
        loss = np.sqrt(shares * swapped) * rng.uniform(0.5, 1.5, len(specs))
        risk = 0.0027 * np.exp(-8 * loss * rng.uniform(0.5, 1.5, len(specs)))
        figures = np.column_stack([risk, *(loss * rng.uniform(0.9, 1.1, len(specs)) for _ in study.measures[1:])])
        changed = (shares * n_records).astype(int)
        study.take(total, have)
        rows = zip(range(have, total), changed.tolist(), figures.tolist(), strict=True)
        study.add_results((place, 1, 0, moved, *values) for place, moved, values in rows)
        study.beat(total, total)
        risk_utility_map(study, as_writer=True)  # as a sweep does when it ends
        study.release("finished")
    return path


def opened(at: Workspace) -> AppTest:
    """The app on a workspace."""
    from streamlit.testing.v1 import AppTest

    made = AppTest.from_file(str(APP), default_timeout=600)
    made.query_params["w"] = at.token
    return made.run()


def look(made: AppTest, **changes: Any) -> None:
    """Change how the map is looked at, as its inputs do."""
    now = made.session_state["frontier"]
    made.session_state["frontier"] = replace(now, look=replace(now.look, **changes))


def timed(name: str, limit: float, act: Callable[[], AppTest]) -> bool:
    """Run one interaction and print its time; returns whether it kept within the limit."""
    begin, busy = time.perf_counter(), time.process_time()
    made = act()
    seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    if made.exception or made.error:
        raise SystemExit(f"{name}: {[e.value for e in (*made.exception, *made.error)]}")
    print(
        f"| {name} | {seconds:.2f} s | {busy:.2f} s | {limit:.1f} s | {'yes' if seconds <= limit else 'no'} |",
        flush=True,
    )
    return seconds <= limit


def explore(made: AppTest, limit: float) -> None:
    """Every interaction of the map's page."""

    def run(**changes: Any) -> AppTest:
        look(made, **changes)
        return made.run()

    timed("Explore, again", limit, made.run)
    timed("switch α on", limit, lambda: made.toggle(key="bound-on").set_value(True).run())
    box = next(box for box in made.number_input if box.label == "Largest acceptable risk")
    timed("type α", limit, lambda: box.set_value(box.value * 0.8).run())
    label = made.selectbox(key="candidate").options[-1].split(" – ")[0].split()[-1]
    timed("choose a candidate", limit, lambda: made.selectbox(key="candidate").set_value(label).run())
    timed("zoom to the frontier", limit, lambda: made.selectbox(key="look-span").set_value("frontier").run())
    timed("colour by attributes swapped", limit, lambda: made.selectbox(key="look-colour").set_value("number").run())
    timed("a range of the map", limit, lambda: run(rows="box", box=(0.0, 0.002, 0.05, 0.2)))
    timed("all candidates in the table", limit, lambda: run(rows="all"))
    run(rows="frontier")
    for drawn in ("rates", "pooled", "labelled", "runs", "measures", "map"):
        timed(f"figure: {drawn}", limit, lambda drawn=drawn: run(drawn=drawn))
    three = [str(call) for call in made.session_state["frontier"].memo.last("map")[1].measures][:3]
    run(drawn="measures")
    timed("three measures together", limit, lambda: run(objectives=tuple(three)))
    run(drawn="map")
    timed("another measure of use, the first time", limit, lambda: run(utility=three[2]))
    timed("back again", limit, lambda: run(utility=None))


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=1_000_000, help="scenarios of the large study")
    asked = parser.parse_args(arguments)
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FRONTIER_HOME"] = folder
        from frontier_app import workspace

        for size in ("small", "large"):
            at = workspace.create()
            at.note(data="czech", study="study-1.study")
            path = small(at) if size == "small" else large(at, asked.candidates)
            with Study.open(path) as study:
                count = len(study.scenarios)
            print(
                f"\n{count:,} scenarios\n\n| interaction | server | of it CPU | limit | within |\n|:--|--:|--:|--:|:--|"
            )
            made = opened(at)
            timed("open Explore", 3.0 if size == "small" else 20.0, made.switch_page("views/explore.py").run)
            explore(made, LIMITS[size])
            pages = ("plan", "sweep", "compare", "recommend", "board", "release", "data")
            for page in (p for p in pages if (APP.parent / "views" / f"{p}.py").exists()):
                made.switch_page(f"views/{page}.py")
                made.run()
                timed(f"page {page}, again", LIMITS[size], made.run)


if __name__ == "__main__":
    main(sys.argv[1:])
