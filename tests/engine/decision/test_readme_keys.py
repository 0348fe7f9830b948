"""The example of the README under many study keys: what is released never violates the bound."""

from __future__ import annotations

import pytest

from tests.readme_samples import told, under_keys

KEYS = 30
"""As many as show each share below."""


@pytest.mark.slow
def test_the_released_run_never_violates_the_bound_and_adaptive_choices_are_hardly_ever_refuted() -> None:
    """Beside it the rule that does violate it, a bound on the mean and the first run of what it picks, and choices
    from 20 runs, which pick what was lucky; their released run meets the bound all the same."""
    few, adaptive = under_keys(KEYS, adaptive=False), under_keys(KEYS, adaptive=True)
    print(told(KEYS, few))
    print(told(KEYS, adaptive))
    for counts in (few, adaptive):
        assert (counts["above"], counts["no safer"]) == (0, 0)
    assert adaptive["refuted"] <= KEYS / 50 and adaptive["without a caution"] >= 0.97 * KEYS
    assert adaptive["mean above"] > KEYS / 5
    assert few["refuted"] > KEYS / 4 and few["refused"] >= few["refuted"]
    assert few["wrong"] > KEYS / 2 and few["wrong and not refused"] == 0 and adaptive["wrong"] <= KEYS / 50
