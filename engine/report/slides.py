"""Seven slides for a meeting of the board."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from engine.common.printable import printable
from engine.report import figures
from engine.report.answers import (
    decision_words,
    fixed,
    flags_sentence,
    neighbour_sentence,
    neighbours,
    omissions,
    public_wording,
    risk_sentence,
    sureness,
    utility_words,
    worst,
)
from engine.report.coherence import coherence
from engine.report.memo import BANNER
from engine.report.office import parts_of_pptx, without_traces
from engine.report.redaction import lower_first
from engine.report.words import about

if TYPE_CHECKING:
    from engine.report.document import Picture
    from engine.report.findings import Findings

_MOST = 6


def _outline(found: Findings) -> list[tuple[str, list[str], Picture | None]]:
    """Title, lines and picture of every slide."""
    rec, cover = found.recommendation, found.cover
    safer, useful = neighbours(found)
    why = [neighbour_sentence(found, row, safer=yes) for row, yes in ((safer, True), (useful, False)) if row]
    first = [decision_words(found), risk_sentence(found), flags_sentence(found)]
    first += [f"Reason given: {rec.why}"] if rec.recorded else []
    loss = figures.coefficients(found) or figures.associations(found) or figures.percentages(found)
    return [
        (" ".join(filter(None, [cover.survey, cover.vintage])) or cover.title or "Disclosure review", first, None),
        ("Risk, against doing nothing", [risk_sentence(found), *omissions(found)[:2]], figures.small_cells(found)),
        ("The frontier and the choice", _choice(found), figures.frontier(found)),
        (
            "Why not safer, or more useful?",
            [*(why or ["No candidate on the frontier differs by more than the noise of the runs."]), *_rows(found)],
            None,
        ),
        ("What users lose", [flags_sentence(found), *worst(found)], loss),
        ("How sure, and what to bear in mind", [*sureness(found), *rec.cautions][:_MOST], None),
        ("Fixed beforehand, coherent, and what is said", _last(found), None),
    ]


def _choice(found: Findings) -> list[str]:
    at = found.map
    said = [f"{at.n_candidates:,} candidates were tried, {at.n_frontier:,} are on the frontier."]
    if at.n_within is not None:
        said.append(f"{at.n_within:,} are within the bound on risk.")
    return [*said, f"Selection rule: {found.approved.rule}."]


def _rows(found: Findings) -> list[str]:
    """The lettered candidates, a line each."""
    at = found.map
    return [
        f"{c.letter} {c.words}: {lower_first(at.risk_title)} {about(c.risk, c.risk_se)}, "
        f"{lower_first(at.utility_title)} {utility_words(found, c)}" + (" (recommended)" * c.recommended)
        for c in at.candidates
    ]


def _last(found: Findings) -> list[str]:
    return [*fixed(found)[:2], *coherence(found)[:2], f"Proposed wording: “{public_wording(found)}”"]


def slides_bytes(found: Findings) -> bytes:
    """The presentation's content."""
    from pptx import Presentation
    from pptx.util import Inches

    made = Presentation()
    made.slide_width, made.slide_height = Inches(13.333), Inches(7.5)
    banner = found.cover.classification or BANNER
    for title, lines, picture in _outline(found):
        slide = made.slides.add_slide(made.slide_layouts[5])
        _title(slide, title)
        top = 1.35
        if picture is None:
            _lines(slide, lines, 0.7, top, 11.9, 5.4, 22)
        else:
            _lines(slide, lines, 0.7, top, 4.6, 5.4, 18)
            _picture(slide, picture, 5.6, top, 7.2, 5.3)
        _lines(slide, [banner], 0.7, 6.95, 11.9, 0.4, 11, bullet=False)
    return without_traces(parts_of_pptx(made), "Disclosure review")


def _title(slide: Any, text: str) -> None:
    from pptx.enum.text import PP_ALIGN
    from pptx.util import Inches, Pt

    shape = slide.shapes.title
    shape.left, shape.top, shape.width, shape.height = Inches(0.7), Inches(0.35), Inches(11.9), Inches(0.9)
    shape.text_frame.text = printable(text)
    paragraph = shape.text_frame.paragraphs[0]
    paragraph.alignment = PP_ALIGN.LEFT
    paragraph.runs[0].font.size, paragraph.runs[0].font.bold = Pt(32), True


def _lines(
    slide: Any,
    lines: list[str],
    left: float,
    top: float,
    width: float,
    height: float,
    size: int,
    *,
    bullet: bool = True,
) -> None:
    from pptx.util import Inches, Pt

    frame = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(width), Inches(height)).text_frame
    frame.word_wrap = True
    # longer texts get smaller letters, so that nothing leaves the slide
    room = width * height * 72 * 72
    while size > 11 and sum(len(line) + 30 for line in lines) * size * size * 0.62 > room:
        size -= 1
    for place, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if place == 0 else frame.add_paragraph()
        run = paragraph.add_run()
        run.text = printable(f"• {line}" if bullet and len(lines) > 1 else line)
        run.font.size = Pt(size)
        paragraph.space_after = Pt(size / 2)


def _picture(slide: Any, picture: Picture, left: float, top: float, width: float, height: float) -> None:
    from pptx.util import Inches

    shape = slide.shapes.add_picture(io.BytesIO(picture.png), Inches(left), Inches(top))
    scale = min(Inches(width) / shape.width, Inches(height) / shape.height)
    shape.width, shape.height = int(shape.width * scale), int(shape.height * scale)
    shape._element.nvPicPr.cNvPr.set("descr", picture.alt)
    shape._element.nvPicPr.cNvPr.set("name", "figure")
