"""Documents: Jinja writes a closed HTML, from which PDF, DOCX and PPTX are made.

:func:`html` fills in a template of ``templates/`` and rejects any element, class or attribute that
``docs/documents.md`` does not list, so that each of the other formats can render all of them.  Equal values give equal
bytes in every format.
"""

from __future__ import annotations

import base64
import copy
import importlib
import io
import logging
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape, quoteattr

from engine.common.errors import EngineError
from engine.common.wording import listed
from engine.report.office import parts_of_docx, parts_of_pptx, without_traces
from engine.report.template import html_of

FOLDER = Path(__file__).with_name("templates")
"""The folder of the templates and of their style sheet."""
BLANK = "_" * 30
"""The line that stands for an entry to be filled in by hand."""
LONG = 30
"""Rows of a table that stays on one page where it can; a longer one is parted."""
_LONG_WORD = 30  # signs of a word, such as a digest, that may be broken in a cell
INK, GREY, BLUE, ORANGE, GREEN, RULE = "1B2430", "566171", "0067A3", "A84300", "00704F", "C4CAD2"
"""Colours of text, marks and lines; those of text have a contrast of 5 or more on white."""

_INLINE, _BLOCKS = "strong em span", "h1 h2 h3 p ul ol table dl figure div"
_WORDS = f"h1 h2 h3 p li dt dd th td caption figcaption {_INLINE}"
_CHILDREN: dict[str, frozenset[str]] = {
    tag: frozenset(children.split())
    for tags, children in {
        "html": "head body",
        "head": "meta title style",
        "body": "header main",
        "header": "p",
        "main": f"{_BLOCKS} section",
        "section div": _BLOCKS,
        "ul ol": "li",
        "dl": "dt dd",
        "table": "caption colgroup thead tbody",
        "colgroup": "col",
        "thead tbody": "tr",
        "tr": "th td",
        "figure": "img figcaption",
        _WORDS: _INLINE,
        "title style meta col img": "",
    }.items()
    for tag in tags.split()
}
"""Elements and the elements that each may hold."""
_ON_SLIDE = "p ul ol figure table"
_CLASSES: dict[str, list[str]] = {
    name: tags.split()
    for names, tags in {
        "banner running foot subtitle question request lead note warning": "p",
        "warn good quiet under blank letter recommended within outside": "span",
        "columns sign box caution obstacle": "div",
        "new-page": "section",
        "number": "col th td",
        "long": "table th td",
        "slide": f"section div {_ON_SLIDE}",
    }.items()
    for name in names.split()
}
"""Classes and the elements that may have each."""
_ATTRIBUTES = {
    "html": "lang", "meta": "charset name content", "col": "width style", "img": "src alt width style", "th": "scope"
}  # fmt: skip
_PNG = "data:image/png;base64,"
_VOID = re.compile(r"></(?:meta|col|img)>")


def html(template: str, **values: Any) -> str:
    """Return the self-contained page of a template of ``templates/``.

    Paragraphs and lists without words are left out; a ``<dd>`` without words is a line to be filled in by hand.  A
    ``<col>`` states its width beside the others (``width="2.5"``) and may have the class ``number``, which its cells
    inherit; an ``<img>`` may state its share of the width (``width="60%"``).

    Raises:
        EngineError: An unknown name, or an element, class or attribute that documents do not know.
    """
    text = html_of(FOLDER / template, values)
    try:
        root = ElementTree.fromstring(text.strip())
    except ElementTree.ParseError as error:
        line = text.strip().split("\n")[error.position[0] - 1].strip()
        raise EngineError(f"the template '{template}' is not well formed: {error} ('{line[:80]}')") from error
    _check(template, root)
    _without_empty(root)
    for table in root.iter("table"):
        _align(template, table)
    for image in root.iter("img"):
        image.set("style", f"width:{image.attrib.pop('width', '100%')}")
    for element in root.iter():
        is_empty = not len(element) and not (element.text or "").strip()
        if "blank" in _classes(element) or (element.tag == "dd" and is_empty):
            element.text = BLANK
    css, titles = (FOLDER / "style.css").read_text(encoding="utf-8").strip(), _titles(root)
    for name in ("banner", "running", "foot"):
        css = css.replace(f"@{name}@", _css_string(titles.get(name, "")))
    page = ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)
    page = re.sub(r"(?<=\d) %", "\u00a0%", page)
    return f"<!DOCTYPE html>\n{_VOID.sub('/>', page).replace('@style@', css)}\n"


def _titles(root: Element) -> dict[str, str]:
    """The texts on every page by their classes."""
    return {p.get("class", ""): "".join(p.itertext()).strip() for p in root.iterfind(".//header/p")}


def _without_empty(element: Element) -> None:
    for child in list(element):
        _without_empty(child)
        if child.tag in ("p", "ul", "ol", "dl", "section") and not len(child) and not (child.text or "").strip():
            element.remove(child)


def _css_string(text: str) -> str:
    """A text in a style sheet; every sign that could end it is escaped."""
    return '"' + "".join(c if c.isalnum() or c in " .,:" else f"\\{ord(c):x} " for c in text) + '"'


