"""Counts of one release before and after: distributions, small cells, records changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.decision.altered_groups import altered_groups, altered_share, group_caution, groups_to_show
from engine.decision.statements import words
from engine.plan.coding import N_RULE
from engine.report.describe import Changes
from engine.report.inspection import SIZES, small_cells, weighted_levels
from engine.report.recognised_words import small_cells_words
from engine.study.study import Study
from engine.sweeps.remake import Remade
from frontier_app.charts import compare
from frontier_app.session import state
from frontier_app.widgets import elements
from frontier_app.wording import recognised, text
from frontier_app.wording.markup import markdown

_GROUPS = 40  # groups that are listed
_LEVELS = 20  # levels up to which a distribution is drawn
Which = tuple[object, ...]
"""What a remembered computation depends on: study, label, replicate, table."""


def distributions(study: Study, release: Remade, changed: Changes, table: int) -> None:
    """One attribute's levels before and after, counted or weighted."""
    domain, now = release.data.domain, state.get()
    drawn_anew = any(release.tables[table].is_replaced(j) for j in range(len(domain)))
    _say_distributions(changed, drawn_anew)
    order = sorted(domain.names, key=lambda name: -int(changed.altered[domain.index(name)]))
    left, right = st.columns([2, 2], vertical_alignment="bottom")
    name = left.selectbox(
        "Attribute",
        order,
        index=order.index(now.compare_view.attribute) if now.compare_view.attribute in order else 0,
        format_func=lambda name: f"{name} – {text.plural(int(changed.altered[domain.index(name)]), 'record')} changed",
        key="inspect-attribute",
    )
    if name != now.compare_view.attribute:
        state.set_compare_view(attribute=name)
    j = domain.index(name)
    before, after, unit = changed.before[j], changed.after[j], "records"
    if release.data.weight is not None and _weighted(right, release.data.weight):
        totals = weighted_levels(release, study.plan, j, table)
        assert totals is not None
        before, after, unit = *totals, f"total of {release.data.weight}"
    levels = domain.attributes[j].levels
    chart, listed = st.columns([3, 2], gap="large")
    if len(levels) <= _LEVELS:
        with chart:
            elements.chart(
                compare.levels(levels, before, after, unit),
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
    before = state.get().compare_view.weighted
    weighted = column.toggle(
        f"Weighted by {weight}",
        before,
        key="inspect-weighted",
        help="The weight stays with its record, so weighted totals can change where a swap keeps every count.",
    )
    if weighted != before:
        state.set_compare_view(weighted=weighted)
    return weighted


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


def cells(study: Study, release: Remade, changed: Changes, table: int, which: Which) -> None:
    keys = study.plan.keys
    small = state.get().memo.get("cells", which, lambda: small_cells(release, keys, table))
    st.markdown(f"The table crosses {text.plural(len(keys), 'key')}: {text.listed(keys)}.")
    elements.occupancy(changed.keys_after, changed.keys_before)
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
    groups = state.get().memo.get("altered-groups", which, lambda: altered_groups(release))
    rate, min_n = altered_share(release), study.plan.tolerances.min_n
    if not rate:
        return
    st.subheader(recognised.CARRIED, anchor=False)
    if caution := group_caution(groups, rate, min_n):
        st.warning(words(caution), icon=":material/warning:")
    shown = groups_to_show(groups, min_n, _GROUPS)
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
