"""The runner sees what it is there to see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hunt.deliberate import WAYS

ROOT = Path(__file__).resolve().parents[2]


def python(*arguments: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
    """A process of its own: a fork of the test's would take the test's threads for its own."""
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=seconds)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on Windows; run the tests on Linux or macOS")
def test_every_way_to_misbehave_is_seen():
    ran = python("-m", "tests.hunt.deliberate")
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout)
    if sys.platform != "linux":  # processes left are adopted, and memory limited, on Linux only
        for way in ("a process", "all memory"):
            del seen[way]
    assert seen == {way: WAYS[way] for way in seen}
