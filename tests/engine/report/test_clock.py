"""A document is made whatever the clock says: a machine whose battery is empty believes it is 1970."""

from __future__ import annotations

import io
import time
import zipfile

import pytest

from engine.plan import plan_from_toml
from engine.report.plan_document import document_bytes, plan_document
from engine.report.slides import slides_bytes
from engine.report.tables import tables_bytes
from tests.engine.household_survey import PLAN
from tests.engine.report.conftest import Case

CLOCKS = {"1970": 0.0, "1979": 300_000_000.0, "2200": 7_260_000_000.0}
"""Years that no zip can hold, as seconds."""


@pytest.mark.slow
@pytest.mark.parametrize("clock", ["1970", "2200", "1979"])
def test_documents_are_the_same_in_years_that_a_zip_cannot_hold(
    case: Case, monkeypatch: pytest.MonkeyPatch, clock: str
) -> None:
    def made() -> list[bytes]:
        document = plan_document(plan_from_toml(PLAN), None)
        return [document_bytes(document, ".docx"), slides_bytes(case.findings), tables_bytes(case.findings)]

    now = made()
    monkeypatch.setattr(time, "time", lambda: CLOCKS[clock])
    for before, content in zip(now, made(), strict=True):
        assert content == before
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            assert {info.date_time for info in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
