"""Texts of the pages that show candidates and decisions of six studies."""

from __future__ import annotations

import pytest

from tests.goldens import texts
from tests.goldens.studies import Studies


@pytest.mark.parametrize(("study", "name", "text"), texts.parameters(texts.SCREENS))
def test_a_page_reads_as_before(studies: Studies, study: str, name: str, text: texts.Text) -> None:
    texts.check(study, name, text(studies[study]))
