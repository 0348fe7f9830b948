"""Compare: pinned candidates side by side against a reference, or one candidate before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from engine.common.errors import EngineError
from engine.decision.comparison import differences, starting_points
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.plan.types import in_no_use
from engine.study.study import LONGEST, Pin, Study, pin, pins, unpin
from frontier_app.charts import before_after as charts
from frontier_app.charts import map_data
from frontier_app.pages.compare import before_after
from frontier_app.session import actions, state
from frontier_app.widgets import candidate_card, elements, recommendation, small_cells
from frontier_app.wording import plan_words, text
from frontier_app.wording.markup import markdown, stacked

_MODES = {"pinned": "Pinned, side by side", "one": "One candidate, before and after"}
_MOST = 6  # columns that can still be read beside each other
_NOTHING = "doing nothing (original data)"


def page() -> None:
    """Show the pinned candidates side by side, or one candidate."""
    st.title("Compare", anchor=False)
    elements.with_map("There is nothing to compare yet: candidates come from the sweep of a study.", _page)


def _page(study: Study, view: RiskUtilityMap) -> None:
    if elements.switch("What to compare", _MODES, "pinned", "compare-mode") == "pinned":
        _pinned(study, view)
    else:
        before_after.page(study, view)


# -- pins ------------------------------------------------------------------------------------------------------------


def _pinned(study: Study, view: RiskUtilityMap) -> None:
    pinned = pins(study)
    if not pinned:
        _none_yet(study, view)
        return
    left, right = st.columns([3, 2], gap="large")
    letters = {view.scenarios[index].label: letter for letter, index in recommendation.letters_of(study, view)}
    with left:
        shown = _list(study, pinned, letters)
        _add(study, view, pinned)
    indices = [study.find(entry.label)[0].index for entry in shown]
    titles = {entry.label: _title(entry, letters) for entry in pinned}
    with right:
        _map(view, [titles[entry.label] for entry in shown], indices)
    if _table(study, view, titles, shown, indices):
        elements.go("decide", "Next: recommend one")


def _none_yet(study: Study, view: RiskUtilityMap) -> None:
    """Show what can be pinned, and meanwhile the ends and the knee of the frontier side by side."""
    begin = starting_points(view)
    names = _names(len(begin))
    left, right = st.columns([3, 2], gap="large")
    with left.container(border=True):
        st.markdown(
            markdown(
                "**Nothing is pinned yet.** Pin the candidates that you want to set side by side: here, or with the pin"
                " on the card of a candidate on the map. Pins are kept in the study with their names and notes."
            )
        )
        if begin and st.button(f"Pin {text.listed(names)} of the frontier", key="pin-frontier", type="primary"):
            for index, name in zip(begin, names, strict=True):
                pin(study, view.scenarios[index].label, name)
            st.rerun()
        _add(study, view, [])
        elements.go("explore", "Choose on the map", primary=False)
    if not begin:
        return
    proposed = [Pin(view.scenarios[index].label, name, "") for index, name in zip(begin, names, strict=True)]
    letters = {view.scenarios[index].label: letter for letter, index in recommendation.letters_of(study, view)}
    titles = {entry.label: _title(entry, letters) for entry in proposed}
    with right:
        _map(view, list(titles.values()), list(begin))
    _table(study, view, titles, proposed, list(begin))


def _names(n: int) -> list[str]:
    return {1: ["the only one"], 2: ["the safest", "the most useful"]}.get(
        n, ["the safest", "the knee", "the most useful"]
    )


def _list(study: Study, pinned: list[Pin], letters: Mapping[str, str]) -> list[Pin]:
    """Every pin with its name and note to edit; returns those to be shown side by side."""
    shown = []
    for entry in pinned:
        scenario = study.find(entry.label)[0]
        pin_inputs = (entry.label, f"pin-name-{entry.label}", f"pin-note-{entry.label}")
        with st.container(border=True, key=f"pin-{entry.label}"):
            box_column, unpin_column = st.columns([5, 1], vertical_alignment="center")
            inside = box_column.checkbox(
                markdown("**{}** · {}", _named(entry.label, letters), text.swap_short(scenario.spec)),
                True,
                key=f"pin-in-{entry.label}",
                persist_state="session",
            )
            if inside:
                shown.append(entry)
            if unpin_column.button("Unpin", key=f"pin-away-{entry.label}", icon=":material/keep_off:", type="tertiary"):
                unpin(study, entry.label)
                st.rerun()
            name_column, note_column = st.columns([2, 3])
            quiet: dict[str, Any] = {"label_visibility": "collapsed", "on_change": _annotate, "args": pin_inputs}
            name_column.text_input(
                f"Name of {entry.label}",
                entry.name,
                LONGEST,
                pin_inputs[1],
                placeholder="Name, such as “safe”",
                **quiet,
            )
            note_column.text_input(
                f"Note on {entry.label}",
                entry.note,
                key=pin_inputs[2],
                placeholder="Note, such as what speaks for it",
                **quiet,
            )
    if len(shown) > _MOST:
        st.caption(f"The first {_MOST} of {len(shown)} are set side by side; clear boxes to see others.")
    return shown[:_MOST]


def _annotate(label: str, name: str, note: str) -> None:
    """Keep what was typed beside a pin."""
    path = actions.own_study()
    assert path is not None
    try:
        with Study.open(path) as study:
            pin(study, label, state.input_value(name), state.input_value(note))
    except EngineError as error:
        state.put(notice=text.error_text(error))


def _add(study: Study, view: RiskUtilityMap, pinned: list[Pin]) -> None:
    taken = {entry.label for entry in pinned}
    picked = recommendation.candidate(
        study,
        view,
        "Pin another candidate" if pinned else "Pin a candidate",
        None,
        key=f"pin-add-{len(pinned)}",
        leave_out=taken,
    )
    if picked is not None:
        with elements.errors_shown():
            pin(study, picked)
            st.rerun()


# -- the map and the table -------------------------------------------------------------------------------------------


def _named(name: str, letters: Mapping[str, str], label: str = "") -> str:
    """Words for a candidate after its letter, where it has one."""
    letter = letters.get(label or name)
    return f"{letter} · {name}" if letter else name


def _title(entry: Pin, letters: Mapping[str, str]) -> str:
    return _named(entry.name or entry.label, letters, entry.label)


def _short(view: RiskUtilityMap, k: int) -> str:
    """A measure's name for a narrow axis."""
    name = text.measure_name(view.measures[k])
    return name if len(name) <= 34 else view.measures[k].measure.symbol


