"""Glossary: the words of the tool and of the field, every measure with its symbol, every mechanism with its source."""

from __future__ import annotations

import streamlit as st

from engine.common.os_support import glossary_path
from engine.measures import MEASURES, MeasureCall
from engine.mechanisms import mechanism, names
from frontier_app.wording import text
from frontier_app.wording.markup import Markdown, markdown

Entry = tuple[str, str]


@st.dialog("Glossary", width="large")
def glossary() -> None:
    """The glossary over the page."""
    entries()


def entries() -> None:
    """All entries, or those that hold a word."""
    terms_told, _, _ = glossary_path().read_text(encoding="utf-8").partition("\n# ")  # words of the code follow
    head, *listed = terms_told.split("\n* **")
    st.caption(Markdown(head.partition("\n")[2].strip().replace("\n", " ")))
    word = st.text_input("Find a word or a symbol", placeholder="such as frontier", key="glossary-find").strip()
    terms: list[Entry] = [
        (Markdown(title), Markdown(" ".join(body.removeprefix(":").split())))
        for title, _, body in (entry.partition("**") for entry in listed)
    ]
    shown = [
        _listed("Words", terms, word),
        _listed("Measures and their symbols", measures(), word),
        _listed("Mechanisms", mechanisms(), word),
    ]
    if not any(shown):
        st.info(f"Nothing about '{word}'; try a shorter word.", icon=":material/info:")


def measures() -> list[Entry]:
    """Every measure: symbol, meaning, range, direction, source."""
    calls = map(MeasureCall, MEASURES.values())
    return [(f"{call.measure.symbol} – {call.measure.title}", text.measure_help(call)) for call in calls]


def mechanisms() -> list[Entry]:
    """Every mechanism: when to use it, what its amount counts, source."""
    all_mechanisms = (mechanism(name) for name in names())
    return [
        (entry.title, f"When to use it: {entry.when}. Its amount: {entry.rate}. Source: {entry.source}.")
        for entry in all_mechanisms
    ]


def _listed(heading: str, entries: list[Entry], word: str) -> bool:
    """The entries that hold a word, those with it in their title first; says whether there are any."""
    typed = word.casefold()
    matches = [(title, body) for title, body in entries if typed in f"{title} {body}".casefold()]
    matches.sort(key=lambda entry: (typed not in entry[0].casefold(), entry[0].casefold()))
    if not matches:
        return False
    st.subheader(heading, anchor=False)
    left, right = st.columns(2, gap="large")
    half = (len(matches) + 1) // 2
    for column, half_of_them in ((left, matches[:half]), (right, matches[half:])):
        for title, body in half_of_them:
            column.markdown(markdown("**{}**  \n{}", title, body))
    return True
