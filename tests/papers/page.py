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
    "exact": "equal to the printed figure in all digits; no randomness",
    "agrees": f"at most {MOST:g} standard errors apart, or within the limit",
    "qualitative": "the paper's statement or the order of its figures holds; the figures may differ",
    "not reproduced": "different or not possible; see the last column",
    "data absent": "the files were not in the shared folder",
}
_HOSPITALS = re.compile("^SMHO Reg.*: mean overlap$")
HEAD = (
    "row", "published", "ours", "error of ours", "error of published", "allowed", "z", "grade", "verdict", "rejects",
    "parameters and readings", "why",
)  # fmt: skip
METHOD = (
    "**Comparison.** Most figures are means over simulated data, so both sides have an error. Ours comes from the"
    " spread of our simulations; the published one from the same spread and the paper's number of simulations "
    "(Liu 1000 data sets, Liu and Little 500, Oganian and Lesaja 100 realisations), because the papers print "
    "none. z is the difference in standard errors, less what rounding can hide (half a unit of the last digit; a "
    f'whole one for differences). Figures agree up to z = {MOST:g}, shown as a difference in "allowed". Counts of '
    "events that never occurred have an error, too. The error of published SMIKe figures includes that the "
    "paper's cell means are unknown.",
    "",
    "**Grades.** **A**: must equal the printed figure. **B**: must agree, and must reject a mechanism that "
    "releases the original (for the sensitivity rule: < instead of ≤). The tests fail if a row of grade A or B "
    "does not hold. **C**: not required, because the published setting is incomplete, the row is too noisy to "
    "reject doing nothing, or the figures differ. **X**: cannot be met as published. The last column gives the "
    "reason.",
    "",
    "**Readings.** No number was tuned. Where a paper leaves a choice open and several readings were tried, the "
    'nearest one was kept; such rows prove less. "Parameters and readings" lists deviations from the defaults. \\*'
    " marks a choice that the paper leaves open, † a reading chosen because it is nearest. Rejected readings are "
    "among the mutants below, also with †.",
)
MUTANTS_HEAD = (
    "Each wrong implementation replaced the engine's mechanism: same data, same streams, same number of "
    "simulations. A row rejects it if its figure is more than three standard errors (the larger of its own and "
    'the engine\'s) from the published one. The column "rejects" of the tables below lists them for each row.'
)
CANNOT = (
    "PRAM meets no published figure for all s under any reading, so none is required; its own tests are in "
    "tests/engine/mechanisms/test_pram.py. These wrong implementations also pass every required row; other tests "
    "reject them:"
)
LAWS = (
    "Published means hardly depend on how MaPS and SMIKe draw parameters: plugged-in estimates pass most or all "
    "rows. All mutants M1 to M12 and S1 to S12 must therefore also be rejected by the exact law of an "
    "independent, slow implementation on tables of 5 to 11 records (tests/papers/test_laws.py)."
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
    facts = f"Required rows that reject none of them ({len(idle)}), because they are facts of the data: "
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
        f"Published figures and ours. `make reproductions` writes this page ({chances}; streams of "
        f"version {STREAM_VERSION}, fixed keys, so the figures are the same every time).",
        "",
        _summary(every, mutants, missed),
        "",
        *METHOD,
        "",
        "Verdicts: " + "; ".join(f"**{word}**: {what}" for word, what in VERDICTS.items()) + ".",
        "",
        f"Data that do not ship (expected in the shared folder): {', '.join(f'`{name}`' for name in files)}.",
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
