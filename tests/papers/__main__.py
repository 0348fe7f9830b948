"""``python -m tests.papers [--quick] [--out FILE]``: run everything again that is compared with a published figure and
write docs/reproductions.md."""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

from engine.common.streams import STREAM_VERSION
from tests.papers.listing import SOURCES, Rows, Source, listed, once
from tests.papers.tolerances import FAMILIES, family
from tests.shared import folder

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "reproductions.md"
VERDICTS = {
    "exact": "the very figure, which leaves nothing to chance",
    "within tolerance": "a figure of simulations, as near as the tolerances at the end say",
    "qualitative": "what the paper says in words, or the order of its figures, holds; the figures themselves may not",
    "not reproduced": "it differs, or could not be tried; why, says the last column",
    "data absent": "the files it needs were not in the shared folder",
}
_HOSPITALS = re.compile("^SMHO Reg.*: mean overlap$")
HEAD = ("row", "published", "ours", "Monte-Carlo error", "grade", "verdict", "why")
GRADES = """\
Grades: **A** must be met exactly, **B** within the tolerance (the tests fail otherwise); **C** is shown, not required,
because the published setting is incomplete; **X** cannot be met as published, and why is said."""


def collect(quick: bool) -> list[tuple[Source, Rows]]:
    """All rows; those whose files are missing as they are listed, with the verdict "absent"."""
    names = listed()
    found = []
    for k, (source, expected) in enumerate(names, 1):
        started, missing = time.monotonic(), source.missing()
        if missing:
            why = f"needs {', '.join(missing)}"
            rows = [{**row, "ours": None, "se": None, "verdict": "absent", "why": why} for row in expected]
        else:
            rows = source.make(quick)
        found.append((source, rows))
        note = f"data absent: {', '.join(missing)}" if missing else f"{time.monotonic() - started:.0f} s"
        print(f"[{k}/{len(names)}] {source.paper}, {source.key}: {len(rows)} rows, {note}", flush=True)
    return once(found)


def verdict(source: Source, row: dict[str, Any], in_order: bool) -> str:
    """One of the words of the document; ``in_order`` says whether the hospitals' overlaps are ordered as published."""
    if row["verdict"] == "absent":
        return "data absent"
    if row["verdict"] == "qualitative":
        return "qualitative"
    if row["verdict"] == "differs":
        return "qualitative" if in_order and _HOSPITALS.search(row["row"]) else "not reproduced"
    digits = 0 if row["ours"] is None else family(source.key, row["row"]).digits
    same = _text(row["ours"], digits) == _text(row["published"], digits)
    return "exact" if row["grade"] == "A" and same else "within tolerance"


def hospitals_in_order(rows: Rows) -> bool:
    """Whether every mean overlap is larger under CGS than under RGS, and for 20 moved records than for 40."""
    ours = {row["row"]: row["ours"] for row in rows if _HOSPITALS.search(row["row"])}
    if not ours or None in ours.values():
        return False
    after = {name.replace("CGS", "RGS"): value for name, value in ours.items() if "CGS" in name}
    fewer = {name.replace(" 20:", " 40:"): value for name, value in ours.items() if " 20:" in name}
    return all(value > ours[name] for part in (after, fewer) for name, value in part.items())


def _text(value: Any, digits: int) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    shown = f"{value:.{digits}f}"
    return f"{0.0:.{digits}f}" if float(shown) == 0 else shown.replace("-", "−")


def cells(source: Source, row: dict[str, Any], in_order: bool) -> tuple[str, ...]:
    """One line of the document."""
    words = isinstance(row["published"], str) and not isinstance(row["ours"], float)
    digits = 0 if words else 2 if isinstance(row["published"], str) else family(source.key, row["row"]).digits
    error = "–" if row["se"] is None else _text(float(row["se"]), digits + 1)
    shown = (row["row"], _text(row["published"], digits), _text(row["ours"], digits), error, row["grade"])
    line = (*shown, verdict(source, row, in_order), row["why"])
    return tuple(str(part).replace("|", r"\|") for part in line)


