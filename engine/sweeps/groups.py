"""Groups of scenarios that share work, as arrays, and batches of tasks that travel as a few arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np

from engine.common.raw_values import first_places, in_use
from engine.data.table import ContingencyTable
from engine.mechanisms import mechanism
from engine.mechanisms.base import Mechanism
from engine.release.spec import ReleaseSpec, Structure, multi_kind
from engine.release.specs import Procedure, ReleaseSpecs, first_of_structure

_GOLDEN = (5**0.5 - 1) / 2
_NEIGHBOURHOODS = 64  # runs of neighbours of a mechanism: their rows lie together in the study, which stores them fast


class SplitKept(NamedTuple):
    """Places of the attributes of a table on which it matters to pairs whether they are swapped or changed: several
    kinds of level occur there, or refusing edit rules look at them."""

    several_kinds: tuple[int, ...]
    ruled: tuple[int, ...]

    @classmethod
    def on(cls, table: ContingencyTable) -> SplitKept:
        """Return those of a table."""
        return cls(multi_kind(table), tuple(table.domain.ruled))


class Group:
    """Scenarios that share work: their ``indices`` in the study, and their ``specs`` in the same order.

    Scenarios of a mechanism with a batched draw share a ``structure``, and so their pairs.  Those of another one (no
    structure) share its fit.
    """

    def __init__(self, indices: np.ndarray, specs: ReleaseSpecs, split_kept: SplitKept) -> None:
        self.indices, self.specs, self.split_kept = indices, specs, split_kept

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def mechanism(self) -> str:
        """The name of the mechanism of all scenarios."""
        first: int = self.specs.procedure_codes.item(0)
        return self.specs.procedures[first].mechanism

    @property
    def over_cells(self) -> bool:
        """True where the mechanism draws over cells, and scenarios share a structure."""
        return _batched(self.mechanism)

    @property
    def published_roles(self) -> tuple[bytes, str] | None:
        """Roles and rule of the first scenario, where nothing else decides on the pairs of the swap as published."""
        procedure = self.specs.procedures[self.specs.procedure_codes.item(0)]
        if not procedure.by_roles or procedure.params or self.split_kept.ruled:
            return None
        return self.specs.specs.roles[self.specs.spec_codes.item(0)].tobytes(), procedure.rule

    @cached_property
    def structure(self) -> Structure | None:
        """The structure that all scenarios share; None where the mechanism draws over records."""
        if not _batched(self.mechanism):
            return None
        specs = self.specs
        procedure = specs.procedures[specs.procedure_codes.item(0)]
        if procedure.params:
            return specs[0].structure(*self.split_kept)
        roles = specs.specs.roles[specs.spec_codes.item(0)].tobytes().decode("ascii")  # a spec of its own costs more
        return Structure.of_roles(roles, procedure.rule, *self.split_kept, None)

    @property
    def scenarios(self) -> tuple[tuple[int, ReleaseSpec], ...]:
        """Each scenario as its index and its spec, made when somebody asks."""
        return tuple(zip(self.indices.tolist(), self.specs, strict=True))

    def part(self, chosen: np.ndarray | slice) -> Group:
        """The group of some of its scenarios: those at these places, or where a mask is true."""
        return Group(self.indices[chosen], self.specs.take(chosen), self.split_kept)


class Groups(Sequence[Group]):
    """Groups over one table, each made when it is looked at: the k-th consists of the scenarios from ``bounds[k]`` to
    ``bounds[k + 1]`` of ``indices`` (in the study) and ``specs``."""

    def __init__(self, indices: np.ndarray, specs: ReleaseSpecs, bounds: np.ndarray, split_kept: SplitKept) -> None:
        self.indices, self.specs, self.bounds, self.split_kept = indices, specs, bounds, split_kept

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @overload
    def __getitem__(self, at: int) -> Group: ...

    @overload
    def __getitem__(self, at: slice) -> Groups: ...

    def __getitem__(self, at: int | slice) -> Group | Groups:
        if isinstance(at, slice):
            return self.take(np.arange(len(self))[at])
        k = range(len(self))[at]
        members = slice(self.bounds.item(k), self.bounds.item(k + 1))
        return Group(self.indices[members], self.specs.take(members), self.split_kept)

    @property
    def sizes(self) -> np.ndarray:
        """The number of scenarios of each group."""
        return np.diff(self.bounds)

    @property
    def mechanisms(self) -> list[str]:
        """The name of the mechanism of each group."""
        names = [procedure.mechanism for procedure in self.specs.procedures]
        return [names[code] for code in self.specs.procedure_codes[self.bounds[:-1]].tolist()]

    def take(self, order: np.ndarray) -> Groups:
        """Return the groups at these places, in that order."""
        sizes = self.sizes[order]
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        members = np.repeat(self.bounds[:-1][order] - bounds[:-1], sizes) + np.arange(bounds[-1])
        return Groups(self.indices[members], self.specs.take(members), bounds, self.split_kept)


Task = tuple[Group, Sequence[int]]
"""A group of scenarios and the replicates at which to run it."""


class TaskBatch(list[Task]):
    """Tasks over one table that are handed out together; they travel to another process as a few arrays."""

    def __reduce__(self) -> tuple[Any, ...]:
        if not self:
            return TaskBatch, ()
        groups = [shared for shared, _ in self]
        joined = Groups(
            np.concatenate([shared.indices for shared in groups]),
            groups[0].specs.joined(*(shared.specs for shared in groups[1:])),
            np.cumsum([0, *map(len, groups)]),
            groups[0].split_kept,
        )
        parts = joined.indices, joined.specs, joined.bounds, joined.split_kept
        return _unpacked, (*parts, [replicates for _, replicates in self])


def _unpacked(
    indices: np.ndarray,
    specs: ReleaseSpecs,
    bounds: np.ndarray,
    split_kept: SplitKept,
    replicates: Iterable[Sequence[int]],
) -> TaskBatch:
    return TaskBatch(zip(Groups(indices, specs, bounds, split_kept), replicates, strict=True))


def fit_key(made: Mechanism, texts: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Key of a fit: scenarios that agree on it share the fit."""
    return (made.name, *(value for name, value in texts if name in made.fit))


