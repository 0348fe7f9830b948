"""Results of runs: a status for each, and the runs of a study as columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import Enum, IntEnum
from typing import NamedTuple

import numpy as np


class RunStatus(IntEnum):
    """Status of a run; studies store the number."""

    OK = 0
    """It was done."""
    FAILED = 1
    """Too few feasible pairs were left."""
    NOOP = 2
    """It changed nothing: the released rows are those of the original."""
    PARTIAL = 3
    """It was done, and some records were left without a partner."""

    @property
    def word(self) -> str:
        """The status as files and tables name it, such as ``noop``."""
        return self.name.lower()


class NoteKind(Enum):
    """The source of a note on a run: a measure's remark beside its figure (such as why it is undefined), the count
    behind a figure, or a count of the mechanism."""

    FIGURE = "figure"
    COUNT = "count"
    DIAGNOSTICS = "diagnostics"


class Note(NamedTuple):
    """A note on the run ``replicate`` of a scenario (its index); ``measure`` is the column of the measure that it
    belongs to, None for :attr:`NoteKind.DIAGNOSTICS`."""

    scenario: int
    replicate: int
    kind: NoteKind
    measure: int | None
    text: str


@dataclass(frozen=True)
class Results:
    """Realisations as columns: indices of their scenarios, replicates, statuses (:class:`RunStatus`), changed records,
    and one column of ``values`` per measure."""

    scenario: np.ndarray
    replicate: np.ndarray
    status: np.ndarray
    changed: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.scenario)

    def counted(self, allow_partial: bool) -> np.ndarray:
        """Mask of realisations that enter means and frontiers: failed runs only when allowed."""
        return np.ones(len(self), bool) if allow_partial else self.status != RunStatus.FAILED

    @property
    def changes_nothing(self) -> np.ndarray:
        """Mask of realisations whose released rows are those of the original."""
        mask: np.ndarray = self.status == RunStatus.NOOP
        return mask

    def is_void(self, row: int) -> bool:
        """Return whether a realisation must not be released: it changes nothing, or failed before it swapped any
        record."""
        status = self.status[row]
        return bool(status == RunStatus.NOOP or (status == RunStatus.FAILED and self.changed[row] == 0))


class StoredResults(Results):
    """Realisations that are read from the study when a column of them is first looked at; ``n`` is their number."""

    _n: int
    _read: Callable[[], Results]

    def __init__(self, n: int, read: Callable[[], Results]) -> None:
        object.__setattr__(self, "_n", n)
        object.__setattr__(self, "_read", read)

    def __len__(self) -> int:
        return self._n

    def __getattr__(self, name: str) -> np.ndarray:
        columns = [field.name for field in fields(Results)]
        if name not in columns:
            raise AttributeError(name)
        results = self._read()
        for column in columns:
            object.__setattr__(self, column, getattr(results, column))
        return np.asarray(getattr(results, name))


def first_runs(results: Results, runs: np.ndarray) -> Results:
    """The first ``runs`` replicates of every scenario only, whether or not there are more."""
    use = results.replicate <= runs[results.scenario]
    return Results(*(getattr(results, f.name)[use] for f in fields(Results)))
