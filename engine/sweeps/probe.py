"""Estimate how long a sweep of a plan will take on this machine, from a probe."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from engine.data.microdata import Microdata
from engine.mechanisms import mechanism
from engine.plan import Plan
from engine.release.space import Space
from engine.release.spec import ReleaseSpec, multi_kind
from engine.release.specs import ReleaseSpecs, Specs, first_of_structure
from engine.sweeps.adaptive import search_of
from engine.sweeps.candidates import Counted, scenarios_of, space_or_count, swap_ways
from engine.sweeps.evaluator import Evaluator, Question, question_of
from engine.sweeps.groups import Groups, TaskBatch, even_order, group
from engine.sweeps.workers import THREADS, default_workers, task_batches, threads_pay

_SPENT = 0.1  # seconds, shared by the mechanisms, after which a probe looks at no further group
_SPENT_ON_RECORDS = 3.0  # where a measure looks at records: candidates differ much in what that takes
# Seconds to start a process with its libraries and kernels, to list a scenario, to store a run, and to put it
# on the map at the end: `benchmarks/estimate.py` holds them against sweeps.
_STARTED, _LISTED, _STORED, _MAPPED = 1.8, 5e-6, 1.7e-6, 2.3e-6
_PROBED = 500  # swaps of given numbers of attributes that an estimate chooses from
_PROBES = 24  # groups of each mechanism that an estimate looks at, at most
_PASSES = 3  # times that quick groups are run, at most: hundreds of candidates take milliseconds


class Estimate(NamedTuple):
    """Estimated time of a sweep in a process of its own: ``runs`` that the plan asks for (the most it may ask for,
    where it searches or spends replicates adaptively), and ``seconds`` by the clock on this machine as busy as it now
    is."""

    runs: int
    seconds: float


def estimate(
    plan: Plan, data: Microdata, specs: Sequence[ReleaseSpec] | None = None, total: int | None = None, read: float = 0.0
) -> Estimate:
    """The time of a sweep, from a probe of a few groups of each mechanism.

    ``specs`` are some of the plan's ``total`` scenarios over these data, as :func:`probed` chooses them; the sweep is
    taken to be like them.  ``read`` are the seconds that reading and coding the records took, which a sweep does anew.
    """
    question = question_of(plan, data)
    if specs is None:
        specs, listed = probed(plan, data, space_or_count(plan, data), scenarios_of(plan, data, listed=False)[0])
        total = listed if total is None else total
    total = len(specs) if total is None else total
    if plan.space.search and plan.swaps_at_random:
        search = search_of(plan, data, bytes(16))
        specs = ReleaseSpecs.of(
            [*specs, *ReleaseSpecs.product(search.start(), plan.space.rates, plan.space.rule, search.ways)]
        )
        total += search.budget * len(plan.space.rates) * len(search.ways)
    work, runs = _work(question, specs, total), total * plan.space.replicates
    workers = default_workers(runs, question)
    seconds = read + _STARTED + work.once + _MAPPED * runs
    # scenarios are listed, and results stored, while workers draw
    shared = work.drawn + _LISTED * total + _STORED * runs
    if workers == 1 or threads_pay(runs, question, workers):
        return Estimate(runs, seconds + work.again + work.fits + shared / min(workers, THREADS))
    # each worker makes every fit of which it runs a part
    return Estimate(runs, seconds + _STARTED + work.once + work.fits + shared / workers**0.8)


class _Work(NamedTuple):
    """Seconds of a sweep's parts: what is done ``once`` and made ``again`` by each process, ``fits``, and runs
    ``drawn``."""

    once: float
    again: float
    fits: float
    drawn: float


def _work(question: Question, specs: Sequence[ReleaseSpec], total: int) -> _Work:
    """The parts of a sweep of ``total`` scenarios such as these."""
    evaluator = Evaluator(question, bytes(16))
    once = _seconds(question.original)  # which a sweep computes too
    if not question.on_records:  # without the kernels that the first call loads
        once = min(once, _seconds(question.original))
    again = _seconds(evaluator.prepare)  # what each process makes for itself, without what it loads for that
    spent = _SPENT_ON_RECORDS if question.on_records else _SPENT
    groups, replicates = group(specs, question.table), question.plan.space.replicates
    kinds: dict[str, list[int]] = {}
    for at, name in enumerate(groups.mechanisms):
        kinds.setdefault(name, []).append(at)
    fits, drawn = 0.0, 0.0
    for name, places in kinds.items():
        known = int(groups.sizes[places].sum())
        meant = known + (total - len(specs) if mechanism(name).by_roles else 0)  # no other mechanism is known in part
        indices = np.unique(np.linspace(0, len(places) - 1, _PROBES).astype(int))
        chosen = groups.take(np.array(places)[indices[even_order(len(indices))]])
        fit, run = _each(evaluator, chosen, replicates, spent / len(kinds))
        fits += meant * fit
        drawn += meant * replicates * run
    return _Work(once, again, fits, drawn)


def _seconds(work: Callable[[], object]) -> float:
    """Seconds by the clock that some work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def probed(
    plan: Plan, data: Microdata, space: Space | Counted | None, others: Sequence[ReleaseSpec]
) -> tuple[ReleaseSpecs, int]:
    """The scenarios that :func:`estimate` looks at, and the number of those that they stand for: all of other
    mechanisms; of swaps of given numbers of attributes, of which no two share work, an even part; of other swaps the
    groups that share work, even parts of the small and of the large ones."""
    scenarios = ReleaseSpecs.of(others, data.domain.names)
    if space is None:
        return scenarios, len(others)
    ways = swap_ways(plan)
    if isinstance(space, Counted) or plan.space.swap_sizes:
        specs = Specs.of(space.even_part(_PROBED))
    else:
        specs = _even_structures(space.specs, data)
    swaps = ReleaseSpecs.product(specs, plan.space.rates, plan.space.rule, ways)
    return swaps.joined(scenarios), space.distinct * len(plan.space.rates) * len(ways) + len(others)


