"""Threat and Plan come in steps: what is decided is in sight, what is optional or usual is folded and told in short."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block

from engine.measures import MEASURES
from frontier_app.widgets import plan_fields
from tests.frontier_app.conftest import APP, to_page
from tests.frontier_app.elements import press

pytestmark = pytest.mark.slow

_KINDS = ("text_input", "text_area", "number_input", "selectbox", "multiselect", "radio", "checkbox")


def _labels(block: AppTest | Block) -> set[str]:
    return {str(getattr(widget, "label", "")) for kind in _KINDS for widget in block.get(kind)}


def _in_sight(made: AppTest) -> set[str]:
    """Labels of the inputs that no fold and no popover hides."""
    return _labels(made) - {
        label for hidden in (*made.expander, *made.get("popover")) if not _open(hidden) for label in _labels(hidden)
    }


def _open(hidden: Block) -> bool:
    return bool(getattr(hidden.proto, "expanded", False))


def _page(name: str) -> AppTest:
    made = AppTest.from_file(str(APP), default_timeout=300).run()
    made = to_page(press(made, "open-czech"), name)
    assert not made.exception
    return made


def _steps(made: AppTest) -> list[str]:
    return [heading.value for heading in made.subheader if heading.value[0].isdigit()]


def test_threat_shows_what_has_to_be_decided_and_folds_the_rest() -> None:
    made = _page("threat")
    assert _in_sight(made) == {
        "Answers that somebody may already know about a person (keys)",
        "Answers that nobody should learn about a person (sensitive)",
        "Rule",
    }
    assert [step[0] for step in _steps(made)] == ["1", "2", "3", "4"]
    titles = [fold.label.replace("\\", "") for fold in made.expander]
    assert "Judged by Small-cell risk and Hellinger distance; the first run that meets the limit is released" in titles
    assert "Pointed out: changes above 10 %, shifts above 1.96 SE" in titles
    assert "The intruder in words, for the memo (0 of 3 given)" in titles


def test_a_fold_tells_what_the_plan_has() -> None:
    made = _page("threat")
    now = made.session_state["frontier"]
    about = replace(now.plan.about, survey="Car workers", design="all of them")
    plan = replace(now.plan, about=about, decision=replace(now.plan.decision, realisation="4"))
    made.session_state["frontier"] = replace(now, plan=plan, base=plan, version=now.version + 1)
    titles = [fold.label for fold in made.run().expander]
    assert "Who asks: the cover of the memo (2 of 9 given)" in titles
    assert any(title.endswith("; run 4 is released") for title in titles)


def test_the_title_of_a_fold_follows_what_is_given_in_it() -> None:
    made = _page("threat")
    _widget(made, "selectbox", "threat-published_tables-").set_value("yes").run()
    _widget(made, "radio", "realisation-").set_value("number").run()
    _widget(made, "text_area", "threat-harm-").set_value("shame").run()
    _widget(made, "text_input", "tolerances-change-").set_value("20").run()
    titles = "\n".join(fold.label for fold in made.expander)
    assert not made.exception
    for words in ("original: yes", "run 1 is released", "(1 of 3 given)", "changes above 20 %"):
        assert words in titles
    made = _page("candidates")
    _widget(made, "radio", "true-swap-").set_value("loose").run()
    assert any(fold.label.startswith("Loose swaps") for fold in made.expander)


def _widget(made: AppTest, kind: str, key: str) -> Any:
    return next(widget for widget in made.get(kind) if str(widget.key).startswith(key))


def test_plan_shows_what_has_to_be_decided_and_folds_the_rest() -> None:
    made = _page("candidates")
    assert _in_sight(made) == {
        "Random swap of attributes",
        "Swap rates, in percent of records",
        "Replicates of each",
        *(f"{word} {group}" for word in ("Risk", "Utility") for group, _ in plan_fields.NEEDS.values()),
    }
    assert [step[0] for step in _steps(made)] == ["1", "2", "3", "4"]
    titles = [fold.label.replace("\\", "") for fold in made.expander]
    assert "The part of every attribute: 6 may be swapped" in titles
    assert "Strict swaps; the same number of replicates for all" in titles


def test_a_method_that_the_plan_has_is_in_sight() -> None:
    made = _page("candidates")
    next(box for box in made.checkbox if "mechanism-pram-" in str(box.key)).check().run()
    made = to_page(to_page(made, "compare"), "candidates")
    assert "Post-randomisation (PRAM)" in _in_sight(made) and "Additive multivariate noise" not in _in_sight(made)


@pytest.mark.parametrize(("name", "opens"), [("small_cells", False), ("external_links", True)])
def test_a_measure_that_asks_for_something_opens_its_parameters(name: str, opens: bool) -> None:
    made = _page("candidates")
    kind = MEASURES[name]
    box = next(
        b
        for b in made.multiselect
        if str(b.key).startswith(f"measures-{kind.kind}-{'counts' if kind.needs == 'counts' else 'records'}")
    )
    box.set_value([*dict.fromkeys([*box.value, name])]).run()
    fold = next(fold for fold in made.expander if fold.label.startswith("What these measures mean"))
    assert _open(fold) == opens
