"""One remade realisation, in memory or streamed, with everything that an export writes its bundles from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypedDict

import numpy as np

from engine.bundle.manifest import read_intact
from engine.bundle.readers import Refused
from engine.bundle.released_files import (
    Rows,
    Tables,
    check_formats,
    coded_names,
    labels_of,
    new_secret,
    released_names,
    tables_of,
)
from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.streams import fingerprint
from engine.data.microdata import ColumnLabels, Microdata, RawColumn, RawTable
from engine.decision.states import decision_status, meant_run
from engine.frontier.risk_utility_map import check_realisation, refuse_void
from engine.measures import call
from engine.plan.coding import code
from engine.plan.entries import check_include
from engine.release.reader_view import columns_beside
from engine.release.scenarios import Scenario
from engine.study.keys import key_path, read_key
from engine.study.study import Study
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import Remade, RemadeCells, remake, remake_cells, stream_of
from engine.sweeps.sweep import check_same

CLOSE = 1e-9
"""Up to which relative difference a figure of another platform counts as the same."""


@dataclass(frozen=True)
class RemadeRun:
    """A realisation of a study, ``remade`` down to records or to pairs of cells; ``rows`` holds the released order and
    ``key`` is the study key."""

    study: Study
    raw: RawTable
    data: Microdata
    scenario: Scenario
    replicate: int
    remade: Remade | RemadeCells
    rows: Rows
    key: bytes
    include: tuple[str, ...]
    formats: tuple[str, ...]

    @property
    def candidate(self) -> str:
        """The realisation's name in the study."""
        return f"{self.scenario.label}/{self.replicate}"

    @cached_property
    def fingerprint(self) -> str:
        """Keyed fingerprint (HMAC) of the original, under the key of this realisation."""
        return fingerprint(self.remade.derived, self.raw.content_digest())

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the released columns, in file order."""
        return released_names(self.data, self.include)

    @property
    def known_columns(self) -> list[RawColumn]:
        """The released columns whose distinct values are in memory: of streamed records those of attributes."""
        known = self.raw.columns if self.raw.streamed is None else coded_names(self.data)
        return [self.raw.columns[name] for name in self.columns if name in known]


@dataclass(frozen=True)
class ExportSource(RemadeRun):
    """A realisation of records in memory; ``notes`` say what the formats of written files could not hold."""

    remade: Remade
    notes: dict[str, None] = field(default_factory=dict, compare=False)

    @cached_property
    def tables(self) -> Tables:
        """The released tables, their records in the released order."""
        return tables_of(self.remade, self.rows, self.include)

    @property
    def labels(self) -> dict[str, ColumnLabels]:
        """Labels of the released columns."""
        return labels_of(self.remade, self.columns, self.study.plan)


STREAMED_FORMATS = ("csv", "parquet")
"""The formats that are written by streaming."""


@dataclass(frozen=True)
class StreamedSource(RemadeRun):
    """A realisation of streamed records, of whose order ``rows`` holds the secret."""

    remade: RemadeCells


def refuse_original_cells(source: StreamedSource) -> None:
    """Refuse (:class:`Refused`) a release without a changed record, and one whose table is that of the original where
    nothing else leaves.  Carried columns that stream by are not looked at: partners are taken to differ on them."""
    data, made = source.data, source.remade
    same = np.array_equal(made.table.cells, data.table.cells) and np.array_equal(made.table.counts, data.table.counts)
    if not made.n_changed or (same and not columns_beside(data, source.include)):
        raise Refused(
            "the release was refused: its rows are those of the original, so nothing is protected; choose another "
            "candidate. Nothing was written",
            "no change",
        )


class ExportOptions(TypedDict, total=False):
    """The options of :func:`source_of` besides ``include``, which are explained there."""

    key_file: str | Path | None
    formats: Iterable[str]
    allow_partial: bool
    same_order_as: str | Path | None


def source_of(
    study: Study,
    raw: RawTable,
    candidate: str | None,
    *,
    key_file: str | Path | None = None,
    include: Iterable[str] = (),
    formats: Iterable[str] = ("csv", "parquet"),
    allow_partial: bool = False,
    same_order_as: str | Path | None = None,
) -> ExportSource | StreamedSource:
    """Remake one realisation: of the candidate named, else the recorded choice.

    The remade figures must equal the stored ones.  ``key_file`` is the study's key where it does not lie beside the
    study, ``formats`` are those of the tables, ``allow_partial`` takes a failed run all the same, and ``same_order_as``
    is an analyst's bundle of the same data whose row order and ids are used again.
    """
    include, formats = check_include(include), check_formats(formats)
    for name in formats if raw.streamed is not None else ():
        if name not in STREAMED_FORMATS:
            raise UsageError(
                f"format == '{name}', must be one of {', '.join(STREAMED_FORMATS)} for data that are read by "
                "streaming: it is written from all records in memory"
            )
    if candidate is None:
        choice = decision_status(study).choice
        if choice is None:
            raise UsageError(
                "nothing is recommended yet; name a candidate, or record a choice first",
                Remedy.CANDIDATE_OR_CHOICE,
            )
        candidate = f"{choice.label}/{choice.replicate}"
    key = read_key(key_path(study.path, key_file))
    check_same(study, raw, key)
    data = code(raw, study.plan)
    for role in include:
        if getattr(data, role) is None:
            raise UsageError(f"the plan declares no {role}, so it cannot be included")
    scenario, replicate = study.find(candidate)
    runs = study.runs.of([scenario.index])
    if replicate is None:
        replicate = meant_run(study, scenario.index, runs=runs, allow_partial=allow_partial)
    row = check_realisation(runs, scenario.index, replicate, scenario.label, allow_partial)
    refuse_void(runs, row, scenario.label)
    spec, question = scenario.spec, question_of(study.plan, data, study.measures)
    derived = stream_of(key, spec, data, replicate)
    secret = new_secret()
    if same_order_as is not None:
        manifest = read_intact(same_order_as)
        if manifest.get("n_records") != data.n_records:
            raise UsageError(
                f"the bundle whose row order is to be used holds {manifest.get('n_records')} records, and the data "
                f"hold {data.n_records}; it belongs to other data"
            )
        secret = bytes.fromhex(manifest["row_order_secret"])
    rows = Rows(secret, data.n_records)
    source: ExportSource | StreamedSource
    if raw.streamed is None:
        made = remake(data, question, spec, derived)
        source = ExportSource(study, raw, data, scenario, replicate, made, rows, key, include, formats)
    else:
        cells = remake_cells(data, question, spec, derived)
        source = StreamedSource(study, raw, data, scenario, replicate, cells, rows, key, include, formats)
    stored = {str(c): float(v) for c, v in zip(study.measures, runs.values[row], strict=True)}
    check_figures(source.remade.figures, stored)
    return source


def check_figures(figures: dict[str, float], stored: dict[str, float]) -> None:
    """Refuse (:class:`EngineError`) figures that are not the study's, but for measures that were computed otherwise."""
    for name, value in stored.items():
        figure = figures[name]
        both_undefined = figure != figure and value != value
        same = figure == value or both_undefined or abs(figure - value) <= CLOSE * max(1.0, abs(value))
        if not same and not call(name).measure.revised:
            raise EngineError(
                f"the remade release has {name} {figure!r}, the study holds {value!r}; nothing was written. Was the "
                "study made by another version?"
            )
