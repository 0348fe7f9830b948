"""Candidates are listed or counted, without those that cannot be or tell nothing; edit rules that refuse pairs; an
exchange and that of all other attributes.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import engine as sf
from engine.cli.main import main
from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.data.microdata import Microdata, RawColumn, RawTable
from engine.decision.choice import choose, pick
from engine.decision.gate import obstacles
from engine.measures import MEASURES
from engine.plan import AttributePlan, DataPlan, DecisionPlan, MechanismPlan, Plan, SpacePlan, plan_to_toml
from engine.plan import edit_plan as edit_plan_of_meaning
from engine.plan.coding import code
from engine.plan.differences import plan_differences
from engine.plan.edit import edit_plan, extended_plan
from engine.plan.samples import load
from engine.plan.toml import plan_from_toml
from engine.release.scenarios import NoteKind, RunStatus
from engine.release.space import ImpossibilityKind, Space, impossibility_text
from engine.release.spec import structure_of
from engine.study.map_reader import realisation_of, risk_utility_map
from engine.study.study import Study
from engine.sweeps import candidates as space_count
from engine.sweeps import candidates as swap_ways_module
from engine.sweeps import probe
from engine.sweeps.adaptive import search_of
from engine.sweeps.candidates import check_meaning, merging_of, n_complete, scenarios_of, space_of, swap_ways
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import remake, stream_of
from engine.sweeps.sweep import plan_problems, sweep
from engine.sweeps.warnings import failure_text, predicted_failures, remark_text, space_remarks
from tests.engine.proposals import table_of
from tests.engine.small_studies import RAW, SMALL, keyed, plan_of
from tests.small_tables import KEY, Small

RNG = np.random.default_rng(5)


def made(sizes: tuple[int, ...], narrow: tuple[int, ...], swap: int, fix: int, change: int, rule: str) -> Plan:
    names = [f"a{i}" for i in range(6)]
    aside = names[6 - fix - change :]
    return Plan(
        DataPlan(tuple(AttributePlan(name) for name in names)),
        swap=tuple(names[:swap]),
        space=SpacePlan(swap_sizes=sizes, fix=tuple(aside[:fix]), change=tuple(aside[fix:]), rule=rule),
    )


def data_of(plan: Plan, narrow: tuple[int, ...]) -> Microdata:
    columns = {}
    for i, name in enumerate(plan.names):
        codes = np.zeros(40, np.int8) if i in narrow else np.arange(40, dtype=np.int8) % 2
        columns[name] = RawColumn(name, pa.array(["x"] if i in narrow else ["x", "y"]), RNG.permutation(codes))
    return code(RawTable(columns, 40, "made up"), plan)


@pytest.mark.parametrize("rule", ["strict", "loose"])
@pytest.mark.parametrize("narrow", [(), (0,), (1, 4), (5,), (2, 3, 4, 5)])
@pytest.mark.parametrize(
    ("swap", "fix", "change", "sizes"),
    [(6, 0, 0, (1, 2)), (4, 1, 0, (1, 3)), (3, 1, 1, (2,)), (6, 0, 1, (1, 5)), (5, 3, 0, (1, 2)), (6, 0, 0, (5, 6))],
)
def test_counts_are_those_of_the_listed_space(
    monkeypatch: pytest.MonkeyPatch,
    rule: str,
    narrow: tuple[int, ...],
    swap: int,
    fix: int,
    change: int,
    sizes: tuple[int, ...],
) -> None:
    monkeypatch.setattr(space_count, "MOST_LISTED", 0)
    able = swap - max(0, swap + fix + change - 6)
    plan = made(tuple(size for size in sizes if size <= able), narrow, swap, fix, change, rule)
    data = data_of(plan, narrow)
    found = space_count.counted(plan, data)
    try:
        listed = space_of(plan, data)
    except UsageError:
        assert found is None
        return
    assert found is not None
    figures = (listed.legal, listed.feasible, len(listed.specs) + len(listed.merged), len(listed.impossible))
    assert (found.legal, found.feasible, found.distinct, found.n_impossible) == figures
    assert not listed.merged
    for n in (1, 3, 1000):
        part = found.even_part(n)
        assert part == list(listed.specs[:: max(1, -(-len(listed.specs) // n))])


def test_an_estimate_looks_at_an_even_part_of_what_is_counted_or_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = made((1, 2), (), 6, 0, 0, "strict")
    data = data_of(plan, ())
    listed = space_count.space_or_count(plan, data)
    monkeypatch.setattr(space_count, "MOST_LISTED", 0)
    counts = space_count.space_or_count(plan, data)
    assert isinstance(listed, Space) and isinstance(counts, space_count.Counted)
    assert probe.probed(plan, data, listed, ()) == probe.probed(plan, data, counts, ())
    monkeypatch.setattr(probe, "_PROBED", 5)
    few, total = probe.probed(plan, data, counts, ())
    assert (few, total) == probe.probed(plan, data, listed, ())
    assert len(few) == 5 * len(plan.space.rates) and total == 21 * len(plan.space.rates)


NO_V1_WITH_V0 = EditRule("never", (("A", ("v1",)), ("B", ("v0",))), refuse=True)


def of(**grid: object) -> Plan:
    return plan_of(mechanisms=(MechanismPlan.of("random_swap", grid),))


def test_the_published_swap_has_one_way_and_no_parameters():
    assert swap_ways(plan_of()) == swap_ways(of()) == swap_ways(of(lean="0.0", similarity=0, risk="A")) == [()]


def test_a_grid_is_every_combination_and_equal_ones_count_once():
    ways = swap_ways(of(lean=["0", "1", "1.0"], near=["", "C:2 + A:1"]))
    assert ways == [
        (),
        (("near", "A:1+C:2"),),
        (("lean", "1"), ("risk", "A+B+C+D")),
        (("lean", "1"), ("risk", "A+B+C+D"), ("near", "A:1+C:2")),
    ]
    specs = scenarios_of(of(lean=["0", "1"]), code(RAW, of()))[0]
    assert len(specs) == 2 * len(scenarios_of(plan_of(), code(RAW, plan_of()))[0])
    assert len({spec.canonical() for spec in specs}) == len(specs)
    assert str(specs[2]) == "A:S lean=1 risk=A+B+C+D at 10 %" and specs[2].short == "A lean=1 risk=A+B+C+D"


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"lean": "-1"}, "lean == -1, must be between 0 and 10."),
        ({"lean": "much"}, "lean == 'much', must be a number."),
        ({"lean": "1", "risk": "A+E"}, "risk names the unknown attribute 'E'"),
        ({"near": "A"}, "near: cannot read 'A'; write NAME:STEPS with at least one step, such as Age:2, joined by +"),
        (
            {"near": "A:9999999999999999999"},
            "near: '9999999999999999999' steps are too many, at most 9 digits are read",
        ),
        ({"near": "A:0"}, "near: cannot read 'A:0'; write NAME:STEPS with at least one step"),
        ({"near": "Age:1"}, "near names the unknown attribute 'Age'"),
        ({"similar": "A+B", "similarity": 3}, "similarity == 3, must be between 1 and 2, the number of attributes of"),
        ({"similar": "A+B"}, "similarity == 0, must be between 1 and 2, the number of attributes of similar."),
        ({"similarity": 1}, "similarity == 1, but similar names no attribute; name those on which partners are to"),
        ({"rates": "0.1"}, "mechanism 'random_swap' has no parameter 'rates'; its specs and rates stand in [space]"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_run(grid: dict[str, object], words: str):
    plan = of(**grid)
    with pytest.raises(UsageError) as error:
        scenarios_of(plan, code(RAW, plan))
    assert str(error.value).startswith(words)


def no_swap_of_a_alone() -> tuple[Small, Plan]:
    """B follows A, and a level of A with the other's B is forbidden: no swap of A or B alone can be."""
    records = tuple((i % 2, i % 2, i % 3) for i in range(30))
    small = Small(records, (2, 2, 3))
    rules = tuple(EditRule(f"{a}{b}", (("A", (f"v{a}",)), ("B", (f"v{b}",))), True) for a, b in ((0, 1), (1, 0)))
    return small, small.plan(edits=rules)


