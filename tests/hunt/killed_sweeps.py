"""Sweeps killed at random moments; see ``tests/hunt/kills.py``."""

from tests.hunt.kills import sweeps as trials

__all__ = ["trials"]
