"""One remade realisation with everything that an export writes its bundles from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypedDict

from engine.bundle.files import Tables, check_formats, labels_of, tables_of
from engine.bundle.integrity import read_intact
from engine.bundle.row_order import Rows, new_secret
from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.streams import fingerprint
from engine.data.labels import ColumnLabels
from engine.data.microdata import Microdata, RawTable
from engine.decision.meant_run import meant_run
from engine.decision.states import decision_status
from engine.frontier.risk_utility_map import check_realisation
from engine.plan.context import check_include
from engine.plan.recode import code
from engine.release.scenarios import Scenario
from engine.study.keys import key_path, read_key
from engine.study.study import Study
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import Remade, remake, stream_of
from engine.sweeps.sweep import check_same

CLOSE = 1e-9
"""Up to which relative difference a figure of another platform counts as the same."""


@dataclass(frozen=True)
class ExportSource:
    """A realisation of a study, remade; ``rows`` is its order in the released files, ``key`` the study key."""

    study: Study
    raw: RawTable
    data: Microdata
    scenario: Scenario
    replicate: int
    remade: Remade
    rows: Rows
    key: bytes
    include: tuple[str, ...]
    formats: tuple[str, ...]

    @property
    def candidate(self) -> str:
        """The realisation's name in the study."""
        return f"{self.scenario.label}/{self.replicate}"

    @cached_property
    def tables(self) -> Tables:
        """The released tables, their records in the released order."""
        return tables_of(self.remade, self.rows, self.include)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the released columns."""
        return tuple(next(iter(self.tables.values())))

    @property
    def labels(self) -> dict[str, ColumnLabels]:
        """Labels of the released columns."""
        return labels_of(self.remade, self.columns)

    @cached_property
    def fingerprint(self) -> str:
        """Keyed fingerprint (HMAC) of the original, under the key of this realisation."""
        return fingerprint(self.remade.derived, self.raw.content_digest())


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
    include, formats = check_include(include), check_formats(formats)
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
    remade = remake(
        data,
        question_of(study.plan, data, study.measures),
        scenario.spec,
        stream_of(key, scenario.spec, data, replicate),
    )
    stored = {str(c): float(v) for c, v in zip(study.measures, runs.values[row], strict=True)}
    check_figures(remade.figures, stored)
    secret = new_secret() if same_order_as is None else _secret_of(same_order_as, data)
    rows = Rows(secret, data.n_records)
    return ExportSource(study, raw, data, scenario, replicate, remade, rows, key, include, formats)


def _secret_of(bundle: str | Path, data: Microdata) -> bytes:
    manifest = read_intact(bundle)
    if manifest.get("n_records") != data.n_records:
        raise UsageError(
            f"the bundle whose row order is to be used holds {manifest.get('n_records')} records, and the data hold "
            f"{data.n_records}; it belongs to other data"
        )
    return bytes.fromhex(manifest["row_order_secret"])


def check_figures(figures: dict[str, float], stored: dict[str, float]) -> None:
    """Refuse (:class:`EngineError`) a release whose figures are not those that its study holds."""
    for name, value in stored.items():
        figure = figures[name]
        both_undefined = figure != figure and value != value
        if not (figure == value or both_undefined or abs(figure - value) <= CLOSE * max(1.0, abs(value))):
            raise EngineError(
                f"the remade release has {name} {figure!r}, the study holds {value!r}; nothing was written. Was the "
                "study made by another version?"
            )
