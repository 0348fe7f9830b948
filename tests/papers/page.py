"""The text of docs/reproductions.md from rows and from what became of the mutants."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from engine.common.streams import STREAM_VERSION
from tests.papers.listing import SOURCES, Rows, Source
from tests.papers.mutants import Mutant, Rejections, by_row
from tests.papers.row import MOST, Row

VERDICTS = {
    "exact": "the printed figure, digit for digit; nothing is left to chance",
    "agrees": f"at most {MOST:g} standard errors apart, or within the bound",
    "qualitative": "what the paper says in words, or the order of its figures, holds; the figures themselves may not",
    "not reproduced": "it differs, or could not be tried; the last column says why",
    "data absent": "the files it needs were not in the shared folder",
}
_HOSPITALS = re.compile("^SMHO Reg.*: mean overlap$")
HEAD = (
    "row", "published", "ours", "error of ours", "error of published", "allowed", "z", "grade", "verdict", "rejects",
    "parameters and readings", "why",
)  # fmt: skip
METHOD = (
    "**How two figures are compared.** Nearly all are means over simulated data, so both sides are "
    "uncertain. The standard error of ours comes from the spread over our simulations. The papers print "
    "none: the published figure's follows from the same spread and the number of simulations that the "
    "paper states (Liu 1000 data sets, Liu and Little 500, Oganian and Lesaja 100 realisations). z is the "
    "difference in standard errors of the difference, after what rounding to the printed digits can hide "
    f"(half a unit; a whole one for a difference of two printed figures). Figures agree up to z = {MOST:g}; "
    '"allowed" is the same as a difference. A count of things never seen has an error all the same. The '
    "error of the published SMIKe figures includes that the paper's cell means are unknown.",
    "",
    "**Grades.** **A**: must equal the printed figure. **B**: must agree, and can fail: the row rejects "
    "at least a mechanism that releases the original (rows on the sensitivity rule: < in place of ≤). The "
    "tests fail if a row of grade A or B does not hold. **C**: shown, not required, because the published "
    "setting is incomplete, because the row is too noisy to reject doing nothing, or because the figures "
    "differ. **X**: cannot be met as published. The last column says why.",
    "",
    "**Readings.** No number was adjusted until a figure came near. But the papers leave choices open, "
    "and where several readings were tried, the one nearest to the published figures was kept. Such a "
    'choice has seen the figures, so its rows prove less. "Parameters and readings" lists what differs '
    "from the engine's defaults; \\* marks a choice that the paper leaves open, † one that was made "
    "because the published figures are nearest to it. Readings given up that way are among the mutants "
    "below, marked † too.",
)
MUTANTS_HEAD = (
    "Each went through the page's own rows in place of the engine's mechanism: same data, same streams, same number of "
    "simulations. A row rejects it when its figure lies more than three standard errors from the published one, the "
    'larger of its own and the engine\'s standard error being taken. The column "rejects" of the tables below names '
    "them row by row."
)
CANNOT = (
    "No published figure of PRAM is met under any reading for all s, so none is required and no mutant of it is here; "
    "its matrix and its draws have tests of their own (tests/engine/mechanisms/test_pram.py). These wrong "
    "implementations, too, pass every required row; other tests hold the engine to the right one:"
)
LAWS = (
    "Published means tell little of how MaPS and SMIKe draw parameters: estimates plugged in pass most or all rows. "
    "So all mutants of both, M1 to M12 and S1 to S12, must also be rejected by the law of an independent, slow "
    "implementation on tables of 5 to 11 records (tests/papers/test_laws.py), which the engine's own have to meet."
)


def verdict(row: Row, in_order: bool) -> str:
    """One of the words of the document; ``in_order`` says whether the hospitals' overlaps are ordered as published."""
    if row.absent:
        return "data absent"
    if not row.agrees:
        return "qualitative" if in_order and _HOSPITALS.search(row.name) else "not reproduced"
    if row.holds is not None:
        return "qualitative" if isinstance(row.ours, str) else "agrees"
    return "exact" if row.grade == "A" and text(row.ours, row.digits) == text(row.published, row.digits) else "agrees"


def hospitals_in_order(ours: Mapping[str, Any]) -> bool:
    """Whether every mean overlap is larger under CGS than under RGS, and for 20 moved records than for 40."""
    ours = {name: value for name, value in ours.items() if _HOSPITALS.search(name)}
    if not ours or None in ours.values():
        return False
    after = {name.replace("CGS", "RGS"): value for name, value in ours.items() if "CGS" in name}
    fewer = {name.replace(" 20:", " 40:"): value for name, value in ours.items() if " 20:" in name}
    return all(value > ours[name] for part in (after, fewer) for name, value in part.items())


