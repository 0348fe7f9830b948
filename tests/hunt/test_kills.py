"""A few kills of exports; ``python -m tests.hunt --only exports`` tries forty."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux", reason="processes are found and adopted on Linux alone; run the tests there"
    ),
]


def test_an_export_killed_alone_or_with_what_clears_up_leaves_nothing_or_all() -> None:
    # in a process of its own, since it takes in whatever its children leave behind
    words = [sys.executable, "-m", "tests.hunt", "--only", "exports", "--count", "3", "--seed", "5"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "0 not as they should be" in ended.stdout
