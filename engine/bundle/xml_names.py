"""The elements of an XML file, one after the other: nothing is kept, and no file is larger in memory than on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.parsers import expat

from engine.errors import EngineError
from engine.untrusted import read_plain


def read_elements(path: Path, each: Callable[[str, dict[str, str]], None]) -> None:
    """Call ``each`` with the name (its namespace, a space, its own) and the attributes of every element.

    Declarations of a document's type are refused: a codebook has none, and they can define texts that unfold without
    end.  What is no XML is an ``ExpatError``.
    """

    def refuse(*of: Any) -> None:
        raise EngineError(f"'{path.name}' declares a type of document, which no codebook of ours does")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = each
    parser.Parse(read_plain(path), True)
