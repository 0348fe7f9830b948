"""The source of an export of records in memory."""

from __future__ import annotations

from typing import Any

from engine.bundle.source import ExportSource, source_of
from engine.data.microdata import RawTable
from engine.study.study import Study


def export_source(study: Study, raw: RawTable, candidate: str | None, **options: Any) -> ExportSource:
    """Remake one realisation of a study whose records are in memory."""
    source = source_of(study, raw, candidate, **options)
    assert isinstance(source, ExportSource)
    return source
