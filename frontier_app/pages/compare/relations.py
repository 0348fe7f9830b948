"""Relations in one release before and after: associations, coefficients, and the spread of its runs."""

from __future__ import annotations

import streamlit as st

from engine.decision.comparison import spread
from engine.frontier.risk_utility_map import RiskUtilityMap, check_realisation
from engine.report.describe import Changes
from engine.report.inspection import associations as associations_of
from engine.report.inspection import coefficients as coefficients_of
from engine.report.loss_words import model_words
from engine.study.study import Study
from engine.sweeps.remake import Remade
from frontier_app.charts import compare
from frontier_app.pages.compare.counts import Which
from frontier_app.session import state
from frontier_app.widgets import elements
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

_MATRIX = 24  # attributes up to which associations are drawn
_INTERVALS = 30
_PAIRS = 200


def associations(release: Remade, changed: Changes, table: int, which: Which) -> None:
    names, n = release.data.domain.names, release.data.n_records
    pairs = state.get().memo.get("associations", which, lambda: associations_of(release, changed, table))
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
                compare.associations(names, [(p.i, p.j, p.change) for p in pairs], dark=elements.is_dark()),
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
            "The plan declares no analysis. Declare the regressions that users will run on the page Threat and uses,"
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
        st.markdown(markdown("**{}**", comparison.analysis))
        st.caption(markdown("{}", model_words(comparison.model)))
        order = sorted(
            range(len(comparison.names)),
            key=lambda k: -abs(comparison.shift[k]) if comparison.shift[k] == comparison.shift[k] else 0,
        )
        drawn = [k for k in order if comparison.shift[k] == comparison.shift[k]][:_INTERVALS]
        if drawn:
            elements.chart(
                compare.intervals(
                    [comparison.names[k] for k in drawn],
                    comparison.half[drawn] / comparison.se[drawn],
                    comparison.shift[drawn],
                    comparison.half_after[drawn] / comparison.se[drawn],
                ),
                f"intervals-{number}",
                f"Coefficients of {comparison.analysis} before and after; the table below says the same",
            )
        st.dataframe(
            {
                "coefficient": [comparison.names[k] for k in order],
                "original": [_interval(comparison.before[k], comparison.half[k]) for k in order],
                "release": [
                    comparison.lost[k] or _interval(comparison.after[k], comparison.half_after[k]) for k in order
                ],
                "shift in SE": [round(comparison.shift[k], 2) + 0.0 for k in order],
                "overlap": [comparison.overlap[k] for k in order],
                "flag": ["flagged" if comparison.flagged[k] else "" for k in order],
            },
            hide_index=True,
            width="stretch",
            column_config={
                "shift in SE": st.column_config.NumberColumn(format="%+.2f"),
                "overlap": st.column_config.NumberColumn(format="%.2f"),
            },
            alt=f"Coefficients of {comparison.analysis} with their intervals, before and after",
        )
        if comparison.omitted:
            st.caption(
                f"{text.plural(comparison.omitted, 'coefficient')} cannot be estimated from the original either."
            )


def _interval(centre: float, half: float) -> str:
    return f"{text.figure(centre)} ± {text.figure(half, 3)}"


def runs(study: Study, view: RiskUtilityMap, index: int, replicate: int) -> None:
    """All runs of the candidate on one measure."""
    now = state.get()
    names = [str(call) for call in view.measures]
    current = now.compare_view.measure if now.compare_view.measure in names else names[view.risk]
    picked = st.selectbox(
        "Measure",
        names,
        index=names.index(current),
        format_func=lambda name: text.measure_title(view.measures[names.index(name)]),
        key="inspect-measure",
        width=420,
    )
    if picked != now.compare_view.measure:
        state.set_compare_view(measure=picked)
    k = names.index(picked)
    run_figures = spread(study, index, view.allow_partial)
    values = run_figures.values[:, k]
    own = study.runs.of([index])
    row = check_realisation(own, index, replicate, view.scenarios[index].label, allow_partial=True)
    elements.chart(
        compare.runs(
            values[~run_figures.fresh],
            values[run_figures.fresh],
            float(own.values[row, k]),
            float(view.original[k]),
            f"{text.measure_title(view.measures[k])} ({text.DIRECTION[view.measures[k].measure.better]})",
        ),
        "runs",
        "Every run of the candidate on this measure; the sentence below sums them up",
    )
    summary = view.summary
    fresh = int(run_figures.fresh.sum())
    st.markdown(
        f"The sweep has {text.plural(int((~run_figures.fresh).sum()), 'run')} with a mean of"
        f" {text.with_error(float(summary.mean[index, k]), float(summary.se[index, k]))}, and"
        f" {text.plural(fresh, 'fresh run') if fresh else 'no fresh run'} {'was' if fresh < 2 else 'were'} made. Run"
        f" {replicate} is the one to release, by a rule: to choose the luckiest run would be selection on noise."
    )
