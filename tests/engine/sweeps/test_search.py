"""Looking for the frontier of a space without trying all of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.cli.main import main
from engine.common.errors import UsageError
from engine.frontier.choosing import hypervolume
from engine.plan import Plan, edit_plan, plan_from_toml, plan_to_toml
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release.space import canonical
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.adaptive import search_of
from engine.sweeps.candidates import merging_of
from engine.sweeps.evaluator import question_of
from engine.sweeps.probe import estimate
from engine.sweeps.sweep import sweep
from tests.engine.small_studies import RAW, keyed, plan_of, sweep_with_stops, table_of
from tests.engine.sweeps.test_adaptive import fresh_of
from tests.small_tables import KEY, Small, rows

SEARCH = {"swap_sizes": (), "search": True, "budget": 80, "rates": ("0.1", "0.3"), "replicates": 8}


def begun(key: bytes = KEY, **space):
    plan = plan_of(space={**SEARCH, **space})
    return search_of(plan, code(RAW, plan), key)


def made_up(specs, rates: int = 2) -> np.ndarray:
    """Losses that follow from the roles alone."""
    weights = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 5.0], [4.0, 1.5]])
    of_role = {"S": np.array([-1.0, 1.0]), "C": np.array([-0.3, 0.2]), "F": np.array([0.1, -0.2]), "U": np.zeros(2)}
    rows = [sum(weights[j] * of_role[role] for j, role in enumerate(spec.roles)) for spec in specs]
    return np.array([[row * (1 + rate) for rate in range(rates)] for row in rows])


def run_through(search) -> list[str]:
    search.start()
    while search.ask(made_up(search.specs)):
        pass
    return [spec.roles for spec in search.specs]


# -- where it looks --------------------------------------------------------------------------------------------------


def test_it_starts_from_swaps_of_one_and_two():
    search = begun()
    start = search.start()
    assert [spec.roles.count("S") for spec in start] == [1] * 4 + [2] * 6 == [spec.roles.count("S") for spec in start]
    assert {spec.roles for spec in start[:4]} == {"SUUU", "USUU", "UUSU", "UUUS"}


def test_the_next_differ_in_one_role_from_one_on_the_frontier():
    search = begun()
    search.start()
    losses = made_up(search.specs)
    best = losses.sum(axis=2).min(axis=1).argmin()
    losses[:] = 9.0
    losses[best] = 1.0
    parent = search.specs[int(best)].roles
    neighbours = {parent[:j] + role + parent[j + 1 :] for j in range(4) for role in "SFCU" if role != parent[j]}
    asked = search.ask(losses)
    assert asked and sum(spec.roles in neighbours for spec in asked) >= min(len(asked), 6)
    first = [spec.roles for spec in asked][:5]
    assert all(sum(a != b for a, b in zip(roles, parent, strict=True)) == 1 for roles in first)


def test_no_spec_is_looked_at_twice_and_none_that_is_the_same():
    roles = run_through(begun(budget=10_000))
    assert len(roles) == len(set(roles))
    names = begun().table.domain.names
    classes = [canonical(AttributeSpec(names, text)).roles for text in roles]
    assert len(set(classes)) == len(classes) == 107, "with budget enough the whole space of four attributes"


def test_the_budget_is_kept_and_a_larger_one_goes_on_where_a_smaller_one_ended():
    small, large = run_through(begun(budget=40)), run_through(begun(budget=120))
    assert len(small) == 20 and len(large) == 60, "scenarios are specs at every rate"
    assert large[: len(small)] == small
    assert run_through(begun(budget=1)) == small[:1]


def test_another_key_looks_elsewhere():
    assert run_through(begun()) == run_through(begun())
    assert run_through(begun()) != run_through(begun(key=bytes(16)))


def test_roles_from_outside_stay():
    plan = plan_of(space={**SEARCH, "fix": ("A",), "change": ("B",)}, swap=("C", "A", "B"))
    search = search_of(plan, code(RAW, plan), KEY)
    roles = run_through(search)
    assert roles and all(text[:2] == "FC" and text[3] != "S" and "S" in text for text in roles)


def test_undefined_figures_are_left_out():
    search = begun()
    search.start()
    losses = np.full((len(search.specs), 2, 2), np.nan)
    assert search.ask(losses) == []


# -- a sweep ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_study_holds_what_was_looked_at(tmp_path):
    path = keyed(tmp_path / "s.study")
    plan = plan_of(space=SEARCH)
    with sweep(RAW, plan, path, workers=1) as study:
        assert len(study.scenarios) == 80 and study.progress.state == "finished"
        assert study.progress.message.startswith("looked at 40 of 107 specs (37.4 %); the last fifth")
        view = risk_utility_map(study)
        on = view.dominance.undominated
        assert (study.runs.replicates_done()[on] == 8).all() and study.runs.replicates_done().min() == 4
        assert set(study.runs.results("fresh").scenario.tolist()) == set(np.flatnonzero(on).tolist())
        asked = question_of(plan, code(RAW, plan))
        wanted = rows(asked, [s.spec for s in study.scenarios], [1, 2, 3, 4])
        results = study.runs.results()
        first = results.replicate <= 4
        assert results.values[first].tobytes() == np.ascontiguousarray(wanted[:, 4:]).tobytes()


@pytest.mark.slow
def test_stopped_and_resumed_it_is_the_study_it_would_have_been(tmp_path):
    plan = plan_of(space=SEARCH)
    with sweep(RAW, plan, keyed(tmp_path / "once.study"), workers=1) as study:
        wanted, fresh, labels = table_of(study), fresh_of(study), [s.label for s in study.scenarios]
    path = keyed(tmp_path / "often.study")
    sweep_with_stops(plan, path, stops=(1, 60, 150, 330))
    with Study.open(path) as study:
        assert study.progress.state == "finished"
        assert [s.label for s in study.scenarios] == labels
        assert table_of(study) == wanted and fresh_of(study) == fresh


def test_a_larger_budget_extends_a_study(tmp_path):
    path = keyed(tmp_path / "s.study")
    with sweep(RAW, plan_of(space=SEARCH), path, workers=1) as study:
        few = [s.label for s in study.scenarios]
    more = plan_of(space={**SEARCH, "budget": 120})
    with pytest.raises(UsageError, match=r"space.budget: the study has 80, asked 120. More of the same can be added"):
        sweep(RAW, more, path, workers=1)
    with sweep(RAW, more, path, workers=1, extend=True) as study:
        assert [s.label for s in study.scenarios][: len(few)] == few and len(study.scenarios) == 120
    with pytest.raises(UsageError, match="the new plan leaves out 60 of its scenarios"):
        sweep(RAW, plan_of(space={**SEARCH, "rates": ("0.1",), "budget": 120}), path, workers=1, extend=True)


def test_a_search_needs_a_risk_and_a_utility(tmp_path):
    with pytest.raises(UsageError, match="a search compare risk with utility, and the plan has no measure of utility"):
        sweep(RAW, plan_of(space=SEARCH, measures=("small_cells",)), tmp_path / "s.study")
    assert not (tmp_path / "s.study").exists()


# -- the plan and the command ----------------------------------------------------------------------------------------


def test_the_plan_says_it():
    plan = plan_of(space=SEARCH)
    text = plan_to_toml(plan)
    assert "search = true" in text and "budget = 80" in text and "swap_sizes" not in text
    assert plan_from_toml(text) == plan
    found = edit_plan(plan_of(), search=True, budget=50)
    assert found.space.search and found.space.budget == 50 and found.space.swap_sizes == ()
    assert not edit_plan(found, swap_sizes=[1]).space.search
    assert edit_plan(found, replicates=9).space.search, "other edits leave the description"
    with pytest.raises(UsageError, match="the space is described by all_specs and search; choose one"):
        edit_plan(plan_of(), all_specs=True, search=True)
    with pytest.raises(UsageError, match="budget == 0, must be at least 1"):
        plan_of(space={**SEARCH, "budget": 0})


def test_an_estimate_enumerates_nothing():
    d = 20
    wide = Small(tuple(tuple((i >> (j % 6)) & 1 for j in range(d)) for i in range(64)), (2,) * d)
    plan = wide.plan(space=replace(plan_of(space=SEARCH).space, budget=500))
    candidates, seconds, *_ = estimate(plan, code(wide.raw(), plan))
    assert candidates == 500 * 8 and seconds > 0


def test_the_commands(tmp_path, capsys):
    asked = ["--search", "--budget", "60", "--rates", "0.02,0.1", "--replicates", "5"]
    assert main(["space", "czech", *asked]) == 0
    said = capsys.readouterr().out
    assert "specs: 2,817 distinct ones, of which the search looks at 30 at most" in said
    assert "runs: at most 300 (4 to 5 replicates of each scenario)" in said
    path = keyed(tmp_path / "s.study")
    assert main(["sweep", "czech", "--study", str(path), *asked, "--workers", "1"]) == 0
    assert "looked at 30 of 2,817 specs (1.06 %); the last fifth of them added" in capsys.readouterr().out


# -- how much it finds -----------------------------------------------------------------------------------------------


def volumes(raw, plan: Plan, folder: Path, share: float, keys: int) -> list[float]:
    """Hypervolume that searches find at a share of the candidates, of that of all of them, on the same means."""
    whole = replace(plan, space=replace(plan.space, search=False, all_specs=True, replicates=8))
    found, merging = [], merging_of(plan, code(raw, plan))

    def same(spec: ReleaseSpec) -> tuple[str, str]:
        return canonical(spec.attributes, merging).roles, spec.rate

    for seed in range(keys):
        key = bytes([seed + 1]) * 16
        with sweep(raw, whole, keyed(folder / f"all{seed}.study", key)) as study:
            view = risk_utility_map(study)
            losses = view.summary.loss[:, [view.risk, view.utility]]
            place_of = {same(s.spec): s.index for s in study.scenarios}
            # doing nothing is the riskiest choice worth a look
            corner = np.array([view.original_losses[view.risk], np.nanmax(losses[:, 1])])
        budget = int(share * len(place_of))
        part = replace(plan, space=replace(plan.space, budget=budget, replicates=8))
        with sweep(raw, part, keyed(folder / f"part{seed}.study", key)) as study:
            on = np.flatnonzero(risk_utility_map(study).dominance.undominated)
            here = [place_of[same(study.scenarios[place].spec)] for place in on.tolist()]
        found.append(hypervolume(losses[here], corner) / hypervolume(losses, corner))
    return found


@pytest.mark.slow
def test_a_fifth_of_the_czech_candidates_holds_the_frontier(tmp_path):
    raw, plan = load("czech")
    plan = edit_plan(plan, search=True, rates=["0.02", "0.05", "0.1"])
    found = volumes(raw, plan, tmp_path, 0.2, 3)
    print(f"czech, 20 % of 8,451 candidates: {[f'{v:.2%}' for v in found]} of the hypervolume")
    assert np.mean(found) >= 0.95 and min(found) >= 0.9
