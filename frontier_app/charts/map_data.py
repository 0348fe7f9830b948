"""The data of a risk–utility map: points, marks, ranges and groups, from the engine's map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.frontier.risk_utility_map import RiskUtilityMap, undominated_among
from engine.frontier.summary import losses
from engine.mechanisms import amount, mechanism
from engine.release.scenarios import Scenarios
from engine.release.spec import RANDOM_SWAP, AttributeSpec
from engine.report.words import on_frontier_words
from frontier_app.charts.style import COLOURS, SHAPES
from frontier_app.session.state import Look
from frontier_app.wording import mechanisms, text
from frontier_app.wording.markup import drawn, stacked

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


HEIGHT = 440
_GAP = 0.12  # of the height, between all panels
_NONE: Mapping[int, str] = {}


@dataclass(frozen=True)
class Cloud:
    """The points of a map: figures turned so that smaller is better, what a click on each tells, how they are sorted.

    ``on`` marks the frontier, ``category`` indexes ``categories`` (colour and shape), ``facet`` indexes ``facets``
    (panels).  Where there are ``shapes``, ``shape`` indexes them and colour alone shows the category.  The category
    ``muted`` is drawn in grey behind the others.  ``words`` are drawn beside points; most may be empty.
    ``bulk`` are further points (loss, risk, facet), too many to draw one by one: a density of ``bulk_noun``.
    ``interval`` holds the ends of an interval about each risk (infinite where it has no end), drawn in place of errors.
    The signs are 1 where a loss is the measure itself and -1 where it is the negative; tick labels are the measure's
    own figures either way.
    """

    loss: np.ndarray
    risk: np.ndarray
    loss_se: np.ndarray
    risk_se: np.ndarray
    index: np.ndarray
    on: np.ndarray
    category: np.ndarray
    categories: tuple[str, ...]
    facet: np.ndarray
    facets: tuple[str, ...]
    hover: Sequence[str]
    shape: np.ndarray | None = None
    shapes: tuple[str, ...] = ()
    words: Sequence[str] = ()
    muted: int = -1
    bulk: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    bulk_noun: str = "candidates"
    interval: tuple[np.ndarray, np.ndarray] | None = None
    utility_sign: float = 1.0
    risk_sign: float = 1.0


@dataclass(frozen=True)
class Marks:
    """The marks drawn besides the points, and the axes' titles.

    ``span`` is what the axes reach: "zero" from no risk to the data as they are, "original" the candidates and the
    data as they are, "frontier" the frontier alone.  What is left out is said in the figure.
    ``flags`` and ``pins`` name rows of the cloud; ``optimum``, ``selected`` are rows too.  ``slope`` is a straight
    trade-off through the row ``optimum``, in risk per unit of loss.
    """

    original: tuple[float, float]
    risk_title: str
    utility_title: str
    bound: float | None = None
    slope: float | None = None
    optimum: int | None = None
    selected: int | None = None
    flags: Mapping[int, str] = field(default_factory=lambda: _NONE)
    pins: Mapping[int, str] = field(default_factory=lambda: _NONE)
    errors: bool = False
    span: str = "original"
    legend: str = ""
    distortion: bool = False
    height: int = HEIGHT


def ranges(cloud: Cloud, marks: Marks) -> tuple[tuple[float, float], tuple[float, float]]:
    """Axis ranges as (worst, best) loss and (bottom, top) risk."""
    known = ~(np.isnan(cloud.loss) | np.isnan(cloud.risk))
    if marks.span == "frontier" and (known & cloud.on).sum() > 1:
        known &= cloud.on
        loss, risk = cloud.loss[known], cloud.risk[known]
    else:
        loss = np.append(cloud.loss[known], marks.original[0])
        risk = np.append(cloud.risk[known], [marks.original[1], *([] if marks.bound is None else [marks.bound])])
        if cloud.bulk is not None and np.isfinite(cloud.bulk[0]).any():
            loss, risk = (
                np.append(a, [np.nanmin(b), np.nanmax(b)]) for a, b in zip((loss, risk), cloud.bulk[:2], strict=True)
            )
        if marks.span == "zero" and cloud.risk_sign > 0:
            risk = np.append(risk, 0.0)
    if marks.errors:  # no bar is cut off, but those of intervals, which may be endless
        on = known & cloud.on
        loss, risk = (
            np.concatenate([shown, middle[on] - half, middle[on] + half])
            for shown, middle, half in (
                (loss, cloud.loss, np.nan_to_num(cloud.loss_se[on])),
                (risk, cloud.risk, np.nan_to_num(cloud.risk_se[on]) * (cloud.interval is None)),
            )
        )
    wide, high = (float(np.ptp(x)) or abs(float(x.max())) or 1.0 for x in (loss, risk))
    # Beside the least useful candidate and below the safest one the words of no release have room.
    aside, below = (0.12, 0.12) if marks.span == "frontier" else (0.26, 0.14)
    across = float(loss.max()) + aside * wide, float(loss.min()) - 0.11 * wide
    return across, (float(risk.min()) - below * high, float(risk.max()) + 0.12 * high)


@dataclass(frozen=True)
class FigureDraft:
    """A figure in the making, as plotly's own tables: to build its objects one by one takes five times as long.

    ``panels`` are above each other, the first on top.
    """

    panels: int = 1
    traces: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)
    axes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def domain(self, panel: int) -> tuple[float, float]:
        """Bottom and top of a panel, as shares of the figure's height."""
        gap = _GAP / max(1, self.panels - 1)
        high = (1 - gap * (self.panels - 1)) / self.panels
        top = 1 - panel * (high + gap)
        return max(0.0, top - high), top

    def figure(self, **layout: Any) -> Figure:
        """The figure, with what else its layout says."""
        from plotly.graph_objects import Figure

        return Figure(
            {"data": self.traces, "layout": self.axes | layout | {"annotations": self.notes, "shapes": self.shapes}}
        )


