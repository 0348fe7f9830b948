"""A plan as TOML: every entry read, mistakes named, the same after a journey."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.plan import AttributePlan, DataPlan, DecisionPlan, Plan, SpacePlan, plan_from_toml, plan_to_toml, read_plan
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
        ("[[edit]]\nname = 'x'\nrefuse = 'yes'", "[[edit]] number 1: refuse is 'yes', must be true or false"),
        ("[[edit]]\nname = 'x'\nforbid = {A = 'a'}", "[[edit]] number 1: forbid is {'A': 'a'}, must be a table"),
        ("[[attribute]]\nname = 'A'\ncut = ['x']", "[[attribute]] number 1: cut is ['x'], must be a list of numbers"),
        ("", "the plan codes no attribute; name some, as [[attribute]] in the plan"),
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
