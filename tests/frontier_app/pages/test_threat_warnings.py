"""Warnings of the page of intruder and uses about a public bundle: of the plan, and of a candidate to be submitted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.data.microdata import RawTable
from engine.decision.choice import choose
from engine.decision.states import decide
from engine.plan import Dependencies, Plan, dependencies, plan_from_toml, plan_to_toml
from engine.study.keys import key_path, read_key
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.sweep import recheck, sweep
from frontier_app.session import state, workspace
from frontier_app.widgets import small_cells
from tests.engine.recoded import BLOCK, apart, survey
from tests.frontier_app.conftest import APP
from tests.frontier_app.pages.test_threat import _sample, _study, _to

pytestmark = pytest.mark.slow


def _own(tmp_path: Path, plan: Plan, more: str = "") -> AppTest:
    """A file of somebody's own in which an age decides its group, under a plan."""
    survey(tmp_path, 400, more=more)
    at = workspace.create()
    at.note(data=str(tmp_path / "ages.csv"), study=None)
    at.save_plan(plan_to_toml(plan))
    return _study(at)


def _warned(made: AppTest) -> dict[str, str]:
    """The warnings on the page by their headings."""
    told = [one.value.removeprefix("**").partition(".** ") for one in made.warning if one.value.startswith("**")]
    return {title: words for title, _, words in told}


def _looked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Filled with one number for each time that all columns are looked through."""
    done: list[int] = []

    def look(raw: RawTable) -> Dependencies:
        done.append(1)
        return dependencies(raw)

    monkeypatch.setattr(small_cells, "dependencies", look)
    return done


def test_what_stands_in_the_way_of_a_public_bundle_is_said_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = _looked(monkeypatch)
    made = _own(tmp_path, apart('[data]\ncarry = ["INCOME"]\n'), "INCOME")
    said = _warned(made)
    assert list(said) == ["Tells records apart", "Can be worked out from another column"]
    one, other = said.values()
    assert "Column 'INCOME' is carried and differs in 400 of 400 records" in one and "put classes of it" in one
    assert "'AGE' decides 'AGEGRP' in every record" in other and "suggestion under Data" in other
    assert any(button.label == "Mend it under Data" for button in made.button)
    assert looked == [], "the page Data has looked already"
    made.session_state["frontier"] = replace(made.session_state["frontier"], memo=state.Memo())
    for _ in range(2):
        made.run()
        assert list(_warned(made)) == list(said) and looked == [1], "looked for once"
    made.multiselect[0].set_value([]).run()
    assert "Tells records apart" in _warned(made), "whatever the keys are"


def test_a_plan_that_keeps_recodes_whole_is_not_warned_of(tmp_path: Path) -> None:
    made = _own(tmp_path, plan_from_toml(BLOCK))
    assert not made.exception and not _warned(made)
    assert not any(button.label == "Mend it under Data" for button in made.button)


@pytest.mark.parametrize("name", ["czech", "nces"])
def test_samples_have_nothing_in_the_way_of_a_public_bundle(name: str) -> None:
    assert not {"Tells records apart", "Can be worked out from another column"} & set(_warned(_sample(name)))


def test_before_a_submission_it_is_said_of_the_candidate_itself(tmp_path: Path) -> None:
    raw, plan = survey(tmp_path, 400), apart()
    at = workspace.create()
    at.note(data=str(tmp_path / "ages.csv"), study="study-1.study")
    sweep(raw, plan, at.folder / "study-1.study", workers=1).close()
    title = "Can be worked out from another column"

    def seen() -> set[str]:
        made = AppTest.from_file(str(APP), default_timeout=300)
        made.query_params["w"] = at.token
        made = _to(made.run(), "decide")
        assert not made.exception
        return set(_warned(made))

    assert title in seen(), "of the plan, as long as nothing is recommended"
    with Study.open(at.folder / "study-1.study") as study:
        view = risk_utility_map(study)
        for attribute, named in (("SEX", False), ("AGEGRP", True)):
            label = next(s.label for s in study.scenarios if str(s.spec.attributes) == f"{attribute}:S")
            choose(study, view, "it is safe", candidate=label, by="Ada")
            assert (title in seen()) == named
        recheck(study, raw, read_key(key_path(study.path)), [study.find(label)[0].index], 2)
        decide(study, "submitted", "Ada", despite="the board asked to see it")
    assert title not in seen(), "the board has it now"
