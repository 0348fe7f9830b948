"""A script run with compiled kernels and in plain Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


def compiled_and_plain(script: str) -> tuple[Any, Any]:
    """The JSON that ``script`` prints with compiled kernels, and without."""
    compiled, plain = (_printed(script, numba) for numba in ("1", "0"))
    return compiled, plain


def _printed(script: str, numba: str) -> Any:
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=os.environ | {"FRONTIER_NUMBA": numba},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)
