"""An export goes through where no PDF can be made, and says so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engine.bundle import export
from engine.common.output import Message
from engine.data.microdata import RawTable
from engine.report.documents import why_no_pdf
from engine.study.study import Study

pytestmark = pytest.mark.slow  # whole bundles are made


@pytest.mark.parametrize(("tier", "told"), [("board", 1), ("analyst", 0)])
def test_an_export_says_that_the_pdf_is_missing(
    home: tuple[Path, RawTable], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tier: str, told: int
) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    why_no_pdf.cache_clear()
    messages: list[Message] = []
    try:
        with Study.open(home[0] / "household.study") as study:
            out = export(study, home[1], None, tmp_path / "out", tier=tier, tell=messages.append)
        note = Message("note", f"the memo is not made as a PDF: {why_no_pdf()}")
        assert [message for message in messages if message.kind == "note"] == [note] * told
    finally:
        why_no_pdf.cache_clear()
    assert (out / "memo.docx").exists() is bool(told) and not (out / "memo.pdf").exists()
