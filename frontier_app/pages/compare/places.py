"""Places of one candidate before and after: levels, areas with the worst first, bars, and a map of given outlines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from engine.data.microdata import Microdata
from engine.plan.households import places_in
from engine.report.boundaries import MOST_BYTES, Boundaries, read_boundaries
from engine.report.places import (
    AreaRow,
    LevelRow,
    areas_of,
    households_by_area,
    persons_with,
    place_changes,
    relative_change,
)
from engine.study.study import Study
from engine.sweeps.remake import Remade
from frontier_app.charts import compare
from frontier_app.charts import places as charts
from frontier_app.pages.compare.counts import Which
from frontier_app.session import state
from frontier_app.widgets import elements
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

_BARS = 20  # areas that are drawn as bars
_MOST_LEVELS = 12  # levels of an attribute up to which each can be counted
Count = tuple[str, str] | str
"""What is counted by area: "persons", "households", or an attribute with one of its levels."""


def places_at_hand(study: Study) -> tuple[str, ...]:
    """The places of the study's plan, or those that the open data suggest."""
    raw = state.get().raw
    if raw is None:
        return ()
    return state.get().memo.get("places", study.plan.data, lambda: places_in(raw, study.plan))


def page(study: Study, release: Remade, table: int, which: Which) -> None:
    """All of it for one candidate."""
    places = places_at_hand(study)
    analysed = study.plan.analyse
    levels, rows = state.get().memo.get(
        "place-changes", (which, places), lambda: place_changes(release, places, analysed, table)
    )
    _levels(levels)
    left, middle, right = st.columns([2, 2, 2], vertical_alignment="bottom")
    level = left.segmented_control(
        "Areas", list(places), default=places[-1], key=f"places-level-{places}", required=True, width="stretch"
    )
    countable = _countable(release.data, analysed, places)
    counted: Count = middle.selectbox(
        "What is counted",
        countable,
        index=countable.index(_telling(release, places, levels[-1], countable, table)),
        format_func=_words,
        key=f"places-count-{places}",
    )
    given = right.file_uploader(
        "Boundaries of these areas (GeoJSON), for a map",
        type=["geojson", "json"],
        key="places-boundaries",
        help=f"A file of your own, up to {MOST_BYTES >> 20} MB, whose features carry the codes of the areas. It is used"
        " here only, is not kept, and nothing is fetched from a network.",
    )
    of_level = [row for row in rows if row.level == level]
    before, after = _counts(release, places[: places.index(str(level)) + 1], counted, table)
    if given is not None:
        with elements.errors_shown():
            _map(given.getvalue(), before, after)
    _areas(str(level), of_level, before, after, counted)


def _levels(levels: Sequence[LevelRow]) -> None:
    """Show the changes at each level of places."""
    columns: dict[str, list[object]] = {
        "level": [row.level for row in levels],
        "areas": [row.areas for row in levels],
        "largest change of persons": [_percent(row.persons) for row in levels],
    }
    if any(row.households is not None for row in levels):
        columns["of households"] = [_percent(row.households or 0.0) for row in levels]
    columns |= {
        "mean distance": [text.figure(row.mean_distance) for row in levels],
        "largest distance": [text.figure(row.largest_distance) for row in levels],
        "attribute": [row.attribute for row in levels],
        "areas with new values": [row.areas_new for row in levels],
        "persons with them": [row.persons_new for row in levels],
    }
    st.dataframe(columns, hide_index=True, width="stretch", alt="Changes and distances at each level of places")
    st.caption(
        "A change is that of an area's count, in percent of the count before. A distance is the Hellinger distance"
        " between the tables of area by attribute before and after, from 0 to 1: the mean over attributes, and the"
        " largest with its attribute. A value is new to an area where nobody had it in the original."
    )


def _countable(data: Microdata, attributes: Sequence[str], places: Sequence[str]) -> list[Count]:
    options: list[Count] = [*(["households"] if data.units is not None else []), "persons"]
    for name in attributes:
        levels = data.domain.attributes[data.domain.index(name)].levels
        if name not in places and len(levels) <= _MOST_LEVELS:
            options += [(name, level) for level in levels]
    return options[1:2] + options[:1] + options[2:] if data.units is not None else options


