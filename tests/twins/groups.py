"""Groups of scenarios that share work once more, spec by spec."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from engine.mechanisms import mechanism
from engine.release.spec import ReleaseSpec


def sharing(
    scenarios: Sequence[tuple[int, ReleaseSpec]], split_kept: Collection[int]
) -> list[list[tuple[int, ReleaseSpec]]]:
    """Scenarios by the work that they share, in the order in which each kind first appears."""
    by_work: dict[Any, list[tuple[int, ReleaseSpec]]] = {}
    for index, spec in scenarios:
        if spec.by_roles:
            key: tuple[Any, ...] = (*_unsplit(spec.attributes.roles, split_kept), spec.rule, spec.params)
        else:
            made = mechanism(spec.mechanism)
            key = (made.name, *(value for name, value in spec.params if name in made.fit))
        by_work.setdefault(key, []).append((index, spec))
    return list(by_work.values())


def _unsplit(roles: str, split_kept: Collection[int]) -> tuple[str, str]:
    """Roles without the split of S∪C, but for whether C is empty; and that split where it is kept."""
    if "C" not in roles:
        return roles, ""
    return roles.replace("S", "C"), "".join([str(j) + "," for j in sorted(split_kept) if roles[j] == "S"])


def runs_missing(
    groups: Sequence[Sequence[tuple[int, ReleaseSpec]]], done: Sequence[int], replicates: int
) -> dict[str, int]:
    """Runs to come by mechanism."""
    missing: dict[str, int] = {}
    for shared in groups:
        name = shared[0][1].mechanism
        missing[name] = missing.get(name, 0) + sum(max(0, replicates - done[index]) for index, _ in shared)
    return missing


def task_batches(
    groups: Sequence[Sequence[tuple[int, ReleaseSpec]]],
    done: Sequence[int],
    replicates: int,
    before: int,
    size: int,
    dear: int,
) -> list[list[tuple[list[tuple[int, ReleaseSpec]], tuple[int, ...]]]]:
    """Batches of (members, replicates) of roughly ``size`` candidates; a run over records counts as ``dear`` ones."""
    batches: list[list[tuple[list[tuple[int, ReleaseSpec]], tuple[int, ...]]]] = [[]]
    collected = 0
    for shared in groups:
        numbers_done = [done[index] for index, _ in shared]
        start = min(numbers_done)
        if start >= replicates:
            continue
        members = [scenario for scenario, n in zip(shared, numbers_done, strict=True) if n < replicates]
        if batches[-1] and members[0][1].mechanism != batches[-1][0][0][0][1].mechanism:
            batches.append([])
            collected = 0
        each = len(members) * (dear if mechanism(members[0][1].mechanism).batched is None else 1)
        step = max(1, size // each)
        for first in range(start + 1, replicates + 1, step):
            numbers = tuple(range(before + first, before + min(first + step, replicates + 1)))
            batches[-1].append((members, numbers))
            collected += len(numbers) * each
            if collected >= size:
                batches.append([])
                collected = 0
    return [batch for batch in batches if batch]
