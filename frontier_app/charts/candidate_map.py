"""Convert the engine's map to the arrays that a figure takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.frontier.selection import undominated_among
from engine.frontier.summary import losses
from engine.mechanisms import mechanism
from engine.release.scenarios import Scenarios
from engine.report.run_words import on_frontier_words
from frontier_app.charts.candidate_labels import (
    abbreviations,
    amounts,
    binned,
    categories,
    coded,
    colourings,
    facet_titles,
    forms,
    swap_label,
    swappable,
)
from frontier_app.charts.density import MANY
from frontier_app.charts.map_data import HEIGHT, Cloud, Marks
from frontier_app.charts.map_figure import risk_utility
from frontier_app.charts.style import COLOURS, SHAPES
from frontier_app.session.state import Look
from frontier_app.wording import mechanisms, text
from frontier_app.wording.figure_text import drawn, stacked

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_HOVERED = 5_000  # points up to which each has its own words
_LABELLED = 120  # points of a panel up to which all are labelled, not only the frontier
PANELS = 6
"""Most panels; of more rates so many are drawn, evenly spread."""
_PANELLED = 5_000  # points of all panels together up to which each is drawn: every panel is a drawing of its own
_LIT = 20_000  # highlighted runs up to which they are drawn one by one on a density

DRAWN = {
    "map": "Map",
    "quantile": "Quantile",
    "rates": "Rates",
    "pooled": "Pooled",
    "labelled": "Labels",
    "runs": "Runs",
    "measures": "Measures",
}
"""Figures of a study: the map with its recommendation, the same by a quantile of the risk of single runs, and figures
3, 4, 5 and 7 of Gomatam, Karr and Sanil (2005)."""


@dataclass(frozen=True)
class Shown:
    """Scenarios that are marked on a map, by place: at hand, recommended, with letters, pinned with names."""

    selected: int | None = None
    optimum: int | None = None
    letters: Mapping[str, int] = field(default_factory=dict)
    pins: Mapping[int, str] = field(default_factory=dict)

    @property
    def indices(self) -> set[int]:
        """All of them."""
        alone = {index for index in (self.selected, self.optimum) if index is not None}
        return {*self.letters.values(), *self.pins, *alone}


def index_of(view: RiskUtilityMap, label: str) -> int | None:
    """The index of a scenario by its label; None where there is no such one."""
    if isinstance(view.scenarios, Scenarios):
        return view.scenarios.index_of(label)
    return next((s.index for s in view.scenarios if s.label == label), None)


def _labels(view: RiskUtilityMap, indices: np.ndarray, on: np.ndarray, facet: np.ndarray) -> list[str]:
    """The labels beside points of a labelled figure; of crowded panels only the frontier is labelled."""
    short = abbreviations(view.scenarios[0].spec.attributes.names)
    crowded = np.bincount(facet) > _LABELLED if len(facet) else np.zeros(0, bool)
    for panel in np.flatnonzero(crowded).tolist():  # of a long frontier an even part
        front = np.flatnonzero(on & (facet == panel))
        front = front[np.argsort(view.risk_loss[indices[front]])]
        dropped = np.delete(front, np.unique(np.linspace(0, max(0, len(front) - 1), _LABELLED).astype(np.int64)))
        on = on.copy()
        on[dropped] = False
    labels = []
    for index, front, panel in zip(indices.tolist(), on.tolist(), facet.tolist(), strict=True):
        spec = view.scenarios[index].spec
        label = f"{swap_label(spec.attributes, short) if spec.by_roles else ''} {mechanisms.settings(spec)}".strip()
        labels.append(label if front or not crowded[panel] else "")
    return labels


def cloud(view: RiskUtilityMap, look: Look, marked: Sequence[int] = ()) -> Cloud:
    """The map's points: scenarios by their means, or every run.  ``marked`` are drawn also where points are many."""
    if look.drawn == "runs":
        return _runs(view, look)
    by_quantile = look.drawn == "quantile"
    risk = view.quantiles.quantile if by_quantile else view.risk_loss
    shape, shapes = forms(view)
    visible = shape == shapes.index(look.mechanism) if look.mechanism in shapes else np.ones(len(shape), bool)
    facet, facets = amounts(view) if look.drawn == "rates" else (np.zeros(len(shape), np.int64), ("",))
    if len(facets) > PANELS:
        drawn_rates = np.unique(np.linspace(0, len(facets) - 1, PANELS).round().astype(np.int64))
        visible = visible & np.isin(facet, drawn_rates)
        facet, facets = np.searchsorted(drawn_rates, facet), tuple(facets[i] for i in drawn_rates.tolist())
    if look.drawn == "rates":
        on = np.zeros(len(shape), bool)
        for panel in range(len(facets)):
            on |= undominated_among(view, visible & (facet == panel))
    else:
        on = (view.undominated_by_quantile() if by_quantile else view.dominance.undominated) & visible
    bulk = None
    shown = visible
    if int(visible.sum()) > (MANY if len(facets) == 1 else _PANELLED):
        shown = on.copy()
        shown[[i for i in marked if visible[i] or look.drawn != "rates"]] = True
        dominated = visible & ~on
        bulk = (view.utility_loss[dominated], risk[dominated], facet[dominated])
    elif len(marked) and look.drawn != "rates":
        shown = visible.copy()
        shown[list(marked)] = True
    codes, names = categories(view, "rate" if look.drawn == "pooled" else look.colour)
    codes, names = binned(codes, names, len(COLOURS) if shapes else len(SHAPES))
    index = np.flatnonzero(shown)
    summary = view.summary
    labelled = look.drawn in ("rates", "labelled")
    return Cloud(
        loss=view.utility_loss[index],
        risk=risk[index],
        loss_se=summary.loss_se[index, view.utility],
        risk_se=np.full(len(index), np.nan) if by_quantile else summary.loss_se[index, view.risk],
        index=index,
        on=on[index],
        category=codes[index],
        categories=names,
        facet=facet[index],
        facets=facet_titles(view, facets) if look.drawn == "rates" else ("",),
        hover=[words(view, i, by_quantile) for i in index.tolist()] if len(index) <= _HOVERED else [],
        shape=shape[index],
        shapes=tuple(mechanisms.short(name) for name in shapes),
        words=_labels(view, index, on[index], facet[index]) if labelled else (),
        bulk=bulk,
        interval=(view.quantiles.low[index], view.quantiles.high[index]) if by_quantile else None,
        utility_sign=sign(view, view.utility),
        risk_sign=sign(view, view.risk),
    )


