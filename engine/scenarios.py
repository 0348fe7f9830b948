"""What a study is about and what became of it, as values: scenarios by place, progress, recorded choices."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from engine.spec import AttributeSpec, ReleaseSpec


@dataclass(frozen=True)
class Scenario:
    """A release spec in a study: its place, its short label (such as ``x7f3``) and what it is."""

    place: int
    label: str
    spec: ReleaseSpec


class Scenarios(Sequence[Scenario]):
    """Scenarios by place, made when they are looked at: a study may hold hundreds of thousands."""

    def __init__(
        self, names: tuple[str, ...], rows: list[tuple[Any, ...]], specs: Sequence[ReleaseSpec] | None = None
    ) -> None:
        self._rows = rows
        self._specs = specs  # by place, where they are at hand
        self._places: dict[str | None, int] | None = None  # made when somebody asks: a sweep never does
        self._coded: dict[str, tuple[np.ndarray, tuple[str, ...]]] = {}
        roles_met = set() if specs is not None else {row[5] for row in rows}
        self._attributes = {roles: AttributeSpec(names, roles) for roles in roles_met}

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Scenario]:
        return map(self._made, self._rows)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    @overload
    def __getitem__(self, place: int) -> Scenario: ...

    @overload
    def __getitem__(self, place: slice) -> list[Scenario]: ...

    def __getitem__(self, place: int | slice) -> Scenario | list[Scenario]:
        if isinstance(place, slice):
            return [self._made(row) for row in self._rows[place]]
        return self._made(self._rows[place])

    def mechanism(self, place: int) -> str:
        """The mechanism of one scenario, without making it."""
        return str(self._rows[place][2])

    def column(self, name: str) -> list[str]:
        """One of label, mechanism, rate and roles of every scenario, without making any."""
        at = {"label": 1, "mechanism": 2, "rate": 3, "roles": 5}[name]
        return [row[at] for row in self._rows]

    def coded(self, name: str) -> tuple[np.ndarray, tuple[str, ...]]:
        """One of mechanism, rate and roles of every scenario as codes, with the values that they stand for in order of
        appearance."""
        if name not in self._coded:
            column = self.column(name)
            where = {value: code for code, value in enumerate(dict.fromkeys(column))}
            codes = np.fromiter((where[value] for value in column), np.int32, len(column))
            self._coded[name] = codes, tuple(where)
        return self._coded[name]

    def place_of(self, label: str | None) -> int | None:
        """The place of a scenario by its label; None where there is no such one."""
        if self._places is None:
            self._places = {row[1]: row[0] for row in self._rows}
        return self._places.get(label)

    def _made(self, row: tuple[Any, ...]) -> Scenario:
        place, label, mechanism, rate, rule, roles, params = row
        if self._specs is not None:
            return Scenario(place, label, self._specs[place])
        # what is stored was checked when it was added, and checking takes most of the time to make a spec
        spec = object.__new__(ReleaseSpec)
        vars(spec).update(
            attributes=self._attributes[roles], rate=rate, rule=rule, mechanism=mechanism, params=_params(params)
        )
        return Scenario(place, label, spec)


@dataclass(frozen=True)
class Progress:
    """State of the sweep that fills a study: ``state`` is new, running, cancelled, finished or failed."""

    state: str
    done: int
    total: int
    started: float
    message: str = ""


@dataclass(frozen=True)
class Choice:
    """A recorded decision: scenario and realisation, the rule in words, the reason given, and when."""

    at: float
    label: str
    replicate: int
    rule: str
    why: str
    state: str
    record: dict[str, Any]


def _params(text: str) -> tuple[tuple[str, str], ...]:
    """A mechanism's parameters as they are stored; the random swap, of which there are very many, has none."""
    return () if len(text) < 3 else tuple((name, value) for name, value in json.loads(text))


def params_text(params: tuple[tuple[str, str], ...]) -> str:
    """What :func:`_params` reads."""
    return json.dumps(params) if params else "[]"