def test_a_spec_whose_every_pair_breaks_a_rule_is_impossible_and_says_so():
    small, plan = no_swap_of_a_alone()
    found = space_of(plan, code(small.raw(), plan))
    assert [str(spec) for spec in found.specs] == ["C:S", "A:S B:S"]
    reasons = {str(spec): impossibility_text(reason) for spec, reason in found.impossible}
    assert set(reasons) == {"A:S", "B:S", "A:S C:S", "B:S C:S"}
    assert set(reasons.values()) == {"any two records that could be exchanged would break an edit rule"}


def test_a_search_looks_at_no_spec_whose_every_pair_breaks_a_rule():
    records = tuple((i % 2, i % 2, i % 3, i % 5) for i in range(60))
    small = Small(records, (2, 2, 3, 5))
    rules = tuple(EditRule(f"{a}{b}", (("A", (f"v{a}",)), ("B", (f"v{b}",))), True) for a, b in ((0, 1), (1, 0)))
    plan = small.plan(edits=rules, space=SpacePlan(search=True, budget=300, replicates=4, rates=("0.1",)))
    started = search_of(plan, code(small.raw(), plan), bytes(16)).start()
    assert "AB" in {"".join(spec.names_having("S")) for spec in started}
    assert not [spec for spec in started if ("A" in spec.names_having("S")) != ("B" in spec.names_having("S"))]


