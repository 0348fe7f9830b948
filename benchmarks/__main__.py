"""Run every benchmark in turn: ``python -m benchmarks [NAME ...] [--small] [--write]``.

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

from benchmarks._harness import HEADING, in_own_process

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "performance.md"

TITLE = """# Performance

Every figure with a target, from the last run of its benchmark. If a figure occurs several times, the worst is shown.
"""
INTRODUCTION = """\
`python -m benchmarks --write` writes this page; `python -m benchmarks` prints the same. Compare ratios, which are
formed within one run: times change by a third within minutes on this machine. Data that do not ship are left out.

**Why a sweep is fast.** Pairs of cells are drawn, not of records. All rates and all splits of S and C share one draw.
Measures sum over changed cells only. The study stores aggregates, so a map of millions of runs opens without reading
them.

**Comparison with records.** The yardstick over records is the complete algorithm, compiled: exact search for partners,
a new table and the same four measures, with as little memory as possible. If a swap runs out of partners, it takes
hundreds of times longer, so the median over swaps counts.

**Comparison with C.** The yardstick in C draws over cells and shares work as the engine does, and omits Python's start,
the list of scenarios, the crash-safe study and the map.

**Targets that are missed**

| figure | reason |
| --- | --- |
| complete space, wall-clock (in slow minutes) | Starting Python (0.4 s) and drawing the map use one of two processors |
| a candidate at 10 % against the swap over records | Nearly all time is drawing pairs, as in the yardstick |
| all quick measures together | The four of every sweep, the reference, are summed while pairs are exchanged |
| two workers against one | The main process needs a tenth of a worker's time and has no processor of its own |
| first page of a new server | Plotting libraries are loaded; otherwise the browser takes most of the time |
| `make test` | A fifth of the time is real browsers, a quarter servers and child processes, half the tests themselves |
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
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--small", action="store_true", help="the smallest case of each, to see that it runs")
    way.add_argument("--write", action="store_true", help="write docs/performance.md too")
    args = parser.parse_args()
    for name in args.names:
        if name not in names:
            parser.error(f"unknown benchmark '{name}', must be one of {', '.join(names)}")
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    page, rows, chosen = sections(old), targets(old), args.names or names
    if args.write:  # before any: the checks compare the page with the text above
        write_page(names, page, rows)
    for name in chosen:
        page[name], rows[name] = in_own_process(name, args.small)
        if args.write:  # after each: the next may end in an error
            write_page(names, page, rows)
    print("\n".join([HEADING, *(row for name in chosen for row in rows[name])]))
    if args.write:
        print(f"wrote {PAGE.relative_to(HERE.parent)}")


def write_page(names: Sequence[str], page: Mapping[str, str], rows: Mapping[str, Sequence[str]]) -> None:
    """Write sections and the table of targets in the order of the names."""
    machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} processors.\n"
    table = "\n".join(["```", HEADING, *(row for name in names for row in rows.get(name, ())), "```", ""])
    parts = [TITLE, table, INTRODUCTION, *(page[name] for name in names if name in page), machine]
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
