"""The guided tour: one strip of words at the top of each page, until it is ended."""

from __future__ import annotations

import streamlit as st

from frontier_app.session import access, state
from frontier_app.session.navigation import PAGES, go_to
from frontier_app.wording.markup import markdown

STEPS = {
    "File": "Open data and say what becomes of every column: which are answers that may be exchanged, which only stay"
    " with their record, which never leave. The four figures say how many people stand out if nothing is done.",
    "Threat and uses": "Before any result is seen, say what an intruder may already know, what users do with the data,"
    " and by which rule a release will be chosen. Under 'How the choice will be made' pick the most useful release"
    " within a risk bound: the page then asks for the largest acceptable risk, α. What is changed later is logged.",
    "Plan": "Say which exchanges are tried, on how many records, and how often each is repeated. The box on the right"
    " says at once what that amounts to and how long it takes.",
    "Sweep": "Every candidate is drawn and measured, in a process of its own: you may leave the page, reload it, stop"
    " and resume, and nothing is lost.",
    "Explore": "See every way to swap as a point of the map. Higher is riskier, farther right is more useful;"
    " filled points are the frontier. Move α and see which candidate is the most useful within it.",
    "Compare": "Pin a few candidates, give them names, and see what each gains and loses, and whether a difference is"
    " clear or only noise. One candidate can also be looked at before and after the swap.",
    "Recommend": "Say which release is recommended, by which rule, and why not its neighbours. Run it again on fresh"
    " replicates, submit it, and record the board's answer. Nothing recorded is ever overwritten.",
    "Board": "What the board sees, in large type: the recommendation, its neighbours, and the ten questions that a"
    " board asks, answered from the study.",
    "Export": "Write a bundle for each reader: analyst, board, public. Each holds what its reader may see and"
    " nothing else; every byte is searched, and a public release attacked, before it is there.",
    "Glossary": "Every word with a meaning of its own, every measure and every mechanism, each in a plain sentence and"
    " with its source. Come here whenever a word is not clear.",
}
"""What to do on each page, by its name in the navigation, in the order of the work."""
EXAMPLE = "You see a sample that is swept already."
"""What comes before the step of the map where the work begins with a finished study."""
_A_ROW = 5
_NAMES = {page.title: page.name for page in PAGES.values()}


def overview(following: str) -> None:
    """Every page in the order of the work with the first sentence of its step; ``following`` is the one to go to."""
    st.subheader("The way to a release", anchor=False)
    steps = list(STEPS.items())
    for begin in range(0, len(steps), _A_ROW):
        for number, (column, (page, step)) in enumerate(
            zip(st.columns(_A_ROW), steps[begin:], strict=False), begin + 1
        ):
            with column.container(border=True, height="stretch"):
                mark = markdown(" :blue-badge[next]") if _NAMES[page] == following else ""
                st.markdown(markdown("**{} · {}**", number, page) + mark)
                st.caption(f"{step.partition('. ')[0].rstrip('.')}.")


def offer() -> None:
    """A button that begins the tour, or nothing while it is on."""
    if not state.get().touring and st.button(
        "Show me around, page by page", key="tour-begin", icon=":material/tour:", type="tertiary"
    ):
        state.put(touring=True)
        st.rerun()


def strip(page: str) -> None:
    """The step of this page, with the way to the next one and out."""
    if not state.get().touring or page not in STEPS:
        return
    names = list(STEPS)
    number = names.index(page)
    with st.container(border=True, key="tour"):
        text_column, button_column = st.columns([5, 1], vertical_alignment="center", gap="medium")
        begun_here = access.shows_around() and page == "Explore"
        step = number + 1, len(names), page, f"{EXAMPLE} {STEPS[page]}" if begun_here else STEPS[page]
        text_column.markdown(markdown(":material/tour: **Step {} of {}: {}.** {}", *step))
        with button_column:
            if number + 1 < len(names):
                following = names[number + 1]
                if st.button(f"On to {following}", key="tour-next", width="stretch"):
                    go_to(_NAMES[following])
            if begun_here and st.button("Begin with the file", key="tour-first", width="stretch"):
                go_to("data")
            if st.button("End the tour", key="tour-end", type="tertiary", width="stretch"):
                access.end_tour()
                state.put(touring=False)
                st.rerun()
