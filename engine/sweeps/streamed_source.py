"""Refuse, before anything is read, what a plan asks of records that are read by streaming."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.common.errors import Remedy, UsageError
from engine.common.wording import listed
from engine.data.io.stream import RecordStream
from engine.data.microdata import RawTable
from engine.measures import MeasureCall
from engine.measures.planned import planned_calls
from engine.mechanisms import mechanism
from engine.plan import Plan
from engine.plan.column_assignment import check_assignment
from engine.plan.tabulate import Counter, tabulate
from engine.study.study import Study


def table_for(
    data: RawTable | RecordStream,
    plan: Plan,
    calls: Sequence[MeasureCall] | None = None,
    *,
    counter: Counter | None = None,
    announce: Callable[[str], None] | None = None,
) -> RawTable:
    """The table of a source for a plan: a stream is read once and counted, a table is given back as it is.

    A plan that asks for what needs records, in its measures or in ``calls`` in their place, is refused
    (:class:`UsageError`) before the stream is read.  ``counter`` counts somewhere else than here; ``announce`` is told
    that the source is streamed.
    """
    if isinstance(data, RawTable):
        return data
    check_countable(plan, data.source, calls)
    check_assignment(plan.data, data.names)
    if announce:
        announce(f"'{data.source}' is read by streaming: its records are counted, and are not kept in memory")
    return tabulate(data, plan) if counter is None else tabulate(data, plan, counter)


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
        ("unit", "units", [] if plan.data.unit is None else [plan.data.unit]),
    ):
        if names:
            names_asked += names
            quoted = listed(f"'{name}'" for name in names)
            asked.append(f"{what if len(names) == 1 else several} {quoted}")
    need = "needs" if len(names_asked) == 1 else "need"
    if asked:
        raise UsageError(
            f"'{source}' is read by streaming, so its records are not in memory, and {listed(asked)} of the plan "
            f"{need} them; leave this out, or read a file that fits into memory",
            Remedy.IN_MEMORY,
        )


def check_way_of_reading(study: Study, raw: RawTable) -> None:
    """Refuse (:class:`UsageError`) records in memory for a study of streamed ones, and the other way round: the
    fingerprints of the two are not alike."""
    counted = study.about.get("streamed")
    if (counted is None) == (raw.streamed is None):
        return
    if counted is None:
        raise UsageError(
            f"study '{study.name}' was made with all records in memory and '{raw.source}' is read by streaming; read "
            "it into memory",
            Remedy.IN_MEMORY,
        )
    raise UsageError(
        f"study '{study.name}' was made by streaming and '{raw.source}' is in memory; read it by streaming",
        Remedy.STREAM,
    )
