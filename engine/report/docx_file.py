"""A document as DOCX: headings, header rows that repeat, alt text on every picture, no author or times."""

from __future__ import annotations

import io
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from engine.report.document import BLANK, Bullets, Document, Entries, Grid, Paragraph, Picture
from engine.report.office import parts_of_docx, without_traces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.report.document import Element

_WIDTH = 6.9  # inches of text


def docx_bytes(document: Document) -> bytes:
    """The file's content."""
    import docx
    from docx.enum.style import WD_STYLE_TYPE
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Inches, Pt, RGBColor

    docx_document = docx.Document()
    page = docx_document.sections[0]
    page.left_margin = page.right_margin = Inches(0.8)
    page.top_margin = page.bottom_margin = Inches(0.8)
    for style in docx_document.styles:
        if style.type == WD_STYLE_TYPE.PARAGRAPH:
            _font(style)
    normal = docx_document.styles["Normal"]
    normal.font.size = Pt(9.5)
    normal.paragraph_format.space_after = Pt(4)
    for name, size in (("Title", 18), ("Heading 1", 13), ("Heading 2", 11.5)):
        style = docx_document.styles[name]
        style.font.size, style.font.color.rgb = Pt(size), RGBColor(0x10, 0x2A, 0x43)
    docx_document.styles["Subtitle"].font.color.rgb = RGBColor(0x40, 0x40, 0x40)
    docx_document.styles["Heading 1"].paragraph_format.space_before = Pt(12)
    docx_document.styles["Heading 1"].paragraph_format.keep_with_next = True
    caption = docx_document.styles["Caption"]
    caption.font.size, caption.font.color.rgb, caption.font.bold = Pt(9.5), RGBColor(0x20, 0x20, 0x20), True
    caption.paragraph_format.keep_with_next = True
    if document.banner:
        banner = page.header.paragraphs[0]
        banner.alignment = WD_ALIGN_PARAGRAPH.CENTER
        banner.add_run(document.banner).bold = True
    foot = page.footer.paragraphs[0]
    foot.alignment = WD_ALIGN_PARAGRAPH.CENTER
    foot.add_run(f"{document.title} · page ")
    _page_number(foot)
    docx_document.add_paragraph(document.title, style="Title")
    if document.subtitle:
        docx_document.add_paragraph(document.subtitle, style="Subtitle")
    for number, section in enumerate(document.sections):
        heading = docx_document.add_heading(section.title, level=1)
        heading.paragraph_format.page_break_before = section.new_page
        for i, element in enumerate(section.elements):
            _add(docx_document, element, opens=number == 0)
            if i < section.opening:
                docx_document.paragraphs[-1].paragraph_format.keep_with_next = True
            if isinstance(element, Grid) and _is_note(section.elements[i + 1 : i + 2]):
                _keep_table_with_next(docx_document)
    return without_traces(parts_of_docx(docx_document), document.title)


def _is_note(elements: Sequence[Element]) -> bool:
    """Whether the first of these is a note."""
    return any(isinstance(element, Paragraph) and element.kind == "note" for element in elements[:1])


def _keep_table_with_next(docx_document: Any) -> None:
    """Keep the last table on one page with what follows it."""
    for cell in docx_document.tables[-1].rows[-1].cells:
        cell.paragraphs[0].paragraph_format.keep_with_next = True
    docx_document.paragraphs[-1].paragraph_format.keep_with_next = True  # the space below it


def _font(style: Any) -> None:
    """One plain typeface that every machine has, in place of the template's themes."""
    from docx.oxml.ns import qn

    fonts = style.element.get_or_add_rPr().get_or_add_rFonts()
    for name in list(fonts.attrib):
        del fonts.attrib[name]
    for name in ("ascii", "hAnsi", "cs", "eastAsia"):
        fonts.set(qn(f"w:{name}"), "Arial")


def _page_number(paragraph: Any) -> None:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    run = paragraph.add_run()
    for kind, text in (("begin", None), (None, "PAGE"), ("end", None)):
        element = OxmlElement("w:fldChar" if kind else "w:instrText")
        if kind:
            element.set(qn("w:fldCharType"), kind)
        else:
            element.text = text
        run._r.append(element)


