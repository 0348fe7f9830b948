"""No test ignores all warnings: an ignored one is named, by its message or its category."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
BLANKET = re.compile(r"""(filterwarnings|simplefilter)\(\s*["'](ignore|default|once)["']\s*\)""")


@pytest.mark.parametrize("line", ['pytest.mark.filterwarnings("ignore")', "warnings.simplefilter('ignore')"])
def test_a_blanket_filter_is_seen(line: str) -> None:
    assert BLANKET.search(line)


def test_no_test_ignores_all_warnings() -> None:
    blanket = [
        f"{path.relative_to(TESTS).as_posix()}:{number}"
        for path in sorted(TESTS.rglob("*.py"))
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if BLANKET.search(line)
    ]
    assert not blanket
