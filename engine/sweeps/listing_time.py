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
        study.scenario_table.add(few[:1])  # what is done once for all is no part of it
        added = stopwatch(partial(study.scenario_table.add, few))
        return (added + stopwatch(lambda: in_even_order(group(few, question.table)))) / len(few)