def _check(template: str, element: Element) -> None:
    """Reject elements, classes, attributes and texts out of place."""

    def refuse(found: str, wanted: str) -> EngineError:
        return EngineError(f"the template '{template}' has {found}; {wanted}")

    tag, allowed = element.tag, _CHILDREN.get(element.tag)
    if allowed is None:
        raise refuse(f"an element <{tag}>", f"documents know {listed(sorted(_CHILDREN))}")
    for name, value in element.attrib.items():
        if name != "class" and name not in _ATTRIBUTES.get(tag, "").split():
            raise refuse(f"the attribute '{name}' on <{tag}>", "documents have no such attribute")
        for word in value.split() if name == "class" else ():
            if tag not in _CLASSES.get(word, ()):
                known = [known for known, tags in _CLASSES.items() if tag in tags]
                raise refuse(f"the class '{word}' on <{tag}>", f"it can have {listed(known) or 'none'}")
    if tag == "img":
        if not element.get("alt", "").strip():
            raise refuse("a picture without a text for readers who cannot see it", "give its alt")
        if not element.get("src", "").startswith(_PNG):
            raise refuse("a picture that is not in the page", f"its src begins with {_PNG}")
    if tag == "div" and "columns" in _classes(element) and [child.tag for child in element] != ["div", "div"]:
        raise refuse("columns of other than two cells", "put two <div> in them")
    if tag == "figure" and [child.tag for child in element if child.tag == "img"] != ["img"]:
        raise refuse("a figure of other than one picture", "give each picture a figure")
    for child in element:
        if child.tag in _CHILDREN and child.tag not in allowed:
            raise refuse(f"<{child.tag}> in <{tag}>", f"it can hold {listed(sorted(allowed)) or 'no element'}")
        _check(template, child)
    texts = [element.text, *(child.tail for child in element)]
    if tag not in f"title style {_WORDS}".split() and (stray := " ".join(filter(None, texts)).strip()):
        raise refuse(f"the text '{stray[:60]}' in <{tag}>", "put it into a paragraph, an item or a cell")


def _align(template: str, table: Element) -> None:
    """Give columns their widths in per cent, their cells the class of figures, and header cells their scope."""
    columns = table.findall("colgroup/col")
    rows = table.findall("*/tr")
    n = len(rows[0]) if rows else 0
    if any(len(row) != n for row in rows) or (columns and len(columns) != n) or not n:
        title = table.findtext("caption", "").strip()
        raise EngineError(f"the table '{title}' of the template '{template}' has rows of different numbers of cells")
    if len(rows) > LONG:
        table.set("class", " ".join([*_classes(table), "long"]))
    total = sum(float(column.get("width", 1)) for column in columns)
    for column in columns:
        column.set("style", f"width:{100 * float(column.attrib.pop('width', 1)) / total:.1f}%")
    for section in table:
        for row in section.findall("tr"):
            for j, cell in enumerate(row):
                if cell.tag == "th":
                    cell.set("scope", "col" if section.tag == "thead" else "row")
                if columns and "number" in _classes(columns[j]):
                    cell.set("class", "number")
                if any(len(word) > _LONG_WORD for word in _words(cell).split()):
                    cell.set("class", " ".join([*_classes(cell), "long"]))


def _classes(element: Element) -> list[str]:
    return element.get("class", "").split()


def _read(page: str) -> Element:
    """The tree of a page that :func:`html` made; its elements are checked again."""
    root = ElementTree.fromstring(re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))
    _check("page", root)
    return root


def write(page: str, folder: Path, name: str, *, with_pdf: bool = False) -> list[Path]:
    """Write ``name``.docx and ``name``.html, and with ``with_pdf`` a tagged PDF where :func:`why_no_pdf` is empty."""
    files = {".docx": docx(page), ".html": page.encode()}
    if with_pdf and not why_no_pdf():
        files[".pdf"] = pdf(page)
    for ending, content in files.items():
        (folder / f"{name}{ending}").write_bytes(content)
    return [folder / f"{name}{ending}" for ending in files]


# PDF


def pdf(page: str) -> bytes:
    """Return a page as a tagged PDF (PDF/UA-1).

    Raises:
        EngineError: WeasyPrint or its libraries are missing (see :func:`why_no_pdf`).
    """
    if why := why_no_pdf():
        raise EngineError(f"no PDF can be made: {why}")
    with _kept_quiet():
        from weasyprint import HTML
        from weasyprint.urls import URLFetcher

        only_embedded = URLFetcher(allowed_protocols=["data"])  # nothing is ever loaded from elsewhere
        content: bytes = HTML(string=page, url_fetcher=only_embedded).write_pdf(pdf_variant="pdf/ua-1")
    return content


@cache
def why_no_pdf() -> str:
    """Return the library that a PDF lacks, and how to get it; empty where one can be made."""
    try:
        with _kept_quiet():
            importlib.import_module("weasyprint")
    except ImportError:
        return "WeasyPrint is not installed; `pip install weasyprint` brings it"
    except OSError:  # a library that it draws with is not there
        return "WeasyPrint finds no Pango on this machine; install Pango (Debian's package is libpangoft2-1.0-0)"
    return ""


