"""Prepare a plan on its data for a sweep, and refuse what a sweep would refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.data.microdata import Microdata, RawTable
from engine.measures import MeasureCall
from engine.measures.planned import check_decision
from engine.plan import Plan
from engine.plan.doubtful_numbers import refuse_doubtful
from engine.plan.doubtful_values import refuse_undecided
from engine.plan.recode import code
from engine.release.records import ReleasedTable
from engine.release.release_specs import ReleaseSpecs
from engine.release.space import Space
from engine.release.spec import ReleaseSpec
from engine.sweeps.candidates import scenarios_of
from engine.sweeps.evaluator import Question, question_of
from engine.sweeps.meaning import check_meaning
from engine.sweeps.remarks import widest_first
from engine.sweeps.search import NONE_TO_START, search_of
from engine.sweeps.space_count import counted


@dataclass(frozen=True)
class Ready:
    """The coded data, the question that the plan asks of them, its scenarios, the space of the random swap where that
    was listed, and what mechanisms say of their candidates."""

    data: Microdata
    question: Question
    specs: ReleaseSpecs
    space: Space | None
    remarks: tuple[str, ...] = ()


def ready(
    raw: RawTable,
    plan: Plan,
    calls: Sequence[MeasureCall] | None = None,
    known: Sequence[ReleaseSpec] = (),
    *,
    listed: bool = True,
) -> Ready:
    """Make a plan ready: code the data, make every measure, analysis and mechanism ready on them, list the scenarios.

    ``calls`` are the measures where they are not those of the plan, ``known`` the scenarios of a study, ``listed``
    false leaves out the random swap where its swaps are too many to be looked at one by one.
    """
    data = code(raw, plan)
    if calls is None:  # a study that was begun goes on as it is
        refuse_undecided(plan, raw)
        refuse_doubtful(plan, raw)
    check_single_columns(data)
    question = question_of(plan, data, calls)
    _check_numeric(plan, data)
    _check_objectives(plan, question)
    if calls is None:
        check_decision(plan, question.calls)
    remarks: list[str] = []
    specs, space = scenarios_of(plan, data, known, listed=listed or counted(plan, data) is None, tell=remarks.append)
    if calls is None:
        check_meaning(plan, [specs[i] for i in np.flatnonzero(~specs.by_roles).tolist()])
    return Ready(data, question, specs, space, widest_first(remarks))


def check_single_columns(data: Microdata) -> None:
    """Refuse a weight that is none in some record (:meth:`Microdata.check_weight`), and a unit that is missing in
    one."""
    _ = data.units
    data.check_weight()


def _check_numeric(plan: Plan, data: Microdata) -> None:
    """Refuse a column that the plan names as numeric and that holds other values; columns of analyses were read."""
    if plan.data.numeric and data.streamed is None:
        from engine.models.columns import numbers_of

        table = ReleasedTable(data)
        for column in plan.data.numeric:
            numbers_of(table, table, column, plan)


def _check_objectives(plan: Plan, question: Question) -> None:
    if plan.space.adaptive or plan.space.search:
        for kind in ("risk", "utility"):
            if not any(call.measure.kind == kind for call in question.calls):
                raise UsageError(
                    f"adaptive replicates and a search compare risk with utility, and the plan has no measure of {kind}"
                )


def plan_problems(plan: Plan, raw: RawTable) -> list[str]:
    """The differences between a plan and a file, in sentences; where there are none, the reasons why a sweep of it
    would be refused."""
    from engine.plan.check import check_plan

    differing = check_plan(plan, raw)
    if differing:
        return differing
    try:
        made = ready(raw, plan, listed=False)
        made.question.original()
        if plan.space.search and plan.swaps_at_random and not search_of(plan, made.data, bytes(32)).start():
            return [NONE_TO_START]
    except EngineError as error:
        return [str(error)]
    return []
