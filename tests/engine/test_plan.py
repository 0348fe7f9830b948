"""The plan: checked when it is made, the same after a journey through TOML, and edited by flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import UsageError
from engine.microdata import EditRule
from engine.plan import (
    AttributePlan,
    DataPlan,
    DecisionPlan,
    Plan,
    SpacePlan,
    edit_plan,
    plan_from_toml,
    plan_to_toml,
    read_plan,
)


def plan_of(*names: str, **more: Any) -> Plan:
    return Plan(DataPlan(tuple(AttributePlan(name) for name in names)), **more)


ABC = plan_of("A", "B", "C")

FULL = """
[data]
missing = ["", "NA"]
weight = "wt"
id = "caseid"
carry = ["note_*"]
drop = ["scratch"]

[[attribute]]
name = "Age"
columns = ["age", "age_flag"]
cut = [25, 55.5]
labels = ["<25", "25-54", "55+"]
skip = ["-1"]
missing = ["-9"]
on_missing = "level"

[[attribute]]
name = "Emp"
merge = { Govt = ["Federal-gov", "State-gov"] }
levels = ["Govt", "Private"]

[[attribute]]
name = "Sex"

[roles]
keys = ["Age", "Sex"]
swap = ["Age", "Emp"]
analyse = ["Age", "Emp"]

[[edit]]
name = "no young officials"
forbid = { Age = ["<25"], Emp = ["Govt"] }

[space]
swap_sizes = [2, 1]
fix = ["Sex"]
rule = "loose"
rates = ["0.010", "1e-1", 0.2]
replicates = 5

[measures]
names = ["small_cells[n_rule=5]", "hellinger"]

