"""Data and reference values that do not ship: folder ``shared`` beside the checkout, or where FRONTIER_SHARED says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def folder() -> Path:
    """Where the shared files would be; the folder need not exist."""
    named = os.environ.get("FRONTIER_SHARED")
    return Path(named) if named else Path(__file__).resolve().parents[2] / "shared"


def shared_file(*parts: str) -> Path:
    """A shared file; the test is skipped where it is absent."""
    path = folder().joinpath(*parts)
    if not path.is_file():
        pytest.skip(
            "what does not ship is absent; lay the folder `shared` beside the checkout or name it in FRONTIER_SHARED"
        )
    return path
