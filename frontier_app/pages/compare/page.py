"""Compare: candidates side by side against a reference, and one candidate before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.common.errors import EngineError
from engine.decision.comparison import Difference, differences, starting_points
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.plan.types import in_no_use
from engine.report.sheet_counts import better_elsewhere
from engine.study.study import LONGEST, Pin, Study, pin, pins, unpin
from frontier_app.charts import before_after as charts
from frontier_app.charts import map_data
from frontier_app.pages.compare import before_after
from frontier_app.session import actions, state
from frontier_app.widgets import candidate_card, elements, recommendation, small_cells
from frontier_app.wording import plan_words, text
from frontier_app.wording.markup import markdown, stacked

_MOST = 6  # columns that can still be read beside each other
_NOTHING = "the unprotected file"


def page() -> None:
    """Show places, candidates side by side, or another part of one candidate before and after."""
    elements.with_map("There is nothing to compare yet: candidates come from the sweep of a study.", _page, "Compare")


def _page(study: Study, view: RiskUtilityMap) -> None:
    head, bar = st.columns([3, 1], vertical_alignment="bottom")
    with bar:
        elements.go("decide", "Next: recommend one", stretch=True)
    places = {"places": "Places"} if before_after.places_at_hand(study) else {}
    parts = {**places, "pinned": "Side by side", **before_after.PARTS}
    part = st.pills(
        "What to compare",
        list(parts),
        default=next(iter(parts)),
        format_func=parts.__getitem__,
        key=state.keep_among("compare-part", parts),
        label_visibility="collapsed",
        required=True,
        persist_state="session",
    )
    if part == "pinned":
        _pinned(study, view, head)
    else:
        before_after.page(study, view, part, head)


# -- side by side ----------------------------------------------------------------------------------------------------


def _pinned(study: Study, view: RiskUtilityMap, head: DeltaGenerator) -> None:
    """The pinned candidates; without any the recommended one beside its neighbours, else the ends of the frontier."""
    pinned, lettered = pins(study), recommendation.letters_of(study, view)
    letters = {view.scenarios[index].label: letter for letter, index in lettered}
    proposed = _proposed(view, lettered)
    table, listed = st.container(), st.expander("Pins" if pinned else "Choose others", icon=":material/keep:")
    with listed:
        shown = _list(study, pinned, letters) if pinned else proposed
        if not pinned and proposed and st.button("Pin these", key="pin-frontier"):
            for entry in proposed:
                pin(study, entry.label, entry.name)
            st.rerun()
        _add(study, view, pinned)
    if not shown:
        head.title("Nothing is chosen", anchor=False)
        return
    indices = [study.find(entry.label)[0].index for entry in shown]
    name = candidate_card.differing(view).name
    named = {label: name(index) for label, index in zip((entry.label for entry in shown), indices, strict=True)}
    titles = {entry.label: entry.name or named.get(entry.label, entry.label) for entry in pinned or proposed}
    titles = {label: _named(title, letters, label) for label, title in titles.items()}
    with table:
        head.title(_table(study, view, titles, shown, indices), anchor=False)
    with st.expander("On the map", icon=":material/scatter_plot:"):
        _map(view, [titles[entry.label] for entry in shown], indices)


def _proposed(view: RiskUtilityMap, lettered: Sequence[tuple[str, int]]) -> list[Pin]:
    """What is set side by side while nothing is pinned."""
    first = dict(lettered).get("A")
    if first is not None:
        near = candidate_card.neighbours(view, first, [index for _, index in lettered])
        selected = view.scenarios.index_of(state.get().selected)
        better, _ = state.get().memo.get("elsewhere", (id(view), first), lambda: better_elsewhere(view, first))
        indices = [near.get("safer"), first, near.get("more useful"), better, selected]
        labels = dict.fromkeys(view.scenarios[index].label for index in indices if index is not None)
        return [Pin(label, "", "") for label in labels]
    begin = starting_points(view)
    names = {1: ["the only one"], 2: ["the safest", "the most useful"]}
    three = ["the safest", "the knee", "the most useful"]
    return [
        Pin(view.scenarios[i].label, name, "") for i, name in zip(begin, names.get(len(begin), three), strict=False)
    ]


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


def _table(study: Study, view: RiskUtilityMap, titles: Mapping[str, str], shown: list[Pin], indices: list[int]) -> str:
    """Show how the candidates shown differ from a reference; return the finding."""
    names: dict[str | None, str] = {None: _NOTHING} | {**titles}
    first = dict(recommendation.letters_of(study, view)).get("A")
    start = None if first is None else view.scenarios[first].label
    chosen = st.selectbox(
        "Compared with",
        list(names),
        index=list(names).index(start) if start in names else 0,
        format_func=names.__getitem__,
        key=state.keep_among("compare-reference", names),
        width=420,
        persist_state="session",
    )
    base = None if chosen is None else study.find(chosen)[0].index
    columns = [(entry, index) for entry, index in zip(shown, indices, strict=True) if entry.label != chosen]
    if not columns:
        st.info("Tick at least one candidate besides the reference.", icon=":material/info:")
        return "Nothing is set beside it"
    comparisons = [differences(view, index, base, together=len(columns)) for _, index in columns]
    order = [view.risk, view.utility, *(k for k in range(len(view.measures)) if k not in (view.risk, view.utility))]
    name = candidate_card.differing(view).name
    heads = [
        candidate_card.Column(
            titles[entry.label],
            f"{name(index)} ({entry.label})" if entry.name else entry.label,
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
        "Means over runs with their standard errors. A difference is clear when it exceeds what the spread between runs"
        " explains (Welch's interval at 95 %, shared by all figures of the table)."
    )
    letters = {view.scenarios[index].label: letter for letter, index in recommendation.letters_of(study, view)}
    short = [letters.get(entry.label) or titles[entry.label] for entry, _ in columns]
    return _finding(short, comparisons, view, letters.get(chosen or "") or names[chosen])


def _finding(
    titles: Sequence[str], comparisons: Sequence[Sequence[Difference]], view: RiskUtilityMap, reference: str
) -> str:
    """Which candidates are clearly safer than the reference, and which clearly more useful."""
    parts = []
    for k, word in ((view.risk, "safer"), (view.utility, "more useful")):
        clear = [
            title for title, found in zip(titles, comparisons, strict=True) if found[k].clear and found[k].better > 0
        ]
        parts += [f"{text.listed(clear)} {'is' if len(clear) == 1 else 'are'} {word}"] if clear else []
    than = f"than {reference}"
    return f"{'; '.join(parts)} {than}" if parts else f"None is clearly safer or more useful {than}"


page()
