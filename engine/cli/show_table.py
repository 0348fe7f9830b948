"""The table and the map of candidates for reading: along the frontier, and as wide as the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, log10
from statistics import median
from typing import Any

import numpy as np

from engine.common.output import padded, shortened, text_width
from engine.common.wording import printable
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.frontier.summary import losses
from engine.mechanisms import amount, mechanism
from engine.release.scenarios import Scenario
from engine.release.spec import ReleaseSpec
from engine.report.candidate_table import NO_CHANGE
from engine.report.unit_counts import COLUMNS

Row = Mapping[str, Any]
_GAP = 2
_NARROWEST = 8
"""Columns of a terminal that are left of a cell that is cut."""
_MOST_DECIMALS = 8
MARKS = {"?": "more runs could change this standing", "!": "on average riskier than doing nothing"}


@dataclass(frozen=True)
class Column:
    """A column: its title and cells, whether they stand at the right, and whether they are cut where space lacks."""

    title: str
    cells: Sequence[str]
    right: bool = False
    cut: bool = False


def along_frontier(view: RiskUtilityMap, rows: Sequence[Row]) -> Sequence[Row]:
    """Rows of :mod:`engine.report.candidate_table`, of scenarios or of runs: those on the frontier first, and either
    from least to most risk; what has no figure is last."""
    if not rows:
        return rows
    axes = [view.risk, view.utility]
    if "replicate" in rows[0]:
        values = np.array([[row[str(view.measures[k])] for k in axes] for row in rows], float)
        loss = losses(values, [view.measures[k].measure for k in axes])
    else:
        loss = view.summary.loss[[scenario.index for scenario in _scenarios(view, rows)]][:, axes]
    dominated = np.array([not row["undominated"] for row in rows])
    order = np.lexsort((loss[:, 1], loss[:, 0], dominated))
    return [rows[i] for i in order.tolist()]


def _scenarios(view: RiskUtilityMap, rows: Iterable[Row]) -> list[Scenario]:
    places = {label: i for i, label in enumerate(view.scenarios.labels())}
    return [view.scenarios[places[row["id"].partition("/")[0]]] for row in rows]


def named_columns(rows: Sequence[Row], names: Iterable[str]) -> list[Column]:
    """Columns of the rows as they are, figures to five digits."""
    return [
        Column(name, [_cell(row[name]) for row in rows], right=all(_is_number(row[name]) for row in rows))
        for name in names
    ]


def brief_columns(
    view: RiskUtilityMap, rows: Sequence[Row], *, bounded: bool = False, width: int | None = None
) -> list[Column]:
    """The columns that a choice needs: id, what is swapped and how much (of households too), the figures of the
    frontier, with ``bounded`` the risk of single runs that a bound is held against, and the standing.

    Figures have their standard errors but where ``width`` is too narrow for them.
    """
    specs = [scenario.spec for scenario in _scenarios(view, rows)]
    calls = [str(view.measures[k]) for k in view.objectives]
    names = [view.measures[k].measure.name for k in view.objectives]
    short = {call: name if names.count(name) == 1 else call for call, name in zip(calls, names, strict=True)}
    before = [
        Column("id", [row["id"] for row in rows]),
        Column("swapped", _settings(specs, [scenario.spec for scenario in view.scenarios]), cut=True),
        _amounts(specs),
    ]
    if len({row.get("replicates") for row in rows}) > 1:
        before.append(replace(named_columns(rows, ["replicates"])[0], title="runs"))
    if any(row.get(COLUMNS[0]) is not None for row in rows):
        households = [row[COLUMNS[0]] for row in rows]
        cells = ["-" if count is None else f"{count:,.0f}" for count in households]
        before.append(Column("households", cells, right=True))
    after = [Column("standing", [standing(row) for row in rows])]
    if bounded and view.single_runs is not None:
        (quantile,) = named_columns(rows, [f"{view.measures[view.risk]}_quantile"])
        after.insert(0, replace(quantile, title=f"{float(100 * view.single_runs.probability):.3g} % of runs"))
    with_errors = [*before, *(_figures(rows, call, short[call]) for call in calls), *after]
    if width is None or _least_width(with_errors) <= width:
        return with_errors
    figures = [replace(column, title=short[column.title]) for column in named_columns(rows, calls)]
    return [*before, *figures, *after]


def _amounts(specs: Sequence[ReleaseSpec]) -> Column:
    """How much each scenario changes: as rates where all amounts are shares, else in the terms of each mechanism."""
    if _are_rates(specs):
        return Column("rate", [amount(spec).short for spec in specs], right=True)
    return Column("amount", [str(amount(spec)) or "-" for spec in specs])


def _are_rates(specs: Sequence[ReleaseSpec]) -> bool:
    return all(amount(spec).share for spec in specs)


def _settings(specs: Sequence[ReleaseSpec], study: Sequence[ReleaseSpec]) -> list[str]:
    """The settings that set each scenario apart from others of the study beside its amount: the roles of a random swap,
    else the mechanism with those of its parameters in which its scenarios differ."""
    values: dict[tuple[str, str], set[str]] = {}
    for spec in study:
        for name, text in spec.params:
            values.setdefault((spec.mechanism, name), set()).add(text)

    def words(spec: ReleaseSpec) -> str:
        if spec.by_roles:
            return spec.short
        amounts = {name for way in mechanism(spec.mechanism).amounts for name in way}
        apart = [
            f"{name}={text}"
            for name, text in spec.params
            if name not in amounts and len(values[spec.mechanism, name]) > 1
        ]
        return " ".join((spec.mechanism, *apart))

    return [words(spec) for spec in specs]


def amount_meanings(view: RiskUtilityMap, rows: Sequence[Row]) -> list[str]:
    """A sentence for each mechanism but the random swap on what its amount counts."""
    specs = [scenario.spec for scenario in _scenarios(view, rows)]
    noun = "rate" if _are_rates(specs) else "amount"
    names = {spec.mechanism for spec in specs if not spec.by_roles}
    return [f"{noun} of {name}: {mechanism(name).rate}" for name in sorted(names)]


def _figures(rows: Sequence[Row], call: str, title: str) -> Column:
    errors = [row.get(f"{call}_se") for row in rows]
    title += " ± se" * any(error is not None for error in errors)
    return Column(title, figure_cells([row[call] for row in rows], errors), right=True)


def _least_width(columns: Sequence[Column]) -> int:
    """The least number of columns of a terminal that a table takes."""
    widths = [max(map(text_width, (column.title, *column.cells))) for column in columns]
    widths = [min(w, _NARROWEST) if column.cut else w for w, column in zip(widths, columns, strict=True)]
    return sum(widths) + _GAP * (len(widths) - 1)


def standing(row: Row) -> str:
    """The standing of a candidate or a run, in a word, with :data:`MARKS`."""
    if row.get("status") == "failed":
        return "failed"
    if "dominance" in row and row["dominance"] is None:
        return "no figure" if row.get("replicates") else "no completed run"
    if row.get("dominance") == NO_CHANGE or row.get("status") == "noop":
        return NO_CHANGE
    best = "best, " if row["optimal"] else ""
    marks = ("?" if row.get("dominance") == "uncertain" else "") + ("!" if row.get("riskier_than_original") else "")
    return f"{best}{'frontier' if row['undominated'] else 'dominated'} {marks}".rstrip()


def colour_of(row: Row) -> str:
    """The colour of a row, which says no more than its standing."""
    if row["optimal"]:
        return "bold green"
    return "yellow" if row.get("riskier_than_original") else "green" if row["undominated"] else ""


def figure_cells(values: Sequence[float | None], errors: Sequence[float | None]) -> list[str]:
    """Figures with their standard errors, to the second digit of the error in the middle, so that all have as many
    decimals; figures without errors to five digits."""
    known = [error for error in errors if error]
    if not known:
        return [_cell(value) for value in values]
    decimals = min(max(0, 1 - floor(log10(median(known)))), _MOST_DECIMALS)
    return [
        "-" if value is None else f"{value:z.{decimals}f}" + ("" if error is None else f" ± {error:.{decimals}f}")
        for value, error in zip(values, errors, strict=True)
    ]


def table_lines(columns: Sequence[Column], width: int | None) -> list[str]:
    """The lines of a table, the first two its head; where ``width`` is given, cells that may be cut make room."""
    # Widths are those of what is printed: a name with a line end must not begin a line of its own.
    texts = [[_one_line(text) for text in (column.title, *column.cells)] for column in columns]
    widths = [max(map(text_width, cells)) for cells in texts]
    for i, column in enumerate(columns):
        excess = sum(widths) + _GAP * (len(widths) - 1) - (width or 0)
        if width is not None and column.cut and excess > 0:
            widths[i] = max(min(_NARROWEST, widths[i]), widths[i] - excess)
            texts[i] = [shortened(text, widths[i]) for text in texts[i]]
    filled = [[padded(text, widths[i], column.right) for text in texts[i]] for i, column in enumerate(columns)]
    lines = [(" " * _GAP).join(cells).rstrip() for cells in zip(*filled, strict=True)]
    return [lines[0], (" " * _GAP).join("-" * width for width in widths), *lines[1:]]


def _one_line(text: str) -> str:
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | None) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


SIGNS = {"-": "the limit", ".": "dominated", "o": "frontier", "A": "best", "C": "the choice", "X": "the data unchanged"}
"""What stands for what, the last above the others where they meet."""
_HEIGHT = 18
_WIDEST = 100


def plot_lines(
    view: RiskUtilityMap,
    width: int | None,
    *,
    best: Sequence[str] = (),
    limit: float | None = None,
    choice: str | None = None,
) -> list[str]:
    """The map of a study: up is more risk, right is more useful, as in the dashboard; ``best`` are the ids of
    candidates that a rule picks, ``limit`` is one on the risk and ``choice`` the id of what was chosen.  Empty where no
    candidate has both figures."""
    points = np.column_stack([view.utility_loss, view.risk_loss])
    known = np.isfinite(points).all(axis=1)
    original = view.original_losses[[view.utility, view.risk]]
    if not known.any():
        return []
    shown = np.vstack([points[known], original[None, :]][: 2 if np.isfinite(original).all() else 1])
    low, high = shown.min(axis=0), shown.max(axis=0)
    level = None if limit is None else float(view.measures[view.risk].measure.loss(np.array([limit]))[0])
    if level is not None:
        low[1], high[1] = min(low[1], level), max(high[1], level)
    ends = [_ends(view, k, low[axis], high[axis]) for axis, k in enumerate((view.utility, view.risk))]
    beside = "" if level is None else f"{limit:.4g}"
    margin = max(map(len, (*ends[1], beside))) + 1
    columns = max(20, min(width or 80, _WIDEST) - margin - 2)
    grid = [[" "] * columns for _ in range(_HEIGHT)]
    (most_useless, most_useful), (safest, riskiest) = ends
    sides = [riskiest, *[""] * (_HEIGHT - 2), safest]

    def line_of(risk: float) -> int:
        return _HEIGHT - 1 - round(float((risk - low[1]) / (high[1] - low[1] or 1) * (_HEIGHT - 1)))

    def draw(losses: np.ndarray, sign: str) -> None:
        share = (losses[:, 0] - low[0]) / (high[0] - low[0] or 1)
        for use, risk in zip(share.tolist(), losses[:, 1].tolist(), strict=True):
            grid[line_of(risk)][columns - 1 - round(use * (columns - 1))] = sign

    if level is not None:
        grid[line_of(level)] = ["-"] * columns
        sides[line_of(level)] = beside
    labels, on = np.array(view.scenarios.labels()), view.dominance.undominated
    draw(points[known & ~on], ".")
    draw(points[known & on], "o")
    draw(points[known & np.isin(labels, best)], "A")
    draw(points[known & (labels == choice)], "C")
    if np.isfinite(original).all():
        draw(original[None, :], "X")
    absent = {sign for sign, given in zip("-AC", (level is not None, best, choice), strict=True) if not given}
    signs = "  ".join(f"{sign} {meaning}" for sign, meaning in SIGNS.items() if sign not in absent)
    return [
        f"risk: {view.measures[view.risk]} (up is riskier)",
        *(f"{side:>{margin - 1}} |{''.join(row).rstrip()}" for side, row in zip(sides, grid, strict=True)),
        f"{'':{margin}}+{'-' * columns}",
        f"{'':{margin}} {most_useless}{most_useful:>{columns - len(most_useless)}}",
        f"{'':{margin}} use: {view.measures[view.utility]} (right is more useful)",
        f"{'':{margin}} {signs}",
    ]


def _ends(view: RiskUtilityMap, k: int, low: float, high: float) -> tuple[str, str]:
    """The figures at the ends of an axis whose losses run from ``low`` to ``high``: for use from the left to the right,
    for risk from the bottom to the top."""
    sign = -1 if view.measures[k].measure.better == "higher" else 1
    ends = (high, low) if k == view.utility else (low, high)
    return f"{sign * ends[0]:z.4g}", f"{sign * ends[1]:z.4g}"
