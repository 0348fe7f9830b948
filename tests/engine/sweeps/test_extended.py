"""A study asked for more, and refused where it is asked for less or for something else."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from engine.common.errors import UsageError
from engine.plan import SpacePlan
from engine.study.study import Study
from engine.sweeps.sweep import sweep
from tests.engine.small_studies import keyed, plan_of, swept, table_of
from tests.small_tables import Small


@pytest.fixture
def path(tmp_path) -> Path:
    """Where a study goes whose key is known."""
    return keyed(tmp_path / "s.study")


@pytest.mark.slow
def test_extending_gives_the_rows_of_asking_at_once(path, tmp_path):
    small = swept(path, plan_of(space={"swap_sizes": (1,), "rates": ("0.1",), "replicates": 2}))
    with Study.open(path) as study:
        labels = [scenario.label for scenario in study.scenarios]
    rates = swept(path, plan_of(space={"swap_sizes": (1,), "replicates": 2}), extend=True)
    sizes = swept(path, plan_of(space={"replicates": 2}), extend=True)
    whole = swept(path, plan_of(), extend=True)
    assert len(small) < len(rates) < len(sizes) < len(whole) == 80
    assert set(small) < set(rates) < set(sizes) < set(whole)
    assert swept(keyed(tmp_path / "whole.study"), plan_of()) == whole
    with Study.open(path) as study:
        assert [scenario.label for scenario in study.scenarios][: len(labels)] == labels, "ids given once stay"
        assert study.plan == plan_of()
    assert swept(path) == whole, "nothing left to do"


@pytest.mark.slow
def test_extending_from_specs_to_all_of_them(path):
    some = plan_of(space={"swap_sizes": (), "specs": ("A:S B:F C:C", "D:S")})
    every = plan_of(space={"swap_sizes": (), "all_specs": True, "replicates": 4})
    first = swept(path, some)
    assert set(first) < set(swept(path, every, extend=True))


@pytest.mark.slow
def test_extending_keeps_the_spec_that_was_run_among_those_that_are_the_same(path):
    """Of three attributes, A:S C:S and its complement are the same release; all specs would list another one first."""
    cube = Small(tuple(product(range(2), repeat=3)) * 3, (2, 2, 2))
    few, all_of_them = ({"swap_sizes": (1, 2)}, {"all_specs": True})

    def run(**space) -> list[tuple]:
        plan = cube.plan(space=SpacePlan(rates=("0.1",), replicates=2, **space))
        with sweep(cube.raw(), plan, path, workers=1, extend=True) as study:
            return table_of(study)

    first = run(**few)
    every = run(**all_of_them)
    assert len(first) == 12 and len(every) == 30 and set(first) < set(every)
    assert run(**all_of_them) == every


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"space": {"rates": ("0.1", "0.2", "0.5")}}, "space.rates: the study has 0.1, 0.5, asked 0.1, 0.2, 0.5. More"),
        ({"space": {"replicates": 5}}, "space.replicates: the study has 4, asked 5. More of the same can be added"),
        ({"space": {"rule": "loose"}}, "space.rule: the study has strict, asked loose."),
        ({"measures": ("small_cells", "hellinger")}, "measures: the study has small_cells, hellinger, total_variation"),
        ({"keys": ("A",)}, "keys: the study has A, B, C, D, asked A."),
    ],
)
def test_another_plan_is_refused_with_the_difference(path, parts, words):
    swept(path, plan_of())
    with pytest.raises(UsageError) as got:
        swept(path, plan_of(**parts))
    assert "study 's.study' has another plan: " in str(got.value) and words in str(got.value)


@pytest.mark.slow
def test_extending_refuses_less_and_other(path):
    swept(path, plan_of())
    for parts, words in (
        ({"space": {"replicates": 3}}, "space.replicates: the study has 4, asked 3"),
        ({"space": {"rates": ("0.1",)}}, "a study is only added to; the new plan leaves out 10 of its scenarios"),
        ({"space": {"rule": "loose"}}, "space.rule: the study has strict, asked loose"),
        ({"keys": ("A",)}, "keys: the study has A, B, C, D, asked A"),
    ):
        with pytest.raises(UsageError) as got:
            swept(path, plan_of(**parts), extend=True)
        assert words in str(got.value) and "can be added" not in str(got.value)
    with Study.open(path) as study:
        assert study.plan == plan_of() and len(study.runs.results()) == 80
