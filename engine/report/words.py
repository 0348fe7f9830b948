"""Figures in words for a board."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from engine.common.wording import plural
from engine.decision import statements

if TYPE_CHECKING:
    from engine.report.facts import Map, ModelRow

NONE, figure = statements.NONE, statements.digits_kept


def about(value: float | None, se: float | None) -> str:
    """A mean with its standard error, both to the error's first digit."""
    if value is None or se is None or math.isnan(se):
        return _mean(value, se)
    return f"{_mean(value, se)} ± {se:,.{_decimals(value, se)}f}" if se else f"{_mean(value, se)} ± 0"


def _mean(value: float | None, se: float | None) -> str:
    """The mean alone, as it stands beside its standard error."""
    if value is None:
        return NONE
    if not se or math.isnan(se):
        return figure(value)
    return f"{value:,.{_decimals(value, se)}f}".replace("-", "−")


def _decimals(value: float, se: float) -> int:
    return max(0, -math.floor(math.log10(se)) + (1 if se / 10 ** math.floor(math.log10(se)) < 1.95 else 0))


def bar(value: float | None, se: float | None) -> float | None:
    """Two standard errors of a mean, to either side of it; None where no error is known."""
    if value is None or se is None or math.isnan(se):
        return None
    return 2 * se


def percent(value: float | None, digits: int = 2) -> str:
    """A percentage that is given as one (0 to 100)."""
    return NONE if value is None else f"{value:.{digits}f} %"


def one_in(part: int, whole: int) -> str:
    """Roughly one in how many; empty for none."""
    return f"about one in {round(whole / part):,}" if part else "none"


def on_frontier_words(share: float, shared_runs: int | None) -> str:
    """In how many of the single runs that all candidates have one is on the frontier; ``share`` is of these."""
    if shared_runs is None:
        return "under 1 % of them" if share < 0.005 else f"{100 * share:.0f} % of them"
    return f"{round(share * shared_runs):,} of {plural(shared_runs, 'run')} that all candidates share"


def model_words(model: ModelRow) -> str:
    """What the coefficients of a declared analysis mean."""
    references = "; ".join(f"{factor} with {level}" for factor, level in model.references)
    compared = f" Levels are compared with a reference level: {references}." if references else ""
    return f"A positive coefficient stands for more of this: {model.predicts}.{compared}"


def bound_title(board_map: Map) -> str:
    """What the line of the bound on the map is called."""
    asked = board_map.bound_asked
    return "limit on the average" if asked is None else f"limit, asked of {100 * asked:.3g} % of single runs"


def small_cells_words(fewest: int) -> str:
    """What a small cell is, in words."""
    return "combinations that nobody shares" if fewest == 2 else f"combinations that fewer than {fewest} records share"