@contextmanager
def _kept_quiet() -> Iterator[None]:
    """Warnings and messages of WeasyPrint, such as the library that a later version will need, stop nothing; fonts that
    it cuts hold no time."""
    for name in ("weasyprint", "fontTools"):
        logging.getLogger(name).setLevel(logging.ERROR)
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        os.environ["SOURCE_DATE_EPOCH"] = "0"
        try:
            yield
        finally:
            del os.environ["SOURCE_DATE_EPOCH"]
            if epoch is not None:
                os.environ["SOURCE_DATE_EPOCH"] = epoch


# Texts and widths, for DOCX and PPTX


class _Run(NamedTuple):
    """A text with the elements and classes that it stands in."""

    text: str
    marks: frozenset[str] = frozenset()

    @property
    def look(self) -> dict[str, Any]:
        """Whether it is bold and italic, and its colour, empty for that of the text around it."""
        colour = next((_COLOURS[mark] for mark in _COLOURS if mark in self.marks), "")
        return {"bold": bool(self.marks & _STRONG), "italic": "em" in self.marks, "colour": colour}


_STRONG = frozenset(("strong", "letter", "warn", "good"))
_COLOURS = {"warn": ORANGE, "good": GREEN, "quiet": GREY, "under": GREY}


def _runs(element: Element) -> list[_Run]:
    """The texts of an element in order, with white space collapsed."""
    shown: list[_Run] = []
    for run in _raw_runs(element, frozenset()):
        text = re.sub(r"[ \t\r\n]+", " ", run.text)
        if not shown or shown[-1].text.endswith(" ") or "under" in run.marks - shown[-1].marks:
            text = text.lstrip(" ")
        if text:
            shown.append(run._replace(text=text))
    if shown:
        shown[-1] = shown[-1]._replace(text=shown[-1].text.rstrip(" "))
    return shown


def _raw_runs(element: Element, marks: frozenset[str]) -> Iterator[_Run]:
    if element.text:
        yield _Run(element.text, marks)
    for child in element:
        yield from _raw_runs(child, marks | {child.tag, *_classes(child)})
        if child.tail:
            yield _Run(child.tail, marks)


def _words(element: Element) -> str:
    """The text of an element alone."""
    return "".join((" " if "under" in run.marks else "") + run.text for run in _runs(element))


def _rows(table: Element) -> list[tuple[Element, bool]]:
    """The rows of a table, each with whether it is of the header."""
    return [(row, section.tag == "thead") for section in table for row in section.findall("tr")]


def _number_of(style: str | None, otherwise: float) -> float:
    """The figure in a width that :func:`html` has written."""
    return float(re.sub(r"[^\d.]", "", style or "") or otherwise)


def _text_width(text: str, size: float) -> float:
    """The width in inches of a text in bold letters of ``size`` points, in the widest typeface that is likely."""
    em = sum(
        0.43 if c in " .,:;|!'()[]ijltfr" else 1.05 if c in "mwMW%@—→" else 0.8 if c.isupper() else 0.7 for c in text
    )
    return 1.06 * em * size / 72


def _column_widths(table: Element, width: float, size: float, margin: float) -> tuple[list[float], float]:
    """Widths of columns in inches that split no word, and the size of letters for which they do not.

    Columns begin with the shares that the table states.  Columns with more room than their text needs give it to those
    whose text would wrap, and a column too narrow for its longest word takes from all that are wider than theirs.
    """
    rows = table.findall("*/tr")
    shares = [_number_of(column.get("style"), 1) for column in table.findall("colgroup/col")] or [1.0] * len(rows[0])
    body = table.findall("tbody/tr") or rows

    def widest(rows: Sequence[Element], split: str, most: int) -> list[float]:
        texts = [[line for row in rows for line in _cell_lines(row[j])] for j in range(len(shares))]
        return [
            max(_text_width(word[:most], size) for line in own for word in re.split(split, line)) + margin
            for own in texts
        ]

    while sum(least := widest(rows, "[ -]", _LONG_WORD)) > width and size > 6:
        size -= 0.5
    whole = [0.85 * need for need in widest(body, "\n", 1000)]  # wrapping does no harm: a likely typeface and no header
    wide = [width * share / sum(shares) for share in shares]
    return _shifted(_shifted(wide, whole), least), size


def _cell_lines(cell: Element) -> list[str]:
    """The text of a cell, a small line below the others by itself."""
    lines = [""]
    for run in _runs(cell):
        if "under" in run.marks and lines[-1]:
            lines.append("")
        lines[-1] += run.text
    return lines


