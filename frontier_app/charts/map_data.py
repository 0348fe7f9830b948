"""The data of a risk–utility map: points, marks, ranges and groups, from the engine's map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engine.frontier.risk_utility_map import RiskUtilityMap, undominated_among
from engine.frontier.summary import losses
from engine.mechanisms import amount, mechanism
from engine.release.spec import RANDOM_SWAP
from engine.report.words import on_frontier_words
from frontier_app.charts.style import COLOURS, SHAPES
from frontier_app.session.state import Look
from frontier_app.wording import mechanisms, text
from frontier_app.wording.markup import drawn, stacked

HEIGHT = 440
_NONE: Mapping[int, str] = {}


@dataclass(frozen=True)
class Cloud:
    """The points of a map in the measures' own figures, what a click on each tells, how they are sorted.

    ``on`` marks the frontier, ``category`` indexes ``categories`` (colour and shape), ``facet`` indexes ``facets``
    (panels).  Where there are ``shapes``, ``shape`` indexes them and colour alone shows the category.  The category
    ``muted`` is drawn in grey behind the others.  ``words`` are drawn beside points; most may be empty.  Points that
    are not ``lit`` fade; ``filled`` says which are filled where that is not the frontier.
    ``bulk`` are further points (use, risk, facet, lit), too many to draw one by one: a density of ``bulk_noun``.
    ``ends`` are those of an interval about each risk (infinite where it has no end), drawn in place of errors.
    ``signs`` are, for use and risk, 1 where less is better and -1 where more is.
    """

    use: np.ndarray
    risk: np.ndarray
    index: np.ndarray
    on: np.ndarray
    category: np.ndarray
    categories: tuple[str, ...]
    use_se: np.ndarray | None = None
    risk_se: np.ndarray | None = None
    ends: np.ndarray | None = None
    facet: np.ndarray | None = None
    facets: tuple[str, ...] = ("",)
    hover: np.ndarray | None = None
    shape: np.ndarray | None = None
    shapes: tuple[str, ...] = ()
    words: np.ndarray | None = None
    muted: int = -1
    lit: np.ndarray | None = None
    filled: np.ndarray | None = None
    bulk: np.ndarray | None = None
    bulk_noun: str = "candidates"
    signs: tuple[float, float] = (1.0, 1.0)

    def panel(self, number: int) -> Cloud:
        """The points of one panel."""
        rows = self.facet == number
        bulk = None if self.bulk is None else self.bulk[:, self.bulk[2] == number]
        arrays: dict[str, Any] = {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        return replace(self, **{name: value[..., rows] for name, value in arrays.items() if name != "bulk"}, bulk=bulk)

    @property
    def is_placed(self) -> np.ndarray:
        """Which points have figures of use and risk."""
        placed: np.ndarray = ~(np.isnan(self.use) | np.isnan(self.risk))
        return placed

    @property
    def along_frontier(self) -> np.ndarray:
        """Rows of the frontier, the safest first."""
        on = np.flatnonzero(self.on)
        rows: np.ndarray = on[np.lexsort((-self.signs[0] * self.use[on], self.signs[1] * self.risk[on]))]
        return rows


@dataclass(frozen=True)
class Marks:
    """The marks drawn besides the points, and the axes' titles.

    ``original`` has use and risk of the data as they are.  ``span`` is what the axes reach: "zero" from no risk to the
    data as they are, "original" the candidates and the data as they are, "frontier" the frontier alone.  What is left
    out is said in the figure.  ``flags`` and ``pins`` name scenarios by their place; ``optimum``, ``selected`` are
    places too.  ``slope`` is a straight trade-off through ``optimum``, in risk per unit of use.  ``within`` says how
    many candidates are within the bound, ``box`` is a range that was selected (use, then risk).  ``shares`` are the
    axes (use, risk) that are in percent.
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
    legend: str | None = ""
    distortion: bool = False
    height: int = HEIGHT
    within: str = ""
    box: tuple[float, float, float, float] | None = None
    shares: tuple[bool, bool] = (False, False)
    dark: bool = False


