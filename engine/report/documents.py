"""Documents: Jinja writes a closed HTML, from which PDF, DOCX and PPTX are made.

:func:`html` fills in a template of ``templates/`` and rejects any element, class or attribute that
``docs/documents.md`` does not list, so that each of the other formats can render all of them.  Equal values give equal
bytes in every format.
"""

from __future__ import annotations

import base64
import importlib
import io
import logging
import os
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import cache
from html import escape
from itertools import zip_longest
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from engine.common.errors import EngineError
from engine.common.wording import listed
from engine.report.template import html_of

FOLDER = Path(__file__).with_name("templates")
"""The folder of the templates and of their style sheet."""
BLANK = "_" * 30
"""The line that stands for an entry to be filled in by hand."""
LONG = 30
"""Rows of a table that stays on one page where it can; a longer one is parted."""
_WORD = FOLDER / "memo.docx"  # page, header, footer and styles of a DOCX
_LONG_WORD = 30  # signs of a word, such as a digest, that may be broken in a cell
_INK, _GREY, _BLUE, _ORANGE, _GREEN = "1B2430", "566171", "0067A3", "A84300", "00704F"
_COLOURS = {"warn": _ORANGE, "good": _GREEN, "quiet": _GREY, "under": _GREY}
_STRONG = {"strong", "letter", "warn", "good"}
_PNG = "data:image/png;base64,"
_VOID = re.compile(r"></(?:meta|col|img)>")

_BLOCKS = "h1 h2 h3 p ul table dl figure div"
_ELEMENTS: dict[str, tuple[list[str], ...]] = {
    tag: tuple(part.split() for part in form)
    for tags, form in {
        "html": ("head body", "lang", ""),
        "head": ("meta title style", "", ""),
        "meta": ("", "charset name content", ""),
        "title style": ("", "", ""),
        "body": ("header main", "", ""),
        "header": ("p", "", ""),
        "main": (f"{_BLOCKS} section", "", ""),
        "section": (_BLOCKS, "", "new-page slide"),
        "div": (_BLOCKS, "", "columns sign box caution obstacle slide"),
        "p": ("strong span", "", "banner running foot subtitle question request lead note warning slide"),
        "h1 h2 h3 li dt dd caption figcaption strong": ("strong span", "", ""),
        "span": ("strong span", "", "warn good quiet under blank letter recommended within outside"),
        "ul": ("li", "", "slide"),
        "dl": ("dt dd", "", ""),
        "table": ("caption colgroup thead tbody", "", "slide long"),
        "colgroup": ("col", "", ""),
        "col": ("", "width style", "number"),
        "thead tbody": ("tr", "", ""),
        "tr": ("th td", "", ""),
        "th td": ("strong span", "scope", "number long"),
        "figure": ("img figcaption", "", "slide"),
        "img": ("", "src alt", ""),
    }.items()
    for tag in tags.split()
}
"""Elements with the elements, the attributes and the classes that each may have."""


def html(template: str, **values: Any) -> str:
    """Return the self-contained page of a template of ``templates/``.

    Paragraphs and lists without words are left out; a ``<dd>`` without words is a line to be filled in by hand.  A
    ``<col>`` states its width beside the others (``width="2.5"``) and may have the class ``number``, which its cells
    inherit.

    Raises:
        EngineError: An unknown name, or an element, class or attribute that documents do not know.
    """
    text = html_of(FOLDER / template, values).strip()
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        line = text.split("\n")[error.position[0] - 1].strip()
        raise EngineError(f"the template '{template}' is not well formed: {error} ('{line[:80]}')") from error
    _check(template, root)
    _without_empty(root)
    for table in root.iter("table"):
        _align(template, table)
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
        if child.tag in ("p", "ul", "dl", "section") and not len(child) and not (child.text or "").strip():
            element.remove(child)


def _css_string(text: str) -> str:
    """A text in a style sheet; every sign that could end it is escaped."""
    return '"' + "".join(c if c.isalnum() or c in " .,:" else f"\\{ord(c):x} " for c in text) + '"'


