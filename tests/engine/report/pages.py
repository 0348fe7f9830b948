"""The text of a page of a document, for tests: an element a line, cells between bars."""

from __future__ import annotations

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from engine.report.documents import BLANK


def tree(page: str) -> Element:
    """The page's elements, without its style."""
    return ElementTree.fromstring(re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))


def said(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


def sections(page: str) -> dict[str, Element]:
    """Sections by their heading."""
    return {
        said(next(e for e in section.iter() if e.tag in ("h1", "h2"))): section
        for section in tree(page).iter("section")
    }


def text_of(part: str | Element) -> str:
    """All that a page or a part of it says, an element a line; an entry that is left open is empty."""
    lines: list[str] = []
    _gather(tree(part) if isinstance(part, str) else part, lines)
    return "\n".join(lines) + "\n"


def _gather(element: Element, lines: list[str]) -> None:
    if element.tag == "dt":
        lines.append(f"{said(element)}: ")
    elif element.tag == "dd":
        lines[-1] += said(element).replace(BLANK, "")
    elif element.tag == "tr":
        lines.append(" | ".join(map(said, element)))
    elif element.tag in ("p", "h1", "h2", "h3", "li", "caption", "figcaption", "title"):
        lines.append(said(element))
    else:
        for child in element:
            _gather(child, lines)


def rows_of(table: Element) -> list[tuple[str, ...]]:
    """The rows of a table without its header."""
    return [tuple(map(said, row)) for row in table.iterfind("tbody/tr")]


def entries_of(names: Element) -> dict[str, str]:
    """Names with their values; one that is left open is empty."""
    texts = [said(child).replace(BLANK, "") for child in names]
    return dict(zip(texts[::2], texts[1::2], strict=True))


def banner_of(page: str) -> str:
    return tree(page).findtext(".//header/p[@class='banner']", "").strip()
