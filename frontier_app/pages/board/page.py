"""Board: the decision sheet of one release, and its evidence folded under the same headings."""

from __future__ import annotations

from typing import Any

import streamlit as st

from engine.common.errors import EngineError
from engine.report import decision_pages
from engine.report.circulating import page as page_of_copy
from engine.report.findings import Findings
from engine.report.map_model import map_model
from frontier_app.charts import board_map
from frontier_app.widgets import board_source, elements, workflow
from frontier_app.widgets.board_source import Missing, NoRelease
from frontier_app.wording.markup import bullets, joined, markdown, table

_CSS = """<style>
.st-key-board [data-testid="stMetricValue"] p {font-size: 1.7rem !important;}
.st-key-board [data-testid="stMetricDelta"] :is(div, p) {white-space: normal;}
.st-key-board [data-testid="stMarkdownContainer"] :is(th, td):not(:first-child) {white-space: normal;}
.st-key-board h2, .st-key-board h3 {padding: .5rem 0 .2rem; font-size: 1.15rem;}
</style>"""


def page() -> None:
    """The whole page."""
    try:
        with st.spinner("Making the recommended release again and comparing it with the original …"):
            source = board_source.source()
    except EngineError as error:
        st.title("Board", anchor=False)
        elements.show_error(error)
        return
    if isinstance(source, Missing):
        st.title("Board", anchor=False)
        elements.empty_page(source.words, source.page, source.label)
        return
    st.html(_CSS)
    with st.container(key="board"):
        if isinstance(source, NoRelease):
            _no_release(source)
            return
        _sheet(source)
        _evidence(source)
        _copy(source)


def _sheet(findings: Findings) -> None:
    """Page 1 of the documents."""
    page = decision_pages.page_one(findings)
    asked, does = page["request"]
    st.caption(findings.cover.classification or decision_pages.BANNER)
    st.title(asked.rstrip("."), anchor=False)
    st.markdown(markdown("{}  \n{}: {}", does, page["title"], page["subject"]))
    for column, row in zip(st.columns(len(page["figures"])), page["figures"], strict=True):
        limit = f"limit {row.limit}: {row.verdict}" if row.limit else ""
        before = "" if row.before == "–" else f"{row.before} unprotected"
        below = " · ".join(filter(None, (before, row.after_under if not before else "", limit)))
        column.metric(row.title, row.after, below or None, delta_color="off", delta_arrow="off", help=row.under or None)
    left, right = st.columns(2, gap="large")
    with left:
        if map_model(findings.map).marks:
            elements.chart(
                board_map.board_map(findings, dark=elements.is_dark()), "board-map", page["small_map"].alt, size=15
            )
            st.caption(page["small_map"].note)
        if page["sure"]:
            st.caption(page["sure"])
        _losses(page)
    with right:
        _choices(findings, page)
        if page["before_signing"]:
            with st.container(border=True):
                st.subheader("Before you sign", anchor=False)
                st.markdown(bullets(markdown("**{}:** {}", name, text) for name, text in page["before_signing"]))
        st.caption(f"Conditions: {' '.join(page['conditions'])}")


def _choices(findings: Findings, page: dict[str, Any]) -> None:
    further = decision_pages.further_title(findings)
    head = [
        f"Why {findings.recommendation.letter}?",
        "Made with",
        "Risk",
        "Table change",
        *([further] if further else []),
    ]
    rows = []
    for c in page["choices"]:
        why = markdown("**{}** {}", c.letter, f"{c.why}; {c.warning}" if c.warning else c.why)
        change = f"{c.utility} ({c.utility_change})" if c.utility_change else c.utility
        rows.append(
            [
                why,
                c.settings,
                c.risk.replace(" ", "\u00a0"),
                change.replace(" %", "\u00a0%"),
                *([c.further] if further else []),
            ]
        )
    st.markdown(table(head, "llrr" + ("r" if further else ""), rows))


def _losses(page: dict[str, Any]) -> None:
    left, right = st.columns(2)
    with left:
        st.subheader("Largest losses", anchor=False)
        st.markdown(table(["Figure", "Before → after", "SE"], "lrr", page["losses"]) if page["losses"] else "None.")
        if page["appearing"]:
            st.caption(page["appearing"])
    with right:
        st.subheader("Still exposed", anchor=False)
        rows = page["exposed"]
        st.markdown(table(["Group", "Before → after", "Of"], "lrr", rows) if rows else "No unaltered record.")


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
    st.markdown(bullets(decision.rests_on) or "No candidate has been run.")
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
    elements.go("recommend", "See Recommend", primary=False)


def _copy(findings: Findings) -> None:
    """Offer the circulating copy to look at, where the plan has one made."""
    if board_source.has_copy():
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


page()
