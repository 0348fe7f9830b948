"""A file large enough that a swap of one attribute shows in its figures, swept once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from engine.data.microdata import RawColumn, RawTable
from engine.decision.choice import choose
from engine.plan import AttributePlan, DataPlan, DecisionPlan, Plan, PublishPlan, SpacePlan, TablePlan
from engine.report.build_findings import findings
from engine.report.describe import remade
from engine.report.findings import Findings
from engine.study.keys import key_path
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.sweep import sweep

N = 8000
KEY = "3f9a1c5e7b2d4860a1b2c3d4e5f60718"


@dataclass(frozen=True)
class Swept:
    """A study with its data, what the chair would see of its only candidate, and the share of records it changed."""

    study: Study
    raw: RawTable
    findings: Findings
    share: float


def raw_table() -> RawTable:
    """Three attributes that hang on a fourth one, and a number; the same every time."""
    rng = np.random.default_rng(11)
    group = (rng.random(N) < 0.25).astype(int)
    work = (rng.random(N) < 0.3 + 0.4 * group).astype(int)
    town = np.minimum(4, rng.poisson(1 + group))
    age = np.minimum(60, rng.geometric(0.12, N))
    pay = np.round(1000 + 300 * group + rng.normal(0, 200, N))
    texts = {"group": group, "work": work, "town": town, "age": age, "pay": pay.astype(int)}
    columns = {}
    for name, values in texts.items():
        named = [str(v) if name == "pay" else f"{name[0]}{v}" for v in values]
        levels, codes = np.unique(np.array(named), return_inverse=True)
        columns[name] = RawColumn(name, pa.array(levels.tolist()), codes.astype(np.int32))
    return RawTable(columns, N, "made")


def swept(folder: Path, rate: str = "0.1", members_rate: str = "withhold") -> Swept:
    """The study of one candidate, which exchanges ``group``, in a folder."""
    raw, names = raw_table(), ("group", "work", "town", "age")
    in_text_order = {name: tuple(sorted(raw.columns[name].values.to_pylist())) for name in names}
    plan = Plan(
        DataPlan(
            tuple(AttributePlan(name, levels=in_text_order[name]) for name in names), numeric=("pay",), carry=("pay",)
        ),
        space=SpacePlan(specs=("group:S",), rates=(rate,), replicates=10),
        decision=DecisionPlan(max_risk="0.5"),
        tables=(TablePlan("work by group", ("group", "work")),),
        publish=PublishPlan(members_rate=members_rate),  # type: ignore[arg-type]
    )
    path = folder / "members.study"
    key_path(path).write_text(KEY)
    study = sweep(raw, plan, path, workers=1)
    label = study.scenarios[0].label
    choice = choose(study, risk_utility_map(study), "the only candidate", candidate=label, by="somebody")
    run = remade(study, raw, choice.label, choice.replicate)
    return Swept(study, raw, findings(study, run), float(run.changed.mean()))
