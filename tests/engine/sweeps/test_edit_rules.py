"""Edit rules that refuse pairs, in the candidates of a plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.data.microdata import RawTable
from engine.plan import AttributePlan, DataPlan, MechanismPlan, Plan, SpacePlan
from engine.plan.coding import code
from engine.plan.differences import plan_differences
from engine.plan.toml import plan_from_toml, plan_to_toml
from engine.release.spec import structure_of
from engine.sweeps.candidates import scenarios_of
from engine.sweeps.sweep import sweep
from tests.engine.proposals import table_of
from tests.engine.small_studies import RAW, keyed, plan_of

RULE = EditRule("never", (("A", ("v0",)), ("B", ("v1",))), refuse=True)


@pytest.mark.parametrize("rule", [RULE, EditRule("never", refuse=True, existing=("A", "B"))])
def test_a_mechanism_that_cannot_refuse_pairs_is_refused_where_it_changes_what_a_rule_names(rule: EditRule):
    plan = plan_of(edits=(rule,), mechanisms=(MechanismPlan.of("dds", {"s": 1}),))
    with pytest.raises(UsageError) as error:
        scenarios_of(plan, code(RAW, plan))
    assert str(error.value).startswith(
        "edit rule 'never' refuses pairs, which mechanism 'dds' cannot; let the rule count only (leave refuse out of "
        "its [[edit]]), or use "
    )


def test_a_mechanism_that_leaves_the_attributes_of_a_rule_alone_goes_with_it():
    plan = plan_of(edits=(RULE,), keys=("C", "D"), mechanisms=(MechanismPlan.of("dds", {"s": 1}),))
    assert len(scenarios_of(plan, code(RAW, plan))[0]) == 1


TOWN_HOMES = EditRule("homes that the town has", refuse=True, existing=("town", "dwelling"))
WAYS = {
    "trs": {"rate": "0.5", "hierarchy": "region+town", "similar": "size|size", "risk": "age", "k": "2"},
    "survey_swap": {"rate": "0.3", "swap": "dwelling", "boundary": "sex"},
    "random_swap": {},
}
"""A mechanism each that exchanges homes or towns, with parameters that leave partners enough."""


def homes() -> RawTable:
    """Two persons in each of 120 households in eight towns, of which each has two kinds of dwelling out of four."""
    rng = np.random.default_rng(4)
    town = np.arange(120) % 8
    dwelling = (town + rng.integers(0, 2, 120)) % 4
    size = rng.integers(0, 2, 120)
    of_household = {"region": town // 4, "town": town, "dwelling": dwelling, "size": size}
    persons = {"sex": rng.integers(0, 2, 240), "age": rng.integers(0, 4, 240)}
    columns = {name: np.repeat(codes, 2) for name, codes in of_household.items()} | persons
    return table_of(
        None, hid=np.repeat(np.arange(120), 2).tolist(), **{n: [f"v{c}" for c in columns[n]] for n in columns}
    )


def homes_plan(way: str, rule: EditRule) -> Plan:
    names = ("region", "town", "dwelling", "size", "sex", "age")
    by_roles = way == "random_swap"
    return Plan(
        # persons of one household would be torn apart by a swap of single ones
        DataPlan(tuple(map(AttributePlan, names)), **({"unit": "hid"} if way == "trs" else {"drop": ("hid",)})),
        edits=(rule,),
        swap=("dwelling", "sex") if by_roles else (),
        space=SpacePlan(specs=("dwelling:S", "dwelling:S sex:S"), rates=("0.2",), replicates=3)
        if by_roles
        else SpacePlan(replicates=3),
        measures=("small_cells", "hellinger", "new_combinations[attributes=dwelling+town]"),
        mechanisms=() if by_roles else (MechanismPlan.of(way, WAYS[way]),),
    )


@pytest.mark.parametrize("way", WAYS)
def test_no_record_of_a_release_holds_a_combination_that_the_original_does_not_where_a_rule_says_so(
    tmp_path: Path, way: str
):
    """And without refusing, every mechanism makes some: then both measures count them."""
    counted = {}
    for refuse in (True, False):
        plan = homes_plan(way, replace(TOWN_HOMES, refuse=refuse))
        with sweep(homes(), plan, keyed(tmp_path / f"{refuse}.study"), workers=1) as study:
            results, index = study.runs.results(), study.subject.measure_index
            assert study.original["edit_failures"] == 0 and (results.changed > 0).all()
            failures = results.values[:, index("edit_failures")]
            assert (failures == results.values[:, index("new_combinations[attributes=dwelling+town]")]).all()
            counted[refuse] = failures
    assert not counted[True].any() and counted[False].all()


def test_a_stream_names_what_an_existing_rule_looks_at():
    """Two rules that refuse other pairs must not share their draws' names with each other."""
    data = code(homes(), homes_plan("random_swap", TOWN_HOMES))
    spec = scenarios_of(homes_plan("random_swap", TOWN_HOMES), data)[0][0]
    other = replace(data.domain, refusing=(replace(TOWN_HOMES, existing=("size", "dwelling")),))
    parts = [structure_of(spec, replace(data.table, domain=d)).stream_parts(d) for d in (data.domain, other)]
    assert parts[0] != parts[1] and parts[0][-2] == (("town", "dwelling"),)


@pytest.mark.parametrize("existing", [("dwelling",), ("town", "town"), ("town", "nowhere")])
def test_an_existing_rule_names_two_attributes_or_more(existing: tuple[str, ...]):
    with pytest.raises(UsageError, match=r"one attribute|more than once|unknown attribute"):
        homes_plan("trs", EditRule("r", existing=existing))


def test_a_rule_forbids_levels_or_what_does_not_exist_but_not_both():
    with pytest.raises(UsageError, match="has both forbid and existing; make two rules of it"):
        homes_plan("trs", EditRule("r", (("town", ("v1",)),), existing=("town", "dwelling")))


def test_an_existing_rule_is_written_read_and_said():
    plan = homes_plan("trs", TOWN_HOMES)
    assert plan_from_toml(plan_to_toml(plan)).edits == (TOWN_HOMES,)
    difference = plan_differences(plan, replace(plan, edits=()))["edits"].words
    assert "never a new combination of town × dwelling; no swap may make it" in difference
