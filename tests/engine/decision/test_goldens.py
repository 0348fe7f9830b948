"""Texts of the commands that lead to a decision, in six studies."""

from __future__ import annotations

import pytest

from tests.goldens import texts
from tests.goldens.studies import Studies


@pytest.mark.parametrize(("study", "name", "text"), texts.parameters(texts.COMMANDS))
def test_a_command_says_what_it_did_before(studies: Studies, study: str, name: str, text: texts.Text) -> None:
    texts.check(study, name, text(studies[study]))
