"""Store the results of batches some at a time: a commit costs more than a quick batch."""

from __future__ import annotations

import time

import numpy as np

from engine.release.results import Note
from engine.study.runs import RunTable
from engine.study.study import Study
from engine.sweeps.evaluator import Outcome

AT_MOST = 0.5
"""Seconds of results that a killed sweep loses, at most, beside the batches under way."""
_MANY = 2_000  # runs that are worth a transaction of their own near the end
_LONG = 0.25  # processor seconds of a batch that is stored at once: its commit is little beside it


class ResultsWriter:
    """The results of batches on their way into a table of a study; whoever ends before time stores what waits."""

    def __init__(self, study: Study, table: RunTable) -> None:
        self._study, self._table = study, table
        self._rows: list[np.ndarray] = []
        self._notes: list[Note] = []
        self._stored = -AT_MOST  # when results were stored last: never, so the first ones are stored at once
        self._long = False

    def add(self, outcome: Outcome) -> None:
        """Take the results of a batch, to be stored with others."""
        if len(outcome.rows):
            self._rows.append(outcome.rows)
            self._notes += outcome.notes
            self._long = outcome.effort is None or outcome.effort.processor >= _LONG

    @property
    def is_due(self) -> bool:
        """True once what waits is to be stored; also where nothing waits, so that somebody looks up now and then."""
        return self._long or time.monotonic() - self._stored >= AT_MOST

    def is_half(self, missing: int) -> bool:
        """True once many runs wait, and half of those that the study was ``missing``: other workers draw the rest
        meanwhile, and would have nothing to do when all was stored at the end."""
        waiting = sum(map(len, self._rows))
        return waiting >= max(_MANY, missing - waiting)

    def store(self) -> int:
        """Store what waits in one transaction; returns how many runs the study did not hold before."""
        rows, notes = self._rows, self._notes
        self._rows, self._notes, self._long = [], [], False  # what cannot be stored is not tried again
        added = self._study.runs.add(np.concatenate(rows), notes, self._table) if rows else 0
        if rows:
            self._stored = time.monotonic()
        return added
