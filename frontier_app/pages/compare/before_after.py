"""One candidate before and after the swap: levels, cells, associations, coefficients, an intruder, places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.data.microdata import Microdata
from engine.decision.gate import altered_groups, altered_share, group_caution
from engine.decision.statements import words
from engine.decision.states import meant_run
from engine.frontier.risk_utility_map import RiskUtilityMap, check_realisation
from engine.models.record_release import RecordRelease
from engine.plan.coding import N_RULE
from engine.plan.households import places_in
from engine.release.records import ReleasedTable
from engine.report.describe import SIZES, Changes, changes, one_table, remade, weighted_levels
from engine.report.describe import associations as associations_of
from engine.report.describe import coefficients as coefficients_of
from engine.report.describe import small_cells as cells_of
from engine.report.other_keys import altered_in, key_set, unswapped_keys, worst_few
from engine.report.places import (
    MOST_BYTES,
    AreaRow,
    LevelRow,
    areas_of,
    persons_with,
    place_changes,
    read_boundaries,
    relative_change,
)
from engine.report.recognised_facts import KeySet
from engine.report.words import model_words, small_cells_words
from engine.study.study import Study
from engine.sweeps.remake import Remade
from frontier_app.charts import before_after
from frontier_app.charts import before_after as charts
from frontier_app.session import state
from frontier_app.widgets import candidate_card, elements, recommendation, small_cells
from frontier_app.widgets.small_cells import MOST_KEYS
from frontier_app.wording import plan_words, text
from frontier_app.wording.markup import bullets, markdown

_GROUPS = 40  # groups that are listed
_LEVELS = 20  # levels up to which a distribution is drawn
Which = tuple[object, ...]
"""What a remembered computation depends on: study, label, replicate, table."""


def distributions(release: Remade, changed: Changes) -> None:
    """One attribute's levels before and after, counted or weighted."""
    domain = release.data.domain
    drawn_anew = any(release.tables[0].is_replaced(j) for j in range(len(domain)))
    _say_distributions(changed, drawn_anew)
    order = sorted(domain.names, key=lambda name: -int(changed.altered[domain.index(name)]))
    left, right = st.columns([2, 2], vertical_alignment="bottom")
    name = left.selectbox(
        "Attribute",
        order,
        format_func=lambda name: f"{name} – {text.plural(int(changed.altered[domain.index(name)]), 'record')} changed",
        key=state.keep_among("inspect-attribute", order),
        persist_state="session",
    )
    j = domain.index(name)
    before, after, unit = changed.before[j], changed.after[j], "records"
    if release.data.weight is not None and _weighted(right, release.data.weight):
        totals = weighted_levels(release, j)
        assert totals is not None
        before, after, unit = *totals, f"total of {release.data.weight}"
    levels = domain.attributes[j].levels
    chart, listed = st.columns([3, 2], gap="large")
    if len(levels) <= _LEVELS:
        with chart:
            elements.chart(
                before_after.levels(levels, before, after, unit),
                "levels",
                f"Levels of {name} in the original and in the release; the table beside it says the same",
            )
    else:
        chart.caption(f"{name} has {len(levels)} levels, which are too many to draw.")
    _level_table(listed, name, levels, before, after, "%,.0f" if unit == "records" else "%,.1f")


def _say_distributions(changed: Changes, drawn_anew: bool) -> None:
    if changed.marginals_kept:
        st.success("Every attribute's own distribution is exactly as it was (checked).", icon=":material/check_circle:")
    elif drawn_anew:
        st.info(
            "Distributions of attributes changed: this mechanism draws values anew and keeps distributions on average"
            " or by its model only.",
            icon=":material/info:",
        )
    else:
        st.error("The distributions of attributes differ; a swap must keep them. Do not release this, and report it.")


def _weighted(column: DeltaGenerator, weight: str) -> bool:
    """Return whether weighted totals are asked for in place of counts."""
    return column.toggle(
        f"Weighted by {weight}",
        key="inspect-weighted",
        help="The weight stays with its record, so weighted totals can change where a swap keeps every count.",
        persist_state="session",
    )


