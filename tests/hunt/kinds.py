"""The kinds of inputs: the module that makes each, and how many belong to a whole hunt and to the quick one.

A module has ``cases(rng, count)``, which the runner tries one by one, or ``trials(rng, count)``, which does its own
trying and yields outcomes; see ``tests/hunt/case.py``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A generator."""

    module: str
    whole: int
    quick: int


KINDS = {
    "data": Kind("tests.hunt.data_files", 2200, 40),
    "codebooks": Kind("tests.hunt.codebooks", 500, 20),
    "plans": Kind("tests.hunt.plans", 2000, 40),
    "entries": Kind("tests.hunt.bad_plans", 2500, 40),
    "checked": Kind("tests.hunt.checked_plans", 600, 0),
    "arguments": Kind("tests.hunt.arguments", 1200, 40),
    "studies": Kind("tests.hunt.studies", 1200, 40),
    "bundles": Kind("tests.hunt.bundles", 800, 30),
    "sweeps": Kind("tests.hunt.killed_sweeps", 100, 0),
    "writers": Kind("tests.hunt.kills_of_sweeps", 60, 0),
    "exports": Kind("tests.hunt.killed_exports", 40, 0),
    "browser": Kind("tests.hunt.browser", 300, 0),
}
