"""The posterior that a record is unaltered: by simulation it is what it says, and what it must not depend on."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from engine.common.errors import UsageError
from engine.models import margin_inference as adjusted_table
from engine.models import swap_detection
from engine.models.margin_inference import two_way_tables
from engine.models.swap_detection import Release, check_size, detect, infer_from_release

SHAPE = (2, 4, 3)


def people(n: int, rng: np.random.Generator) -> np.ndarray:
    """Records of a swapped attribute A that two others tell something about."""
    b, c = rng.integers(0, 4, n), rng.integers(0, 3, n)
    a = rng.random(n) < 1 / (1 + np.exp(-(-2.5 + 0.9 * b - 0.7 * c)))
    return np.column_stack([a.astype(np.int64), b, c])


def swapped(records: np.ndarray, n_pairs: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A exchanged in so many random pairs that differ on it; the release and who is altered."""
    released, altered = records.copy(), np.zeros(len(records), bool)
    for level in (0, 1):
        chosen = rng.permutation(np.flatnonzero(records[:, 0] == level))[:n_pairs]
        released[chosen, 0], altered[chosen] = 1 - level, True
    return released, altered


def release_of(records: np.ndarray, altered: np.ndarray) -> tuple[Release, np.ndarray]:
    cells, inverse = np.unique(records, axis=0, return_inverse=True)
    return Release(cells, np.bincount(inverse), SHAPE), np.bincount(inverse, weights=altered)


def tables_of(records: np.ndarray) -> dict:
    return two_way_tables(records, np.ones(len(records)), SHAPE)


def calibrated(n: int = 30_000, releases: int = 10) -> bool:
    """Whether in each range of P(altered) so many records are altered, but for four standard errors."""
    rng = np.random.default_rng(8)
    bounds = [0.04, 0.12, 0.3, 0.6]
    expected, truth = np.zeros(len(bounds) + 1), np.zeros(len(bounds) + 1)
    for _ in range(releases):
        records = people(n, rng)
        release, altered = release_of(*swapped(records, n * 8 // 100, rng))
        inference = infer_from_release(tables_of(records), release)
        # the rate is known here, so that only Bayes' rule is judged
        known = type(inference)(**{**vars(inference), "rate": 0.16})
        probability = 1 - detect(tables_of(records), known, release).unaltered
        part = np.digitize(probability, bounds)
        for i in range(len(expected)):
            inside = part == i
            expected[i] += (release.counts * probability)[inside].sum()
            truth[i] += altered[inside].sum()
    return bool((np.abs(expected - truth) < 4 * np.sqrt(truth) + 0.03 * truth).all())


WITHOUT_TABLES = pytest.mark.parametrize("most_cells", [adjusted_table.MOST_CELLS, 0], ids=["tables", "release alone"])


@WITHOUT_TABLES
@pytest.mark.slow
def test_the_probability_of_being_altered_is_the_share_of_altered(most_cells, monkeypatch):
    monkeypatch.setattr(adjusted_table, "MOST_CELLS", most_cells)
    assert calibrated()


@WITHOUT_TABLES
@pytest.mark.slow
def test_calibration_rejects_that_all_levels_are_altered_alike(most_cells, monkeypatch):
    monkeypatch.setattr(adjusted_table, "MOST_CELLS", most_cells)
    alike = np.array([[0.0, 0.3], [0.7, 0.0]])  # as many leave the small level as its share, not half of all
    monkeypatch.setattr(swap_detection, "pair_shares", lambda sizes, may_pair: alike)
    assert not calibrated()


@pytest.mark.slow
def test_calibration_rejects_a_swap_that_is_not_undone(monkeypatch):
    monkeypatch.setattr(adjusted_table, "MOST_CELLS", 0)
    monkeypatch.setattr(np.linalg, "pinv", lambda matrix, rcond: np.eye(len(matrix)))
    assert not calibrated()


@pytest.mark.slow
def test_what_is_independent_cannot_be_detected():
    """Scores of altered and of unaltered records have one distribution; so have those of a level that others do not
    foretell."""
    rng = np.random.default_rng(3)
    differences = []
    for _ in range(30):
        records = people(4000, rng)
        records[:, 0] = rng.permutation(records[:, 0])
        records[:2000, 0], records[2000:, 0] = 0, 1
        records[:, 1:] = rng.permutation(records[:, 1:])
        release, altered = release_of(*swapped(records, 200, rng))
        score = detect(tables_of(records), infer_from_release(tables_of(records), release), release).score
        a, b = altered / altered.sum(), (release.counts - altered) / (release.counts - altered).sum()
        above = (score[:, None] > score) + (score[:, None] == score) / 2
        differences.append(float(a @ above @ b) - 0.5)
    assert abs(np.mean(differences)) < 4 * np.std(differences) / sqrt(len(differences))


@pytest.mark.slow
def test_a_model_that_is_too_large_is_refused_in_a_sentence():
    cells = np.random.default_rng(0).integers(0, 30, (4000, 5))
    check_size(cells, (30,) * 5, "main")
    with pytest.raises(UsageError, match=r"in 4,000 cells has \d,\d{3} terms, must have at most 2,000; name fewer"):
        check_size(cells, (30,) * 5, "two_way")
    with pytest.raises(UsageError, match=r"has 90 terms, must have at most 49; name fewer attributes=\."):
        check_size(np.tile(np.arange(30)[:, None], (1_000_000 // 30 + 1, 3)), (30,) * 3, "main")


def test_one_attribute_alone_tells_nothing():
    release = Release(np.array([[0], [1]]), np.array([3, 4]), (2,))
    inference = infer_from_release({}, release)
    assert inference.attributes == () and inference.rate == 0 and inference.n_records == 7
    assert detect({}, inference, release).unaltered.tolist() == [1, 1]
