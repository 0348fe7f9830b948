"""The option that says how data are read, and the data it gives."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.data.io.stream import RecordStream
    from engine.data.microdata import RawTable
    from engine.plan import Plan
    from engine.study.study import Study


_FOR_A_PLAN = 500_000  # records


def add_stream_option(parser: argparse.ArgumentParser) -> None:
    """Add how the data are read."""
    parser.add_argument(
        "--stream",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="read the data by streaming: count the records and keep none in memory (default: large files "
        "and folders, and studies that were made so)",
    )


def source_of(args: argparse.Namespace, study: Study | None = None) -> tuple[RawTable | RecordStream, Plan | None]:
    """The data that the arguments name, read as they say, else as ``study`` was made: with the plan of a sample."""
    from engine.plan.sources import open_source

    stream = args.stream
    if stream is None and study is not None:
        stream = "streamed" in study.about
    return open_source(args.data, stream)


def first_records_of(args: argparse.Namespace) -> tuple[RawTable, Plan | None]:
    """The data from which a plan is made, with the plan of a sample: of a source that is read by streaming the first
    records, which is said."""
    from engine.common.progress import announce
    from engine.data.io.stream import first_records
    from engine.data.microdata import RawTable
    from engine.plan.sources import open_source

    source, plan = open_source(args.data)
    if isinstance(source, RawTable):
        return source, plan
    records = first_records(source, _FOR_A_PLAN)
    announce(
        f"'{source.source}' is read by streaming: this looks at its first {records.n_records:,} records alone, so "
        "check the plan against all of them"
    )
    return records, plan


def table_of(args: argparse.Namespace, study: Study) -> RawTable:
    """The records, or the counts of them, for a study that was made of them."""
    from engine.sweeps.sweep import table_for

    return table_for(source_of(args, study)[0], study.plan, study.measures, cluster=getattr(args, "cluster", None))
