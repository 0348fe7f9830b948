"""Wrong implementations of conditional and random group swapping."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from engine.mechanisms import group_swap
from engine.mechanisms.base import Mechanism
from engine.mechanisms.group_swap import CGS
from engine.release.parameter import Setting
from tests.papers import rows_group_swap
from tests.papers.listing import PASSENGERS
from tests.papers.mutants import Mutant, forced, inside, unchanged
from tests.papers.row import Row

_WINNERS, _AMOUNT, _GREEDY = group_swap.winners, group_swap.amount, group_swap.greedy


def reversed_weights(weights: np.ndarray, exponentials: np.ndarray, free: np.ndarray, n_swap: int) -> np.ndarray:
    """Records that look like their own stratum move first."""
    return _WINNERS(np.maximum(1 - weights, group_swap.FLOOR), exponentials, free, n_swap)


def always_the_likest(weights: np.ndarray, exponentials: np.ndarray, free: np.ndarray, n_swap: int) -> np.ndarray:
    return _WINNERS(weights, np.ones(len(weights)), free, n_swap)


def half(prepared: Any, setting: Setting) -> int:
    return _AMOUNT(prepared, setting) // 2


def farthest_first(distances: np.ndarray, odd: str) -> list[tuple[int, int, int]]:
    return _GREEDY(np.where(np.isinf(distances), np.inf, -distances), odd)


def one_propensity(mechanism: Mechanism) -> Mechanism:
    """The probability of the higher stratum is the weight in both strata."""

    def prepare(setting: Setting) -> group_swap.Prepared:
        prepared = mechanism.prepare(setting)
        pairs = [p._replace(weights_b=np.maximum(1 - p.weights_b, group_swap.FLOOR)) for p in prepared.pairs]
        return prepared._replace(pairs=pairs)

    return replace(mechanism, prepare=prepare)


def _mutant(
    code: str,
    what: str,
    mechanism: Mechanism,
    modes: tuple[str, ...] = ("CGS",),
    rival: bool = False,
) -> Mutant:
    def rows(quick: bool) -> list[Row]:
        n = 10 if quick else 100
        ratios = rows_group_swap.ratio_rows(n, mechanism, modes)
        return [*rows_group_swap.overlap_rows(n, mechanism, modes), *ratios]

    return Mutant(code, " and ".join(modes), what, rows, files=(PASSENGERS,))


MUTANTS = (
    _mutant("G1", "the original is released", unchanged(CGS), ("CGS", "RGS")),
    _mutant("G2", "RGS in place of CGS", forced(CGS, mode="RGS")),
    _mutant("G3", "CGS in place of RGS", forced(CGS, mode="CGS"), ("RGS",)),
    _mutant("G4", "records like their own stratum move", inside(CGS, group_swap, winners=reversed_weights)),
    _mutant("G5", "the higher stratum's propensity weighs in both", one_propensity(CGS)),
    _mutant("G6", "the likest records move, without chance", inside(CGS, group_swap, winners=always_the_likest)),
    _mutant("G7", "n_swap counts both directions", inside(CGS, group_swap, amount=half), ("CGS", "RGS")),
    _mutant("G8", "the farthest strata are paired", inside(CGS, group_swap, greedy=farthest_first), ("CGS", "RGS")),
    _mutant("G9", "the propensity model has main effects alone", forced(CGS, formula="")),
)
