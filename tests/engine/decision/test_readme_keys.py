"""The example of the README under many study keys: what is released never violates the bound."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

import engine as sf
from engine.decision.choice import cautions_now, choose, obstacles_now
from engine.decision.release_check import ObstacleKind
from engine.frontier.tradeoff import best_under_bound
from engine.study.map_reader import risk_utility_map

KEYS, BOUND, FRESH = 200, 0.002, 50
README: Mapping[str, Any] = {"replicates": 100, "adaptive": True}
FEW: Mapping[str, Any] = {"replicates": 20}


@cache
def _counts(number: int, *, adaptive: bool) -> Counter[str]:
    """What becomes of one key: the plan's rule picks, fresh runs check it, and it is to be submitted.  An adaptive
    sweep has made 100 fresh runs itself, by which it is then judged."""
    data = sf.load("czech")
    key = hashlib.blake2b(b"README %d" % number, digest_size=16).digest()
    measures = ["small_cells", "hellinger"]
    counts: Counter[str] = Counter()
    with sf.sweep(
        data,
        swap_sizes=[1, 2],
        rates=[0.02, 0.10],
        max_risk=BOUND,
        measures=measures,
        key=key,
        **(README if adaptive else FEW),
    ) as swaps:
        best = swaps.choose()
        figures = best.figures.loc["small_cells"].to_dict()
        counts["above"] += bool(figures["released"] > BOUND)
        counts["no safer"] += bool(figures["released"] >= figures["original"])
        swaps.recheck(data, [best.id], replicates=FRESH)
        view = risk_utility_map(swaps.study)
        choice = choose(swaps.study, view, "the plan's rule", by="Ada")
        standing = [obstacle.kind for obstacle in obstacles_now(swaps.study, choice)]
        counts["refuted"] += ObstacleKind.FRESH_TOO_RARELY_WITHIN in standing
        counts["refused"] += bool(standing)
        counts["without a caution"] += not standing and not cautions_now(swaps.study, choice)
        counts["settled"] += "is settled" in swaps.study.progress.message
        counts["runs"] += swaps.study.runs.count()
        index = best_under_bound(view.risk_loss, view.utility_loss, BOUND)
        mine = (view.results.scenario == index) & (view.results.replicate == 1)
        (first,) = view.results.values[mine, view.risk]
        counts["mean above"] += bool(first > BOUND)
        counts["mean no safer"] += bool(first >= figures["original"])
    return counts


def _sum(keys: int, *, adaptive: bool) -> Counter[str]:
    return sum((_counts(number, adaptive=adaptive) for number in range(keys)), Counter[str]())


def _told(keys: int, counts: Counter[str]) -> str:
    return (
        f"{keys} keys: the released run is above the bound {counts['above']} times and no safer than the data unchanged"
        f" {counts['no safer']} times; fresh runs refute the choice {counts['refuted']} times, it is refused at"
        f" submission {counts['refused']} times and carries no caution {counts['without a caution']} times; by the mean"
        f" and the first run {counts['mean above']} would be above the bound and {counts['mean no safer']} no safer;"
        f" {counts['runs'] / keys:,.0f} runs a key, settled {counts['settled']} times"
    )


@pytest.mark.slow
def test_the_released_run_never_violates_the_bound_under_200_keys() -> None:
    """Beside it the rule that does: a bound on the mean, and the first run of what it picks."""
    counts = _sum(KEYS, adaptive=True)
    print(_told(KEYS, counts))
    assert (counts["above"], counts["no safer"]) == (0, 0)
    assert counts["refuted"] <= KEYS / 50
    assert counts["without a caution"] >= 0.97 * KEYS
    assert counts["mean above"] > KEYS / 5


@pytest.mark.slow
def test_fresh_runs_often_refute_a_choice_from_20_runs_and_hardly_ever_one_from_adaptive_runs() -> None:
    """Few runs of many candidates pick one that was lucky; its released run meets the bound all the same."""
    keys = 80
    few, adaptive = _sum(keys, adaptive=False), _sum(keys, adaptive=True)
    print(_told(keys, few))
    print(_told(keys, adaptive))
    assert few["refuted"] > keys / 4 and few["refused"] >= few["refuted"] and few["above"] == 0
    assert adaptive["refuted"] <= keys / 50
