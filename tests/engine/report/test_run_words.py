"""The run to be released among its siblings."""

from __future__ import annotations

from dataclasses import replace

from engine.report.run_words import fresh_within_words, picked_words, place_sentence, standing_sentences
from tests.engine.report.conftest import Case


def test_runs_that_are_equally_safe_are_counted(case: Case) -> None:
    run = case.findings.recommendation.run
    assert run is not None and run.as_safe is not None and run.as_safe >= 1
    first = replace(run, place=1, of=100, as_safe=52)
    assert "is one of 52 that are equally safe, the safest of all" in place_sentence(first)
    assert "is the least risky" in place_sentence(replace(first, as_safe=1))
    assert "is the least risky" in place_sentence(replace(first, as_safe=None)), "of an earlier version"


def test_runs_without_an_exposed_record_are_counted_as_such(case: Case) -> None:
    run = case.findings.recommendation.run
    assert run is not None
    none = replace(run, title="Unaltered records in small cells", place=1, of=200, as_safe=102, released=0.0)
    exposure = replace(case.findings.exposure, unaltered_after=0)
    for changed, is_none in ((none, True), (replace(none, released=1.0), False), (replace(none, as_safe=1), False)):
        recommendation = replace(case.findings.recommendation, run=changed)
        first = standing_sentences(replace(case.findings, recommendation=recommendation, exposure=exposure))[0]
        assert first.startswith("102 of 200 runs have no exposed record") == is_none


def test_a_rule_that_takes_the_first_run_is_not_called_a_choice_of_the_safest(case: Case) -> None:
    run = case.findings.recommendation.run
    assert run is not None and case.findings.recommendation.takes_first
    for place, takes_first, is_said in ((1, True, True), (2, True, False), (1, False, False)):
        placed = replace(run, place=place)
        recommendation = replace(case.findings.recommendation, run=placed, takes_first=takes_first)
        findings = replace(case.findings, recommendation=recommendation)
        assert ("not the safest" in picked_words(findings)) == is_said
        assert (picked_words(findings) in standing_sentences(findings)) == is_said


def test_a_share_that_is_not_whole_is_not_rounded_to_the_whole() -> None:
    """Of runs of which two missed the bound not all can meet it."""
    assert "so 93.0 to 99.8 % of all such runs do" in fresh_within_words(98, 100, 0.9296, 0.9976, 0.9)
    assert "so 96.4 to 100 % of all such runs do" in fresh_within_words(100, 100, 0.9638, 1.0, 0.9)
    assert "so 0.2 to 7.0 % of all such runs do" in fresh_within_words(2, 100, 0.0024, 0.0704, 0.9)
