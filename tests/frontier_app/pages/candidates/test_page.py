"""The page Candidates: presets, the part of every attribute, a list of one's own, and the time from a probe."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import get_args

import docx
import pytest
from streamlit.testing.v1 import AppTest

from engine.plan import Plan, read_plan
from engine.plan.coding import code
from engine.plan.differences import departures, lock
from engine.plan.samples import load
from engine.release.space import Merging, build, complete
from engine.report.plan_document import FORMATS, count_plan, plan_document
from engine.study.decision_log import entries
from engine.study.study import Study
from engine.sweeps.probe import Estimate
from frontier_app.pages.candidates.space import only, preset_of
from frontier_app.session import actions
from frontier_app.session.workspace import Workspace
from frontier_app.widgets import plan_size
from tests.frontier_app.conftest import APP, to_page
from tests.frontier_app.elements import has_button, press
from tests.small_tables import expand

_PLAN = load("czech")[1]


def _on_plan() -> AppTest:
    made = AppTest.from_file(str(APP), default_timeout=300).run()
    made.button(key="open-czech").click().run()
    return to_page(made, "candidates")


def _plan(made: AppTest) -> Plan:
    plan: Plan = made.session_state["frontier"].plan
    return plan


def _preset(made: AppTest, preset: str) -> AppTest:
    next(group for group in made.button_group if group.key and group.key.startswith("how-")).set_value(preset).run()
    assert not made.exception
    return made


@pytest.mark.slow
def test_an_error_of_an_input_is_shown_once_and_at_the_input() -> None:
    made = _on_plan()
    next(box for box in made.checkbox if "mechanism-pram-" in str(box.key)).check().run()
    (field,) = [field for field in made.text_input if str(field.key).endswith("-theta")]
    field.set_value("7").run()
    assert not made.exception and len(made.error) == 1
    assert made.button(key="begin-new").disabled and made.button(key="lock-plan").disabled


def test_an_error_of_all_inputs_together_is_shown_once() -> None:
    made = _on_plan()
    next(box for box in made.checkbox if "mechanism-random_swap-" in str(box.key)).uncheck().run()
    assert [error.value for error in made.error] == ["No mechanism is chosen; choose at least one"]


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


@pytest.mark.slow
def test_presets_change_the_space_and_its_count() -> None:
    made = _preset(_on_plan(), "all")
    assert _plan(made).space.all_specs
    assert {m.label: m.value for m in made.metric}["Swaps to try"] == "2,817"
    _preset(made, "paper")
    assert _plan(made) == _PLAN


@pytest.mark.parametrize(("d", "narrow"), [(3, ()), (4, (1,)), (4, (0, 3))])
@pytest.mark.parametrize("rule", ["strict", "loose"])
@pytest.mark.parametrize("merging", get_args(Merging))
def test_the_figures_of_a_space_add_up(d: int, narrow: tuple[int, ...], rule: str, merging: Merging) -> None:
    cells = sorted({tuple(0 if j in narrow else i >> j & 1 for j in range(d)) for i in range(2**d)})
    small = expand(cells, [2] * len(cells), (2,) * d)
    found = build(complete(small.names, small.names), small.coded()[0], rule, merging)
    figures = [int(word.replace(",", "")) for word in re.findall(r"\d[\d,]*", plan_size._sifted(found))]
    assert figures[0] == sum(figures[1:]) == 4**d - 3**d and figures[-1] == len(found.specs)


@pytest.mark.slow
def test_the_page_says_what_becomes_of_all_swaps() -> None:
    made = _preset(_on_plan(), "all")
    said = next(part.value for part in made.caption if part.value.startswith("Of "))
    assert said.startswith("Of 3,367 swaps that you ask for, ") and "; the other 2,817 are tried." in said
    assert not any("feasible" in part.value for part in made.caption)
    assert any("For up to 5,000 scenarios" in part.value for part in made.caption)
    popped = [part.value for part in made.markdown if re.match(r"- \d", part.value)]
    assert popped and sum(int(words[2:].partition(":")[0].replace(",", "")) for words in popped) == int(
        re.search(r"([\d,]+) can never work", said)[1].replace(",", "")  # type: ignore[index]
    )


def test_a_list_of_ones_own_is_taken_and_complained_about() -> None:
    made = _preset(_on_plan(), "listed")
    lines = next(box for box in made.text_area if box.label == "One swap per line")
    lines.set_value("A:S B:F\nC:S").run()
    assert _plan(made).space.specs == ("A:S B:F", "C:S")
    next(box for box in made.text_area if box.label == "One swap per line").set_value("Q:S").run()
    assert any("Q" in error.value for error in made.error)
    assert _plan(made).space.specs == ("A:S B:F", "C:S")


@pytest.mark.slow
def test_the_time_of_a_cheap_plan_is_told_without_asking() -> None:
    assert any("from a probe" in str(part.value) for part in _on_plan().markdown)


@pytest.mark.slow
def test_the_time_counts_reading_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_size, "estimate", lambda *_, read, **__: Estimate(10, 2.0 + read))
    monkeypatch.setattr(actions, "seconds_to_read", lambda: 0.5)
    assert any("**a few seconds** on this machine" in str(part.value) for part in _on_plan().markdown)
    monkeypatch.setattr(actions, "seconds_to_read", lambda: 27.0)
    assert any("**about 29 s** on this machine" in str(part.value) for part in _on_plan().markdown)


def _tick(made: AppTest, words: str) -> AppTest:
    next(box for box in made.checkbox if words in box.label).check().run()
    assert not made.exception and not made.error
    return made


@pytest.mark.slow
def test_the_time_of_a_quick_mechanism_is_told_without_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_size, "time", SimpleNamespace(perf_counter=lambda: 0.0))  # quick on a busy machine too
    made = _tick(_on_plan(), "PRAM")
    assert any("from a probe" in str(part.value) for part in made.markdown)
    assert not has_button(made, "estimate-time")


@pytest.mark.slow
def test_the_time_of_a_slow_mechanism_is_told_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_size, "_QUICK", 0.0)
    made = _tick(_on_plan(), "PRAM")
    assert not any("from a probe" in str(part.value) for part in made.markdown)
    assert any("one run of a chosen mechanism already takes long" in part.value for part in made.caption)
    press(made, "estimate-time")
    assert any("from a probe" in str(part.value) for part in made.markdown)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("200", "A swap rate of 200 % is no share of the records; write percentages above 0 and up to 100"),
        ("1, 0", "A swap rate of 0 % would exchange nothing; write percentages above 0 and up to 100"),
        ("-2.5", "A swap rate of -2.5 % is no share of the records"),
        ("nan", "A swap rate of 'NaN' is no share of the records"),
        ("two", "'two' is no percentage; write numbers such as 1, 2, 10"),
    ],
)
def test_what_is_wrong_with_a_rate_is_said_in_percent(typed: str, said: str) -> None:
    made = _on_plan()
    next(box for box in made.text_input if box.label.startswith("Swap rates")).set_value(typed).run()
    assert not made.exception and any(error.value.startswith(said) for error in made.error)
    assert not any("0.0" in error.value for error in made.error) and _plan(made).space.rates == _PLAN.space.rates
    next(box for box in made.text_input if box.label.startswith("Swap rates")).set_value("0.02, 100").run()
    assert not made.error and _plan(made).space.rates == ("0.0002", "1")


def test_a_departure_from_an_approved_plan_is_named() -> None:
    made = _on_plan()
    state = made.session_state["frontier"]
    locked = lock(state.plan, "DRB-7", "Grace")
    made.session_state["frontier"] = replace(state, plan=locked, base=locked)
    made.run()
    assert any("approved as DRB-7" in str(part.value) for part in made.info)
    next(box for box in made.text_input if box.label.startswith("Swap rates")).set_value("5").run()
    assert any("Swap rates: approved was 0.01, 0.02, 0.1, now it is 0.05" in str(p.value) for p in made.warning)


@pytest.mark.slow
def test_a_search_says_how_much_it_looks_at() -> None:
    made = _preset(_on_plan(), "search")
    next(box for box in made.number_input if str(box.key).startswith("budget-")).set_value(300).run()
    assert _plan(made).space.search and _plan(made).space.budget == 300
    assert {m.label: m.value for m in made.metric}["Scenarios"] == "≤ 300"
    assert any("2,817 distinct swaps" in part.value for part in made.caption)
    assert next(box for box in made.checkbox if box.label.startswith("Spend replicates")).disabled


@pytest.mark.slow
def test_replicates_can_be_spent_where_they_matter() -> None:
    made = _on_plan()
    next(box for box in made.checkbox if box.label.startswith("Spend replicates")).check().run()
    next(box for box in made.number_input if box.label.startswith("Runs before")).set_value(4).run()
    assert _plan(made).space.adaptive and _plan(made).space.screen == 4
    assert not made.error and {m.label: m.value for m in made.metric}["Runs"] == "≤ 1,260"
    next(box for box in made.number_input if box.label.startswith("Runs before")).set_value(500).run()
    assert any("Screen == 500" in error.value for error in made.error)


def _press(made: AppTest, key: str) -> AppTest:
    made.button(key=key).click().run()
    assert not made.exception
    return made


def _lock(made: AppTest, number: str = "DRB-7", by: str = "Grace") -> AppTest:
    made.text_input(key="lock-number").set_value(number)
    made.text_input(key="lock-by").set_value(by)
    return _press(made, "lock-plan")


@pytest.mark.slow
def test_a_plan_is_locked_with_number_and_name_and_says_so_from_then_on() -> None:
    made = _on_plan()
    _press(made, "lock-plan")
    assert any("has no number" in str(error.value) for error in made.error) and _plan(made).lock is None
    _lock(made, by=" ")
    assert any("has no name" in str(error.value) for error in made.error) and _plan(made).lock is None
    _lock(made)
    held = _plan(made).lock
    assert held is not None and (held.number, held.by) == ("DRB-7", "Grace") and not departures(_plan(made))
    assert any("approved as DRB-7 by Grace" in str(part.value) for part in made.info)
    assert not [box for box in made.text_input if box.key == "lock-number"], "it is locked once"
    at = made.session_state["frontier"].workspace
    assert read_plan(at.plan_path) == _plan(made)
    assert made.session_state["frontier"].actions == (), "a lock is not taken back by a click"


@pytest.mark.slow
def test_a_locked_plan_is_shown_as_such_on_the_page_of_the_file() -> None:
    made = to_page(_lock(_on_plan()), "data")
    assert any("approved as DRB-7 by Grace" in str(part.value) for part in made.info) and not made.warning


@pytest.mark.slow
def test_a_wrong_plan_cannot_be_locked_and_leads_nowhere() -> None:
    made = _on_plan()
    next(box for box in made.text_input if box.label.startswith("Swap rates")).set_value("nonsense").run()
    assert made.button(key="lock-plan").disabled
    assert made.button(key="begin-new").disabled


def words_of(content: bytes) -> str:
    """All words of a document."""
    made = docx.Document(io.BytesIO(content))
    said = "\n".join("".join(t.text or "" for t in part.iter("{*}t")) for part in made.element.body)
    return said.replace("\u00a0", " ")


@pytest.mark.slow
def test_the_plan_is_a_document_with_the_rates(
    offered: dict[str, Callable[[], bytes]],
) -> None:
    made = _on_plan()
    next(box for box in made.text_input if box.label.startswith("Swap rates")).set_value("3.7").run()
    assert not made.exception
    text = words_of(offered["plan-document"]())
    assert "1,841" in text and "Candidates21" in text and "Amounts tried3.7 %" in text
    assert "Approval number____" in text
    _lock(made)
    assert "Approval numberDRB-7" in words_of(offered["plan-document"]())
    data = load("czech")[0]
    again = plan_document(_plan(made), count_plan(_plan(made), code(data, _plan(made))))
    assert offered["plan-document"]() == FORMATS[".docx"](again), "the command line writes the same"


@pytest.mark.slow
def test_a_searched_plan_becomes_a_document(offered: dict[str, Callable[[], bytes]]) -> None:
    _preset(_on_plan(), "search")
    assert "in the whole space2,817" in words_of(offered["plan-document"]())


@pytest.mark.slow
def test_a_wrong_plan_is_no_document() -> None:
    made = _on_plan()
    assert [b.proto.disabled for b in made.get("download_button")] == [False]
    next(box for box in made.text_input if box.label.startswith("Swap rates")).set_value("nonsense").run()
    assert [b.proto.disabled for b in made.get("download_button")] == [True]


@pytest.mark.slow
def test_a_departure_is_taken_back_and_what_is_open_stays() -> None:
    made = _lock(_on_plan())
    next(box for box in made.number_input if box.label == "Replicates of each").set_value(33).run()
    assert not made.warning, "replicates may grow"
    next(box for box in made.text_input if box.label.startswith("Swap rates")).set_value("5").run()
    assert departures(_plan(made))
    _press(made, "back-to-approved")
    assert not departures(_plan(made)) and _plan(made).space.rates == _PLAN.space.rates
    assert _plan(made).space.replicates == 33 and _plan(made).lock is not None


def test_an_approval_after_results_is_logged_as_one(swept: Callable[..., Workspace]) -> None:
    at = swept()
    made = AppTest.from_file(str(APP), default_timeout=300)
    made.query_params["w"] = at.token
    made = to_page(made.run(), "candidates")
    assert any("after results were seen" in str(part.value) for part in made.warning)
    _lock(made)
    assert at.study is not None
    with Study.open(at.study) as study:
        assert study.plan.lock is not None and study.plan == _plan(made)
        assert [entry.event for entry in entries(study)][-1] == "locked"


def test_a_plan_that_takes_long_says_so_and_is_shortened_in_one_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_size, "_LONG", 0.0)
    made = _preset(_on_plan(), "all")
    assert any("8,451 scenarios, 20 runs of each, take about" in str(part.value) for part in made.warning)
    _press(made, "shorter-adaptive")
    assert _plan(made).space.adaptive and _plan(made).space.all_specs
    assert not [b for b in made.button if b.key == "shorter-adaptive"]
    _press(made, "shorter-search")
    assert _plan(made).space.search and _plan(made).space.budget == 3000
    assert any("3,000 scenarios, up to 20 runs" in str(part.value) for part in made.warning)


@pytest.mark.slow
def test_a_short_plan_is_not_warned_about() -> None:
    made = _on_plan()
    assert not made.warning and not [b for b in made.button if str(b.key).startswith("shorter-")]


def test_a_space_beyond_counting_is_said_by_its_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_size, "_COUNTABLE", 10)
    made = _preset(_on_plan(), "search")
    assert any("has 4 digits. The search tries at most 3,000 scenarios" in part.value for part in made.caption)


@pytest.mark.slow
def test_only_some_attributes_may_be_swapped_in_one_step() -> None:
    made = _on_plan()
    next(box for box in made.multiselect if box.label == "Attributes that may be swapped").set_value(["B", "E"]).run()
    next(b for b in made.button if b.label == "Swap these and no others").click().run()
    assert not made.exception and not made.error
    assert _plan(made).swap == ("B", "E") and _plan(made).names == _PLAN.names
    assert {m.label: m.value for m in made.metric}["Swaps to try"] == "3"


def test_only_my_attributes_leaves_no_size_that_is_too_large() -> None:
    wide = replace(_PLAN, space=replace(_PLAN.space, fix=("A",), change=("F",), swap_sizes=(1, 3)))
    few = only(wide, ["F", "A"])
    assert few.swap == ("A", "F") and few.space.fix == few.space.change == () and few.space.swap_sizes == (1,)
    assert only(wide, ["B"]).space.fix == ("A",) and preset_of(only(_PLAN, ["B"])) == "paper"


@pytest.mark.slow
def test_a_measure_is_explained_with_its_own_parameter() -> None:
    made = _on_plan()
    assert any("fewer than 3 together" in part.proto.help for part in made.markdown)
    next(box for box in made.number_input if "small_cells-n_rule" in str(box.key)).set_value(5).run()
    assert any("fewer than 5 together" in part.proto.help for part in made.markdown)
    assert not any("n_rule" in part.proto.help for part in made.markdown)


def test_several_tables_are_judged_jointly_and_the_page_says_so() -> None:
    made = _on_plan()
    assert not any("judges all of them jointly" in part.value for part in made.caption)
    next(box for box in made.checkbox if "mechanism-smike-" in str(box.key)).check().run()
    assert any("judges all of them jointly" in part.value and "and decides" in part.value for part in made.caption)
