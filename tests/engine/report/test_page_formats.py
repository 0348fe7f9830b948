"""The closed HTML of documents, and the PDF, DOCX and PPTX that are made of it."""

from __future__ import annotations

import base64
import io
import re
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jinja2 import meta, nodes

from engine.common.errors import EngineError
from engine.decision.states import decide
from engine.plan.coding import code
from engine.report import documents
from engine.report.annex import analyst_sections
from engine.report.circulating import page as circulating_page
from engine.report.decision_pages import pages as decision_pages
from engine.report.no_release import considered, no_release_memo
from engine.report.plan_document import count_plan, plan_document
from engine.report.public_wording import public_wording
from engine.report.template import _environment, html_of
from engine.study.map_reader import risk_utility_map
from tests.engine.report.conftest import Case, case_of, raw_table
from tests.engine.report.pages import sections, text_of

PNG = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360f8cfc000000301010018dd8db00000000049454e44ae426082"
    )
).decode()
IMAGE = f'<img src="data:image/png;base64,{PNG}" alt="a dot, alone"/>'
EVERY = f"""
<section class="slide"><h1>Heading one</h1><p class="subtitle">Subtitle</p>
<p class="request slide">Request <strong>bold</strong></p>
<div class="columns"><div><p>left cell</p></div><div><figure class="slide"><figcaption>Caption of a figure
<span class="under">small print</span></figcaption>{IMAGE}</figure></div></div>
<ul class="slide"><li>bullet one</li><li>bullet <strong>two</strong></li></ul></section>
<section class="new-page slide"><p class="question">Question</p><h2>Heading two</h2>
<p class="lead">Lead</p><h3>Heading three</h3>
<table class="slide"><caption>Caption of a table</caption>
<colgroup><col width="3"/><col width="1" class="number"/></colgroup>
<thead><tr><th>Name</th><th>Figure</th></tr></thead>
<tbody><tr><th>row</th><td>17 <span class="warn">bad</span></td></tr></tbody></table>
<p class="note">Note of the table</p>
<dl><dt>Contact</dt><dd>Ada</dd><dt>Date</dt><dd><span class="blank"></span></dd></dl>
<p class="warning">Warning</p><div class="box caution"><h3>Before</h3><p>in a box</p></div>
<div class="sign"><p>Signed</p><p>Day</p></div></section>
"""
TEXTS = (
    "Heading one", "Subtitle", "Request bold", "left cell", "Caption of a figure", "small print", "bullet one",
    "bullet two", "Question", "Heading two", "Lead", "Heading three", "Caption of a table", "Name",
    "Figure", "17 bad", "Note of the table", "Contact", "Ada", documents.BLANK, "Warning", "in a box", "Signed", "Day",
)  # fmt: skip


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Make a page of what stands in its main part."""
    for name in ("base.html", "style.css", "macros.html"):
        (tmp_path / name).write_text((documents.FOLDER / name).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(documents, "FOLDER", tmp_path)

    def make(main: str, **values: Any) -> str:
        blocks = "".join(
            f"{{% block {name} %}}{text}{{% endblock %}}"
            for name, text in (
                ("title", "The title"), ("banner", "Confidential"), ("running", "Sheet"), ("foot", "Census"),
                ("main", main),
            )
        )  # fmt: skip
        (tmp_path / "t.html").write_text(f'{{% extends "base.html" %}}{blocks}', encoding="utf-8")
        return documents.html("t.html", **values)

    return make


def parts(content: bytes, ending: str = ".xml") -> str:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        return "".join(packed.read(name).decode() for name in packed.namelist() if name.endswith(ending))


def words(xml: str) -> str:
    """The text of paragraphs of WordprocessingML or DrawingML, a line each."""
    lines = re.findall(r"<(?:w|a):p[ >].*?</(?:w|a):p>", xml, re.DOTALL)
    return "\n".join("".join(re.findall(r"<(?:w|a):t[^>]*>([^<]*)<", line)) for line in lines)


@pytest.mark.slow
def test_every_element_is_in_the_docx_as_a_style_or_a_table(page) -> None:
    xml = parts(documents.docx(page(EVERY)))
    shown = words(xml)
    assert [text for text in TEXTS if text not in shown] == []
    for style in ("Title", "Subtitle", "Request", "Question", "Heading1", "Heading2", "Lead", "Note", "Warning",
                  "Caption", "ListBullet", "Number"):  # fmt: skip
        assert f'<w:pStyle w:val="{style}"/>' in xml, style
    assert xml.count("<w:tblHeader/>") == 1 and 'descr="a dot, alone"' in xml
    assert '<w:tblDescription w:val="Caption of a table"/>' in xml
    figure = next(cell for cell in re.findall(r"<w:tc>.*?</w:tc>", xml) if ">17 <" in cell)
    assert '<w:pStyle w:val="Number"/>' in figure and f'<w:color w:val="{documents._ORANGE}"/>' in figure
    assert "Confidential" in shown and "Sheet" in shown and "NUMPAGES" in xml


def test_no_row_is_parted_by_a_page_and_a_heading_stays_with_what_follows(page) -> None:
    made = documents.docx(page(EVERY))
    xml = parts(made, "document.xml")
    assert xml.count("<w:pageBreakBefore/>") == 1
    rows = re.findall(r"<w:tr>.*?</w:tr>", xml)
    for text in ("Name", "row", "Contact"):
        (row,) = (row for row in rows if f">{text}<" in row)
        assert "<w:cantSplit/>" in row, text
    styled = re.findall(r'w:styleId="(\w+)"[^>]*>(.*?)</w:style>', parts(made, "styles.xml"), re.DOTALL)
    kept = {name for name, form in styled if "<w:keepNext/>" in form}
    assert {"Heading1", "Heading2", "Label", "Question", "Caption"} <= kept


@pytest.mark.slow
def test_sections_are_slides_with_the_marked_elements(page) -> None:
    from pptx import Presentation

    slides = list(Presentation(io.BytesIO(documents.pptx(page(EVERY)))).slides)
    shapes = [list(slide.shapes) for slide in slides]
    texts = ["\n".join(s.text_frame.text for s in own if s.has_text_frame) for own in shapes]
    assert "Heading one" in texts[0] and "Request bold" in texts[0] and "bullet two" in texts[0]
    assert "left cell" not in texts[0] and "Confidential · 1 of 2" in texts[0]
    pictures = [s for s in shapes[0] if s.shape_type == 13]
    assert [p._element.nvPicPr.cNvPr.get("descr") for p in pictures] == ["a dot, alone"]
    table = next(s for s in shapes[1] if s.has_table).table
    assert [[cell.text for cell in row.cells] for row in table.rows] == [["Name", "Figure"], ["row", "17 bad"]]
    bold = [bool(cell.text_frame.paragraphs[0].runs[0].font.bold) for row in table.rows for cell in row.cells]
    assert table.first_row and bold == [True, True, False, False]
    for shape in (*shapes[0], *shapes[1]):
        assert shape.left >= 0 and shape.top >= 0
        assert shape.left + shape.width <= 13.34 * 914400 and shape.top + shape.height <= 7.5 * 914400


STEERING = "a\x1b]0;b\x07c\x9bd\u202ee\ufffef"
SPELT = "a\\u001b]0;b\\u0007c\\u009bd\\u202ee\\ufffef"


def test_signs_that_would_steer_are_written_out_in_every_format(page) -> None:
    """Some of them no DOCX can hold, and others turn the words after them."""
    made = page("<section class='slide'><h2>{{ v }}</h2><ul><li>{{ v }}</li></ul><p>{{ v }}</p></section>", v=STEERING)
    for text in (made, parts(documents.docx(made)), parts(documents.pptx(made))):
        assert text.count(SPELT) >= 3 and not re.search("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u202e\ufffe]", text)


@pytest.mark.parametrize(
    ("main", "named"),
    [
        ("<blockquote><p>x</p></blockquote>", "blockquote"),
        ("<p>a <a href='x'>link</a></p>", "<a>"),
        ("<p>a<br/>b</p>", "<br>"),
        ("<p><p>x</p></p>", "<p> in <p>"),
        ("<p style='color:red'>x</p>", "'style' on <p>"),
        ("<p class='leed'>x</p>", "'leed' on <p>"),
        ("<section>stray</section>", "'stray' in <section>"),
        ("<p>open", "not well formed"),
        (f"<figure>{IMAGE}{IMAGE}</figure>", "other than one picture"),
        (f"<figure>{IMAGE.replace('a dot, alone', ' ')}</figure>", "has no alt"),
        ("<figure><img src='http://x/y.png' alt='x'/></figure>", "not in the page"),
        ("<div class='columns'><div><p>x</p></div></div>", "other than two cells"),
        ("<table><tbody><tr><td>a</td></tr><tr><td>a</td><td>b</td></tr></tbody></table>", "different numbers"),
        (f"<table><tbody><tr><td>{IMAGE}</td></tr></tbody></table>", "<img> in <td>"),
        ("<dl><dt>a</dt><dt>b</dt><dd>c</dd></dl>", "no pairs"),
        ("<p>{{ unknown }}</p>", "unknown"),
        ("<p>{{ 1.5 }}</p>", "filter"),
    ],
)
def test_anything_else_is_rejected_by_its_name(page, main: str, named: str) -> None:
    with pytest.raises(EngineError, match=re.escape(named)):
        page(main)


@pytest.mark.parametrize("make", [documents.docx, documents.pptx])
def test_a_format_rejects_an_element_that_the_page_did_not_have(page, make) -> None:
    made = page("<section class='slide'><h2>x</h2><p>text</p></section>")
    with pytest.raises(EngineError, match="<marquee>"):
        make(made.replace("<p>text</p>", "<p><marquee>text</marquee></p>"))


def test_a_slide_has_room_for_one_figure(page) -> None:
    two = f"<section class='slide'><h2>Two</h2><figure>{IMAGE}</figure><figure>{IMAGE}</figure></section>"
    with pytest.raises(EngineError, match="'Two' has 2 figures"):
        documents.pptx(page(two))


def test_small_print_begins_a_line_of_its_own_on_slides(page) -> None:
    small = "<span class='under'>{}</span>".format
    texts = f"one {small('two')}{small('three')} four {small('five')}", f"{small('six')} seven"
    slides = "".join(f"<section class='slide'><h2>x</h2><p>{text}</p></section>" for text in texts)
    xml = parts(documents.pptx(page(slides)))
    assert re.findall(r"<a:br/>.*?<a:t>(\w+)", xml) == ["two", "five"] and xml.count("<a:br") == 2


def test_a_banner_cannot_leave_the_style_sheet(page) -> None:
    made = page("<p>x</p>").replace("Confidential", "")
    assert 'content: ""' in made
    text = documents._css_string('"; } </style><script>')
    assert not set(text[1:-1]) & set("\"';}<>") and text == text.encode("ascii").decode()


def test_no_word_is_wider_than_its_column(page) -> None:
    long = "municipality_of_residence"
    table = (
        "<table><colgroup><col width='1'/><col width='20' class='number'/></colgroup>"
        "<thead><tr><th>x</th><th>y</th></tr>"
        f"</thead><tbody><tr><th>{long} of all</th><td>1</td></tr></tbody></table>"
    )
    xml = parts(documents.docx(page(table)))
    first, second = (int(w) / 1440 for w in re.findall(r'<w:gridCol w:w="(\d+)"/>', xml))
    assert first > documents._text_width(long, 9) and second > first
    assert abs(first + second - documents._WIDTH) < 0.01


def test_every_table_is_as_wide_as_its_room_and_two_columns_share_the_width(page) -> None:
    xml = parts(documents.docx(page(EVERY)), "document.xml")
    grids = [
        [int(w) for w in re.findall(r'w:w="(\d+)"', grid)] for grid in re.findall(r"<w:tblGrid>.*?</w:tblGrid>", xml)
    ]
    whole = round(1440 * documents._WIDTH)
    assert grids and all(abs(sum(grid) - whole) <= len(grid) for grid in grids)
    assert grids[0][0] == grids[0][1] == whole // 2
    picture = int(re.findall(r'<wp:extent cx="(\d+)"', xml)[0]) / 914400
    assert 0.9 * documents._WIDTH / 2 < picture < documents._WIDTH / 2


def test_a_word_longer_than_a_column_is_broken_and_pushes_no_other_off_the_page(page) -> None:
    digest = "0123456789abcdef" * 8
    rows = f"<tr><th>1</th><td>{digest} of it</td><td>short words</td></tr>"
    made = page(f"<table><tbody>{rows}</tbody></table>")
    assert '<td class="long">0123' in made and '<td class="long">short' not in made
    xml = parts(documents.docx(made), "document.xml")
    widths = [int(w) / 1440 for w in re.findall(r'<w:gridCol w:w="(\d+)"/>', xml)]
    assert abs(sum(widths) - documents._WIDTH) < 0.01 and widths[2] > documents._text_width("words", 8)
    assert '<w:sz w:val="17"/>' in xml, "letters are not made smaller for it"


@pytest.mark.slow
def test_a_long_table_is_parted_and_a_short_one_is_not(page) -> None:
    def table(n: int) -> str:
        rows = "".join(f"<tr><th>{k}</th><td>{k}</td></tr>" for k in range(n))
        return page(f"<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>{rows}</tbody></table>")

    for n in (5, documents.LONG + 5):
        xml = parts(documents.docx(table(n)))
        kept = sum("<w:keepNext/>" in row for row in re.findall(r"<w:tr>.*?</w:tr>", xml))
        assert kept == (n if n < documents.LONG else 2)
        assert ('<table class="long">' in table(n)) is (n > documents.LONG)


@pytest.mark.slow
def test_a_pdf_has_equal_bytes_at_another_time_without_harfbuzz_subset(page, monkeypatch: pytest.MonkeyPatch) -> None:
    if why := documents.why_no_pdf():
        pytest.skip(f"no PDF: {why}")
    monkeypatch.setattr("weasyprint.pdf.fonts.harfbuzz_subset", None)
    first = documents.pdf(page(EVERY))
    time.sleep(1.1)  # fonts hold whole seconds
    assert documents.pdf(page(EVERY)) == first


@pytest.mark.slow
def test_the_pdf_is_tagged_and_says_all(page) -> None:
    import pypdf

    if why := documents.why_no_pdf():
        pytest.skip(f"no PDF: {why}")
    content = documents.pdf(page(EVERY))
    assert content == documents.pdf(page(EVERY))
    made = pypdf.PdfReader(io.BytesIO(content))
    text = re.sub(r"\s+", " ", " ".join(sheet.extract_text() for sheet in made.pages))
    assert len(made.pages) == 2 and "Confidential" in text and "1 of 2" in text
    assert [t for t in TEXTS if t.lower() not in text.lower()] == []
    root: Any = made.trailer["/Root"]
    tags = structure(root["/StructTreeRoot"])
    for tag in ("/H1", "/H2", "/H3", "/P", "/L", "/LI", "/Table", "/TH", "/TD", "/Figure", "/Caption"):
        assert tag in tags, tag
    assert b"pdfuaid" in root["/Metadata"].get_data() and "/Author" not in (made.metadata or {})
    assert root["/Lang"] == "en"


def structure(node: Any) -> set[str]:
    """Kinds of the structure elements below a node of the tag tree."""
    node = node.get_object()
    if isinstance(node, list):
        return set().union(*map(structure, node))
    if not isinstance(node, dict):
        return set()
    own = {str(node["/S"])} if "/S" in node else set()
    return own | (structure(node["/K"]) if "/K" in node else set())


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Mapping[str, Any]]]:
    """Every template that is filled in, with the values of its names."""
    made: list[tuple[str, Mapping[str, Any]]] = []
    filling = html_of

    def recorded(path: Path, names: Mapping[str, Any]) -> str:
        made.append((path.name, names))
        return filling(path, names)

    monkeypatch.setattr(documents, "html_of", recorded)
    return made


FRAMES = {"base.html", "macros.html", "parts.html"}
"""Templates that others extend or import."""


@pytest.mark.slow
def test_every_template_is_filled_in_and_uses_only_names_that_there_are(
    case: Case, filled: list[tuple[str, Mapping[str, Any]]], tmp_path: Path
) -> None:
    """Whether a sample comes by a name or not: what a template uses and does not make itself is looked for."""
    plan = case.study.plan
    counts = count_plan(plan, code(raw_table(), plan))
    pages = [
        decision_pages(case.findings),
        circulating_page(case.findings),
        analyst_sections(case.study, case.realisation),
        plan_document(plan),
        plan_document(plan, counts),
    ]
    assert public_wording(case.findings) and considered(case.study, risk_utility_map(case.study))
    withheld = case_of(tmp_path, plan).study
    decide(withheld, "withheld", "A. Analyst", why="too risky")
    pages.append(no_release_memo(withheld, risk_utility_map(withheld)))
    assert all(len(text_of(section)) > 60 for made in pages for section in sections(made).values())
    assert {name for name, _ in filled} | FRAMES == {path.name for path in documents.FOLDER.glob("*.html")}
    environment = _environment(documents.FOLDER)
    for name, names in filled:
        text = (documents.FOLDER / name).read_text(encoding="utf-8")
        parsed = environment.parse(text)
        own = {macro.name for macro in parsed.find_all(nodes.Macro)}
        own |= {name.name for name in parsed.find_all(nodes.Name) if name.ctx == "store"}
        assert meta.find_undeclared_variables(parsed) <= {*names, *own, "self", "parts", "m"}, name


def test_paragraphs_without_words_and_lists_without_items_are_left_out(page) -> None:
    made = page("<p>{{ '' }}</p><ul></ul><dl></dl><p>x</p><dl><dt>Date</dt><dd>{{ '' }}</dd></dl>")
    body = made.partition("<main>")[2]
    assert body.count("<p>") == 1 and "<ul" not in body and body.count("<dl>") == 1 and documents.BLANK in body


WARNS = """
import warnings
warnings.warn("HarfBuzz-Subset will be required by future versions", category=DeprecationWarning)
print("carefully follow the installation steps")

