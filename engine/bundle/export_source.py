"""One remade realisation with everything that an export writes its bundles from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypedDict

from engine.bundle.chosen_run import RemadeRun, check_figures, chosen_run, secret_of
from engine.bundle.files import Tables, check_formats, labels_of, tables_of
from engine.bundle.row_order import Rows, new_secret
from engine.data.labels import ColumnLabels
from engine.data.microdata import RawColumn, RawTable
from engine.study.study import Study
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import Remade, remake, stream_of


@dataclass(frozen=True)
class ExportSource(RemadeRun):
    """A realisation of a study, remade; ``rows`` is its order in the released files, ``key`` the study key and
    ``notes`` are what the formats could not hold, as far as files were written."""

    remade: Remade
    notes: dict[str, None] = field(default_factory=dict, compare=False)

    @cached_property
    def tables(self) -> Tables:
        """The released tables, their records in the released order."""
        return tables_of(self.remade, self.rows, self.include)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the released columns."""
        return tuple(next(iter(self.tables.values())))

    @property
    def known_columns(self) -> list[RawColumn]:
        """The released columns of the original."""
        return [self.raw.columns[name] for name in self.columns]

    @property
    def labels(self) -> dict[str, ColumnLabels]:
        """Labels of the released columns."""
        return labels_of(self.remade, self.columns, self.study.plan)


class ExportOptions(TypedDict, total=False):
    """The options of :func:`export_source` besides ``include``, which are explained there."""

    key_file: str | Path | None
    formats: Iterable[str]
    allow_partial: bool
    same_order_as: str | Path | None


def export_source(
    study: Study,
    raw: RawTable,
    candidate: str | None,
    *,
    key_file: str | Path | None = None,
    include: Iterable[str] = (),
    formats: Iterable[str] = ("csv", "parquet"),
    allow_partial: bool = False,
    same_order_as: str | Path | None = None,
) -> ExportSource:
    """Remake one realisation: of the candidate named, else the recorded choice.

    The remade figures must equal the stored ones.  ``key_file`` is the study's key where it does not lie beside the
    study, ``formats`` are those of the tables, ``allow_partial`` takes a failed run all the same, and ``same_order_as``
    is an analyst's bundle of the same data whose row order and ids are used again.
    """
    run = chosen_run(study, raw, candidate, include, key_file, allow_partial)
    formats, spec = check_formats(formats), run.scenario.spec
    question = question_of(study.plan, run.data, study.measures)
    remade = remake(run.data, question, spec, stream_of(run.key, spec, run.data, run.replicate))
    check_figures(remade.figures, run.stored)
    rows = Rows(new_secret() if same_order_as is None else secret_of(same_order_as, run.data), run.data.n_records)
    return ExportSource(study, raw, run.data, run.scenario, run.replicate, remade, rows, run.key, run.include, formats)
