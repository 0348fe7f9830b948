"""Templates of documents: every name in them is known, a value is never form, and changed words change the document."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jinja2 import meta

from engine.common.errors import EngineError
from engine.common.printable import printable
from engine.report import template_reader
from engine.report.document import Bullets, Document, Entries, Grid, Paragraph, Picture, Section
from engine.report.template import _environment, _hidden, text_of
from engine.report.template_reader import FOLDER, document, texts

FORM = """
# {{ value }}
Subtitle: {{ value }}
Banner: {{ value }}

## {{ value }}

{{ value }}

Note: {{ value }}

- {{ value }}
- before {{ value }} after

| {{ value }} | {{ value }} |
| by hand | |

Table: {{ value }}
| {{ value }} | Header |
| 2 | 1.5 > |
| {{ value }} | before {{ value }} |
| of two
lines | {{ value }} |

Picture: map
"""
PICTURE = Picture(b"", "alt", "caption")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the templates, which documents are made from."""
    shutil.copytree(FOLDER, tmp_path / "templates")
    monkeypatch.setattr(template_reader, "FOLDER", tmp_path / "templates")
    return tmp_path / "templates"


@pytest.mark.parametrize(
    "value",
    [
        "# x",
        "## x",
        "- x",
        "| x | y |",
        "x |",
        "x\ny",
        "x\r\n\n## y\n\n- z",
        "{{ value }} {% raw %} {# x #}",
        "Note: x",
        "Table: x",
        "Picture: map",
        "Banner: x",
        "  x  y  ",
        "\tx",
        "<b>&amp;</b> ' \"",
        "\x01x\x02\x05\x1b",
        "\u2028\ue000 é",
        "\\n",
    ],
)
def test_a_value_is_text_wherever_it_stands(value: str, folder: Path) -> None:
    (folder / "form.txt").write_text(FORM, encoding="utf-8")
    text = printable(value)
    made = document("form.txt", {"value": value}, {"map": lambda: PICTURE})
    elements = (
        Paragraph(text),
        Paragraph(text, "note"),
        Bullets((text, f"before {text} after")),
        Entries(((text, text), ("by hand", ""))),
        Grid(text, (text, "Header"), ((text, f"before {text}"), ("of two lines", text)), (1,), (2.0, 1.5)),
        PICTURE,
    )
    assert made == Document(text, text, text, (Section(text, elements),))


def test_a_constant_is_a_value_too(folder: Path) -> None:
    (folder / "form.txt").write_text("a {{ '| <' }} {{ '&' if 1 else '' }} {{ ['#', 2]|join('|') }}", encoding="utf-8")
    assert texts("form.txt", {}) == ["a | < & #|2"]


def test_an_empty_value_is_an_empty_cell_and_no_paragraph(folder: Path) -> None:
    (folder / "form.txt").write_text(FORM, encoding="utf-8")
    (section,) = document("form.txt", {"value": ""}, {"map": lambda: None}).sections
    bullets, entries, grid = section.elements
    assert bullets == Bullets(("", "before  after"))
    assert entries == Entries((("", ""), ("by hand", "")))
    assert isinstance(grid, Grid) and grid.rows[0] == ("", "before ")


def test_paragraphs_of_several_lines_and_lists_of_several_items(folder: Path) -> None:
    (folder / "form.txt").write_text("one\n  two\n\n{% for n in [1, 2] %}\n- {{ n }} a\nb\n{% endfor %}\n", "utf-8")
    assert texts("form.txt", {}) == ["one two", "- 1 a b - 2 a b"]
    (folder / "form.txt").write_text(
        "## s\none\n  two\n\n{% for n in [1, 2000] %}\n- {{ n }} a\nb\n{% endfor %}\n", "utf-8"
    )
    (section,) = document("form.txt", {}).sections
    assert section.elements == (Paragraph("one two"), Bullets(("1 a b", "2,000 a b")))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("## s\n{{ nobody }}", "'form.txt', line 2 cannot be read: 'nobody' is undefined"),
        ("## s\n\n{{ value.nothing }}", "line 3 cannot be read: .* has no attribute 'nothing'"),
        ("## s\n{% if value %}", "line 2 cannot be read: Unexpected end of template"),
        ("## s\n{{ value|nowhere }}", "No filter named 'nowhere'"),
        ("## s\n{{ 0.25 }}", "0.25 is neither text nor a whole number"),
        ("## s\n{{ none }}", "None is neither text nor a whole number"),
        ("## s\n{{ true }}", "True is neither text nor a whole number"),
        ("words", "has text before its first section: 'words'"),
        ("## s\nPicture: nowhere", "names the picture 'nowhere'; it can use map"),
        ("## s\n| a | b | c |", "has a row of other than 2 cells"),
        ("## s\nTable: t\n| a | b |\n| 1 | 1 |\n| c |", "has a row of other than 2 cells: '| c |'"),
        ("## s\nTable: t\n| a | b |\n| 1 | 1 |\n| c | d", "has a row without a bar at its end: '| c | d'"),
        ("## s\nTable: t\n| a | b |", "'t' of the template 'form.txt' needs a header and a row of widths"),
        ("## s\nTable: t\n| a | b |\n| 1 | wide |", "the widths of the table 't'"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(text: str, words: str, folder: Path) -> None:
    (folder / "form.txt").write_text(text, encoding="utf-8")
    with pytest.raises(EngineError, match=words.replace("|", r"\|")):
        document("form.txt", {"value": "x"}, {"map": lambda: PICTURE})


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Mapping[str, Any]]]:
    """Every template that is filled in, with the values of its names."""
    made: list[tuple[str, Mapping[str, Any]]] = []

    def recorded(path: Path, names: Mapping[str, Any]) -> str:
        made.append((path.name, names))
        return text_of(path, names)

    monkeypatch.setattr(template_reader, "text_of", recorded)
    return made


MACROS = {"shared.txt", "losses.txt", "recognised.txt"}
"""Templates of macros that others import."""
PARTS = {"utility.txt"}
"""Templates that are parts of the memo."""


def names_in(text: str) -> set[str]:
    """Names that a template uses and does not make itself."""
    return meta.find_undeclared_variables(_environment(FOLDER, _hidden).parse(text))
