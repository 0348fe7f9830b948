"""Times of the dashboard's interactions, in a real browser and on the server's side alone, against what they may take.

The browser's time runs from the last key or button to the last change of the page, the median of three; the server's is
that of Streamlit's own test harness.  The small studies are the samples with one- and two-attribute swaps at three
rates, 20 replicates each; the large one holds a million made-up scenarios, whose figures follow rate and roles with
noise on top; one has a file of 300 columns.  ``--candidates N`` makes the large one smaller.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._targets import word
from engine.data.io.readers import read_table
from engine.frontier.choosing import FEWEST_RUNS
from engine.plan import edit_plan, guess_plan, plan_to_toml, samples
from engine.release.spec import AttributeSpec
from engine.release.specs import ReleaseSpecs
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.sweep import sweep
from frontier_app.charts import map_data
from frontier_app.charts.map_data import DRAWN
from frontier_app.session.navigation import script
from tests.conftest import find_chromium
from tests.shared import folder

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest

    from frontier_app.session.workspace import Workspace

APP = Path(__file__).resolve().parents[1] / "frontier_app" / "app" / "main.py"
MANY = 1_000_000
LIMITS = {"small": 0.5, "large": 1.5}
"""Seconds within which an interaction should answer."""
FIRST = 2.0
"""Seconds within which the first page, or the map of a study, should be there, on a fresh server too."""
WIDE = 300
"""Columns of the widest file."""
PAGES = {
    "plan": "Plan",
    "sweep": "Sweep",
    "compare": "Compare",
    "recommend": "Recommend",
    "board": "Board",
    "release": "Export",
    "data": "File",
    "explore": "Explore",
}
"""Pages in the order in which they are gone to, with their names in the navigation."""


def small(at: Workspace, name: str) -> Path:
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


class Stopwatch:
    """Seconds by the clock and of the processor, by interaction."""

    def __init__(self) -> None:
        self.taken: dict[str, tuple[float, float]] = {}

    def __call__(self, name: str, act: Callable[[], AppTest]) -> AppTest:
        """Run one interaction; a page with an error ends everything."""
        begin, busy = time.perf_counter(), time.process_time()
        made = act()
        self.taken[name] = time.perf_counter() - begin, time.process_time() - busy
        if made.exception or made.error:
            raise SystemExit(f"{name}: {[e.value for e in (*made.exception, *made.error)]}")
        return made


def explore(made: AppTest, timed: Stopwatch) -> None:
    """Every interaction of the map's page."""

    def run(**changes: Any) -> AppTest:
        look(made, **changes)
        return made.run()

    timed("switch α on", lambda: made.toggle(key="bound-on").set_value(True).run())
    box = next(box for box in made.number_input if box.label == "Largest acceptable risk")
    timed("type α", lambda: box.set_value(box.value * 0.8).run())
    label = made.selectbox(key="candidate").options[-1].split(" – ")[0].split()[-1].strip("()")
    timed("choose a candidate", lambda: made.selectbox(key="candidate").set_value(label).run())
    timed("zoom to the frontier", lambda: made.selectbox(key="look-span").set_value("frontier").run())
    timed("colour by attributes swapped", lambda: made.selectbox(key="look-colour").set_value("number").run())
    timed("zoom out again", lambda: made.selectbox(key="look-span").set_value("original").run())
    timed("all candidates in the table", lambda: run(rows="all"))
    timed("a range of the map", lambda: run(rows="box", box=(0.0, 0.002, 0.05, 0.2)))
    run(rows="frontier")
    for drawn, title in DRAWN.items():
        if drawn != "map":
            timed(f"figure: {title}", lambda drawn=drawn: run(drawn=drawn))
    three = [str(call) for call in made.session_state["frontier"].memo.last("map")[1].measures][:3]
    timed("three measures together", lambda: run(objectives=tuple(three)))
    timed(f"figure: {DRAWN['map']}", lambda: run(drawn="map"))
    timed("another measure of use", lambda: run(utility=three[2]))
    timed("back again", lambda: run(utility=None))


def served(at: Workspace) -> dict[str, tuple[float, float]]:
    """What the server alone takes for each interaction, once."""
    timed = Stopwatch()
    made = opened(at)
    timed("open Explore", made.switch_page(script("explore")).run)
    explore(made, timed)
    for page in PAGES:
        made.switch_page(script(page))
        timed(f"page {page}", made.run)
    return timed.taken


def report(
    study: Path, name: str, size: str, server: dict[str, tuple[float, float]], browser: dict[str, float]
) -> None:
    """The table of one study."""
    with Study.open(study) as opened_study:
        count = opened_study.n_scenarios
    limit = LIMITS[size]
    print(f"{name}: {count:,} scenarios, {study.stat().st_size / 1e6:,.0f} MB; limit {limit} s")
    print(f"{'':36}{'browser':>9}{'server':>9}{'its CPU':>9}")
    for one in dict.fromkeys((*browser, *server)):
        seen, (clock, busy) = browser.get(one), server.get(one, (None, None))
        figures = "".join("        -" if value is None else f"{value:8.2f}s" for value in (seen, clock, busy))
        judged = seen if seen is not None else clock
        if judged is None:
            raise RuntimeError(f"'{one}' was not timed in study {name}")
        kind = "opened" if one.startswith("open") else "an interaction"
        verdict = word(f"{name}: {kind}, seconds", judged, most=FIRST if one.startswith("open") else limit)
        print(f"{one:36}{figures}  {verdict}")
    print(flush=True)


def inside(candidates: int) -> None:
    """Make the studies and print a table for each."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["FRONTIER_HOME"] = home
        from benchmarks import _browser
        from frontier_app.session import workspace

        found = find_chromium()
        if found is None:
            print("no Chromium was found: only the server's side is timed\n")
        else:
            first = _browser.first_page(Path(home))
            within = word("first page, seconds", first, most=FIRST)
            print(f"first page {first:.2f} s after the health check answers (<= {FIRST} s: {within})\n")
        raw = folder() / "data" / "adult_raw.csv"
        if raw.is_file():
            samples.add("cps8d", raw)
        studies: dict[str, Callable[[Workspace], Path]] = {
            name: partial(small, name=name) for name in ("czech", *(["cps8d"] if raw.is_file() else []))
        }
        studies |= {f"{WIDE} columns": wide, "made-up": partial(large, n=candidates)}
        for name, made in studies.items():
            at = workspace.create()
            at.note(data="czech" if name == "made-up" else name, study="study-1.study")
            path = made(at)
            browser = {} if found is None else _browser.seen(at, PAGES, name == "made-up")
            report(path, name, "large" if name == "made-up" else "small", served(at), browser)


def main(arguments: Sequence[str] = ()) -> None:
    """Print the tables; in a process of its own, since the pages leave themselves behind as main program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=MANY, help="scenarios of the large study")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.candidates <= map_data.MANY:
        parser.error(f"--candidates must be more than {map_data.MANY:,}, from which on the map is a density")
    if asked.inside:
        inside(asked.candidates)
        return
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.dashboard", "--inside"]
    command += ["--candidates", str(asked.candidates)]
    root = Path(__file__).resolve().parents[1]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as made:
        assert made.stdout is not None
        for line in made.stdout:
            print(line, end="", flush=True)
    if made.returncode:
        raise SystemExit(f"timing the dashboard ended with {made.returncode}; run it with --inside to see why")


if __name__ == "__main__":
    main(sys.argv[1:])
