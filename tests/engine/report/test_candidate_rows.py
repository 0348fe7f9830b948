"""Candidates that have a letter only because they meet the bound."""

from __future__ import annotations

from engine.report.candidate_rows import MOST_FURTHER, candidate_rows, further_within
from engine.report.context import report_context
from tests.engine.report.conftest import Case


def test_candidates_within_the_bound_have_letters_after_the_neighbours(case: Case) -> None:
    context = report_context(case.study, case.realisation)
    bound = context.bound
    assert bound is not None
    meets = {i for i, does in enumerate(context.view.meets(bound)) if does}
    further = meets - set(context.letters.values())
    assert further, "the sample has some"
    assert len(context.also_within) == min(MOST_FURTHER, len(further)) and set(context.also_within.values()) <= further
    assert not set(context.also_within) & set(context.letters)
    losses = [context.view.utility_loss[i] for i in context.also_within.values()]
    assert losses == sorted(losses)
    rows = {row.letter: row for row in candidate_rows(context)}
    assert list(rows) == [*context.letters, *context.also_within]
    assert all(rows[letter].also_within and rows[letter].within_bound for letter in context.also_within)
    assert not any(rows[letter].also_within for letter in context.letters)


def test_no_letters_without_a_bound(case: Case) -> None:
    context = report_context(case.study, case.realisation)
    assert further_within(context.view, None, context.letters) == {}
    assert further_within(context.view, -1.0, context.letters) == {}
