"""The made-up survey: what is known of it is proposed, and leads from a file to a frontier."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from datasets.make_survey import N_COLUMNS, survey
from engine.bundle import export
from engine.common.errors import UsageError
from engine.data.io.labelled_writers import write_sav
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.plan import (
    Dependencies,
    Plan,
    accept,
    check_plan,
    dependencies,
    edit_plan,
    first_plan,
    plan_from_toml,
    plan_to_toml,
    propose,
)
from engine.plan.coding import code
from engine.plan.samples import load
from engine.study.study import Study
from engine.sweeps.sweep import sweep
from tests.engine.data.io.labelled import arrays_of, columns_of, labels_of
from tests.engine.proposals import blocks, made

MOST_DECISIONS = 25
MOST_FALSE = 5


def together(pairs: list[tuple[str, str]]) -> list[set[str]]:
    """Columns that hang together by some chain of pairs."""
    groups: list[set[str]] = []
    for pair in pairs:
        hit = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if group not in hit] + [set(pair).union(*hit)]
    return groups


@pytest.mark.slow
def test_the_survey_has_what_it_says() -> None:
    table, truth, _ = made()
    assert len(table.columns) == N_COLUMNS
    assert len(truth.recodes) >= 30
    assert len(truth.skips) >= 10
    again, _ = survey()
    assert again.content_digest() == table.content_digest()
    told = {name for pair in truth.recodes for name in pair}
    told |= {name for gate, _, skipped in truth.skips for name in (gate, *skipped)}
    values = columns_of(replace(table, columns={name: table.columns[name] for name in told}))
    for source, recode in truth.recodes:
        assert len(set(zip(values[source], values[recode], strict=True))) == len(set(values[source])), (source, recode)
    for gate, closed, skipped in truth.skips:
        for name in skipped:
            assert all((g in closed) == (v == -1) for g, v in zip(values[gate], values[name], strict=True)), name


@pytest.mark.slow
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


@pytest.mark.slow
def test_skips_and_roles_of_the_survey_are_proposed() -> None:
    table, truth, found = made()
    proposals = propose(table, None, found)
    skips = [p for p in proposals if p.kind == "skip"]
    assert len(skips) == len(truth.skips)
    for _, _, names in truth.skips:
        (skip,) = [p for p in skips if set(names) <= set(p.columns)]
        assert {link.code for link in skip.links} == {"-1"}
    by_kind = {p.kind: p for p in proposals}
    assert {*by_kind["id"].columns, *by_kind["unit"].columns} == set(truth.ids)
    assert by_kind["unit"].columns == ("hhid",)
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
    for kind in ("unit", "id", "weight", "missing", "constant"):
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_sample_s_own_plan_is_what_proposals_lead_to() -> None:
    table, _, found = made()
    plan = load("survey")[1]
    assert propose(table, plan, found) == []
    again, _ = decide(table, list(plan.names), found)
    assert {a.name: set(a.columns) for a in again.attributes} == {a.name: set(a.columns) for a in plan.attributes}


def test_a_survey_must_be_large_enough() -> None:
    with pytest.raises(UsageError, match="must be at least 200"):
        survey(100)