def _even_structures(specs: Specs, data: Microdata) -> Specs:
    """The specs of some structures, each in the middle of one of as many equal parts of all structures by size."""
    apart = sorted({*multi_kind(data.table), *data.domain.ruled})
    _, structure, sizes = np.unique(first_of_structure(specs, apart), return_inverse=True, return_counts=True)
    by_size = np.argsort(sizes, kind="stable")
    n = min(_PROBES, len(sizes))
    middle = by_size[(2 * np.arange(n) + 1) * len(sizes) // (2 * n)]
    return specs.take(np.isin(structure, middle))


def _each(evaluator: Evaluator, chosen: Groups, replicates: int, spent: float) -> tuple[float, float]:
    """Seconds of the fit per scenario and of a run, of some groups that are run as a sweep runs them until
    so many seconds are ``spent``.

    Replicates of a group share its preparation, and many candidates measured together take far less than one at a time.
    """
    together = chosen[0].structure is not None and not evaluator.question.on_records
    for shared in chosen if together else chosen[:1]:
        evaluator.run(shared, [1])  # loads or compiles the kernels, which is not part of the rate
    each = _seconds(partial(evaluator.run, chosen[0], [1]))
    few = int(spent / len(chosen) / max(1e-9, each))
    done, scenarios, fits, runs = 0, 0, 0.0, 0.0
    began = time.perf_counter()
    for batch in _batches(chosen, replicates, few, together):
        shared = batch[0][0]
        if shared.structure is None:
            evaluator.forget_fit()
        taken = _seconds(partial(evaluator.run_all, batch))
        if shared.structure is None:  # its fit is there now: what it took is the difference
            run = _seconds(partial(evaluator.run_all, batch))
            fits += max(0.0, taken - run)
            taken = run
        runs += taken
        done += sum(len(part) * len(numbers) for part, numbers in batch)
        scenarios += len(shared)
        if time.perf_counter() - began > spent:
            break
    return fits / scenarios, runs / done


def _batches(chosen: Groups, replicates: int, few: int, together: bool) -> Iterator[TaskBatch]:
    """Batches of at most a ``few`` replicates of each group: of several groups as a sweep's where they are quick and
    drawn ``together``, else each of one group."""
    none_done, asked = np.zeros(1 + chosen.indices.max(), np.int64), max(1, min(replicates, few))
    if together and few:
        for _ in range(min(_PASSES, few // asked)):
            yield from task_batches(chosen, none_done, asked)
    else:
        for k in range(len(chosen)):
            yield next(task_batches(chosen[k : k + 1], none_done, asked))
