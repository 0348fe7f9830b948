"""Compare: pinned candidates side by side against a reference, or one candidate before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from engine.common.errors import EngineError
from engine.decision.comparison import differences, starting_points
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.study.pins import LONGEST, Pin, pin, pins, unpin
from engine.study.study import Study
from frontier_app.charts import compare, study_map
from frontier_app.pages.compare import before_after as inspect
from frontier_app.session import actions, state
from frontier_app.widgets import candidate_picker, compare_table, elements, recommendation, study_page
from frontier_app.wording import remedies, text
from frontier_app.wording.figure_text import stacked
from frontier_app.wording.markup import markdown

_MODES = {"pinned": "Pinned, side by side", "one": "One candidate, before and after"}
_MOST = 6  # columns that can still be read beside each other
_NOTHING = "doing nothing (original data)"


def page() -> None:
    """What is pinned, or one candidate."""
    st.title("Compare", anchor=False)
    study_page.with_map("There is nothing to compare yet: candidates come from the sweep of a study.", _page)


def _page(study: Study, view: RiskUtilityMap) -> None:
    mode = elements.switch("What to compare", _MODES, state.get().compare_view.mode, "compare-mode")
    if mode != state.get().compare_view.mode:
        state.set_compare_view(mode=mode)
    if mode == "pinned":
        _pinned(study, view)
    else:
        inspect.one(study, view)


# -- pins ------------------------------------------------------------------------------------------------------------


def _pinned(study: Study, view: RiskUtilityMap) -> None:
    kept = pins(study)
    if not kept:
        _none_yet(study, view)
        return
    left, right = st.columns([3, 2], gap="large")
    letters = {view.scenarios[place].label: letter for letter, place in recommendation.letters(study, view)}
    with left:
        shown = _list(study, view, kept, letters)
        _add(study, view, kept)
    places = [study.find(one.label)[0].index for one in shown]
    titles = {one.label: _title(one, letters) for one in kept}
    with right:
        _map(view, [titles[one.label] for one in shown], places)
    _table(study, view, titles, shown, places)


def _none_yet(study: Study, view: RiskUtilityMap) -> None:
    with st.container(border=True):
        st.markdown(
            markdown(
                "**Nothing is pinned yet.** Pin the candidates that you want to set side by side: here, or with the pin"
                " on the card of a candidate on the map. Pins are kept in the study with their names and notes."
            )
        )
        begin = starting_points(view)
        names = _names(len(begin))
        if begin and st.button(f"Pin {text.listed(names)} of the frontier", key="pin-frontier", type="primary"):
            for place, name in zip(begin, names, strict=True):
                pin(study, view.scenarios[place].label, name)
            st.rerun()
        _add(study, view, [])
        elements.go("explore", "Choose on the map", primary=False)


def _names(n: int) -> list[str]:
    return {1: ["the only one"], 2: ["the safest", "the most useful"]}.get(
        n, ["the safest", "the knee", "the most useful"]
    )


def _list(study: Study, view: RiskUtilityMap, kept: list[Pin], letters: Mapping[str, str]) -> list[Pin]:
    """Every pin with its name and note to edit; returns those to be shown side by side."""
    out = state.get().compare_view.left_out
    for one in kept:
        scenario = study.find(one.label)[0]
        about = (one.label, f"pin-name-{one.label}", f"pin-note-{one.label}")
        with st.container(border=True, key=f"pin-{one.label}"):
            inside_at, away_at = st.columns([5, 1], vertical_alignment="center")
            inside = inside_at.checkbox(
                markdown("**{}** · {}", _named(one.label, letters), text.swap_short(scenario.spec)),
                one.label not in out,
                key=f"pin-in-{one.label}",
            )
            if inside == (one.label in out):
                out = tuple(x for x in out if x != one.label) if inside else (*out, one.label)
                state.set_compare_view(left_out=out)
            if away_at.button("Unpin", key=f"pin-away-{one.label}", icon=":material/keep_off:", type="tertiary"):
                unpin(study, one.label)
                if state.get().compare_view.reference == one.label:
                    state.set_compare_view(reference=None)
                st.rerun()
            name_at, note_at = st.columns([2, 3])
            quiet: dict[str, Any] = {"label_visibility": "collapsed", "on_change": _annotate, "args": about}
            name_at.text_input(
                f"Name of {one.label}", one.name, LONGEST, about[1], placeholder="Name, such as “safe”", **quiet
            )
            note_at.text_input(
                f"Note on {one.label}", one.note, key=about[2], placeholder="Note, such as what speaks for it", **quiet
            )
    shown = [one for one in kept if one.label not in out]
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
        state.put(notice=remedies.error_text(error))


def _add(study: Study, view: RiskUtilityMap, kept: list[Pin]) -> None:
    taken = {one.label for one in kept}
    picked = candidate_picker.candidate(
        study,
        view,
        "Pin another candidate" if kept else "Pin a candidate",
        None,
        key=f"pin-add-{len(kept)}",
        leave_out=taken,
    )
    if picked is not None:
        with elements.spoken():
            pin(study, picked)
            st.rerun()


# -- the map and the table -------------------------------------------------------------------------------------------


def _named(words: str, letters: Mapping[str, str], label: str = "") -> str:
    """Words for a candidate after its letter, where it has one."""
    letter = letters.get(label or words)
    return f"{letter} · {words}" if letter else words


def _title(one: Pin, letters: Mapping[str, str]) -> str:
    return _named(one.name or one.label, letters, one.label)


def _short(view: RiskUtilityMap, k: int) -> str:
    """A measure's name for a narrow axis."""
    name = text.measure_name(view.measures[k])
    return name if len(name) <= 34 else view.measures[k].measure.symbol