def _table(head: tuple[str, ...], lines: list[tuple[str, ...]]) -> list[str]:
    out = [head, tuple("---" for _ in head), *lines]
    return [f"| {' | '.join(line)} |".replace("|  |", "| |") for line in out]


def document(found: list[tuple[Source, Rows]], quick: bool) -> str:
    """The whole text."""
    in_order = hospitals_in_order([row for _, rows in found for row in rows])
    lines = [(source, cells(source, row, in_order)) for source, rows in found for row in rows]
    papers = list(dict.fromkeys(source.paper for source in SOURCES))
    counted = []
    for paper in papers:
        count = Counter(line[5] for source, line in lines if source.paper == paper)
        counted.append((paper, *(str(count[word]) for word in VERDICTS), str(sum(count.values()))))
    total = [sum(int(line[k]) for line in counted) for k in range(1, len(VERDICTS) + 2)]
    counted.append(("all", *map(str, total)))
    files = sorted({name for source in SOURCES for name in source.files})
    gates = [line for _, line in lines if line[4] in "AB"]
    met = sum(line[5] not in ("not reproduced", "data absent") for line in gates)
    missed = total[list(VERDICTS).index("not reproduced")]
    chances = "few data sets, a quick run: expect more to differ" if quick else "a full run"
    text = [
        "# Reproductions",
        "",
        f"Published figures next to what the engine finds. `make reproductions` makes this page ({chances}; streams of "
        f"version {STREAM_VERSION}, fixed keys: the same figures every time).",
        "",
        f"Of {len(lines)} rows {missed} are not reproduced. "
        f"{met} of the {len(gates)} required ones (grades A and B) are met.",
        "",
        GRADES,
        "",
        "Verdicts: " + "; ".join(f"**{word}**: {what}" for word, what in VERDICTS.items()) + ".",
        "",
        "Nothing was fitted to a published value. Where a paper leaves a choice open, readings were tried and the one "
        'nearest to its figures is used; "why" or the module that makes the rows (tests/papers/rows_*.py) says which.',
        "",
        f"Data that do not ship, wanted in the shared folder: {', '.join(f'`{name}`' for name in files)}.",
        "",
        *_table(("paper", *VERDICTS, "rows"), counted),
    ]
    for paper in papers:
        text += ["", f"## {paper}", ""]
        if any(source.paper == paper and source.key == "SMIKe" for source in SOURCES):
            text += ["The rows s1 and s2 of its table 3 are those of table 2 above, shown there once.", ""]
        text += _table(HEAD, [line for source, line in lines if source.paper == paper])
    text += ["", "## Tolerances", "", "A figure agrees when the difference is at most:", ""]
    tolerances = [
        (_heading(one.source), f"`{one.pattern}`" if one.pattern else "all others", one.words()) for one in FAMILIES
    ]
    text += _table(("rows", "name", "tolerance"), [tuple(p.replace("|", r"\|") for p in t) for t in tolerances])
    return "\n".join(text) + "\n"


def _heading(key: str) -> str:
    return next(f"{source.paper.split(':')[0]}, {key}" for source in SOURCES if source.key == key)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.papers", description="Write docs/reproductions.md anew.")
    parser.add_argument("--quick", action="store_true", help="fewer data sets and runs; for trying the command")
    parser.add_argument("--out", type=Path, default=DOCUMENT, metavar="FILE", help="where to (default: the document)")
    args = parser.parse_args()
    needed = sorted({name for source in SOURCES for name in source.files})
    print(f"needs in {folder()}: {', '.join(needed)}")
    found = collect(args.quick)
    args.out.write_text(document(found, args.quick), encoding="utf-8")
    print(f"wrote {args.out}")


if __name__ == "__main__":
    main()
