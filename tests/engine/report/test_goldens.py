"""Texts of the documents of six studies, and of board bundles of the first format."""

from __future__ import annotations

import pytest

from engine.report.decision_pages import pages
from engine.report.findings import Findings
from tests.engine.report.test_earlier_formats import old
from tests.goldens import texts
from tests.goldens.studies import Studies


@pytest.mark.parametrize(("study", "name", "text"), texts.parameters(texts.DOCUMENTS))
def test_a_document_reads_as_before(studies: Studies, study: str, name: str, text: texts.Text) -> None:
    texts.check(study, name, text(studies[study]))


@pytest.mark.parametrize("name", texts.FORMAT_1)
def test_a_bundle_of_the_first_format_reads_as_before(name: str) -> None:
    texts.check("format_1", name, texts.text_of(pages(Findings.from_json(old(name)))))


def test_each_golden_is_of_a_text() -> None:
    kept = {f"{study}/{name}.txt" for study, names in texts.STUDIES.items() for name in names}
    kept |= {f"format_1/{name}.txt" for name in texts.FORMAT_1}
    assert {path.relative_to(texts.GOLDENS).as_posix() for path in texts.GOLDENS.rglob("*.txt")} == kept
