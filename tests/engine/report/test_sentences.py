"""Sentences in counts beside counts made on the released records themselves."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from engine.plan import DecisionPlan, SpacePlan
from engine.plan.entries import MechanismPlan
from engine.report.describe import remade
from engine.report.sentences import exposed, headline
from engine.study.map_reader import risk_utility_map
from engine.sweeps.remake import Remade
from engine.sweeps.sweep import sweep
from tests.engine.report.conftest import plan_of, raw_table

N_RULE = 12


def counted(realisation: Remade, keys: tuple[str, ...]) -> float:
    """Unaltered records in small cells, from the records; a mean over tables."""
    attributes = [realisation.data.domain.names.index(name) for name in keys]
    old = list(zip(*(realisation.data.codes[j].tolist() for j in attributes), strict=True))
    counts = []
    for table in range(len(realisation.tables)):
        new = list(zip(*(realisation.codes(j, table).tolist() for j in attributes), strict=True))
        size = Counter(new)
        counts.append(sum(a == b and size[b] < N_RULE for a, b in zip(old, new, strict=True)))
    return sum(counts) / len(counts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "mechanisms"),
    [
        (("B", "C", "D"), ()),
        (("B", "C", "D"), (MechanismPlan("pram", (("theta", ("0.8",)), ("vars", ("A",)))),)),
        (("B", "C", "D"), (MechanismPlan("pram", (("theta", ("0.8",)), ("vars", ("B",)))),)),
        (("B", "C", "D"), (MechanismPlan("pram", (("theta", ("0.8",)), ("vars", ("A+B",)))),)),
        (("B", "C", "D"), (MechanismPlan("maps", (("w0", ("0.2",)), ("s", ("9",)), ("D", ("2",)))),)),
        (("B", "C", "D"), (MechanismPlan("smike", (("s", ("9",)), ("D", ("3",)))),)),
        (("B", "C"), (MechanismPlan("rds", (("rate", ("0.2",)),)),)),
        (("B", "C"), (MechanismPlan("cgs", (("strata", ("A+D",)), ("n_swap", ("5",)))),)),
    ],
    ids=["swap", "pram-elsewhere", "pram-on-a-key", "pram-on-both", "maps", "smike", "rds", "strata-elsewhere"],
)
def test_only_changes_of_what_is_tabulated_count_as_altered(keys, mechanisms, tmp_path: Path):
    plan = plan_of(
        keys=keys,
        swap=("A", "B"),
        analyses=(),
        edits=(),
        mechanisms=mechanisms,
        measures=(f"small_cells[n_rule={N_RULE}]", "k_anonymity[attributes=A+B]", "hellinger"),
        decision=DecisionPlan(),
        space=SpacePlan(swap_sizes=(1, 2), rates=("0.0537", "0.2113"), replicates=6),
    )
    raw = raw_table()
    study = sweep(raw, plan, tmp_path / "s.study", workers=1)
    view = risk_utility_map(study, "small_cells")  # of several tables the joint risk would decide
    for scenario in study.scenarios:
        runs = [counted(remade(study, raw, scenario.label, r), keys) for r in range(1, 7)]
        counts = exposed(study, view, scenario.index)
        assert counts is not None
        assert (counts.low, counts.high) == (min(runs), max(runs))
        assert counts.mean == pytest.approx(np.mean(runs))


def test_a_count_that_neither_runs_nor_shares_give_is_not_made_up(tmp_path: Path):
    mechanisms = (MechanismPlan("pram", (("theta", ("0.8",)), ("vars", ("A+B",)))),)
    plan = plan_of(keys=("B", "C", "D"), analyses=(), mechanisms=mechanisms)
    study = sweep(raw_table(), plan, tmp_path / "s.study", workers=1)
    with study.database.transaction() as db:
        db.execute("delete from note where measure < -1")  # as in a study whose runs noted no counts
    view = risk_utility_map(study)
    assert exposed(study, view, 0) is None
    told = headline(study, view, 0, "B").values
    assert told["after"] is None and told["share"] == view.summary.mean[0, view.risk]