def test_a_way_that_makes_no_pair_is_predicted_to_fail():
    plan = plan_of(
        mechanisms=(MechanismPlan.of("random_swap", {"similar": "A+B", "similarity": [1, 2]}),),
        space={"swap_sizes": (1,)},
    )
    data = code(RAW, plan)
    specs, listed = scenarios_of(plan, data)
    assert listed is not None and listed.distinct == 4, "each can be made in one of the two ways at least"
    failing = predicted_failures(specs, data.table)
    # who swaps A or B differs on it, and so agrees on one of them at most
    assert {(one.spec.attributes.short, dict(one.spec.params)["similarity"]) for one in failing if one.obstacle} == {
        ("A", "2"),
        ("B", "2"),
    }
    assert failure_text(failing[-1]) == "any two records that could be exchanged agree on too few attributes"


def test_specs_are_not_merged_with_their_complement_where_rules_refuse():
    plan = plan_of(edits=(NO_V1_WITH_V0,), space={"swap_sizes": (), "all_specs": True, "fix": ("D",)})
    free = plan_of(space={"swap_sizes": (), "all_specs": True, "fix": ("D",)})
    assert space_of(free, code(RAW, free)).n_merged > 0 == space_of(plan, code(RAW, plan)).n_merged


@pytest.mark.slow
def test_a_sweep_with_rules_never_raises_failures_and_tells_what_was_refused(tmp_path: Path):
    plan = plan_of(edits=(NO_V1_WITH_V0,), mechanisms=(MechanismPlan.of("random_swap", {"lean": ["0", "1"]}),))
    with sweep(RAW, plan, keyed(tmp_path / "s.study"), workers=1) as study:
        results = study.runs.results()
        failures = results.values[:, study.subject.measure_index("edit_failures")]
        assert (failures <= study.original["edit_failures"]).all() and len(np.unique(failures)) > 1
        leaning = [s.index for s in study.scenarios if s.spec.params]
        assert len(leaning) == 20 and str(study.scenarios[leaning[0]].spec).endswith("lean=1 risk=A+B+C+D at 10 %")
        notes = [n for k in range(len(study.scenarios)) for n in study.notes.of(k)]
        told = [json.loads(note.text) for note in notes if note.kind is NoteKind.DIAGNOSTICS]
        assert any(one["partners_turned_down_by_rules"] > 0 for one in told)
        failed = set(results.scenario[results.status == RunStatus.FAILED].tolist())
        assert failed == {n.scenario for n in notes if n.kind is NoteKind.DIAGNOSTICS and "without_partner" in n.text}
    counting = plan_of(edits=(EditRule("never", NO_V1_WITH_V0.forbid),))
    with sweep(RAW, counting, keyed(tmp_path / "c.study"), workers=1) as study:
        failures = study.runs.results().values[:, study.subject.measure_index("edit_failures")]
        assert (failures > study.original["edit_failures"]).any(), "without refusing, swaps do break the rule"


