"""Scenarios that differ by chance alone: whoever is called clear among them is called so wrongly."""

from __future__ import annotations

import numpy as np

from engine.frontier.summary import dominance, summarise
from engine.measures import MEASURES
from engine.release.scenarios import Results

LOSSES = [MEASURES["small_cells"], MEASURES["hellinger"]]


def wrongly_clear(runs: int, trials: int, scenarios: int = 12) -> np.ndarray:
    """Return which scenarios are called clear in each trial of so many runs, shape ``(trials, scenarios)``."""
    rng = np.random.default_rng(1)
    wrong = []
    for _ in range(trials):
        values = rng.normal(size=(scenarios * runs, 2))
        scenario, replicate = np.repeat(np.arange(scenarios), runs), np.tile(np.arange(1, runs + 1), scenarios)
        zeros = np.zeros(len(scenario), np.int64)
        results = Results(scenario, replicate, zeros, zeros, values)
        wrong.append(dominance(summarise(results, LOSSES, scenarios), results, LOSSES, [0, 1]).clear)
    return np.array(wrong)