def ranges(cloud: Cloud, marks: Marks) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ranges of the axes, (left, right) and (bottom, top): use to the right (distortion to the left), risk upwards."""
    known, ends = cloud.is_placed, []
    alone = marks.span == "frontier" and (known & cloud.on).sum() > 1
    if alone:
        known &= cloud.on
    for k, (figures, se) in enumerate(((cloud.use, cloud.use_se), (cloud.risk, cloud.risk_se))):
        held = [figures[known]]
        if not alone:
            held.append([marks.original[k], *([marks.bound] if k and marks.bound is not None else [])])
            if cloud.bulk is not None and np.isfinite(cloud.bulk[0]).any():
                held.append([np.nanmin(cloud.bulk[k]), np.nanmax(cloud.bulk[k])])
            if k and marks.span == "zero" and cloud.signs[1] > 0:
                held.append([0.0])
        if marks.errors and se is not None:  # no bar is cut off, but those of intervals, which may be endless
            on = known & cloud.on
            half = np.nan_to_num(se[on])
            held += [figures[on] - half, figures[on] + half]
        losses = cloud.signs[k] * np.concatenate(held)
        least, most = float(losses.min()), float(losses.max())
        ends.append((least, most, float(np.ptp(losses)) or abs(most) or 1.0))
    aside, below = (0.12, 0.12) if marks.span == "frontier" else (0.1, 0.14)  # below are words on the limit
    (best, worst, wide), (safest, riskiest, high) = ends
    sx, sy = cloud.signs
    left, right = sx * (worst + aside * wide), sx * (best - 0.06 * wide)
    up = sy * (safest - below * high), sy * (riskiest + 0.12 * high)
    return (right, left) if marks.distortion else (left, right), up


OTHER = "other amounts"
"""The amounts that are no shares, where some are."""


def swappable(view: RiskUtilityMap) -> list[str]:
    """Attributes that some scenario swaps."""
    names = view.scenarios[0].spec.attributes.names
    _, roles = view.scenarios.coded("roles")
    return [name for j, name in enumerate(names) if any(role[j] == "S" for role in roles)]


def colourings(view: RiskUtilityMap) -> dict[str, str]:
    """Ways to colour the map, with their words."""
    return {
        "standing": "Standing",
        "rate": "Swap rate" if has_rates(view) else "Amount",
        "number": "Attributes swapped",
        **{f"swaps {name}": f"Swaps {name}" for name in swappable(view)},
    }


def categories(view: RiskUtilityMap, colour: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Each scenario's category under a colouring, and the categories' words."""
    if colour == "standing":
        return np.where(view.dominance.undominated, 0, 1), ("frontier", "other candidates")
    codes, roles = view.scenarios.coded("roles")
    if colour == "number":
        numbers, category = np.unique([role.count("S") for role in roles], return_inverse=True)
        return category[codes], tuple(str(n) for n in numbers.tolist())
    for j, name in enumerate(view.scenarios[0].spec.attributes.names):
        if colour == f"swaps {name}":
            return np.array([0 if role[j] == "S" else 1 for role in roles])[codes], ("yes", "no")
    return amounts(view)


def has_rates(view: RiskUtilityMap) -> bool:
    """Return whether all candidates are random swaps, so that their amount is a rate."""
    return view.scenarios.coded("mechanism")[1] == (RANDOM_SWAP,)


def amounts(view: RiskUtilityMap) -> tuple[np.ndarray, tuple[str, ...]]:
    """Each scenario's amount, as a place among the amounts in ascending order; of several mechanisms the shares alone,
    after one place for all others."""
    together = np.zeros(len(view.scenarios), np.int64)
    for name in ("mechanism", "rate", "params"):
        codes, texts = view.scenarios.coded(name)
        together = together * len(texts) + codes
    _, first, codes = np.unique(together, return_index=True, return_inverse=True)
    found = [amount(view.scenarios[i].spec) for i in first.tolist()]
    alone = len(view.scenarios.coded("mechanism")[1]) == 1
    words = [one.short if alone or one.kind == "share" else OTHER for one in found]
    order = {text: one.order[1] if text != OTHER else -1.0 for text, one in zip(words, found, strict=True)}
    names = sorted(order, key=lambda text: (order[text], text))
    return np.array([names.index(text) for text in words])[codes], tuple(names)


def forms(view: RiskUtilityMap) -> tuple[np.ndarray, tuple[str, ...]]:
    """Each scenario's mechanism, as a place among those of the study; no names where there is only one."""
    codes, names = view.scenarios.coded("mechanism")
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
    "labelled": "Labels",
    "runs": "Runs",
    "measures": "Measures",
}
"""Figures of a study: the map with its recommendation, the same by a quantile of the risk of single runs, and figures
3, 5 and 7 of Gomatam, Karr and Sanil (2005); their figure 4 is the map coloured by rate."""