@pytest.mark.slow
def test_a_realisation_is_made_again_down_to_records_with_the_same_figures(tmp_path: Path):
    plan = plan_of(edits=(NO_V1_WITH_V0,), mechanisms=(MechanismPlan.of("random_swap", {"lean": 2, "near": "C:1"}),))
    data = code(RAW, plan)
    with sweep(RAW, plan, keyed(tmp_path / "s.study"), workers=1) as study:
        results, names = study.runs.results(), [str(call) for call in study.measures]
        for k in (0, 30, 70):
            spec, replicate = study.scenarios[int(results.scenario[k])].spec, int(results.replicate[k])
            made = remake(data, question_of(plan, data), spec, stream_of(KEY, spec, data, replicate))
            assert made.status == results.status[k]
            assert [made.figures[name] for name in names] == pytest.approx(results.values[k], nan_ok=True, abs=0)
            moved = [data.domain.attributes[j].name for j in range(4) if (made.codes(j) != data.codes[j]).any()]
            assert set(moved) <= set(spec.attributes.names_having("S"))
            if "C" in moved:
                assert np.abs(made.codes(2) - data.codes[2]).max() == 1


def test_a_study_extended_by_a_way_keeps_the_published_swap():
    extended = extended_plan(plan_of(), of(lean="1"))
    assert swap_ways(extended) == [(), (("lean", "1"), ("risk", "A+B+C+D"))]
    assert len(SMALL.records) == code(RAW, extended).n_records


def test_of_more_than_are_looked_at_the_first_run_says_why_a_spec_can_make_no_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    small, plan = no_swap_of_a_alone()
    raw, plan = small.raw(), edit_plan(plan, rates=["0.2"], replicates=2)
    assert "A:S" not in [str(spec) for spec in space_of(plan, code(raw, plan)).specs], "looked at, it is left out"
    monkeypatch.setattr(swap_ways_module, "MOST_LOOKED_AT", 2)
    beyond = space_of(plan, code(raw, plan))
    assert "A:S" in [str(spec) for spec in beyond.specs]
    told = [remark_text(remark) for remark in space_remarks(plan, beyond, 30)]
    assert any(text.startswith("6 specs and ways are more than the") for text in told)
    with sweep(raw, plan, keyed(tmp_path / "s.study"), workers=1) as study:
        index = next(s.index for s in study.scenarios if str(s.spec).startswith("A:S"))
        results = study.runs.results()
        assert set(results.status[results.scenario == index].tolist()) == {int(RunStatus.FAILED)}
        why = study.notes.warning_on(index)
        assert "found no partner" in why and "because all that are left would break an edit rule" in why
        with pytest.raises(UsageError, match=r"every run of .* failed: .* would break an edit rule"):
            realisation_of(study, results, index, None, allow_partial=False)


VOID: dict[str, dict[str, Any]] = {
    "utility, nothing tabulated": {"swap": ["A"], "analyse": ["C", "D"]},
    "utility, one attribute": {"analyse": ["A"]},
    "utility, as a whole": {"specs": ["A:S B:S"], "analyse": ["A", "B"]},
    "risk": {"swap": ["A", "B"], "keys": ["C", "D"]},
    "only spec": {"specs": ["A:S"], "analyse": ["B", "C"]},
}
SOUND: dict[str, dict[str, Any]] = {
    "as it is": {},
    "one of two": {"swap": ["A", "B"], "analyse": ["A", "B"]},
    "beside": {"swap": ["A"], "analyse": ["A", "C"]},
    "one of several specs": {"specs": ["A:S B:S", "A:S"], "analyse": ["A", "B"]},
    "another measure": {"swap": ["A"], "analyse": ["C", "D"], "measures": ["small_cells", "hellinger[attributes=A+B]"]},
}


def plan_with(**changes: Any) -> Plan:
    return edit_plan_of_meaning(load("czech")[1], **{"rates": ["0.1"], "replicates": 10, **changes})


@pytest.mark.parametrize("changes", VOID.values(), ids=VOID)
def test_one_figure_for_all_is_refused(changes: dict[str, Any]):
    with pytest.raises(UsageError, match="every candidate has the same"):
        check_meaning(plan_with(**changes), [])


@pytest.mark.parametrize("changes", SOUND.values(), ids=SOUND)
def test_figures_that_can_differ_are_not(changes: dict[str, Any]):
    check_meaning(plan_with(**changes), [])


