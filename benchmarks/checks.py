"""Time of the project's own checks: ``make unit`` and ``make test`` as they are called, by the clock.

Everything is installed and compiled before. Tests that are skipped, for want of a browser, Pango or the shared folder,
take no time, so the closing line of each counts them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time

from benchmarks._harness import ROOT, environment, processor_of_children, word

TARGETS = {"unit": 45.0, "test": 360.0}
"""Seconds by the clock on two quiet processors."""


def main(small: bool = False) -> None:
    """Measure and print."""
    if small or shutil.which("make") is None:
        print("skipped: no small case" if small else "skipped: make is not here")
        return
    subprocess.run(["make", "lint"], cwd=ROOT, check=True, capture_output=True)  # sets up what is not there
    for target, most in TARGETS.items():
        began, before = time.perf_counter(), processor_of_children()
        command = ["make", target, "PYTEST_ARGS=--durations=20"]
        output = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True).stdout
        clock, processor = time.perf_counter() - began, processor_of_children() - before
        verdict = word(f"make {target}, seconds", clock, most=most)
        print(f"make {target}: {clock:.0f} s by the clock (<= {most:.0f} s: {verdict}), {processor:.0f} s of CPU")
        lines = re.findall(r"^[\d.]+s (?:call|setup|teardown) .*$|^=+ .*(?:passed|failed|error).* =+$", output, re.M)
        print("\n".join(f"  {line.strip('= ')}" for line in lines) or "  no tests were run")