def _level_table(
    column: DeltaGenerator, name: str, levels: Sequence[str], before: np.ndarray, after: np.ndarray, digits: str
) -> None:
    pairs = list(zip(before, after, strict=True))
    column.dataframe(
        {
            "level": levels,
            "original": before,
            "release": after,
            "difference": [text.signed(float(b - a)) for a, b in pairs],
            "in percent": [text.relative(float(b), float(a)) if b != a else "" for a, b in pairs],
        },
        hide_index=True,
        width="stretch",
        column_config={
            **{name: st.column_config.NumberColumn(format=digits) for name in ("original", "release")},
            **{name: st.column_config.TextColumn(alignment="right") for name in ("difference", "in percent")},
        },
        alt=f"Levels of {name} before and after",
    )


def cells(study: Study, release: Remade, which: Which) -> None:
    keys = study.plan.keys
    small = state.get().memo.get("cells", which, lambda: cells_of(release, keys))
    st.markdown(f"The table crosses {text.plural(len(keys), 'key')}: {text.listed(keys)}.")
    small_cells.draw(small.after, small.before)
    st.markdown(
        markdown(
            "Of the {} that {} in {} in the original, **{:,}** {} so in the release too, all keys as they were. An"
            " intruder does not see which.",
            text.plural(small.exposed, "record"),
            "stands" if small.exposed == 1 else "stand",
            small_cells_words(N_RULE),
            small.unaltered,
            "does" if small.unaltered == 1 else "do",
        )
    )
    sizes = [
        f"{low}" if low == high else f"{low} or more" if high is None else f"{low} to {high}" for low, high in SIZES
    ]
    st.dataframe(
        {
            "records in the cell": sizes,
            "cells before": small.cells_before,
            "cells after": small.cells_after,
            "difference": [
                text.signed(float(b - a)) for a, b in zip(small.cells_before, small.cells_after, strict=True)
            ],
        },
        hide_index=True,
        width=560,
        column_config={
            "cells before": st.column_config.NumberColumn(format="%,d"),
            "cells after": st.column_config.NumberColumn(format="%,d"),
            "difference": st.column_config.TextColumn(alignment="right"),
        },
        alt="Cells of the keys' table by size, before and after",
    )


def altered(release: Remade, changed: Changes) -> None:
    n = release.data.n_records
    order = sorted(range(len(changed.altered)), key=lambda j: -int(changed.altered[j]))
    if not changed.records:
        st.success("No record has another value of any attribute.", icon=":material/check_circle:")
        return
    st.dataframe(
        {
            "attribute": [release.data.domain.names[j] for j in order],
            "records changed": [int(changed.altered[j]) for j in order],
            "share": [100 * int(changed.altered[j]) / n for j in order],
        },
        hide_index=True,
        width=560,
        column_config={
            "records changed": st.column_config.NumberColumn(format="%,d"),
            "share": st.column_config.ProgressColumn(
                format="%.1f %%", min_value=0, max_value=max(100 * int(changed.altered[order[0]]) / n, 1e-9)
            ),
        },
        alt="Records whose value changed, by attribute",
    )
    st.caption("A record that took part in a swap may have received the same value back; it does not count here.")


def carried(study: Study, release: Remade, which: Which) -> None:
    """The share of altered records in every group of a release of one table."""
    rate, min_n = altered_share(release), study.plan.tolerances.min_n
    groups = state.get().memo.get("altered-groups", which, lambda: altered_groups(release, min_n))
    if not rate:
        return
    st.subheader(plan_words.CARRIED, anchor=False)
    if caution := group_caution(groups, rate, min_n):
        st.warning(words(caution), icon=":material/warning:")
    shown = groups[:_GROUPS]
    st.dataframe(
        {
            "group": [group.name for group in shown],
            "records": [group.records for group in shown],
            "altered": [group.altered for group in shown],
            "share altered": [100 * group.share for group in shown],
        },
        hide_index=True,
        width=760,
        column_config={
            "records": st.column_config.NumberColumn(format="%,d"),
            "altered": st.column_config.NumberColumn(format="%,d"),
            "share altered": st.column_config.ProgressColumn(
                format="%.1f %%", min_value=0, max_value=max(100 * max(group.share for group in shown), 1e-9)
            ),
        },
        alt="Share of altered records by group",
    )
    st.caption(
        f"Of all records {100 * rate:.3g} % are altered in some attribute. Groups of more than {min_n} records come"
        f" first{f', and the first {_GROUPS} of {len(groups)} are listed' if len(groups) > _GROUPS else ''}. These"
        " shares tell the rate: the board gets them, the public does not."
    )