def _shifted(wide: Sequence[float], needed: Sequence[float]) -> list[float]:
    """Widths of which what is more than ``needed`` goes to those that are less, as far as it reaches."""
    spare = [max(0.0, own - need) for own, need in zip(wide, needed, strict=True)]
    lacking = [max(0.0, need - own) for own, need in zip(wide, needed, strict=True)]
    moved = min(sum(lacking), sum(spare))
    give, take = (moved / sum(part) if sum(part) else 0.0 for part in (spare, lacking))
    return [own - give * over + take * lack for own, over, lack in zip(wide, spare, lacking, strict=True)]


def _png_of(image: Element) -> io.BytesIO:
    return io.BytesIO(base64.b64decode(image.get("src", "").removeprefix(_PNG)))


# DOCX

_PAGE = (11906, 16838)  # A4 in twentieths of a point
_MARGIN = 1021  # 18 mm
_WIDTH = (_PAGE[0] - 2 * _MARGIN) / 1440  # inches of text
_CELL_MARGIN = 0.06
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_BLOCK_STYLES = {"h1": "Title", "h2": "Heading1", "h3": "Heading2", "caption": "Caption", "figcaption": "Caption"}
_PARAGRAPH_STYLES = {name: name.capitalize() for name in ("subtitle", "question", "request", "lead", "note", "warning")}
_STYLES: tuple[tuple[str, float, str, dict[str, Any]], ...] = (
    ("Normal", 9, INK, {"after": 3}),
    ("Title", 16, INK, {"bold": True, "after": 3}),
    ("Subtitle", 9, GREY, {"after": 4}),
    ("Heading 1", 13, INK, {"bold": True, "before": 8, "after": 2, "next": True}),
    ("Heading 2", 9.5, INK, {"bold": True, "before": 5, "after": 2, "next": True}),
    ("Caption", 9, INK, {"bold": True, "before": 4, "after": 1, "next": True}),
    ("Label", 8, GREY, {"bold": True, "before": 3, "after": 1, "next": True}),
    ("Question", 8, BLUE, {"bold": True, "before": 2, "after": 0, "next": True}),
    ("Request", 11, INK, {"before": 3, "after": 5, "next": False}),
    ("Lead", 9.5, INK, {"after": 3, "next": True}),
    ("Note", 8, GREY, {"after": 3}),
    ("Warning", 9, INK, {"bold": True, "before": 2, "after": 3}),
)


def docx(page: str) -> bytes:
    """Return a page as DOCX: heading styles, header rows that repeat, texts for pictures, no author or times."""
    import docx as python_docx
    from docx.oxml import parse_xml

    root = _read(page)
    file = python_docx.Document()
    _set_styles(file)
    _set_page(file, _titles(root))
    content = "".join(_Walker(file).blocks(root.find("body/main") or (), _WIDTH))
    for element in list(parse_xml(f'<w:body xmlns:w="{_W}">{content}</w:body>')):
        file.element.body.insert(len(file.element.body) - 1, element)  # the last one holds the page's size
    return without_traces(parts_of_docx(file), root.findtext("head/title", "").strip())


def _set_styles(file: Any) -> None:
    """One plain typeface that every machine has, in place of the template's themes, and sizes and colours."""
    from docx.enum.style import WD_STYLE_TYPE
    from docx.oxml.ns import qn
    from docx.shared import Pt, RGBColor

    for name, size, colour, form in _STYLES:
        known = [style.name for style in file.styles]
        style = file.styles[name] if name in known else file.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
        style.element.get_or_add_rPr().clear()
        style.font.size, style.font.color.rgb = Pt(size), RGBColor.from_string(colour)
        style.font.bold = form.get("bold")
        style.paragraph_format.space_before = Pt(form.get("before", 0))
        style.paragraph_format.space_after = Pt(form["after"])
        if "next" in form:
            style.paragraph_format.keep_with_next = form["next"]
        for border in style.element.findall(f".//{qn('w:pBdr')}"):
            border.getparent().remove(border)
    for style in file.styles:
        if style.type == WD_STYLE_TYPE.PARAGRAPH:
            fonts = style.element.get_or_add_rPr().get_or_add_rFonts()
            fonts.attrib.clear()
            for name in ("ascii", "hAnsi", "cs", "eastAsia"):
                fonts.set(qn(f"w:{name}"), "Arial")


def _set_page(file: Any, titles: dict[str, str]) -> None:
    """A4, with banner and running title above each page and the number of the page below."""
    from docx.oxml import parse_xml
    from docx.shared import Twips

    section = file.sections[0]
    section.page_width, section.page_height = map(Twips, _PAGE)
    section.left_margin = section.right_margin = Twips(_MARGIN)
    section.top_margin, section.bottom_margin = Twips(_MARGIN), Twips(850)
    section.header_distance = section.footer_distance = Twips(450)
    tab = f'<w:tabs><w:tab w:val="right" w:pos="{_PAGE[0] - 2 * _MARGIN}"/></w:tabs>'
    line = f'<w:pBdr><w:bottom w:val="single" w:sz="12" w:space="3" w:color="{INK}"/></w:pBdr>'
    banner = _run(titles.get("banner", ""), bold=True, colour=ORANGE, size=8.5)
    above = f"{banner}<w:r><w:tab/></w:r>{_run(titles.get('running', ''), colour=GREY, size=8.5)}"
    small: Any = {"colour": GREY, "size": 8}
    look = f'<w:rPr><w:color w:val="{GREY}"/><w:sz w:val="16"/></w:rPr>'
    begin, end = (f'<w:r>{look}<w:fldChar w:fldCharType="{which}"/></w:r>' for which in ("begin", "end"))
    page, pages = (f"{begin}<w:r>{look}<w:instrText>{name}</w:instrText></w:r>{end}" for name in ("PAGE", "NUMPAGES"))
    below = f"{_run(titles.get('foot', ''), **small)}<w:r><w:tab/></w:r>{page}{_run(' of ', **small)}{pages}"
    for part, properties, runs in ((section.header, line + tab, above), (section.footer, tab, below)):
        paragraph = part.paragraphs[0]._p
        made = parse_xml(f'<w:p xmlns:w="{_W}"><w:pPr>{properties}</w:pPr>{runs}</w:p>')
        paragraph.getparent().replace(paragraph, made)


