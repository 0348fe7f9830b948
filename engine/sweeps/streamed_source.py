"""Streamed sources as plans and studies use them: counted once, here or on a cluster, and refused where records are
needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.common.errors import Remedy, UsageError
from engine.data.io.stream import RecordStream
from engine.data.microdata import RawTable
from engine.measures import MeasureCall
from engine.plan import Plan
from engine.plan.column_assignment import check_assignment
from engine.plan.tabulate import tabulate
from engine.study.study import Study
from engine.sweeps.countable import check_countable


def table_for(
    data: RawTable | RecordStream,
    plan: Plan,
    calls: Sequence[MeasureCall] | None = None,
    *,
    cluster: str | None = None,
    announce: Callable[[str], None] | None = None,
) -> RawTable:
    """The table of a source for a plan: a stream is read once and counted, a table is given back as it is.

    A plan that asks for what needs records, in its measures or in ``calls`` in their place, is refused
    (:class:`UsageError`) before the stream is read.  ``cluster`` is the address of a Dask cluster whose workers read
    and count it; ``announce`` is told that the source is streamed.
    """
    if isinstance(data, RawTable):
        return data
    check_countable(plan, data.source, calls)
    check_assignment(plan.data, data.names)
    say = announce or (lambda text: None)
    say(f"'{data.source}' is read by streaming: records are counted, none is kept; only analysts' bundles are made")
    if cluster is None:
        table = tabulate(data, plan)
    else:
        from engine.sweeps.cluster_counting import cluster_counter

        table = tabulate(data, plan, cluster_counter(cluster, announce))
    n_files = len(data.parts)
    say(f"'{data.source}' holds {table.n_records:,} records in {n_files:,} file{'' if n_files == 1 else 's'}")
    return table


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
