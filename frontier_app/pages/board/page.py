"""Board: one recommended release in large type, its map, and the ten questions that a board asks."""

from __future__ import annotations

import streamlit as st

from engine.common.errors import EngineError
from engine.common.wording import plural, upper_first
from engine.report.answers import average_words, count_misleads, risk_sentence, summary, ten_questions
from engine.report.certainty import NOISE_WORDS, recommended
from engine.report.circulating import page as page_of_copy
from engine.report.findings import Findings
from engine.report.loss_words import moved_words
from engine.report.losses import flagged_of
from engine.report.map_model import map_model
from engine.report.map_words import bars_words, bound_line_words, counted_words
from engine.report.memo import BANNER
from engine.report.small_cells import direction
from engine.report.words import figure
from frontier_app.charts import board_map
from frontier_app.widgets import board_source, elements, verdict, workflow
from frontier_app.widgets.board_source import Missing, NoRelease
from frontier_app.wording.markup import Markdown, bullets, markdown, table

_CSS = """<style>
.st-key-board [data-testid="stMarkdownContainer"] :is(p, li) {font-size: 1.2rem; line-height: 1.55;}
.st-key-board [data-testid="stMarkdownContainer"] li {margin-bottom: .3rem;}
.st-key-board [data-testid="stMarkdownContainer"] table {font-size: 1.02rem;}
.st-key-board [data-testid="stMarkdownContainer"] :is(th, td):not(:first-child) {white-space: normal;}
.st-key-board [data-testid="stMetricValue"] p {font-size: 2rem !important;}
.st-key-board [data-testid="stMetricLabel"] p {font-size: 1.05rem;}
.st-key-board [data-testid="stMetricDelta"] :is(div, p) {white-space: normal;}
.st-key-board h2 {font-size: 1.6rem; padding: .6rem 0 .3rem;}
.st-key-board h3 {font-size: 1.4rem;}
.st-key-board-lead [data-testid="stMarkdownContainer"] p {font-size: 1.45rem; line-height: 1.5;}
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
        _head(source)
        _map(source)
        _questions(source)
        _copy(source)


def _head(findings: Findings) -> None:
    cover, row = findings.cover, recommended(findings)
    st.caption(cover.classification or BANNER)
    about = " ".join(filter(None, [cover.survey, cover.vintage])) or cover.title
    st.title(f"Candidate {row.letter}" + (f" for {about}" if about else ""), anchor=False)
    st.markdown(markdown("**{}**", cover.state_words))
    with st.container(key="board-lead"):
        st.markdown(" ".join(summary(findings)))
    if findings.recognised is not None and (found := findings.recognised.verdict or findings.recognised.finding):
        verdict.show(found)
    if findings.recommendation.cautions:
        st.warning(
            markdown(
                "**Before the board relies on the recommendation, it should know:**\n\n{}",
                bullets(findings.recommendation.cautions),
            ),
            icon=":material/warning:",
        )


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


def _drawn(findings: Findings) -> None:
    """The map; nothing where a bundle of an earlier version withholds the figures of all candidates."""
    if not map_model(findings.map).marks:
        return
    st.header("The frontier", anchor=False)
    elements.chart(
        board_map.board_map(findings, dark=elements.is_dark()),
        "board-map",
        "Map of risk against utility with the recommended candidate and its neighbours by letter; the table "
        "below lists them.",
        size=15,
    )
    st.caption(
        f"The recommended candidate's figures are averages over {findings.map.runs} runs. "
        f"{upper_first(bars_words(findings))}. Single runs spread further. "
        "The picture is zoomed to the lettered candidates and to doing nothing. "
        f"{bound_line_words(findings)} {counted_words(findings)}"
    )


def _map(findings: Findings) -> None:
    map_facts, exposed, utility = findings.map, findings.exposure, findings.utility
    left, right = st.columns([2.2, 1], gap="large")
    with left:
        _drawn(findings)
    with right:
        st.header("In figures", anchor=False)
        if exposed.unaltered_after is not None:
            change = exposed.unaltered_after - exposed.small_before
            is_change = direction(findings) in ("fewer", "more")
            st.metric(
                "Unaltered records in small cells",
                f"{exposed.unaltered_after:,}",
                f"{change:+,} against doing nothing" if is_change else "as many as if nothing were done",
                delta_color="inverse" if is_change and not count_misleads(findings) else "off",
                delta_arrow="auto" if is_change else "off",
                help=risk_sentence(findings),
            )
        average = average_words(findings)
        if average:
            st.caption(f"{upper_first(average)}.")
        flagged, eligible = flagged_of(utility)
        if utility.tallies:
            st.metric("Figures beyond the tolerances", f"{flagged:,} of {eligible:,}")
        st.metric("Hellinger distance", figure(utility.distance.hellinger))
        if as_if := moved_words(utility.distance):
            st.caption(upper_first(as_if) + ".")
        st.caption("These three figures describe the release itself; the map shows averages over runs.")
        st.metric("On the frontier", f"{map_facts.n_frontier:,} of {plural(map_facts.n_candidates, 'candidate')}")
    st.markdown(_table(findings))
    st.caption(NOISE_WORDS)


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


def _table(findings: Findings) -> Markdown:
    """The lettered candidates as a table that a screen reader reads and the keyboard needs no way into."""
    rows = board_map.board_table(findings)
    letter, names = recommended(findings).letter, list(rows[0])
    lines = []
    for row in rows:
        cells = [row[name].replace(" ± ", "\u00a0±\u00a0") for name in names]
        if row["Candidate"] == letter:
            cells = [markdown("**{}**", cell) if cell else "" for cell in cells]
        lines.append(cells)
    return table(names, "llrrrl", lines)


def _questions(findings: Findings) -> None:
    st.header("Ten questions", anchor=False)
    answers = ten_questions(findings)
    for begin in range(0, len(answers), 2):
        for number, (column, answer) in enumerate(
            zip(st.columns(2, gap="large"), answers[begin : begin + 2], strict=True)
        ):
            with column.container(border=True, height="stretch"):
                st.markdown(markdown("### {}. {}", begin + number + 1, answer.question))
                st.markdown(bullets(answer.lines))


page()
