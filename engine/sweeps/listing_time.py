"""Measure what a sweep does for each scenario before any is drawn: list it, store it, put it into a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from engine.release.release_specs import ReleaseSpecs
from engine.release.spec import ReleaseSpec
from engine.study.study import Study
from engine.sweeps.evaluator import Question
from engine.sweeps.groups import group, in_even_order

_TRIED = 1_000  # scenarios that are added on trial


def listing_time(
    question: Question, specs: Sequence[ReleaseSpec], stopwatch: Callable[[Callable[[], object]], float]
) -> float:
    """Processor seconds for each scenario, measured with a study in memory to which some of ``specs`` are added.

    ``stopwatch`` does work and returns its processor seconds.
    """
    few = ReleaseSpecs.of(specs[:_TRIED])
    if not few:
        return 0.0
    domain, measures = question.table.domain, [str(call) for call in question.calls]
    about = {"attributes": list(domain.names), "levels": list(domain.shape), "measures": measures}
    with Study.create_in_memory(question.plan, about, {}) as study:

        def list_some(some: ReleaseSpecs) -> None:
            study.scenario_table.add(some)
            in_even_order(group(some, question.table))

        list_some(few[:1])
        # what is done once for all takes as long as hundreds of scenarios, and now and then much longer
        once = min(stopwatch(partial(list_some, few[:n])) for n in (2, 3, 4))
        return max(0.0, stopwatch(partial(list_some, few)) - once) / len(few)