def test_under_a_rule_the_measure_that_it_compares_must_differ():
    changes = {
        "swap": ["A"],
        "analyse": ["C", "D"],
        "measures": ["small_cells", "hellinger", "hellinger[attributes=A+B]"],
    }
    check_meaning(plan_with(**changes), [])
    with pytest.raises(UsageError, match="every candidate has the same utility, by 'hellinger'"):
        check_meaning(plan_with(**changes, max_risk="0.002"), [])
    check_meaning(plan_with(**changes, max_risk="0.002", utility="hellinger[attributes=A+B]"), [])


@pytest.mark.parametrize(
    ("mechanism", "keys", "void"),
    [
        (MechanismPlan.of("rds", {"s": "3"}), ["A", "B"], True),
        (MechanismPlan.of("pram", {"vars": "A+B"}), ["A", "B"], False),
        (MechanismPlan.of("rds", {"s": "3"}), ["A", "B", "C"], False),
    ],
)
def test_other_mechanisms(mechanism: MechanismPlan, keys: list[str], void: bool):
    raw, _ = load("czech")
    analyse = ["A", "B"] if len(keys) == 2 else ["A", "D"]
    plan = plan_with(keys=keys, analyse=analyse, mechanisms=[mechanism])
    assert any("every candidate has the same utility" in problem for problem in plan_problems(plan, raw)) == void


def test_an_exchange_that_utility_cannot_see_does_not_stand_beside_others_as_if_it_cost_nothing():
    raw, _ = load("czech")
    unseen, seen = MechanismPlan.of("dds", {"s": "3"}), MechanismPlan.of("pram", {"vars": "A+B"})
    mixed = plan_with(keys=["A", "B", "C"], analyse=["A", "B", "C"], mechanisms=[unseen, seen])
    (problem,) = plan_problems(mixed, raw)
    assert problem.startswith("of mechanism 'dds' every candidate has the same utility")
    assert not plan_problems(edit_plan_of_meaning(mixed, analyse=["A", "B", "D"]), raw)


@pytest.mark.slow
def test_every_way_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plan = plan_with(**VOID["utility, nothing tabulated"])
    (tmp_path / "p.toml").write_text(plan_to_toml(plan))
    given = ("--plan", str(tmp_path / "p.toml"))
    assert main(["sweep", "czech", "--study", str(tmp_path / "a.study"), *given]) == 2
    assert "every candidate has the same utility" in capsys.readouterr().err
    assert not (tmp_path / "a.study").exists()
    assert main(["space", "czech", *given]) == 2
    assert main(["plan", "check", str(tmp_path / "p.toml"), "--data", "czech"]) == 1
    assert "every candidate has the same utility" in capsys.readouterr().out
    with pytest.raises(sf.UsageError, match="every candidate has the same utility"):
        sf.sweep("czech", plan=plan)
    with pytest.raises(sf.UsageError, match="every candidate has the same utility"):
        sweep(load("czech")[0], plan, tmp_path / "b.study")


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


