"""Texts of documents, screens and commands as they are, a study a folder, reviewed as diffs.

After a change of words: ``make goldens``, then read the diff.
"""

from __future__ import annotations

import difflib
import html
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from engine.report import circulating
from engine.report.annex import analyst_sections
from engine.report.describe import remade
from engine.report.documents import pptx
from engine.report.no_release import no_release_memo
from engine.report.plan_document import plan_document
from engine.report.public_wording import public_wording
from engine.study.map_reader import risk_utility_map
from tests.frontier_app.conftest import APP, launched, to_page
from tests.goldens.studies import FILE, Shown

GOLDENS = Path(__file__).parent
_VOLATILE = (
    (r"\d{4}-\d\d-\d\d([ T]\d\d:\u2060?\d\d(:\d\d)?Z?)?", "DAY"),
    (r"\b\d\d:\u2060\d\d\b", "TIME"),
    (r"(?m)\b[0-9a-f]{12}$", "DIGEST"),
    (r"(?m)^[\d,]+ of [\d,]+ runs.*\n", ""),
    (r"(\d\.\d{6})\d{6,}", r"\1"),
)
"""Whatever differs between days and processors, and what stands in its place."""
_END = re.compile(r"</(?:p|h1|h2|h3|li|tr|dt|dd|caption|figcaption|title)>")


def text_of(page: str) -> str:
    """The text of a page, an element a line."""
    page = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    page = re.sub(r'<img [^>]*alt="([^"]*)"[^>]*>', r"[\1]\n", page)
    text = html.unescape(re.sub(r"<[^>]+>", " ", _END.sub("\n", page)))
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


def sheet(shown: Shown) -> str:
    """Page 1 of the documents."""
    return text_of(_sections(shown)[0])


def evidence(shown: Shown) -> str:
    """Their other pages."""
    return text_of("".join(_sections(shown)[1:]))


def _sections(shown: Shown) -> list[str]:
    first, *others = re.split(r"(?=<section)", shown.page)
    return [first + others[0], *others[1:]]


def slides(shown: Shown) -> str:
    from pptx import Presentation

    lines = []
    for number, slide in enumerate(Presentation(io.BytesIO(pptx(shown.page))).slides, 1):
        lines.append(f"-- slide {number}")
        for shape in slide.shapes:
            if shape.has_table:
                lines += [" | ".join(cell.text for cell in row.cells) for row in shape.table.rows]
            elif shape.has_text_frame:
                lines.append(shape.text_frame.text)
            else:
                lines.append("[picture]")
    return "\n".join(lines)


def screen(name: str) -> Callable[[Shown], str]:
    """The text of a page of the dashboard, folded parts included."""

    def text(shown: Shown) -> str:
        made = AppTest.from_file(str(APP), default_timeout=300)
        made.query_params["w"] = launched(shown.workspace())
        to_page(made, name)
        assert not made.exception
        return "\n".join(_elements(made.main))

    return text


def _elements(block: Any) -> Iterator[str]:
    """Texts of the elements below a block, with the names of those that are no text."""
    for element in block.children.values():
        kind, label = element.type, getattr(element, "label", "")
        if hasattr(element, "children"):
            yield from [f"[{kind}] {label}"] if label else []
            yield from _elements(element)
        elif kind in ("markdown", "caption", "title", "header", "subheader", "warning", "info", "error", "success"):
            yield from filter(None, (line.rstrip() for line in str(element.value).split("\n")))
        elif kind == "metric":
            yield f"[metric] {label}: {element.value} ({element.delta})"
        elif label:
            yield f"[{kind}] {label}"


def public(shown: Shown) -> str:
    return public_wording(shown.findings)


def copy(shown: Shown) -> str:
    return text_of(circulating.page(shown.findings))


def analyst(shown: Shown) -> str:
    with shown.open() as study:
        choice = study.choices.all()[-1]
        return text_of(analyst_sections(study, remade(study, shown.raw, choice.label, choice.replicate)))


def plan(shown: Shown) -> str:
    with shown.open() as study:
        return text_of(plan_document(study.plan))


def memo(shown: Shown) -> str:
    with shown.open() as study:
        return text_of(no_release_memo(study, risk_utility_map(study)))


def said(*commands: str) -> Callable[[Shown], str]:
    """Whatever commands said on the way to the study's state."""
    return lambda shown: "".join(shown.said[command] for command in commands)


def command(*words: str) -> Callable[[Shown], str]:
    return lambda shown: shown.run(*words)


Text = Callable[[Shown], str]
DOCUMENTS: dict[str, Text] = {
    "sheet": sheet,
    "evidence": evidence,
    "slides": slides,
    "public": public,
    "circulating_copy": copy,
    "analyst": analyst,
    "plan": plan,
    "no_release_memo": memo,
}
COMMANDS: dict[str, Text] = {
    "choose": said("choose"),
    "recheck": said("recheck"),
    "states": said("decide"),
    "log": command("decide", FILE),
    "show": command("show", FILE),
    "show_wide": command("show", FILE, "--wide", "--max-risk", "0.001"),
    "status": command("status", FILE),
}
SCREENS: dict[str, Text] = {f"{name}_page": screen(name) for name in ("board", "explore", "compare", "decide")}
"""Texts of a study by the names of their files."""
_CHOSEN = ("sheet", "evidence", "slides", "board_page", "explore_page", "public", "analyst", "plan", "choose", "show")
STUDIES = {
    "swept": ("explore_page", "decide_page", "board_page", "show", "show_wide", "status", "log"),
    "random": (*_CHOSEN, "compare_page", "decide_page", "recheck", "log"),
    "approved": ("sheet", "board_page", "decide_page", "states", "log"),
    "refused": ("sheet", "board_page", "decide_page", "states", "log"),
    "withheld": ("no_release_memo", "board_page", "states", "log"),
    "household": (*_CHOSEN, "compare_page", "circulating_copy"),
    "mixed": _CHOSEN,
}
"""The texts that are kept of each study."""
FORMAT_1 = ("census-tell", "fair-withhold")
"""Board bundles of the first format of which the documents are kept."""
_QUICK = ("random", "swept", "withheld")


def parameters(texts: Mapping[str, Text]) -> list[Any]:
    """The arguments of a test of these texts, for each study that has them; all but a few are slow."""
    return [
        pytest.param(
            study, name, text, id=f"{study}-{name}", marks=[] if _is_quick(study, name) else [pytest.mark.slow]
        )
        for name, text in texts.items()
        for study, names in STUDIES.items()
        if name in names
    ]


def _is_quick(study: str, name: str) -> bool:
    return study in _QUICK and name != "slides" and name not in SCREENS


def check(study: str, document: str, text: str) -> None:
    """Compare a text with its golden, or write it."""
    for pattern, instead in _VOLATILE:
        text = re.sub(pattern, instead, text)
    text = text.strip("\n") + "\n"
    path = GOLDENS / study / f"{document}.txt"
    if os.environ.get("GOLDENS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    golden = path.read_text(encoding="utf-8")
    changed = "\n".join(difflib.unified_diff(golden.split("\n"), text.split("\n"), lineterm="", n=0))
    assert not changed, f"{study}/{document}.txt reads otherwise; if it should, run `make goldens`\n{changed}"