def _check(template: str, element: Element) -> None:
    """Reject elements, classes, attributes and texts out of place."""

    def refuse(found: str, wanted: str) -> EngineError:
        return EngineError(f"the template '{template}' has {found}; {wanted}")

    tag, own, inside = element.tag, _classes(element), [child.tag for child in element]
    if tag not in _ELEMENTS:
        raise refuse(f"an element <{tag}>", f"documents know {listed(sorted(_ELEMENTS))}")
    children, attributes, classes = _ELEMENTS[tag]
    for name in element.attrib.keys() - {"class", *attributes}:
        raise refuse(f"the attribute '{name}' on <{tag}>", "documents have no such attribute")
    for name in (name for name in own if name not in classes):
        raise refuse(f"the class '{name}' on <{tag}>", f"it can have {listed(classes) or 'none'}")
    if tag == "img" and not (element.get("alt", "").strip() and element.get("src", "").startswith(_PNG)):
        raise refuse(
            "a picture that is not in the page or has no alt", f"its src begins with {_PNG}, its alt has words"
        )
    if tag == "dl" and inside != ["dt", "dd"] * (len(inside) // 2):
        raise refuse("names and values that are no pairs", "give each <dt> one <dd>")
    if "columns" in own and inside != ["div", "div"]:
        raise refuse("columns of other than two cells", "put two <div> in them")
    if tag == "figure" and inside.count("img") != 1:
        raise refuse("a figure of other than one picture", "give each picture a figure")
    for child in element:
        if child.tag in _ELEMENTS and child.tag not in children:
            raise refuse(f"<{child.tag}> in <{tag}>", f"it can hold {listed(children) or 'no element'}")
        _check(template, child)
    stray = "".join(filter(None, [element.text, *(child.tail for child in element)])).strip()
    if stray and tag not in ("title", "style") and "span" not in children:
        raise refuse(f"the text '{stray[:60]}' in <{tag}>", "put it into a paragraph, an item or a cell")


def _align(template: str, table: Element) -> None:
    """Give columns their widths in per cent, their cells the class of figures, and header cells their scope."""
    columns, rows = table.findall("colgroup/col"), table.findall("*/tr")
    if len({len(row) for row in rows} | ({len(columns)} if columns else set())) != 1:
        title = table.findtext("caption", "").strip()
        raise EngineError(f"the table '{title}' of the template '{template}' has rows of different numbers of cells")
    if len(rows) > LONG:
        table.set("class", " ".join([*_classes(table), "long"]))
    total = sum(float(column.get("width", 1)) for column in columns)
    for column in columns:
        column.set("style", f"width:{100 * float(column.attrib.pop('width', 1)) / total:.1f}%")
    for row, is_head in _rows(table):
        for cell, column in zip_longest(row, columns):
            if cell.tag == "th":
                cell.set("scope", "col" if is_head else "row")
            if column is not None and "number" in _classes(column):
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


def write(page: str, folder: Path, name: str, *, with_pdf: bool = False) -> None:
    """Write ``name``.docx and ``name``.html, and with ``with_pdf`` a tagged PDF where :func:`why_no_pdf` is empty."""
    (folder / f"{name}.docx").write_bytes(docx(page))
    (folder / f"{name}.html").write_bytes(page.encode())
    if with_pdf and not why_no_pdf():
        (folder / f"{name}.pdf").write_bytes(pdf(page))


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


# Office files, without author, tool, time or thumbnail; equal content gives equal bytes

_APP = (
    b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    b'<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/extended-properties"/>'
)
_CORE = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{}</dc:title><dc:language>en</dc:language>'
    "</cp:coreProperties>"
)
_DROPPED = ("docProps/thumbnail.jpeg", "docProps/custom.xml", "customXml/", "ppt/printerSettings/")
_TO_DROPPED = re.compile(
    rb'<Relationship\b[^>]*Target="[^"]*(?:thumbnail\.jpeg|custom\.xml|customXml/[^"]*|printerSettings[^"]*)"[^>]*/>'
)


