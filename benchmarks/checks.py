"""How long the project's own checks take: ``make unit`` and ``make test``, each as it is called, by the clock.

Both are run once, everything installed and compiled before: what is set up only once is no part of them.  Where a
browser, Pango or the shared folder is absent, the tests that need them are skipped and their time is not counted, so
the closing line of each says how many ran.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    # Run as a file, only this folder is searched; the engine and the twins are one above.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks._targets import word
from benchmarks._yardstick import processor_of_children

ROOT = Path(__file__).resolve().parents[1]
UNIT, TEST = 45.0, 360.0
"""Targets: seconds by the clock on two quiet processors."""


def closing(output: str) -> str:
    """What pytest counted: its last line without the rules on both sides."""
    lines = re.findall(r"^=+ (.*(?:passed|failed|error).*) =+$", output, flags=re.MULTILINE)
    if not lines:
        raise RuntimeError(f"no tests were run: {output.splitlines()[-1:]}")
    return str(lines[-1])


def taken(target: str) -> tuple[float, float, str]:
    """Seconds by the clock and of the processors that one call of make takes, and what its tests counted."""
    environment = {**os.environ, "PY_COLORS": "0"}
    began, before = time.perf_counter(), processor_of_children()
    ended = subprocess.run(["make", target], cwd=ROOT, env=environment, capture_output=True, text=True)
    clock, processor = time.perf_counter() - began, processor_of_children() - before
    return clock, processor, closing(ended.stdout)


def main() -> None:
    """Measure and print."""
    if shutil.which("make") is None:
        print("skipped: make is not here")
        return
    subprocess.run(["make", "lint"], cwd=ROOT, check=True, capture_output=True)  # sets up what is not there
    for target, wanted in (("unit", UNIT), ("test", TEST)):
        clock, processor, counted = taken(target)
        verdict = word(f"make {target}, seconds", clock, most=wanted)
        print(
            f"make {target}: {clock:.0f} s by the clock (<= {wanted:.0f} s: {verdict}), {processor:.0f} s of processors"
        )
        print(f"  {counted}")


if __name__ == "__main__":
    main()
