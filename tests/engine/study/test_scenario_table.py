"""Scenarios are added as arrays: the same rows as one by one, and in memory what a reader finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import EngineError
from engine.common.untrusted import sum_of
from engine.plan import SpacePlan
from engine.release.scenarios import params_text
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.release.specs import ReleaseSpecs
from engine.study import runs as scenario_rows
from engine.study import runs as scenario_table
from engine.study.study import Study
from tests.examples import examples
from tests.small_tables import Small
from tests.twins.ids import short_ids

SMALL = Small(((0, 0, 0), (1, 1, 1)), (2, 2, 2))
ABOUT = {"attributes": list(SMALL.names), "measures": ["small_cells", "hellinger"], "n_records": 2}
SPECS = st.one_of(
    st.builds(
        lambda roles, rate, params: ReleaseSpec(AttributeSpec(SMALL.names, roles), rate, params=params),
        st.text("SFCU", min_size=3, max_size=3),
        st.sampled_from(("0.1", "0.2")),
        st.sampled_from(((), (("lean", "1"),))),
    ),
    st.sampled_from(("ü", "0.9")).map(
        lambda w: ReleaseSpec(SMALL.spec("SSU"), "", mechanism="maps", params=(("w0", w),))
    ),
)


def a_study() -> Study:
    plan = SMALL.plan(space=SpacePlan(swap_sizes=(1,), rates=("0.1", "0.2"), replicates=3))
    return Study.create_in_memory(plan, ABOUT, {"small_cells": 0.5, "hellinger": 0.0})


@pytest.mark.slow
@given(st.lists(st.lists(SPECS, max_size=25), max_size=4), st.sampled_from((1, 7, 50_000)))
@examples(60)
def test_rows_are_those_made_one_by_one(steps, at_once):
    known: dict[ReleaseSpec, None] = {}
    with a_study() as study, pytest.MonkeyPatch.context() as patch:
        patch.setattr(scenario_rows, "_CHUNK", at_once)
        for added in steps:
            known |= dict.fromkeys(added)
            indices = study.scenario_table.add(added)
            assert indices.tolist() == [list(known).index(spec) for spec in added]
        labels = short_ids([spec.digest() for spec in known], {})
        rows = [
            (index, label, s.mechanism, s.rate, s.rule, s.attributes.roles, params_text(s.params))
            for index, (label, s) in enumerate(zip(labels, known, strict=True))
        ]
        stored = study.database.rows("select * from scenario order by id")
        assert stored == [(*row, sum_of(row)) for row in rows]
        read = study.scenario_table.read()
        assert study.scenarios == read and study.scenarios.specs == list(known)
        for name, array in read.arrays().items():
            np.testing.assert_array_equal(study.scenarios.arrays()[name], array)


def test_scenarios_that_were_just_written_are_not_read_back(monkeypatch):
    specs = ReleaseSpecs.product([SMALL.spec(roles) for roles in ("SUU", "USU")], ["0.1", "0.2"])
    further = ReleaseSpecs.product([SMALL.spec("SFU")], ["0.1"])
    with a_study() as study:
        monkeypatch.setattr(scenario_table, "insert_scenarios", counted := _Counted(scenario_rows.insert_scenarios))
        study.scenario_table.add(specs)
        monkeypatch.setattr(scenario_table.ScenarioTable, "read", None)
        study.scenario_table.add(further)
        study.scenario_table.add(specs)
        assert study.scenarios.specs == [*specs, *further] and counted.calls == 2


class _Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *args):
        self.calls += 1
        return self.function(*args)


def test_two_candidates_of_one_label_are_refused_from_the_first_rows_on(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, third = (ReleaseSpec(AttributeSpec(SMALL.names, roles), "0.1") for roles in ("SSU", "SUU", "USU"))
    with a_study() as study:
        with monkeypatch.context() as mistaken:
            mistaken.setattr(scenario_table, "short_ids", lambda digests, taken: np.full(len(digests), b"x000", "S4"))
            with pytest.raises(EngineError, match="UNIQUE"):
                study.scenario_table.add([one, other])
        assert study.scenario_table.count() == 0
        study.scenario_table.add([one, other])
        monkeypatch.setattr(scenario_table, "short_ids", lambda digests, taken: taken[:1])
        with pytest.raises(EngineError, match="UNIQUE"):
            study.scenario_table.add([third])
        assert study.scenario_table.count() == 2