def group_of(spec: ReleaseSpec, table: ContingencyTable) -> Group:
    """The group of one scenario alone, as number 0."""
    return group([spec], table)[0]


def group(specs: Sequence[ReleaseSpec], table: ContingencyTable, indices: np.ndarray | None = None) -> Groups:
    """Scenarios by the work that they share, in the order in which each kind first appears; ``indices`` are theirs in
    the study, by default their places among ``specs``."""
    specs, split_kept = ReleaseSpecs.of(specs, table.domain.names), SplitKept.on(table)
    first = first_places(_work_codes(specs, sorted({*split_kept.several_kinds, *split_kept.ruled})))
    nth = np.cumsum(first == np.arange(len(first)))
    n = int(nth[-1]) if len(nth) else 0
    of_scenario = (nth - 1)[first]
    order = np.argsort(of_scenario.astype(np.min_scalar_type(n)), kind="stable")  # narrow numbers take less time
    bounds = np.concatenate([[0], np.cumsum(np.bincount(of_scenario, minlength=n))])
    return Groups(order if indices is None else np.asarray(indices)[order], specs.take(order), bounds, split_kept)


def _work_codes(specs: ReleaseSpecs, split_kept: Sequence[int]) -> np.ndarray:
    """A number for each scenario, the same for those that share work."""
    kinds: dict[tuple[Any, ...], int] = {}
    ways = [kinds.setdefault(_shared_part(procedure), len(kinds)) for procedure in specs.procedures]
    used, places = in_use(specs.spec_codes, len(specs.specs))
    structures = first_of_structure(specs.specs.take(used), split_kept)[places]
    by_roles = np.where(specs.by_roles, 1 + structures, 0)
    return np.asarray(by_roles * len(kinds) + np.array(ways, np.int64)[specs.procedure_codes])


def _shared_part(procedure: Procedure) -> tuple[Any, ...]:
    """The part of a procedure that scenarios which share work have in common."""
    if procedure.by_roles:
        return procedure.rule, procedure.params
    return fit_key(mechanism(procedure.mechanism), procedure.params)


def _batched(name: str) -> bool:
    return mechanism(name).batched is not None


def even_order(n: int) -> np.ndarray:
    """An order of ``n`` things of which every beginning is spread over all of them."""
    return np.argsort(np.arange(1, n + 1) * _GOLDEN % 1)


def in_even_order(groups: Groups) -> Groups:
    """Groups in an order of which every beginning tells what the rest will take: runs of neighbours, spread over the
    groups of each mechanism, and some of each mechanism first."""
    by_mechanism: dict[str, list[int]] = {}
    for at, name in enumerate(groups.mechanisms):
        by_mechanism.setdefault(name, []).append(at)
    placed: list[tuple[float, list[int]]] = []
    for of_one in by_mechanism.values():
        n = min(_NEIGHBOURHOODS, len(of_one))
        ends = np.arange(n + 1) * len(of_one) // n
        for rank, at in enumerate(even_order(n).tolist()):
            placed.append((rank / n, of_one[ends[at] : ends[at + 1]]))
    placed.sort(key=lambda part: part[0])
    return groups.take(np.array([at for _, part in placed for at in part], np.int64))
