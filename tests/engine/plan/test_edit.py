"""A plan is changed: entries, roles, uses, levels and names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from datasets.make_survey import survey
from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.data.microdata import ColumnLabels, RawColumn, RawTable
from engine.mechanisms import MECHANISMS
from engine.plan import (
    AnalysisPlan,
    AttributePlan,
    DataPlan,
    DecisionPlan,
    MechanismPlan,
    Plan,
    SpacePlan,
    TablePlan,
    accept,
    dependencies,
    edit_plan,
    first_plan,
    plan_from_toml,
    propose,
)
from engine.plan.coding import code, key_table
from engine.plan.edit import (
    add_attribute,
    could_be,
    extended_plan,
    led_by,
    merge_levels,
    set_roles,
    set_use,
    split_levels,
    viewed_by,
    with_attributes_renamed,
    writable_name,
    writable_names,
)
from engine.plan.entries import NAMING
from engine.plan.propose import accept_all
from tests.engine.plans import ABC, FULL, plan_of
from tests.engine.proposals import table_of


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


@pytest.mark.parametrize(("idle", "needed"), [({"budget": 5}, "search"), ({"screen": 2}, "adaptive or search")])
def test_an_entry_that_the_space_makes_no_use_of_is_refused(idle, needed) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(idle))} has no effect without {needed}; give both or leave"):
        edit_plan(ABC, **idle)


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
    with pytest.raises(UsageError, match="edit rule 'x' uses 'C', which would no longer be an attribute"):
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


@pytest.mark.parametrize(
    ("use", "flags"),
    [
        ({"carry": ("Age",)}, {"keys": ["A", "Age"]}),
        ({"carry": ("Ag*",)}, {"swap": ["Age"]}),
        ({"drop": ("Age",)}, {"analyse": ["Age"]}),
        ({"weight": "Age"}, {"attributes": ["A", "Age"]}),
    ],
)
def test_a_column_of_another_use_that_is_named_as_attribute_is_told_how(
    use: dict[str, Any], flags: dict[str, Any]
) -> None:
    data = DataPlan((AttributePlan("A"), AttributePlan("B")), **use)
    plan = Plan(data)
    told = rf'names column .Age., .* under {next(iter(use))}; .*\[\[attribute\]\] with name = "Age"'
    with pytest.raises(UsageError, match=told):
        edit_plan(plan, **flags)
    role = next(iter(flags))
    if role != "attributes":
        with pytest.raises(UsageError, match=told):
            Plan(data, **flags)


def test_a_decision_follows_the_measures_and_one_rule_replaces_the_other() -> None:
    plan = plan_of("A", "B", decision=DecisionPlan("small_cells", "hellinger", max_risk="0.1"))
    fewer = edit_plan(plan, measures=["small_cells[n_rule=5]", "entropy_change"])
    assert (fewer.decision.risk, fewer.decision.utility) == ("small_cells", None)
    assert edit_plan(plan, slope="0.5").decision == DecisionPlan("small_cells", "hellinger", slope="0.5")


def test_an_entry_that_no_plan_has_is_a_fault_of_the_caller() -> None:
    with pytest.raises(TypeError, match="no entry 'swaps'"):
        edit_plan(ABC, swaps=["A"])  # type: ignore[call-arg]


def test_an_attribute_that_a_mechanism_names_does_not_go_but_with_it() -> None:
    plan = edit_plan(ABC, mechanisms=[MechanismPlan.of("pram", {"vars": "C"})])
    with pytest.raises(UsageError, match="mechanism 'pram' uses 'C', which would no longer be an attribute; keep it"):
        edit_plan(plan, attributes=["A", "B"])
    assert edit_plan(plan, keys=["A"], swap=["A"], analyse=["A"]).names == ("A", "C")
    assert edit_plan(plan, attributes=["A", "B"], mechanisms=[MechanismPlan("random_swap")]).names == ("A", "B")


OF_COLUMNS = {"y", "log", "cols"}  # parameters that name columns of numbers
PLAN = Plan(
    DataPlan(
        (AttributePlan("pay [EUR]", cut=(1.0,), labels=("low", "high")), AttributePlan("sex"), AttributePlan("work"))
    ),
    keys=("pay [EUR]", "sex"),
    swap=("pay [EUR]",),
    edits=(EditRule("no", (("pay [EUR]", ("high",)), ("work", ("none",)))),),
    space=SpacePlan(specs=("pay [EUR]:S sex:F",), fix=("sex",)),
    analyses=(AnalysisPlan("m", 'Q("pay [EUR]_raw") ~ C(Q("pay [EUR]"), Treatment("sex")) + sex', by=("work",)),),
    tables=(TablePlan("t", ("pay [EUR]", "sex")),),
)


def test_a_renamed_attribute_is_renamed_wherever_the_plan_names_it() -> None:
    plan = with_attributes_renamed(PLAN, {"pay [EUR]": "pay_EUR"})
    part = plan.attributes[0]
    assert (part.name, part.columns, part.view, part.cut) == ("pay_EUR", ("pay [EUR]",), ("pay [EUR]",), (1.0,))
    assert (plan.keys, plan.swap, plan.analyse) == (("pay_EUR", "sex"), ("pay_EUR",), ("pay_EUR", "sex", "work"))
    assert plan.edits[0].forbid[0] == ("pay_EUR", ("high",)) and plan.tables[0].attributes == ("pay_EUR", "sex")
    assert plan.space.specs == ("pay_EUR:S sex:F",)
    assert plan.analyses[0].formula == 'pay_EUR_raw ~ C(pay_EUR, Treatment("sex")) + sex'
    assert with_attributes_renamed(plan, {"pay_EUR": "pay [EUR]"}).data == PLAN.data


def test_measures_and_mechanisms_follow_a_renamed_attribute_and_keep_what_only_looks_like_it() -> None:
    measures = ("hellinger[attributes=sex+work]", "l_diversity[target=sex;diversity=distinct]", "small_cells")
    exchange = MechanismPlan.of("trs", {"hierarchy": "work", "must": ["within"], "similar": ["sex|sex+work"]})
    near = MechanismPlan.of("random_swap", {"near": "work:1+sex:2", "lean": "1"})
    plan = replace(PLAN, measures=measures, decision=DecisionPlan(risk=measures[1]), mechanisms=(exchange, near))
    named = with_attributes_renamed(plan, {"sex": "gender", "work": "within"})
    assert named.measures == (
        "hellinger[attributes=gender+within]",
        "l_diversity[target=gender;diversity=distinct]",
        "small_cells",
    )
    assert named.decision.risk == named.measures[1] and named.space.fix == ("gender",)
    assert dict(named.mechanisms[0].grid) == {
        "hierarchy": ("within",),
        "must": ("within",),
        "similar": ("gender|gender+within",),
    }
    assert dict(named.mechanisms[1].grid) == {"near": ("within:1+gender:2",), "lean": ("1",)}
    assert named.analyses[0].by == ("within",) and named.analyses[0].formula.endswith('Treatment("sex")) + gender')


def test_a_matrix_that_names_a_renamed_attribute_is_refused() -> None:
    plan = replace(PLAN, mechanisms=(MechanismPlan.of("pram", {"matrix": '{"sex": [[1, 0], [0, 1]]}'}),))
    with pytest.raises(UsageError, match="the matrix of mechanism 'pram' names 'sex'"):
        with_attributes_renamed(plan, {"sex": "gender"})
    assert with_attributes_renamed(plan, {"work": "job"}).mechanisms == plan.mechanisms


def test_every_parameter_of_a_mechanism_that_names_attributes_is_known() -> None:
    named = {p.name for name in MECHANISMS for p in MECHANISMS.find(name).parameters if p.kind == "names"}
    assert named - OF_COLUMNS <= set(NAMING)


@pytest.mark.parametrize(
    ("name", "proposed"), [("a[b]", "a_b"), ("c;d", "c_d"), ("[+]", "attribute"), ("x, y=[1]", "x_y_1")]
)
def test_a_writable_name_is_proposed(name: str, proposed: str) -> None:
    assert writable_name(name, ()) == proposed


def test_new_names_differ_from_each_other_and_from_those_there_are() -> None:
    plan = Plan(DataPlan(tuple(map(AttributePlan, ("a,b", "a;b", "a_b")))))
    assert writable_names(plan) == {"a,b": "a_b_2", "a;b": "a_b_3"}


def test_names_that_no_measure_can_hold_are_proposed_and_accepted_all_at_once() -> None:
    values = ["1", "2", "3", "4", "5", "1"]
    columns: dict[str, Any] = {"a,b": values, "c=d": values[::-1], "e": ["x", "y"] * 3}
    raw = table_of(**columns)
    plan = Plan(DataPlan(tuple(map(AttributePlan, raw.names))))
    found = [proposal for proposal in propose(raw, plan) if proposal.kind == "name"]
    assert [proposal.new_name for proposal in found] == ["a_b", "c_d"]
    assert "No measure can name the attribute 'a,b'" in found[0].sentence
    one = accept(plan, found[1])
    assert one.names == ("a,b", "c_d", "e") and one.attributes[1].columns == ("c=d",)
    done = accept_all(raw, plan, dependencies(raw), lambda proposal: proposal.kind == "name")
    assert done.plan.names == ("a_b", "c_d", "e") and not done.refused
    assert not [proposal for proposal in propose(raw, done.plan) if proposal.kind == "name"]
    assert accept(done.plan, found[0]) == done.plan


LABELS = {"work": ColumnLabels(values=(("1", "paid"), ("2", "unpaid"), ("3", "none")))}


def table(**columns: list[object]) -> RawTable:
    raw = {}
    for name, values in columns.items():
        coded = pa.array(values).dictionary_encode()
        raw[name] = RawColumn(name, coded.dictionary, coded.indices.to_numpy(), LABELS.get(name, ColumnLabels()))
    return RawTable(raw, len(next(iter(columns.values()))), "test")


RAW = table(
    sex=["m", "f"] * 30,
    region=["n", "e", "s", "w", "n", "n"] * 10,
    work=[1, 2, 3] * 20,
    income=[1000.5 + 7 * i for i in range(60)],
)
PLAN_RESHAPE = first_plan(RAW)


def test_roles_leave_the_rest_carried_and_take_it_back() -> None:
    assert PLAN_RESHAPE.names == ("sex", "region", "work") and could_be(RAW, PLAN_RESHAPE) == ()
    few = set_roles(RAW, PLAN_RESHAPE, keys=["sex"], swap=["region"], analyse=["sex", "region"])
    assert few.names == ("sex", "region") and "work" in few.data.carry
    assert (few.keys, few.swap, few.analyse) == (("sex",), ("region",), ("sex", "region"))
    assert could_be(RAW, few) == ("work",)
    again = set_roles(RAW, few, keys=["sex", "work"], swap=["region"], analyse=["sex"])
    assert again.keys == ("sex", "work") and "work" not in again.data.carry
    assert again.attributes[-1].levels == ("paid", "unpaid", "none")
    assert code(RAW, again).domain.names == ("sex", "region", "work")


BLOCKS = table(
    births=[0, 1, 2, 3, -1, -1] * 10,
    sex=["f", "f", "f", "f", "m", "m"] * 10,
    work=[1, 2, 3] * 20,
    years=list(range(60)),
)
JOINED = Plan(
    DataPlan((AttributePlan("births", columns=("births", "sex", "years"), levels=("-1", "0", "1", "2", "3")),)),
    decision=DecisionPlan(risk="attribution[by=births]"),
    measures=("attribution[by=births]", "hellinger"),
)


def test_a_column_of_a_block_that_is_chosen_gives_it_name_and_levels() -> None:
    plan = Plan(replace(JOINED.data, carry=("work",)), measures=JOINED.measures, decision=JOINED.decision)
    assert could_be(BLOCKS, plan) == ("sex", "work")
    made = set_roles(BLOCKS, plan, keys=["sex", "work"], swap=["sex"], analyse=["work"])
    assert made.attributes[0] == AttributePlan("sex", ("births", "sex", "years"), ("sex",), levels=("f", "m"))
    assert made.names == ("sex", "work") and could_be(BLOCKS, made) == ("births",)
    assert made.measures[0] == made.decision.risk == "attribution[by=sex]"
    assert code(BLOCKS, made).domain.attributes[0].levels == ("f", "m")
    assert led_by(BLOCKS, made, ["sex", "work"]) == made


@pytest.mark.parametrize(
    ("names", "more", "said"),
    [
        (["births", "sex"], {}, "'births' and 'sex' move together as one block"),
        (["years"], {}, "column 'years' has too many values"),
        (["sex"], {"tables": (TablePlan("t", ("births",)),)}, "table 't' uses 'births', which would become part of"),
        (["sex"], {"edits": (EditRule("r", (("births", ("-1",)),)),)}, "edit rule 'r' uses 'births'"),
    ],
)
def test_a_block_that_cannot_be_led_by_a_column_says_why(names: list[str], more: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        led_by(BLOCKS, replace(JOINED, **more), names)


@pytest.mark.slow
def test_each_column_that_is_chosen_of_a_wide_file_keeps_its_name_and_levels() -> None:
    raw, _ = survey(1500)
    first = first_plan(raw)
    joined = accept_all(raw, first, dependencies(raw), lambda proposal: proposal.certain).plan
    offered = [name for name in could_be(raw, joined) if any(name in a.columns for a in joined.attributes)]
    assert {"female", "agegrp", "educ4", "employed"} < set(offered)
    own = {part.name: part.levels for part in first.attributes}
    for name in offered:
        made = set_roles(raw, joined, keys=[name], swap=[name], analyse=[name])
        assert made.names == (name,) and made.attributes[0].levels == own[name]
        assert len(made.attributes[0].columns) > 1


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        ({"keys": []}, "no attribute is chosen for keys"),
        ({"keys": ["income"]}, "too many values"),
        ({"keys": ["six"]}, "'six' is no attribute"),
        ({"analyse": ["sex"]}, "table 'two' uses 'region'"),
    ],
)
def test_roles_that_cannot_be(roles: dict[str, list[str]], said: str) -> None:
    plan = Plan(PLAN_RESHAPE.data, tables=(TablePlan("two", ("sex", "region")),))
    with pytest.raises(UsageError, match=said):
        set_roles(RAW, plan, **{"keys": ["sex"], "swap": ["sex"], "analyse": ["sex", "region"], **roles})


def test_roles_do_not_silently_take_an_edit_rule_along() -> None:
    plan = Plan(PLAN_RESHAPE.data, edits=(EditRule("odd", (("work", ("none",)),)),))
    with pytest.raises(UsageError, match="edit rule 'odd'"):
        set_roles(RAW, plan, keys=["sex"], swap=["sex"], analyse=["sex"])


def test_a_carried_number_becomes_an_attribute_by_its_cut() -> None:
    plan = add_attribute(PLAN_RESHAPE, AttributePlan("income", cut=(1100, 1300)))
    assert plan.names[-1] == "income" and "income" not in plan.data.carry
    assert "income" in plan.keys and "income" in plan.swap and "income" in plan.analyse
    with pytest.raises(UsageError, match="belongs to the attribute 'income'"):
        add_attribute(plan, AttributePlan("again", ("income",)))
    with pytest.raises(UsageError, match="the plan's weight; give that role up first"):
        add_attribute(Plan(DataPlan(PLAN_RESHAPE.attributes, weight="income")), AttributePlan("income", cut=(1,)))


def test_merging_makes_fewer_levels_and_keeps_every_record() -> None:
    part = PLAN_RESHAPE.attributes[1]
    merged = merge_levels(part, RAW, ["e", "w"], "other")
    assert merged.levels == ("other", "n", "s")
    plan = Plan(DataPlan((PLAN_RESHAPE.attributes[0], merged)))
    before, after = key_table(RAW, Plan(DataPlan(PLAN_RESHAPE.attributes[:2]))), key_table(RAW, plan)
    assert (before.cells, after.cells) == (5, 4)
    assert dict(after.levels["region"]) == {"other": 20, "n": 30, "s": 10}
    twice = merge_levels(merged, RAW, ["s", "n"], "other")
    assert twice.levels == ("other",) and set(dict(twice.merge)["other"]) == {"e", "s", "w", "n"}
    assert split_levels(twice, RAW) == part


def test_merging_labelled_values_keeps_their_codes() -> None:
    part = PLAN_RESHAPE.attributes[2]
    merged = merge_levels(part, RAW, ["unpaid", "none"], "not paid")
    assert dict(merged.merge) == {"paid": ("1",), "not paid": ("2", "3")} and merged.levels == ("paid", "not paid")
    assert split_levels(merged, RAW) == part


@pytest.mark.parametrize(
    ("levels", "into", "said"),
    [
        (["e"], "x", "at least two"),
        (["e", "e"], "x", "at least two"),
        (["e", "s"], "  ", "needs a name"),
        (["e", "q"], "x", "no level 'q'"),
    ],
)
def test_merges_that_cannot_be(levels: list[str], into: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        merge_levels(PLAN_RESHAPE.attributes[1], RAW, levels, into)


def test_a_cut_is_not_merged() -> None:
    with pytest.raises(UsageError, match="change its edges"):
        merge_levels(AttributePlan("income", cut=(1100,)), RAW, ["<1100", ">=1100"], "all")
    with pytest.raises(UsageError, match="several columns"):
        merge_levels(AttributePlan("two", ("sex", "region"), ("sex", "region")), RAW, ["a", "b"], "all")


def test_a_block_is_viewed_by_another_of_its_columns() -> None:
    part = AttributePlan("where", ("region", "work", "income"), levels=("n", "e", "s", "w"))
    seen = viewed_by(part, RAW, "work")
    assert (seen.name, seen.columns, seen.view) == ("where", part.columns, ("work",))
    assert seen.levels == ("paid", "unpaid", "none") and viewed_by(seen, RAW, "work") is seen
    assert viewed_by(part, RAW, "income").levels == ()
    with pytest.raises(UsageError, match="not in the block"):
        viewed_by(part, RAW, "sex")


def test_a_column_gets_another_use() -> None:
    plan = set_use(PLAN_RESHAPE, "income", "weight")
    assert plan.data.weight == "income" and "income" not in plan.data.carry
    moved = set_use(plan, "region", "weight")
    assert moved.data.weight == "region" and "income" in moved.data.carry and moved.names == ("sex", "work")
    named = set_use(set_use(plan, "work", "id"), "region", "id")
    assert (named.data.id, named.data.drop, named.names) == ("region", ("work",), ("sex",))
    dropped = set_use(plan, "income", "drop")
    assert dropped.data.weight is None and dropped.data.drop == ("income",)
    block = AttributePlan("where", ("region", "work"), view=("region",))
    joined = Plan(DataPlan((PLAN_RESHAPE.attributes[0], block), carry=("income",)))
    assert set_use(joined, "work", "drop").attributes[1].columns == ("region",)
    with pytest.raises(UsageError, match="'region' makes the levels of 'where'"):
        set_use(joined, "region", "drop")
    code(RAW, moved), code(RAW, named), code(RAW, dropped)


RDS, PRAM, PUBLISHED = (MechanismPlan(name) for name in ("rds", "pram", "random_swap"))


@pytest.mark.parametrize(
    ("old", "new", "both"),
    [
        ((), (), ()),
        ((), (RDS,), (PUBLISHED, RDS)),
        ((), (RDS, PUBLISHED), (RDS, PUBLISHED)),
        ((RDS,), (PRAM, RDS), (RDS, PRAM)),
        ((RDS,), (), (RDS,)),
    ],
)
def test_a_plan_is_extended_by_its_mechanisms_the_random_swap_being_that_of_a_plan_without_any(
    old: tuple[MechanismPlan, ...], new: tuple[MechanismPlan, ...], both: tuple[MechanismPlan, ...]
) -> None:
    data = DataPlan((AttributePlan("A"), AttributePlan("B")))
    before, after = Plan(data, mechanisms=old), Plan(data, mechanisms=new)
    before = replace(before, space=replace(before.space, rates=("0.1",), swap_sizes=(1,)))
    after = replace(after, space=replace(after.space, rates=("0.02", "0.1"), swap_sizes=(2,)))
    made = extended_plan(before, after)
    assert made.mechanisms == both
    assert (made.space.rates, made.space.swap_sizes) == (("0.02", "0.1"), (1, 2))