_MATRIX = 24  # attributes up to which associations are drawn
_INTERVALS = 30
_PAIRS = 200


def associations(release: Remade, changed: Changes, which: Which) -> None:
    names, n = release.data.domain.names, release.data.n_records
    pairs = state.get().memo.get("associations", which, lambda: associations_of(release, changed))
    if not pairs:
        st.success("No two-way table has changed.", icon=":material/check_circle:")
        return
    worst = pairs[0]
    st.markdown(
        markdown(
            "{} changed; all others are as they were. **Cramér's V** says how strongly two attributes are associated,"
            " from 0 (not at all) to 1 (one decides the other). It changed most for **{} × {}**: {} → {} ({}).",
            text.plural(len(pairs), "two-way table"),
            names[worst.i],
            names[worst.j],
            text.figure(worst.before, 3),
            text.figure(worst.after, 3),
            "weaker" if worst.change < 0 else "stronger",
        )
    )
    chart, listed = st.columns([1, 1], gap="large")
    if len(names) <= _MATRIX:
        with chart:
            elements.chart(
                before_after.associations(names, [(p.i, p.j, p.change) for p in pairs], dark=elements.is_dark()),
                "associations",
                "Change of Cramér's V of every pair of attributes; the table beside it says the same",
            )
    else:
        chart.caption(f"{len(names)} attributes are too many to draw; the table holds the largest changes.")
    rows = pairs[:_PAIRS]
    listed.dataframe(
        {
            "pair": [f"{names[p.i]} × {names[p.j]}" for p in rows],
            "V before": [p.before for p in rows],
            "V after": [p.after for p in rows],
            "change": [round(p.change, 4) + 0.0 for p in rows],  # no minus before a nought
            "": ["weaker" if p.change < 0 else "stronger" if p.change > 0 else "the same" for p in rows],
            "to move": [100 * int(changed.moved[p.i, p.j]) / n for p in rows],
        },
        hide_index=True,
        width="stretch",
        column_config={
            "V before": st.column_config.NumberColumn(format="%.3f"),
            "V after": st.column_config.NumberColumn(format="%.3f"),
            "change": st.column_config.NumberColumn(format="%+.4f"),
            "to move": st.column_config.NumberColumn(
                format="%.2f %%", help="Share of records that would have to move to undo the change of the table"
            ),
        },
        alt="Two-way tables by how much their association changed",
    )