@dataclass(frozen=True)
class Shown:
    """Scenarios that are marked on a map, by place: at hand, recommended, with letters, pinned with names, and all that
    pass the filters (None: every one)."""

    selected: int | None = None
    optimum: int | None = None
    letters: Mapping[str, int] = field(default_factory=dict)
    pins: Mapping[int, str] = field(default_factory=dict)
    lit: np.ndarray | None = None
    dark: bool = False

    @property
    def indices(self) -> set[int]:
        """All of them."""
        alone = {index for index in (self.selected, self.optimum) if index is not None}
        return {*self.letters.values(), *self.pins, *alone}


def _labels(view: RiskUtilityMap, indices: np.ndarray, on: np.ndarray, facet: np.ndarray) -> list[str]:
    """The labels beside points of a labelled figure: the attributes swapped and the amount; of crowded panels only an
    even part of the frontier is labelled."""
    labelled = np.ones(len(indices), bool)
    for panel in np.flatnonzero(np.bincount(facet) > _LABELLED).tolist():
        front = np.flatnonzero(on & (facet == panel))
        front = front[np.argsort(view.risk_loss[indices[front]])]
        labelled[facet == panel] = False
        labelled[front[np.unique(np.linspace(0, len(front) - 1, _LABELLED).astype(np.int64))]] = True
    labels = []
    for index, is_labelled in zip(indices.tolist(), labelled.tolist(), strict=True):
        spec = view.scenarios[index].spec
        swapped = "+".join(spec.attributes.names_having("S")) if spec.by_roles else ""
        labels.append(f"{swapped} {mechanisms.settings(spec)}".strip() if is_labelled else "")
    return labels


def cloud(view: RiskUtilityMap, look: Look, marked: Sequence[int] = (), lit: np.ndarray | None = None) -> Cloud:
    """The map's points: scenarios by their means, or every run.  ``marked`` are drawn also where points are many."""
    if look.drawn == "runs":
        return _runs(view, look, lit)
    by_quantile, by_rate = look.drawn == "quantile", look.drawn == "rates"
    n = len(view.scenarios)
    visible = np.ones(n, bool)
    facet, facets = amounts(view) if by_rate else (np.zeros(n, np.int64), ("",))
    if len(facets) > PANELS:
        drawn_rates = np.unique(np.linspace(0, len(facets) - 1, PANELS).round().astype(np.int64))
        visible = visible & np.isin(facet, drawn_rates)
        facet, facets = np.searchsorted(drawn_rates, facet), tuple(facets[i] for i in drawn_rates.tolist())
    if by_rate:
        on = np.zeros(n, bool)
        for panel in range(len(facets)):
            on |= undominated_among(view, visible & (facet == panel))
        of = "swap rate" if has_rates(view) else "amount"
        facets = tuple(f"{of} {name} (a scale of its own)" for name in facets)
    else:
        on = (view.undominated_by_quantile() if by_quantile else view.dominance.undominated) & visible
    use = sign(view, view.utility) * view.utility_loss
    risk = sign(view, view.risk) * (view.quantiles.quantile if by_quantile else view.risk_loss)
    bulk, shown = None, visible.copy()
    is_many = int(visible.sum()) > (MANY if len(facets) == 1 else _PANELLED)
    if is_many:
        shown, rest = on.copy(), visible & ~on
        bulk = np.array([use[rest], risk[rest], facet[rest], np.ones(len(use))[rest] if lit is None else lit[rest]])
    if is_many or not by_rate:
        shown[[i for i in marked if visible[i] or not by_rate]] = True
    index = np.flatnonzero(shown)
    points: dict[str, Any] = {"use_se": view.summary.loss_se[index, view.utility]}
    if by_quantile:
        found = view.quantiles
        points["ends"] = sign(view, view.risk) * np.array([found.low[index], found.high[index]])
    else:
        points["risk_se"] = view.summary.loss_se[index, view.risk]
    if len(index) <= _HOVERED:
        points["hover"] = np.array([words(view, i, by_quantile) for i in index.tolist()], object)
    if by_rate or look.drawn == "labelled":
        points["words"] = np.array(_labels(view, index, on[index], facet[index]), object)
    points |= {"use": use[index], "risk": risk[index], "on": on[index], "facet": facet[index], "facets": facets}
    if lit is not None:
        points["lit"] = lit[index]
    colour = "rate" if by_rate and look.colour == "standing" else look.colour
    if colour == "standing":
        points |= {"muted": 1, "filled": (on if look.bound is None else within_limit(view, look.bound))[index]}
    sorting = categories(view, colour)
    return _sorted(view, index, sorting, bulk=bulk, **points)


