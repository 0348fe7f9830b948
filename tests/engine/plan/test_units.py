"""The column that numbers households: proposed, and treated everywhere in a plan as the id is."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from engine.common.errors import EngineError, UsageError
from engine.data.io.readers import read_table
from engine.data.microdata import RawColumn, RawTable
from engine.plan import (
    DataPlan,
    Plan,
    PublishPlan,
    accept,
    check_plan,
    dependencies,
    plan_from_toml,
    plan_to_toml,
    propose,
)
from engine.plan.check import column_mismatches, fixes, with_column_renamed, with_use, without_column
from engine.plan.codebook import Codebook, CodebookRow, apply_codebook
from engine.plan.coding import code
from engine.plan.columns import Obstacle, find_columns, searchable
from engine.plan.edit import add_attribute, set_unit, set_use
from engine.plan.entries import AttributePlan
from engine.plan.guess import first_plan
from engine.scripting.data import described_plan

PLAN = """
[data]
unit = "hid"
id = "pid"
drop = ["income"]
[[attribute]]
name = "sex"
[[attribute]]
name = "region"
[publish]
include = ["unit"]
"""


def persons(folder: Path, name: str = "hid", *, shuffled: bool = False, text: bool = False) -> RawTable:
    """120 persons in 60 households of 1 to 3, in the order of the households unless ``shuffled``."""
    rng = np.random.default_rng(3)
    household = np.repeat(np.arange(60), np.resize([1, 2, 3], 60))
    order = rng.permutation(120) if shuffled else np.arange(120)
    lines = [f"pid,{name},sex,region,income"]
    for i, h in enumerate(household[order].tolist()):
        lines.append(f"{1000 + i},{f'h{h:03d}' if text else h + 1},{i % 2},{h % 3},{20 + rng.integers(900)}")
    path = folder / "persons.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_table(path)


@pytest.fixture
def raw(tmp_path: Path) -> RawTable:
    return persons(tmp_path)


@pytest.mark.parametrize(
    ("name", "shuffled", "text", "is_unit"),
    [
        ("hid", False, False, True),
        ("hhid", True, False, True),
        ("household", True, True, True),
        ("serial", True, False, True),
        ("number", False, False, True),  # never comes back in the file
        ("points", True, False, False),
    ],
)
def test_a_column_that_numbers_households_is_proposed_as_the_unit(
    tmp_path: Path, name: str, shuffled: bool, text: bool, is_unit: bool
) -> None:
    raw = persons(tmp_path, name, shuffled=shuffled, text=text)
    assert dependencies(raw).units == ((name,) if is_unit else ())
    assert dependencies(raw).ids == ("pid",)
    proposals = propose(raw, first_plan(raw))
    assert ("unit" in {proposal.kind for proposal in proposals}) == is_unit
    if is_unit:
        (proposal,) = [proposal for proposal in proposals if proposal.kind == "unit"]
        assert proposal.sentence == (
            f"'{name}' numbers households: a value stands for 2 records on average, and hardly any for more than 15."
        )
        assert accept(first_plan(raw), proposal).data.unit == name


def test_places_schools_and_records_are_no_households(tmp_path: Path) -> None:
    path = tmp_path / "pupils.csv"
    lines = ["school,serial,grade"]
    lines += [f"{i // 40},{i},{i % 4}" for i in range(200)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert dependencies(read_table(path)).units == ()


def test_of_household_and_family_the_household_is_the_unit_and_the_family_never_leaves(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    lines = ["famid,hid,sex,town"] + [f"{i // 2},{i // 4},{i % 2},{i % 3}" for i in range(120)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    raw = read_table(path)
    (proposal,) = [proposal for proposal in propose(raw, first_plan(raw)) if proposal.kind == "unit"]
    assert proposal.columns == ("hid", "famid") and proposal.effect.endswith("; 'famid' is dropped.")
    plan = accept(first_plan(raw), proposal)
    assert plan.data.unit == "hid" and "famid" in plan.data.drop


def test_a_unit_that_a_first_plan_took_for_the_id_becomes_the_unit(tmp_path: Path) -> None:
    raw = persons(tmp_path, text=True)
    plan = Plan(DataPlan((AttributePlan("sex"), AttributePlan("region")), id="hid", carry=("income",), drop=("pid",)))
    done = plan
    for kind in ("unit", "id"):
        (proposal,) = [proposal for proposal in propose(raw, done) if proposal.kind == kind]
        done = accept(done, proposal)
    assert (done.data.unit, done.data.id, done.data.drop) == ("hid", "pid", ())


def test_a_fix_says_that_a_new_column_numbers_households(raw: RawTable) -> None:
    plan = plan_from_toml(PLAN.replace('unit = "hid"\n', "").replace('include = ["unit"]', ""))
    (mismatch,) = column_mismatches(plan, raw)
    offered = fixes(mismatch, plan, raw)
    assert (offered[0].name, offered[0].label) == ("unit", "It numbers households")
    assert offered[0].apply(plan).data.unit == "hid"
    again = replace(plan, data=replace(plan.data, unit="income", drop=()))
    assert "unit" not in [fix.verb for fix in fixes(mismatch, again, raw)]


def test_a_codebook_names_the_unit(raw: RawTable) -> None:
    book = Codebook((CodebookRow("hid", roles=("unit",)), CodebookRow("pid", roles=("id",))))
    assert apply_codebook(raw, book).data.unit == "hid"


def test_a_unit_gives_up_its_use_and_another_column_takes_it(raw: RawTable) -> None:
    plan = plan_from_toml(PLAN.replace('include = ["unit"]', ""))
    assert set_use(plan, "hid", "drop").data.unit is None
    as_id = set_use(plan, "hid", "id").data
    assert (as_id.unit, as_id.id) == (None, "hid") and "pid" in as_id.drop
    other = set_use(plan, "income", "unit").data
    assert other.unit == "income" and "hid" in other.drop, "the old number of households is not released"
    with pytest.raises(UsageError, match="column 'hid' is the plan's unit; give that role up first"):
        add_attribute(plan, AttributePlan("hid"))


def test_a_plan_follows_a_unit_that_is_renamed_or_gone(raw: RawTable) -> None:
    plan = plan_from_toml(PLAN)
    renamed = with_column_renamed(plan, "hid", "hhid")
    assert renamed.data.unit == "hhid" and renamed.publish.include == ("unit",)
    gone = without_column(plan, "hid", raw)
    assert gone.data.unit is None and gone.publish.include == ()
    assert with_use(gone, "hid", "unit").data.unit == "hid"


def test_the_unit_is_found_and_cannot_be_an_attribute(raw: RawTable) -> None:
    (found,) = find_columns(searchable(raw), plan_from_toml(PLAN), "hid")
    assert found.obstacle is Obstacle.UNIT and found.attribute is None


def test_a_unit_that_the_file_lacks_is_refused_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("hhid,sex\n1,f\n1,m\n2,f\n", encoding="utf-8")
    raw, plan = read_table(tmp_path / "p.csv"), plan_from_toml('[data]\nunit = "hid"\n[[attribute]]\nname = "sex"\n')
    words = "unit names column 'hid', which the file lacks. Did you mean 'hhid'?"
    assert words in check_plan(plan, raw)
    with pytest.raises(UsageError) as refused:
        code(raw, plan)
    assert str(refused.value) == words


def test_what_is_released_besides_must_be_declared() -> None:
    with pytest.raises(UsageError, match="publish include names the unit, but the plan declares none"):
        plan_from_toml(PLAN.replace('unit = "hid"\n', ""))
    assert PublishPlan(include=("unit", "id")).include == ("id", "unit")


def test_scripts_name_the_unit(raw: RawTable) -> None:
    options = {"unit": "hid", "id": "pid"}
    plan = described_plan("persons.csv", raw, ("sex", "region"), None, options)  # type: ignore[arg-type]
    assert plan.data.unit == "hid" and plan.data.carry == ("income",)
    assert code(raw, plan).unit == "hid"


TOGETHER = PLAN.replace('unit = "hid"', 'unit = ["cluster", "hid"]')


def test_a_unit_of_several_columns_is_written_and_read_and_one_column_stays_a_text() -> None:
    plan = plan_from_toml(TOGETHER)
    assert plan.data.unit == plan.data.unit_columns == ("cluster", "hid")
    assert plan.data.single_uses == {"pid": "id", "cluster": "unit", "hid": "unit"}
    assert 'unit = ["cluster", "hid"]' in plan_to_toml(plan) and plan_from_toml(plan_to_toml(plan)) == plan
    alone = plan_from_toml(PLAN.replace('"hid"', '["hid"]'))
    assert alone == plan_from_toml(PLAN) and 'unit = "hid"' in plan_to_toml(alone)


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ('["hid", "hid"]', "unit names 'hid' more than once"),
        ('["hid", ""]', "unit names no column"),
        ("[]", "unit names no column"),
        ('["hid", "sex"]', "column 'sex' is claimed by attribute 'sex' and by unit"),
        ("3", "[data]: unit is 3, must be a list of texts"),
    ],
)
def test_a_unit_that_is_none_is_refused(unit: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        plan_from_toml(PLAN.replace('"hid"', unit, 1))


def test_households_are_the_combinations_of_their_columns(raw: RawTable) -> None:
    cluster = RawColumn("cluster", pa.array(["a", "b"]), (np.arange(120) % 2).astype(np.int32))
    both = replace(raw, columns={**raw.columns, "cluster": cluster})
    units, hid = code(both, plan_from_toml(TOGETHER)).units, raw.columns["hid"].codes
    assert units is not None
    expected = dict.fromkeys(zip((np.arange(120) % 2).tolist(), hid.tolist(), strict=True))
    assert len(units) == len(expected) and units.of_record[0] == 0
    same = [
        (units.of_record[i] == units.of_record[j]) == (hid[i] == hid[j] and i % 2 == j % 2)
        for i, j in [(0, 1), (1, 3), (3, 5)]
    ]
    assert all(same)
    cluster.codes[4] = -1
    with pytest.raises(EngineError, match=r"column 'cluster' has 1 missing values \(first: record 5\)"):
        _ = code(both, plan_from_toml(TOGETHER)).units


def test_a_column_of_several_that_number_households_is_renamed_replaced_or_goes(raw: RawTable) -> None:
    plan = plan_from_toml(TOGETHER)
    assert with_column_renamed(plan, "hid", "house").data.unit == ("cluster", "house")
    gone = without_column(plan, "hid", raw)
    assert gone.data.unit is None and "unit" not in gone.publish.include
    plan = replace(plan, publish=PublishPlan())
    other = set_use(plan, "income", "unit")
    assert other.data.unit == "income" and {"cluster", "hid"} <= set(other.data.drop)
    assert set_use(plan, "hid", "drop").data.unit is None
    assert set_unit(plan, ["hid", "income"]).data.unit == ("hid", "income")
    assert set_unit(other, ["cluster", "hid"]).data.unit == ("cluster", "hid")
    assert check_plan(plan, raw) == [
        "unit names column 'cluster', which the file lacks. Known: pid, hid, sex, region, income."
    ]


def test_options_name_several_columns(raw: RawTable) -> None:
    for unit in (["sex", "region"], ("sex", "region")):
        plan = described_plan(
            "file.csv",
            raw,
            None,
            None,
            {"unit": unit, "id": "pid", "drop": ["income"], "carry": [], "cut": {"hid": [9]}},
        )
        assert plan.data.unit == ("sex", "region") and plan.names == ("hid",)
