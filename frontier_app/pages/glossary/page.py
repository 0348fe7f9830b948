"""Glossary: the words of the tool and of the field, every measure with its symbol, every mechanism with its source."""

from __future__ import annotations

import streamlit as st

from engine.common.resources import glossary_path
from engine.measures import MEASURES
from engine.mechanisms import mechanism, names
from frontier_app.wording import text
from frontier_app.wording.markup import Markdown, markdown

Entry = tuple[str, str]


def page() -> None:
    """All entries, or those that hold a word."""
    st.title("Glossary", anchor=False)
    glossary, _, _ = glossary_path().read_text(encoding="utf-8").partition("\n# ")  # words of the code follow
    head, *entries = glossary.split("\n## ")
    st.caption(Markdown(head.partition("\n")[2].strip().replace("\n", " ")))
    word = st.text_input("Find a word or a symbol", placeholder="such as frontier", key="glossary-find").strip()
    words: list[Entry] = [
        (Markdown(title), Markdown(body.strip())) for title, _, body in (entry.partition("\n") for entry in entries)
    ]
    shown = [
        _listed("Words", words, word),
        _listed("Measures and their symbols", measures(), word),
        _listed("Mechanisms", mechanisms(), word),
    ]
    if not any(shown):
        st.info(f"Nothing about '{word}'; try a shorter word.", icon=":material/info:")


def measures() -> list[Entry]:
    """Every measure: symbol, meaning, range, direction, source."""
    return [(f"{one.symbol} – {one.title}", text.measure_help(one)) for one in MEASURES.values()]


def mechanisms() -> list[Entry]:
    """Every mechanism: when to use it, what its amount counts, source."""
    found = (mechanism(name) for name in names())
    return [
        (one.title, f"When to use it: {one.when}. Its amount counts: {one.rate}. Source: {one.source}.")
        for one in found
    ]


def _listed(heading: str, entries: list[Entry], word: str) -> bool:
    """The entries that hold a word, those with it in their title first; says whether there are any."""
    wanted = word.casefold()
    found = [(title, body) for title, body in entries if wanted in f"{title} {body}".casefold()]
    found.sort(key=lambda entry: (wanted not in entry[0].casefold(), entry[0].casefold()))
    if not found:
        return False
    st.subheader(heading, anchor=False)
    left, right = st.columns(2, gap="large")
    half = (len(found) + 1) // 2
    for place, some in ((left, found[:half]), (right, found[half:])):
        for title, body in some:
            place.markdown(markdown("**{}**  \n{}", title, body))
    return True


page()
