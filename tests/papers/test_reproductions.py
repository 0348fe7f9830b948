"""The committed docs/reproductions.md has every row that the modules make, and says of none what its numbers deny."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from engine.common.streams import STREAM_VERSION
from tests.papers import __main__ as command
from tests.papers.listing import SOURCES, Source, listed
from tests.papers.tolerances import FAMILIES, family

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
def expected() -> list[tuple[Source, Line]]:
    """Every row with its source; what is ours, its error and its verdict mean nothing."""
    return [(source, command.cells(source, row, True)) for source, rows in listed() for row in rows]


def number(text: str) -> float | None:
    try:
        return float(text.replace("−", "-"))
    except ValueError:
        return None


def contradiction(source: Source, line: Line, in_order: bool) -> str | None:
    """What is wrong with a verdict, if anything; differences within rounding are let pass either way."""
    name, published, ours, error, grade, verdict, _ = line
    one, other = number(published), number(ours)
    if verdict == "data absent":
        return None if ours == "–" and source.files else "data are not absent"
    if verdict == "qualitative":
        told = one is None or (in_order and name.startswith("SMHO Reg"))
        return None if told and ours != "–" and grade in "BC" else "nothing says that it holds"
    if verdict == "exact":
        return None if published == ours and grade == "A" else "it is not the very figure"
    if ours == "–":
        return None if verdict == "not reproduced" else "there is nothing of ours"
    if published.startswith("at most "):
        near = float(ours) <= float(published.split()[-1])
        return None if near == (verdict == "within tolerance") else "the bound says otherwise"
    if one is None or other is None:
        return None if (published == ours) == (verdict == "within tolerance") else "the words say otherwise"
    tolerance = family(source.key, name)
    allowed = tolerance.allowed({"published": one, "se": number(error)})
    rounding = 0.5 * 10**-tolerance.digits + tolerance.errors * max(0.5 * 10 ** -(tolerance.digits + 1), 0.0005)
    if tolerance.absolute == tolerance.relative == tolerance.errors == 0:
        rounding = 0.0
    gap = abs(one - other)
    if verdict == "within tolerance":
        return None if gap <= allowed + rounding + 1e-9 else f"{gap:g} is more than {allowed:g}"
    return None if gap >= allowed - rounding - 1e-9 and gap > 0 else f"{gap:g} is no more than {allowed:g}"


def hospitals_in_order(lines: list[Line]) -> bool:
    ours = {line[0]: number(line[2]) for line in lines if line[0].startswith("SMHO Reg")}
    return command.hospitals_in_order([{"row": name, "ours": value} for name, value in ours.items()])


def test_every_row_is_there_and_no_other(text: str, expected: list[tuple[Source, Line]]) -> None:
    shown = tables(text)
    for paper in dict.fromkeys(source.paper for source in SOURCES):
        wanted = [(line[0], line[1], line[4]) for source, line in expected if source.paper == paper]
        assert [(line[0], line[1], line[4]) for line in shown[paper]] == wanted
        names = [name for name, _, _ in wanted]
        assert len(set(names)) == len(names) > 0


def test_no_verdict_contradicts_its_numbers(text: str, expected: list[tuple[Source, Line]]) -> None:
    shown = tables(text)
    lines = [line for paper in dict.fromkeys(source.paper for source, _ in expected) for line in shown[paper]]
    in_order = hospitals_in_order(lines)
    wrong = {}
    for (source, _), line in zip(expected, lines, strict=True):
        assert line[5] in command.VERDICTS, line
        assert line[6] or line[5] != "not reproduced" or line[4] == "C", f"{line[0]}: why not?"
        wrong[line[0]] = contradiction(source, line, in_order)
    assert {name: what for name, what in wrong.items() if what} == {}


def test_required_rows_are_met_and_counted(text: str) -> None:
    """The committed page is of a full run with all data, its counts are those of its rows, and its gates hold."""
    shown = tables(text)
    papers = list(dict.fromkeys(source.paper for source in SOURCES))
    every = [line for paper in papers for line in shown[paper]]
    for line in every:
        assert line[5] != "data absent"
        assert line[4] not in "AB" or line[5] != "not reproduced", line
    for counted, lines in zip(shown["Reproductions"], [*(shown[paper] for paper in papers), every], strict=True):
        count = Counter(line[5] for line in lines)
        assert counted[1:] == (*(str(count[word]) for word in command.VERDICTS), str(len(lines)))
    assert "a full run" in text and f"streams of version {STREAM_VERSION}," in text
    required = sum(line[4] in "AB" for line in every)
    assert f"{required} of the {required} required" in text
    assert f"{Counter(line[5] for line in every)['not reproduced']} are not reproduced" in text
    assert len(shown["Tolerances"]) == len(FAMILIES)


@pytest.mark.parametrize(
    ("line", "fine"),
    [
        (("MaPS w0=0.9 β0 shift of the mean", "0.013", "0.033", "0.0010", "B", "within tolerance", ""), True),
        (("MaPS w0=0.9 β0 shift of the mean", "0.013", "0.035", "0.0010", "B", "within tolerance", ""), False),
        (("MaPS w0=0.9 β0 shift of the mean", "0.013", "0.032", "0.0010", "B", "not reproduced", ""), False),
        (("MaPS w0=0.9 β0 shift of the mean", "0.013", "−0.013", "0.0010", "B", "not reproduced", ""), True),
        (("MaPS w0=0.9 β0 shift of the mean", "0.013", "0.013", "0.0010", "B", "exact", ""), False),
        (("MaPS w0=0.9 β0 shift of the mean", "0.013", "0.050", "0.0010", "B", "qualitative", ""), False),
        (("MaPS w0=0.9 β0 shift of the mean", "0.013", "–", "–", "B", "data absent", ""), False),
        (("MaPS w0=0.9 β0 shift of the mean", "0.013", "–", "–", "B", "within tolerance", ""), False),
        (("a swap", "WS", "WR", "–", "C", "within tolerance", ""), False),
        (("a swap", "WS", "WS", "–", "C", "not reproduced", ""), False),
        (("a |z|", "at most 4.5", "4.6", "–", "B", "within tolerance", ""), False),
    ],
)
def test_a_wrong_verdict_is_found(line: Line, fine: bool) -> None:
    assert (contradiction(SOURCES[0], line, False) is None) == fine


def test_absent_data_are_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the shared folder, rows that need it are listed as absent, and nothing is computed for them."""
    monkeypatch.setenv("FRONTIER_SHARED", str(tmp_path))
    needing = [(source, rows) for source, rows in listed() if source.files]
    assert len(needing) == 4
    monkeypatch.setattr(command, "listed", lambda: needing)
    found = command.collect(quick=True)
    page = command.document(found, quick=True)
    assert page.count("| data absent | needs ") == sum(len(rows) for _, rows in needing)
    assert "needs data/titanic.csv, data/smho_n874.csv" in page and "a quick run" in page
    assert "data absent: data/titanic.csv" in capsys.readouterr().out