def _map(view: RiskUtilityMap, titles: list[str], places: list[int]) -> None:
    k, r = view.utility, view.risk

    def figures(places: list[int]) -> tuple[list[float], list[float]]:
        return (
            [study_map.value_of(view, k, float(view.utility_loss[i])) for i in places],
            [study_map.value_of(view, r, float(view.risk_loss[i])) for i in places],
        )

    original = view.original_losses
    elements.chart(
        compare.small_map(
            compare.Points(titles, *figures(places)),
            figures(view.frontier().tolist()),
            (study_map.value_of(view, k, float(original[k])), study_map.value_of(view, r, float(original[r]))),
            (f"{_short(view, k)} – more useful →", stacked([_short(view, r), "riskier ↑"])),
            (study_map.sign(view, k) > 0, study_map.sign(view, r) < 0),
        ),
        "compare-map",
        "The pinned candidates on the risk–utility map; the table below holds the same figures",
    )


def _table(study: Study, view: RiskUtilityMap, titles: Mapping[str, str], shown: list[Pin], places: list[int]) -> None:
    st.subheader("Differences", anchor=False)
    names: dict[str | None, str] = {None: _NOTHING} | {**titles}
    reference = state.get().compare_view.reference
    options = list(names)
    chosen = st.selectbox(
        "Compared with",
        options,
        index=options.index(reference) if reference in names else 0,
        format_func=names.__getitem__,
        key=f"compare-reference-{len(titles)}",
        width=420,
    )
    if chosen != reference:
        state.set_compare_view(reference=chosen)
    base = None if chosen is None else study.find(chosen)[0].index
    columns = [(one, place) for one, place in zip(shown, places, strict=True) if one.label != chosen]
    if not columns:
        st.info("Tick at least one candidate besides the reference.", icon=":material/info:")
        return
    found = [differences(view, place, base, together=len(columns)) for _, place in columns]
    order = [view.risk, view.utility, *(k for k in range(len(view.measures)) if k not in (view.risk, view.utility))]
    heads = [
        compare_table.Column(
            titles[one.label],
            (f"{one.label}: " if one.name else "") + text.swap_short(view.scenarios[place].spec),
            (
                study_map.dominance_words(view, place),
                f"{int(view.summary.counted[place])}"
                + (f", {int(view.summary.failed[place])} failed" if view.summary.failed[place] else ""),
                text.figure(float(view.summary.changed[place])),
                one.note,
            ),
        )
        for one, place in columns
    ]
    st.html(compare_table.side_by_side(heads, view.measures, found, names[chosen], order))
    st.caption(
        "A figure is the mean over runs with its standard error. A difference counts as clear when it exceeds what the"
        " spread between runs explains (Welch's interval at 95 %, shared by all figures of the table); everything else"
        " is within noise. No figure here is anybody's chance of being identified."
    )
    elements.go("recommend", "Next: recommend one")


page()
