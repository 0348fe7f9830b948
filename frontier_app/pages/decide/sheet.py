"""What the board sees: the decision sheet and its evidence, from the study at work or a bundle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from engine.common.errors import EngineError
from engine.decision.statements import Statement, words
from engine.decision.states import decision_status
from engine.report import decision_pages
from engine.report.build_findings import findings
from engine.report.circulating import page as page_of_copy
from engine.report.describe import remade
from engine.report.documents import docx
from engine.report.findings import Findings, read_board
from engine.report.map_model import map_model
from engine.report.no_release import considered, no_release_memo
from engine.report.redaction import Redactor
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from frontier_app.charts import maps
from frontier_app.session import actions, state
from frontier_app.widgets import elements, workflow
from frontier_app.wording.markup import bullets, joined, markdown, table


@dataclass(frozen=True)
class Missing:
    """The reason why there is nothing to show: in words, and the page that helps with the label of its button."""

    words: str
    page: str
    label: str


@dataclass(frozen=True)
class NoRelease:
    """The decision to release nothing: its reason, who made it and when, what it rests on, and its memo
    as DOCX, made when it is asked for."""

    why: str
    by: str
    at: str
    rests_on: tuple[Statement, ...]
    memo: Callable[[], bytes]


def _memo(path: Path) -> bytes:
    with Study.open(path) as study:
        return docx(no_release_memo(study, risk_utility_map(study)))


def has_copy() -> bool:
    """Return whether the open study's plan withholds the rate from a circulating copy."""
    path = actions.own_study()
    if path is None:
        return False
    with Study.open(path) as study:
        return study.plan.publish.members_rate == "withhold"


def source() -> Findings | NoRelease | Missing:
    """The findings at hand; raises the engine's own sentences."""
    now = state.get()
    at = now.workspace
    board = at.board if at else None
    if board is not None:
        return now.memo.get("board", str(board), lambda: read_board(board))
    path = actions.own_study()
    if path is None:
        return Missing(
            "There is nothing for a board to look at yet: open data and run a study.", *elements.first_step()
        )
    with Study.open(path) as study:
        status = decision_status(study)
        if status.state == "withheld":
            view = actions.the_map(None, None, now.look.partial)
            assert view is not None
            rests_on = tuple(considered(study, view)) if len(view.results) else ()
            return NoRelease(
                Redactor({}, study.measures)(status.why), status.by, status.at, rests_on, partial(_memo, path)
            )
        choice = status.choice
        if choice is None:
            return Missing(
                "Nothing has been recommended yet. A board looks at one recommended release.",
                "decide",
                "Recommend a release",
            )
        raw = now.raw
        if raw is None:
            return Missing(
                "The board's figures are computed from the data, which are not open.", "data", "Open the data"
            )
        depends = (str(path), study.progress.done, study.choices.count(), choice.at, status, study.plan)

        def make() -> Findings:
            return findings(study, remade(study, raw, choice.label, choice.replicate))

        return now.memo.get("board", depends, make)


_CSS = """<style>
.st-key-board [data-testid="stMetricValue"] p {font-size: 1.7rem !important;}
.st-key-board [data-testid="stMetricDelta"] :is(div, p) {white-space: normal;}
.st-key-board [data-testid="stMarkdownContainer"] :is(th, td):not(:first-child) {white-space: normal;}
.st-key-board h2, .st-key-board h3 {padding: .5rem 0 .2rem; font-size: 1.15rem;}
</style>"""


def board() -> None:
    """The whole page."""
    try:
        with st.spinner("Making the recommended release again and comparing it with the original …"):
            found = source()
    except EngineError as error:
        st.title("What the board sees", anchor=False)
        elements.show_error(error)
        return
    if isinstance(found, Missing):
        st.title("What the board sees", anchor=False)
        elements.empty_page(found.words, found.page, found.label)
        return
    st.html(_CSS)
    with st.container(key="board"):
        if isinstance(found, NoRelease):
            _no_release(found)
            return
        _sheet(found)
        _evidence(found)
        _copy(found)