def coefficients(study: Study, release: Remade, which: Which) -> None:
    if not study.plan.analyses:
        st.info(
            "The plan declares no analysis. Declare the regressions that users will run on the page Intruder and uses,"
            " and their coefficients are set side by side here.",
            icon=":material/info:",
        )
        return
    comparisons = state.get().memo.get("coefficients", which[:3], lambda: coefficients_of(release, study.plan))
    several = f", combined over {len(release.tables)} tables" if len(release.tables) > 1 else ""
    st.caption(
        f"The table holds 95 % intervals on the original and on the release{several}. Chance alone rarely shifts a"
        " coefficient by more than about 2 standard errors. Overlap is 1 for equal intervals and below 0 for intervals"
        " that have nothing in common. A flag marks what is beyond the plan's tolerances, as in the memo."
    )
    for number, comparison in enumerate(comparisons):
        figures, shift = comparison.figures, comparison.shift
        st.markdown(markdown("**{}**", comparison.model.analysis))
        st.caption(markdown("{}", model_words(comparison.model)))
        order = np.argsort(-np.nan_to_num(np.abs(shift)), kind="stable").tolist()
        drawn = [k for k in order if np.isfinite(shift[k])][:_INTERVALS]
        se = np.array([figures[k].se for k in drawn], float)
        if drawn:
            elements.chart(
                before_after.intervals(
                    [figures[k].what for k in drawn],
                    comparison.half[drawn] / se,
                    shift[drawn],
                    comparison.half_after[drawn] / se,
                ),
                f"intervals-{number}",
                f"Coefficients of {comparison.model.analysis} before and after; the table below says the same",
            )
        st.dataframe(
            {
                "coefficient": [figures[k].what for k in order],
                "original": [_interval(figures[k].before, comparison.half[k]) for k in order],
                "release": [figures[k].why or _interval(figures[k].after, comparison.half_after[k]) for k in order],
                "shift in SE": [round(shift[k], 2) + 0.0 for k in order],
                "overlap": [comparison.overlap[k] for k in order],
                "flag": ["flagged" if figures[k].flagged else "" for k in order],
            },
            hide_index=True,
            width="stretch",
            column_config={
                "shift in SE": st.column_config.NumberColumn(format="%+.2f"),
                "overlap": st.column_config.NumberColumn(format="%.2f"),
            },
            alt=f"Coefficients of {comparison.model.analysis} with their intervals, before and after",
        )
        if comparison.omitted:
            st.caption(
                f"{text.plural(comparison.omitted, 'coefficient')} cannot be estimated from the original either."
            )


def _interval(centre: float | None, half: float) -> str:
    return f"{text.figure(centre)} ± {text.figure(half, 3)}"


def runs(study: Study, view: RiskUtilityMap, index: int, replicate: int) -> None:
    """All runs of the candidate on one measure."""
    names = [str(call) for call in view.measures]
    picked = st.selectbox(
        "Measure",
        names,
        index=view.risk,
        format_func=lambda name: text.measure_title(view.measures[names.index(name)]),
        key=state.keep_among("inspect-measure", names),
        width=420,
        persist_state="session",
    )
    k = names.index(picked)
    own, again = study.runs.of([index]), study.runs.of([index], "fresh")
    runs, fresh_runs = (table.values[table.counted(view.allow_partial), k] for table in (own, again))
    row = check_realisation(own, index, replicate, view.scenarios[index].label, allow_partial=True)
    elements.chart(
        before_after.runs(
            runs,
            fresh_runs,
            float(own.values[row, k]),
            float(view.original[k]),
            f"{text.measure_title(view.measures[k])} ({text.DIRECTION[view.measures[k].measure.better]})",
        ),
        "runs",
        "Every run of the candidate on this measure; the sentence below sums them up",
    )
    summary = view.summary
    fresh = len(fresh_runs)
    st.markdown(
        f"The sweep has {text.plural(len(runs), 'run')} with a mean of"
        f" {text.with_error(float(summary.mean[index, k]), float(summary.se[index, k]))}, and"
        f" {text.plural(fresh, 'fresh run') if fresh else 'no fresh run'} {'was' if fresh < 2 else 'were'} made. Run"
        f" {replicate} is the one to release, by a rule: to choose the luckiest run would be selection on noise."
    )


def intruder(study: Study, view: RiskUtilityMap, release: Remade, which: Which) -> None:
    """Unswapped keys and the worst few keys; then detection."""
    fewest = small_cells.fewest_of(view)
    if len(study.plan.keys) <= MOST_KEYS:
        nothing, unswapped, few = state.get().memo.get(
            "few-keys", (which, fewest), lambda: _key_sets(study, release, fewest)
        )
        st.markdown(plan_words.unswapped_words(nothing, unswapped, fewest))
        st.markdown(bullets([plan_words.few_keys_words(keys, fewest) for keys in few if keys.small]))
    candidate_card.show(candidate_card.of(study, release, which[:3]))
    st.markdown(
        markdown("**{}.** {}", "Published tables of the original", small_cells.detection(study, release, which[:3]))
    )
    st.caption(plan_words.UNDONE)


