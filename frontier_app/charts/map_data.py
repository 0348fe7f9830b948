"""The data of a risk–utility map: arrays of points, marks, and ranges of the axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

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