def text(value: Any, digits: int) -> str:
    """A figure as the page shows it."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    shown = f"{value:.{digits}f}"
    return f"{0.0:.{digits}f}" if float(shown) == 0 else shown.replace("-", "−")


def cells(row: Row, in_order: bool, codes: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """One line of the document; ``codes`` are those of the mutants that each required row rejects."""
    apart = row.errors_apart()
    compared = apart is not None and row.error is not None
    line = (
        row.name,
        text(row.published, row.digits),
        text(row.ours, row.digits),
        text(row.error, row.digits + 1),
        text(row.theirs, row.digits + 1),
        text(row.allowed if compared else None, row.digits + 1),
        text(apart if compared else None, 1),
        row.grade,
        verdict(row, in_order),
        " ".join(codes.get(row.name, ())) or ("none" if row.required else "–"),
        row.reading,
        row.why,
    )
    return tuple(str(part).replace("|", r"\|").replace("*", r"\*") for part in line)


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    out = [head, tuple("---" for _ in head), *lines]
    return [f"| {' | '.join(line)} |".replace("|  |", "| |").replace("|  |", "| |") for line in out]


def _counts(lines: Sequence[tuple[Source, tuple[str, ...]]]) -> list[tuple[str, ...]]:
    counted = []
    for paper in dict.fromkeys(source.paper for source in SOURCES):
        count = Counter(line[8] for source, line in lines if source.paper == paper)
        counted.append((paper, *(str(count[word]) for word in VERDICTS), str(sum(count.values()))))
    total = [sum(int(line[k]) for line in counted) for k in range(1, len(VERDICTS) + 2)]
    return [*counted, ("all", *map(str, total))]


def _clearest(rejecting: Mapping[str, float]) -> str:
    name, apart = max(rejecting.items(), key=lambda item: item[1])
    return f"{name} (z = {apart:.1f})" if apart < float("inf") else name


def mutant_line(mutant: Mutant, result: Rejections | None) -> tuple[str, ...]:
    """One line of the table of mutants."""
    what = mutant.what + (" †" if mutant.rival else "")
    if result is None:
        return mutant.code, mutant.mechanism, what, "data absent", "–"
    by = f"{len(result.rejecting)} of {len(result.met)}"
    line = mutant.code, mutant.mechanism, what, by, _clearest(result.rejecting) if result.rejecting else "–"
    return tuple(part.replace("|", r"\|") for part in line)


def _mutants(mutants: Mapping[Mutant, Rejections | None], idle: Sequence[str]) -> list[str]:
    """The two sections on wrong implementations; ``idle`` names the required rows that reject none of them."""
    head = ("code", "mechanism", "what it does wrong", "rejected by", "most clearly by")
    out = ["", "## Wrong implementations and the rows that reject them", "", MUTANTS_HEAD, "", LAWS, ""]
    out += _table(head, [mutant_line(mutant, result) for mutant, result in mutants.items() if mutant.detectable])
    facts = f"Required rows that reject none of them ({len(idle)}), facts of the data without a mechanism: "
    out += ["", facts + (";".join(f" {name}" for name in idle).strip() or "none") + "."]
    out += ["", "## What the published figures cannot tell", "", CANNOT, ""]
    for mutant, result in mutants.items():
        if not mutant.detectable:
            passed = f"all {len(result.met)}" if result else "data absent"
            out.append(f"* {mutant.mechanism}: {mutant.what} ({mutant.code}); required rows that it passes: {passed}.")
    return out


def _summary(every: Rows, mutants: Mapping[Mutant, Rejections | None], missed: int) -> str:
    required = [row for row in every if row.required]
    met = sum(row.agrees and not row.absent for row in required)
    detectable = [result for mutant, result in mutants.items() if mutant.detectable]
    rejected = sum(bool(result and result.rejecting) for result in detectable)
    return (
        f"{len(every)} rows, {len(required)} of them required (grade A or B): {met} are met. {len(detectable)} wrong "
        f"implementations went through the same rows: {rejected} are rejected by required rows. {missed} rows are not "
        "reproduced."
    )


def document(found: Sequence[tuple[Source, Rows]], mutants: Mapping[Mutant, Rejections | None], quick: bool) -> str:
    """The whole text."""
    every = [row for _, rows in found for row in rows]
    in_order = hospitals_in_order({row.name: row.ours for row in every})
    codes = by_row(result for result in mutants.values() if result)
    lines = [(source, cells(row, in_order, codes)) for source, rows in found for row in rows]
    counts = _counts(lines)
    missed = int(counts[-1][1 + list(VERDICTS).index("not reproduced")])
    files = sorted({name for source in SOURCES for name in source.files})
    chances = "few data sets, a quick run: expect more to differ" if quick else "a full run"
    out = [
        "# Reproductions",
        "",
        f"Published figures next to what the engine finds. `make reproductions` makes this page ({chances}; streams of "
        f"version {STREAM_VERSION}, fixed keys: the same figures every time).",
        "",
        _summary(every, mutants, missed),
        "",
        *METHOD,
        "",
        "Verdicts: " + "; ".join(f"**{word}**: {what}" for word, what in VERDICTS.items()) + ".",
        "",
        f"Data that do not ship, wanted in the shared folder: {', '.join(f'`{name}`' for name in files)}.",
        "",
        *_table(("paper", *VERDICTS, "rows"), counts),
        *_mutants(mutants, [row.name for row in every if row.required and not codes.get(row.name)]),
    ]
    for paper in dict.fromkeys(source.paper for source in SOURCES):
        out += ["", f"## {paper}", ""]
        if any(source.paper == paper and source.part == "SMIKe" for source in SOURCES):
            out += ["The rows s1 and s2 of its table 3 are those of table 2 above, shown there once.", ""]
        out += _table(HEAD, [line for source, line in lines if source.paper == paper])
    return "\n".join(out) + "\n"