def _add(docx_document: Any, element: Element, *, opens: bool) -> None:
    """Add an element; one of the section that ``opens`` the document stays where it is, also if its rows need two
    pages."""
    if isinstance(element, Paragraph):
        _paragraph(docx_document, element)
    elif isinstance(element, Bullets):
        for number, item in enumerate(element.items, 1):  # a list stays on one page
            bullet = docx_document.add_paragraph(item, style="List Bullet")
            bullet.paragraph_format.keep_with_next = number < len(element.items)
    elif isinstance(element, Entries):
        rows = [(name, value or BLANK) for name, value in element.rows]
        _table(docx_document, rows, (element.names, 1 - element.names), header=False, whole=not opens)
    elif isinstance(element, Grid):
        docx_document.add_paragraph(element.caption, style="Caption")
        _table(docx_document, [element.header, *element.rows], element.widths, right=element.right, alt=element.caption)
    else:
        _picture(docx_document, element)


def _paragraph(docx_document: Any, element: Paragraph) -> None:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn
    from docx.shared import Pt

    paragraph = docx_document.add_paragraph()
    run = paragraph.add_run(element.text)
    if element.kind == "lead":
        run.font.size = Pt(11)
    elif element.kind == "note":
        run.font.size = Pt(8.5)
    elif element.kind == "warning":
        run.bold = True
        borders = OxmlElement("w:pBdr")
        line = OxmlElement("w:left")
        for name, value in (("val", "single"), ("sz", "24"), ("space", "6"), ("color", "D55E00")):
            line.set(qn(f"w:{name}"), value)
        borders.append(line)
        paragraph._p.get_or_add_pPr().append(borders)


def _table(
    docx_document: Any,
    rows: Any,
    widths: tuple[float, ...] = (),
    *,
    right: tuple[int, ...] = (),
    header: bool = True,
    whole: bool = True,
    alt: str = "",
) -> None:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn
    from docx.shared import Inches, Pt

    n = len(rows[0])
    table = docx_document.add_table(rows=0, cols=n)
    table.style = "Table Grid"
    table.autofit = False
    shares = widths or (1.0,) * n
    inches = [_WIDTH * w / sum(shares) for w in shares]
    for column, width in zip(table.columns, inches, strict=True):
        column.width = Inches(width)
    if alt:
        described = OxmlElement("w:tblDescription")
        described.set(qn("w:val"), alt)
        table._tbl.tblPr.append(described)
    forms: dict[tuple[bool, bool], Any] = {}  # a row takes long to make, and others of its form are copies of it
    for number, row in enumerate(rows):
        # a row shares its page with the next one, so that no table is parted that fits on one page
        form = header and number == 0, whole and number < len(rows) - 1
        if form not in forms:
            forms[form] = _empty_row(table, inches, right, *form, names=not header)
        copied = deepcopy(forms[form])
        table._tbl.append(copied)
        for cell, text in zip(copied.tc_lst, row, strict=True):
            cell.p_lst[0].r_lst[0].text = text
    space = docx_document.add_paragraph()
    space.paragraph_format.space_after = Pt(4)


def _empty_row(
    table: Any, inches: Sequence[float], right: tuple[int, ...], is_header: bool, with_next: bool, *, names: bool
) -> Any:
    """A row of a table, without texts and not in it: of the header, on one page ``with_next``, with ``names`` in its
    first cell."""
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn
    from docx.shared import Inches, Pt

    row = table.add_row()
    properties = row._tr.get_or_add_trPr()
    properties.append(OxmlElement("w:cantSplit"))
    if is_header:
        properties.append(OxmlElement("w:tblHeader"))
    for j, (cell, width) in enumerate(zip(row.cells, inches, strict=True)):
        cell.width = Inches(width)
        paragraph = cell.paragraphs[0]
        paragraph.paragraph_format.space_before = paragraph.paragraph_format.space_after = Pt(1.5)
        paragraph.paragraph_format.keep_with_next = with_next
        run = paragraph.add_run()
        run.font.size = Pt(9)
        run.bold = is_header or (names and j == 0)
        if j in right:
            paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
        if is_header:
            shade = OxmlElement("w:shd")
            for name, value in (("val", "clear"), ("color", "auto"), ("fill", "E6EBF0")):
                shade.set(qn(f"w:{name}"), value)
            cell._tc.get_or_add_tcPr().append(shade)
    table._tbl.remove(row._tr)
    return row._tr


def _picture(docx_document: Any, picture: Picture) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Inches

    docx_document.add_paragraph(picture.caption, style="Caption")
    shape = docx_document.add_picture(io.BytesIO(picture.png), width=Inches(picture.width))
    docx_document.paragraphs[-1].alignment = WD_ALIGN_PARAGRAPH.CENTER
    shape._inline.docPr.set("descr", picture.alt)
    shape._inline.docPr.set("title", picture.caption)
    shape._inline.docPr.set("name", "figure")
    for element in shape._inline.iter():
        if element.tag.endswith("}cNvPr"):
            element.set("name", "figure")