def _sorted(view: RiskUtilityMap, index: np.ndarray, sorting: tuple[np.ndarray, tuple[str, ...]], **more: Any) -> Cloud:
    """Points of these scenarios with their categories, a code and a name each, and shapes."""
    shape, shapes = forms(view)
    codes, names = binned(*sorting, len(COLOURS) if shapes else len(SHAPES))
    short = tuple(mechanisms.short(name) for name in shapes)
    signs = sign(view, view.utility), sign(view, view.risk)
    looks: dict[str, Any] = {"category": codes[index], "categories": names, "shape": shape[index], "shapes": short}
    return Cloud(index=index, signs=signs, **looks, **more)


def _runs(view: RiskUtilityMap, look: Look, lit: np.ndarray | None = None) -> Cloud:
    """Every run as a point; the runs that swap the highlighted attribute stand out from the others."""
    results = view.results
    run = np.flatnonzero(results.counted(view.allow_partial))
    if lit is not None:
        run = run[lit[results.scenario[run]]]
    index = results.scenario[run]
    loss = losses(results.values[run], [call.measure for call in view.measures])
    use, risk = (sign(view, k) * loss[:, k] for k in (view.utility, view.risk))
    on = view.realisations_undominated()[run]
    highlighted = look.highlight if look.highlight in swappable(view) else None
    codes, names = categories(view, f"swaps {highlighted}" if highlighted else look.colour)
    if highlighted:
        names = (f"swaps {highlighted}", "others")
    more: dict[str, Any] = {"muted": 1 if highlighted or look.colour == "standing" else -1, "bulk_noun": "runs"}
    rows = np.arange(len(run))
    if len(run) > MANY:
        stands_out = codes[index] == 0 if highlighted else np.zeros(len(run), bool)
        shown = on | stands_out if stands_out.sum() <= _LIT else on
        more["bulk"] = np.array([use[~shown], risk[~shown], *np.outer([0, 1], np.ones(int((~shown).sum())))])
        rows = np.flatnonzero(shown)
    if len(rows) <= _HOVERED:
        numbers = results.replicate[run].tolist()
        more["hover"] = np.array([_run_words(view, index[i], numbers[i], loss[i]) for i in rows.tolist()], object)
    return _sorted(view, index[rows], (codes, names), use=use[rows], risk=risk[rows], on=on[rows], **more)


def badge(view: RiskUtilityMap, index: int) -> str:
    """The number of tables that a scenario publishes together, where there are several."""
    tables = mechanisms.tables_of(view.scenarios[index].spec)
    return f"D={tables}" if tables > 1 else ""


def several_tables(view: RiskUtilityMap) -> bool:
    """Return whether some candidate publishes several tables together."""
    codes, names = view.scenarios.coded("mechanism")
    several = [mechanism(name).many_tables for name in names]
    mixed = np.flatnonzero(np.array(several, bool)[codes])
    return any(mechanisms.tables_of(view.scenarios[i].spec) > 1 for i in mixed.tolist())


def sign(view: RiskUtilityMap, k: int) -> float:
    """1 where a measure's loss is the measure itself (or its size), -1 where it is the negative."""
    return -1.0 if view.measures[k].measure.better == "higher" else 1.0


def value_of(view: RiskUtilityMap, k: int, loss: float) -> float:
    """A loss in the measure's own units."""
    return sign(view, k) * loss


def is_dominated(view: RiskUtilityMap, index: int) -> bool:
    """Return whether another scenario is as safe and as useful, and better in one of the two."""
    known = not np.isnan(view.risk_loss[index] + view.utility_loss[index])
    return bool(known and not view.dominance.undominated[index])


def dominance_words(view: RiskUtilityMap, index: int, on: str = "frontier") -> str:
    """Words on whether a scenario is on the frontier (``on``, in words) or dominated, and how sure that is."""
    if np.isnan(view.risk_loss[index] + view.utility_loss[index]):
        return view.why_apart(index)
    if view.changes_nothing[index]:
        return "no change: its rows are those of the original"
    where = "dominated" if is_dominated(view, index) else on
    if beside := beside_original(view, index):
        where = beside if where == "dominated" else f"{where}, but {beside}"
    over = "; over the limit of an edit rule" if view.over_edits[index] else ""
    return f"{where}, {'clear' if view.dominance.clear[index] else 'uncertain'}{over}"