def _runs(view: RiskUtilityMap, look: Look) -> Cloud:
    """Every run as a point; the runs that swap the highlighted attribute stand out from the others."""
    results = view.results
    use = np.flatnonzero(results.counted(view.allow_partial))
    shape, shapes = forms(view)
    if look.mechanism in shapes:
        use = use[shape[results.scenario[use]] == shapes.index(look.mechanism)]
    index = results.scenario[use]
    loss = losses(results.values[use], [call.measure for call in view.measures])
    on = view.realisations_undominated()[use]
    highlighted = look.highlight if look.highlight in swappable(view) else None
    codes, names = categories(view, f"swaps {highlighted}" if highlighted else look.colour)
    if highlighted:
        names = (f"swaps {highlighted}", "others")
    codes, names = binned(codes, names, len(COLOURS) if shapes else len(SHAPES))
    bulk, muted = None, 1 if highlighted else -1
    rows = np.arange(len(use))
    if len(use) > MANY:
        stands_out = codes[index] == 0 if highlighted else np.zeros(len(use), bool)
        shown = on | stands_out if stands_out.sum() <= _LIT else on
        bulk = (loss[~shown, view.utility], loss[~shown, view.risk], np.zeros(int((~shown).sum()), np.int64))
        rows = np.flatnonzero(shown)
    unknown = np.full(len(rows), np.nan)
    hover: list[str] = []
    if len(rows) <= _HOVERED:
        numbers = results.replicate[use]
        hover = [_run_words(view, int(index[i]), int(numbers[i]), loss[i].tolist()) for i in rows.tolist()]
    return Cloud(
        loss=loss[rows, view.utility],
        risk=loss[rows, view.risk],
        loss_se=unknown,
        risk_se=unknown,
        index=index[rows],
        on=on[rows],
        category=codes[index[rows]],
        categories=names,
        facet=np.zeros(len(rows), np.int64),
        facets=("",),
        hover=hover,
        shape=shape[index[rows]],
        shapes=tuple(mechanisms.short(name) for name in shapes),
        muted=muted,
        bulk=bulk,
        bulk_noun="runs",
        utility_sign=sign(view, view.utility),
        risk_sign=sign(view, view.risk),
    )