def _key_sets(study: Study, release: Remade, fewest: int) -> tuple[KeySet, KeySet | None, tuple[KeySet, ...]]:
    records = RecordRelease(ReleasedTable(release.data), release.tables, study.plan, release.spec)
    table, altered, keys = release.data.table, altered_in(records), study.plan.keys
    return (
        key_set(table, keys, altered, fewest),
        unswapped_keys(table, keys, altered, fewest),
        worst_few(records, keys, fewest),
    )


_TILES = 1_500  # areas that are drawn as tiles
_POINTS = 5  # percentage points by which a share has to change to be counted
_MOST_LEVELS = 12  # levels of an attribute up to which each can be counted
Count = tuple[str, str] | str
"""What is counted by area: "persons", "households", or an attribute with one of its levels."""


def places_at_hand(study: Study) -> tuple[str, ...]:
    """The places of the study's plan, or those that the open data suggest."""
    raw = state.get().raw
    if raw is None:
        return ()
    return state.get().memo.get("places", study.plan.data, lambda: places_in(raw, study.plan))


def places(study: Study, release: Remade, which: Which) -> str:
    """Areas as tiles, or in the user's outlines, and those that change most; return the finding."""
    places = places_at_hand(study)
    analysed = study.plan.analyse
    levels, rows = state.get().memo.get(
        "place-changes", (which, places), lambda: place_changes(release, places, analysed)
    )
    middle, left, right = st.columns([3, 3, 2], vertical_alignment="bottom")
    level = left.segmented_control(
        "Areas", list(places), default=places[-1], key=f"places-level-{places}", required=True, width="stretch"
    )
    countable = _countable(release.data, analysed, places)
    counted: Count = middle.selectbox(
        "Share of residents with, or count",
        countable,
        index=countable.index(_telling(release, places, levels[-1], countable)),
        format_func=_words,
        key=f"places-count-{places}",
    )
    with right.popover("Boundaries for a map", width="stretch"):
        given = st.file_uploader(
            "Boundaries of these areas (GeoJSON)",
            type=["geojson", "json"],
            key="places-boundaries",
            help=f"A file of your own, up to {MOST_BYTES >> 20} MB, whose features carry the codes of the areas. It is"
            " used here only, is not kept, and nothing is fetched from a network.",
        )
    of_level = {row.area: row for row in rows if row.level == level}
    part = places[: places.index(str(level)) + 1]
    before, after = _counts(release, part, counted)
    is_share = isinstance(counted, tuple)
    change = {area: _change(of_level[area], before[area], after[area], is_share) for area in before if area in of_level}
    drawn, listed = st.columns([5, 3], gap="large")
    with drawn:
        if given is not None:
            with elements.errors_shown():
                _map(given.getvalue(), before, after, change)
        elif len(change) <= _TILES:
            st.caption("Orange rises, blue falls; " + ("percentage points." if is_share else "percent."))
            elements.chart(
                charts.tiles(_paths(release, part), change, dark=elements.is_dark()),
                "places-tiles",
                f"Areas of {level} by the change of {_words(counted)}; the table beside it says the same",
            )
    with listed:
        _areas(str(level), of_level, before, after, change, is_share=is_share)
    with st.expander("All levels"):
        _levels(levels)
    changed, noun = [value for value in change.values() if value], f"of {len(change)} areas ({level})"
    if is_share:
        far = sum(abs(value) > _POINTS for value in changed)
        return (
            f"{far} {noun} change by over {_POINTS} points" if far else f"None {noun} changes by over {_POINTS} points"
        )
    return f"{len(changed)} {noun} change their number of {counted}" if changed else f"No area changes its {counted}"


def _change(row: AreaRow, before: int, after: int, is_share: bool) -> float:
    """The change of an area: of a share of residents in percentage points, else of a count in percent of it."""
    if not is_share:
        return 100 * relative_change(before, after)
    return 100 * (after / max(1, row.persons_after) - before / max(1, row.persons_before))