def _sheet(findings: Findings) -> None:
    """Page 1 of the documents."""
    page = decision_pages.page_one(findings)
    asked, does = page["request"]
    st.caption(findings.cover.classification or decision_pages.BANNER)
    st.title(asked.rstrip("."), anchor=False)
    st.markdown(markdown("{}  \n{}: {}", does, page["title"], page["subject"]))
    for column, row in zip(st.columns(len(page["figures"])), page["figures"], strict=True):
        limit = f"limit {row.limit}: {'met' if row.met else 'not met'}" if row.limit else ""
        before = "" if row.before == "–" else f"{row.before} unprotected"
        below = " · ".join(filter(None, (before, row.after_under if not before else "", limit)))
        column.metric(row.title, row.after, below or None, delta_color="off", delta_arrow="off", help=row.under or None)
    left, right = st.columns(2, gap="large")
    with left:
        if map_model(findings.map).marks:
            elements.chart(
                maps.board_map(findings, dark=elements.is_dark()), "board-map", page["small_map"].alt, size=15
            )
            st.caption(page["small_map"].note)
        limit = f"Limit: {page['limit_set']}" if page["limit_set"] else ""
        st.caption(" ".join(filter(None, (page["one_run"], limit, page["sure"]))))
        _losses(page)
    with right:
        _choices(findings, page)
        if page["before_signing"]:
            with st.container(border=True):
                st.subheader("Before you sign", anchor=False)
                st.markdown(bullets(markdown("**{}:** {}", name, text) for name, text in page["before_signing"]))
        st.caption(f"Conditions: {page['conditions']}")


def _choices(findings: Findings, page: dict[str, Any]) -> None:
    further = page["further"]
    columns = {
        f"Why {findings.recommendation.letter}?": [
            markdown("**{}** {}", c.letter, "; ".join(words(each) for each in (c.why, c.warning) if each))
            for c in page["choices"]
        ],
        "Settings": [c.settings for c in page["choices"]],
        "Risk (mean)": [c.risk.replace(" ", "\u00a0") for c in page["choices"]],
        "Table change (mean)": [
            (f"{c.utility} ({c.utility_change})" if c.utility_change else c.utility).replace(" %", "\u00a0%")
            for c in page["choices"]
        ],
    }
    if further:
        columns[f"{further} (mean)"] = [c.further for c in page["choices"]]
    if page["attacked"]:
        columns["Attack finds (one run)"] = [words(c.attack) if c.attack else "–" for c in page["choices"]]
    if page["failing"]:
        columns["Failed checks (one run)"] = [
            "–" if c.failed is None else "; ".join(map(words, c.failed)) or "none" for c in page["choices"]
        ]
    aligned = "llrr" + "r" * bool(further) + "r" * page["attacked"] + "l" * page["failing"]
    st.markdown(table(list(columns), aligned, list(zip(*columns.values(), strict=True))))


def _losses(page: dict[str, Any]) -> None:
    left, right = st.columns(2)
    with left:
        st.subheader("Largest changes", anchor=False)
        st.markdown(
            table(["Figure", "Before → after", "Standard errors"], "lrr", page["losses"]) if page["losses"] else "None."
        )
        if page["appearing"]:
            st.caption(markdown("{}", page["appearing"]))
    with right:
        st.subheader("Still exposed", anchor=False)
        rows = page["exposed"]
        st.markdown(
            table(["Group", "In small cells: all before → unaltered after", "New"], "lrr", rows)
            if rows
            else "No unaltered record."
        )
    st.caption(markdown("{} {}", page["altered_most"], page["names_told"]))


def _evidence(findings: Findings) -> None:
    """Sections 2 to 6 of the documents, folded."""
    for title, answer, pictures, lines in decision_pages.folded(findings):
        with st.expander(markdown("**{}** {}", title, answer)):
            for picture in pictures:
                st.markdown(markdown("**{}** {}", picture.title, picture.note))
                st.image(picture.png)
            st.markdown(joined("\n", [bullets(lines)]))


def _no_release(decision: NoRelease) -> None:
    """The decision to release nothing."""
    st.title("No release", anchor=False)
    st.markdown(markdown("**Nothing is released. Decided by {} on {}.**", decision.by, workflow.when(decision.at)))
    with st.container(key="board-lead"):
        st.markdown(f"Reason given: {decision.why}")
    st.header("What it rests on", anchor=False)
    st.markdown(bullets(map(words, decision.rests_on)) or "No candidate has been run.")
    st.caption(
        "To release nothing has no risk and no use. The decision can be changed: a new recommendation begins again as a"
        " draft, and this decision stays in the history."
    )
    st.download_button(
        "Memo for the board",
        decision.memo,
        "memo.docx",
        icon=":material/description:",
        on_click="ignore",
        key="no-release-memo",
    )


def _copy(findings: Findings) -> None:
    """Offer the circulating copy to look at, where the plan has one made."""
    if has_copy():
        st.download_button(
            "Circulating copy",
            lambda: page_of_copy(findings).encode(),
            "circulating-copy.html",
            "text/html",
            icon=":material/description:",
            on_click="ignore",
            key="circulating-copy",
            help="The memo without the fields that depend on the rate, as a page to look at",
        )