def _run(
    text: str, *, bold: bool = False, italic: bool = False, colour: str = "", size: float = 0, breaks: bool = False
) -> str:
    look = "<w:b/>" * bold or '<w:b w:val="0"/>' * breaks
    look += "<w:i/>" * italic
    look += f'<w:color w:val="{colour}"/>' if colour else ""
    look += f'<w:sz w:val="{round(2 * size)}"/>' if size else ""
    return f'<w:r><w:rPr>{look}</w:rPr>{"<w:br/>" * breaks}<w:t xml:space="preserve">{escape(text)}</w:t></w:r>'


def _paragraph(
    element: Element, style: str = "", more: str = "", *, keep: bool = False, bold: bool = False, size: float = 0
) -> str:
    """The texts of an element as a paragraph, ``more`` of its properties after its style."""
    runs: list[str] = []
    before: frozenset[str] = frozenset()
    for run in _runs(element):
        look, new_line = run.look, "under" in run.marks - before and bool(runs)
        look["size"] = (size or 9) - 1.5 if run.marks & {"under", "quiet"} else size
        look["bold"] = bold or look["bold"]
        runs.append(_run(run.text, **look, breaks=new_line))
        before = run.marks
    properties = (f'<w:pStyle w:val="{style}"/>' if style else "") + "<w:keepNext/>" * keep + more
    return f"<w:p><w:pPr>{properties}</w:pPr>{''.join(runs)}</w:p>"


