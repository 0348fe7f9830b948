"""The example of the README under many study keys: what is released never violates the bound."""

from __future__ import annotations

import hashlib

import pytest

import engine as sf
from engine.frontier.tradeoff import best_under_bound
from engine.study.map_reader import risk_utility_map

KEYS, BOUND = 200, 0.002


@pytest.mark.slow
def test_the_released_run_never_violates_the_bound_under_200_keys() -> None:
    """Beside it the rule that does: a bound on the mean, and the first run of what it picks."""
    data = sf.load("czech")
    above = riskier = mean_above = mean_riskier = 0
    for number in range(KEYS):
        key = hashlib.blake2b(b"README %d" % number, digest_size=16).digest()
        measures = ["small_cells", "hellinger"]
        with sf.sweep(data, swap_sizes=[1, 2], rates=[0.02, 0.10], replicates=20, measures=measures, key=key) as swaps:
            figures = swaps.choose(max_risk=BOUND).figures.loc["small_cells"].to_dict()
            above += bool(figures["released"] > BOUND)
            riskier += bool(figures["released"] >= figures["original"])
            view = risk_utility_map(swaps.study)
            index = best_under_bound(view.risk_loss, view.utility_loss, BOUND)
            mine = (view.results.scenario == index) & (view.results.replicate == 1)
            (first,) = view.results.values[mine, view.risk]
            mean_above += first > BOUND
            mean_riskier += first >= figures["original"]
    print(
        f"{KEYS} keys: the released run is above the bound {above} times and no safer than the data unchanged {riskier}"
        f" times; by the mean and the first run it would be {mean_above} and {mean_riskier} times"
    )
    assert (above, riskier) == (0, 0)
    assert mean_above > KEYS / 4 and mean_riskier > 0