def without_traces(save: Callable[[io.BytesIO], Any], title: str) -> bytes:
    """The file that ``save`` writes, with its metadata replaced, parts in order and the dates of the zip fixed."""
    made = io.BytesIO()
    try:
        save(made)
    except ValueError as error:  # a zip knows no year before 1980
        raise EngineError(f"the file cannot be written: {error}; set the clock of this machine") from error
    with zipfile.ZipFile(made) as written:
        parts = {name: written.read(name) for name in written.namelist()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in sorted(parts, key=lambda n: (n != "[Content_Types].xml", n)):
            if name.startswith(_DROPPED):
                continue
            part = parts[name]
            if name == "docProps/app.xml":
                part = _APP
            elif name == "docProps/core.xml":
                part = _CORE.format(escape(title)).encode()
            elif name.endswith(".rels"):
                part = _TO_DROPPED.sub(b"", part)
            elif name == "[Content_Types].xml":
                part = re.sub(rb'<Override PartName="/(?:customXml|docProps/custom)[^>]*/>', b"", part)
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o600 << 16
            packed.writestr(info, part)
    return out.getvalue()


# Texts and widths, for DOCX and PPTX


def _runs(element: Element) -> list[tuple[str, set[str]]]:
    """The texts of an element in order, white space collapsed, each with the elements and classes that it is in."""
    shown: list[tuple[str, set[str]]] = []
    for raw, marks in _raw_runs(element, set()):
        text = re.sub(r"[ \t\r\n]+", " ", raw)
        if not shown or shown[-1][0].endswith(" ") or "under" in marks - shown[-1][1]:
            text = text.lstrip(" ")
        if text:
            shown.append((text, marks))
    if shown:
        shown[-1] = shown[-1][0].rstrip(" "), shown[-1][1]
    return shown


def _raw_runs(element: Element, marks: set[str]) -> Iterator[tuple[str, set[str]]]:
    yield element.text or "", marks
    for child in element:
        yield from _raw_runs(child, marks | {child.tag, *_classes(child)})
        yield child.tail or "", marks


def _words(element: Element) -> str:
    """The text of an element, what is ``under`` the rest on a line of its own."""
    words, before = "", {"under"}
    for text, marks in _runs(element):
        words += ("\n" if "under" in marks - before else "") + text
        before = marks
    return words


def _write(paragraph: Any, element: Element, size: float = 0, *, bold: bool = False) -> None:
    """Write the texts of an element into a paragraph of python-docx or python-pptx, in letters of ``size`` points (0:
    those of its style)."""
    from docx.shared import Pt

    on_slide, before = hasattr(paragraph, "add_line_break"), {"under"}
    for text, marks in _runs(element):
        if "under" in marks - before:
            (paragraph.add_line_break if on_slide else paragraph.add_run().add_break)()
        run, is_small = paragraph.add_run(), bool(marks & {"under", "quiet"})
        run.text = text
        if size or is_small:
            run.font.size = Pt((size or 9) - 1.5 * is_small)
        if bold or marks & _STRONG or is_small:
            run.font.bold = bold or bool(marks & _STRONG)
        if colour := next((_COLOURS[mark] for mark in _COLOURS if mark in marks), _INK if on_slide else ""):
            run.font.color.rgb = _rgb(colour, "pptx.dml.color" if on_slide else "docx.shared")
        before = marks


def _rgb(colour: str, library: str) -> Any:
    return importlib.import_module(library).RGBColor.from_string(colour)


def _rows(table: Element) -> list[tuple[Element, bool]]:
    """The rows of a table, each with whether it is of the header."""
    return [(row, section.tag == "thead") for section in table for row in section.findall("tr")]


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
    heads = len(table.findall("thead/tr"))
    columns = [[_words(cell) for cell in column] for column in zip(*table.findall("*/tr"), strict=True)]
    stated = (re.sub(r"[^\d.]", "", column.get("style", "")) for column in table.iterfind("colgroup/col"))
    shares = [float(share) for share in stated] or [1.0] * len(columns)

    def widest(texts: Iterable[str], split: str, most: int) -> float:
        return max(_text_width(word[:most], size) for text in texts for word in re.split(split, text)) + margin

    while sum(least := [widest(column, "[ \n-]", _LONG_WORD) for column in columns]) > width and size > 6:
        size -= 0.5
    # wrapping does no harm: a likely typeface and no header
    whole = [0.85 * widest(column[heads:] or column, "\n", 1000) for column in columns]
    wide = [width * share / sum(shares) for share in shares]
    return _shifted(_shifted(wide, whole), least), size


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

_STYLES = {"h1": "Title", "h2": "Heading 1", "h3": "Heading 2", "caption": "Caption", "figcaption": "Caption"}
_STYLES |= {name: name.capitalize() for name in ("subtitle", "question", "request", "lead", "note", "warning")}
_WIDTH = 6.85  # inches of text
_SIZE = 8.5  # points of letters in tables


def docx(page: str) -> bytes:
    """Return a page as DOCX: heading styles, header rows that repeat, texts for pictures, no author or times.

    Page, header, footer and styles are those of ``templates/memo.docx``.
    """
    from docx import Document

    root, file = _read(page), Document(str(_WORD))
    section, titles = file.sections[0], _titles(root)
    for run in (*section.header.paragraphs[0].runs, *section.footer.paragraphs[0].runs):
        if (title := titles.get(run.text)) is not None:  # others hold the number of the page
            run.text = title
    _blocks(file._body, root.find("body/main") or (), _WIDTH)
    return without_traces(file.save, root.findtext("head/title", "").strip())


def _blocks(room: Any, elements: Iterable[Element], width: float, *, label: bool = False) -> None:
    """Write elements one below the other into a body or a cell of so many inches; ``label`` makes headings small."""
    from docx.shared import Inches

    elements = list(elements)
    for element, following in zip_longest(elements, elements[1:]):
        tag, classes, next_tag = element.tag, _classes(element), "" if following is None else following.tag
        if tag in ("p", "h1", "h2", "h3", "figcaption"):
            style = next((_STYLES[name] for name in (tag, *classes) if name in _STYLES), "Normal")
            paragraph = room.add_paragraph(style="Label" if label and tag in ("h2", "h3") else style)
            paragraph.paragraph_format.keep_with_next = (tag == "p" and next_tag in ("figure", "table")) or None
            _write(paragraph, element)
        elif tag == "ul":
            for k, item in enumerate(element, 1):  # a list stays on one page
                paragraph = room.add_paragraph(style="List Bullet")
                paragraph.paragraph_format.keep_with_next = k < len(element) or None
                _write(paragraph, item)
        elif tag == "img":
            shape = room.add_paragraph().add_run().add_picture(_png_of(element), Inches(width))
            shape._inline.docPr.set("descr", element.get("alt", ""))
        elif tag == "table":
            if (caption := element.find("caption")) is not None:
                _write(room.add_paragraph(style="Caption"), caption)
            wide, size = _column_widths(element, width, _SIZE, 0.12)
            next_too = following is not None and "note" in _classes(following)
            _cells(
                _grid(room, "Figures", wide, "" if caption is None else _words(caption)),
                _rows(element),
                size,
                next_too=next_too,
            )
            if not next_too:
                room.add_paragraph(style="Space")
        elif tag == "dl":
            names = [(pair, False) for pair in zip(element[::2], element[1::2], strict=True)]
            _cells(_grid(room, "Names", [0.29 * width, 0.71 * width]), names, _SIZE)
            room.add_paragraph(style="Space")
        elif "sign" in classes:
            room.add_paragraph(style="Space")
            room.add_paragraph("    ".join(f"{_words(part)} {BLANK}" for part in element))
        elif {"columns", "box"} & set(classes):
            is_box = "box" in classes
            wide, parts = ([width], [element]) if is_box else ([width / 2] * 2, list(element))
            style = "Columns" if not is_box else "Caution" if {"caution", "obstacle"} & set(classes) else "Box"
            for cell, part in zip(_grid(room, style, wide).add_row().cells, parts, strict=True):
                cell._tc.remove(cell.paragraphs[0]._p)
                _blocks(cell, part, wide[0] - (0.3 if is_box else 0.12), label=True)
            room.add_paragraph(style="Space")
        else:
            first = len(room.paragraphs)
            _blocks(room, element, width)
            if "new-page" in classes:
                room.paragraphs[first].paragraph_format.page_break_before = True


def _grid(room: Any, style: str, widths: Sequence[float], described: str = "") -> Any:
    """A table without rows in a body or a cell."""
    from docx.blkcntnr import BlockItemContainer
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn
    from docx.shared import Inches

    table = BlockItemContainer.add_table(room, 0, len(widths), Inches(sum(widths)))
    table.style, table.autofit = style, False
    for column, width in zip(table.columns, widths, strict=True):
        column.width = Inches(width)
    if described:
        description: Any = OxmlElement("w:tblDescription")
        description.set(qn("w:val"), described)
        table._tblPr.append(description)
    return table


def _cells(table: Any, rows: Sequence[tuple[Iterable[Element], bool]], size: float, *, next_too: bool = False) -> None:
    """Fill a table with rows, each with whether it is of the header; no page parts a row, nor, with ``next_too``, the
    last one from what follows.  Names and headers are bold."""
    from docx.oxml import OxmlElement

    for k, (elements, is_head) in enumerate(rows):
        row = table.add_row()
        for name in ("w:cantSplit", *(["w:tblHeader"] if is_head else [])):
            row._tr.get_or_add_trPr().append(OxmlElement(name))
        is_kept = k < (len(rows) - 1 if len(rows) <= LONG else 2) or (next_too and k == len(rows) - 1)
        for cell, element in zip(row.cells, elements, strict=True):
            paragraph = cell.paragraphs[0]
            paragraph.style = "Number" if "number" in _classes(element) else "Cell"
            paragraph.paragraph_format.keep_with_next = is_kept or None
            _write(paragraph, element, size, bold=is_head or element.tag == "dt")


# PPTX

_LEFT, _ACROSS = 0.7, 11.9  # inches of a slide that is 13.333 wide and 7.5 high


def pptx(page: str) -> bytes:
    """Return the sections of the class ``slide`` as a presentation.

    A slide has the section's first heading as its title, and of the section the elements of the class ``slide``; where
    none has it, all: lines, at most one figure, one table and one box.
    """
    from pptx import Presentation
    from pptx.util import Inches

    root, presentation, foot = _read(page), Presentation(), Element("p")
    presentation.slide_width, presentation.slide_height = Inches(13.333), Inches(7.5)
    banner = " ".join(root.findtext(".//header/p[@class='banner']", "").split())
    sections = [section for section in root.iter("section") if "slide" in _classes(section)]
    for number, section in enumerate(sections, 1):
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        title = next((e for e in section.iter() if e.tag in ("h1", "h2")), None)
        if title is None:
            raise EngineError(f"the slide {number} has no heading")
        _fill(slide.shapes.title, [title], (_LEFT, 0.3, _ACROSS, 0.95), 28)
        _slide_content(slide, _words(title), section)
        foot.text = f"{banner} · {number} of {len(sections)}"
        _fill(slide.shapes.add_textbox(0, 0, 0, 0), [foot], (_LEFT, 6.95, _ACROSS, 0.4), 11)
    return without_traces(presentation.save, root.findtext("head/title", "").strip())


def _slide_content(slide: Any, title: str, section: Element) -> None:
    """Lines above a table to the left of a figure, and a box across the foot."""
    from pptx.util import Inches

    elements = [e for e in section.iter() if e.tag in ("p", "ul", "figure", "table")]
    chosen = [e for e in elements if "slide" in _classes(e)] or elements
    lines = [e for part in chosen for e in ([part] if part.tag == "p" else part.findall("li"))]
    figures, tables = ([e for e in chosen if e.tag == tag] for tag in ("figure", "table"))
    boxes = [e for e in section.iter("div") if {"box", "slide"} <= set(_classes(e))]
    if max(map(len, (figures, tables, boxes))) > 1:
        found = f"{len(figures)} figures, {len(tables)} tables and {len(boxes)} boxes"
        raise EngineError(
            f"the slide '{title}' has {found}; it has room for one of each. Mark them with the class 'slide'"
        )
    for line in lines if len(lines) > 1 else ():
        line.text = f"• {line.text or ''}"
    top, low = 1.3, 6.8
    if lines:
        most = 0.9 if boxes else 2.3 if figures or tables else low - top
        top += 0.1 + _fill(slide.shapes.add_textbox(0, 0, 0, 0), lines, (_LEFT, top, _ACROSS, most), 18)
    for box in boxes:
        shape, colour = slide.shapes.add_textbox(0, 0, 0, 0), _ORANGE if len(_classes(box)) > 2 else _BLUE
        low -= _fill(shape, list(box), (_LEFT, 0, _ACROSS, 2.5), 13)
        shape.top, shape.line.color.rgb = Inches(low), _rgb(colour, "pptx.dml.color")
        low -= 0.1
    for table in tables:
        _slide_table(slide, table, (_LEFT, top, 6.4 if figures else _ACROSS, low - top))
    for image in (image for figure in figures for image in figure.iter("img")):
        left = 7.3 if tables else _LEFT
        shape = slide.shapes.add_picture(_png_of(image), Inches(left), Inches(top))
        scale = min(Inches(_LEFT + _ACROSS - left) / shape.width, Inches(low - top) / shape.height)
        shape.width, shape.height, shape.name = int(shape.width * scale), int(shape.height * scale), "figure"
        shape._element.nvPicPr.cNvPr.set("descr", image.get("alt", ""))


def _height(elements: Iterable[Element], size: float, width: float) -> float:
    """The height in inches of paragraphs of letters of one size in a room so wide."""
    lines = [1 + int(_text_width(line, size) / width) for e in elements for line in (_words(e) or " ").splitlines()]
    return (1.3 * sum(lines) + 0.3 * len(lines)) * size / 72 + 0.1


def _fill(shape: Any, elements: Sequence[Element], box: Sequence[float], size: float) -> float:
    """Write elements into a shape at a place (left, top, width and height in inches), in letters of ``size`` points or
    as much smaller as they need; returns the height that they take."""
    from pptx.enum.text import PP_ALIGN
    from pptx.util import Inches, Pt

    left, top, width, most = box
    while _height(elements, size, width) > most and size > 9:
        size -= 1
    height = min(most, _height(elements, size, width))
    shape.left, shape.top, shape.width, shape.height = map(Inches, (left, top, width, height))
    shape.text_frame.word_wrap = True
    for k, element in enumerate(elements):
        paragraph = shape.text_frame.paragraphs[0] if k == 0 else shape.text_frame.add_paragraph()
        paragraph.alignment, paragraph.space_after = PP_ALIGN.LEFT, Pt(0.3 * size)
        _write(paragraph, element, size, bold=element.tag in ("h1", "h2", "h3"))
    return height


def _slide_table(slide: Any, table: Element, box: Sequence[float]) -> None:
    from pptx.enum.text import PP_ALIGN
    from pptx.util import Inches

    for small in table.iter("span"):  # a slide has no room for a line below each figure
        small.set("class", small.get("class", "").replace("under", "quiet"))
    left, top, width, height = box
    rows, size, high = _rows(table), 16.5, [height + 1]
    while sum(high) > height and size > 8:
        wide, size = _column_widths(table, width, size - 0.5, 0.22)
        high = [
            max(_height([cell], 0.85 * size, own - 0.2) for cell, own in zip(row, wide, strict=True)) for row, _ in rows
        ]
    graphic = slide.shapes.add_table(len(rows), len(wide), *map(Inches, (left, top, width, sum(high))))
    graphic.name, made = "table", graphic.table
    graphic._element.nvGraphicFramePr.cNvPr.set("descr", "".join(_words(e) for e in table.iterfind("caption")))
    made.horz_banding, made.first_row = False, rows[0][1]
    for column, own in zip(made.columns, wide, strict=True):
        column.width = Inches(own)
    for (row, is_head), cells in zip(rows, made.rows, strict=True):
        for element, cell in zip(row, cells.cells, strict=True):
            frame = cell.text_frame
            frame.margin_top = frame.margin_bottom = Inches(0.03)
            paragraph = frame.paragraphs[0]
            _write(paragraph, element, size, bold=is_head)
            paragraph._p.get_or_add_endParaRPr().set("sz", str(round(100 * size)))  # the height of an empty cell
            paragraph.alignment = PP_ALIGN.RIGHT if "number" in _classes(element) else PP_ALIGN.LEFT
            cell.fill.background()
