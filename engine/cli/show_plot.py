"""The risk–utility map in plain characters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.frontier.risk_utility_map import RiskUtilityMap

SIGNS = {".": "dominated", "o": "frontier", "A": "best", "X": "the data unchanged"}
"""What stands for what, the last above the others where they meet."""
_HEIGHT = 18
_WIDEST = 100


def plot_lines(view: RiskUtilityMap, best: Sequence[str], width: int | None) -> list[str]:
    """The map of a study: up is more risk, right is more useful, as in the dashboard; ``best`` are the ids of
    candidates that a rule picks.  Empty where no candidate has both figures."""
    points = np.column_stack([view.utility_loss, view.risk_loss])
    known = np.isfinite(points).all(axis=1)
    original = view.original_losses[[view.utility, view.risk]]
    if not known.any():
        return []
    shown = np.vstack([points[known], original[None, :]][: 2 if np.isfinite(original).all() else 1])
    low, high = shown.min(axis=0), shown.max(axis=0)
    ends = [_ends(view, k, low[axis], high[axis]) for axis, k in enumerate((view.utility, view.risk))]
    margin = max(map(len, ends[1])) + 1
    columns = max(20, min(width or 80, _WIDEST) - margin - 2)
    grid = [[" "] * columns for _ in range(_HEIGHT)]

    def draw(losses: np.ndarray, sign: str) -> None:
        share = (losses - low) / np.where(high > low, high - low, 1)
        for use, risk in share.tolist():
            grid[_HEIGHT - 1 - round(risk * (_HEIGHT - 1))][columns - 1 - round(use * (columns - 1))] = sign

    on = view.dominance.undominated
    draw(points[known & ~on], ".")
    draw(points[known & on], "o")
    draw(points[known & np.isin(view.scenarios.labels(), best)], "A")
    if np.isfinite(original).all():
        draw(original[None, :], "X")
    (most_useless, most_useful), (safest, riskiest) = ends
    sides = [riskiest, *[""] * (_HEIGHT - 2), safest]
    signs = "  ".join(f"{sign} {meaning}" for sign, meaning in SIGNS.items() if sign != "A" or best)
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
