"""What a release of these data would tell, said before anybody decides: on several pages, looked for once."""

from __future__ import annotations

import streamlit as st

from engine.candidates import carried_identifiers, finer_than_counted, loose_recodes
from engine.plan import Plan, dependencies
from frontier_app import actions, parts, state


def shown(plan: Plan, *, refused_only: bool = False) -> None:
    """The warnings about released columns, and the way to the page where they are mended; nothing where no data are
    open.  ``refused_only`` leaves out what does not stand in the way of a public bundle."""
    now = state.get()
    raw = now.raw
    if raw is None:
        return
    with parts.spoken():
        data = actions.coded()
        found = now.memo.get("dependencies", raw.source, lambda: dependencies(raw))
        said = [
            ("Tells records apart", "fingerprint", carried_identifiers(data)),
            ("Can be worked out from another column", "link", loose_recodes(data, plan, found)),
        ]
        if refused_only:
            said = [(title, icon, [words for words in lines if "is refused" in words]) for title, icon, lines in said]
        for title, icon, lines in said:
            _box(title, icon, lines)
        if any(lines for *_, lines in said):
            parts.go("data", "Mend it under File", primary=False)
        if not refused_only:
            _box("Released finer than it is counted", "zoom_in", finer_than_counted(data, plan.keys))


def _box(title: str, icon: str, lines: list[str]) -> None:
    if lines:
        words = " ".join(f"{line[:1].upper()}{line[1:]}." for line in lines)
        st.warning(f"**{title}.** {words}", icon=f":material/{icon}:")
