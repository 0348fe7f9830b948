"""The circulating copy holds no field that depends on the rate."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from engine.plan import DecisionPlan, SpacePlan
from engine.report.circulating import CIRCULATING, circulating, page, write_circulating
from engine.report.decision_pages import pages
from tests.engine.report.conftest import Case, N, case_of, plan_of
from tests.engine.report.pages import text_of


def of_rate(folder: Path, rate: str) -> Case:
    """The study of one candidate at a rate."""
    folder.mkdir()
    return case_of(
        folder, plan_of(space=SpacePlan(specs=("A:S",), rates=(rate,), replicates=12), decision=DecisionPlan())
    )


@pytest.mark.slow
def test_two_releases_of_different_rates_have_the_same_copy(tmp_path: Path) -> None:
    cases = [of_rate(tmp_path / rate, rate) for rate in ("0.05", "0.4")]
    first, second = (circulating(case.findings) for case in cases)
    assert first == second
    a, b = (case.findings for case in cases)
    assert a.exposure.unaltered_after != b.exposure.unaltered_after and a.extent != b.extent


def test_the_document_says_once_that_fields_are_left_out_and_holds_no_figure_of_the_release(
    case: Case, tmp_path: Path
) -> None:
    text = text_of(page(case.findings))
    assert text.count("in the numbered copy") == 1
    told = circulating(case.findings)
    assert not {"extent", "claims"} & set(told) and not {"losses", "tallies", "distance"} & set(told["utility"])
    names = re.findall(r'"(\w+)": ', json.dumps(told))
    assert not {"after", "letter", "flagged", "released", "mean", "role", "spec"} & set(names)
    assert not any(name.endswith("_after") for name in names)
    whole, extent = text_of(pages(case.findings)), case.findings.extent
    assert extent is not None
    secret = (extent.asked_amount.removesuffix(" of records"), f"{extent.records:,} of {N} records")
    assert all(figure in whole for figure in secret), "so they are written"
    assert not [figure for figure in secret if figure in text]
    rows = [row["group"] for row in told["exposure"]["groups"]]
    assert rows == sorted(rows) and all(row["before"] for row in told["exposure"]["groups"])
    changed = replace(case.findings, extent=None, claims=None)
    assert circulating(changed) == told
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.report.documents.pdf", lambda page: b"")
        write_circulating(case.findings, tmp_path)
    assert json.loads((tmp_path / CIRCULATING).read_text(encoding="utf-8")) == told
