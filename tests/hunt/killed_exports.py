"""Exports killed at random moments; see ``tests/hunt/kills.py``."""

from tests.hunt.kills import exports as trials

__all__ = ["trials"]
