"""Hostile names on every page: they are shown as they are written, and neither format, link, embed nor become icons."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from engine.decision.states import decide
from engine.plan import plan_from_toml, plan_to_toml
from engine.plan.differences import lock
from engine.plan.samples import open_data
from engine.study.study import Study
from engine.sweeps.sweep import recheck
from frontier_app.session.workspace import Workspace
from tests.frontier_app import hostile_names
from tests.frontier_app.conftest import APP, to_page
from tests.frontier_app.file_page import asked
from tests.frontier_app.finished_studies import FinishedStudies

PAGES = ("data", "threat", "candidates", "explore", "compare", "decide", "release")
NOT_READ = {
    "code": {"*"},
    "html": {"*"},  # below
    "plotly_chart": {"*"},  # below
    "selectbox": {"options", "placeholder", "raw_value", "default"},
    "multiselect": {"options", "placeholder", "raw_values", "default"},
    "text_input": {"value", "default", "placeholder"},
    "text_area": {"value", "default", "placeholder"},
    "number_input": {"placeholder"},
}
"""What Streamlit shows without reading it as Markdown, by element."""
NOT_WORDS = {"id", "form_id", "icon", "url", "key", "element_id", "fragment_id", "page_script_hash", "alt"}
LIVE = re.compile(
    r"\]\(|https?://|www\.|\w@\w|<|&(?:lt|#9760);|:rainbow|:red-back|:smile:|:material/skull|:streamlit:|\$|`code|"
    r"(?<![*\w])\*em\*|_em_|__strong__|~|(?<!\S)(?:->|<-|<->|--|>=|<=|~=)(?!\S)|^[#>] |^- dash|^1\. one",
    re.MULTILINE,
)
"""What would be something else than its letters, once the escaped signs are taken out."""


def app(at: Workspace, page: str) -> AppTest:
    made = AppTest.from_file(str(APP), default_timeout=300)
    made.query_params["w"] = at.token
    to_page(made, page)
    assert not made.exception
    return made


def nodes(node: Any) -> Iterator[Any]:
    """All elements and blocks of a page."""
    yield node
    for child in getattr(node, "children", {}).values():
        yield from nodes(child)


def strings(message: Any, leave: set[str]) -> Iterator[str]:
    """All texts in a message but those to leave."""
    for field, value in message.ListFields():
        if field.name in leave | NOT_WORDS or "*" in leave:
            continue
        many = value if field.is_repeated else [value]
        for one in many:
            if isinstance(one, str):
                yield one
            elif hasattr(one, "ListFields"):
                yield from strings(one, leave)


def read_as_markdown(made: AppTest) -> Iterator[str]:
    for node in nodes(made._tree):
        proto = getattr(node, "proto", None)
        if proto is not None:
            if not hasattr(proto, "editing_mode"):
                yield from strings(proto, NOT_READ.get(node.type, set()))
            else:  # a table: cells are drawn, not read
                yield from (one["help"] for one in json.loads(proto.columns or "{}").values() if one.get("help"))


def of_kind(made: AppTest, kind: str) -> list[Any]:
    return [node.proto for node in nodes(made._tree) if getattr(node, "type", "") == kind]


class Tags(HTMLParser):
    """The tags and addresses of a piece of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {tag, *(name for name, _ in attrs if name in ("src", "href") or name.startswith("on"))}


def drawn_texts(value: Any) -> Iterator[str]:
    """All texts of a figure."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from drawn_texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from drawn_texts(one)


def check(made: AppTest) -> int:
    """Nothing on the page is live; returns in how many texts a hostile sign stands."""
    told = 0
    for text in read_as_markdown(made):
        bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", text)
        assert not (found := LIVE.search(bare)), f"{found[0]!r} is live in {text!r}"
        told += "evil" in text or "ainbow" in text
    for proto in of_kind(made, "html"):
        tags = Tags()
        tags.feed(proto.body)
        assert tags.found <= {"style", "div", "table", "thead", "tbody", "tr", "th", "td", "b", "span", "br"}
    for proto in of_kind(made, "plotly_chart"):
        for text in drawn_texts(json.loads(proto.spec or proto.figure.spec)):
            rest = re.sub(r"</?(?:b|i|br|extra)>", "", text)
            assert "<" not in rest and "&lt;u&gt;" not in rest.replace("&amp;lt;u&amp;gt;", ""), text
    return told


@pytest.fixture(params=[1, 2])
def workspace(
    request: pytest.FixtureRequest, finished_studies: FinishedStudies, tmp_path_factory: pytest.TempPathFactory
) -> Workspace:
    folder = tmp_path_factory.getbasetemp() / "hostile"
    folder.mkdir(exist_ok=True)
    return hostile_names.swept(folder, finished_studies, request.param)


@pytest.mark.parametrize("page", PAGES)
def test_names_are_text_on_every_page(page: str, workspace: Workspace):
    made = app(workspace, page)
    told = check(made)
    assert told or page in ("data", "candidates", "release")
    assert of_kind(made, "plotly_chart") or page not in ("explore", "compare")
    assert len(of_kind(made, "html")) > (page in ("compare", "decide"))


def words() -> str:
    return " ".join(hostile_names.SIGNS)


@pytest.mark.slow
def test_names_in_what_the_board_answers(workspace: Workspace):
    assert workspace.study is not None
    with Study.open(workspace.study) as study:
        place = study.find(study.choices.all()[-1].label)[0].index
        raw = open_data(workspace.about["data"])[0]
        key = bytes.fromhex((workspace.folder / "study-1.study.key").read_text())
        recheck(study, raw, key, [place])
        for state, more in (
            ("submitted", {}),
            ("returned", {"why": words()}),
            ("submitted", {}),
            ("approved", {"number": words(), "conditions": words()}),
        ):
            decide(study, state, words(), **more)
            check(app(workspace, "decide"))
    for page in ("decide", "release"):
        assert check(app(workspace, page))


@pytest.mark.slow
def test_names_in_a_locked_plan_and_in_what_departs_from_it(workspace: Workspace):
    plan = plan_from_toml(workspace.plan_path.read_text(encoding="utf-8"))
    locked = lock(plan, words(), words())
    changed = replace(locked, threat=replace(locked.threat, harm="another " + words()), edits=())
    space = replace(changed.space, swap_sizes=(), specs=(f"{changed.names[0]}:S",))
    changed = replace(changed, space=space)
    for one in (locked, changed):
        workspace.save_plan(plan_to_toml(one))
        for page in ("threat", "candidates"):
            told = check(app(workspace, page))
            assert told or (one, page) == (locked, "candidates")


@pytest.mark.slow
def test_names_in_complaints(workspace: Workspace):
    text = workspace.plan_path.read_text(encoding="utf-8")
    workspace.save_plan(text + f"\n[[attribute]]\nname = {json.dumps(words())}\n")
    made = app(workspace, "data")
    check(made)
    assert any("is not in the data" in row[-1] for row in asked(made).values())
