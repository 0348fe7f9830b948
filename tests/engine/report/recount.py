"""Records before and after, and what a findings file holds, for tests that count again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.models.record_release import RecordRelease
from engine.release.records import ReleasedTable
from tests.engine.report.conftest import Case


def codes(case: Case) -> tuple[np.ndarray, np.ndarray]:
    data = case.realisation.data
    return np.column_stack(data.codes), np.column_stack([case.realisation.codes(j) for j in range(len(data.domain))])


def release_of(case: Case) -> RecordRelease:
    """The recommended release as records."""
    made = case.realisation
    return RecordRelease(ReleasedTable(made.data), made.tables, case.study.plan, made.spec)


def column(case: Case, name: str) -> np.ndarray:
    raw = case.realisation.data.raw.columns[name]
    return np.array([float(raw.values[int(c)].as_py()) for c in raw.codes])


def leaves(plain: Any) -> Iterator[Any]:
    if isinstance(plain, dict | list):
        for item in plain.values() if isinstance(plain, dict) else plain:
            yield from leaves(item)
    else:
        yield plain


def numbers(plain: Any) -> Iterator[float]:
    return (leaf for leaf in leaves(plain) if isinstance(leaf, float))
