"""Glossary: the words of the tool and of the field."""

from __future__ import annotations

import streamlit as st

from engine.resources import glossary_path


def page() -> None:
    """All entries, or those that hold a word."""
    st.title("Glossary", anchor=False)
    whole = glossary_path().read_text(encoding="utf-8")
    head, *entries = whole.split("\n## ")
    st.caption(head.partition("\n")[2].strip().replace("\n", " "))
    word = st.text_input("Find a word", placeholder="such as frontier", key="glossary-find").strip().casefold()
    found = [entry.partition("\n") for entry in entries if word in entry.casefold()]
    found.sort(key=lambda parts: (word not in parts[0].casefold(), parts[0].casefold()))
    if not found:
        st.info(f"Nothing about '{word}'; try a shorter word.", icon=":material/info:")
    left, right = st.columns(2, gap="large")
    half = (len(found) + 1) // 2
    for place, some in ((left, found[:half]), (right, found[half:])):
        for title, _, body in some:
            place.markdown(f"**{title}**  \n{body.strip()}")


page()