def _telling(release: Remade, places: Sequence[str], finest: LevelRow, countable: Sequence[Count], table: int) -> Count:
    """The count that is shown at first: persons where their number changes, else the level that moved most of the
    attribute whose table by area changed most."""
    if finest.persons or not finest.attribute:
        return "persons"
    areas = areas_of(release, places, table)

    def moved(count: Count) -> int:
        before, after = persons_with(release, areas, count[0], count[1], table)
        return int(np.abs(after - before).sum())

    of_attribute = [count for count in countable if isinstance(count, tuple) and count[0] == finest.attribute]
    return max(of_attribute, key=moved, default="persons")


def _words(count: Count) -> str:
    return count if isinstance(count, str) else f"persons with {count[0]} = {count[1]}"


def _counts(
    release: Remade, places: Sequence[str], counted: Count, table: int
) -> tuple[dict[str, int], dict[str, int]]:
    """Counts by name of the area, before and after."""
    areas = areas_of(release, places, table)
    if counted == "households" and release.data.units is not None:
        before, after = households_by_area(areas, release.data.units)
    elif isinstance(counted, tuple):
        before, after = persons_with(release, areas, *counted, table)
    else:
        before, after = areas.counted()
    return tuple(dict(zip(areas.names, counts.tolist(), strict=True)) for counts in (before, after))  # type: ignore[return-value]


def _map(content: bytes, before: Mapping[str, int], after: Mapping[str, int]) -> None:
    """The areas filled by their change, in the outlines that the user gives."""
    boundaries: Boundaries = read_boundaries(content, list(before))
    change = {area: relative_change(before[area], after[area]) for area in before}
    words = {area: f"{area}: {before[area]:,} → {after[area]:,} ({_percent(change[area])})" for area in before}
    elements.chart(
        charts.choropleth(boundaries, change, words),
        "places-map",
        "Areas filled by the relative change of their count; the table below holds the same figures",
    )
    if boundaries.missing:
        st.caption(
            markdown(
                "{} of {} areas have no boundary in this file ({}).",
                len(boundaries.missing),
                len(before),
                text.listed(boundaries.missing[:5]),
            )
        )


def _areas(
    level: str, rows: Sequence[AreaRow], before: Mapping[str, int], after: Mapping[str, int], counted: Count
) -> None:
    """Bars and a table of the areas of a level, those with the largest change first."""
    order = sorted(
        rows, key=lambda row: (-abs(relative_change(before[row.area], after[row.area])), -row.distance, row.area)
    )
    unchanged = sum(before[row.area] == after[row.area] for row in rows)
    st.caption(
        markdown(
            "Counted: {}. {} of {} areas have exactly the count that they had; the areas with the largest change come"
            " first.",
            _words(counted),
            f"{unchanged:,}",
            f"{len(rows):,}",
        )
    )
    chart, listed = st.columns([2, 3], gap="large")
    drawn = [row.area for row in order[:_BARS]]
    with chart:
        elements.chart(
            compare.levels(
                drawn,
                np.array([before[area] for area in drawn]),
                np.array([after[area] for area in drawn]),
                _words(counted),
            ),
            "places-bars",
            f"The areas of {level} that changed most, before and after; the table beside it says the same",
        )
    listed.dataframe(
        pd.DataFrame(
            {
                "area": [row.area for row in order],
                "original": [before[row.area] for row in order],
                "release": [after[row.area] for row in order],
                "change": [after[row.area] - before[row.area] for row in order],
                "in percent": [_percent(relative_change(before[row.area], after[row.area])) for row in order],
                "distance within": [round(row.distance, 3) for row in order],
                "attribute": [row.attribute for row in order],
                "with new values": [_new(row) for row in order],
            }
        ),
        hide_index=True,
        width="stretch",
        height=560,
        column_config={
            **{name: st.column_config.NumberColumn(format="%,d") for name in ("original", "release", "change")},
            "in percent": st.column_config.TextColumn(alignment="right"),
            "distance within": st.column_config.NumberColumn(
                help="The Hellinger distance between the distributions of one attribute within the area, before and"
                " after, of the attribute where it is largest"
            ),
        },
        alt=f"Areas of {level} before and after, those that changed most first",
    )


def _new(row: AreaRow) -> str:
    """Persons with values that nobody in the area had, and of which attributes; empty where there are none."""
    return f"{row.persons_new:,}: {text.listed(row.attributes_new)}" if row.persons_new else ""


def _percent(change: float) -> str:
    """A relative change in percent; "new" where there was nothing before."""
    if not np.isfinite(change):
        return "new"
    return "0 %" if not change else text.relative(1 + change, 1.0)
