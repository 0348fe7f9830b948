"""``python -m tests.papers [--quick] [--out FILE]``: run everything again that is compared with a published figure, put
wrong implementations through the same rows, and write docs/reproductions.md."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.papers.listing import SOURCES, Rows, Source, listed
from tests.papers.mutants import Mutant, Rejections, rejections
from tests.papers.mutants_all import MUTANTS
from tests.papers.page import document
from tests.shared import folder

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "reproductions.md"


def collect(quick: bool) -> list[tuple[Source, Rows]]:
    """All rows; those whose files are missing as they are listed, marked absent."""
    names = listed()
    found = []
    for k, (source, expected) in enumerate(names, 1):
        started, missing = time.monotonic(), source.missing()
        if missing:
            why = f"needs {', '.join(missing)}"
            rows = [replace(row, ours=None, error=None, theirs=None, why=why, absent=True) for row in expected]
        else:
            rows = source.make(quick)
        found.append((source, rows))
        note = f"data absent: {', '.join(missing)}" if missing else f"{time.monotonic() - started:.0f} s"
        print(f"[{k}/{len(names)}] {source.paper}, {source.part}: {len(rows)} rows, {note}", flush=True)
    return found


def run(
    mutants: Sequence[Mutant], found: Sequence[tuple[Source, Rows]], quick: bool
) -> dict[Mutant, Rejections | None]:
    """What becomes of the mutants; None where the files that one needs are missing."""
    right = {row.name: row for _, rows in found for row in rows}
    results: dict[Mutant, Rejections | None] = {}
    for k, mutant in enumerate(mutants, 1):
        started = time.monotonic()
        absent = [name for name in mutant.files if not folder().joinpath(name).is_file()]
        result = results[mutant] = None if absent else rejections(mutant, right, quick)
        note = "data absent" if result is None else f"rejected by {len(result.rejecting)} of {len(result.met)} rows"
        took = time.monotonic() - started
        print(f"[{k}/{len(mutants)}] {mutant.mechanism}, {mutant.what}: {note}, {took:.0f} s", flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.papers", description="Write docs/reproductions.md anew.")
    parser.add_argument("--quick", action="store_true", help="fewer data sets and runs; for trying the command")
    parser.add_argument("--out", type=Path, default=DOCUMENT, metavar="FILE", help="where to (default: the document)")
    args = parser.parse_args()
    needed = sorted({name for source in SOURCES for name in source.files})
    print(f"needs in {folder()}: {', '.join(needed)}")
    found = collect(args.quick)
    results = run(MUTANTS, found, args.quick)
    args.out.write_text(document(found, results, args.quick), encoding="utf-8")
    print(f"wrote {args.out}")


if __name__ == "__main__":
    main()
