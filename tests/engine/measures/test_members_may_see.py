"""What members who may not know the rate see of measures: none that is not declared to be silent on it.

A measure that is declared so must be silent: over several files the figures that it takes at one rate and at three
times that rate have some in common, so that a figure alone does not tell which of the two it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
import pytest

from engine.measures import MEASURES, Measure, MeasureCall
from engine.measures.base import evaluate_counts
from engine.release.batch import ReleaseBatch
from engine.report.redaction import tells_rate
from tests.small_tables import Small
from tests.swapped_batches import swaps

RATES = ("0.04", "0.12")
TELLING = {
    "r1", "r1_share", "p1", "r2", "p2", "rate_error", "detection_auc", "detection_precision", "small_cells_recognised",
    "altered_share_max", "largest_two_way", "area_change", "exposed_households", "household_uniques", "left_level",
    "risky_left", "rarity_auc", "new_combinations", "detection_unit_auc", "detection_unit_precision",
    "detection_unit_certain",
}  # fmt: skip
"""Registered measures whose figures may tell the rate."""


def _file(strength: float, levels: int, n: int = 1500) -> Small:
    """Three attributes, of which two hang on the first one as strongly as asked."""
    rng = np.random.default_rng(7)
    first = rng.integers(0, 2, n)
    copies = [np.where(rng.random(n) < strength, first * (levels - 1), rng.integers(0, levels, n)) for _ in range(2)]
    return Small(tuple(zip(first.tolist(), *(c.tolist() for c in copies), strict=True)), (2, levels, levels))


@pytest.fixture(scope="module")
def batches() -> list[tuple[Small, tuple[ReleaseBatch, ReleaseBatch]]]:
    """Files, each released at both rates."""
    files = [_file(0.0, 3), _file(0.9, 3), _file(0.4, 12), _file(0.4, 45), _file(0.9, 45)]
    return [(small, tuple(swaps(small.coded()[0], "A:S", rate, 6) for rate in RATES)) for small in files]  # type: ignore[misc]


def _is_silent(measure: Measure, batches: Sequence[tuple[Small, Sequence[ReleaseBatch]]]) -> bool:
    """Whether figures at the two rates have some in common, to two digits; what cannot be formed tells nothing."""
    of_rates = []
    for at in range(len(RATES)):
        figures = [
            evaluate_counts(MeasureCall(measure), batch[at], small.domain, tuple(range(3))) for small, batch in batches
        ]
        of_rates.append(np.concatenate(figures))
    low, high = (values[np.isfinite(values)] for values in of_rates)
    if not len(low) or not len(high):
        return True
    return bool(low.min() <= high.max() * 1.05 and high.min() <= low.max() * 1.05)


def test_a_measure_that_nobody_declared_is_withheld() -> None:
    declared = next(field for field in fields(Measure) if field.name == "rounding")
    assert declared.default == "always"
    new = replace(MEASURES["small_cells"], name="new", rounding=declared.default)
    assert tells_rate(MeasureCall(new))
    by_script = Measure.of(lambda batch: np.zeros(len(batch)), "risk", name="moved", meaning="Whatever.")
    assert tells_rate(MeasureCall(by_script))


def test_every_registered_measure_is_withheld_or_declared_silent() -> None:
    assert {measure.name for measure in MEASURES.values() if tells_rate(MeasureCall(measure))} == TELLING


SILENT = [
    measure
    for measure in MEASURES.values()
    if not tells_rate(MeasureCall(measure)) and measure.needs == "counts"
    and not any(value == "" for value in measure.parameters.values()) and measure.name != "edit_failures"
]  # fmt: skip


@pytest.mark.parametrize("measure", SILENT, ids=lambda measure: measure.name)
def test_figures_of_a_silent_measure_do_not_tell_the_rate(measure: Measure, batches) -> None:
    assert _is_silent(measure, batches)


def _share_altered(batch: ReleaseBatch) -> np.ndarray:
    """Share of records that another one's values have reached."""
    altered = np.add.reduceat(batch.after - batch.kept, np.r_[0, batch.ends[:-1]])
    return np.asarray(altered / batch.n_records)


@pytest.mark.parametrize("name", ["rate_error", "detection_precision", "small_cells_recognised"])
def test_measures_that_tell_are_withheld(name: str) -> None:
    assert tells_rate(MeasureCall(MEASURES[name]))


def test_a_measure_that_tells_the_rate_is_not_accepted_as_silent(batches) -> None:
    mutant = replace(
        MEASURES["small_cells"], name="mutant", compute=_share_altered, parameters={}, check=None, rounding="exact"
    )
    assert not tells_rate(MeasureCall(mutant)) and not _is_silent(mutant, batches)
    assert not _is_silent(replace(mutant, compute=lambda batch: 1 - _share_altered(batch)), batches)
