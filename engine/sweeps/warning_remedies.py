"""Remedies of warnings about released columns: plans in which a warning is gone, one column at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from engine.common.errors import EngineError
from engine.data.microdata import RawTable
from engine.plan import Link, Plan, Proposal, accept
from engine.plan.guess import facts
from engine.plan.reshape import set_use, viewed_by
from engine.sweeps.release_warnings import CoarseKey, FinerThanCounted, Identifier, LooseRecodes, ReleaseWarning


@dataclass(frozen=True)
class PlanRemedy:
    """A way out of a warning: its ``label`` as an order, what it has ``done`` in words, and the ``plan`` with it."""

    label: str
    done: str
    plan: Plan


def one_by_one(warnings: Sequence[ReleaseWarning]) -> list[ReleaseWarning]:
    """Warnings that each speak of one column, one key or one pair of columns."""
    single: list[ReleaseWarning] = []
    for warning in warnings:
        if isinstance(warning, FinerThanCounted):
            single += [FinerThanCounted((key,)) for key in warning.keys]
        elif isinstance(warning, LooseRecodes):
            single += [LooseRecodes((pair,)) for pair in warning.pairs]
        else:
            single.append(warning)
    return single


def remedies(warning: ReleaseWarning, plan: Plan, raw: RawTable) -> list[PlanRemedy]:
    """Ways out of a warning of :func:`one_by_one`, the usual one first; those that the plan does not allow are left
    out."""
    ways: Iterator[tuple[str, str, Callable[[], Plan]]]
    if isinstance(warning, Identifier):
        ways = _of_identifier(warning, plan, raw)
    elif isinstance(warning, LooseRecodes):
        ways = _of_recode(*warning.pairs[0], plan, raw)
    elif isinstance(warning, FinerThanCounted):
        ways = _of_key(warning.keys[0], plan, raw)
    else:
        return []
    possible = []
    for label, done, change in ways:
        try:
            possible.append(PlanRemedy(label, done, change()))
        except EngineError:
            continue  # an analysis, a table or an edit rule needs the column: no remedy then
    return possible


def _of_identifier(warning: Identifier, plan: Plan, raw: RawTable) -> Iterator[tuple[str, str, Callable[[], Plan]]]:
    column = warning.column
    yield _drop(plan, raw, column)
    if warning.refused and plan.data.id is None:
        yield f"{column} is the id", f"{column} is the id", lambda: set_use(plan, column, "id")
    if not warning.refused and plan.data.weight is None:
        yield f"{column} is the weight", f"{column} is the weight", lambda: set_use(plan, column, "weight")


def _of_recode(decider: str, decided: str, plan: Plan, raw: RawTable) -> Iterator[tuple[str, str, Callable[[], Plan]]]:
    block = Proposal("block", (decider, decided), "", "", (Link(decided, decider, "recode"),))
    done = f"{decider} and {decided} move as one block"
    yield "Let them move as one block", done, lambda: accept(plan, block)
    yield _drop(plan, raw, decided)
    yield _drop(plan, raw, decider)


def _of_key(key: CoarseKey, plan: Plan, raw: RawTable) -> Iterator[tuple[str, str, Callable[[], Plan]]]:
    part = plan.attributes[plan.names.index(key.name)]
    finest = max(key.columns, key=lambda column: column[1])[0]
    for column, _ in key.columns:
        if column not in part.view:
            yield _drop(plan, raw, column)
    yield (
        f"Count {key.name} by the values of {finest}",
        f"{key.name} is counted by the values of {finest}",
        lambda: _counted_by(plan, key.name, finest, raw),
    )


def _counted_by(plan: Plan, name: str, column: str, raw: RawTable) -> Plan:
    """The plan in which each value of a column is a level of an attribute."""
    part = plan.attributes[plan.names.index(name)]
    own = replace(viewed_by(part, raw, column), cut=(), labels=(), merge=(), levels=())
    return replace(plan, data=replace(plan.data, attributes=tuple(own if a is part else a for a in plan.attributes)))


def _drop(plan: Plan, raw: RawTable, column: str) -> tuple[str, str, Callable[[], Plan]]:
    def dropped() -> Plan:
        part = next((a for a in plan.attributes if column in a.view and len(a.columns) > 1), None)
        if part is None:
            return set_use(plan, column, "drop")
        other = next(
            (name for name in part.columns if name != column and facts(raw.columns[name], raw.n_records).categorical),
            part.columns[-1],
        )
        seen = viewed_by(part, raw, other)
        attributes = tuple(seen if a is part else a for a in plan.attributes)
        return set_use(replace(plan, data=replace(plan.data, attributes=attributes)), column, "drop")

    return f"Drop {column}", f"{column} is dropped", dropped
