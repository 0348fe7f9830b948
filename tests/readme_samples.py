"""The README's example under many study keys: what is released; its sample ``fair`` with many runs: how much of the
frontier a sweep finds."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

import engine as sf
from engine.decision.choice import choose, gate_now
from engine.decision.statements import of_severity
from engine.frontier.choosing import best_under_bound
from engine.frontier.undominated import undominated
from engine.measures import call
from engine.plan import SpacePlan
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release.space import by_swap_sizes
from engine.release.spec import ReleaseSpec
from engine.study.map_reader import risk_utility_map
from engine.sweeps.evaluator import question_of
from tests.small_tables import rows as runs

BOUND, TRUTH = 0.002, 1000
SIZES = [1, 2]
MEASURES = ["small_cells", "hellinger"]
README: Mapping[str, Any] = {"replicates": 100, "adaptive": True}
FEW: Mapping[str, Any] = {"replicates": 20}


@cache
def _czech() -> Any:
    return sf.load("czech")


@cache
def _counts(number: int, *, adaptive: bool) -> Counter[str]:
    """Return what becomes of one key: the plan's rule picks, fresh runs check it, and it is to be submitted.

    The choice is ``wrong`` where fewer than nine in ten of 1,000 further runs meet the bound."""
    data = _czech()
    key = hashlib.blake2b(b"README %d" % number, digest_size=16).digest()
    counts: Counter[str] = Counter()
    with sf.sweep(
        data,
        swap_sizes=SIZES,
        rates=[0.02, 0.10],
        max_risk=BOUND,
        measures=MEASURES,
        key=key,
        **(README if adaptive else FEW),
    ) as swaps:
        best = swaps.choose()
        figures = best.figures.loc["small_cells"].to_dict()
        counts["above"] += bool(figures["released"] > BOUND)
        counts["no safer"] += bool(figures["released"] >= figures["original"])
        swaps.recheck(data, [best.id])
        view = risk_utility_map(swaps.study)
        choice = choose(swaps.study, view, "the plan's rule", by="Ada")
        found = gate_now(swaps.study, choice)
        standing = of_severity(found, "obstacle")
        counts["refuted"] += any(each.kind == "rarely_within" and each.values["fresh"] for each in standing)
        counts["refused"] += bool(standing)
        counts["without a caution"] += not found
        swaps.recheck(data, [best.id], replicates=TRUTH)
        truth = swaps.study.runs.of([swaps.study.find(best.id)[0].index], "fresh").values[:, view.risk]
        counts["wrong"] += bool(np.mean(truth <= BOUND) < 0.9)
        counts["wrong and not refused"] += bool(np.mean(truth <= BOUND) < 0.9 and not standing)
        counts["settled"] += "is settled" in swaps.study.progress.message
        counts["runs"] += swaps.study.runs.count()
        index = best_under_bound(view.risk_loss, view.utility_loss, BOUND)
        mine = (view.results.scenario == index) & (view.results.replicate == 1)
        (first,) = view.results.values[mine, view.risk]
        counts["mean above"] += bool(first > BOUND)
        counts["mean no safer"] += bool(first >= figures["original"])
    return counts


def under_keys(keys: int, *, adaptive: bool) -> Counter[str]:
    """Return what became of so many keys, counted."""
    return sum((_counts(number, adaptive=adaptive) for number in range(keys)), Counter[str]())


def told(keys: int, counts: Counter[str]) -> str:
    """Return the counts in words."""
    return (
        f"{keys} keys: the choice truly misses the share {counts['wrong']} times, and {counts['wrong and not refused']}"
        f" times of these nothing stands against it; the released run is above the limit {counts['above']} times and"
        " no safer than the data unchanged"
        f" {counts['no safer']} times; fresh runs refute the choice {counts['refuted']} times, it is refused at"
        f" submission {counts['refused']} times and carries no caution {counts['without a caution']} times; by the mean"
        f" and the first run {counts['mean above']} would be above the limit and {counts['mean no safer']} no safer;"
        f" {counts['runs'] / keys:,.0f} runs a key, settled {counts['settled']} times"
    )


def shares_found(n_runs: int, sweeps: int = 20, runs_of_truth: int = 1000) -> np.ndarray:
    """Return the share of the true frontier of the 108 candidates of ``fair`` that each of so many sweeps of ``n_runs``
    runs finds, shape ``(sweeps,)``; the truth is the means of other runs."""
    raw, plan = load("fair")
    data = code(raw, plan)
    made = by_swap_sizes(data.domain.names, data.domain.names, SIZES)
    specs = [ReleaseSpec(one, rate) for one in made for rate in SpacePlan.rates]
    question = question_of(plan, data, [call(name) for name in MEASURES])
    drawn = runs(question, specs, range(1, runs_of_truth + sweeps * n_runs + 1))[:, 4:]
    drawn = drawn.reshape(len(specs), -1, len(MEASURES))
    truth = undominated(drawn[:, :runs_of_truth].mean(axis=1))
    parts = np.split(drawn[:, runs_of_truth:], sweeps, axis=1)
    return np.array([undominated(part.mean(axis=1))[truth].mean() for part in parts])
