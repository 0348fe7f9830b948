"""Every text of a page goes through one place, which shows it as it is unless it is said to be Markdown."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import streamlit as st
from hypothesis import given
from hypothesis import strategies as some
from streamlit.delta_generator import DeltaGenerator

import frontier_app
from frontier_app.wording import markup
from frontier_app.wording.markup import Markdown, bullets, joined, markdown, plain, table
from tests import sources

SOURCES = sorted(Path(frontier_app.__file__).parent.rglob("*.py"))
NO_TEXT = {
    "image": "its title stands above it",
    "columns": "no text",
    "container": "no text",
    "divider": "no text",
    "empty": "no text",
    "form": "no text",
    "code": "shown as it is",
    "dialog": "a title of the program's own",
    "html": "escaped where it is made",
    "plotly_chart": "charts.framed escapes it",
}
READ = {"label", "body", "help", "title", "captions", "tabs", "text", "delta", "delta_description", "column_config"}


def calls(path: Path) -> Iterator[ast.Call]:
    return (node for node in sources.nodes(path) if isinstance(node, ast.Call))


def imported(path: Path) -> set[str]:
    """Names that a page takes from the two modules that make text."""
    return {
        alias.name
        for node in sources.nodes(path)
        if isinstance(node, ast.ImportFrom) and node.module == markup.__name__
        for alias in node.names
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("![x](http://evil.example)", r"!\[x\](http:" + "\u2060" + "//evil.example)"),
        (":red[x]", r"\:red\[x\]"),
        ("$x$", r"\$x\$"),
        ("<b>", r"\<b>"),
        (":smile:", ":\u2060smile:"),
        (":material/home:", ":\u2060material/home:"),
        ("www.evil.example", "www\u2060.evil.example"),
        ("one_www.evil.example", "one_www\u2060.evil.example"),
        ("me@evil.example", "me@\u2060evil.example"),
        ("a -> b", "a -\u2060> b"),
        ("a  |\n b", r"a \| b"),
        ("1. one", r"1\. one"),
        ("&lt;", r"\&lt;"),
        ("\\", "\\\\"),
        ("\x1b[31m\u202e", r"\\u001b\[31m\\u202e"),
        ("small_cells, 10:30, Age at C#, -5 % & 1-2", "small_cells, 10:30, Age at C#, -5 % & 1-2"),
    ],
)
def test_a_text_is_shown_as_it_is(text: str, shown: str):
    assert plain(text) == shown


@given(some.text(alphabet="ab1 :_*[]()!<>$`~|\\&#;-=+.@/\n\t", max_size=30))
def test_a_text_keeps_its_signs(text: str):
    bare = plain(text).replace("\u2060", "")
    assert "".join(bare.replace("\\\\", "\0").replace("\\", "").replace("\0", "\\").split()) == "".join(text.split())


def test_what_is_filled_in_or_added_is_escaped_and_markdown_is_not():
    made = markdown("**{}** {:,} {x}", "a*b", 1234, x=markdown("_{}_", "<"))
    assert made == r"**a\*b** 1,234 _\<_" and isinstance(made, Markdown)
    assert made + "*" == str(made) + r"\*" and "*" + made == r"\*" + str(made)
    assert joined(" ", ["*", markdown("*")]) == r"\* *"
    assert bullets(["- x"]) == r"* \- x"
    assert table(("a|b", ""), "lr", [("1", "2")]) == "| a\\|b |  |\n|:--|--:|\n| 1 | 2 |"


@pytest.mark.slow
def test_templates_are_the_programs_own():
    """A name can only come in as a value, and nothing else makes Markdown."""
    for path in SOURCES:
        for call in calls(path):
            name = getattr(call.func, "id", "")
            if name in ("markdown", "drawn") and name in imported(path):
                first = call.args[0]
                choices = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
                assert all(isinstance(one, ast.Constant) for one in choices), f"{path.name}:{call.lineno}"
            elif name in ("Markdown", "Drawn"):
                own = ("wording/markup.py", "widgets/glossary.py")
                assert path.as_posix().endswith(own), f"{path}:{call.lineno}"


def test_no_element_is_forgotten():
    """Every element of Streamlit's that a page uses shows its texts plainly, or is known to have none to read."""
    elements = {name for name in dir(DeltaGenerator) if not name.startswith("_")} | {"spinner", "toast", "dialog"}
    own = {
        "status",
        "map",
        "write",
        "title",
        "progress",
        "help",
        "table",
    }  # also methods of our own and of other values
    for path in SOURCES:
        for call in calls(path):
            if not isinstance(call.func, ast.Attribute) or call.func.attr not in elements:
                continue
            name, of = call.func.attr, getattr(call.func.value, "id", "")
            if name in own and of != "st":
                continue
            assert name in markup.TEXTS or name in NO_TEXT, f"{path.name}:{call.lineno}: {name}"


@pytest.mark.parametrize("name", markup.TEXTS)
def test_every_parameter_that_streamlit_reads_is_escaped(name: str):
    element = inspect.unwrap(getattr(DeltaGenerator, name, None) or getattr(st, name))
    assert READ & set(inspect.signature(element).parameters) <= set(markup.TEXTS[name])


def test_a_table_of_a_page_holds_no_formula():
    shown = markup.cells({"name": ["=1+1", "-9", "+1", "@x", "a"], "n": [-1, 2, 3, 4, 5]})
    assert list(shown["name"]) == ["\u2060=1+1", "-9", "+1", "\u2060@x", "a"] and list(shown["n"]) == [
        -1,
        2,
        3,
        4,
        5,
    ]
    frame = pd.DataFrame({"name": ["=1"]})
    assert markup.cells(frame) is not frame and list(frame["name"]) == ["=1"]


def test_a_figure_shows_names_as_they_are():
    from plotly.graph_objects import Figure, Heatmap, Scatter

    bad = "<a href='http://evil.example'>&lt;x</a>\u202e"
    good = markup.drawn("<b>{}</b>", bad)
    figure = Figure(
        [
            Scatter(x=[bad], y=[1], name=bad, text=[bad, good], hovertext=bad, customdata=[[bad, 1]]),
            Heatmap(z=[[1.0]], x=[bad], y=[bad], text=[[bad]]),
        ]
    )
    figure.update_layout(
        annotations=[{"text": bad}],
        legend={"title": {"text": bad}},
        xaxis={"title": {"text": markup.stacked([bad, "b"])}, "ticktext": [bad]},
    )
    text = markup.plainly(figure).to_json()
    assert "<a" not in text and "\u202e" not in text and "<b>&lt;a" in text.encode().decode("unicode_escape")


@pytest.mark.slow
def test_markdown_is_said_to_be_markdown():
    """What the program formats stands in a template, or its signs would be shown."""
    signs = re.compile(r"\*\*\S|\S\*\*|(?<!\w)\*\w[^*]*\*|-badge\[|:(?:gray|green|small)\[|^#+ \S|:material/\w+: ")
    for path in SOURCES:
        nodes = sources.nodes(path)
        inside = {
            id(part)
            for call in nodes
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "markdown"
            for part in ast.walk(call)
        }
        inside |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
                assert not signs.search(node.value), f"{path.name}:{node.lineno}: {node.value[:60]}"


def test_a_table_has_an_alignment_for_every_column():
    assert table(("a", "b"), "lr", [("1", "2")]) == "| a | b |\n|:--|--:|\n| 1 | 2 |"
    for align in ("l", "lrr"):
        with pytest.raises(ValueError, match="zip"):
            table(("a", "b"), align, [("1", "2")])
