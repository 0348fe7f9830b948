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