def _map(view: RiskUtilityMap, titles: list[str], indices: list[int]) -> None:
    k, r = view.utility, view.risk

    def figures(indices: list[int]) -> tuple[list[float], list[float]]:
        return (
            [map_data.value_of(view, k, float(view.utility_loss[i])) for i in indices],
            [map_data.value_of(view, r, float(view.risk_loss[i])) for i in indices],
        )

    original = view.original_losses
    elements.chart(
        charts.small_map(
            titles,
            figures(indices),
            figures(view.frontier().tolist()),
            (map_data.value_of(view, k, float(original[k])), map_data.value_of(view, r, float(original[r]))),
            (f"{_short(view, k)} – more useful →", stacked([_short(view, r), "riskier ↑"])),
            (map_data.sign(view, k) > 0, map_data.sign(view, r) < 0),
        ),
        "compare-map",
        "The pinned candidates on the risk–utility map; the table below holds the same figures",
    )


def _table(study: Study, view: RiskUtilityMap, titles: Mapping[str, str], shown: list[Pin], indices: list[int]) -> bool:
    """Show how the candidates shown differ from a reference; return whether there is any besides it."""
    st.subheader("Differences", anchor=False)
    names: dict[str | None, str] = {None: _NOTHING} | {**titles}
    chosen = st.selectbox(
        "Compared with",
        list(names),
        format_func=names.__getitem__,
        key=state.keep_among("compare-reference", names),
        width=420,
        persist_state="session",
    )
    base = None if chosen is None else study.find(chosen)[0].index
    columns = [(entry, index) for entry, index in zip(shown, indices, strict=True) if entry.label != chosen]
    if not columns:
        st.info("Tick at least one candidate besides the reference.", icon=":material/info:")
        return False
    comparisons = [differences(view, index, base, together=len(columns)) for _, index in columns]
    order = [view.risk, view.utility, *(k for k in range(len(view.measures)) if k not in (view.risk, view.utility))]
    heads = [
        candidate_card.Column(
            titles[entry.label],
            (f"{entry.label}: " if entry.name else "") + text.swap_short(view.scenarios[index].spec),
            (
                map_data.dominance_words(view, index),
                f"{int(view.summary.counted[index])}"
                + (f", {int(view.summary.failed[index])} failed" if view.summary.failed[index] else ""),
                text.figure(float(view.summary.changed[index])),
                map_data.households_words(view, index),
                ""
                if (keys := small_cells.other_keys(study, view, index)) is None
                else plan_words.unswapped_short(keys[1]),
                text.listed(in_no_use(study.plan, view.scenarios[index].spec.attributes.names_having("S"))),
                entry.note,
            ),
        )
        for entry, index in columns
    ]
    st.html(candidate_card.side_by_side(heads, view.measures, comparisons, names[chosen], order))
    st.caption(
        "A figure is the mean over runs with its standard error. A difference counts as clear when it exceeds what the"
        " spread between runs explains (Welch's interval at 95 %, shared by all figures of the table); everything else"
        " is within noise. No figure here is anybody's chance of being identified."
    )
    return True


page()
