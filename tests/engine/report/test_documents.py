"""Memo, annexes, tables and slides: complete, described for who does not see pictures, and without traces."""

from __future__ import annotations

import io
import json
import re
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from engine.common.errors import EngineError
from engine.report import documents
from engine.report.decision_pages import pages
from engine.report.findings import Findings
from engine.report.tables import _cell, sheets, tables_bytes
from engine.report.write import write_analyst, write_board
from tests.engine.report.conftest import Case
from tests.engine.report.pages import sections, text_of, tree

TRACES = re.compile(rb"python-docx|python-pptx|Steve Canny|xlsxwriter|Microsoft|matplotlib|someuser|/tmp/|/root", re.I)


@pytest.fixture(scope="module")
def written(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The board's files without the PDF, which takes seconds."""
    folder = tmp_path_factory.mktemp("member")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "why_no_pdf", lambda: "left out by a test")
        write_board(case.study, case.realisation, folder)
    names = {path.name for path in folder.iterdir()}
    assert names == {"memo.docx", "memo.html", "tables.xlsx", "slides.pptx", "board.json"}
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["memo.docx", "tables.xlsx", "slides.pptx"])
def test_office_files_name_no_person_tool_or_time(name: str, written: Path):
    with zipfile.ZipFile(written / name) as archive:
        assert archive.testzip() is None
        assert all(info.date_time == (1980, 1, 1, 0, 0, 0) for info in archive.infolist())
        for part in archive.namelist():
            content = archive.read(part)
            content = re.sub(
                rb"schemas\.microsoft\.com|openxmlformats[^\"<]*|urn:[^\"<]*|root-", b"", content, flags=re.I
            )
            if not part.endswith((".png", "styles.xml", "theme1.xml", "presentation.xml.rels")):
                assert not TRACES.search(content), (part, TRACES.search(content))
        assert b"dcterms" not in archive.read("docProps/core.xml")
        assert "docProps/thumbnail.jpeg" not in archive.namelist()


@pytest.mark.slow
def test_no_member_file_holds_an_internal_name(written: Path, case: Case):
    labels = [scenario.label.encode() for scenario in case.study.scenarios]
    for path in written.iterdir():
        contents = [path.read_bytes()]
        if path.suffix in (".docx", ".xlsx", ".pptx"):
            with zipfile.ZipFile(path) as archive:
                contents = [archive.read(n) for n in archive.namelist() if n.endswith((".xml", ".rels"))]
        elif path.suffix == ".html":
            contents = [re.sub(rb"base64,[^\"]+", b"", contents[0])]
        for content in contents:
            for label in labels:
                assert not re.search(rb"\b" + label + rb"\b", content)
            assert b"private-study-name" not in content and b"secret-source-name" not in content


def test_the_board_sees_the_extent_and_the_analyst_the_names(case: Case, written: Path, tmp_path: Path):
    write_analyst(case.study, case.realisation, tmp_path)
    analyst = sorted(path.name for path in tmp_path.iterdir())
    assert analyst == ["annex-b-analyst.docx", "annex-b-analyst.html"]
    text = text_of((written / "memo.html").read_text(encoding="utf-8"))
    rate = f"{100 * float(case.realisation.spec.rate):g} %"
    assert rate in text and f"{int(case.realisation.changed.sum()):,}" in text
    text = text_of((tmp_path / analyst[1]).read_text(encoding="utf-8"))
    label = case.study.choices.all()[-1].label
    assert label in text and rate in text and "someuser" in text
    assert all(f"B{k} " in text for k in range(1, 7))
    assert case.study.path.parent.name not in text


SIGNS = "=1+1 <a href='http://evil.example'>a</a> <img src='http://evil.example/i'> & $x^$ $\\bad{$ ]]> _x0041_"


def hostile(findings: Findings) -> Findings:
    """The same findings with signs before every name, level and free text of the plan."""
    names = {a.name for a in findings.design.attributes}
    names |= {label for figure in findings.utility.figures for label in (figure.group, figure.what) if ": " in label}

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: item if key == "letter" else changed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [changed(item) for item in value]
        return f"{SIGNS} {value}" if isinstance(value, str) and value in names else value

    damaged = Findings.from_json(json.dumps(changed(json.loads(findings.to_json()))))
    cover = replace(damaged.cover, title=SIGNS, survey=SIGNS, contact=SIGNS, conditions=SIGNS, number=SIGNS)
    return replace(damaged, cover=cover, recommendation=replace(damaged.recommendation, why=SIGNS))


