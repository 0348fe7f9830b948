"""A decision to release nothing is explained from the original and from what candidates do, without rates or ids."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.common.errors import UsageError
from engine.decision.statements import sentences
from engine.decision.states import decide
from engine.report.no_release import considered, no_release_memo
from engine.report.redaction import Redactor
from engine.study.map_reader import risk_utility_map
from tests.engine.report.conftest import case_of, plan_of
from tests.engine.report.pages import entries_of, sections, text_of

pytestmark = pytest.mark.slow


def test_it_says_what_was_considered_and_names_no_candidate(tmp_path: Path) -> None:
    (tmp_path / "private-study-name.study.key").write_text("0123456789abcdef" * 2)
    study = case_of(tmp_path, plan_of()).study
    view = risk_utility_map(study)
    for limit, within in (("1", len(view.scenarios)), ("0", 0)):
        study.grow(replace(study.plan, decision=replace(study.plan.decision, max_risk=limit)))
        told = {each.kind: each.values for each in considered(study, view)}
        assert told["within_limit"] == {"n": within}
    assert told["candidates_run"] == {"n": len(view.scenarios), "frontier": int(view.dominance.undominated.sum())}
    assert told["counted_risk"]["after"] is None
    text = sentences(considered(study, view))
    assert not any(scenario.label in text for scenario in view.scenarios)
    assert not any(f"{100 * float(rate):g} %" in text for rate in study.plan.space.rates)
    label = view.scenarios[0].label
    why = Redactor({}, study.measures)(f"{label} is too risky")
    assert label not in why and "too risky" in why


def test_its_memo_has_the_form_of_every_memo_and_only_of_such_a_decision(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(analyses=())).study
    view = risk_utility_map(study)
    with pytest.raises(UsageError, match="none is recorded"):
        no_release_memo(study, view)
    decide(study, "withheld", "A. Analyst", why=f"{view.scenarios[0].label} is too risky")
    made = no_release_memo(study, view)
    first, second = sections(made).values()
    entries = entries_of(next(first.iter("dl")))
    assert [name for name, text in entries.items() if not text] == ["Signed for the board", "Date"]
    assert {"Why", "Risk", "Left out", "Neighbours", "How sure", "Fixed beforehand", "Not stated"} <= set(entries)
    assert "too risky" in entries["Why"] and second.get("class") == "new-page"
    text = text_of(made)
    assert not any(scenario.label in text for scenario in view.scenarios)
    assert not any(f"{100 * float(rate):g} %" in text for rate in study.plan.space.rates)
