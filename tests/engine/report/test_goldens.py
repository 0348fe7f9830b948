"""Texts of the documents of six studies, and of board bundles of the first format."""

from __future__ import annotations

import pytest

from tests.goldens import texts
from tests.goldens.studies import Studies


@pytest.mark.parametrize(("study", "name", "text"), texts.parameters(texts.DOCUMENTS))
def test_a_document_reads_as_before(studies: Studies, study: str, name: str, text: texts.Text) -> None:
    texts.check(study, name, text(studies[study]))


def test_each_golden_is_of_a_text() -> None:
    kept = {f"{study}/{name}.txt" for study, names in texts.STUDIES.items() for name in names}
    assert {path.relative_to(texts.GOLDENS).as_posix() for path in texts.GOLDENS.rglob("*.txt")} == kept
