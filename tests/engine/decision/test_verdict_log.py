"""The statement of an attack holds the figures of its verdict."""

from __future__ import annotations

import pytest

from engine.decision.verdict_log import verdict_statement, verdict_words
from engine.measures.verdict import Outright, Verdict


@pytest.mark.parametrize("kind", ["recognised", "attack"])
def test_the_statement_holds_the_verdict(kind: str) -> None:
    found = Verdict("tables", 48_842, 489, 432.4, 48.9, outright=Outright(7, 100))
    values = verdict_statement(found, kind).values
    assert (values["n"], values["named"], values["right"], values["guessed"]) == (48_842, 489, 432.4, 48.9)
    assert (values["found"], values["certain"], values["altered"]) == ("serious", 7, 100)
    untried = verdict_statement(Verdict("untried", why="no tables"), kind)
    assert (untried.kind, untried.values) == ("not_tried", {"why": "no tables"})


def test_guessed_values_are_no_finding_on_which_records_are_altered() -> None:
    told = verdict_statement(Verdict("method", 600, 600, 590.0, 12.0, why="sex"), "attack")
    assert told.kind == "values_guessed" and told.values["attributes"] == "sex"


@pytest.mark.parametrize(("of", "by_place"), [("records", False), ("households", True)])
def test_places_are_named_only_where_households_moved(of: str, by_place: bool) -> None:
    assert ("by place" in verdict_words(Verdict("units", 1000, 100, 90, 10, of))) is by_place
