"""The run to be released among its siblings."""

from __future__ import annotations

from dataclasses import replace

from engine.report.run_words import place_sentence
from tests.engine.report.conftest import Case


def test_runs_that_are_equally_safe_are_counted(case: Case) -> None:
    run = case.findings.recommendation.run
    assert run is not None and run.as_safe is not None and run.as_safe >= 1
    first = replace(run, place=1, of=100, as_safe=52)
    assert "is one of 52 that are equally safe, the safest of all" in place_sentence(first)
    assert "is the least risky" in place_sentence(replace(first, as_safe=1))
    assert "is the least risky" in place_sentence(replace(first, as_safe=None)), "of an earlier version"


def test_only_the_first_run_is_the_least_risky_and_only_the_last_the_riskiest(case: Case) -> None:
    run = case.findings.recommendation.run
    assert run is not None
    told = [place_sentence(replace(run, place=place, of=9, as_safe=1)) for place in range(1, 10)]
    assert ["the least risky" in text for text in told] == [True] + [False] * 8
    assert ["the riskiest" in text for text in told] == [False] * 8 + [True]
    assert [f"number {place} from the safest" in told[place - 1] for place in range(1, 10)] == [
        False,
        *[True] * 7,
        False,
    ]