def badge(view: RiskUtilityMap, index: int) -> str:
    """The number of tables that a scenario publishes together, where there are several."""
    tables = mechanisms.tables_of(view.scenarios[index].spec)
    return f"D={tables}" if tables > 1 else ""


def several_tables(view: RiskUtilityMap) -> bool:
    """Return whether some candidate publishes several tables together."""
    codes, names = coded(view, "mechanism")
    several = [mechanism(name).many_tables for name in names]
    mixed = np.flatnonzero(np.array(several, bool)[codes])
    return any(mechanisms.tables_of(view.scenarios[i].spec) > 1 for i in mixed.tolist())


def sign(view: RiskUtilityMap, k: int) -> float:
    """1 where a measure's loss is the measure itself (or its size), -1 where it is the negative."""
    return -1.0 if view.measures[k].measure.better == "higher" else 1.0


def value_of(view: RiskUtilityMap, k: int, loss: float) -> float:
    """A loss in the measure's own units."""
    return sign(view, k) * loss


def is_placed(view: RiskUtilityMap, index: int) -> bool:
    """Return whether a scenario has a place on the map: figures of risk and utility."""
    return not (np.isnan(view.risk_loss[index]) or np.isnan(view.utility_loss[index]))


def is_dominated(view: RiskUtilityMap, index: int) -> bool:
    """Return whether another scenario is as safe and as useful, and better in one of the two."""
    return is_placed(view, index) and not view.dominance.undominated[index]


def dominance_words(view: RiskUtilityMap, index: int, on: str = "frontier") -> str:
    """Words on whether a scenario is on the frontier (``on``, in words) or dominated, and how sure that is."""
    if not is_placed(view, index):
        return view.why_apart(index)
    if view.changes_nothing[index]:
        return "no change: its rows are those of the original"
    where = "dominated" if is_dominated(view, index) else on
    return f"{where}, {'clear' if view.dominance.clear[index] else 'uncertain'}"


def quantile_words(view: RiskUtilityMap, index: int) -> str:
    """The risk that a share of the single runs of a scenario do not exceed, with its interval."""
    found = view.quantiles
    risk, low, high = (
        value_of(view, view.risk, float(ends[index])) for ends in (found.quantile, found.low, found.high)
    )
    low, high = min(low, high), max(low, high)
    ends = " to ".join("no end" if np.isinf(end) else text.figure(end) for end in (low, high))
    return f"{run_share(view)} of its runs are no riskier than {text.figure(risk)} (95 % interval: {ends})"


def run_share(view: RiskUtilityMap) -> str:
    """The share of single runs that a quantile is of."""
    return f"{float(100 * view.quantiles.probability):g} %"


def words(view: RiskUtilityMap, index: int, by_quantile: bool = False) -> str:
    """The text that the mouse shows over a scenario."""
    scenario, summary = view.scenarios[index], view.summary
    lines: list[str] = [drawn("<b>{}</b> ({})", text.swap_short(scenario.spec), scenario.label)]
    for k in (view.risk, view.utility):
        figures = text.with_error(summary.mean[index, k], summary.se[index, k])
        lines.append(f"{text.measure_name(view.measures[k])}: {figures}")
    if by_quantile:
        lines.append(quantile_words(view, index))
    tables = mechanisms.tables_of(scenario.spec)
    if tables > 1:
        lines.append(f"{tables} tables published together")
        joint = joint_measure(view)
        if joint is not None and joint != view.risk:
            figures = text.with_error(summary.mean[index, joint], summary.se[index, joint])
            lines.append(f"{text.measure_name(view.measures[joint])}: {figures}")
    lines.append(dominance_words(view, index, on="on the frontier"))
    share = view.dominance.share[index]
    if not np.isnan(share):
        lines.append(f"on the frontier in {on_frontier_words(share, int(view.shared_runs[index]))}")
    if not np.isnan(summary.changed[index]):
        lines.append(f"{summary.changed[index]:,.0f} records changed")
    if households := households_words(view, index):
        lines.append(f"{households} moved")
    if summary.failed[index]:
        lines.append(f"{text.plural(int(summary.failed[index]), 'run')} failed")
    if view.risk_loss[index] > view.original_losses[view.risk]:
        lines.append(drawn("<b>riskier than doing nothing</b>"))
    return stacked(lines)


