"""The example of the README under many study keys: what is released never violates the bound."""

from __future__ import annotations

import pytest

from tests.readme_samples import told, under_keys

KEYS = 200


@pytest.mark.slow
def test_the_released_run_never_violates_the_bound_under_200_keys() -> None:
    """Beside it the rule that does: a bound on the mean, and the first run of what it picks."""
    counts = under_keys(KEYS, adaptive=True)
    print(told(KEYS, counts))
    assert (counts["above"], counts["no safer"]) == (0, 0)
    assert counts["refuted"] <= KEYS / 50
    assert counts["without a caution"] >= 0.97 * KEYS
    assert counts["mean above"] > KEYS / 5


@pytest.mark.slow
def test_fresh_runs_often_refute_a_choice_from_20_runs_and_hardly_ever_one_from_adaptive_runs() -> None:
    """Few runs of many candidates pick one that was lucky; its released run meets the bound all the same."""
    keys = 80
    few, adaptive = under_keys(keys, adaptive=False), under_keys(keys, adaptive=True)
    print(told(keys, few))
    print(told(keys, adaptive))
    assert few["refuted"] > keys / 4 and few["refused"] >= few["refuted"] and few["above"] == 0
    assert adaptive["refuted"] <= keys / 50