class _Walker:
    """The elements of a page as WordprocessingML."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def blocks(self, elements: Iterable[Element], width: float, *, label: bool = False) -> Iterator[str]:
        """The elements one below the other, in a room of so many inches; ``label`` makes headings small."""
        all_ = list(elements)
        for element, following in zip(all_, [*all_[1:], None], strict=True):
            tag, next_tag = element.tag, "" if following is None else following.tag
            if tag in ("p", "h1", "h2", "h3"):
                yield _styled(element, keep=tag == "p" and next_tag in ("figure", "table"), label=label)
            elif tag in ("ul", "ol"):
                style, number = ("ListNumber", self._numbering()) if tag == "ol" else ("ListBullet", "")
                for k, item in enumerate(element, 1):  # a list stays on one page
                    yield _paragraph(item, style, number, keep=k < len(element))
            elif tag == "table":
                yield _table_of(element, width, next_too=following is not None and "note" in _classes(following))
            elif tag == "dl":
                yield _names(element, width)
            elif tag == "figure":
                for part in element:
                    yield _paragraph(part, "Caption") if part.tag == "figcaption" else self._picture(part, width)
            elif tag == "section":
                parts = list(self.blocks(element, width))
                if parts and "new-page" in _classes(element):
                    opening = r"(<w:pPr>(?:<w:pStyle [^>]*/>)?(?:<w:keepNext/>)?)"
                    parts[0] = re.sub(opening, r"\1<w:pageBreakBefore/>", parts[0], count=1)
                yield from parts
            else:
                yield from self._div(element, width)

    def _numbering(self) -> str:
        """A list that begins at 1."""
        from docx.oxml.ns import qn

        styled = self._file.styles["List Number"].element
        numbering = self._file.part.numbering_part.element
        first = styled.find(f".//{qn('w:numId')}").get(qn("w:val"))
        abstract = next(n for n in numbering.num_lst if str(n.numId) == first).abstractNumId.val
        made = numbering.add_num(abstract)
        made.add_lvlOverride(ilvl=0).add_startOverride(1)
        return f'<w:numPr><w:ilvl w:val="0"/><w:numId w:val="{made.numId}"/></w:numPr>'

    def _picture(self, image: Element, width: float) -> str:
        from docx.oxml import OxmlElement
        from docx.shared import Inches

        share = _number_of(image.get("style"), 100) / 100
        inline = self._file.part.new_pic_inline(_png_of(image), Inches(width * share))
        inline.docPr.set("descr", image.get("alt", ""))
        for part in inline.iter():
            if part.tag.endswith(("}docPr", "}cNvPr")):
                part.set("name", "figure")
        drawing = OxmlElement("w:drawing")
        drawing.append(inline)
        etree: Any = importlib.import_module("lxml.etree")
        return f"<w:p><w:pPr/><w:r>{etree.tostring(drawing, encoding='unicode')}</w:r></w:p>"

    def _div(self, element: Element, width: float) -> Iterator[str]:
        classes = _classes(element)
        if "columns" in classes:
            half, room = width / 2, width / 2 - 2 * _CELL_MARGIN
            cells = [_cell(self.blocks(cell, room, label=True), half) for cell in element]
            yield _table([_row(cells)], [half] * 2) + _SPACE
        elif "sign" in classes:
            own, between = width / len(element) - 0.2, 0.2
            line = f'<w:top w:val="single" w:sz="8" w:color="{INK}"/>'
            cells = [_cell([_styled(p)], own, line) + _cell([_SPACE], between) for p in element]
            yield _SPACE * 3 + _table([_row(cells)], [own, between] * len(element)) + _SPACE
        elif "box" in classes:
            colour = ORANGE if {"caution", "obstacle"} & set(classes) else BLUE
            sides = ("top", "left", "bottom", "right")
            borders = "".join(f'<w:{side} w:val="single" w:sz="12" w:color="{colour}"/>' for side in sides)
            cell = _cell(self.blocks(element, width - 0.3, label=True), width, borders)
            yield _table([_row([cell])], [width]) + _SPACE
        else:
            yield from self.blocks(element, width)


def _styled(element: Element, *, keep: bool = False, label: bool = False) -> str:
    """A heading or paragraph in the style of its element and class; ``label`` makes a heading small."""
    style = next((_PARAGRAPH_STYLES[c] for c in _classes(element) if c in _PARAGRAPH_STYLES), "")
    style = "Label" if label and element.tag in ("h2", "h3") else _BLOCK_STYLES.get(element.tag, style)
    more = ""
    if style in ("Request", "Warning"):
        colour = BLUE if style == "Request" else ORANGE
        more = f'<w:pBdr><w:left w:val="single" w:sz="24" w:space="6" w:color="{colour}"/></w:pBdr>'
        more += '<w:shd w:val="clear" w:color="auto" w:fill="E8F1F8"/>' * (style == "Request")
    return _paragraph(element, style, more, keep=keep)


def _table_of(element: Element, width: float, *, next_too: bool) -> str:
    """A table under its caption, on the page of what follows it if ``next_too``."""
    caption = element.find("caption")
    wide, size = _column_widths(element, width, 8.5, 2 * _CELL_MARGIN)
    rows, made = _rows(element), []
    for k, (row, heads) in enumerate(rows):
        keep = k < (len(rows) - 1 if len(rows) <= LONG else 2) or (next_too and k == len(rows) - 1)
        made.append(_texts_row([[cell] for cell in row], wide, size, keep=keep, heads=heads))
    title, described = ("", "") if caption is None else (_paragraph(caption, "Caption"), _words(caption))
    return title + _table(made, wide, described) + ("" if next_too else _SPACE)


def _names(element: Element, width: float) -> str:
    """Names with values as a table of two columns; a name without a value of its own shares the next one's."""
    rows: list[tuple[list[Element], list[Element]]] = []
    for child in element:
        if child.tag == "dt":
            rows.append(([child], []))
        else:
            rows[-1][1].append(child)
    wide, kept = [0.29 * width, 0.71 * width], len(rows) - 1 if len(rows) <= LONG else 0
    return _table([_texts_row(row, wide, 8.5, keep=k < kept) for k, row in enumerate(rows)], wide) + _SPACE


def _texts_row(
    row: Iterable[Sequence[Element]], wide: Sequence[float], size: float, *, keep: bool, heads: bool = False
) -> str:
    """A row of a table, the texts of a cell one below the other; names and headers are bold."""
    line = f'<w:bottom w:val="single" w:sz="{8 if heads else 4}" w:color="{INK if heads else RULE}"/>'
    cells = []
    for parts, own in zip(row, wide, strict=True):
        texts = []
        for part in parts:
            more = '<w:spacing w:before="20" w:after="20"/>' + '<w:jc w:val="right"/>' * ("number" in _classes(part))
            texts.append(_paragraph(part, "", more, keep=keep, bold=heads or part.tag == "dt", size=size))
        cells.append(_cell(texts, own, line))
    return _row(cells, "<w:tblHeader/>" * heads)


_SPACE = '<w:p><w:pPr><w:spacing w:before="0" w:after="0" w:line="120" w:lineRule="exact"/></w:pPr></w:p>'


def _cell(parts: Iterable[str], width: float, borders: str = "") -> str:
    """A cell of a table, which ends with a paragraph."""
    content = "".join(parts)
    ends = "" if content.endswith("</w:p>") else _SPACE
    edges = f"<w:tcBorders>{borders}</w:tcBorders>" if borders else ""
    return f'<w:tc><w:tcPr><w:tcW w:w="{round(1440 * width)}" w:type="dxa"/>{edges}</w:tcPr>{content}{ends}</w:tc>'


