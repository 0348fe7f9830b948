"""The column that numbers households: proposed, and treated everywhere in a plan as the id is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.common.errors import UsageError
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.plan import DataPlan, Plan, PublishPlan, accept, check_plan, dependencies, plan_from_toml, propose
from engine.plan.adapt import with_column_renamed, with_use, without_column
from engine.plan.attribute import AttributePlan
from engine.plan.check import column_mismatches
from engine.plan.codebook import Codebook, CodebookRow, apply_codebook
from engine.plan.column_search import Obstacle, find_columns, searchable
from engine.plan.fixes import fixes
from engine.plan.guess import first_plan
from engine.plan.recode import code
from engine.plan.reshape import add_attribute, set_use
from engine.scripting.options import described_plan

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
