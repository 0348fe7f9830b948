"""A document as values: sections of paragraphs, lists, tables and pictures, written as DOCX, HTML and PDF."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal

from engine.common.printable import printable


class _Printable:
    """What a reader sees: signs that would steer a terminal or turn the direction of writing are written out, some of
    which no document can hold."""

    def __post_init__(self) -> None:
        for field_ in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, field_.name, _printable(getattr(self, field_.name)))


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    return tuple(map(_printable, value)) if isinstance(value, tuple) else value


ParagraphKind = Literal["plain", "lead", "note", "warning"]
"""How a paragraph is set: as usual, larger, smaller, or apart."""


@dataclass(frozen=True)
class Paragraph(_Printable):
    """Text, set as its ``kind`` says."""

    text: str
    kind: ParagraphKind = "plain"


@dataclass(frozen=True)
class Bullets(_Printable):
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Grid(_Printable):
    """A table with a caption and a header row; ``right`` are the places of columns that hold figures, ``widths`` says
    how wide the columns are beside one another (empty: all alike); the first column names the row."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    widths: tuple[float, ...] = ()


@dataclass(frozen=True)
class Picture(_Printable):
    """A PNG with what it shows in words (for who does not see it) and a caption."""

    png: bytes = field(repr=False)
    alt: str
    caption: str
    width: float = 6.3


@dataclass(frozen=True)
class Entries(_Printable):
    """Names with values; an empty value is a line to be filled in by hand.  Names take the share ``names`` of the
    width."""

    rows: tuple[tuple[str, str], ...]
    names: float = 0.32


Element = Paragraph | Bullets | Grid | Picture | Entries


@dataclass(frozen=True)
class Section(_Printable):
    """A numbered or named part; ``new_page`` says that it begins one."""

    title: str
    elements: tuple[Element, ...]
    new_page: bool = False

    @property
    def opening(self) -> int:
        """How many paragraphs stand between the heading and a picture, with which they share a page; 0 where another
        element comes first."""
        first = next((i for i, element in enumerate(self.elements) if not isinstance(element, Paragraph)), None)
        return first if first is not None and isinstance(self.elements[first], Picture) else 0


@dataclass(frozen=True)
class Document(_Printable):
    """A document: ``banner`` stands on every page; without one there is none."""

    title: str
    subtitle: str
    banner: str
    sections: tuple[Section, ...]


BLANK = "_" * 30
"""What stands for an entry to be filled in by hand."""