[decision]
risk = "small_cells"
utility = "hellinger"
max_risk = "0.0140"
realisation = "3"
"""


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


def test_what_is_left_out_has_a_default() -> None:
    plan = plan_from_toml('[[attribute]]\nname = "A"\n[[attribute]]\nname = "B"\n[[attribute]]\nname = "C"')
    assert plan.keys == plan.swap == plan.analyse == plan.names == ("A", "B", "C")
    assert plan.space.swap_sizes == (1, 2)
    assert plan.space.rates == ("0.01", "0.02", "0.1")
    assert plan.attributes[0].columns == plan.attributes[0].view == ("A",)
    assert plan_of("A", "B").space.swap_sizes == (1,), "swapping both of two attributes exchanges whole records"
    assert plan_of("A", "B", "C", swap=("B",)).space.swap_sizes == (1,)


def test_cut_labels_are_written_from_the_edges() -> None:
    assert AttributePlan("A", cut=(25, 55.5, 60.0)).cut_labels == ("<25", "25-<55.5", "55.5-<60", ">=60")


def test_specs_are_kept_in_canonical_form() -> None:
    plan = plan_of("A", "B", "C", space=SpacePlan(specs=("C:F A:S", "A:s  C:F")))
    assert plan.space.specs == ("A:S C:F",)


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
        ("[space]\nreplicates = true", "[space]: replicates is true, must be a whole number"),
        ("[space]\nall_specs = 1", "[space]: all_specs is 1, must be true or false"),
        ("[space]\nswap_sizes = [1.5]", "[space]: swap_sizes is [1.5], must be a list of whole numbers"),
        ("[space]\nswap_sizes = []", "[space]: swap_sizes is empty; leave it out for the default or list something"),
        ("[roles]\nkeys = 'A'", "[roles]: keys is 'A', must be a list of texts"),
        ("[data]\nmissing = [9]", "[data]: missing is [9], must be a list of texts"),
        ("[[attribute]]\nname = 'A'\n[[edit]]\nforbid = {}", "[[edit]] number 1 has no name"),
        ("[[edit]]\nname = 'x'\nforbid = {A = 'a'}", "[[edit]] number 1: forbid is {'A': 'a'}, must be a table"),
        ("[[attribute]]\nname = 'A'\ncut = ['x']", "[[attribute]] number 1: cut is ['x'], must be a list of numbers"),
        ("", "the plan codes no attribute; name some, with --attributes or as [[attribute]] in the plan"),
    ],
)
def test_a_mistake_in_the_text_is_named(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan_from_toml(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SpacePlan(rates=("1.2",)), "rate == 1.2, must be between 0 and 1."),
        (lambda: SpacePlan(rates=("-0.1",)), "rate == -0.1, must be between 0 and 1."),
        (lambda: SpacePlan(rates=("abc",)), "rate == 'abc', must be a number between 0 and 1, such as 0.02."),
        (lambda: SpacePlan(rates=("nan",)), "rate == nan, must be between 0 and 1."),
        (lambda: SpacePlan(rates=()), "rates is empty"),
        (lambda: SpacePlan(rates="0.1"), "rates is '0.1', must be a list"),  # type: ignore[arg-type]
        (lambda: SpacePlan(replicates=0), "replicates == 0, must be at least 1."),
        (lambda: SpacePlan(swap_sizes=(0,)), "swap size == 0, must be at least 1"),
        (lambda: SpacePlan(swap_sizes=(True,)), "swap_sizes holds True, must hold whole numbers"),
        (
            lambda: SpacePlan(swap_sizes=(1,), all_specs=True),
            "the space is described by swap_sizes and all_specs; choose",
        ),
        (lambda: SpacePlan(specs=(" ",)), "a spec is empty"),
        (lambda: SpacePlan(fix=("A",), change=("A",)), "attribute 'A' is in fix and in change"),
        (lambda: SpacePlan(rule="lax"), "rule is 'lax', must be one of strict, loose"),
        (
            lambda: plan_of("A", "B", space=SpacePlan((3,))),
            "swap size == 3, must be at most 2, the number of attributes",
        ),
        (lambda: plan_of("A", "B", space=SpacePlan(fix=("A", "B"))), "fix and change leave no attribute to swap"),
        (lambda: plan_of("A", "B", space=SpacePlan(fix=("D",))), "fix names the unknown attribute 'D'. Known: A, B."),
        (lambda: plan_of("A", "B", space=SpacePlan(specs=("D:S",))), "unknown attribute 'D' in the spec 'D:S'."),
        (lambda: plan_of("Age", "B", keys=("Aeg",)), "keys names the unknown attribute 'Aeg'. Did you mean 'Age'?"),
        (lambda: plan_of("A", "A"), "the plan's attributes names 'A' more than once"),
        (lambda: plan_of("A", swap=("A", "A")), "swap names 'A' more than once"),
        (lambda: plan_of("A", measures=()), "measures is empty"),
        (lambda: plan_of("A", measures=("a b",)), "measure 'a b' is no name"),
        (lambda: plan_of("A", decision=DecisionPlan(risk="uniques")), "decision risk is 'uniques', which is not among"),
        (
            lambda: plan_of("A", edits=(EditRule("x", (("B", ("b",)),)),)),
            "edit rule 'x' names the unknown attribute 'B'",
        ),
        (lambda: plan_of("A", edits=(EditRule("x", ()),)), "edit rule 'x' forbids nothing"),
        (lambda: DecisionPlan(max_risk="0.1", slope="1"), "the decision has both max_risk and slope; choose one rule"),
        (lambda: DecisionPlan(max_risk="-1"), "max_risk == -1, must not be negative."),
        (lambda: DecisionPlan(slope="steep"), "slope is 'steep', must be a decimal number"),
        (
            lambda: DecisionPlan(realisation="best"),
            "realisation is 'best', must be 'first' or the number of a replicate",
        ),
        (lambda: AttributePlan(""), "an attribute's name is '', must be a text that is not empty"),
        (lambda: AttributePlan("A", view=("b",)), "attribute 'A' views column 'b', which is not in its columns: A"),
        (lambda: AttributePlan("A", cut=(2, 1)), "attribute 'A': cut edges are 2, 1, must be ascending"),
        (lambda: AttributePlan("A", cut=(1, 1.0)), "attribute 'A': cut edges are 1, 1, must be ascending"),
        (lambda: AttributePlan("A", cut=(float("inf"),)), "attribute 'A': cut holds inf, must hold numbers"),
        (lambda: AttributePlan("A", cut=(1,), labels=("a",)), "attribute 'A' has 1 labels for 2 cut levels"),
        (lambda: AttributePlan("A", labels=("a",)), "attribute 'A' has labels but no cut"),
        (lambda: AttributePlan("A", cut=(1,), levels=("a",)), "attribute 'A' has both cut and levels"),
        (lambda: AttributePlan("A", cut=(1,), merge=(("x", ("a",)),)), "attribute 'A' has both cut and merge"),
        (lambda: AttributePlan("A", ("a", "b"), ("a", "b"), cut=(1,)), "attribute 'A' cuts a view of 2 columns"),
        (lambda: AttributePlan("A", merge=(("x", ()),)), "attribute 'A': merge makes 'x' of nothing"),
        (
            lambda: AttributePlan("A", merge=(("x", ("a",)), ("y", ("a",)))),
            "attribute 'A': merge uses the value 'a' more",
        ),
        (
            lambda: AttributePlan("A", levels=("y",), merge=(("x", ("a",)),)),
            "attribute 'A': merge makes 'x', which is not",
        ),
        (
            lambda: AttributePlan("A", on_missing="skip"),
            "attribute 'A': on_missing is 'skip', must be one of refuse, level",
        ),
        (
            lambda: AttributePlan("A", levels=("a", "-1"), skip=("-1",)),
            "attribute 'A': '-1' is a declared level and also",
        ),
        (lambda: AttributePlan("A", levels="ab"), "attribute 'A': levels is 'ab', must be a list"),  # type: ignore[arg-type]
        (lambda: DataPlan((AttributePlan("A"),), weight="A"), "column 'A' is claimed by attribute 'A' and by weight"),
        (
            lambda: DataPlan((AttributePlan("A"),), carry=("x",), drop=("x",)),
            "column 'x' is claimed by carry and by drop",
        ),
        (lambda: DataPlan((AttributePlan("A"),), id=""), "id is '', must be the name of one column"),
    ],
)
def test_every_check_trips(make: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        make()
    assert str(caught.value).startswith(message)
    assert caught.value.exit_code == 2


def test_reading_a_file_names_it(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text("\ufeff" + FULL, encoding="utf-8")
    assert read_plan(path) == plan_from_toml(FULL)
    path.write_text("[spase]")
    with pytest.raises(UsageError, match=r"^plan 'plan\.toml': unknown section 'spase'"):
        read_plan(path)
    path.write_bytes(b"# \xff")
    with pytest.raises(UsageError, match=r"plan 'plan\.toml' is not UTF-8 text"):
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
    edits = (EditRule(draw(texts), ((names[0], tuple(draw(st.lists(texts, min_size=1, max_size=9, unique=True)))),)),)
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


@given(plans())
def test_toml_brings_back_an_equal_plan(plan: Plan) -> None:
    assert plan_from_toml(plan_to_toml(plan)) == plan


@given(st.decimals(0, 1, places=6))
def test_a_rate_is_one_text_however_it_is_written(rate: Any) -> None:
    (text,) = SpacePlan(rates=(str(rate),)).rates
    assert SpacePlan(rates=(text, f"{rate:f}00", f"{rate:e}")).rates == (text,)
    assert float(text) == float(rate)
    assert text == "0" or not text.endswith("0")


def test_flags_replace_entries() -> None:
    plan = edit_plan(ABC, rates=["0.10"], replicates=3, rule="loose", measures=["entropy_change"], realisation="2")
    assert plan.space == SpacePlan((1, 2), rule="loose", rates=("0.1",), replicates=3)
    assert plan.measures == ("entropy_change",)
    assert plan.decision.realisation == "2"
    assert edit_plan(ABC) == ABC


def test_one_way_of_describing_the_space_replaces_the_others() -> None:
    everything = edit_plan(ABC, all_specs=True)
    assert everything.space == SpacePlan(all_specs=True)
    listed = edit_plan(everything, specs=["A:S"])
    assert (listed.space.all_specs, listed.space.specs, listed.space.swap_sizes) == (False, ("A:S",), ())
    assert edit_plan(listed, swap_sizes=[2]).space == SpacePlan((2,))
    assert edit_plan(listed, all_specs=False) == listed, "a flag that is not set asks for nothing"
    with pytest.raises(UsageError, match="described by swap_sizes and specs; choose one"):
        edit_plan(ABC, swap_sizes=[1], specs=["A:S"])
    with pytest.raises(UsageError, match="swap_sizes is empty"):
        edit_plan(ABC, swap_sizes=[])


def test_attributes_restrict_all_lists_and_carry_the_rest() -> None:
    plan = plan_from_toml(FULL.replace("[[edit]]", "[[edit]]").split("[[edit]]")[0])
    small = edit_plan(plan, attributes=["Sex", "Age"])
    assert small.names == ("Age", "Sex"), "the plan's own order, since it is part of every stream"
    assert (small.keys, small.swap, small.analyse) == (("Age", "Sex"), ("Age",), ("Age",))
    assert small.data.carry == ("note_*", "Emp")
    assert small.space.swap_sizes == (1,)
    other = edit_plan(plan, attributes=["Emp", "Sex"])
    assert other.data.carry == ("note_*", "age", "age_flag"), "all columns of the block"
    assert edit_plan(plan, attributes=["Sex"]).swap == ("Sex",), "a list that would be empty becomes all"


def test_an_attribute_that_no_list_names_any_more_is_carried() -> None:
    plan = edit_plan(ABC, keys=["A"], swap=["A"], analyse=["A", "B"])
    assert plan.names == ("A", "B")
    assert plan.data.carry == ("C",)
    assert edit_plan(ABC, keys=["A"], swap=["A"], analyse=["B"], fix=["C"]).names == ("A", "B", "C")
    assert edit_plan(ABC, swap=["A"]).names == ("A", "B", "C")
    never = plan_of("A", "B", "C", keys=("A",), swap=("A",), analyse=("B",))
    assert edit_plan(never, replicates=2).names == ("A", "B", "C"), (
        "an attribute that no list ever named stays as it was"
    )


def test_an_edit_rule_on_an_attribute_that_goes_is_refused() -> None:
    plan = plan_of("A", "B", "C", edits=(EditRule("x", (("C", ("c",)),)),))
    with pytest.raises(UsageError, match="edit rule 'x' names 'C', which would no longer be an attribute"):
        edit_plan(plan, attributes=["A", "B"])
    assert edit_plan(plan, keys=["A"], swap=["A"], analyse=["A"]).names == ("A", "C")


def test_fix_change_and_specs_follow_a_restriction() -> None:
    plan = plan_of("A", "B", "C", "D", space=SpacePlan(fix=("C",), change=("D",)))
    assert edit_plan(plan, attributes=["A", "B", "D"]).space.fix == ()
    swapped = edit_plan(plan, fix=["D"])
    assert (swapped.space.fix, swapped.space.change) == (("D",), ())
    listed = plan_of("A", "B", "C", space=SpacePlan(specs=("A:S", "B:S C:F")))
    assert edit_plan(listed, attributes=["A", "B"]).space.specs == ("A:S",)
    with pytest.raises(UsageError, match="no spec of the plan is left"):
        edit_plan(listed, attributes=["C"])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"attributes": ["A", "X"]}, "attributes names the unknown attribute 'X'. Known: A, B, C."),
        ({"attributes": []}, "attributes is empty; name at least one"),
        ({"attributes": ["A"], "keys": ["B"]}, "keys names the unknown attribute 'B'. Known: A."),
        ({"swap": []}, "swap is empty"),
        ({"fix": ["X"]}, "fix names the unknown attribute 'X'"),
        ({"swap": ["A"], "swap_sizes": [2]}, "swap size == 2, must be at most 1"),
        ({"rates": ["2"]}, "rate == 2, must be between 0 and 1."),
        ({"risk": "uniques"}, "decision risk is 'uniques'"),
        ({"max_risk": "1", "slope": "1"}, "the decision has both max_risk and slope"),
    ],
)
def test_a_wrong_flag_is_refused(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        edit_plan(ABC, **flags)
    assert str(caught.value).startswith(message)


def test_a_decision_follows_the_measures_and_one_rule_replaces_the_other() -> None:
    plan = plan_of("A", "B", decision=DecisionPlan("small_cells", "hellinger", max_risk="0.1"))
    fewer = edit_plan(plan, measures=["small_cells[n_rule=5]", "entropy_change"])
    assert (fewer.decision.risk, fewer.decision.utility) == ("small_cells", None)
    assert edit_plan(plan, slope="0.5").decision == DecisionPlan("small_cells", "hellinger", slope="0.5")
