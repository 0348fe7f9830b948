"""From the engine's map to the arrays that a figure takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.decision import RiskUtilityMap
from engine.evaluation import losses
from frontier_app import mechanisms, text
from frontier_app.charts import COLOURS, Cloud, Marks, risk_utility
from frontier_app.state import Look

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_HOVERED = 5_000  # points up to which each has its own words


def colourings(view: RiskUtilityMap) -> dict[str, str]:
    """Ways to colour the map, with their words."""
    names = view.scenarios[0].spec.attributes.names
    swapped = [name for j, name in enumerate(names) if any(s.spec.attributes.roles[j] == "S" for s in view.scenarios)]
    return {
        "rate": "Swap rate",
        "number": "Attributes swapped",
        **{f"swaps {name}": f"Swaps {name}" for name in swapped},
    }


def categories(view: RiskUtilityMap, colour: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Each scenario's category under a colouring, and the categories' words."""
    specs = [scenario.spec for scenario in view.scenarios]
    if colour == "number":
        numbers = np.array([spec.attributes.roles.count("S") for spec in specs])
        kept, codes = np.unique(numbers, return_inverse=True)
        return codes, tuple(str(n) for n in kept.tolist())
    if colour.startswith("swaps "):
        name = colour.removeprefix("swaps ")
        codes = np.array([0 if name in spec.attributes.names_having("S") else 1 for spec in specs])
        return codes, ("yes", "no")
    return rates(view)


def rates(view: RiskUtilityMap) -> tuple[np.ndarray, tuple[str, ...]]:
    """Each scenario's swap rate, as a place among the rates in ascending order."""
    texts = [scenario.spec.rate for scenario in view.scenarios]
    order = sorted(set(texts), key=lambda rate: float(rate or 0))
    where = {rate: i for i, rate in enumerate(order)}
    return np.array([where[rate] for rate in texts]), tuple(text.rate_words(rate) for rate in order)


def forms(view: RiskUtilityMap) -> tuple[np.ndarray, tuple[str, ...]]:
    """Each scenario's mechanism, as a place among those of the study; no names where there is only one."""
    used = [scenario.spec.mechanism for scenario in view.scenarios]
    order = list(dict.fromkeys(used))
    where = {name: i for i, name in enumerate(order)}
    return np.array([where[name] for name in used], np.int64), tuple(order) if len(order) > 1 else ()


