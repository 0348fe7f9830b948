"""The Titanic's passengers, where the shared folder has them, as the papers' analyses use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from engine.data.io.readers import read_table
from engine.data.microdata import Microdata
from engine.models.record_release import RecordRelease
from engine.plan import AnalysisPlan, AttributePlan, DataPlan, Plan
from engine.plan.coding import code
from engine.release.records import ReleasedTable
from tests.frames import frame_of
from tests.shared import shared_file

REG1 = AnalysisPlan("Reg1", "Survived ~ Pclass + Sex + Age", "logistic")
REG2 = AnalysisPlan("Reg2", "Survived ~ Age + Fare", "logistic", ("Pclass", "Sex"))
FARES = AnalysisPlan("fares", "log(Fare + 1) ~ Pclass * Sex + Age")
SIBLINGS = AnalysisPlan("siblings", "SibSp ~ Sex + Age", "poisson")


def plan(*analyses: AnalysisPlan, **data: Any) -> Plan:
    attributes = tuple(AttributePlan(name) for name in ("Survived", "Pclass", "Sex"))
    data = {"carry": ("Age", "SibSp", "Parch", "Fare"), "drop": ("PassengerId",), **data}
    return Plan(DataPlan(attributes, **data), analyses=analyses)


def passengers() -> Microdata:
    """891 records, 177 of them without an age."""
    return code(read_table(shared_file("data", "titanic.csv")), plan())


def swapped(data: Microdata, *analyses: AnalysisPlan, tables: int = 1, pairs: int = 40, seed: int = 1) -> RecordRelease:
    """Releases in which some random pairs exchange class and sex."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(tables):
        source = np.arange(data.n_records)
        drawn = random.permutation(data.n_records)[: 2 * pairs].reshape(-1, 2)
        source[drawn[:, 0]], source[drawn[:, 1]] = drawn[:, 1], drawn[:, 0]
        made.append(ReleasedTable(data, source, (1, 2)))
    return RecordRelease(ReleasedTable(data), made, plan(*analyses))


def frame(table: ReleasedTable) -> pd.DataFrame:
    """The complete cases of a table for statsmodels, with the event as 0 and 1."""
    found = frame_of(table, ["Pclass", "Sex", "Age", "SibSp", "Fare"])
    found["Survived"] = table.codes(0).astype(float)
    return found.dropna()
