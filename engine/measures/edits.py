"""Records that break a declared edit rule."""

from __future__ import annotations

import numpy as np

from engine.measures.base import Measure
from engine.release.batch import ReleaseBatch


def edit_failures(batch: ReleaseBatch) -> np.ndarray:
    """Number of released records whose combination of levels an edit rule forbids.  A count; lower is better; NaN
    without rules."""
    if batch.failing is None:
        return np.full(len(batch), np.nan)
    base = int(batch.original[batch.failing[: len(batch.original)]].sum())
    return base + batch.total((batch.after - batch.before) * batch.failing[batch.cell])


EDIT_FAILURES = Measure(
    name="edit_failures",
    symbol="EF",
    title="Edit failures",
    kind="utility",
    better="lower",
    range="0 to the number of records",
    least=0.0,
    unit="records",
    unit_kind="count",
    source="count of records in forbidden combinations (edit rules of the plan)",
    meaning=(
        "The number of released records whose combination of values an edit rule of the plan forbids; the original "
        "may hold some already."
    ),
    over="all",
    compute=edit_failures,
    undefined="the plan declares no edit rules",
)
