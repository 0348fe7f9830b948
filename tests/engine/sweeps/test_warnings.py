"""Warnings and remarks before a run, and their remedies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from engine.cli.main import main
from engine.data.io.readers import read_table
from engine.data.microdata import RawColumn, RawTable
from engine.plan import Plan, SpacePlan, plan_from_toml
from engine.plan.coding import code
from engine.release.space import Impossibility, ImpossibilityKind, Space
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.release.specs import PairedSpecs, Specs
from engine.sweeps.sweep import open_sweep, plan_problems, ready
from engine.sweeps.warnings import (
    PredictedFailure,
    ReleaseWarning,
    RemarkKind,
    carried_identifiers,
    failure_text,
    one_by_one,
    release_warnings,
    remark_text,
    remedies,
    space_remarks,
    torn_units,
    widest_first,
    zero_rates,
)
from tests.engine.proposals import table_of
from tests.households import CENSUS_PLAN, census_files
from tests.small_tables import Small

SMALL = Small(((0, 0, 0), (1, 1, 1)), (2, 2, 2))
SPEC, OTHER = SMALL.spec("SUU"), SMALL.spec("USU")
FIXED = Impossibility(ImpossibilityKind.ALL_OTHERS_FIXED)


def remarks_of(n: int) -> list[tuple[RemarkKind, str]]:
    """Kinds and sentences where so many specs are merged and as many impossible."""
    plan = SMALL.plan(space=SpacePlan(rates=("0.1", "0.5"), replicates=1))
    space = Space(Specs.of([SPEC]), 1, 1, PairedSpecs.of([(SPEC, OTHER)] * n), PairedSpecs.of([(SPEC, FIXED)] * n))
    return [(remark.kind, remark_text(remark)) for remark in space_remarks(plan, space, 8)]


def test_many_specs_are_counted():
    kinds = [kind for kind, _ in remarks_of(4)]
    assert [kinds.count(kind) for kind in RemarkKind] == [3, 1, 3, 1, 1, 0, 0, 0]
    texts = [text for _, text in remarks_of(1200)]
    assert "1,200 equivalent specs in all were skipped" in texts and "1,200 specs in all cannot work" in texts


def test_rates_that_round_to_zero_are_values():
    (remark,) = zero_rates(SMALL.plan(space=SpacePlan(rates=("0.1", "0.5"), replicates=1)), 8)
    assert (remark.kind, remark.rate, remark.n) == (RemarkKind.ZERO_RATE, "0.1", 8)


def test_a_predicted_failure_names_what_sets_the_bound():
    spec = ReleaseSpec(AttributeSpec(SMALL.names, "SUU"), "0.5")
    assert failure_text(PredictedFailure(spec, 260, 450, "F")) == "at most 260 pairs can differ on 'F'; 450 requested"
    assert failure_text(PredictedFailure(spec, 0, 1, "")) == "at most 0 pairs can be formed; 1 requested"


def test_remarks_on_most_candidates_come_first_and_each_once() -> None:
    assert widest_first(["9.7 % will be", "no donor", "7.6 % will be", "no donor"]) == (
        "no donor",
        "9.7 % will be",
        "7.6 % will be",
    )


START, END = CENSUS_PLAN.index("[[mechanism]]"), CENSUS_PLAN.index("[space]")
SINGLE = CENSUS_PLAN[:START] + CENSUS_PLAN[END:]
"""The plan with the random swap of single persons."""
ONLY_TOWN = SINGLE.replace('keys = ["town"', 'swap = ["town"]\nkeys = ["town"')
WORDS = (
    "'town' is the same within all 240 households; a swap of single persons would tear them apart; use mechanism 'trs'"
)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> RawTable:
    return read_table(census_files(tmp_path_factory.mktemp("census"))[0])


def torn(text: str, raw: RawTable) -> list[str]:
    plan = plan_from_toml(text)
    return [str(warning) for warning in torn_units(code(raw, plan), plan)]


def test_the_random_swap_on_a_file_with_households_is_warned_about(raw: RawTable) -> None:
    assert torn(ONLY_TOWN, raw) == [WORDS]
    names = "'region', 'town', 'hsize' and 'tenure' are the same within all 240 households; a swap of single persons"
    assert torn(SINGLE, raw)[0].startswith(names)


@pytest.mark.parametrize(
    "text",
    [
        CENSUS_PLAN,
        ONLY_TOWN.replace('unit = "hid"', 'drop = ["hid"]').replace(', "unit"]', "]"),
        SINGLE.replace('keys = ["town"', 'swap = ["sex", "age"]\nkeys = ["town"'),
    ],
)
def test_whole_households_files_without_units_and_attributes_of_persons_need_no_warning(
    raw: RawTable, text: str
) -> None:
    assert torn(text, raw) == []


def test_other_swaps_of_single_records_are_warned_about_and_redrawn_levels_are_not(raw: RawTable) -> None:
    grid = '[[mechanism]]\nname = "rds"\ns = 5\nvars = "town"\n'
    assert torn(SINGLE.replace("[space]", grid + "[space]"), raw) == [WORDS]
    assert torn(SINGLE.replace("[space]", '[[mechanism]]\nname = "pram"\n[space]'), raw) == []


def test_plan_check_sweep_and_space_say_so(raw: RawTable, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = census_files(tmp_path)[0]
    path = tmp_path / "plan.toml"
    path.write_text(ONLY_TOWN.replace("replicates = 10", "replicates = 1"), encoding="utf-8")
    assert main(["plan", "check", str(path), "--data", str(data)]) == 0
    assert f"warning: {WORDS}" in " ".join(capsys.readouterr().out.split())
    assert main(["space", str(data), "--plan", str(path)]) == 0
    assert f"warning: {WORDS}" in " ".join(capsys.readouterr().out.split())
    opened = open_sweep(raw, plan_from_toml(ONLY_TOWN), None)
    assert WORDS in map(str, opened.warnings)


def remarks(raw: RawTable, **changed: str) -> tuple[str, ...]:
    text = CENSUS_PLAN
    for name, value in changed.items():
        old = next(line for line in text.splitlines() if line.startswith(f"{name} ="))
        text = text.replace(old, f"{name} = {value}")
    return ready(raw, plan_from_toml(text)).remarks


def test_more_households_than_the_rate_says_are_told_before_the_sweep(raw: RawTable) -> None:
    (remark,) = remarks(raw, k="5")
    share, rate, all_of_them = (float(part.split()[-1]) for part in remark.split(" %")[:3])
    assert (
        remark == (f"{share:g} % of households must be swapped, rate is 10 %: {all_of_them:g} % will be") and rate == 10
    )
    assert 10 < all_of_them <= 100 and share < all_of_them
    assert remarks(raw, k="0") == ()
    assert remarks(raw, k='5\nmust = "within"') == ()
    (safe,) = remarks(raw, risk='"sex"')
    assert safe == "no household is risky; swaps are drawn by 1/count alone"


def without(raw: RawTable, n: int) -> RawTable:
    column = raw.columns["hid"]
    codes = column.codes.copy()
    codes[:n] = -1
    return replace(raw, columns={**raw.columns, "hid": replace(column, codes=codes)})


@pytest.mark.parametrize("text", [CENSUS_PLAN, SINGLE])
def test_a_record_without_household_is_refused_whatever_the_mechanism(raw: RawTable, text: str) -> None:
    assert plan_problems(plan_from_toml(text), without(raw, 3)) == [
        "column 'hid' has 3 missing values (first: record 1); every record needs a household, give persons outside "
        "households one each"
    ]


def test_a_plan_without_unit_cannot_move_households(raw: RawTable) -> None:
    plan = plan_from_toml(CENSUS_PLAN.replace('unit = "hid"', 'drop = ["hid"]').replace(', "unit"]', "]"))
    assert plan_problems(plan, raw) == ["mechanism 'trs' needs [data] unit, the column that numbers households"]


def with_column(raw: RawTable, values: list[str]) -> tuple[RawTable, Plan]:
    distinct, codes = np.unique(values, return_inverse=True)
    column = RawColumn("more", pa.array(distinct.tolist()), codes.astype(np.int32))
    plan = plan_from_toml(CENSUS_PLAN.replace('carry = ["rent"]', 'carry = ["rent", "more"]'))
    return replace(raw, columns={**raw.columns, "more": column}), plan


def test_a_column_that_tells_households_apart_is_warned_about(raw: RawTable) -> None:
    household = raw.columns["hid"].codes
    warned = carried_identifiers(code(*with_column(raw, [f"n{h}" for h in household])))
    assert [str(warning) for warning in warned] == [
        "column 'more' is carried and differs in 240 of 240 households: released as it is, it may identify them, and a "
        "public bundle with it is refused; drop it, or put classes of it into the file in its place"
    ]
    assert carried_identifiers(code(*with_column(raw, [f"{h}.5" for h in household]))) == [], "amounts differ by nature"
    person = np.arange(len(household))
    assert carried_identifiers(code(*with_column(raw, [f"n{h % 250}" for h in person]))) == [], "of persons"


N = 600
RAW = table_of(
    case=[f"c{i}" for i in range(N)],
    pay=[1 + i * 37 % N + i / 1000 for i in range(N)],
    age=[20 + i % 50 for i in range(N)],
    group=["young" if i % 50 < 25 else "old" for i in range(N)],
    sex=["f" if i * i % 7 < 3 else "m" for i in range(N)],
    work=[str(i // 3 % 4) for i in range(N)],
)
PLAN = """
[data]
carry = ["case", "pay"]
[[attribute]]
name = "age"
cut = [30]
[[attribute]]
name = "group"
[[attribute]]
name = "sex"
[[attribute]]
name = "work"
"""


def _warnings(plan: Plan, raw: RawTable = RAW) -> list[ReleaseWarning]:
    return one_by_one(release_warnings(code(raw, plan), plan))


def _labels(plan: Plan, warning: ReleaseWarning) -> list[str]:
    return [remedy.label for remedy in remedies(warning, plan, RAW)]


@pytest.mark.slow
def test_every_remedy_makes_its_warning_go() -> None:
    plan = plan_from_toml(PLAN)
    warnings = _warnings(plan)
    assert [_labels(plan, warning) for warning in warnings] == [
        ["not released", "id"],
        ["not released", "survey weight"],
        ["counted by the values of age"],
        ["one block", "group not released", "age not released"],
    ]
    for warning in warnings:
        for remedy in remedies(warning, plan, RAW):
            left = _warnings(remedy.plan)
            assert warning.what not in [other.what for other in left] and len(left) < len(warnings) + 1, remedy.label
    weighted = remedies(warnings[1], plan, RAW)[1].plan
    assert weighted.data.weight == "pay" and "pay" not in weighted.data.carry


def test_a_column_named_like_a_weight_may_first_of_all_be_the_weight() -> None:
    columns = dict(RAW.columns, wt=replace(RAW.columns["pay"], name="wt"))
    raw = replace(RAW, columns=columns)
    plan = plan_from_toml(PLAN.replace('"pay"', '"pay", "wt"'))
    warning = next(one for one in _warnings(plan, raw) if "'wt'" in one.what)
    assert [remedy.label for remedy in remedies(warning, plan, raw)] == ["survey weight", "not released"]


def test_a_finer_column_of_a_block_is_dropped_and_one_that_makes_the_levels_hands_them_over() -> None:
    block = PLAN.replace('cut = [30]\n[[attribute]]\nname = "group"', 'columns = ["age", "group"]\nview = ["group"]')
    plan = plan_from_toml(block)
    warning = next(w for w in _warnings(plan) if "is counted by" in w.what)
    assert _labels(plan, warning) == ["age not released", "counted by the values of age"]
    dropped = remedies(warning, plan, RAW)[0].plan
    assert dropped.attributes[0].columns == ("group",) and "age" in dropped.data.drop
    exact = remedies(warning, plan, RAW)[1].plan
    assert code(RAW, exact).domain.attributes[0].size == 50
    by_case = PLAN.replace('carry = ["case", "pay"]', 'carry = ["pay"]').replace(
        'name = "group"', 'name = "group"\ncolumns = ["case", "group"]\nview = ["case"]'
    )
    named = plan_from_toml(by_case)
    warning = next(w for w in _warnings(named) if "'case'" in w.what)
    other = remedies(warning, named, RAW)[0].plan
    assert other.attributes[1].view == ("group",) and "case" in other.data.drop


def test_a_remedy_that_the_plan_does_not_allow_is_left_out() -> None:
    plan = plan_from_toml(PLAN + '[[table]]\nname = "t"\nattributes = ["group", "sex"]\n')
    warning = next(w for w in _warnings(plan) if "decides" in w.what)
    assert _labels(plan, warning) == ["age not released"], "a table names 'group'"