class HTML:
    def __init__(self, string, url_fetcher): ...
    def write_pdf(self, pdf_variant):
        warnings.warn("this font is not known", category=UserWarning)
        return b"%PDF made"
"""
NO_PANGO = """
print("carefully follow the installation steps")
raise OSError("cannot load library 'libpango-1.0-0'")
"""
NOT_INSTALLED = "raise ModuleNotFoundError"


@pytest.fixture
def weasyprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Put another WeasyPrint, of these lines, in the place of the installed one."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "weasyprint"]:
        monkeypatch.delitem(sys.modules, name)

    def instead(lines: str) -> None:
        package = tmp_path / "weasyprint"
        package.mkdir()
        (package / "__init__.py").write_text(lines, encoding="utf-8")
        (package / "urls.py").write_text("def URLFetcher(allowed_protocols): ...", encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))

    documents.why_no_pdf.cache_clear()
    yield instead
    documents.why_no_pdf.cache_clear()
    for name in ("weasyprint", "weasyprint.urls"):
        sys.modules.pop(name, None)


def test_what_the_library_warns_of_stops_nothing(
    weasyprint: Callable[[str], None], capfd: pytest.CaptureFixture[str]
) -> None:
    weasyprint(WARNS)
    assert documents.why_no_pdf() == "" and documents.pdf("<p>") == b"%PDF made"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("lines", "remedy"), [(NO_PANGO, "install Pango"), (NOT_INSTALLED, "pip install weasyprint")])
def test_what_is_missing_is_said_in_one_sentence(
    weasyprint: Callable[[str], None], capfd: pytest.CaptureFixture[str], lines: str, remedy: str
) -> None:
    weasyprint(lines)
    with pytest.raises(EngineError, match=f"no PDF can be made: .*{remedy}"):
        documents.pdf("<p>")
    assert remedy in documents.why_no_pdf() and "\n" not in documents.why_no_pdf()
    assert capfd.readouterr() == ("", "")