def within_limit(view: RiskUtilityMap, bound: float) -> np.ndarray:
    """Mask of the candidates within a limit; where none has the runs that this takes, by their means."""
    return view.meets(bound) if not np.isnan(view.bounded_risk).all() else np.asarray(view.offered_risk <= bound)


def beside_original(view: RiskUtilityMap, index: int) -> str:
    """Words on a candidate that is by its means no better than the original on risk and on use; else empty."""
    risk, use = (
        float(loss[index] - view.original_losses[k])
        for loss, k in ((view.risk_loss, view.risk), (view.utility_loss, view.utility))
    )
    if not (risk >= 0 and use >= 0):
        return ""
    return "worse than the original" if risk > 0 < use else "equal to the original" if risk == use else "no better"


def is_share(view: RiskUtilityMap, k: int) -> bool:
    """Return whether a measure is shown in percent."""
    return bool(view.measures[k].measure.share_of)


def short_figure(view: RiskUtilityMap, k: int, value: float) -> str:
    """A measure's figure in three digits, a share in percent."""
    return f"{text.figure(100 * value, 3)} %" if is_share(view, k) and value == value else text.figure(value, 3)


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
        found = view.quantiles
        risk, *ends = (value_of(view, view.risk, float(of[index])) for of in (found.quantile, found.low, found.high))
        low, high = ("no end" if np.isinf(end) else text.figure(end) for end in sorted(ends))
        share = f"{run_share(view)} of its runs are no riskier than {text.figure(risk)}"
        lines.append(f"{share} (95 % interval: {low} to {high})")
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


def _run_words(view: RiskUtilityMap, index: int, replicate: int, loss: np.ndarray) -> str:
    scenario = view.scenarios[int(index)]
    lines: list[str] = [drawn("<b>{}</b>, run {} ({})", text.swap_short(scenario.spec), replicate, scenario.label)]
    for k in (view.risk, view.utility):
        lines.append(f"{text.measure_name(view.measures[k])}: {text.figure(value_of(view, k, float(loss[k])))}")
    return stacked(lines)


def marks(view: RiskUtilityMap, look: Look, points: Cloud, shown: Shown) -> Marks:
    """Anchors, bound, letters and titles."""
    by_quantile, by_run = look.drawn == "quantile", look.drawn == "runs"
    known = set() if by_run else set(points.index.tolist())
    plain = look.drawn in ("map", "quantile", "measures")
    # A bound or slope belongs to the map that it picks from; the paper's figures stand without it.
    rule = plain or look.drawn == "labelled"
    on_risk = not by_quantile or view.single_runs is not None  # a bound on the mean says nothing about a quantile
    of_runs = f", {run_share(view)} quantile of runs" if by_quantile else ""
    use, risk = (value_of(view, k, float(view.original_losses[k])) for k in (view.utility, view.risk))
    is_legend, signs = not (by_run and look.highlight), points.signs
    colour = "rate" if look.drawn == "rates" and look.colour == "standing" else look.colour
    within = ""
    if look.bound is not None and plain and not by_quantile:
        within = f"within the limit: {int(within_limit(view, look.bound).sum()):,}"
    box = None
    if look.box is not None and plain:
        r0, r1, u0, u1 = look.box
        box = (signs[0] * u0, signs[0] * u1, signs[1] * r0, signs[1] * r1)
    return Marks(
        original=(use, risk),
        risk_title=text.risk_axis(view.measures[view.risk], of_runs),
        utility_title=text.utility_axis(view.measures[view.utility], distortion=look.distortion),
        bound=value_of(view, view.risk, look.bound) if look.bound is not None and rule and on_risk else None,
        slope=signs[0] * signs[1] * look.slope if look.slope is not None and rule and not by_quantile else None,
        optimum=shown.optimum if rule and shown.optimum in known else None,
        selected=shown.selected if shown.selected in known else None,
        flags={i: f"{letter} {badge(view, i)}".strip() for letter, i in shown.letters.items() if plain and i in known},
        pins={index: name for index, name in shown.pins.items() if plain and index in known},
        errors=by_quantile or (look.errors and look.drawn == "map"),
        span=look.span,
        legend=None if colour == "standing" and plain else colourings(view).get(colour, "") if is_legend else "",
        distortion=look.distortion,
        height=HEIGHT - 45 if by_run else HEIGHT + 12 * len(points.shapes),
        within=within,
        box=box,
        shares=(is_share(view, view.utility), is_share(view, view.risk)),
        dark=shown.dark,
    )
