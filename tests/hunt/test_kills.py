"""A few kills of every stage: what is left goes on to the same bits."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from tests.hunt import kills
from tests.hunt.test_bad_inputs import MORE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="no process of Windows kills itself with SIGKILL; run them on Linux"),
]


def test_what_a_kill_leaves_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    rng = random.Random(7)
    for stage in kills.prepared(tmp_path):
        # the early kills of a sweep: while it makes its study, and before its log begins
        known = [14, 30] if stage.name == "sweep" else []
        for at in [*known, *(rng.randrange(1, stage.steps + 1) for _ in range(2 * MORE))]:
            folder = tmp_path / f"{stage.name}-{at}"
            assert not kills.trouble(stage, at, folder), f"{stage.name}, killed at step {at} of {stage.steps}"
            shutil.rmtree(folder)
