"""docs/limits.md quotes messages that the program has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
QUOTED = re.findall('"([^"]+)"', PAGE)


def sources() -> str:
    """All source text with the quotes at the ends of lines taken out, so that a message reads through."""
    text = "\n".join(
        path.read_text(encoding="utf-8")
        for part in ("engine", "frontier_app")
        for path in sorted((ROOT / part).rglob("*.py"))
    )
    return re.sub(r'"\s*\n\s*f?"', "", text)


def test_the_page_quotes_messages():
    assert len(QUOTED) >= 5


@pytest.mark.parametrize("message", QUOTED)
def test_a_quoted_message_is_one_of_the_program(message):
    assert message in sources()
