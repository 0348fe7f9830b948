"""One realisation of data that are read by streaming, with everything that an export writes its bundle from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.bundle.chosen_run import RemadeRun, check_figures, chosen_run, secret_of
from engine.bundle.files import check_formats
from engine.bundle.refusal import Refused
from engine.bundle.row_order import Rows, new_secret
from engine.common.errors import UsageError
from engine.data.microdata import Microdata, RawColumn, RawTable
from engine.release.reader_view import columns_beside
from engine.study.study import Study
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import RemadeCells, remake_cells, stream_of

FORMATS = ("csv", "parquet")
"""The formats that are written by streaming."""


@dataclass(frozen=True)
class StreamedSource(RemadeRun):
    """A realisation of a study, remade down to pairs of cells; ``rows`` holds the secret of the released order, ``key``
    is the study key."""

    remade: RemadeCells

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the released columns, in file order."""
        return released_names(self.data, self.include)

    @property
    def known_columns(self) -> list[RawColumn]:
        """The released columns whose distinct values are in memory: those of attributes."""
        return [self.raw.columns[name] for name in self.columns if name in coded_names(self.data)]


def coded_names(data: Microdata) -> tuple[str, ...]:
    """The raw columns that attributes need, which streaming codes by their distinct values."""
    assert data.raw.streamed is not None, "the records are in memory"
    return data.raw.streamed.rows.names


def released_names(data: Microdata, include: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of a release in file order: dropped ones never, weight and id where they are included."""
    unreleased = {*data.dropped, *(name for name, use in data.single_uses.items() if use not in include)}
    return tuple(name for name in data.raw.names if name not in unreleased)


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


def streamed_source(
    study: Study,
    raw: RawTable,
    candidate: str | None,
    *,
    key_file: str | Path | None = None,
    include: Iterable[str] = (),
    formats: Iterable[str] = FORMATS,
    allow_partial: bool = False,
    same_order_as: str | Path | None = None,
) -> StreamedSource:
    """Remake one realisation of data that are read by streaming, as :func:`engine.bundle.export_source.export_source`
    does of data in memory."""
    formats = check_formats(formats)
    for name in formats:
        if name not in FORMATS:
            raise UsageError(
                f"format == '{name}', must be one of {', '.join(FORMATS)} for data that are read by streaming: it is "
                "written from all records in memory"
            )
    run = chosen_run(study, raw, candidate, include, key_file, allow_partial)
    spec, question = run.scenario.spec, question_of(study.plan, run.data, study.measures)
    remade = remake_cells(run.data, question, spec, stream_of(run.key, spec, run.data, run.replicate))
    check_figures(remade.figures, run.stored)
    rows = Rows(new_secret() if same_order_as is None else secret_of(same_order_as, run.data), run.data.n_records)
    return StreamedSource(
        study, raw, run.data, run.scenario, run.replicate, remade, rows, run.key, run.include, formats
    )
