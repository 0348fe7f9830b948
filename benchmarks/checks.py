"""How long the project's own checks take: ``make unit`` and ``make test``, each as it is called, by the clock.

Both are run once, everything installed and compiled before: what is set up only once is no part of them.  Where a
browser, Pango or the shared folder is absent, the tests that need them are skipped and their time is not counted, so
the closing line of each says how many ran.  What all tests together take is told by their folders: seconds by the clock
in each test's own process, of which several run at the same time.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

if __name__ == "__main__":
    # Run as a file, only this folder is searched; the engine and the twins are one above.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks._targets import word
from benchmarks._yardstick import processor_of_children

ROOT = Path(__file__).resolve().parents[1]
UNIT, TEST = 45.0, 360.0
"""Targets: seconds by the clock on two quiet processors."""
_LINES = 12  # folders that are told one by one
_LONG = 1.0  # seconds of a test that is counted as long


def closing(output: str) -> str:
    """What pytest counted: its last line without the rules on both sides."""
    lines = re.findall(r"^=+ (.*(?:passed|failed|error).*) =+$", output, flags=re.MULTILINE)
    if not lines:
        raise RuntimeError(f"no tests were run: {output.splitlines()[-1:]}")
    return str(lines[-1])


def by_folder(report: Path) -> dict[str, list[float]]:
    """Seconds of each test, with what is set up for it, by the folder of its file."""
    found: dict[str, list[float]] = defaultdict(list)
    for test in ElementTree.parse(report).getroot().iter("testcase"):
        parts = test.get("classname", "").split(".")
        at = max((k for k, part in enumerate(parts) if part.startswith("test_")), default=0)
        found["/".join(parts[:at])].append(float(test.get("time", 0)))
    return found


def show_profile(found: dict[str, list[float]]) -> None:
    """Print the folders whose tests take longest together."""
    print(f"  {'':32} {'tests':>6} {'seconds':>8} {'a test':>8} {'over 1 s':>9} {'their s':>8}")
    ordered = sorted(found.items(), key=lambda one: -sum(one[1]))
    told = ordered[:_LINES]
    if rest := [second for _, seconds in ordered[_LINES:] for second in seconds]:
        told.append(("all others", rest))
    told.append(("all", [second for seconds in found.values() for second in seconds]))
    for name, seconds in told:
        long, total = [second for second in seconds if second > _LONG], sum(seconds)
        print(
            f"  {name:32} {len(seconds):6,} {total:8.1f} {1000 * total / len(seconds):5.0f} ms {len(long):9,}"
            f" {sum(long):8.1f}"
        )


def taken(target: str, report: Path) -> tuple[float, float, str]:
    """Seconds by the clock and of the processors that one call of make takes, and what its tests counted; ``report``
    will hold what each took."""
    command = ["make", target, f"PYTEST_ARGS=--junitxml={report}"]
    began, before = time.perf_counter(), processor_of_children()
    ended = subprocess.run(command, cwd=ROOT, env={**os.environ, "PY_COLORS": "0"}, capture_output=True, text=True)
    clock, processor = time.perf_counter() - began, processor_of_children() - before
    return clock, processor, closing(ended.stdout)


def main() -> None:
    """Measure and print."""
    if shutil.which("make") is None:
        print("skipped: make is not here")
        return
    subprocess.run(["make", "lint"], cwd=ROOT, check=True, capture_output=True)  # sets up what is not there
    for target, wanted in (("unit", UNIT), ("test", TEST)):
        with TemporaryDirectory() as place:
            report = Path(place) / "tests.xml"
            clock, processor, counted = taken(target, report)
            found = by_folder(report)
        verdict = word(f"make {target}, seconds", clock, most=wanted)
        print(
            f"make {target}: {clock:.0f} s by the clock (<= {wanted:.0f} s: {verdict}), {processor:.0f} s of processors"
        )
        print(f"  {counted}")
        show_profile(found)


if __name__ == "__main__":
    main()
