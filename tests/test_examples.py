"""Which runs try all examples of hypothesis, and how many the others do."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests import examples


@pytest.mark.parametrize(
    ("marked", "ci", "expected"),
    [
        ("", "", "thorough"),
        ("slow", "", "thorough"),
        ("not slow and not browser", "", "quick"),
        ("not slow", "1", "thorough"),
    ],
)
def test_only_a_run_without_slow_tests_is_quick(monkeypatch: pytest.MonkeyPatch, marked: str, ci: str, expected: str):
    monkeypatch.setenv("CI", ci)
    assert examples.fitting(marked) == expected


@pytest.mark.parametrize(("profile", "expected"), [("thorough", [3, 6, 25, 100]), ("quick", [3, 5, 5, 20])])
def test_few_but_dear_examples_are_kept(profile: str, expected: list[int]):
    before = settings.get_current_profile_name()
    try:
        settings.load_profile(profile)
        assert [examples.examples(number).max_examples for number in (3, 6, 25, 100)] == expected
        assert settings().derandomize and settings().deadline is None
    finally:
        settings.load_profile(before)