@dataclass(frozen=True)
class Panel:
    """A panel of a figure, by its number from the top: what is drawn, in the measures' units, and its axes' ranges."""

    draft: FigureDraft
    number: int
    cloud: Cloud
    marks: Marks
    across: tuple[float, float]
    up: tuple[float, float]

    def axis(self, letter: str) -> str:
        """The panel's axis, ``x`` or ``y``, as plotly names it."""
        return letter + (str(self.number + 1) if self.number else "")

    def trace(self, **what: Any) -> None:
        """Draw points or lines that have no entry in the legend."""
        axes = {"xaxis": self.axis("x"), "yaxis": self.axis("y")}
        self.draft.traces.append({"type": "scatter", "showlegend": False, **axes, **what})

    def note(self, x: float, y: float, text: str, **what: Any) -> None:
        """Write words at a place, without an arrow unless told."""
        axes = {"xref": self.axis("x"), "yref": self.axis("y")}
        self.draft.notes.append({"x": x, "y": y, "text": text, "showarrow": False, **axes, **what})

    def band(self, low: float, high: float, **what: Any) -> None:
        """Draw a line or a ground from side to side, behind the points."""
        axes = {"xref": f"{self.axis('x')} domain", "yref": self.axis("y")}
        kind = "line" if low == high else "rect"
        self.draft.shapes.append(
            {"type": kind, "x0": 0, "x1": 1, "y0": low, "y1": high, "layer": "below", **axes, **what}
        )

    def share(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Places as shares of the drawing's width and height."""
        (x0, x1), (y0, y1) = self.across, self.up
        return (x - x0) / (x1 - x0), (y - y0) / (y1 - y0)

    def scaled(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points as shares of the drawing's width and height."""
        return self.share(self.cloud.loss[rows], self.cloud.risk[rows])

    def risk_bars(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the bars about the risks of some points; a bar without an end leaves the drawing."""
        risk = self.cloud.risk[rows]
        if self.cloud.interval is None:
            half = np.nan_to_num(self.cloud.risk_se[rows])
            return risk - half, risk + half
        low, high = np.sort([end[rows] for end in self.cloud.interval], axis=0)
        low = np.where(np.isinf(low), np.minimum(min(self.up), risk), low)
        return low, np.where(np.isinf(high), np.maximum(max(self.up), risk), high)


OTHER = "other amounts"
"""The amounts that are no shares, where some are."""


def coded(view: RiskUtilityMap, name: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Mechanism, rate or roles of every scenario as codes into its values, without making the scenarios of a study."""
    if isinstance(view.scenarios, Scenarios):
        return view.scenarios.coded(name)
    specs = [s.spec for s in view.scenarios]
    texts = [spec.attributes.roles if name == "roles" else str(getattr(spec, name)) for spec in specs]
    where = {value: code for code, value in enumerate(dict.fromkeys(texts))}
    return np.array([where[value] for value in texts], np.int32), tuple(where)


def swappable(view: RiskUtilityMap) -> list[str]:
    """Attributes that some scenario swaps."""
    names = view.scenarios[0].spec.attributes.names
    _, roles = coded(view, "roles")
    return [name for j, name in enumerate(names) if any(role[j] == "S" for role in roles)]


def _swaps(name: str) -> str:
    """The colouring by whether an attribute is swapped, as a saved view names it."""
    return f"swaps {name}"


def colourings(view: RiskUtilityMap) -> dict[str, str]:
    """Ways to colour the map, with their words."""
    return {
        "rate": "Swap rate" if _has_rates(view) else "Amount",
        "number": "Attributes swapped",
        **{_swaps(name): f"Swaps {name}" for name in swappable(view)},
    }


def categories(view: RiskUtilityMap, colour: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Each scenario's category under a colouring, and the categories' words."""
    names = view.scenarios[0].spec.attributes.names
    codes, roles = coded(view, "roles")
    if colour == "number":
        numbers, category = np.unique([role.count("S") for role in roles], return_inverse=True)
        return category[codes], tuple(str(n) for n in numbers.tolist())
    swapped = {_swaps(name): j for j, name in enumerate(names)}
    if (j := swapped.get(colour)) is not None:
        return np.array([0 if role[j] == "S" else 1 for role in roles])[codes], ("yes", "no")
    return amounts(view)


def _has_rates(view: RiskUtilityMap) -> bool:
    """Return whether all candidates are random swaps, so that their amount is a rate."""
    return coded(view, "mechanism")[1] == (RANDOM_SWAP,)


def amounts(view: RiskUtilityMap) -> tuple[np.ndarray, tuple[str, ...]]:
    """Each scenario's amount, as a place among the amounts in ascending order; of several mechanisms the shares alone,
    after one place for all others."""
    together = np.zeros(len(view.scenarios), np.int64)
    for name in ("mechanism", "rate", "params"):
        codes, texts = coded(view, name)
        together = together * len(texts) + codes
    _, first, codes = np.unique(together, return_index=True, return_inverse=True)
    found = [amount(view.scenarios[i].spec) for i in first.tolist()]
    alone = len(coded(view, "mechanism")[1]) == 1
    words = [one.short if alone or one.kind == "share" else OTHER for one in found]
    order = {text: one.order[1] if text != OTHER else -1.0 for text, one in zip(words, found, strict=True)}
    names = sorted(order, key=lambda text: (order[text], text))
    return np.array([names.index(text) for text in words])[codes], tuple(names)


def facet_titles(view: RiskUtilityMap, names: Sequence[str]) -> tuple[str, ...]:
    """Titles of panels, one for each amount."""
    of = "swap rate" if _has_rates(view) else "amount"
    return tuple(f"{of} {name} (a scale of its own)" for name in names)


def forms(view: RiskUtilityMap) -> tuple[np.ndarray, tuple[str, ...]]:
    """Each scenario's mechanism, as a place among those of the study; no names where there is only one."""
    codes, names = coded(view, "mechanism")
    return codes, names if len(names) > 1 else ()


def binned(codes: np.ndarray, names: tuple[str, ...], most: int = len(COLOURS)) -> tuple[np.ndarray, tuple[str, ...]]:
    """Neighbouring categories together, so that each of at most ``most`` keeps a look of its own."""
    if len(names) <= most:
        return codes, names
    own = 1 if names[0] == OTHER else 0
    parts = [np.arange(own)] * own + np.array_split(np.arange(own, len(names)), most - own)
    where = np.concatenate([np.full(len(part), i) for i, part in enumerate(parts)])
    labels = (names[p[0]] if len(p) == 1 else f"{names[p[0]]} to {names[p[-1]]}" for p in parts)
    return where[codes], tuple(labels)


def abbreviations(names: Sequence[str]) -> dict[str, str]:
    """A sign of its own for every name: one of its letters where one is free, else any; numbers where none is left."""
    short: dict[str, str] = {}
    for number, name in enumerate(names, 1):
        own = [sign.upper() for sign in name if sign.isalpha()]
        free = (sign for sign in (*own, *ascii_uppercase, *ascii_lowercase) if sign not in short.values())
        short[name] = next(free, str(number))
    return short


def swap_label(spec: AttributeSpec, short: Mapping[str, str]) -> str:
    """The attributes swapped, abbreviated: ``WS``; with signs between them where one is a number."""
    parts = [short[name] for name in spec.names_having("S")]
    return ("" if all(len(part) == 1 for part in parts) else "+").join(parts)


MANY = 50_000
"""Points above which a cloud is drawn as a density."""
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
    over = "; over the limit of an edit rule" if view.over_edits[index] else ""
    return f"{where}, {'clear' if view.dominance.clear[index] else 'uncertain'}{over}"


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
