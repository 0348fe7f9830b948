"""Memo, annexes, tables and slides: complete, described for who does not see pictures, and without traces."""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.report import documents, html_file
from engine.report.document import Bullets, Document, Entries, Grid, Paragraph, Section
from engine.report.document_files import write_document
from engine.report.docx_file import docx_bytes
from engine.report.findings import Findings
from engine.report.tables import tables_bytes
from engine.report.write import write_analyst, write_board
from tests.engine.report.conftest import Case

SECTIONS = (
    "1  The decision",
    "2  The data, and what an intruder knows",
    "3  The plan, and what happened",
    "4  Risk before and after",
    "5  What users lose",
    "6  The frontier and the choice",
    "7  Audit and limits",
    "8  What is said in public, and who can repeat this",
)
TRACES = re.compile(rb"python-docx|python-pptx|Steve Canny|xlsxwriter|Microsoft|matplotlib|someuser|/tmp/|/root", re.I)


@pytest.fixture(scope="module")
def written(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The board's files without the PDF, which takes seconds."""
    folder = tmp_path_factory.mktemp("member")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "why_no_pdf", lambda: "left out by a test")
        names = [path.name for path in write_board(case.study, case.realisation, folder)]
    assert sorted(names) == sorted(path.name for path in folder.iterdir())
    assert names == ["memo.docx", "memo.html", "tables.xlsx", "slides.pptx", "board.json"]
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
    analyst = [path.name for path in write_analyst(case.study, case.realisation, tmp_path)]
    assert analyst == ["annex-b-analyst.docx", "annex-b-analyst.html"]
    text = (written / "memo.html").read_text(encoding="utf-8")
    rate = f"{100 * float(case.realisation.spec.rate):g} %"
    assert rate in text and f"{int(case.realisation.changed.sum()):,}" in text
    text = (tmp_path / analyst[1]).read_text(encoding="utf-8")
    label = case.study.choices.all()[-1].label
    assert label in text and rate in text and "someuser" in text
    assert all(f"B{k}  " in text for k in range(1, 7))
    assert case.study.path.parent.name not in text


@pytest.mark.slow
def test_markup_in_texts_stays_text(tmp_path: Path):
    document = Document("<b>", "", "", (Section("<i>", (Paragraph("<script>"), Grid("<u>", ("a",), (("&lt;",),)))),))
    write_document(document, tmp_path, "x")
    text = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "<script>" not in text and "&lt;script&gt;" in text and "&amp;lt;" in text


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


STEERING = "a\x1b]0;b\x07c\x9bd\u202ee\ufffef"
SPELT = "a\\u001b]0;b\\u0007c\\u009bd\\u202ee\\ufffef"


@pytest.mark.slow
def test_names_that_would_steer_are_written_out_in_every_document():
    """Some of them no DOCX can hold, and others turn the words after them."""
    elements = (
        Paragraph(STEERING),
        Bullets((STEERING,)),
        Grid(STEERING, (STEERING,), ((STEERING,),)),
        Entries(((STEERING, STEERING),)),
    )
    made = Document(STEERING, STEERING, STEERING, (Section(STEERING, elements),))
    with zipfile.ZipFile(io.BytesIO(docx_bytes(made))) as archive:
        words = archive.read("word/document.xml").decode()
        assert SPELT in archive.read("word/header1.xml").decode()
    assert words.count(SPELT) >= 10
    page = html_file.html_text(made)
    assert page.count(SPELT) >= 10
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ufffe]", words.replace("\r\n", "\n") + page)
