"""Runs that a process has just written, so that it need not read them again to sum them up."""

from __future__ import annotations

import numpy as np

_MOST = 2**26  # bytes of runs in memory beside the work of a sweep: a million runs of four measures


class WrittenRuns:
    """The runs of a table, if this process has written every one of them: rows ``(scenario, replicate, status, changed,
    values...)``.  A table that others filled, or that holds more than fits, is to be read."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] | None = None

    def begin(self) -> None:
        """Take note that the table is empty."""
        self._parts = []

    def add(self, rows: np.ndarray) -> None:
        """Take rows that were written, none of which the table held before."""
        if self._parts is not None:
            self._parts.append(rows)
            if sum(part.nbytes for part in self._parts) > _MOST:
                self.forget()

    def forget(self) -> None:
        """Take note that the table holds something else."""
        self._parts = None

    def __len__(self) -> int:
        return sum(map(len, self._parts or ()))

    def columns(self, n_values: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Heads (4 × runs, whole numbers) and ``n_values`` values of each run (runs × values), to the bit as the table
        gives them back, ordered by scenario and replicate; None where the table is to be read."""
        if not self._parts or any(part.shape[1] != 4 + n_values for part in self._parts):
            return None
        heads = np.concatenate([part[:, :4].T for part in self._parts], axis=1).astype(np.int64)
        # each part is in order, so a sort that finds runs takes a third of the time of sorting by two keys
        order = np.argsort(heads[0] * (heads[1].max(initial=0) + 1) + heads[1], kind="stable")
        values = np.empty((len(order), n_values), order="F")
        for k in range(n_values):
            values[:, k] = np.concatenate([part[:, 4 + k] for part in self._parts])[order]
        values += 0.0  # SQLite knows one zero
        values[np.isnan(values)] = np.nan  # and no NaN's bits
        return heads[:, order], values
