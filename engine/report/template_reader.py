"""Documents from the text templates in ``templates``: Jinja2 fills in names, a reader makes a document of the text.

``docs/documents.md`` describes the form of a template.  Whatever a name stands for is text and never form: the reader
takes a line, a cell or a heading from the template alone, so that no value can make one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.common.errors import EngineError
from engine.common.wording import listed
from engine.report.document import Bullets, Document, Element, Entries, Grid, Paragraph, ParagraphKind, Picture, Section
from engine.report.template import text_of, values_shown

FOLDER = Path(__file__).with_name("templates")
"""Where the templates are."""
Pictures = Mapping[str, Callable[[], Picture | None]]
_FRONT = re.compile(r"(Subtitle|Banner): *(.*)")
_NEW_PAGE = "New page"
_PARAGRAPHS: dict[str, ParagraphKind] = {"Lead": "lead", "Note": "note", "Warning": "warning"}
_ELEMENT = re.compile(rf"({'|'.join(_PARAGRAPHS)}|Table|Picture|Entries): *")


def document(name: str, names: Mapping[str, Any], pictures: Pictures | None = None) -> Document:
    """Return the document that a template and the values of its names make; an unknown name, or a line that is no part
    of a document, is an :class:`EngineError`."""
    front = {"Title": "", "Subtitle": "", "Banner": ""}
    sections: list[tuple[str, list[Element], bool]] = []
    new_page = False
    for lines in _paragraphs(text_of(FOLDER / name, names)):
        first = lines[0]
        if match := _FRONT.fullmatch(first):
            front[match[1]] = _shown(match[2])
        elif first.startswith("# "):
            front["Title"] = _shown(first[2:])
        elif first == _NEW_PAGE:
            new_page = True
        elif first.startswith("## "):
            sections.append((_shown(first[3:]), [], new_page))
            new_page = False
        elif not sections:
            raise EngineError(f"the template '{name}' has text before its first section: '{_shown(first)}'")
        else:
            sections[-1][1].extend(_elements(name, lines, pictures or {}))
    parts = tuple(Section(title, tuple(elements), breaks) for title, elements, breaks in sections)
    return Document(front["Title"], front["Subtitle"], front["Banner"], parts)


def texts(name: str, names: Mapping[str, Any]) -> list[str]:
    """Return the paragraphs of a template that has nothing else."""
    return [text for lines in _paragraphs(text_of(FOLDER / name, names)) if (text := _text(lines))]


def _shown(text: str) -> str:
    return values_shown(text.strip(" "))


def _text(lines: Iterable[str]) -> str:
    """Lines as one text, a space between them."""
    return values_shown(" ".join(text for line in lines if (text := line.strip(" "))))


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Lines that stand together; a heading, a new page, and a line before all sections stand alone."""
    lines: list[str] = []
    for line in [*text.split("\n"), ""]:
        alone = line.startswith(("# ", "## ")) or line == _NEW_PAGE or _FRONT.fullmatch(line)
        if lines and (alone or not line.strip(" ")):
            yield lines
            lines = []
        if alone:
            yield [line]
        elif line.strip(" "):
            lines.append(line)


def _elements(name: str, lines: list[str], pictures: Pictures) -> Iterator[Element]:
    """The element that some lines are, if they say anything."""
    match = _ELEMENT.match(lines[0])
    kind = match[1] if match else ""
    content = [lines[0][match.end() :], *lines[1:]] if match else lines
    if kind == "Picture":
        if (picture := _known(name, pictures, _text(content))()) is not None:
            yield picture
    elif kind == "Table":
        yield _grid(name, content)
    elif kind == "Entries":
        yield _entries(name, content)
    elif lines[0].startswith("- "):
        yield Bullets(tuple(_items(lines)))
    elif lines[0].startswith("|"):
        yield Entries(_pairs(name, lines))
    elif text := _text(content):
        yield Paragraph(text, _PARAGRAPHS.get(kind, "plain"))


def _known(name: str, pictures: Pictures, picture: str) -> Callable[[], Picture | None]:
    if picture not in pictures:
        raise EngineError(f"the template '{name}' names the picture '{picture}'; it can use {listed(pictures)}")
    return pictures[picture]


def _items(lines: list[str]) -> Iterator[str]:
    """Items, each of which begins with a dash and goes on until the next one."""
    for item in re.split("(?:^|\n)- ", "\n".join(lines))[1:]:
        yield _text(item.split("\n"))


def _rows(name: str, lines: list[str], columns: int = 0) -> Iterator[tuple[str, ...]]:
    """Rows of so many cells, or of as many as the first has; a row ends where a line ends with a bar."""
    row = ""
    for line in lines:
        row = f"{row} {line.strip(' ')}".strip(" ")
        if row.endswith("|") and row != "|":
            cells = tuple(_shown(cell) for cell in row.split("|")[1:-1])
            columns = columns or len(cells)
            if not row.startswith("|") or len(cells) != columns:
                raise EngineError(f"the template '{name}' has a row of other than {columns} cells: '{_shown(row)}'")
            yield cells
            row = ""
    if row:
        raise EngineError(f"the template '{name}' has a row without a bar at its end: '{_shown(row)}'")


def _pairs(name: str, lines: list[str]) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in _rows(name, lines, 2))


def _entries(name: str, lines: list[str]) -> Entries:
    """Names with values under the share of the width that the names take."""
    try:
        return Entries(_pairs(name, lines[1:]), float(_shown(lines[0])))
    except ValueError:
        share = _shown(lines[0])
        raise EngineError(f"the template '{name}' has entries whose names take '{share}' of the width") from None


def _grid(name: str, lines: list[str]) -> Grid:
    """A table: caption, header, widths (with ``>`` where figures stand on the right), and rows."""
    first_row = next((i for i, line in enumerate(lines) if line.startswith("|")), len(lines))
    caption, rows = _text(lines[:first_row]), list(_rows(name, lines[first_row:]))
    if len(rows) < 2:
        raise EngineError(f"the table '{caption}' of the template '{name}' needs a header and a row of widths")
    header, form, *body = rows
    right = tuple(j for j, cell in enumerate(form) if cell.endswith(">"))
    try:
        widths = tuple(float(cell.rstrip("> ")) for cell in form)
    except ValueError:
        raise EngineError(f"the widths of the table '{caption}' of the template '{name}' are no numbers") from None
    return Grid(caption, header, tuple(body), right, widths)
