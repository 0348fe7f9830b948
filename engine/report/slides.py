"""Seven slides for a meeting of the board."""

from __future__ import annotations

import io
from functools import partial
from typing import TYPE_CHECKING, Any

from engine.common.errors import EngineError
from engine.report import figures
from engine.report.document import Bullets, Paragraph, Picture
from engine.report.memo import names_of, pictures_of
from engine.report.office import parts_of_pptx, without_traces
from engine.report.template_reader import document

if TYPE_CHECKING:
    from engine.report.document import Document, Section
    from engine.report.findings import Findings


def slides(findings: Findings) -> Document:
    """The words and pictures of the slides, a section each; they are in ``templates/slides.txt``."""
    return document("slides.txt", names_of(findings), {**pictures_of(findings), "loss": partial(_loss, findings)})


def _loss(findings: Findings) -> Picture | None:
    """The picture of what users lose: of their analyses if any are declared."""
    return figures.associations(findings)


def slides_bytes(findings: Findings) -> bytes:
    """The presentation's content."""
    from pptx import Presentation
    from pptx.util import Inches

    presentation = Presentation()
    presentation.slide_width, presentation.slide_height = Inches(13.333), Inches(7.5)
    outline = slides(findings)
    for section in outline.sections:
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        _title(slide, section.title)
        lines, pictures = _content(section)
        if pictures:
            _lines(slide, lines, (0.7, 1.35, 4.6, 5.4), 18)
            _picture(slide, pictures[0], (5.6, 1.35, 7.2, 5.3))
        else:
            _lines(slide, lines, (0.7, 1.35, 11.9, 5.4), 22)
        _lines(slide, [outline.banner], (0.7, 6.95, 11.9, 0.4), 11)
    return without_traces(parts_of_pptx(presentation), outline.title)


def _content(section: Section) -> tuple[list[str], list[Picture]]:
    """The lines and the pictures of a slide, which has room for nothing else."""
    lines, pictures = [], []
    for element in section.elements:
        match element:
            case Paragraph():
                lines.append(element.text)
            case Bullets():
                lines += element.items
            case Picture():
                pictures.append(element)
            case _:
                raise EngineError(f"the slide '{section.title}' has a table; a slide has lines and one picture")
    if len(pictures) > 1:
        raise EngineError(f"the slide '{section.title}' has {len(pictures)} pictures; it has room for one")
    return lines, pictures


def _title(slide: Any, text: str) -> None:
    from pptx.enum.text import PP_ALIGN
    from pptx.util import Inches, Pt

    shape = slide.shapes.title
    shape.left, shape.top, shape.width, shape.height = Inches(0.7), Inches(0.35), Inches(11.9), Inches(0.9)
    shape.text_frame.text = text
    paragraph = shape.text_frame.paragraphs[0]
    paragraph.alignment = PP_ALIGN.LEFT
    paragraph.runs[0].font.size, paragraph.runs[0].font.bold = Pt(32), True


def _lines(slide: Any, lines: list[str], box: tuple[float, float, float, float], size: int) -> None:
    """Lines in a box (left, top, width and height in inches), of letters of that size at most."""
    from pptx.util import Inches, Pt

    _, _, width, height = box
    frame = slide.shapes.add_textbox(*map(Inches, box)).text_frame
    frame.word_wrap = True
    # longer texts get smaller letters, so that nothing leaves the slide
    room = width * height * 72 * 72
    while size > 11 and sum(len(line) + 30 for line in lines) * size * size * 0.62 > room:
        size -= 1
    for number, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        run = paragraph.add_run()
        run.text = f"• {line}" if len(lines) > 1 else line
        run.font.size = Pt(size)
        paragraph.space_after = Pt(size / 2)


def _picture(slide: Any, picture: Picture, box: tuple[float, float, float, float]) -> None:
    """A picture as large as a box has room for."""
    from pptx.util import Inches

    left, top, width, height = box
    shape = slide.shapes.add_picture(io.BytesIO(picture.png), Inches(left), Inches(top))
    scale = min(Inches(width) / shape.width, Inches(height) / shape.height)
    shape.width, shape.height = int(shape.width * scale), int(shape.height * scale)
    shape._element.nvPicPr.cNvPr.set("descr", picture.alt)
    shape._element.nvPicPr.cNvPr.set("name", "figure")