@pytest.mark.slow
def test_the_workbook_keeps_formulas_as_text_even_after_an_edit(case: Case):
    with zipfile.ZipFile(io.BytesIO(tables_bytes(hostile(case.findings)))) as archive:
        styles = archive.read("xl/styles.xml").decode()
        formats = re.findall(r"<xf [^>]*>", styles.partition("<cellXfs")[2].partition("</cellXfs>")[0])
        quoted = {str(k) for k, one in enumerate(formats) if 'quotePrefix="1"' in one}
        shared = re.findall(r"<si><t[^>]*>([^<]*)</t></si>", archive.read("xl/sharedStrings.xml").decode())
        cells = [
            cell
            for name in archive.namelist()
            if name.startswith("xl/worksheets/sheet")
            for cell in re.findall(r'<c r="\w+" s="(\d+)" t="s"><v>(\d+)</v>', archive.read(name).decode())
        ]
    risky = [style for style, place in cells if shared[int(place)].startswith("=")]
    assert quoted and risky and set(risky) <= quoted


@pytest.mark.slow
def test_hostile_names_stay_text_in_every_document(case: Case):
    found = hostile(case.findings)
    page = pages(found)
    tags = {element.tag for element in tree(page).iter()}
    assert "a" not in tags and "script" not in tags and "evil.example" in page and 'src="http' not in page
    for content in (documents.docx(page), documents.pptx(page), tables_bytes(found)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                part = archive.read(name)
                if name.endswith((".xml", ".rels")):
                    ElementTree.fromstring(part)
                    assert b'TargetMode="External"' not in part and b"<f>" not in part and b"<hyperlink" not in part


@pytest.mark.slow
def test_the_workbook_holds_every_table(written: Path, case: Case):
    with zipfile.ZipFile(written / "tables.xlsx") as archive:
        names = re.findall(r'<sheet name="([^"]+)"', archive.read("xl/workbook.xml").decode())
        assert names == list(sheets(case.findings))
        for k, (_, rows) in enumerate(sheets(case.findings).values(), 1):
            assert archive.read(f"xl/worksheets/sheet{k}.xml").decode().count("<row ") == len(rows) + 1
    assert {"Figures that change", "Values changed", "Settings", "Checks", "Log"} <= set(names)


@pytest.mark.slow
def test_the_docx_has_every_heading_and_describes_its_pictures(written: Path):
    import docx

    page, made = (written / "memo.html").read_text(encoding="utf-8"), docx.Document(str(written / "memo.docx"))
    text = "\n".join("".join(t.text or "" for t in p.iter("{*}t")) for p in made.element.body.iter("{*}p"))
    assert len(sections(page)) == 6 and not [head for head in sections(page) if head not in " ".join(text.split())]
    alts = [image.get("alt", "") for image in tree(page).iter("img")]
    assert [picture.get("descr") for picture in made.element.xpath("//wp:docPr")] == alts
    assert len(alts) >= 5 and all(len(alt) > 25 for alt in alts) and not re.search(r"https?://(?!www\.w3)", page)
    properties = made.core_properties
    assert (properties.author, properties.comments, properties.last_modified_by) == ("", "", "")


@pytest.mark.slow
def test_documents_are_the_same_in_other_years(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    page = pages(case.findings)

    def made() -> list[bytes]:
        return [documents.docx(page), documents.pptx(page), tables_bytes(case.findings)]

    now = made()
    monkeypatch.setattr(time, "time", lambda: 1e9)
    assert made() == now
    monkeypatch.setattr(time, "time", lambda: 0.0)
    with pytest.raises(EngineError, match="set the clock"):
        documents.docx(page)
    for content in now:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            assert {info.date_time for info in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "yes"),
        (False, "no"),
        ((), ""),
        (("a", 2), "a, 2"),
        ((("a", "b"), ("c", "d")), "a: b, c: d"),
        (None, None),
        (0, 0),
        (1.5, 1.5),
    ],
)
def test_a_cell_of_the_workbook_says_yes_or_no_and_lists_several(value: Any, shown: Any) -> None:
    assert _cell(value) is shown if isinstance(value, bool) else _cell(value) == shown
