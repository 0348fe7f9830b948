"""Wrong implementations of the random swap of attributes, and of what is counted and fitted on its tables."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import numpy as np

from engine.mechanisms.random_swap import Prepared
from engine.release.spec import AttributeSpec
from engine.sweeps.realisations import BatchRuns
from tests.papers import czech, rows_decision
from tests.papers.listing import CPS, CPS_THERE, CZECH_THERE
from tests.papers.mutants import Mutant
from tests.papers.row import Row

_DRAW = Prepared.draw
Draw = Callable[[Prepared, bytes, int], np.ndarray]


def nothing_moves(prepared: Prepared, derived: bytes, wanted: int) -> np.ndarray:
    """Records are drawn and keep their values."""
    pairs = _DRAW(prepared, derived, wanted)
    return pairs[:, [0, 0]]


def half_move(prepared: Prepared, derived: bytes, wanted: int) -> np.ndarray:
    """Of every two pairs one exchanges."""
    pairs = _DRAW(prepared, derived, wanted).copy()
    pairs[1::2, 1] = pairs[1::2, 0]
    return pairs


def any_partner(prepared: Prepared, derived: bytes, wanted: int) -> np.ndarray:
    """Partners may agree on what they exchange."""
    cells = np.repeat(prepared.order, np.diff(prepared.cells[::4]))
    chosen = np.random.default_rng(list(derived)).permutation(len(cells))[: 2 * wanted]
    return cells[chosen].reshape(-1, 2).astype(np.int64)


def cells_alike(prepared: Prepared, derived: bytes, wanted: int) -> np.ndarray:
    """The first record of a pair is of a random cell, whatever the cell's size."""
    rng = np.random.default_rng(list(derived))
    left = np.diff(prepared.cells[::4]).astype(np.int64)
    pairs = np.empty((wanted, 2), np.int64)
    values, class_of = prepared.values, prepared.cells[2:-4:4]
    for k in range(wanted):
        one = int(rng.choice(np.flatnonzero(left)))
        of = int(class_of[one])
        low, high = int(prepared.first_class[of]), int(prepared.last_class[of])
        differs = np.zeros(len(values), bool)
        differs[low:high] = (values[low:high] != values[of]).all(axis=1)
        left[one] -= 1
        weights = np.cumsum(np.where(differs[class_of], left, 0))
        other = int(np.searchsorted(weights, rng.integers(weights[-1]), side="right"))
        left[other] -= 1
        pairs[k] = prepared.order[one], prepared.order[other]
    return pairs


def _rows(draw: Draw, cps: bool) -> Callable[[bool], list[Row]]:
    def rows(quick: bool) -> list[Row]:
        caches = (czech.simulated, rows_decision.swapped)
        try:
            # a batch that is drawn and summed in one compiled call would not come by the draw
            with patch.object(Prepared, "draw", draw), patch.object(BatchRuns, "take", return_value=False):
                _clear(caches)
                made = [*rows_decision.rows_figure_5(quick), *rows_decision.rows_elsewhere(quick)]
                return [*made, *rows_decision.rows_elsewhere_cps(quick)] if cps else made
        finally:
            _clear(caches)

    return rows


def _clear(caches: tuple[Callable[..., object], ...]) -> None:
    for one in caches:
        one.cache_clear()  # type: ignore[attr-defined]


def _swap(code: str, what: str, draw: Draw, cps: bool = True) -> Mutant:
    files = (CZECH_THERE, CPS, CPS_THERE) if cps else (CZECH_THERE,)
    return Mutant(code, "random swap", what, _rows(draw, cps), files=files)


def _main_effects(quick: bool) -> list[Row]:
    fitted = czech.scores("[A][B][C][D][E][F]")
    with patch.object(czech, "scores", lambda model: fitted):
        return rows_decision.rows_models()


def _spaces(more: Callable[[list[AttributeSpec]], list[AttributeSpec]]) -> Callable[[bool], list[Row]]:
    right = rows_decision.by_swap_sizes

    def by_swap_sizes(names: tuple[str, ...], among: tuple[str, ...], sizes: list[int]) -> list[AttributeSpec]:
        return more(list(right(names, among, sizes)))

    def rows(quick: bool) -> list[Row]:
        with patch.object(rows_decision, "by_swap_sizes", by_swap_sizes):
            return rows_decision.rows_counts()

    return rows


def in_either_order(made: list[AttributeSpec]) -> list[AttributeSpec]:
    return made + [one for one in made if one.roles.count("S") == 2]


def with_nothing(made: list[AttributeSpec]) -> list[AttributeSpec]:
    return [*made, AttributeSpec(made[0].names, "U" * len(made[0].names))]


MUTANTS = (
    _swap("W1", "drawn records keep their values", nothing_moves),
    _swap("W2", "partners may agree on what they exchange", any_partner),
    _swap("W3", "half of the pairs exchange", half_move),
    _swap("W4", "the first partner comes from a random cell, not by size", cells_alike, cps=False),
    Mutant("L1", "log-linear models", "interactions are left out", _main_effects),
    Mutant("L2", "candidates", "two attributes in either order are two swaps", _spaces(in_either_order)),
    Mutant("L3", "candidates", "doing nothing is a candidate", _spaces(with_nothing)),
)
