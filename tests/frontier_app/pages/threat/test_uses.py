"""Declared uses of a plan that was written by hand, on the page that declares them."""

from __future__ import annotations

from dataclasses import replace

from streamlit.testing.v1 import AppTest

from engine.plan import TablePlan
from tests.frontier_app.conftest import APP, to_page


def test_uses_of_a_plan_written_by_hand_are_measured_by_one_button() -> None:
    made = AppTest.from_file(str(APP), default_timeout=60).run()
    made.button(key="open-czech").click().run()
    now = made.session_state["frontier"]
    a, b = now.plan.names[:2]
    plan = replace(now.plan, tables=(TablePlan("by hand", (a, b)),))
    made.session_state["frontier"] = replace(now, plan=plan, base=plan, version=now.version + 1)
    made = to_page(made, "threat")
    assert any("the table 'by hand' is declared and not measured" in str(part.value).lower() for part in made.warning)
    made.button(key="measure-uses").click().run()
    assert made.session_state["frontier"].plan.measures == (*plan.measures, f"total_variation[attributes={a}+{b}]")
    assert not any("not measured" in str(part.value) for part in made.warning) and not made.exception
