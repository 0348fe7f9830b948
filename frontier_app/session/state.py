"""The session as one frozen value, and the view of the map that is kept between sessions."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

import streamlit as st

from engine.data.microdata import RawTable
from engine.plan import Plan
from frontier_app.session.workspace import Workspace

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

    def last(self, name: str) -> Any:
        """The value kept under ``name``, however old; None before there is one."""
        entry = self._kept.get(name)
        return entry[1] if entry else None

    def keep(self, name: str, value: Any) -> None:
        """Keep a value under ``name`` whatever it depends on; :meth:`last` gives it back."""
        self._kept[name] = (None, value)

    def peek(self, name: str, depends: Any) -> Any:
        """The value if it is still good, else None."""
        entry = self._kept.get(name)
        return entry[1] if entry and entry[0] == depends else None


@dataclass(frozen=True)
class Look:
    """The view of the map. ``risk`` and ``utility`` None mean the plan's own.

    ``rule`` is what recommends: the plan's own rule ("plan"), the ``bound`` or the ``slope`` tried here, or "none".
    ``bound`` is a loss of the risk measure.  ``drawn`` names one of the figures, ``box`` a range of the map as losses
    (risk low and high, utility low and high), ``filters`` the values of what is filtered by.
    """

    risk: str | None = None
    utility: str | None = None
    drawn: str = "map"
    colour: str = "standing"
    highlight: str | None = None
    distortion: bool = False
    errors: bool = False
    partial: bool = False
    span: str = "original"
    rule: str = "plan"
    bound: float | None = None
    slope: float | None = None
    filters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    box: tuple[float, float, float, float] | None = None
    objectives: tuple[str, ...] = ()


@dataclass(frozen=True)
class FileView:
    """The view of the page of the file.

    ``part`` is the one shown (None: the one that fits; ``turn`` counts how often the page chose it anew), ``find`` and
    ``groups`` filter the columns, and ``column`` is the one whose levels are made.
    """

    part: str | None = None
    turn: int = 0
    find: str = ""
    groups: tuple[str, ...] = ()
    column: str | None = None


@dataclass(frozen=True)
class Action:
    """One action on the plan: what it did, in words, and what was there before it: the plan, the records with their
    labels, the codebook that gave some of them (None: there was none), and whether each suggestion whose answer it
    changed was declined."""

    done: str
    plan: Plan
    raw: RawTable | None
    codebook: bytes | None
    declined: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True)
class Dispute:
    """Entries that two tabs changed otherwise: the plan has those of the first, ``mine`` those of the second, until one
    is chosen."""

    mine: Plan
    entries: tuple[str, ...]


@dataclass(frozen=True)
class State:
    """Everything a session knows.

    ``base`` is the plan as it was when the present page's inputs were made, and ``version`` counts those moments:
    inputs start from ``base``, so that what a person types is not taken back while it is typed.  ``selected`` is the
    candidate at hand, and ``picks`` counts selections made outside the table, which then has to show another row.
    ``saved`` is the text of the plan's file as this session last read or wrote it: a file with another text was written
    by another tab.  ``typing`` says that the page's inputs are no plan yet.  ``actions`` are those that can be taken
    back, the last one first.  ``owner`` says that the session came by an address that was given to who started the
    server, so that it may open files by their path.
    """

    workspace: Workspace | None = None
    raw: RawTable | None = None
    plan: Plan | None = None
    saved: str | None = None
    typing: bool = False
    base: Plan | None = None
    version: int = 0
    page: str = ""
    error: str = ""
    notice: str = ""
    look: Look = field(default_factory=Look)
    selected: str | None = None
    picks: int = 0
    memo: Memo = field(default_factory=Memo)
    file_view: FileView = field(default_factory=FileView)
    actions: tuple[Action, ...] = ()
    owner: bool = False


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


def begin(**changes: Any) -> State:
    """Forget the work at hand and begin with ``changes``; the page, whose session it is and the counters of inputs
    stay."""
    old = get()
    lasting = {"page": old.page, "owner": old.owner, "picks": old.picks}
    state = State(version=old.version + 1, **{**lasting, **changes})
    st.session_state.clear()  # inputs that outlive their page are of the work before
    st.session_state[_KEY] = state
    return state


def look(**changes: Any) -> State:
    """Replace entries of how the map is looked at."""
    return put(look=replace(get().look, **changes))


def set_file_view(**changes: Any) -> State:
    """Replace entries of how the page of the file is looked at."""
    return put(file_view=replace(get().file_view, **changes))


def show_part(part: str | None, **changes: Any) -> State:
    """Show a part of the page of the file, whichever is shown now; None: the one that fits."""
    return set_file_view(part=part, turn=get().file_view.turn + 1, **changes)


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


def input_or(key: str, before: Any) -> Any:
    """An input's value, or what it is about to begin with where it was not drawn yet."""
    value = st.session_state.get(key)
    return before if value is None else value


def first_input(key: str, value: Any) -> Any:
    """An input's value, which is set to ``value`` where it was not drawn yet."""
    return st.session_state.setdefault(key, value)


def keep_among(key: str, options: Collection[Any]) -> str:
    """Return the key of an input that outlives its page; the input begins afresh where its value is no option now."""
    if key in st.session_state and st.session_state[key] not in options:
        del st.session_state[key]
    return key


def save() -> None:
    """Save how the map is looked at and the selected candidate, where they have changed."""
    now = get()
    at = now.workspace
    if at is None or at.study is None:
        return
    what = (at.study.name, now.look, now.selected)
    if now.memo.last("saved view") != what:
        at.save_look(json.dumps({"study": at.study.name, "look": asdict(now.look), "selected": now.selected}))
        now.memo.keep("saved view", what)


def load(at: Workspace) -> tuple[Look, str | None]:
    """The view that :func:`save` saved of the study at work, or the first view of a study where nothing readable was
    saved."""
    try:
        saved = json.loads(at.look_path.read_text(encoding="utf-8"))
        if at.study is None or saved["study"] != at.study.name:
            return Look(), None
        return Look(**{name: _tuple(saved["look"][name]) for name in _NAMES}), saved["selected"]
    except (OSError, ValueError, KeyError, TypeError):
        return Look(), None


_NAMES = tuple(one.name for one in fields(Look))


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value