def _row(cells: Iterable[str], more: str = "") -> str:
    """A row that no page parts."""
    return f"<w:tr><w:trPr><w:cantSplit/>{more}</w:trPr>{''.join(cells)}</w:tr>"


def _table(rows: Sequence[str], widths: Sequence[float], described: str = "") -> str:
    grid = "".join(f'<w:gridCol w:w="{round(1440 * width)}"/>' for width in widths)
    margin = round(1440 * _CELL_MARGIN)
    margins = "".join(f'<w:{side} w:w="{margin}" w:type="dxa"/>' for side in ("left", "right"))
    alt = f"<w:tblDescription w:val={quoteattr(described)}/>" if described else ""
    return (
        f'<w:tbl><w:tblPr><w:tblW w:w="{round(1440 * sum(widths))}" w:type="dxa"/><w:tblLayout w:type="fixed"/>'
        f"<w:tblCellMar>{margins}</w:tblCellMar>{alt}</w:tblPr><w:tblGrid>{grid}</w:tblGrid>{''.join(rows)}</w:tbl>"
    )


# PPTX

_LEFT, _ACROSS = 0.7, 11.9  # inches of a slide that is 13.333 wide and 7.5 high
_LEAST_SIZE = 9


def pptx(page: str) -> bytes:
    """Return the sections of the class ``slide`` as a presentation.

    A slide has the section's first heading as its title, and of the section the elements of the class ``slide``; where
    none has it, all: lines, at most one figure and one table.
    """
    from pptx import Presentation
    from pptx.util import Inches

    root = _read(page)
    presentation = Presentation()
    presentation.slide_width, presentation.slide_height = Inches(13.333), Inches(7.5)
    banner = " ".join(root.findtext(".//header/p[@class='banner']", "").split())
    sections = [section for section in root.iter("section") if "slide" in _classes(section)]
    for number, section in enumerate(sections, 1):
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        title = next((_words(e) for e in section.iter() if e.tag in ("h1", "h2")), None)
        if title is None:
            raise EngineError(f"the slide {number} has no heading")
        _slide_title(slide.shapes.title, title)
        _slide_content(slide, title, section)
        _lines(slide, [[_Run(f"{banner} · {number} of {len(sections)}")]], (_LEFT, 6.95, _ACROSS, 0.4), 11)
    return without_traces(parts_of_pptx(presentation), root.findtext("head/title", "").strip())


def _slide_title(shape: Any, text: str) -> None:
    from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
    from pptx.util import Inches

    shape.left, shape.top, shape.width, shape.height = map(Inches, (_LEFT, 0.3, _ACROSS, 1.0))
    shape.text_frame.text, shape.text_frame.word_wrap = text, True
    shape.text_frame.vertical_anchor = MSO_ANCHOR.MIDDLE
    paragraph = shape.text_frame.paragraphs[0]
    paragraph.alignment = PP_ALIGN.LEFT
    _font(paragraph.runs[0], 30 if len(text) < 50 else 24 if len(text) < 90 else 20, bold=True)


def _font(run: Any, size: float, *, bold: bool, colour: str = INK) -> None:
    from pptx.util import Pt

    run.font.size, run.font.bold, run.font.color.rgb = Pt(size), bold, _rgb(colour or INK)


def _rgb(colour: str) -> Any:
    from pptx.dml.color import RGBColor

    kind: Any = RGBColor  # it is not typed
    return kind.from_string(colour)


def _slide_content(slide: Any, title: str, section: Element) -> None:
    """Lines and a table to the left of a figure, lines alone above it, and a box below all, across the slide."""
    elements = [e for e in section.iter() if e.tag in _ON_SLIDE.split()]
    chosen = [e for e in elements if "slide" in _classes(e)] or elements
    boxes = [e for e in section.iter("div") if {"box", "slide"} <= set(_classes(e))]
    lines = [_runs(e) for part in chosen for e in ([part] if part.tag == "p" else part.findall("li"))]
    figures, tables = ([e for e in chosen if e.tag == tag] for tag in ("figure", "table"))
    if max(map(len, (figures, tables, boxes))) > 1:
        found = f"{len(figures)} figures, {len(tables)} tables and {len(boxes)} boxes"
        raise EngineError(
            f"the slide '{title}' has {found}; it has room for one of each. Mark them with the class 'slide'"
        )
    beside = bool(figures and tables)
    width, top, low = (6.4 if beside and not boxes else _ACROSS), (1.2 if boxes else 1.35), 6.8
    if lines:
        size = 16 if boxes else 18 if figures or tables else 22
        height = min(low - top, _height(lines, size, width))
        _lines(slide, lines, (_LEFT, top, width, height), size)
        top += height + 0.1
    if boxes:
        low = _slide_box(slide, boxes[0], low)
    if tables:
        _slide_table(slide, tables[0], (_LEFT, top, 6.4 if beside else width, low - top))
    if figures:
        above = top if boxes else 1.35
        box = (7.3, above, 5.4, low - above) if beside else (_LEFT, top, _ACROSS, low - top)
        _slide_picture(slide, next(figures[0].iter("img")), box)