@pytest.mark.slow
@pytest.mark.parametrize("probability", ["0.9", "mean"])
@pytest.mark.parametrize("way", WAYS)
def test_a_candidate_over_the_limit_of_a_rule_is_not_within_the_limit_on_risk(
    tmp_path: Path, way: str, probability: str
):
    def swept(at_most: int) -> Study:
        # the first rule holds of all, so that the second one has a count of its own
        rules = (EditRule("other", (("town", ("v1",)),)), replace(TOWN_HOMES, refuse=False, at_most=at_most))
        plan = homes_plan(way, rules[1])
        declared = tuple(MechanismPlan.of(way, {**WAYS[way], "rate": ("0.1", "0.5")}) for _ in plan.mechanisms)
        space = replace(plan.space, replicates=12, rates=plan.space.rates if declared else ("0.05", "0.5"))
        decision = DecisionPlan(max_risk="1", probability=probability, risk="small_cells")
        plan = replace(plan, edits=rules, mechanisms=declared, space=space, decision=decision)
        assert plan_from_toml(plan_to_toml(plan)) == plan
        return sweep(homes(), plan, keyed(tmp_path / f"{at_most}.study"), workers=1)

    with swept(240) as study:
        view = risk_utility_map(study)
        assert view.of_rules is not None
        counts = view.of_rules[:, 0]
        least, most = int(np.argmin(counts)), int(np.argmax(counts))
        assert 0 < counts[least] < counts[most] and view.meets(1.0).all()
    at_most = int(counts[least])
    with swept(at_most) as study:
        view, results = risk_utility_map(study), study.runs.results()
        failing = results.values[:, study.subject.measure_index("edit_failures[rule_no=2]")]
        within = np.array([failing[results.scenario == k] <= at_most for k in range(len(view.scenarios))])
        mean = np.array([failing[results.scenario == k].mean() for k in range(len(view.scenarios))])
        wanted = mean <= at_most if probability == "mean" else within.mean(axis=1) >= 0.9
        assert (view.meets(1.0) == wanted).all() and not wanted[most]
        assert np.isnan(view.offered_risk[most])
        chosen = choose(study, view, "by hand", candidate=view.scenarios[most].label)
        found = [each for each in chosen.record["obstacles"] if each["kind"] == "over_edit_limit"]
        assert {each["values"]["rule"] for each in found} == {TOWN_HOMES.name}
        assert found[-1]["values"]["records"] == counts[most] and found[-1]["values"]["at_most"] == at_most
        again = obstacles(view, study.runs.of([least]), 0, None, study.runs.of([most]))
        on_fresh = [each.values["records"] for each in again if each.values.get("of") == "fresh"]
        assert on_fresh == ([counts[most]] if probability == "mean" else []), "fresh runs are held against it too"
        row = int(np.flatnonzero((results.scenario == most) & (results.replicate == chosen.replicate))[0])
        first = np.flatnonzero(within[most])
        assert chosen.replicate == (first[0] + 1 if len(first) else 1)
        assert (len(found) == 2) == (failing[row] > at_most)
    with swept(0) as study, pytest.raises(UsageError, match="break 'homes that the town has', wanted at most 0"):
        pick(study, risk_utility_map(study))


def test_a_limit_of_a_rule_is_a_whole_number_and_said():
    wrong: Any
    for wrong in (-1, 2.5, "3", True):
        with pytest.raises(UsageError, match="a whole number of records from 0 on"):
            homes_plan("trs", replace(TOWN_HOMES, at_most=wrong))
    plan = homes_plan("trs", replace(TOWN_HOMES, refuse=False, at_most=3))
    assert "in at most 3 records" in plan_differences(plan, replace(plan, edits=()))["edits"].words


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


SHAPE = (5, 4, 3, 4)
SMALL_OF_COMPLEMENTS = Small(
    tuple(tuple(row) for row in np.random.default_rng(5).integers(0, SHAPE, (90, 4)).tolist()), SHAPE
)
RAW_OF_COMPLEMENTS = SMALL_OF_COMPLEMENTS.raw()
NEED_MORE = {"external_links", "external_unmatched", "risky_left", "left_level", "area_change"}
"""They need a file, or places that nest."""
ABOUT = {
    **{name: f"{name}[target=C]" for name in ("correct_attribution", "attribution_gain", "l_diversity", "t_closeness")},
    **{name: f"{name}[fraction=0.1]" for name in ("population_uniques", "expected_matches")},
    "small_cells_subset": "small_cells_subset[size=1;n_rule=20]",
}
SOME, ALL = SMALL_OF_COMPLEMENTS.names[:2], SMALL_OF_COMPLEMENTS.names


def plan_of_of_complements(keys: tuple[str, ...], *measures: str, **space: Any) -> Plan:
    space = {"rates": ("0.5",), "replicates": 6, "swap_sizes": (), **space}
    return SMALL_OF_COMPLEMENTS.plan(
        space=SpacePlan(**space), measures=tuple(dict.fromkeys(("small_cells", "hellinger", *measures))), keys=keys
    )


@pytest.fixture(scope="module")
def told_apart(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], set[str]]:
    """For some keys and for all: the measures that differ between two complements, which draw the same pairs."""
    texts = [ABOUT.get(name, name) for name in MEASURES if name not in NEED_MORE]
    found = {}
    for keys in (SOME, ALL):
        figures = []
        for spec in ("A:C B:C C:S D:C", "A:S B:S C:C D:S"):
            path = keyed(tmp_path_factory.mktemp("complements") / "s.study")
            with sweep(
                RAW_OF_COMPLEMENTS, plan_of_of_complements(keys, *texts, specs=(spec,)), path, workers=1
            ) as study:
                figures.append(study.runs.results().values)
                names = [call.measure.name for call in study.measures]
        one, other = figures
        same = np.isclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True).all(axis=0)
        found[keys] = {name for name, is_same in zip(names, same, strict=True) if not is_same}
    return found


