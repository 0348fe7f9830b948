"""The committed docs/reproductions.md has every row that the modules make, and says of none what its numbers deny."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from engine.common.streams import STREAM_VERSION
from tests.papers import __main__ as command
from tests.papers import page
from tests.papers.listing import SOURCES, Source, listed
from tests.papers.mutants import MUST_BE_REJECTED
from tests.papers.mutants_all import MUTANTS
from tests.papers.row import MOST, Row

Line = tuple[str, ...]


def tables(text: str) -> dict[str, list[Line]]:
    """Lines of the table under every heading, without its head."""
    found: dict[str, list[Line]] = {}
    heading = ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
            found[heading] = []
        elif line.startswith("|"):
            found[heading].append(tuple(part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]))
    return {heading: lines[2:] for heading, lines in found.items()}


@pytest.fixture(scope="module")
def text() -> str:
    return command.DOCUMENT.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def expected() -> list[tuple[Source, Row]]:
    """Every row with its source; what is ours, its error and its verdict mean nothing."""
    return [(source, row) for source, rows in listed() for row in rows]


def shown_as(row: Row) -> Line:
    """Name, published figure, grade and readings, as the page has them."""
    line = page.cells(row, True, {})
    return line[0], line[1], line[7], line[10]


def number(text: str) -> float | None:
    try:
        return float(text.replace("−", "-"))
    except ValueError:
        return None


def contradiction(row: Row, line: Line, in_order: bool) -> str | None:
    """What is wrong with a verdict, if anything; differences within rounding are let pass either way."""
    name, published, ours, _, _, allowed, apart, grade, verdict, *_ = line
    one, other, most = number(published), number(ours), number(allowed)
    if verdict == "data absent":
        return None if ours == "–" else "data are not absent"
    if verdict == "qualitative":
        stated = one is None or (in_order and name.startswith("SMHO Reg"))
        return None if stated and ours != "–" and grade in "BC" else "nothing says that it holds"
    if verdict == "exact":
        return None if published == ours and grade == "A" else "it is not the very figure"
    if ours == "–":
        return None if verdict == "not reproduced" else "there is nothing of ours"
    if published.startswith("at most "):
        near = float(ours) <= float(published.split()[-1])
        return None if near == (verdict == "agrees") else "the limit says otherwise"
    if published == "0.70 to 0.80":
        near = other is not None and 0.7 <= other <= 0.8
        return None if near == (verdict == "agrees") else "the range says otherwise"
    if one is None or other is None:
        return None if verdict == "not reproduced" and published != ours else "the words say otherwise"
    if most is None:
        near = abs(one - other) <= 0.5 * 10**-row.digits + 1e-9
        return None if near == (verdict == "agrees") else "the figures say otherwise"
    gap, rounding = abs(one - other), 1.5 * 10**-row.digits
    if verdict == "agrees":
        return None if gap <= most + rounding and float(apart) <= MOST else f"{gap:g} is more than {most:g}"
    return None if gap >= most - rounding and float(apart) >= MOST else f"{gap:g} is no more than {most:g}"


def hospitals_in_order(lines: list[Line]) -> bool:
    return page.hospitals_in_order({line[0]: number(line[2]) for line in lines})


@pytest.mark.slow
def test_every_row_is_there_and_no_other(text: str, expected: list[tuple[Source, Row]]) -> None:
    shown = tables(text)
    for paper in dict.fromkeys(source.paper for source in SOURCES):
        wanted = [shown_as(row) for source, row in expected if source.paper == paper]
        assert [(line[0], line[1], line[7], line[10]) for line in shown[paper]] == wanted
        assert len({line[0] for line in wanted}) == len(wanted) > 0


@pytest.mark.slow
def test_no_verdict_contradicts_its_numbers(text: str, expected: list[tuple[Source, Row]]) -> None:
    shown = tables(text)
    lines = [line for paper in dict.fromkeys(source.paper for source, _ in expected) for line in shown[paper]]
    in_order = hospitals_in_order(lines)
    wrong = {}
    for (_, row), line in zip(expected, lines, strict=True):
        assert line[8] in page.VERDICTS, line
        assert line[11] or line[7] in "AB", f"{line[0]}: why is it not required?"
        wrong[line[0]] = contradiction(row, line, in_order)
    assert {name: what for name, what in wrong.items() if what} == {}


def test_required_rows_are_met_and_counted(text: str) -> None:
    """The committed page is of a full run with all data, its counts are those of its rows, and its gates hold."""
    shown = tables(text)
    papers = list(dict.fromkeys(source.paper for source in SOURCES))
    lines = [line for paper in papers for line in shown[paper]]
    for line in lines:
        assert line[8] != "data absent"
        assert line[7] not in "AB" or line[8] != "not reproduced", line
    for counted, some in zip(shown["Reproductions"], [*(shown[paper] for paper in papers), lines], strict=True):
        count = Counter(line[8] for line in some)
        assert counted[1:] == (*(str(count[word]) for word in page.VERDICTS), str(len(some)))
    assert "a full run" in text and f"streams of version {STREAM_VERSION}," in text
    required = sum(line[7] in "AB" for line in lines)
    assert f"{len(lines)} rows, {required} of them required (grade A or B): {required} are met." in text
    assert f"{Counter(line[8] for line in lines)['not reproduced']} rows are not reproduced" in text


def test_every_mutant_is_rejected_and_every_gate_rejects(text: str) -> None:
    """Counts of the table of mutants are those of the column "rejects"; rows of grade B reject doing nothing."""
    shown = tables(text)
    lines = [line for paper in dict.fromkeys(source.paper for source in SOURCES) for line in shown[paper]]
    rejected = Counter(code for line in lines for code in line[9].split() if code not in ("none", "–"))
    detectable = {mutant.code: mutant for mutant in MUTANTS if mutant.detectable}
    table = shown["Wrong implementations and the rows that reject them"]
    assert [line[0] for line in table] == list(detectable)
    for code, _, what, by, clearest in table:
        assert what.removesuffix(" †") == detectable[code].what
        assert int(by.split()[0]) == rejected[code] > 0 and clearest != "–"
    assert set(rejected) == set(detectable)
    idle = []
    for line in lines:
        codes = set(line[9].split())
        assert line[7] != "B" or codes & set(MUST_BE_REJECTED), f"{line[0]} passes a mechanism that does nothing"
        assert (line[9] == "–") == (line[7] not in "AB")
        idle += [line[0]] * (line[9] == "none")
    assert f"Required rows that reject none of them ({len(idle)})" in text
    assert all(f"{name};" in text or f"{name}." in text for name in idle)
    for mutant in MUTANTS:
        assert mutant.detectable or f"* {mutant.mechanism}: {mutant.what} ({mutant.code}); required rows" in text


@pytest.mark.slow
def test_absent_data_are_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the shared folder, rows that need it are listed as absent, and nothing is computed for them."""
    monkeypatch.setenv("FRONTIER_SHARED", str(tmp_path))
    needing = [(source, rows) for source, rows in listed() if source.files]
    assert len(needing) == 4
    monkeypatch.setattr(command, "listed", lambda: needing)
    found = command.collect(quick=True)
    mutants = [mutant for mutant in MUTANTS if mutant.files]
    results = command.run(mutants, found, quick=True)
    assert set(results.values()) == {None} and len(results) > 10
    made = page.document(found, results, quick=True)
    assert made.count("| data absent | none |") + made.count("| data absent | – |") == len(
        [row for _, rows in needing for row in rows]
    ) + len(mutants)
    assert "needs data/titanic.csv, data/smho_n874.csv" in made and "a quick run" in made
    assert "data absent: data/titanic.csv" in capsys.readouterr().out
