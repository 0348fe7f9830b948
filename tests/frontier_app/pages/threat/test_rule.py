"""The rule of choice, as it is settled before results are seen."""

from __future__ import annotations

import pytest

from tests.frontier_app.pages.test_threat import _box, _plan, _sample, _to


@pytest.mark.slow
def test_how_many_single_runs_must_meet_the_bound_and_which_is_released() -> None:
    made = _sample()
    _box(made, "Rule").set_value("bound").run()
    _box(made, "Largest acceptable risk").set_value("0.002").run()
    before = _plan(made).decision
    assert (before.probability, before.realisation) == ("0.9", "first_within")
    assert _box(made, "How many of them").value == "90"
    _box(made, "How many of them").set_value("95").run()
    assert _plan(made).decision.probability == "0.95"
    _box(made, "How many of them").set_value("100").run()
    assert made.error and _plan(made).decision.probability == "0.9", "as before the page was opened"
    _box(made, "What must meet the limit").set_value("mean").run()
    assert not made.error and _plan(made).decision.probability == "mean"
    assert not any(box.label.startswith("How many of them") for box in made.text_input)
    for way, kept in (("first", "first"), ("number", "1"), ("first_within", "first_within")):
        _box(made, "Which of its runs").set_value(way).run()
        assert not made.exception and _plan(made).decision.realisation == kept
    _to(_to(made, "glossary"))
    assert _box(made, "What must meet the limit").value == "mean"
