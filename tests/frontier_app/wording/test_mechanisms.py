"""Mechanisms as inputs and in words; edit rules and analyses as tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.mechanisms import mechanism, names
from engine.plan import MechanismPlan
from engine.plan.coding import code
from engine.plan.samples import open_data
from engine.release.parameter import Parameter
from engine.release.scenarios import Note, NoteKind
from engine.release.spec import RANDOM_SWAP, AttributeSpec, ReleaseSpec
from frontier_app.pages.file import columns
from frontier_app.widgets import plan_fields
from frontier_app.wording import mechanisms, text
from tests.frontier_app import mixed_study


def spec(name: str, **given: str) -> ReleaseSpec:
    return ReleaseSpec(AttributeSpec(("A", "B"), "SU"), "", "strict", name, mechanism(name).canonical(given))


def a_value(parameter: Parameter) -> str:
    """A legal value of a parameter that has no default."""
    return {"choice": "".join(parameter.choices[:1]), "truth": "yes", "names": "A", "text": "A"}.get(
        parameter.kind, parameter.low or "1"
    )


@pytest.mark.parametrize("name", names())
def test_a_mechanism_as_usual_has_an_empty_grid(name: str):
    method = mechanism(name)
    given = {parameter.name: (parameter.default,) for parameter in method.parameters if parameter.default}
    required = {parameter.name: (a_value(parameter),) for parameter in method.parameters if parameter.default is None}
    assert mechanisms.grid_of(method, given | required, None) == MechanismPlan(name, tuple(required.items()))
    assert all(mechanisms.legal(parameter) for parameter in method.parameters)


@pytest.mark.parametrize("name", names())
def test_every_parameter_has_plain_words_and_its_symbol(name: str):
    labels = [mechanisms.label(parameter) for parameter in mechanism(name).parameters]
    assert len(set(labels)) == len(labels)
    for title, parameter in zip(labels, mechanism(name).parameters, strict=True):
        plain, _, symbol = title.removesuffix(")").rpartition(" (")
        assert plain == parameter.label and symbol in (parameter.name, "θ")


def test_parameters_of_one_name_are_told_apart():
    theta = {name: mechanisms.label(mechanism(name).parameter("theta")) for name in ("pram", "maps")}
    assert theta["pram"] == "Chance that a record of the smallest category moves (θ)" and theta["maps"] != theta["pram"]


def test_what_a_plan_says_comes_back_as_it_was():
    for declared in mixed_study.plan().mechanisms[1:]:
        method = mechanism(declared.name)
        usual = {p.name: (p.default,) for p in method.parameters if p.default}
        assert mechanisms.grid_of(method, {**usual, **dict(declared.grid)}, declared) == declared


def test_several_values_are_a_grid_and_illegal_ones_are_refused_in_the_engines_words():
    method = mechanism("maps")
    d = method.parameter("D")
    assert mechanisms.values_from(d, "1, 5; 10,") == ("1", "5", "10")
    assert mechanisms.values_text(d, ("1", "5")) == "1, 5"
    assert mechanisms.grid_of(method, {"D": ("1", "5")}, None) == MechanismPlan("maps", (("D", ("1", "5")),))
    with pytest.raises(UsageError, match="D == 0, must be at least 1"):
        mechanisms.grid_of(method, {"D": ("0",)}, None)


def test_the_random_swap_alone_stays_unsaid():
    plan = mixed_study.plan()
    bare = replace(plan, mechanisms=())
    alone = (MechanismPlan(RANDOM_SWAP),)
    assert mechanisms.merged(bare, alone) == ()
    assert mechanisms.merged(plan, alone) == alone
    with pytest.raises(UsageError, match="choose at least one"):
        mechanisms.merged(plan, ())


def test_growth_keeps_every_value():
    plan = mixed_study.plan()
    assert mechanisms.grown(plan, plan)
    assert mechanisms.grown(plan, replace(plan, mechanisms=(*plan.mechanisms, MechanismPlan("dds"))))
    assert not mechanisms.grown(plan, replace(plan, mechanisms=plan.mechanisms[1:]))
    wider = MechanismPlan("maps", (("s", ("12",)), ("D", ("1", "3", "9"))))
    fewer = MechanismPlan("maps", (("s", ("12",)), ("D", ("1",))))
    for one, whether in ((wider, True), (fewer, False)):
        others = (plan.mechanisms[0], one, *plan.mechanisms[2:])
        assert mechanisms.grown(plan, replace(plan, mechanisms=others)) is whether


def test_a_candidate_in_words_names_its_numbers_and_tables():
    some = spec("maps", D="5", w0="0.5")
    assert mechanisms.tables_of(some) == 5 and mechanisms.tables_of(spec("dds")) == 1
    assert text.swap_short(some) == "maps w0=0.5 D=5"
    assert text.swap_short(spec("dds")) == "dds"
    assert text.swap_short(spec("dds", s="4")) == "dds s=4"
    words = text.spec_words(some, 100)
    assert "**5 tables** are published together" in words and "may change A." in words


def test_notes_and_diagnostics_in_plain_words():
    notes = [
        Note(0, 1, NoteKind.DIAGNOSTICS, None, '{"sensitive_records": 4.0, "changed_share": 0.5, "warning": "few"}'),
        Note(0, 1, NoteKind.FIGURE, 2, "worst A: J = 0.9"),
        Note(0, 2, NoteKind.DIAGNOSTICS, None, '{"sensitive_records": 6.0, "changed_share": 0.25, "odd_thing": "x"}'),
        Note(0, 2, NoteKind.FIGURE, 2, "worst A: J = 0.8"),
        Note(0, 3, NoteKind.FIGURE, 2, "worst B: J = 0.7"),
        Note(0, 1, NoteKind.FIGURE, 1, "one table"),
    ]
    warnings, rows = mechanisms.diagnostics(notes)
    assert warnings == ["few"]
    assert dict(rows) == {
        "records in sensitive key cells": "5",
        "share of records whose value changed": "0.375",
        "odd thing": "x",
    }
    assert mechanisms.figure_notes(notes) == {
        2: ["worst A in 2 of 3 runs (J = 0.9 in the first)", "worst B in 1 of 3 runs (J = 0.7 in the first)"],
        1: ["one table"],
    }


def test_rules_and_analyses_come_back_from_their_tables(tmp_path: Path):
    plan = mixed_study.plan()
    data = code(open_data(str(mixed_study.write(tmp_path / "people.csv")))[0], plan)
    known = plan_fields.picks(data.domain, plan)
    bare = replace(plan, edits=(), analyses=())
    assert plan_fields.edits_of(plan_fields.edit_rows(plan), bare, known) == (plan.edits, {})
    names = data.raw.names
    assert plan_fields.analyses_of(plan_fields.analysis_rows(plan), plan, names) == (plan.analyses, {})
    assert plan_fields.edits_of(plan_fields.edit_rows(bare), bare, known) == ((), {})
    assert plan_fields.analyses_of(plan_fields.analysis_rows(bare), bare, names) == ((), {})
    (unnamed,), _ = plan_fields.edits_of(
        [{"name": None, "forbid": ["sex = f", "work = none"], "effect": "forbids", "at_most": None}], bare, known
    )
    assert unnamed.name == "sex f, work none" and unnamed.refuse
    refusing = replace(plan, edits=tuple(replace(rule, refuse=True) for rule in plan.edits))
    assert plan_fields.edits_of(plan_fields.edit_rows(refusing), bare, known) == (refusing.edits, {})
    existing = replace(plan, edits=(EditRule("only what exists", refuse=True, existing=("sex", "work"), at_most=4),))
    assert plan_fields.edits_of(plan_fields.edit_rows(existing), bare, known) == (existing.edits, {})
    _, wrong = plan_fields.edits_of([{"name": "x", "forbid": None, "effect": "counts", "at_most": None}], bare, known)
    assert "forbids nothing yet" in wrong[0]
    row = {"name": "p", "formula": "pay + sex", "family": "linear", "by": [], "weighted": False, "tau": ""}
    found, wrong = plan_fields.analyses_of([row, {**row, "formula": "pay ~ sex"}], bare, names)
    assert list(wrong) == [0] and "outcome ~ first" in wrong[0] and [one.formula for one in found] == ["pay ~ sex"]


def test_numeric_columns_survive_the_table_of_columns(tmp_path: Path):
    raw = open_data(str(mixed_study.write(tmp_path / "people.csv")))[0]
    plan = mixed_study.plan()
    before = columns.column_table(raw, plan, columns.looks_like(raw))
    edited = before.copy()
    edited.loc[edited["column"] == "work", "keys"] = True
    changed = columns.plan_of(edited, before, raw, plan)
    assert changed is not None and changed.data.numeric == ("pay",) and "work" in changed.keys
    edited.loc[edited["column"] == "pay", "decision"] = "drop"
    dropped = columns.plan_of(edited, before, raw, plan)
    assert dropped is not None and dropped.data.numeric == ()


def test_a_legend_has_the_usual_abbreviations() -> None:
    known = {name: mechanisms.short(name) for name in ("random_swap", "maps", "rds", "pram", "cgs")}
    assert known == {"random_swap": "random swap", "maps": "MaPS", "rds": "RDS", "pram": "PRAM", "cgs": "CGS, RGS"}


def test_a_candidates_settings_are_words_without_names_of_options():
    grid = {"rate": "0.05", "hierarchy": "region+town", "similar": "size+tenure|size|", "must": "within"}
    some = spec("trs", **grid)
    assert mechanisms.meant(some)[:4] == [
        "share of households that are swapped: 5 %",
        "places, from coarse to fine: region, town",
        "fewest persons alike that are safe: 3",
        "on what partners agree: size, tenure; else size; else nothing",
    ]
    rows = mechanisms.parameter_rows(some)
    told = [*mechanisms.meant(some), *(f"{name} {value}" for name, value, _ in rows)]
    assert not [words for words in told if any(sign in words for sign in ("(", "+", "|"))]
    declared = MechanismPlan.of("trs", grid)
    assert "places, from coarse to fine: region, town" in mechanisms.entry_words(declared)
