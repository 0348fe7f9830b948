"""Intruder and uses: the intruder, the uses and the rule of choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from engine.plan import DecisionPlan, TablePlan, ThreatPlan, edit_plan
from engine.plan.differences import lock
from engine.plan.entries import FAMILIES, MEDIAN, QUANTILE
from engine.plan.samples import load
from engine.study.decision_log import entries
from engine.study.study import Study
from frontier_app.pages.threat.page import visible
from frontier_app.session.workspace import Workspace
from frontier_app.widgets import plan_fields
from tests.frontier_app.conftest import APP, to_page
from tests.frontier_app.elements import typed


def _sample(name: str = "czech") -> AppTest:
    made = AppTest.from_file(str(APP), default_timeout=300).run()
    made.button(key=f"open-{name}").click().run()
    return _to(made)


def _study(at: Workspace) -> AppTest:
    made = AppTest.from_file(str(APP), default_timeout=300)
    made.query_params["w"] = at.token
    return _to(made.run())


def _to(made: AppTest, page: str = "threat") -> AppTest:
    return to_page(made, page)


def _plan(made: AppTest):
    return made.session_state["frontier"].plan


def _set(made: AppTest, **changes: object) -> AppTest:
    now = made.session_state["frontier"]
    plan = replace(now.plan, **changes)
    made.session_state["frontier"] = replace(now, plan=plan, base=plan, version=now.version + 1)
    return made.run()


def _box(made: AppTest, label: str):
    boxes = (*made.text_input, *made.text_area, *made.selectbox, *made.multiselect, *made.radio, *made.number_input)
    return next(box for box in boxes if box.label.startswith(label))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["czech", "nces", "fair"])
def test_looking_changes_nothing(name: str) -> None:
    made = _sample(name)
    assert not made.exception and not made.error
    assert _plan(made) == load(name)[1]


@pytest.mark.slow
def test_the_threat_is_said_before_results_and_survives_leaving() -> None:
    made = _sample()
    assert any("before any result is seen" in caption.value for caption in made.caption)
    _box(made, "Intruder").set_value("a colleague").run()
    _box(made, "Public files that overlap").set_value("register\n\nregister\nvoters").run()
    assert _plan(made).threat == ThreatPlan("a colleague", ("register", "voters"), "")
    _to(_to(made, "compare"))
    assert _box(made, "Intruder").value == "a colleague"
    assert _box(made, "Public files that overlap").value == "register\nvoters"


@pytest.mark.slow
def test_the_keys_tell_who_stands_out() -> None:
    made = _sample()
    names = _plan(made).names
    _box(made, "Answers that somebody").set_value([names[0], names[1]]).run()
    assert _plan(made).keys == names[:2] and not made.error
    assert made.title[0].value == "2 known facts put 0 of 1,841 records in small cells"
    _box(made, "Answers that somebody").set_value([]).run()
    assert any("keys is empty" in e.value.lower() for e in made.error) and _plan(made).keys == names
    next(b for b in made.button if b.label == "All").click().run()
    assert _plan(made).keys == names and not made.error


def test_what_others_can_see_is_told_by_names_and_labels() -> None:
    raw, plan = load("survey")
    assert visible(plan, raw) == ["region", "agegrp", "sex", "race4", "marital3", "educ4", "employed"]


def test_bound_and_slope_and_tolerances() -> None:
    made = _sample()
    _box(made, "Rule").set_value("bound").run()
    assert _plan(made).decision.max_risk is None
    assert _box(made, "Largest acceptable risk").placeholder == "such as 0.0014", "half the risk of doing nothing"
    _box(made, "Largest acceptable risk").set_value("-1").run()
    assert any("must not be negative" in e.value for e in made.error)
    _box(made, "Largest acceptable risk").set_value("0.0020").run()
    assert not made.error and _plan(made).decision.max_risk == "0.002"
    assert any("0.2 % of unaltered records. It is at most 3 records of 1,841" in c.value for c in made.caption)
    assert any("Doing nothing has a risk of **0.002716**" in m.value for m in made.markdown)
    _box(made, "Rule").set_value("slope").run()
    _box(made, "Additional risk accepted").set_value("0.5").run()
    assert (_plan(made).decision.max_risk, _plan(made).decision.slope) == (None, "0.5")
    _box(made, "Change of a share").set_value("12.5").run()
    assert _plan(made).tolerances.change == "0.125"
    _box(made, "Shift of a coefficient").set_value("much").run()
    assert any("olerances se" in e.value for e in made.error) and _plan(made).tolerances.se == "1.96"


@pytest.mark.slow
def test_a_bound_is_for_measures_where_lower_is_better() -> None:
    made = _sample()
    plan = edit_plan(_plan(made), measures=["p1", "hellinger"])
    _set(made, measures=plan.measures, decision=DecisionPlan())
    _box(made, "Rule").set_value("bound").run()
    _box(made, "Largest acceptable risk").set_value("0.1").run()
    assert any("where lower is better" in e.value for e in made.error) and _plan(made).decision.max_risk is None


@pytest.mark.slow
def test_who_asks_is_kept() -> None:
    made = _sample()
    _box(made, "Survey").set_value("Workers").run()
    _box(made, "The release is").set_value("series").run()
    _box(made, "What changed").set_value("two waves more").run()
    about = _plan(made).about
    assert (about.survey, about.release_type, about.changes) == ("Workers", "series", "two waves more")


def test_rows_that_are_not_right_are_named_and_the_others_count() -> None:
    raw, plan = load("czech")
    a, b = plan.names[:2]
    rows = [
        {"name": "one", "attributes": [a, b]},
        {"name": "", "attributes": []},
        {"name": "one", "attributes": [a]},
        {"name": "two", "attributes": []},
    ]
    found, wrong = plan_fields.tables_of(rows, plan)
    assert found == (TablePlan("one", (a, b)),)
    assert list(wrong) == [2, 3] and "more than once" in wrong[2] and "no attribute" in wrong[3]
    row = {"name": "w", "formula": f"{a} ~ {b}", "family": "logistic", "by": [], "weighted": False, "tau": ""}
    bad = [{**row, "name": "n", "formula": f"{a} ~ nosuch"}, {**row, "name": "k", "weighted": True}]
    analyses, wrong = plan_fields.analyses_of([row, *bad], plan, raw.names)
    assert [one.name for one in analyses] == ["w"]
    assert list(wrong) == [1, 2] and "nosuch" in wrong[1] and "no weight" in wrong[2]


@pytest.mark.slow
def test_rows_are_added_kept_while_wrong_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _sample()
    a, b = _plan(made).names[:2]
    with monkeypatch.context() as patch:
        typed(patch, "analyses", {"formula": f"{a} ~ nosuch"}, {"formula": f"{a} ~ {b}", "family": "logistic"})
        made.run()
        assert any("'nosuch'" in e.value and "Row 1 does not count yet" in e.value for e in made.error)
        assert [one.formula for one in _plan(made).analyses] == [f"{a} ~ {b}"]
        typed(patch, "tables", {"attributes": [a, b]})
        made.run()
    assert _plan(made).tables == (TablePlan(f"{a} by {b}", (a, b)),)
    _to(_to(made, "compare"))
    formulas = [list(table.value["formula"]) for table in made.dataframe if "formula" in table.value]
    assert formulas == [[f"{a} ~ nosuch", f"{a} ~ {b}"]], "also the one that is not right yet"
    with monkeypatch.context() as patch:
        typed(patch, "analyses")
        made.run()
    assert _plan(made).analyses == () and len(_plan(made).tables) == 1 and not made.exception


@pytest.mark.slow
def test_declared_uses_and_sensitive_answers_are_measured_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _sample()
    a, b, c = _plan(made).names[:3]
    before = _plan(made).measures
    typed(monkeypatch, "tables", {"attributes": [a, b]})
    made.run()
    assert _plan(made).measures == (*before, f"total_variation[attributes={a}+{b}]")
    assert any("Measured on every candidate" in str(one.value) for one in made.caption)
    typed(monkeypatch, "analyses", {"formula": f"{a} ~ {b}", "family": "logistic"})
    made.run()
    assert _plan(made).measures[-1] == "ci_overlap"
    next(box for box in made.multiselect if str(box.key).startswith("threat-sensitive")).set_value([c]).run()
    assert f"correct_attribution[target={c}]" in _plan(made).measures and not made.error
    _to(made, "candidates")
    assert not made.exception and not made.error
    chosen = [name for box in made.multiselect if str(box.key).startswith("measures-") for name in box.value]
    assert {"ci_overlap", "correct_attribution"} <= set(chosen)
    assert any(f"total_variation[attributes={a}+{b}]" in str(box.value) for box in made.text_input)
    typed(monkeypatch, "tables")
    made = _to(made)
    assert f"total_variation[attributes={a}+{b}]" not in _plan(made).measures and "ci_overlap" in _plan(made).measures


@pytest.mark.slow
def test_a_study_keeps_its_measures_when_a_table_is_declared_later(
    swept: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _study(swept())
    a, b = _plan(made).names[:2]
    before = _plan(made).measures
    typed(monkeypatch, "tables", {"attributes": [a, b]})
    made.run()
    assert _plan(made).tables and _plan(made).measures == before
    assert any("The study has its own" in str(one.value) for one in made.caption)


def test_every_family_counts_and_a_quantile_regression_has_a_quantile() -> None:
    _, plan = load("czech")
    a, b = plan.names[:2]
    rows: list[plan_fields.Row] = [
        {"name": family, "formula": f"{a} ~ {b}", "family": family, "by": None, "weighted": None, "tau": None}
        for family in FAMILIES
    ]
    analyses, wrong = plan_fields.analyses_of(rows, plan, ())
    assert not wrong and [one.family for one in analyses] == list(FAMILIES)
    assert {one.family: one.tau for one in analyses if one.tau} == {QUANTILE: MEDIAN}
    row = {**rows[0], "family": QUANTILE}
    (high,), _ = plan_fields.analyses_of([{**row, "tau": "0.9"}], plan, ())
    assert high.tau == "0.9"
    _, wrong = plan_fields.analyses_of([{**row, "tau": "2"}], plan, ())
    assert "tau == 2" in wrong[0]


def test_declared_analyses_are_tried_on_the_original_data() -> None:
    made = _sample()
    names = _plan(made).names
    row = {"formula": f"{names[0]} ~ {names[1]}", "by": [], "weighted": False, "tau": ""}
    rows = [
        {**row, "name": "good", "family": "logistic"},
        {**row, "name": "bad", "family": "poisson"},
        {**row, "name": "flat", "formula": f"{names[0]} ~ {names[0]}", "family": "probit"},
    ]
    analyses, wrong = plan_fields.analyses_of(rows, _plan(made), ())
    assert not wrong
    _set(made, analyses=analyses)
    made.button(key="try-analyses").click().run()
    assert not made.exception
    assert any("**good** – 2 coefficients" in m.value for m in made.markdown)
    assert any("'bad'" in e.value for e in made.error)
    assert any("'flat': 2 coefficients" in e.value and "2 without a figure" in e.value for e in made.error)


@pytest.mark.slow
def test_a_change_after_results_is_logged_with_reason_and_name(swept: Callable[..., Workspace]) -> None:
    at = swept()
    made = _study(at)
    assert any("after results were seen" in info.value for info in made.info)
    _box(made, "Rule").set_value("bound").run()
    _box(made, "Largest acceptable risk").set_value("0.002").run()
    assert not any("The sweep shows" in caption.value for caption in made.caption), "the range is drawn"
    (said,) = [m.value for m in made.markdown if "Changed after results were seen" in m.value]
    assert "Largest acceptable risk (α): nothing in the study, 0.002 here" in said
    assert made.button(key="keep-change").disabled
    made.text_input(key="change-why").set_value("the board asked")
    made.text_input(key="change-by").set_value("Ada").run()
    made.button(key="keep-change").click().run()
    assert not made.exception and not made.error
    assert at.study is not None
    with Study.open(at.study) as study:
        assert study.plan.decision.max_risk == "0.002"
        last = entries(study)[-1]
    assert (last.event, last.by, last.detail["why"]) == ("changed", "Ada", "the board asked")
    assert any("decision log" in info.value for info in made.info)


def test_what_changes_figures_stays_out_of_the_study(swept: Callable[..., Workspace]) -> None:
    at = swept()
    made = _study(at)
    before = _plan(made)
    _box(made, "Answers that somebody").set_value(list(before.keys[:2]))
    _box(made, "Harm of a disclosure").set_value("shame").run()
    assert any("These change figures" in m.value for m in made.markdown)
    made.text_input(key="change-why").set_value("thought again")
    made.text_input(key="change-by").set_value("Ada").run()
    made.button(key="keep-change").click().run()
    assert at.study is not None
    with Study.open(at.study) as study:
        assert study.plan == replace(before, threat=ThreatPlan(harm="shame"))
    made.button(key="back-to-study").click().run()
    assert _plan(made).keys == before.keys and _plan(made).threat.harm == "shame"


def test_what_was_approved_is_read_only_with_number_and_name() -> None:
    made = _sample()
    _set(made, lock=lock(_plan(made), "DRB-7", "Grace").lock)
    assert any("DRB-7" in info.value and "Grace" in info.value for info in made.info)
    fixed = ("Answers that", "Intruder", "Risk is judged", "Rule", "Change of a share", "Which of its runs")
    assert all(_box(made, label).disabled for label in fixed)
    assert not _box(made, "Survey").disabled
    made.toggle(key="deviate").set_value(True).run()
    assert not _box(made, "Rule").disabled
    _box(made, "Harm of a disclosure").set_value("loss of work").run()
    assert any("departs from what was approved" in w.value for w in made.warning)


def test_what_is_released_with_the_file_is_said_here_and_fixed_by_an_approval() -> None:
    made = _sample("fair")
    assert not [box for box in made.checkbox if str(box.key).startswith("publish-")], "the sample has neither"
    _set(made, data=replace(_plan(made).data, drop=(), weight="occupation_husb"))
    box = next(box for box in made.checkbox if str(box.key).startswith("publish-weight"))
    assert box.label == "The weight (column occupation_husb)" and not box.value
    box.check().run()
    assert _plan(made).publish.include == ("weight",)
    _set(made, lock=lock(_plan(made), "DRB-7", "Grace").lock)
    assert next(box for box in made.checkbox if str(box.key).startswith("publish-weight")).disabled
    assert _plan(made).publish.include == ("weight",)


@pytest.mark.slow
def test_what_is_said_in_public_is_kept_and_a_range_needs_its_words() -> None:
    made = _sample()
    _box(made, "Title of the release").set_value("Car workers 1981").run()
    _box(made, "Share of records in swaps").set_value("range").run()
    assert not made.error and _plan(made).publish.rate_policy == "withhold"
    assert any("withheld until" in caption.value for caption in made.caption)
    _box(made, "The range, in words").set_value("1.9 to 2.1 percent").run()
    assert any("at least twice the lower" in error.value for error in made.error)
    assert _plan(made).publish.rate_range == ""
    _box(made, "The range, in words").set_value("between 1 and 5 percent").run()
    assert not made.error
    said = _plan(made).publish
    assert (said.title, said.rate_policy, said.rate_range) == ("Car workers 1981", "range", "between 1 and 5 percent")


def test_uses_of_a_plan_written_by_hand_are_measured_by_one_button() -> None:
    made = AppTest.from_file(str(APP), default_timeout=300).run()
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
    _to(_to(made, "compare"))
    assert _box(made, "What must meet the limit").value == "mean"
