"""Plans are read from TOML within bounds, refused by the name of an entry, and written so that they read back equal."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.make_survey import survey
from engine.common.errors import EngineError, UsageError
from engine.common.untrusted import MOST_BYTES
from engine.data.domain import EditRule
from engine.plan import (
    AttributePlan,
    DataPlan,
    DecisionPlan,
    MechanismPlan,
    Plan,
    SpacePlan,
    plan_from_toml,
    plan_to_toml,
    read_plan,
)
from engine.plan.differences import lock
from engine.plan.entries import AnalysisPlan
from engine.plan.samples import load
from engine.plan.toml import _check_bounds
from tests.engine.plans import FULL


def test_every_entry_is_read() -> None:
    assert plan_from_toml(FULL) == Plan(
        data=DataPlan(
            attributes=(
                AttributePlan(
                    "Age",
                    columns=("age", "age_flag"),
                    view=("age",),
                    cut=(25, 55.5),
                    labels=("<25", "25-54", "55+"),
                    skip=("-1",),
                    missing=("-9",),
                    on_missing="level",
                ),
                AttributePlan("Emp", levels=("Govt", "Private"), merge=(("Govt", ("Federal-gov", "State-gov")),)),
                AttributePlan("Sex"),
            ),
            missing=("", "NA"),
            weight="wt",
            id="caseid",
            carry=("note_*",),
            drop=("scratch",),
        ),
        keys=("Age", "Sex"),
        swap=("Age", "Emp"),
        analyse=("Age", "Emp"),
        edits=(EditRule("no young officials", (("Age", ("<25",)), ("Emp", ("Govt",)))),),
        space=SpacePlan((1, 2), fix=("Sex",), rule="loose", rates=("0.01", "0.1", "0.2"), replicates=5),
        measures=("small_cells[n_rule=5]", "hellinger"),
        decision=DecisionPlan("small_cells", "hellinger", max_risk="0.014", realisation="3"),
    )


ONE = "[[attribute]]\nname = 'A'\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[space]\nrates = [", "not valid TOML"),
        ("[spase]\n", "unknown section 'spase'. Did you mean 'space'?"),
        ("space = 3", "'space' must be a table; write [space] above its entries"),
        ("[attribute]\nname = 'A'", "'attribute' must be a list of tables; write [[attribute]] above each"),
        ("[space]\nrate = ['0.1']", "[space] has the unknown entry 'rate'. Did you mean 'rates'?"),
        ("[[attribute]]\nnames = 'A'", "[[attribute]] number 1 has the unknown entry 'names'. Did you mean 'name'"),
        ("[[attribute]]\ncut = [1]", '[[attribute]] number 1 has no name; add name = "..."'),
        ("[space]\nreplicates = '20'", "[space]: replicates is '20', must be a whole number"),
        ("[space]\nreplicates = true", "[space]: replicates is True, must be a whole number"),
        ("[space]\nall_specs = 1", "[space]: all_specs is 1, must be true or false"),
        ("[space]\nswap_sizes = [1.5]", "[space]: swap_sizes holds 1.5, must hold whole numbers"),
        ("[space]\nswap_sizes = []", "[space]: swap_sizes is empty; leave it out for the default or list something"),
        ("[roles]\nkeys = 'A'", "[roles]: keys is 'A', must be a list of texts"),
        ("[data]\nmissing = [9]", "[data]: missing holds 9, must hold texts"),
        ("[[attribute]]\nname = 'A'\n[[edit]]\nforbid = {}", "[[edit]] number 1 has no name"),
        (f"{ONE}[[edit]]\nname = 'x'\nrefuse = 'yes'", "edit rule 'x': refuse is 'yes', must be true or false"),
        (
            f"{ONE}[[edit]]\nname = 'x'\nforbid = {{A = 'a'}}",
            "edit rule 'x': forbid of 'A' is 'a', must be a list of texts",
        ),
        (
            "[[attribute]]\nname = 'A'\ncut = ['x']",
            "[[attribute]] number 1: attribute 'A': cut holds 'x', must hold numbers",
        ),
        ("", "[data]: the plan codes no attribute; name some, as [[attribute]] in the plan"),
    ],
)
def test_a_mistake_in_the_text_is_named(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan_from_toml(text)
    assert str(caught.value).startswith(message)


def test_one_name_in_two_sections_has_the_type_of_each() -> None:
    attributes = '[[attribute]]\nname = "A"\n[[attribute]]\nname = "B"\n'
    assert plan_from_toml(attributes + '[space]\nchange = ["A"]\n').space.change == ("A",)
    assert plan_from_toml(attributes + '[tolerances]\nchange = "0.2"\n').tolerances.change == "0.2"


def test_reading_a_file_names_it(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text("\ufeff" + FULL, encoding="utf-8")
    assert read_plan(path) == plan_from_toml(FULL)
    path.write_text("[spase]")
    with pytest.raises(UsageError, match=r"^plan 'plan\.toml': unknown section 'spase'"):
        read_plan(path)
    path.write_bytes(b"# \xff")
    with pytest.raises(EngineError, match=r"plan 'plan\.toml' is not UTF-8 text"):
        read_plan(path)
    with pytest.raises(UsageError, match=r"plan 'none\.toml' does not exist"):
        read_plan(tmp_path / "none.toml")


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
edges = st.lists(st.floats(-1e6, 1e6) | st.integers(-100, 100), min_size=1, max_size=4, unique_by=float).map(sorted)


@st.composite
def attribute_plans(draw: st.DrawFn, name: str) -> AttributePlan:
    columns = (name, *(f"{name} {i}" for i in range(draw(st.integers(0, 2)))))
    labels = draw(st.lists(texts.filter(lambda t: t != "missing"), min_size=6, max_size=6, unique=True))
    kind = draw(st.sampled_from(["plain", "cut", "merge", "joint"]))
    more: dict[str, Any] = {"missing": tuple(draw(st.lists(texts, max_size=2, unique=True)))}
    if kind == "cut":
        more["cut"] = tuple(draw(edges))
        if draw(st.booleans()):
            more["labels"] = tuple(labels[: len(more["cut"]) + 1])
    elif kind == "merge":
        more["merge"] = ((labels[0], (labels[1], labels[2])), (labels[3], (labels[3],)))
        more["levels"] = (labels[3], labels[0])
        more["skip"] = (labels[5],)
    elif kind == "joint":
        more["view"] = columns
    return AttributePlan(name, columns=columns, on_missing=draw(st.sampled_from(["refuse", "level"])), **more)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    names = draw(st.lists(st.sampled_from(["Age", "a b", "x.y", "é", '"q"', "#"]), min_size=2, max_size=4, unique=True))
    some = st.lists(st.sampled_from(names), min_size=1, unique=True).map(tuple)
    space = draw(
        st.sampled_from(
            [SpacePlan(), SpacePlan((1,)), SpacePlan(all_specs=True), SpacePlan(specs=(f"{names[0]}:S {names[1]}:F",))]
        )
    )
    levels = tuple(draw(st.lists(texts, min_size=1, max_size=9, unique=True)))
    edits = (EditRule(draw(texts), ((names[0], levels),), draw(st.booleans())),)
    return Plan(
        DataPlan(
            tuple(draw(attribute_plans(name)) for name in names),
            missing=tuple(draw(st.lists(texts, max_size=3, unique=True))),
            weight=draw(st.sampled_from([None, "wt"])),
            id=draw(st.sampled_from([None, "case id"])),
            carry=draw(st.sampled_from([(), ("note_*", "z")])),
            drop=draw(st.sampled_from([(), ("scratch",)])),
        ),
        keys=draw(some),
        swap=draw(some),
        analyse=draw(some),
        edits=draw(st.sampled_from([(), edits])),
        space=space,
        measures=("small_cells[n_rule=5]", "hellinger"),
        decision=draw(st.sampled_from([DecisionPlan(), DecisionPlan("small_cells", "hellinger", slope="0.05")])),
    )


@pytest.mark.slow
@given(plans())
def test_toml_brings_back_an_equal_plan(plan: Plan) -> None:
    assert plan_from_toml(plan_to_toml(plan)) == plan


TEXTS = {
    "lists nested deep": ("[about]\nsurvey = " + "[" * 5000 + "]" * 5000, "line 2 nests lists or tables deeper"),
    "tables nested deep": ("[about]\nsurvey = " + "{a=" * 1000 + "1" + "}" * 1000, "nests lists or tables deeper"),
    "4,301 digits": ("[space]\nreplicates = " + "9" * 4301, "line 2 holds a number of very many digits"),
    "hexadecimal digits": ("[space]\nreplicates = 0x" + "f" * 5000, "a number of very many digits"),
    "more than 64 bits": ("[space]\nreplicates = 9223372036854775808", "replicates holds a whole number of more than"),
    "a large edge": ("[[attribute]]\nname = 'A'\ncut = [1" + "0" * 80 + "]", "cut holds a whole number of more than"),
    "a key of many parts": ("[about]\n" + "a." * 50_000 + "b = 1", "line 2 holds a name of very many parts"),
    "a quoted key of many parts": ("[" + "'a'." * 50_000 + "b]", "a name of very many parts"),
    "a day that is none": ("[about]\nsurvey = 2024-02-30", "not valid TOML"),
    "a tiny rate": ("[[attribute]]\nname = 'A'\n[space]\nrates = ['1e-999999999']", "rate has more than 28 decimals"),
}


@pytest.mark.parametrize("what", TEXTS)
def test_what_no_plan_needs_is_refused(what: str) -> None:
    text, words = TEXTS[what]
    with pytest.raises(UsageError, match=words):
        plan_from_toml(text)


def test_lists_and_tables_nest_to_a_depth_of_sixteen() -> None:
    _check_bounds("[a]\nb = " + "[" * 16 + "]" * 16 + "\nc = [{d = 1}]")
    with pytest.raises(UsageError, match="line 2 nests lists or tables deeper than 16"):
        _check_bounds("[a]\nb = " + "[{}, " * 16 + "[" + "]" * 17)


@pytest.mark.parametrize("value", ['"[[[[" # [[[[', "'''\n[[[[\n'''", '"""\n{{{{ "" \\""" [[[[\n"""', '"a.b.c.d"'])
def test_brackets_within_texts_and_comments_are_no_nesting(value: str) -> None:
    value = value.replace("[[[[", "[" * 40).replace("a.b", "a." * 40)
    assert plan_from_toml(f"[about]\nsurvey = {value}\n[[attribute]]\nname = 'A'").names == ("A",)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1_000_001, 2_000_003])
@pytest.mark.parametrize("sign", ['"', "'", "\\", '"\\'])
def test_signs_without_end_are_read_through_once(sign: str, n: int) -> None:
    with pytest.raises(UsageError, match="not valid TOML"):
        plan_from_toml("[about]\nsurvey = " + sign * n)


def test_a_folder_a_device_and_a_very_large_file_are_no_plans(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="is a folder"):
        read_plan(tmp_path)
    large = tmp_path / "large.toml"
    with large.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(EngineError, match="is it the data"):
        read_plan(large)


@pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="Windows has no named pipes among its files; run the tests on Linux or macOS"
)
def test_a_pipe_and_an_endless_file_are_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    for name, kind in (("pipe.toml", "a named pipe"), ("endless.toml", "a device")):
        with pytest.raises(EngineError, match=f"plan '{name}' is {kind}; give the file of a plan"):
            read_plan(tmp_path / name)


@pytest.mark.parametrize(
    "predictors", ["(" * 30 + "x" + ")" * 30, " + ".join(["x"] * 3000), "-" * 2000 + "x", "x" * 30_000]
)
def test_a_formula_that_a_parser_cannot_hold_is_refused(predictors: str) -> None:
    with pytest.raises(UsageError, match=r"characters, .* are read"):
        AnalysisPlan("a", f"y ~ {predictors}")


def test_quoted_names_in_a_formula_may_hold_any_signs() -> None:
    assert AnalysisPlan("a", "y ~ Q('" + "(" * 300 + "')").columns[-1] == "(" * 300


def test_a_short_plan_is_short() -> None:
    assert plan_to_toml(Plan(DataPlan((AttributePlan("A"), AttributePlan("B b"))))) == (
        '[[attribute]]\nname = "A"\n\n[[attribute]]\nname = "B b"\n\n'
        '[space]\nswap_sizes = [1]\nrule = "strict"\nrates = ["0.01", "0.02", "0.1"]\nreplicates = 20\n\n'
        '[measures]\nnames = ["small_cells", "hellinger", "total_variation", "entropy_change"]\n\n'
        '[decision]\nrealisation = "first_within"\n'
    )


def test_a_long_table_stands_after_the_other_entries_of_its_section() -> None:
    merge = tuple((f"level {j}", (f"{j}", f"-{j}")) for j in range(1, 12))
    part = AttributePlan("A", merge=merge, skip=("-77",), missing=("-99",), on_missing="level")
    forbid = tuple((name, tuple(f"a long level of {name}, number {j}" for j in range(4))) for name in ("A", "B"))
    plan = Plan(DataPlan((part, AttributePlan("B"))), edits=(EditRule("never", forbid),))
    text = plan_to_toml(plan)
    assert plan_from_toml(text) == plan
    assert '\non_missing = "level"\n\n[attribute.merge]\n"level 1" = ["1", "-1"]\n' in text
    assert '\n[edit.forbid]\nA = [\n    "a long level of A, number 0",\n' in text


def test_every_sign_comes_back() -> None:
    odd = '\t\n\r\b\f\x01\x1b\x7f"\\é…\u2028😀 = # [x]'
    plan = Plan(
        DataPlan((AttributePlan(odd, merge=((odd + "1", (odd,)),)), AttributePlan("B")), carry=(odd + "2",)),
        mechanisms=(MechanismPlan.of("maps", {"w0": [0.8, 0.9], "D": 5}),),
        space=SpacePlan(rates=tuple(f"0.0{j:03d}" for j in range(1, 40))),
    )
    locked = lock(plan, f"no. {odd}", "Grace")
    assert plan_from_toml(plan_to_toml(plan)) == plan
    assert plan_from_toml(plan_to_toml(locked)) == locked


@pytest.mark.slow
def test_samples_and_a_plan_with_hundreds_of_attributes_come_back() -> None:
    from engine.plan import first_plan

    wide = first_plan(survey(300)[0])
    assert len(wide.names) > 250
    for plan in (load("czech")[1], wide, replace(wide, keys=wide.names[:5])):
        assert plan_from_toml(plan_to_toml(plan)) == plan
