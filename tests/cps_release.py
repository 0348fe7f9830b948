"""Releases of CPS-8D with Race swapped, as a board sees them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from engine.data.io.readers import read_table
from engine.data.table import ContingencyTable
from engine.plan import AttributePlan, DataPlan, DecisionPlan, Plan, SpacePlan
from engine.plan.entries import AnalysisPlan
from engine.report.build_findings import findings
from engine.report.describe import remade
from engine.report.findings import Findings
from engine.study.keys import key_path
from engine.sweeps.sweep import sweep
from tests.shared import shared_file

KEY = "3f9a1c5e7b2d4860a1b2c3d4e5f60718"
REPLICATES = 12
ANALYSES = (
    AnalysisPlan("pay", "AnnSal ~ Age + Edu + Race + Sex", "logistic"),
    AnalysisPlan("hours", "AvgHrs ~ Race + Sex + Age + MS", "multinomial logit"),
)
Released = dict[tuple[str, int], tuple[Findings, np.ndarray]]


def released(folder: Path, wanted: Sequence[tuple[str, int]], analyses: tuple[AnalysisPlan, ...] = ()) -> Released:
    """Return findings and the mask of altered records, by rate and replicate; skips where CPS-8D is absent."""
    raw = read_table(str(shared_file("data", "cps8d.csv")))
    in_text_order = {name: tuple(sorted(raw.columns[name].values.to_pylist())) for name in raw.names}
    plan = Plan(
        DataPlan(tuple(AttributePlan(name, levels=in_text_order[name]) for name in raw.names)),
        space=SpacePlan(specs=("Race:S",), rates=tuple({rate: None for rate, _ in wanted}), replicates=REPLICATES),
        decision=DecisionPlan(max_risk="0.0135"),
        analyses=analyses,
    )
    path = folder / "cps.study"
    key_path(path).write_text(KEY)
    made: Released = {}
    with sweep(raw, plan, path, workers=1) as study:
        labels = {scenario.spec.rate: scenario.label for scenario in study.scenarios}
        for rate, replicate in wanted:
            run = remade(study, raw, labels[rate], replicate)
            made[rate, replicate] = findings(study, run), run.changed
    return made


def largest_by_table(made: Findings) -> dict[str, float]:
    """Return the largest loss in standard errors of each table and analysis."""
    largest: dict[str, float] = {}
    for loss in made.utility.figures:
        largest[loss.of] = max(largest.get(loss.of, 0.0), loss.errors or 0.0)
    return largest


def group_shares(made: Findings, altered: np.ndarray, attribute: str, level: str) -> tuple[float, float]:
    """Return the unaltered records of a group in small cells, as a share of all and of the unaltered ones of it."""
    column = read_table(str(shared_file("data", "cps8d.csv"))).columns[attribute]
    is_member = np.asarray(column.codes) == column.values.to_pylist().index(level)
    exposed = next(row.after for row in made.exposure.groups if row.group == f"{attribute}: {level}")
    return exposed / int(is_member.sum()), exposed / int((is_member & ~altered).sum())


def pair_counts(table: ContingencyTable) -> np.ndarray:
    """Return how many records stand in each cell of the tables of two attributes."""
    cells = []
    for i, j in combinations(range(len(table.domain.shape)), 2):
        counts = np.zeros((table.domain.shape[i], table.domain.shape[j]))
        np.add.at(counts, (table.cells[:, i], table.cells[:, j]), table.counts)
        cells.append(counts.reshape(-1))
    return np.concatenate(cells)
