"""Run every benchmark in turn: ``python -m benchmarks [NAME ...] [--write]``.

Prints what each module's ``main`` prints; with ``--write`` the same goes to ``docs/performance.md``, where the sections
of benchmarks that were not run stay as they are.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import platform
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TextIO

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "performance.md"

INTRODUCTION = """# Performance

Written by `python -m benchmarks --write`; `python -m benchmarks` prints the same. Times drift from run to run and from
machine to machine, so trust the ratios, which are formed within one run. Data that do not ship are left out where they
are absent.

What makes a sweep fast: pairs of *cells* are drawn, not of records; all rates and all splits of S and C share one draw;
departures are counted once for all splits; measures sum over touched cells only, the default ones while pairs are
exchanged; and what realisations add up to is kept in the study, so that a map of millions of runs opens without reading
them.

What a candidate is held to: the yardstick of the random swap is the whole algorithm over records, compiled, with its
exact search for partners, a released table tabulated anew and the same four measures, in the fewest bytes and passes
that came to mind. Looser programs over records take several times as long and would flatter the ratio. Where a swap
runs out of partners the yardstick must find so record by record and takes hundreds of times longer; therefore the
median over the swaps counts.

How far the engine is from what the machine can do: the yardstick in C draws over cells and shares as the engine does,
and does nothing that is no statistics. It takes a third of the time of the program beside which the targets of its
section were set, 40 µs a candidate.

What is missed, and why: the complete space takes three times the yardstick's time by either measure, wanted were 2 and
1.5. Of the engine's time some 1.6 seconds are draws, 0.9 preparing structures with their streams, 0.9 measures and 0.7
exchanges: 1.7 times what the yardstick takes for the same. The rest is what the yardstick does not do: the start of
three processes 1.5, the list of scenarios with ids and check sums 0.6, the map 0.6, storing runs 0.2 and handing out
work. In a draw at 1 % what Python does around compiled code costs as much as the draw. The tests take a quarter of an
hour and not six minutes: real browsers, processes that are killed, simulations of the papers and thousands of short
tests of pages each take their part.
"""


class _Both(io.StringIO):
    """Text that is shown as it comes, and kept."""

    def __init__(self, screen: TextIO) -> None:
        super().__init__()
        self._screen = screen

    def write(self, text: str) -> int:
        self._screen.write(text)
        self._screen.flush()
        return super().write(text)


def sections(page: str) -> dict[str, str]:
    """The sections of the page by the names of their benchmarks."""
    page = re.sub(r"^Python .* processors\.\n", "", page, flags=re.MULTILINE)
    parts = re.split(r"^(?=## \w+$)", page, flags=re.MULTILINE)
    return {part.split()[1]: part.strip() + "\n" for part in parts[1:]}


def main() -> None:
    names = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed, as ratios in one run.")
    which = f"some of {', '.join(names)} (default: all)"
    parser.add_argument("names", nargs="*", metavar="NAME", help=which)
    parser.add_argument("--write", action="store_true", help="write docs/performance.md too")
    args = parser.parse_args()
    for name in args.names:
        if name not in names:
            parser.error(f"unknown benchmark '{name}', must be one of {', '.join(names)}")
    page = sections(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
    for name in args.names or names:
        module = importlib.import_module(f"benchmarks.{name}")
        title = (module.__doc__ or name).strip().split("\n\n")[0].replace("\n", " ")
        print(f"== {name}: {title}\n")
        text = _Both(sys.stdout)
        with redirect_stdout(text):
            module.main()
        print()
        shown = text.getvalue().strip("\n")  # a heading over columns begins with spaces
        page[name] = f"## {name}\n\n{title}\n\n```\n{shown}\n```\n"
    if args.write:
        machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} processors.\n"
        parts = [INTRODUCTION, *(page[name] for name in names if name in page), machine]
        PAGE.write_text("\n".join(parts), encoding="utf-8")
        print(f"wrote {PAGE.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
