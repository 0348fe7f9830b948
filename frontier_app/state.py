"""What a session is about: one frozen value, replaced as a whole.  The only file that touches ``st.session_state``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import streamlit as st

from engine.microdata import RawTable
from engine.plan import Plan
from frontier_app.workspace import Workspace

T = TypeVar("T")
_KEY = "frontier"


class Memo:
    """The last value of each named computation, made again when what it depends on differs; one per session."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Any, Any]] = {}

    def get(self, name: str, depends: Any, make: Callable[[], T]) -> T:
        """The value kept under ``name``, or a new one."""
        if name not in self._kept or self._kept[name][0] != depends:
            self._kept[name] = (depends, make())
        value: T = self._kept[name][1]
        return value

    def peek(self, name: str, depends: Any) -> Any:
        """The value if it is still good, else None."""
        kept = self._kept.get(name)
        return kept[1] if kept and kept[0] == depends else None


@dataclass(frozen=True)
class Look:
    """How the map is looked at.  ``risk`` and ``utility`` None mean the plan's own."""

    risk: str | None = None
    utility: str | None = None
    colour: str = "rate"
    facets: bool = False
    errors: bool = False
    partial: bool = False
    runs: bool = False
    span: str = "original"
    bound: float | None = None
    only_frontier: bool = True


@dataclass(frozen=True)
class State:
    """Everything a session knows.

    ``base`` is the plan as it was when the present page's inputs were made, and ``version`` counts those moments:
    inputs start from ``base``, so that what a person types is not taken back while it is typed.  ``selected`` is the
    candidate at hand; ``shown`` is the one drawn into the map (a click on the map marks itself, and a redrawn map would
    forget its zoom), and ``picks`` counts selections made outside the table, which then has to show another row.
    """

    workspace: Workspace | None = None
    raw: RawTable | None = None
    plan: Plan | None = None
    base: Plan | None = None
    version: int = 0
    page: str = ""
    error: str = ""
    notice: str = ""
    look: Look = field(default_factory=Look)
    selected: str | None = None
    shown: str | None = None
    map_key: Any = None
    picks: int = 0
    memo: Memo = field(default_factory=Memo)


def get() -> State:
    """The session's state."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = State()
    state: State = st.session_state[_KEY]
    return state


def put(**changes: Any) -> State:
    """Replace entries of the state."""
    state = replace(get(), **changes)
    st.session_state[_KEY] = state
    return state


def look(**changes: Any) -> State:
    """Replace entries of how the map is looked at."""
    return put(look=replace(get().look, **changes))


def renew() -> State:
    """Let the page's inputs start again from the plan as it is now."""
    state = get()
    return put(base=state.plan, version=state.version + 1)


def set_input(key: str, value: Any) -> None:
    """Set another input's value, from a callback."""
    st.session_state[key] = value


def input_value(key: str) -> Any:
    """An input's value, in a callback."""
    return st.session_state.get(key)