def households_words(view: RiskUtilityMap, index: int) -> str:
    """The mean number of households that a scenario moves, such as ``7,600 households``; empty where it moves none."""
    if view.households is None or np.isnan(view.households[index]):
        return ""
    return f"{view.households[index]:,.0f} households"


def joint_measure(view: RiskUtilityMap) -> int | None:
    """The column of the measure that judges all tables together, where one beside it judges one table at a time."""
    names = {call.measure.name for call in view.measures}
    joint = (k for k, call in enumerate(view.measures) if not names.isdisjoint(call.measure.judges_jointly))
    return next(joint, None)


def _run_words(view: RiskUtilityMap, index: int, replicate: int, loss: list[float]) -> str:
    scenario = view.scenarios[index]
    lines: list[str] = [drawn("<b>{}</b>, run {} ({})", text.swap_short(scenario.spec), replicate, scenario.label)]
    lines += [
        f"{text.measure_name(view.measures[k])}: {text.figure(value_of(view, k, loss[k]))}"
        for k in (view.risk, view.utility)
    ]
    return stacked(lines)


def marks(view: RiskUtilityMap, look: Look, points: Cloud, shown: Shown) -> Marks:
    """Anchors, bound, letters and titles."""
    original = view.original_losses
    row = {} if look.drawn == "runs" else {int(index): i for i, index in enumerate(points.index.tolist())}
    by_quantile = look.drawn == "quantile"
    plain = look.drawn in ("map", "quantile", "measures")
    flags = {}
    for letter, index in shown.letters.items():
        if plain and index in row:
            flags[row[index]] = f"{letter} {badge(view, index)}".strip()
    # A bound or slope belongs to the map that it picks from; the paper's figures stand without it.
    rule = plain or look.drawn == "labelled"
    on_risk = not by_quantile or view.single_runs is not None  # a bound on the mean says nothing about a quantile
    of_runs = f", {run_share(view)} quantile of runs" if by_quantile else ""
    return Marks(
        original=(float(original[view.utility]), float(original[view.risk])),
        risk_title=text.risk_axis(view.measures[view.risk], of_runs),
        utility_title=text.utility_axis(view.measures[view.utility], distortion=look.distortion),
        bound=look.bound if rule and on_risk else None,
        slope=look.slope if rule and look.drawn != "rates" and not by_quantile else None,
        optimum=None if shown.optimum is None or not rule else row.get(shown.optimum),
        selected=None if shown.selected is None else row.get(shown.selected),
        flags=flags,
        pins={row[index]: name for index, name in shown.pins.items() if index in row} if plain else {},
        errors=look.errors and look.drawn in ("map", "quantile", "pooled"),
        span=look.span,
        legend=colourings(view).get("rate" if look.drawn == "pooled" else look.colour, ""),
        distortion=look.distortion,
        height=HEIGHT - 45 if look.drawn == "runs" else HEIGHT + 12 * len(points.shapes),
    )


def figure(view: RiskUtilityMap, look: Look, shown: Shown | None = None) -> Figure:
    """The map under a look."""
    shown = shown or Shown()
    points = cloud(view, look, sorted(shown.indices))
    figure_marks = marks(view, look, points, shown)
    return risk_utility(
        points, figure_marks if not look.highlight or look.drawn != "runs" else replace(figure_marks, legend="")
    )
