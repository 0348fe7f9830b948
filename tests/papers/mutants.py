"""Wrong implementations of the papers' mechanisms in place of the engine's, and which rows of the page reject them.

A gate that a wrong implementation passes is no gate.  Each mutant goes through the page's own rows: same data, same
streams, same number of simulations.  A required row rejects it when its figure misses the published one by more than
three standard errors, the larger of the mutant's and of the engine's own being taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from engine.data.microdata import Microdata
from engine.mechanisms.base import Drawn, Mechanism
from engine.release.parameter import Setting
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
from tests.papers.row import Row


class Mutant(NamedTuple):
    """A wrong implementation: its ``code`` on the page, what it does, the page's rows as it makes them.

    ``detectable`` says whether the published figures can tell it from the right one; ``rival`` marks a reading that was
    tried and given up for the published figures' sake; ``files`` of the shared folder are needed; ``made`` is the
    mechanism itself, of those that the law of a small table must reject too.
    """

    code: str
    mechanism: str
    what: str
    rows: Callable[[bool], list[Row]]
    detectable: bool = True
    rival: bool = False
    files: tuple[str, ...] = ()
    made: Mechanism | None = None


@dataclass(frozen=True)
class _Forced(Mechanism):
    """A mechanism some of whose parameters nobody can choose."""

    given: tuple[tuple[str, str], ...] = ()

    def setting(
        self, data: Microdata, parameters: Mapping[str, str], keys: Sequence[int], numeric: Sequence[str] = ()
    ) -> Setting:
        return super().setting(data, {**parameters, **dict(self.given)}, keys, numeric)


def forced(mechanism: Mechanism, **given: str) -> Mechanism:
    """The mechanism with parameters that do not follow the paper."""
    fields = {name: getattr(mechanism, name) for name in mechanism.__dataclass_fields__}
    return _Forced(**fields, given=tuple(given.items()))


def inside(mechanism: Mechanism, module: ModuleType, **functions: Any) -> Mechanism:
    """The mechanism as it would be if functions of a module were others."""

    def prepare(setting: Setting) -> Any:
        with patch.multiple(module, **functions):
            return mechanism.prepare(setting)

    def draw(prepared: Any, setting: Setting, derived: bytes) -> Drawn:
        with patch.multiple(module, **functions):
            return mechanism.draw(prepared, setting, derived)

    return replace(mechanism, prepare=prepare, draw=draw)


def drawing(mechanism: Mechanism, module: ModuleType, **functions: Any) -> Mechanism:
    """The mechanism as it would be if functions of a module that its draw alone calls were others: what it prepares is
    what the right one does."""
    return replace(inside(mechanism, module, **functions), prepare=mechanism.prepare)


def unchanged(mechanism: Mechanism) -> Mechanism:
    """The mechanism that releases the original."""

    def draw(prepared: Any, setting: Setting, derived: bytes) -> Drawn:
        tables = setting["D"] if mechanism.many_tables else 1
        data = setting.data
        return Drawn([ReleasedTable(data)] * tables, RunStatus.OK, np.zeros((tables, data.n_records), bool), {})

    return replace(mechanism, draw=draw)


MUST_BE_REJECTED = ("M1", "D1", "R1", "S1", "G1", "W1", "K1")
"""Doing nothing, of each mechanism, and < for ≤ where cells are counted: every row of grade B rejects one of these."""


class Rejections(NamedTuple):
    """What became of one mutant: required rows that met it by name, those that reject it with the errors apart."""

    mutant: Mutant
    met: tuple[str, ...]
    rejecting: dict[str, float]


def rejections(mutant: Mutant, right: Mapping[str, Row], quick: bool) -> Rejections:
    """Run a mutant through its rows; ``right`` are the engine's own rows of the same size by name."""
    made = [row for row in mutant.rows(quick) if row.required]
    apart = {row.name: right[row.name].rejects(row) for row in made}
    return Rejections(mutant, tuple(apart), {name: z for name, z in apart.items() if z > 0})


def by_row(results: Iterable[Rejections]) -> dict[str, list[str]]:
    """Codes of the mutants that each required row rejects; rows that no mutant met are not in it."""
    codes: dict[str, list[str]] = {}
    for one in results:
        for name in one.met:
            codes.setdefault(name, [])
            if name in one.rejecting:
                codes[name].append(one.mutant.code)
    return codes
