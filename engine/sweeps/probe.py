"""Estimate how long a sweep of a plan will take on this machine, from a probe."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from engine.data.microdata import Microdata
from engine.mechanisms import mechanism
from engine.plan import Plan
from engine.release.space import Space, scenarios
from engine.release.spec import ReleaseSpec
from engine.sweeps.candidates import Group, group, scenarios_of, sharing
from engine.sweeps.evaluator import Evaluator, question_of
from engine.sweeps.search import search_of
from engine.sweeps.space_count import Counted
from engine.sweeps.swap_ways import swap_ways
from engine.sweeps.workers import default_workers, task_batches

_SPENT = 0.3  # seconds, shared by the mechanisms, after which a probe looks at no further group
_SPENT_ON_RECORDS = 3.0  # where a measure looks at records: candidates differ much in what that takes
_START = 2.5  # seconds until further processes have started and know the question
_STORED = 12e-6  # seconds to store a run: sweeps of 10^5 to 10^6 runs took 10 to 14 µs more for each than drawing it
_PROBED = 500  # swaps of given numbers of attributes that an estimate chooses from
_GOLDEN = (5**0.5 - 1) / 2


def estimate(
    plan: Plan,
    data: Microdata,
    probes: int = 24,
    specs: Sequence[ReleaseSpec] | None = None,
    total: int | None = None,
) -> tuple[int, float]:
    """``(candidates, seconds)``: realisations that the plan asks for (the most it may ask for, where it searches or
    spends replicates adaptively) and the time they will take, from a probe of a few groups of each mechanism.

    ``specs`` are the plan's scenarios over these data, where they are known already, or an even part of ``total`` ones
    of which no two specs share work.
    """
    question = question_of(plan, data)
    specs = scenarios_of(plan, data)[0] if specs is None else specs
    total = len(specs) if total is None else total
    if plan.space.search and plan.swaps_at_random:
        search = search_of(plan, data, bytes(16))
        specs = [*specs, *scenarios(search.start(), plan.space.rates, plan.space.rule, search.ways)]
        total += search.budget * len(plan.space.rates) * len(search.ways)
    began = time.perf_counter()
    if question.on_records:
        question.original()  # which a sweep computes too, and which prepares what all candidates share
    once = time.perf_counter() - began
    evaluator, replicates = Evaluator(question, bytes(16)), plan.space.replicates
    spent = _SPENT_ON_RECORDS if question.on_records else _SPENT
    kinds: dict[str, list[list[tuple[int, ReleaseSpec]]]] = {}
    for shared in sharing(list(enumerate(specs)), question.table):
        kinds.setdefault(shared[0][1].mechanism, []).append(shared)
    seconds = 0.0
    for name, shares in kinds.items():
        known = sum(map(len, shares))
        meant = known + (total - len(specs) if mechanism(name).by_roles else 0)  # no other mechanism is known in part
        indices = np.unique(np.linspace(0, len(shares) - 1, probes).astype(int))
        # an order of which every beginning is spread over the whole space
        indices = indices[np.argsort(np.arange(1, len(indices) + 1) * _GOLDEN % 1)]
        chosen = group([scenario for i in indices for scenario in shares[i]], question.table)
        seconds += meant * replicates * _each(evaluator, chosen, replicates, spent / len(kinds))
    runs = total * replicates
    workers = default_workers(runs, question)
    apart = _START + once if workers > 1 else 0.0  # each worker makes for itself what all candidates share
    return runs, once + apart + seconds / workers**0.8 + _STORED * runs


def probed(plan: Plan, space: Space | Counted | None, others: Sequence[ReleaseSpec]) -> tuple[list[ReleaseSpec], int]:
    """The specs that :func:`estimate` looks at, and the number of scenarios that they stand for: all of them, but of
    swaps of given numbers of attributes, of which no two share work, an even part."""
    if space is None:
        return list(others), len(others)
    ways = swap_ways(plan)
    few = _PROBED if plan.space.swap_sizes else space.distinct
    specs = scenarios(space.even_part(few), plan.space.rates, plan.space.rule, ways)
    return [*specs, *others], space.distinct * len(plan.space.rates) * len(ways) + len(others)


def _each(evaluator: Evaluator, chosen: Sequence[Group], replicates: int, spent: float) -> float:
    """Seconds per candidate of some groups, run as a sweep runs them until so many seconds are ``spent``.

    Replicates of a group share its preparation, and many candidates measured together take far less than one at a time.
    """
    evaluator.run(chosen[0], [1])  # loads or compiles the kernels, which is not part of the rate
    began = time.perf_counter()
    evaluator.run(chosen[0], [1])
    few = int(spent / 3 / (time.perf_counter() - began))
    none_done = np.zeros(1 + max(index for shared in chosen for index, _ in shared.scenarios), np.int64)
    done, began = 0, time.perf_counter()
    for shared in chosen:
        batch = next(task_batches([shared], none_done, max(1, min(replicates, few))))
        done += sum(len(part.scenarios) * len(numbers) for part, numbers in batch)
        evaluator.run_all(batch)
        if time.perf_counter() - began > spent:
            break
    return (time.perf_counter() - began) / done
