"""Refuse what a plan asks of records that are read by streaming, before anything is read."""

from __future__ import annotations

from collections.abc import Sequence

from engine.common.errors import Remedy, UsageError
from engine.common.wording import listed
from engine.measures import MeasureCall
from engine.measures.planned import planned_calls
from engine.mechanisms import mechanism
from engine.plan import Plan


def check_countable(plan: Plan, source: str, calls: Sequence[MeasureCall] | None = None) -> None:
    """Refuse (:class:`UsageError`) a plan of which something needs the records of a streamed ``source``."""
    asked: list[str] = []
    names_asked: list[str] = []
    measures = [str(call) for call in (planned_calls(plan) if calls is None else calls) if call.measure.on_records]
    mechanisms = [part.name for part in plan.mechanisms if mechanism(part.name).batched is None]
    analyses = [analysis.name for analysis in plan.analyses]
    for what, several, names in (
        ("measure", "measures", measures),
        ("mechanism", "mechanisms", mechanisms),
        ("analysis", "analyses", analyses),
        ("unit", "units", plan.data.unit_columns),
    ):
        if names:
            names_asked += names
            quoted = listed(f"'{name}'" for name in names)
            asked.append(f"{what if len(names) == 1 else several} {quoted}")
    need = "needs" if len(names_asked) == 1 else "need"
    if asked:
        raise UsageError(
            f"'{source}' is read by streaming, so its records are not in memory, and {listed(asked)} of the plan "
            f"{need} them; leave this out, or read data that fit into memory",
            Remedy.IN_MEMORY,
        )