def _height(lines: Sequence[Sequence[_Run]], size: float, width: float) -> float:
    """The height in inches of lines of letters of one size in a room so wide."""
    needed = [1.0 + int(_text_width("".join(run.text for run in line), size) / width) for line in lines]
    return sum(needed) * size * 1.35 / 72 + 0.15


def _slide_box(slide: Any, element: Element, low: float) -> float:
    """A framed box across the foot of a slide, with its heading and paragraphs; returns where it begins."""
    lines, size, highest = [_runs(e) for e in element], 13, 2.5
    while (height := 0.85 * _height(lines, size, _ACROSS)) > highest and size > _LEAST_SIZE:
        size -= 1
    height = min(height, highest)
    frame = _lines(slide, lines, (_LEFT, low - height, _ACROSS, height), size, marked=False)
    colour = ORANGE if {"caution", "obstacle"} & set(_classes(element)) else BLUE
    frame.line.color.rgb = _rgb(colour)
    heading = frame.text_frame.paragraphs[0].runs[0]
    _font(heading, heading.font.size.pt, bold=True, colour=colour)
    return low - height - 0.1


def _lines(slide: Any, lines: Sequence[Sequence[_Run]], box: Sequence[float], size: int, *, marked: bool = True) -> Any:
    """Lines in a box (left, top, width and height in inches), of letters of that size at most; several are marked."""
    from pptx.util import Inches, Pt

    shape = slide.shapes.add_textbox(*map(Inches, box))
    frame = shape.text_frame
    frame.word_wrap = True
    # longer texts get smaller letters, so that nothing leaves the slide
    room = box[2] * box[3] * 72 * 72
    while size > 11 and sum(sum(len(r.text) for r in line) + 30 for line in lines) * size * size * 0.62 > room:
        size -= 1
    for number, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        _slide_runs(paragraph, [_Run("• "), *line] if marked and len(lines) > 1 else line, size)
        paragraph.space_after = Pt(size / 2 if marked else size / 6)
    return shape


def _slide_runs(paragraph: Any, runs: Iterable[_Run], size: float, *, bold: bool = False) -> None:
    before = frozenset(("under",))
    for part in runs:
        if "under" in part.marks - before:
            paragraph.add_line_break()
        before, look, run = part.marks, part.look, paragraph.add_run()
        run.text = part.text
        smaller = size - 2 if part.marks & {"under", "quiet"} else size
        _font(run, smaller, bold=bold or look["bold"], colour=look["colour"])
        run.font.italic = look["italic"]


def _slide_table(slide: Any, table: Element, box: Sequence[float]) -> None:
    from pptx.enum.text import PP_ALIGN
    from pptx.util import Inches

    table = copy.deepcopy(table)
    for small in table.iter("span"):  # a slide has no room for a line below each figure
        small.set("class", small.get("class", "").replace("under", "quiet"))
    rows = _rows(table)
    left, top, width, height = box
    high, size = height + 1, 16.5
    while high > height and size > 8:
        wide, size = _column_widths(table, width, size - 0.5, 0.22)
        lines = [
            max(
                sum(1 + int(_text_width(line, size) / ((own - 0.2) / 0.85)) for line in _cell_lines(cell))
                for cell, own in zip(row, wide, strict=True)
            )
            for row, _ in rows
        ]
        high = sum(1.2 * size * n / 72 + 0.1 for n in lines)
    graphic = slide.shapes.add_table(len(rows), len(wide), *map(Inches, (left, top, width, high)))
    graphic.name = "table"
    if (caption := table.find("caption")) is not None:
        graphic._element.nvGraphicFramePr.cNvPr.set("descr", _words(caption))
    made = graphic.table
    made.horz_banding, made.first_row = False, rows[0][1]
    for column, own in zip(made.columns, wide, strict=True):
        column.width = Inches(own)
    for i, (row, heads) in enumerate(rows):
        for j, cell in enumerate(row):
            frame = made.cell(i, j).text_frame
            frame.margin_top = frame.margin_bottom = Inches(0.03)
            paragraph = frame.paragraphs[0]
            _slide_runs(paragraph, _runs(cell), size, bold=heads)
            paragraph._p.get_or_add_endParaRPr().set("sz", str(round(100 * size)))  # the height of an empty cell
            paragraph.alignment = PP_ALIGN.RIGHT if "number" in _classes(cell) else PP_ALIGN.LEFT
            made.cell(i, j).fill.background()


def _slide_picture(slide: Any, image: Element, box: Sequence[float]) -> None:
    """A picture as large as a box has room for."""
    from pptx.util import Inches

    left, top, width, height = map(Inches, box)
    shape = slide.shapes.add_picture(_png_of(image), left, top)
    scale = min(width / shape.width, height / shape.height)
    shape.width, shape.height = int(shape.width * scale), int(shape.height * scale)
    shape._element.nvPicPr.cNvPr.set("descr", image.get("alt", ""))
    shape._element.nvPicPr.cNvPr.set("name", "figure")