@pytest.mark.slow
def test_what_depends_on_the_table_or_on_unaltered_records_does_not_tell_complements_apart(
    told_apart: dict[tuple[str, ...], set[str]],
) -> None:
    for keys, of_all in ((SOME, False), (ALL, True)):
        may = {name for name, measure in MEASURES.items() if measure.differs_between_complements(of_all)}
        assert told_apart[keys] <= may


@pytest.mark.slow
def test_no_measure_is_said_to_depend_on_more_than_it_does(told_apart: dict[tuple[str, ...], set[str]]) -> None:
    """What needs households or weights says nothing here: these keep complements apart anyway.  In so small a table
    nobody is recognised."""
    silent = {name for name in MEASURES if "household" in name} | {"altered_share_max", "small_cells_recognised"}
    for keys, kinds in ((SOME, {"unaltered", "records"}), (ALL, {"records"})):
        depend = {name for name, measure in MEASURES.items() if measure.depends_on in kinds}
        of_all_attributes = {name for name in depend if MEASURES[name].over == "all"}
        assert depend - silent - NEED_MORE - of_all_attributes <= told_apart[keys]


@pytest.mark.parametrize(
    ("plan", "n_apart"),
    [
        (plan_of_of_complements(ALL), 0),
        (plan_of_of_complements(SOME), 1),
        (plan_of_of_complements(ALL, "distance_linkage"), 1),
        (plan_of_of_complements(ALL, "r1"), 0),
        (plan_of_of_complements(ALL, "r1[attributes=A+B]"), 1),
        (plan_of_of_complements(ALL, "k_anonymity[attributes=A+B]"), 0),
        (plan_of_of_complements(ALL, "hellinger[attributes=A+B]"), 0),
    ],
)
def test_complements_are_two_candidates_where_a_measure_tells_them_apart(plan: Plan, n_apart: int) -> None:
    data = code(RAW_OF_COMPLEMENTS, plan)
    assert merging_of(plan, data) == ("same" if n_apart else "complements")
    written = plan_of_of_complements(
        plan.keys, *plan.measures[2:], specs=("C:S A:C B:C D:C", "A:S B:S C:C D:S", "A:S B:S C:U D:S")
    )
    found = space_of(written, data)
    assert len(found.specs) == 1 + n_apart, "U that must differ is C"
    whole = plan_of_of_complements(plan.keys, *plan.measures[2:], all_specs=True)
    # of 160 that can work 28 are the same exchange as another one, and 25 more are the complement of another one
    assert len(space_of(whole, data).specs) == n_complete(whole, data) == (132 if n_apart else 107)


LOOSE_WAYS: list[tuple[tuple[str, ...], list[dict[str, list[str]]]]] = [
    ((), [{}]),
    (("a5",), [{}]),
    ((), [{"similar": ["a0+a1+a2+a3+a4+a5"], "similarity": ["5"]}]),
    ((), [{"similar": ["a1+a2+a3+a4+a5"], "similarity": ["4", "5"]}]),
    (("a4", "a5"), [{"similar": ["a1+a2+a3"], "similarity": ["3"]}]),
]


@pytest.mark.parametrize(("fix", "ways"), LOOSE_WAYS)
@pytest.mark.parametrize("narrow", [(), (1, 4)])
def test_a_loose_space_is_counted_without_swaps_between_equal_records(
    fix: tuple[str, ...], ways: list[dict[str, list[str]]], narrow: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = made((1,), narrow, 6 - len(fix), 0, 0, "loose")
    mechanisms = tuple(MechanismPlan.of("random_swap", way) for way in ways)
    plan = replace(plan, space=replace(plan.space, swap_sizes=(), all_specs=True, fix=fix), mechanisms=mechanisms)
    data = data_of(plan, narrow)
    monkeypatch.setattr(space_count, "without_impossible", lambda space, *_: space)  # which counts do not know
    listed = space_of(plan, data)
    refused = [reason for _, reason in listed.impossible if reason.kind is ImpossibilityKind.ALL_OTHERS_EQUAL]
    assert n_complete(plan, data) == len(listed.specs) and refused
