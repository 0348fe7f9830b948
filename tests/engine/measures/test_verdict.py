"""The severity of a verdict: what it must call nothing, what it must not, and that it grows with what is right."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.measures import verdict as module
from engine.measures.verdict import SEVERITIES, Outright, Verdict, verdict_of, verdict_values, worst
from tests.examples import examples


@pytest.mark.parametrize(
    ("named", "right", "guessed", "severity"),
    [
        (489, 432, 48.9, "serious"),
        (489, 170, 48.9, "caution"),
        (489, 48.9, 48.9, "none"),
        (489, 60, 48.9, "none"),  # by chance
        (48_900, 5500, 4890, "none"),  # not by chance, and nearly nothing
        (1, 1, 0.1, "none"),  # one lucky name
        (12, 12, 12, "none"),  # all are altered, and nobody has to be named
        (12, 12, 0, "serious"),
        (100, 0, 0, "none"),
        (1000, 800, 700, "caution"),
        (0, 0, 0, "none"),
    ],
)
def test_severity(named, right, guessed, severity):
    assert Verdict("tables", 48_842, named, right, guessed).severity == severity


@given(st.integers(1, 500), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
@examples(100)
def test_more_right_names_are_never_less_severe(named, a, b, guessed):
    less, more = (Verdict("tables", 1000, named, part * named, guessed * named) for part in sorted((a, b)))
    assert SEVERITIES.index(less.severity) <= SEVERITIES.index(more.severity)
    assert less.skill <= more.skill


def false_alarms(n: int = 4000, named: int = 40, share: float = 0.1) -> int:
    """How many of many random namings are called better than guesses."""
    random = Random(4)
    altered = int(n * share)
    hits = [sum(i < altered for i in random.sample(range(n), named)) for _ in range(400)]
    return sum(Verdict("tables", n, named, right, named * share).finds for right in hits)


def test_guesses_raise_no_alarm():
    assert false_alarms() <= 2


def test_guesses_would_raise_alarms_without_regard_to_chance(monkeypatch):
    monkeypatch.setattr(module, "_SURPRISE", 0.0)
    assert false_alarms() > 20


def test_of_several_the_worst_is_told():
    nothing, some, most = (Verdict("tables", 1000, 100, right, 10) for right in (10, 40, 90))
    untried = Verdict("untried", why="no reason")
    assert worst([nothing, most, untried, some]) == most
    assert worst([untried, nothing]) == nothing and worst([untried]) == untried
    assert worst([some, Verdict("rare", 1000, 100, 45, 10)]).kind == "rare"


def test_no_share_where_none_is_named():
    assert math.isnan(Verdict("tables").share)


def test_those_told_outright_are_told_whichever_attack_is_the_worst():
    nothing = Verdict("tables", 1000, 100, 10, 10, outright=Outright(7, 100))
    assert nothing.severity == "caution" and verdict_of(verdict_values(nothing)) == nothing
    most = worst([nothing, Verdict("rare", 1000, 100, 90, 10)])
    assert most.kind == "rare" and most.outright == Outright(7, 100)