def _paths(release: Remade, places: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Each area's codes from the coarsest level down to its own."""
    areas = areas_of(release, places)
    paths = [[""] * len(places) for _ in areas.names]
    for k, name in enumerate(places):
        j = release.data.domain.index(name)
        levels, codes = release.data.domain.attributes[j].levels, np.zeros(len(areas.names), np.int64)
        codes[areas.after], codes[areas.before] = release.codes(j), release.data.codes[j]
        for path, code in zip(paths, codes.tolist(), strict=True):
            path[k] = levels[code]
    return dict(zip(areas.names, map(tuple, paths), strict=True))


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


def _telling(release: Remade, places: Sequence[str], finest: LevelRow, countable: Sequence[Count]) -> Count:
    """The count that is shown at first: persons where their number changes, else the level that moved most of the
    attribute whose table by area changed most."""
    if finest.persons or not finest.attribute:
        return "persons"
    areas = areas_of(release, places)

    def moved(count: Count) -> int:
        before, after = persons_with(release, areas, count[0], count[1])
        return int(np.abs(after - before).sum())

    of_attribute = [count for count in countable if isinstance(count, tuple) and count[0] == finest.attribute]
    return max(of_attribute, key=moved, default="persons")


def _words(count: Count) -> str:
    return count if isinstance(count, str) else f"persons with {count[0]} = {count[1]}"


def _counts(release: Remade, places: Sequence[str], counted: Count) -> tuple[dict[str, int], dict[str, int]]:
    """Counts by name of the area, before and after."""
    areas = areas_of(release, places)
    if counted == "households" and release.data.units is not None:
        before, after = areas.counted(release.data.units.first)
    elif isinstance(counted, tuple):
        before, after = persons_with(release, areas, *counted)
    else:
        before, after = areas.counted()
    return tuple(dict(zip(areas.names, counts.tolist(), strict=True)) for counts in (before, after))  # type: ignore[return-value]


def _map(content: bytes, before: Mapping[str, int], after: Mapping[str, int], change: Mapping[str, float]) -> None:
    """The areas filled by their change, in the outlines that the user gives."""
    boundaries = read_boundaries(content, list(change))
    words = {area: f"{area}: {before[area]:,} → {after[area]:,} ({_points(change[area])})" for area in change}
    elements.chart(
        charts.choropleth(boundaries, change, words, dark=elements.is_dark()),
        "places-map",
        "Areas filled by their change; the table beside it holds the same figures",
    )
    if boundaries.missing:
        st.caption(
            markdown(
                "{} of {} areas have no boundary in this file ({}).",
                len(boundaries.missing),
                len(change),
                text.listed(boundaries.missing[:5]),
            )
        )


def _areas(
    level: str,
    rows: Mapping[str, AreaRow],
    before: Mapping[str, int],
    after: Mapping[str, int],
    change: Mapping[str, float],
    *,
    is_share: bool,
) -> None:
    """A table of the areas of a level, those that change most first."""
    order = sorted(change, key=lambda area: (-abs(change[area]), -rows[area].distance, area))
    number = st.column_config.NumberColumn
    st.dataframe(
        pd.DataFrame(
            {
                "area": order,
                "residents": [rows[area].persons_before for area in order],
                "original": [before[area] for area in order],
                "release": [after[area] for area in order],
                "change": [change[area] for area in order],
                "distance": [round(rows[area].distance, 3) for area in order],
                "attribute": [rows[area].attribute for area in order],
                "new": [_new(rows[area]) for area in order],
            }
        ),
        hide_index=True,
        width="stretch",
        height=460,
        column_config={
            **{name: number(format="%,d") for name in ("residents", "original", "release")},
            "change": number("points" if is_share else "%", format="%+.1f"),
            "distance": number(
                "distance within",
                help="The Hellinger distance between the distributions of one attribute within the area, before and"
                " after, of the attribute where it is largest",
            ),
            "new": st.column_config.TextColumn("with new values"),
        },
        alt=f"Areas of {level} before and after, those that changed most first",
    )


def _points(value: float) -> str:
    """A change with its sign."""
    return "new" if not np.isfinite(value) else f"{value:+.1f}".replace("-", "−") if round(value, 1) else "0"


def _new(row: AreaRow) -> str:
    """Persons with values that nobody in the area had, and of which attributes; empty where there are none."""
    return f"{row.persons_new:,}: {text.listed(row.attributes_new)}" if row.persons_new else ""


def _percent(change: float) -> str:
    """A relative change in percent; "new" where there was nothing before."""
    if not np.isfinite(change):
        return "new"
    return "0 %" if not change else text.relative(1 + change, 1.0)


PARTS = {
    "associations": "Associations",
    "levels": "Distributions",
    "cells": "Small cells",
    "coefficients": "Coefficients",
    "altered": "Records changed",
    "intruder": "What an intruder sees",
    "runs": "Spread over runs",
}


def page(study: Study, view: RiskUtilityMap, part: str, head: DeltaGenerator) -> None:
    """Pick a candidate and show a part of it; the finding goes to the ``head`` of the page."""
    now = state.get()
    label = recommendation.candidate(
        study, view, "Candidate", now.selected or _first(study, view), key=f"inspect-{now.version}"
    )
    if label is None:
        head.title("Choose a candidate", anchor=False)
        return
    if label != now.selected:
        state.put(selected=label)
    index = study.find(label)[0].index
    replicate = meant_run(study, index, view.risk, allow_partial=view.allow_partial)
    if part == "runs":
        head.title(f"{text.plural(int(view.summary.counted[index]), 'run')} of one candidate", anchor=False)
        runs(study, view, index, replicate)
        return
    if now.raw is None:
        head.title("One candidate before and after", anchor=False)
        elements.needs_data("Before and after are shown by remaking the release from")
        return
    release, table = _made(study, label, replicate)
    _part(study, view, release, table, part, (str(study.path), label, replicate, table), head)


def _first(study: Study, view: RiskUtilityMap) -> str | None:
    """The recommended candidate, else the safest of the frontier."""
    first = dict(recommendation.letters_of(study, view)).get("A")
    if first is None:
        first = next(iter(view.frontier().tolist()), None)
    return None if first is None else view.scenarios[first].label


def _made(study: Study, label: str, replicate: int) -> tuple[Remade, int]:
    """The release, and which of its tables is looked at."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    with st.spinner("Remaking the release…"):
        release = now.memo.get(
            "remade", (str(study.path), label, replicate), lambda: remade(study, raw, label, replicate)
        )
    if len(release.tables) == 1:
        return release, 0
    tables = range(len(release.tables))
    table = st.selectbox(
        f"Table, of {len(release.tables)} that are published together",
        tables,
        format_func=lambda d: f"table {d + 1}",
        key=state.keep_among("inspect-table", tables),
        width=360,
        persist_state="session",
    )
    return release, table


def _part(
    study: Study, view: RiskUtilityMap, release: Remade, table: int, part: str, which: Which, head: DeltaGenerator
) -> None:
    memo = state.get().memo
    shown = one_table(release, table)
    changed = memo.get("changes", which, lambda: changes(shown))
    n = text.plural(release.data.n_records, "record")
    of_table = f" in table {table + 1}" if len(release.tables) > 1 else ""
    if part == "places":
        head.title(places(study, shown, which), anchor=False)
        return
    verb = "has" if changed.records == 1 else "have"
    head.title(f"{changed.records:,} of {n} {verb} another value somewhere{of_table}", anchor=False)
    if part == "levels":
        distributions(shown, changed)
    elif part == "associations":
        associations(shown, changed, which)
    elif part == "cells":
        cells(study, shown, which)
    elif part == "coefficients":
        coefficients(study, release, which)
    elif part == "intruder":
        intruder(study, view, release, which)
    else:
        altered(release, changed)
        carried(study, shown, which)
    st.caption(markdown("Run {}/{}, settled by a rule and not by its figures.", which[1], which[2]))
