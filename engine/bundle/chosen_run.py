"""The realisation of a study that an export is asked for, before its records are made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from engine.bundle.integrity import read_intact
from engine.bundle.row_order import Rows
from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.streams import fingerprint
from engine.data.microdata import Microdata, RawTable
from engine.decision.meant_run import meant_run
from engine.decision.states import decision_status
from engine.frontier.risk_utility_map import check_realisation, refuse_void
from engine.measures import call
from engine.plan.coding import code
from engine.plan.entries import check_include
from engine.release.scenarios import Scenario
from engine.study.keys import key_path, read_key
from engine.study.study import Study
from engine.sweeps.remake import Remade, RemadeCells
from engine.sweeps.sweep import check_same

CLOSE = 1e-9
"""Up to which relative difference a figure of another platform counts as the same."""


class ChosenRun(NamedTuple):
    """One realisation of a study: its data, the study key, what is released beside the attributes, and the figures that
    the study holds."""

    data: Microdata
    scenario: Scenario
    replicate: int
    key: bytes
    include: tuple[str, ...]
    stored: dict[str, float]


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


def chosen_run(
    study: Study,
    raw: RawTable,
    candidate: str | None,
    include: Iterable[str],
    key_file: str | Path | None,
    allow_partial: bool,
) -> ChosenRun:
    """The realisation of the candidate named, else of the recorded choice; arguments are those of
    :func:`engine.bundle.export_source.export_source`."""
    include = check_include(include)
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
    stored = {str(c): float(v) for c, v in zip(study.measures, runs.values[row], strict=True)}
    return ChosenRun(data, scenario, replicate, key, include, stored)


def secret_of(bundle: str | Path, data: Microdata) -> bytes:
    """The secret of the row order of an analyst's bundle of the same data."""
    manifest = read_intact(bundle)
    if manifest.get("n_records") != data.n_records:
        raise UsageError(
            f"the bundle whose row order is to be used holds {manifest.get('n_records')} records, and the data hold "
            f"{data.n_records}; it belongs to other data"
        )
    return bytes.fromhex(manifest["row_order_secret"])


def check_figures(figures: dict[str, float], stored: dict[str, float]) -> None:
    """Refuse (:class:`EngineError`) a release whose figures are not those that its study holds.

    A figure of a measure that earlier versions computed otherwise may differ.
    """
    for name, value in stored.items():
        figure = figures[name]
        both_undefined = figure != figure and value != value
        same = figure == value or both_undefined or abs(figure - value) <= CLOSE * max(1.0, abs(value))
        if not same and not call(name).measure.revised:
            raise EngineError(
                f"the remade release has {name} {figure!r}, the study holds {value!r}; nothing was written. Was the "
                "study made by another version?"
            )