def binned(codes: np.ndarray, names: tuple[str, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Neighbouring categories together, so that each keeps a colour of its own where shapes mean something else."""
    if len(names) <= len(COLOURS):
        return codes, names
    own = 1 if names[0] == text.rate_words("") else 0
    parts = [np.arange(own)] * own + np.array_split(np.arange(own, len(names)), len(COLOURS) - own)
    where = np.concatenate([np.full(len(part), i) for i, part in enumerate(parts)])
    words = (names[p[0]] if len(p) == 1 else f"{names[p[0]]} to {names[p[-1]]}" for p in parts)
    return where[codes], tuple(words)


def cloud(view: RiskUtilityMap, look: Look) -> Cloud:
    """The map's points: scenarios by their means, or every run."""
    codes, names = categories(view, look.colour)
    shape, shapes = forms(view)
    if shapes:
        codes, names = binned(codes, names)
    facet, facets = rates(view) if look.facets else (np.zeros(len(view.scenarios), np.int64), ("",))
    facets = tuple(f"swap rate {rate}" for rate in facets)
    summary, place = view.summary, np.arange(len(view.scenarios))
    if look.runs:
        use = view.results.counted(view.allow_partial)
        place = view.results.scenario[use]
        loss = losses(view.results.values[use], [call.measure for call in view.measures])
        unknown = np.full(len(place), np.nan)
        figures = (loss[:, view.utility], loss[:, view.risk], unknown, unknown)
        on = view.realisations_undominated()[use]
        hover: list[str] = []
        if len(place) <= _HOVERED:
            replicates = view.results.replicate[use]
            hover = [
                _run_words(view, *row) for row in zip(place.tolist(), replicates.tolist(), loss.tolist(), strict=True)
            ]
    else:
        figures = (
            view.utility_loss,
            view.risk_loss,
            summary.loss_se[:, view.utility],
            summary.loss_se[:, view.risk],
        )
        on = view.dominance.undominated
        hover = [words(view, i) for i in place.tolist()] if len(place) <= _HOVERED else []
    return Cloud(
        *figures,
        place=place,
        on=on,
        category=codes[place],
        categories=names,
        facet=facet[place],
        facets=facets,
        hover=hover,
        shape=shape[place],
        shapes=shapes,
        labels=[] if look.runs or not shapes else [badge(view, i) for i in place.tolist()],
        utility_sign=sign(view, view.utility),
        risk_sign=sign(view, view.risk),
    )


def badge(view: RiskUtilityMap, place: int) -> str:
    """How many tables a scenario publishes together, where there are several."""
    tables = mechanisms.tables_of(view.scenarios[place].spec)
    return f"D={tables} " if tables > 1 else ""


def sign(view: RiskUtilityMap, k: int) -> float:
    """1 where a measure's loss is the measure itself (or its size), -1 where it is the negative."""
    return -1.0 if view.measures[k].measure.better == "higher" else 1.0


def value_of(view: RiskUtilityMap, k: int, loss: float) -> float:
    """A loss in the measure's own units."""
    return sign(view, k) * loss


def standing(view: RiskUtilityMap, place: int) -> str:
    """A scenario's place on or off the frontier, and how sure it is."""
    if np.isnan(view.risk_loss[place]) or np.isnan(view.utility_loss[place]):
        return "no completed run"
    on, clear = bool(view.dominance.undominated[place]), bool(view.dominance.clear[place])
    return f"{'frontier' if on else 'dominated'}, {'clear' if clear else 'uncertain'}"


def words(view: RiskUtilityMap, place: int) -> str:
    """What the mouse shows over a scenario."""
    scenario, summary = view.scenarios[place], view.summary
    lines = [f"<b>{scenario.label}</b> {text.swap_short(scenario.spec)}"]
    for k in (view.risk, view.utility):
        figures = text.with_error(summary.mean[place, k], summary.se[place, k])
        lines.append(f"{text.measure_name(view.measures[k])}: {figures}")
    tables = mechanisms.tables_of(scenario.spec)
    if tables > 1:
        lines.append(f"{tables} tables published together")
        joint = joint_measure(view)
        if joint is not None and joint != view.risk:
            figures = text.with_error(summary.mean[place, joint], summary.se[place, joint])
            lines.append(f"{text.measure_name(view.measures[joint])}: {figures}")
    lines.append(standing(view, place).replace("frontier,", "on the frontier,"))
    share = view.dominance.share[place]
    if not np.isnan(share):
        lines.append(f"on the frontier in {100 * share:.0f} % of runs")
    if not np.isnan(summary.changed[place]):
        lines.append(f"{summary.changed[place]:,.0f} records changed")
    if summary.failed[place]:
        lines.append(f"{text.plural(int(summary.failed[place]), 'run')} failed")
    if view.riskier_than_original[place]:
        lines.append("<b>riskier than doing nothing</b>")
    return "<br>".join(lines)


def joint_measure(view: RiskUtilityMap) -> int | None:
    """The column of the measure that judges all tables together, where one beside it judges one table at a time."""
    names = [call.measure.name for call in view.measures]
    if "r2" in names and ("r1" in names or "r1_share" in names):
        return names.index("r2")
    return None


def _run_words(view: RiskUtilityMap, place: int, replicate: int, loss: list[float]) -> str:
    scenario = view.scenarios[place]
    lines = [f"<b>{scenario.label}/{replicate}</b> {text.swap_short(scenario.spec)}"]
    lines += [
        f"{text.measure_name(view.measures[k])}: {text.figure(value_of(view, k, loss[k]))}"
        for k in (view.risk, view.utility)
    ]
    return "<br>".join(lines)


def marks(view: RiskUtilityMap, look: Look, points: Cloud, selected: int | None, optimum: int | None) -> Marks:
    """Anchors, bound and titles; ``selected`` and ``optimum`` are places of scenarios."""
    original = view.original_losses
    return Marks(
        original=(float(original[view.utility]), float(original[view.risk])),
        risk_title=text.risk_axis(view.measures[view.risk]),
        utility_title=text.utility_axis(view.measures[view.utility]),
        bound=look.bound,
        optimum=None if look.runs else optimum,
        selected=None if look.runs else selected,
        errors=look.errors,
        span=look.span,
        legend=colourings(view).get(look.colour, ""),
    )


def figure(view: RiskUtilityMap, look: Look, selected: int | None = None, optimum: int | None = None) -> Figure:
    """The map under a look."""
    points = cloud(view, look)
    return risk_utility(points, marks(view, look, points, selected, optimum))


def plain_map(view: RiskUtilityMap) -> Figure:
    """The map while it fills."""
    return figure(view, Look())
