"""A small survey with weights and numbers, swept once, and its recommended release."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from engine.data.domain import EditRule
from engine.data.microdata import RawColumn, RawTable
from engine.decision.choice import choose
from engine.plan import AttributePlan, DataPlan, DecisionPlan, Plan, SpacePlan, TablePlan, ThreatPlan
from engine.plan.entries import AnalysisPlan, MechanismPlan
from engine.report.build_findings import findings
from engine.report.describe import remade
from engine.report.findings import Findings
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.remake import Remade
from engine.sweeps.sweep import sweep

N = 240
MEASURES = ("small_cells", "hellinger", "total_variation", "cramers_v_change")


@dataclass
class Case:
    """A study with the release that it recommends, and what a board sees of it."""

    study: Study
    realisation: Remade
    findings: Findings


def raw_table() -> RawTable:
    """Four attributes that hang together, two numbers, a weight and an id; the same every time."""
    rng = np.random.default_rng(7)
    a = rng.integers(0, 3, N)
    b = (a + (rng.random(N) < 0.3)) % 2
    c = np.minimum(3, rng.geometric(0.5, N) - 1)
    d = rng.integers(0, 2, N)
    x = np.round(10 + 5 * a + rng.normal(0, 3, N), 1)
    y = np.round(2 * x + rng.normal(0, 4, N), 1)
    texts = {
        "A": [f"a{v}" for v in a],
        "B": [f"b{v}" for v in b],
        "C": [f"c{v}" for v in c],
        "D": [f"d{v}" for v in d],
        "x": [str(v) for v in x],
        "y": [str(v) for v in y],
        "w": [str(v) for v in rng.integers(1, 9, N)],
        "id": [str(v) for v in range(N)],
    }
    columns = {}
    for name, values in texts.items():
        levels, codes = np.unique(np.array(values), return_inverse=True)
        columns[name] = RawColumn(name, pa.array(levels.tolist()), codes.astype(np.int32))
    return RawTable(columns, N, "secret-source-name")


def plan_of(**parts: Any) -> Plan:
    """A plan on it, with rates that no figure equals by chance; ``parts`` replace parts of the plan."""
    given: dict[str, Any] = {
        "data": DataPlan(
            tuple(AttributePlan(name) for name in "ABCD"), weight="w", id="id", carry=("x", "y"), numeric=("x", "y")
        ),
        "space": SpacePlan(swap_sizes=(1, 2), rates=("0.0537", "0.2113"), replicates=12),
        "measures": MEASURES,
        "decision": DecisionPlan(max_risk="0.5"),
        "analyses": (AnalysisPlan("pay", "x ~ A + B + D", "linear"),),
        "tables": (TablePlan("A by B", ("A", "B")),),
        "edits": (EditRule("no a0 with c3", (("A", ("a0",)), ("C", ("c3",)))),),
        "threat": ThreatPlan("somebody next door", ("/data/lists/voters.csv",), "shame"),
    }
    return Plan(**{**given, **parts})


def case_of(folder: Path, plan: Plan, why: str = "it loses least within the limit") -> Case:
    """Sweep, recommend and remake."""
    raw = raw_table()
    study = sweep(raw, plan, folder / "private-study-name.study", workers=1)
    view = risk_utility_map(study)
    frontier = list(view.frontier())
    frontier = [k for k in frontier if view.risk_loss[k] < view.original_losses[view.risk]] or frontier
    index = int(frontier[len(frontier) // 2])
    label = view.scenarios[index].label
    choice = choose(study, view, why.replace("LABEL", label), candidate=label, by="someuser")
    realisation = remade(study, raw, choice.label, choice.replicate)
    return Case(study, realisation, findings(study, realisation))


MECHANISMS = {
    "rds": MechanismPlan("rds", (("s", ("3",)), ("rate", ("0.0731",)))),
    "pram": MechanismPlan("pram", (("theta", ("0.9", "0.9317")),)),
}


@pytest.fixture(scope="session")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """The recommended release of the plain plan."""
    return case_of(tmp_path_factory.mktemp("report"), plan_of())
