"""The Plan page: presets, the part of every attribute, a list of one's own, and the time from a probe."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from engine.datasets import load
from engine.plan import Plan
from engine.plan.lock import lock
from frontier_app.planning.space import preset_of
from tests.frontier_app.conftest import APP

_PLAN = load("czech")[1]
pytestmark = pytest.mark.filterwarnings("ignore")  # those of libraries inside the app are not ours to fail on


def _on_plan() -> AppTest:
    made = AppTest.from_file(str(APP), default_timeout=60).run()
    made.button(key="open-czech").click().run()
    return made.switch_page("views/plan.py").run()


def _plan(made: AppTest) -> Plan:
    plan: Plan = made.session_state["frontier"].plan
    return plan


def _preset(made: AppTest, preset: str) -> AppTest:
    next(group for group in made.button_group if group.key and group.key.startswith("how-")).set_value(preset).run()
    assert not made.exception
    return made


@pytest.mark.parametrize(
    ("space", "preset"),
    [
        ({"swap_sizes": (1, 2)}, "paper"),
        ({"swap_sizes": (1,)}, "sizes"),
        ({"swap_sizes": (), "all_specs": True}, "all"),
        ({"swap_sizes": (), "search": True}, "search"),
        ({"swap_sizes": (), "specs": ("A:S B:F",)}, "listed"),
    ],
)
def test_a_space_is_shown_as_its_preset(space: dict[str, object], preset: str) -> None:
    plan: Plan = replace(_PLAN, space=replace(_PLAN.space, **space))  # type: ignore[arg-type]
    assert preset_of(plan) == preset


def test_presets_change_the_space_and_its_count() -> None:
    made = _preset(_on_plan(), "all")
    assert _plan(made).space.all_specs
    assert {m.label: m.value for m in made.metric}["Swaps to try"] == "2,817"
    _preset(made, "paper")
    assert _plan(made) == _PLAN


def test_a_list_of_ones_own_is_taken_and_complained_about() -> None:
    made = _preset(_on_plan(), "listed")
    lines = next(box for box in made.text_area if box.label == "One swap per line")
    lines.set_value("A:S B:F\nC:S").run()
    assert _plan(made).space.specs == ("A:S B:F", "C:S")
    next(box for box in made.text_area if box.label == "One swap per line").set_value("Q:S").run()
    assert any("Q" in error.value for error in made.error)
    assert _plan(made).space.specs == ("A:S B:F", "C:S")


def test_the_time_of_a_cheap_plan_is_told_without_asking() -> None:
    assert any("from a probe" in str(part.value) for part in _on_plan().markdown)


def test_a_departure_from_an_approved_plan_is_named() -> None:
    made = _on_plan()
    state = made.session_state["frontier"]
    locked = lock(state.plan, "DRB-7", "Grace")
    made.session_state["frontier"] = replace(state, plan=locked, base=locked)
    made.run()
    assert any("approved as DRB-7" in str(part.value) for part in made.info)
    next(box for box in made.text_input if box.label.startswith("Swap rates")).set_value("5").run()
    assert any("space.rates" in str(part.value) for part in made.warning)


def test_a_search_says_how_much_it_looks_at() -> None:
    made = _preset(_on_plan(), "search")
    next(box for box in made.number_input if box.label == "Scenarios to look at, at most").set_value(300).run()
    assert _plan(made).space.search and _plan(made).space.budget == 300
    assert {m.label: m.value for m in made.metric}["Scenarios"] == "≤ 300"
    assert any("2,817 distinct swaps" in part.value for part in made.caption)
    assert next(box for box in made.checkbox if box.label.startswith("Spend replicates")).disabled


def test_replicates_can_be_spent_where_they_matter() -> None:
    made = _on_plan()
    next(box for box in made.checkbox if box.label.startswith("Spend replicates")).check().run()
    next(box for box in made.number_input if box.label.startswith("Runs before")).set_value(4).run()
    assert _plan(made).space.adaptive and _plan(made).space.screen == 4
    next(box for box in made.number_input if box.label.startswith("Runs before")).set_value(500).run()
    assert any("Screen == 500" in error.value for error in made.error)
