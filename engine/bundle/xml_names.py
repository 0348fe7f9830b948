"""Read the element names of an XML file one after the other, in constant memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.parsers import expat

from engine.common.errors import EngineError
from engine.common.untrusted import MOST_ENTRIES, read_plain

_LONGEST = 1_000_000  # bytes of a tag, or of a text: expat hands over a tag's attributes only when it has read them all


def read_elements(path: Path, on_element: Callable[[str, dict[str, str]], None]) -> None:
    """Call ``on_element`` with the name (its namespace, a space, its own) and the attributes of every element.

    Declarations of a document's type are refused: a codebook has none, and they can define texts that unfold without
    end.  More elements and attributes than a file of a bundle has, and longer tags, are refused too.  A file that is no
    XML is an ``ExpatError``.
    """
    n_entries = 0

    def refuse(*_: Any) -> None:
        raise EngineError(f"'{path.name}' declares a type of document, as no codebook of a bundle does")

    def counted(name: str, attributes: dict[str, str]) -> None:
        nonlocal n_entries
        n_entries += 1 + len(attributes)
        if n_entries > MOST_ENTRIES:
            raise EngineError(f"'{path.name}' holds more than {MOST_ENTRIES:,} elements and attributes")
        on_element(name, attributes)

    content = read_plain(path)
    _refuse_long_tags(path, content)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = counted
    parser.Parse(content, True)


def _refuse_long_tags(path: Path, content: bytes) -> None:
    """Refuse two signs ``<`` that are far apart: no tag or text holds one, so each ends before the next."""
    start = 0
    while len(content) - start > _LONGEST:
        after = content.rfind(b"<", start, start + _LONGEST) + 1
        if not after:
            raise EngineError(f"'{path.name}' holds a tag or a text of more than {_LONGEST:,} bytes")
        start = after
