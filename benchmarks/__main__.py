"""Run every benchmark in turn: ``python -m benchmarks [NAME ...] [--write]``.

Prints what each module's ``main`` prints; with ``--write`` the same goes to ``docs/performance.md``, where the sections
of benchmarks that were not run stay as they are.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import _targets
from benchmarks._running import in_own_process

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "performance.md"

TITLE = """# Performance

Each figure that has a target, from the last run of its benchmark; of several figures of one name the worst.
"""
INTRODUCTION = """\
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
and does nothing that is no statistics: no Python to start, no list of scenarios with their ids, no study that outlives
a crash, no map. `phases` tells what each of these takes beside the phases of the yardstick. In a draw of few pairs what
Python does around compiled code costs as much as the draw.

What is missed, and why.
* The complete space by the clock, where it is missed: preparing, draws and sums take less than in C (`phases`), but
  two fifths of a second until Python and its libraries have started, and the map at the end, leave one of two
  processors with little to do. In slow minutes of the machine compiled draws take as long as ever, and what goes
  through much memory, Python, the list of scenarios and the database, nearly twice as long. A second process in place
  of the second thread would use more of the start, and take a third of a second of the processor to load the same once
  more.
* A candidate at 10 % beside the whole algorithm over records: at that rate nearly all of its time is draws, one for
  each pair, which the yardstick makes too; what cells spare is the rest.
* All quick measures together: they are held against the four of every sweep, which are summed in one pass while pairs
  are exchanged and have become faster than the others.
* Two workers beside one: the process that hands out takes a tenth of what a worker takes (`sweep` tells both) and has
  no processor of its own on this machine, which is half of the difference to two or more. The rest depends on the
  minute: each is measured once, for half a second.
* Pages: the first one of a new server loads the libraries that draw, and the browser takes most of each step after it;
  the server answers in a tenth of a second. How many steps keep to half a second depends on the hour.
* `make test`: half as long again as it should take, longer in slow hours, though two processors are never idle. Of
  what all processes take, sampled apart from this page, a fifth is real browsers, which mostly draw the elements of
  pages anew, a quarter the servers behind them and what tests start, kill and wait for, and half the tests' own
  processes: above all the engine's thousands of short tests, then simulations of the papers and their mutants. No
  single test decides; `checks` tells how long each folder takes by the clock.

The machine changes its speed by a third within minutes, whatever else it does, and what is not measured in turn moves
with it; another machine sorts with other instructions. `make unit` was missed in slow hours.
"""


def sections(page: str) -> dict[str, str]:
    """The sections of the page by the names of their benchmarks."""
    page = re.sub(r"^Python .* processors\.\n", "", page, flags=re.MULTILINE)
    parts = re.split(r"^(?=## \w+$)", page, flags=re.MULTILINE)
    return {part.split()[1]: part.strip() + "\n" for part in parts[1:]}


def targets(page: str) -> dict[str, list[str]]:
    """The rows of the table of targets on the page by the names of their benchmarks."""
    before = page.split("\n## ", 1)[0]
    table = re.search(r"^```\n(.*?)^```$", before, flags=re.MULTILINE | re.DOTALL)
    rows: dict[str, list[str]] = {}
    for row in table[1].splitlines()[1:] if table else ():
        rows.setdefault(row.split()[0], []).append(row)
    return rows


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
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    page, rows, chosen = sections(old), targets(old), args.names or names
    if args.write:  # before any: the checks compare the page with the text above
        write_page(names, page, rows)
    for name in chosen:
        page[name], rows[name] = in_own_process(name)
        if args.write:  # after each: the next may end in an error
            write_page(names, page, rows)
    print("\n".join([_targets.HEADING, *(row for name in chosen for row in rows[name])]))
    if args.write:
        print(f"wrote {PAGE.relative_to(HERE.parent)}")


def write_page(names: Sequence[str], page: Mapping[str, str], rows: Mapping[str, Sequence[str]]) -> None:
    """Write sections and the table of targets in the order of the names."""
    machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} processors.\n"
    table = "\n".join(["```", _targets.HEADING, *(row for name in names for row in rows.get(name, ())), "```", ""])
    parts = [TITLE, table, INTRODUCTION, *(page[name] for name in names if name in page), machine]
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
