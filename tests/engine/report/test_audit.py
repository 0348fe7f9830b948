"""The audit counts missing values before and after."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.data.domain import KINDS
from engine.data.microdata import Microdata
from engine.decision.statements import Statement, statement
from engine.models.record_release import RecordRelease
from engine.plan import AttributePlan, Plan
from engine.plan.types import DataPlan
from engine.release.records import ReleasedTable
from engine.report.audit import _missing
from tests.numeric_data import numbered


def some(lacking: bool) -> Microdata:
    data = numbered({"job": [0, 1, 2, 2, 1], "sex": [0, 1, 0, 1, 0]}, {})
    job, sex = data.domain.attributes
    kinds = (KINDS[0], KINDS[0], KINDS[2] if lacking else KINDS[0])
    return replace(data, domain=replace(data.domain, attributes=(replace(job, kinds=kinds), sex)))


@pytest.mark.parametrize(
    ("lacking", "job", "found", "holds"),
    [
        (False, [0, 1, 2, 2, 1], statement("none_missing"), True),
        (True, [2, 2, 0, 1, 1], statement("missing_kept", counts=("2 of job",), more=0), True),
        (True, [2, 2, 2, 1, 1], statement("missing_changed", attributes=("job",)), False),
    ],
)
def test_missing_values_are_counted_before_and_after(
    lacking: bool, job: list[int], found: Statement, holds: bool
) -> None:
    data = some(lacking)
    table = ReleasedTable(data, replaced={0: np.array(job, np.int32)})
    check = _missing(
        RecordRelease(ReleasedTable(data), [table], Plan(DataPlan((AttributePlan("job"), AttributePlan("sex")))))
    )
    assert check == (found, holds)
