"""Proposals: what hangs together is found exactly, what only seems to is not, and accepted plans keep records whole."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.bundle import export
from engine.datasets import load
from engine.errors import EngineError, UsageError
from engine.io.labelled_writers import write_sav
from engine.io.readers import read_table
from engine.io.recode import code
from engine.labels import ColumnLabels
from engine.microdata import EditRule, RawColumn, RawTable
from engine.plan import (
    AnalysisPlan,
    AttributePlan,
    DataPlan,
    Dependencies,
    Link,
    Plan,
    Proposal,
    SpacePlan,
    TablePlan,
    accept,
    check_plan,
    dependencies,
    edit_plan,
    first_plan,
    plan_from_toml,
    plan_to_toml,
    propose,
)
from engine.study import Study
from engine.survey import N_COLUMNS, Truth, survey
from engine.sweep import sweep
from tests.engine.io.labelled import arrays_of, columns_of, labels_of
from tests.examples import examples

RNG = np.random.default_rng(5)
MOST_DECISIONS = 25
MOST_FALSE = 5


def table_of(labels: dict[str, ColumnLabels] | None = None, **columns: Any) -> RawTable:
    raw = {}
    for name, values in columns.items():
        coded = pa.array(values).dictionary_encode()
        codes = coded.indices.fill_null(-1).to_numpy()
        raw[name] = RawColumn(name, coded.dictionary, codes, (labels or {}).get(name, ColumnLabels()))
    return RawTable(raw, len(next(iter(columns.values()))), "test")


@cache
def made(n: int = 12_000) -> tuple[RawTable, Truth, Dependencies]:
    table, truth = survey(n)
    return table, truth, dependencies(table)


@cache
def first_plan_of(n: int) -> Plan:
    return first_plan(made(n)[0])


def blocks(proposals: list[Proposal], kinds: tuple[str, ...] = ("block",)) -> list[set[str]]:
    return [set(p.columns) for p in proposals if p.kind in kinds]


def together(pairs: list[tuple[str, str]]) -> list[set[str]]:
    """Columns that hang together by some chain of pairs."""
    groups: list[set[str]] = []
    for pair in pairs:
        hit = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if group not in hit] + [set(pair).union(*hit)]
    return groups


def test_the_survey_has_what_it_says() -> None:
    table, truth, _ = made()
    assert len(table.columns) == N_COLUMNS
    assert len(truth.recodes) >= 30
    assert len(truth.skips) >= 10
    again, _ = survey()
    assert again.content_digest() == table.content_digest()
    values = columns_of(table)
    for source, recode in truth.recodes:
        assert len(set(zip(values[source], values[recode], strict=True))) == len(set(values[source])), (source, recode)
    for gate, closed, skipped in truth.skips:
        for name in skipped:
            assert all((g in closed) == (v == -1) for g, v in zip(values[gate], values[name], strict=True)), name


@pytest.mark.parametrize("n", [2_000, 12_000])
def test_recodes_of_the_survey_are_proposed(n: int) -> None:
    table, truth, found = made(n)
    proposed = blocks(propose(table, None, found))
    hit = [pair for pair in truth.recodes if any(set(pair) <= block for block in proposed)]
    assert len(hit) >= 0.95 * len(truth.recodes), sorted(set(truth.recodes) - set(hit))
    true = together([*truth.recodes, *truth.flags, *truth.same])
    pairs = {pair for block in proposed for pair in combinations(sorted(block), 2)}
    false = [pair for pair in pairs if not any(set(pair) <= group for group in true)]
    assert len(false) <= MOST_FALSE, false


def test_skips_and_roles_of_the_survey_are_proposed() -> None:
    table, truth, found = made()
    proposals = propose(table, None, found)
    skips = [p for p in proposals if p.kind == "skip"]
    assert len(skips) == len(truth.skips)
    for _, _, names in truth.skips:
        (skip,) = [p for p in skips if set(names) <= set(p.columns)]
        assert {link.code for link in skip.links} == {"-1"}
    by_kind = {p.kind: p for p in proposals}
    assert set(by_kind["id"].columns) == set(truth.ids)
    assert set(by_kind["weight"].columns) == set(truth.weights)
    assert by_kind["weight"].columns[0] == "wt_final"
    assert set(by_kind["constant"].columns) == set(truth.constant)
    assert set(by_kind["missing"].columns) == set(truth.missing)
    assert dict(by_kind["missing"].codes)["race"] == ("-8", "-9"), "and not the code of a valid skip"
    assert len({proposal.key for proposal in proposals}) == len(proposals)
    for proposal in proposals:
        assert proposal.sentence.endswith(".")
        assert proposal.effect.endswith(".")
        assert proposal.key.startswith(proposal.kind)


def decide(table: RawTable, attributes: list[str], found: Dependencies) -> tuple[Plan, int]:
    """What a person does on the way from a file to a plan, and in how many decisions."""
    plan, decisions = first_plan(table), 0
    for kind in ("id", "weight", "missing", "constant"):
        for proposal in [p for p in propose(table, plan, found) if p.kind == kind]:
            plan, decisions = accept(plan, proposal), decisions + 1
    plan, decisions = edit_plan(plan, attributes=attributes), decisions + 1
    while waiting := propose(table, plan, found):
        plan, decisions = accept(plan, waiting[0]), decisions + 1
    return plan, decisions


CHOSEN = ["sex", "agegrp", "race4", "marital3", "educ4", "region", "employed", "n_kids"]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RawTable, Plan, int]:
    """From a file to a frontier."""
    folder = tmp_path_factory.mktemp("survey")
    drawn = made(2_000)[0]
    write_sav(folder / "survey.sav", arrays_of(drawn), labels_of(drawn))
    table = read_table(folder / "survey.sav")
    plan, decisions = decide(table, CHOSEN, dependencies(table))
    plan = edit_plan(plan, keys=["sex", "agegrp", "race4", "region"], rates=["0.2"], replicates=1, swap_sizes=[2])
    decisions += 3  # keys, how many attributes to swap, rates
    sweep(table, plan, folder / "s.study", workers=1).close()
    return folder, table, plan, decisions


def test_from_file_to_frontier_in_few_decisions(swept: tuple[Path, RawTable, Plan, int]) -> None:
    folder, table, plan, decisions = swept
    assert decisions <= MOST_DECISIONS
    assert check_plan(plan, table) == []
    assert plan_from_toml(plan_to_toml(plan)) == plan
    levels = {a.name: a.levels for a in code(table, plan).domain.attributes}
    assert levels["sex"] == ("Male", "Female"), "the file's labels"
    assert levels["race4"] == ("A", "B", "C", "Other", "missing")
    kinds = code(table, plan).domain.attributes[plan.names.index("n_kids")].kinds
    assert kinds.count("skip") == 1
    with Study.open(folder / "s.study") as study:
        assert len(study.scenarios) == 28


@pytest.mark.slow
def test_no_exported_row_breaks_a_block(swept: tuple[Path, RawTable, Plan, int], tmp_path: Path) -> None:
    folder, table, plan, _ = swept
    truth = made(2_000)[1]
    original = columns_of(table)
    related = [(source, recode) for source, recode in [*truth.recodes, *truth.same]]
    related += [(gate, name) for gate, _, names in truth.skips for name in names]
    with Study.open(folder / "s.study") as study:
        for place, scenario in enumerate(study.scenarios[::9]):
            out = export(study, table, scenario.label, tmp_path / str(place))
            released = next(
                columns_of(file)
                for file in map(read_table, sorted(out.rglob("*.parquet")))
                if {"sex", "psu"} <= set(file.names)
            )
            for attribute in plan.attributes:
                was = set(zip(*(original[c] for c in attribute.columns), strict=True))
                assert set(zip(*(released[c] for c in attribute.columns), strict=True)) <= was
            for a, b in related:
                was = set(zip(original[a], original[b], strict=True))
                assert set(zip(released[a], released[b], strict=True)) <= was, (a, b)
            whole = [Counter(zip(*(rows[c] for c in released), strict=True)) for rows in (original, released)]
            assert whole[0] != whole[1], "something was swapped"


def test_the_sample_s_own_plan_is_what_proposals_lead_to() -> None:
    table, _, found = made()
    plan = load("survey")[1]
    assert propose(table, plan, found) == []
    again, _ = decide(table, list(plan.names), found)
    assert {a.name: set(a.columns) for a in again.attributes} == {a.name: set(a.columns) for a in plan.attributes}


# What must not be proposed


def test_noise_gives_no_proposal() -> None:
    columns = {}
    for i in range(40):
        levels = (2, 3, 5, 10, 50, 200, 1000)[i % 7]
        columns[f"c{i}"] = RNG.choice(levels, 3000, p=RNG.dirichlet(np.full(levels, (0.05, 1)[i % 2]))).tolist()
    assert blocks(propose(table_of(**columns)), ("block", "skip")) == []


@pytest.mark.parametrize("n", [40, 300])
def test_small_files_give_no_accidents(n: int) -> None:
    columns = {f"c{i}": RNG.choice((2, 3, 5, 20)[i % 4], n).tolist() for i in range(30)}
    assert blocks(propose(table_of(**columns)), ("block", "skip")) == []


def test_ids_and_exact_weights_decide_nothing() -> None:
    n = 2000
    region, sex = RNG.integers(0, 4, n), RNG.integers(0, 2, n)
    weight = np.array([1.25, 2.5, 3.75, 0.5, 1.75, 4.5, 0.25, 2.25])[region * 2 + sex]
    household = np.repeat(np.arange(n // 2), 2)
    table = table_of(
        hhid=household.tolist(),
        serial=(np.arange(n) + 5).tolist(),
        wt=weight.tolist(),
        region=region[household * 2].tolist(),
        sex=sex.tolist(),
    )
    found = dependencies(table)
    assert found.ids == ("hhid", "serial")
    assert found.weights == ("wt",)
    assert found.recodes == found.same == ()


def test_a_body_weight_is_no_survey_weight() -> None:
    kg = RNG.integers(40, 140, 500).tolist()
    table = table_of({"weight": ColumnLabels("Body weight (kg)")}, weight=kg, weight_lbs=kg, wt=kg)
    assert dependencies(table).weights == ("wt",)


def test_a_rare_value_is_no_evidence() -> None:
    a = RNG.integers(0, 20, 1000)
    rare = (a == 3) & (np.cumsum(a == 3) <= 5)
    b = np.where(rare, 1, 0)
    a[(a == 3) & ~rare] = 4
    assert dependencies(table_of(a=a.tolist(), b=b.tolist())).recodes == ()


# What must be


def test_recodes_flags_and_doubles_make_blocks() -> None:
    age = RNG.integers(0, 90, 3000)
    table = table_of(
        age=age.tolist(),
        group=(age // 30).tolist(),
        label=[f"a{x}" for x in age],
        imp_age=RNG.integers(0, 2, 3000).tolist(),
        other=RNG.integers(0, 5, 3000).tolist(),
    )
    (block,) = propose(table)
    assert block.columns == ("age", "label", "group", "imp_age")
    assert set(block.links) == {
        Link("label", "age", "same"),
        Link("group", "age", "recode"),
        Link("imp_age", "age", "flag"),
    }
    assert "'age' decides 'group'" in block.sentence


def test_a_measurement_is_cut_by_its_groups_only_in_intervals() -> None:
    pay = RNG.permutation(np.arange(10_000, 40_000, 10)) + 0.5
    table = table_of(pay=pay.tolist(), band=(pay // 10_000).tolist(), parity=(pay // 10 % 2).tolist())
    assert dependencies(table).recodes == (("pay", "band"),), "every pay is there once, so it decides all: no evidence"


def test_empty_values_show_a_skip() -> None:
    asked = RNG.integers(0, 3, 1000)
    hours = [int(h) if a == 1 else None for h, a in zip(RNG.integers(1, 60, 1000), asked, strict=True)]
    table = table_of(asked=asked.tolist(), hours=hours, text=["" if h is None else f"t{h % 5}" for h in hours])
    (skip,) = [p for p in propose(table) if p.kind == "skip"]
    assert skip.columns == ("asked", "hours", "text")
    assert {(link.column, link.code) for link in skip.links} == {("hours", None), ("text", "")}
    assert set(skip.links[0].values) == {"0", "2"}
    plan = accept(Plan(DataPlan((AttributePlan("text"), AttributePlan("asked")), carry=("hours",))), skip)
    assert plan.names == ("asked",)
    text = accept(Plan(DataPlan((AttributePlan("text"),), carry=("hours", "asked"))), skip)
    assert text.attributes == (AttributePlan("text", columns=("text", "asked", "hours"), on_missing="level"),)
    code(table, text)


def test_columns_that_share_a_skip_no_column_decides() -> None:
    closed = RNG.random(500) < 0.3
    values = {name: np.where(closed, -1, RNG.integers(1, 4, 500)).tolist() for name in ("a", "b")}
    about = ColumnLabels("", (("-1", "Valid skip"),))
    (skip,) = propose(table_of({"a": about, "b": about}, **values))
    assert (skip.kind, skip.columns) == ("skip", ("a", "b"))
    assert propose(table_of(**values)) == [], "without a word of it, a shared code may mean anything"


def test_unlabelled_negative_codes_that_many_columns_share_are_missing() -> None:
    columns = {c: np.where(RNG.random(400) < 0.1, -9, RNG.integers(0, 5, 400)).tolist() for c in "abc"}
    (missing,) = propose(table_of(**columns))
    assert missing.codes == (("a", ("-9",)), ("b", ("-9",)), ("c", ("-9",)))
    plan = accept(first_plan(table_of(**columns)), missing)
    assert plan.attributes[0] == AttributePlan(
        "a", levels=("0", "1", "2", "3", "4"), missing=("-9",), on_missing="level"
    )


# Accepting

BLOCK = Proposal("block", ("a", "b"), "s.", "e.")


def plan_of(*names: str, **more: Any) -> Plan:
    data = {k: more.pop(k) for k in ("carry", "drop", "id", "weight") if k in more}
    return Plan(DataPlan(tuple(AttributePlan(name) for name in names), **data), **more)


def test_joined_attributes_hand_over_their_roles() -> None:
    plan = plan_of("a", "b", "c", keys=("b",), swap=("a", "b", "c"), analyse=("c",), space=SpacePlan(fix=("b",)))
    after = accept(plan, BLOCK)
    assert after.attributes == (AttributePlan("a", columns=("a", "b")), AttributePlan("c"))
    assert (after.keys, after.swap, after.analyse, after.space.fix) == (("a",), ("a", "c"), ("c",), ("a",))
    assert accept(after, BLOCK) == after


def test_a_block_takes_carried_columns_and_leaves_dropped_ones() -> None:
    assert accept(plan_of("b", carry=("a",)), BLOCK).data == DataPlan((AttributePlan("b", columns=("b", "a")),))
    assert accept(plan_of("b", carry=("a*",)), BLOCK).attributes[0].columns == ("b", "a")
    for drop in (("a",), ("a*",)):
        plan = plan_of("b", drop=drop)
        assert accept(plan, BLOCK) == plan
    plan = plan_of("c", carry=("a", "b"))
    assert accept(plan, BLOCK) == plan, "columns that stay with their record stay together"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"edits": (EditRule("r", (("b", ("1",)),)),)}, "edit rule 'r' uses 'b', which would become part of 'a'"),
        ({"analyses": (AnalysisPlan("m", "c ~ b"),)}, "analysis 'm' uses 'b'"),
        ({"tables": (TablePlan("t", ("b", "c")),)}, "table 't' uses 'b'"),
        ({"space": SpacePlan(specs=("b:S",))}, "the spec 'b:S' uses 'b'"),
    ],
)
def test_what_names_a_joined_attribute_must_be_changed_first(more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        accept(plan_of("a", "b", "c", **more), BLOCK)


def test_ids_weights_and_constants_leave_the_attributes() -> None:
    plan = plan_of("a", "i", "j", "w", "v", "k")
    plan = accept(plan, Proposal("id", ("i", "j"), "s.", "e."))
    plan = accept(plan, Proposal("weight", ("w", "v"), "s.", "e."))
    plan = accept(plan, Proposal("constant", ("k",), "s.", "e."))
    assert plan.data == DataPlan((AttributePlan("a"),), id="i", weight="w", carry=("v", "k"), drop=("j",))
    assert plan.keys == ("a",)
    kept = plan_of("a", "i", id="j", weight="v")
    assert accept(kept, Proposal("id", ("i", "j"), "s.", "e.")).data.id == "j", "an id that was chosen stays"


def test_missing_codes_leave_the_levels() -> None:
    part = AttributePlan("a", merge=(("No", ("0",)), ("Gone", ("9",))), levels=("No", "Gone"))
    plan = Plan(DataPlan((part, AttributePlan("b", skip=("9",)))))
    after = accept(plan, Proposal("missing", ("a", "b"), "s.", "e.", codes=(("a", ("9",)), ("b", ("9",)))))
    assert after.attributes[0] == AttributePlan(
        "a", merge=(("No", ("0",)),), levels=("No",), missing=("9",), on_missing="level"
    )
    assert after.attributes[1] == plan.attributes[1]


@examples(8)
@given(st.data())
def test_accepting_in_any_order_leaves_a_plan_that_codes_the_file(data: st.DataObject) -> None:
    table, _, found = made(500)
    plan = first_plan_of(500)
    names = data.draw(st.lists(st.sampled_from(plan.names), min_size=2, max_size=6, unique=True))
    plan = edit_plan(plan, attributes=names)
    while waiting := propose(table, plan, found):
        plan = accept(plan, data.draw(st.sampled_from(waiting)))
    code(table, plan)
    for proposal in propose(table, None, found):
        if proposal.kind in ("block", "skip"):
            free = set(proposal.columns) - {plan.data.id, plan.data.weight}
            holds = [a for a in plan.attributes if free & set(a.columns)]
            assert not holds or free <= set(holds[0].columns)


def test_a_proposal_is_checked() -> None:
    with pytest.raises(EngineError, match="a proposal is of kind 'x'"):
        Proposal("x", ("a",), "", "")
    with pytest.raises(EngineError, match="names no column"):
        Proposal("id", (), "", "")
    with pytest.raises(EngineError, match="a link is of kind 'x'"):
        Link("a", "b", "x")


def test_labels_are_checked() -> None:
    with pytest.raises(EngineError, match="the value '1' has two labels"):
        ColumnLabels("", (("1", "a"), ("1", "b")))
    with pytest.raises(EngineError, match="from 2 to 1; give the lower end first"):
        ColumnLabels(missing_ranges=((2, 1),))
    with pytest.raises(EngineError, match="measure is 'x'"):
        ColumnLabels(measure="x")
    about = ColumnLabels("", (("1", "One"),), ("x",), ((-9, -1),))
    assert about.missing_among(["x", "-9", "-9.5", "y", "nan"]) == ("x", "-9")
    assert (about.shown("1"), about.shown("2")) == ("One", "2")


def test_a_survey_must_be_large_enough() -> None:
    with pytest.raises(UsageError, match="must be at least 200"):
        survey(100)
