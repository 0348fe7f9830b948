"""Estimate how long a sweep of a plan will take on this machine, from a probe."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from engine.data.microdata import Microdata
from engine.mechanisms import mechanism
from engine.plan import Plan
from engine.release.space import Space, scenarios
from engine.release.spec import ReleaseSpec
from engine.sweeps.candidates import scenarios_of
from engine.sweeps.evaluator import Evaluator, question_of
from engine.sweeps.groups import Groups, even_order, group
from engine.sweeps.search import search_of
from engine.sweeps.space_count import Counted
from engine.sweeps.start_time import start_time
from engine.sweeps.swap_ways import swap_ways
from engine.sweeps.workers import default_workers, task_batches

_SPENT = 0.3  # seconds, shared by the mechanisms, after which a probe looks at no further group
_SPENT_ON_RECORDS = 3.0  # where a measure looks at records: candidates differ much in what that takes
_STORED = 12e-6  # seconds to store a run: sweeps of 10^5 to 10^6 runs took 10 to 14 µs more for each than drawing it
_PROBED = 500  # swaps of given numbers of attributes that an estimate chooses from


class Estimate(NamedTuple):
    """Estimated time of a sweep in a process of its own: ``runs`` that the plan asks for (the most it may ask for,
    where it searches or spends replicates adaptively), ``seconds`` by the clock on this machine as busy as it now is,
    ``processor`` seconds of all its processes, and the ``load`` that was found: seconds by the clock for one of the
    processor."""

    runs: int
    seconds: float
    processor: float
    load: float = 1.0


def estimate(
    plan: Plan,
    data: Microdata,
    probes: int = 24,
    specs: Sequence[ReleaseSpec] | None = None,
    total: int | None = None,
    read: float = 0.0,
) -> Estimate:
    """The time of a sweep, from a probe of a few groups of each mechanism and the start of a process.

    ``specs`` are the plan's scenarios over these data, where they are known already, or an even part of ``total`` ones
    of which no two specs share work.  ``read`` are the seconds that reading and coding the records took, which a sweep
    does anew.
    """
    question = question_of(plan, data)
    specs = scenarios_of(plan, data)[0] if specs is None else specs
    total = len(specs) if total is None else total
    if plan.space.search and plan.swaps_at_random:
        search = search_of(plan, data, bytes(16))
        specs = [*specs, *scenarios(search.start(), plan.space.rates, plan.space.rule, search.ways)]
        total += search.budget * len(plan.space.rates) * len(search.ways)
    start, evaluator, stopwatch = start_time(), Evaluator(question, bytes(16)), _Stopwatch()
    stopwatch(question.original)  # which a sweep computes too
    once = stopwatch.processor
    stopwatch(evaluator.prepare)  # what each process makes for itself, without what it loads for that
    again = stopwatch.processor - once
    spent = _SPENT_ON_RECORDS if question.on_records else _SPENT
    groups = group(specs, question.table)
    kinds: dict[str, list[int]] = {}
    for at, name in enumerate(groups.mechanisms):
        kinds.setdefault(name, []).append(at)
    fits = drawn = 0.0  # processor seconds
    for name, places in kinds.items():
        known = int(groups.sizes[places].sum())
        meant = known + (total - len(specs) if mechanism(name).by_roles else 0)  # no other mechanism is known in part
        indices = np.unique(np.linspace(0, len(places) - 1, probes).astype(int))
        chosen = groups.take(np.array(places)[indices[even_order(len(indices))]])
        fit, run = _each(evaluator, chosen, plan.space.replicates, spent / len(kinds), stopwatch)
        fits += meant * fit
        drawn += meant * plan.space.replicates * run
    runs = total * plan.space.replicates
    workers = default_workers(runs, question)
    slow = stopwatch.slowdown
    alone = start.sweep * start.slowdown + read + once * slow
    processor = start.sweep + read / start.slowdown + once + drawn + _STORED * runs
    if workers == 1:
        whole = again + fits + drawn
        return Estimate(runs, alone + slow * (whole + _STORED * runs), processor + again + fits, slow)
    # each worker makes every fit of which it runs a part, and loads numerical libraries where it looks at records
    apart = (start.sweep if question.on_records else start.worker) + once + fits
    crowd = _crowded(slow, workers)
    seconds = alone + crowd * (apart + drawn / workers**0.8 + _STORED * runs)
    return Estimate(runs, seconds, processor + workers * apart, crowd)


def _crowded(slow: float, workers: int) -> float:
    """Seconds by the clock for one of the processor, of each of several workers, where one process took ``slow``: on a
    busy machine they share its cores with others' processes, and with each other."""
    return slow + min(1.0, slow - 1.0) * (workers - 1) / (os.cpu_count() or 1)


class _Stopwatch:
    """Seconds by the clock and of the processor that calls took."""

    def __init__(self) -> None:
        self.clock = self.processor = 0.0

    def __call__(self, work: Callable[[], object]) -> float:
        """Do some work; returns its seconds of the processor."""
        began, busy = time.perf_counter(), time.thread_time()
        work()
        taken = time.thread_time() - busy
        self.clock += time.perf_counter() - began
        self.processor += taken
        return taken

    @property
    def slowdown(self) -> float:
        """Seconds by the clock for one of the processor."""
        return max(1.0, self.clock / self.processor) if self.processor else 1.0


def probed(plan: Plan, space: Space | Counted | None, others: Sequence[ReleaseSpec]) -> tuple[list[ReleaseSpec], int]:
    """The specs that :func:`estimate` looks at, and the number of scenarios that they stand for: all of them, but of
    swaps of given numbers of attributes, of which no two share work, an even part."""
    if space is None:
        return list(others), len(others)
    ways = swap_ways(plan)
    few = _PROBED if plan.space.swap_sizes else space.distinct
    specs = scenarios(space.even_part(few), plan.space.rates, plan.space.rule, ways)
    return [*specs, *others], space.distinct * len(plan.space.rates) * len(ways) + len(others)


def _each(
    evaluator: Evaluator, chosen: Groups, replicates: int, spent: float, stopwatch: _Stopwatch
) -> tuple[float, float]:
    """Processor seconds of the fit per scenario, and of a run, of some groups that are run as a sweep runs them until
    so many seconds are ``spent``.

    Replicates of a group share its preparation, and many candidates measured together take far less than one at a time.
    """
    evaluator.run(chosen[0], [1])  # loads or compiles the kernels, which is not part of the rate
    began = time.perf_counter()
    evaluator.run(chosen[0], [1])
    few = int(spent / 3 / max(1e-9, time.perf_counter() - began))
    none_done = np.zeros(1 + chosen.indices.max(), np.int64)
    done, scenarios, fits, runs = 0, 0, 0.0, 0.0
    began = time.perf_counter()
    for k, shared in enumerate(chosen):
        batch = next(task_batches(chosen[k : k + 1], none_done, max(1, min(replicates, few))))
        if shared.structure is None:
            evaluator.forget_fit()
        taken = stopwatch(partial(evaluator.run_all, batch))
        if shared.structure is None:  # its fit is there now: what it took is the difference
            run = stopwatch(partial(evaluator.run_all, batch))
            fits += max(0.0, taken - run)
            taken = run
        runs += taken
        done += sum(len(part) * len(numbers) for part, numbers in batch)
        scenarios += len(shared)
        if time.perf_counter() - began > spent:
            break
    return fits / scenarios, runs / done
