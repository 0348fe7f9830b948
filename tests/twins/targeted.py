"""Targeted swapping of households, household by household, as its text says it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

NOBODY = -1


def least_shared(area: Sequence[int], persons: Sequence[tuple[int, int]], n_households: int) -> list[int]:
    """For each household the least number of persons of its area with a member's number; ``persons`` are
    (household, number)."""
    least = [len(persons) + 1] * n_households
    for household, number in persons:
        alike = sum(1 for other, its in persons if its == number and area[other] == area[household])
        least[household] = min(least[household], alike)
    return least


def coarsest(shared: Sequence[Sequence[int]], k: int, household: int) -> int:
    """The coarsest level at which a household is risky, the number of levels where it is at none."""
    for h, counts in enumerate(shared):
        if counts[household] < k:
            return h
    return len(shared)


def swap(
    area: Sequence[Sequence[int]],
    level: Sequence[int],
    profile: Sequence[Sequence[int]],
    quota: Sequence[int],
    donors: Sequence[Sequence[int]],
    initiators: Sequence[int],
    within: bool,
    compatible: bool,
    movable: Sequence[bool],
    refused: Callable[[int, int], bool] = lambda u, v: False,
) -> tuple[list[int], list[tuple[int, int, int, int]], list[int]]:
    """Each household's partner, the swaps as (level, initiator, donor, profile) and who found no donor, in turn;
    ``refused`` says which two households may not exchange."""
    n, levels = len(level), len(area)
    lowest = area[-1]
    partner, swaps, failed = list(range(n)), list[tuple[int, int, int, int]](), list[int]()
    begun = [0] * len(quota)
    for h in range(levels):
        failed_before = set(failed)
        for a in sorted(set(area[h])):
            at_home = [u for u in initiators if area[h][u] == a and movable[u]]
            free = [u for u in at_home if partner[u] == u and u not in failed_before]
            mandatory = [u for u in free if level[u] == h]
            if h < levels - 1:
                chosen = mandatory
            else:
                rest = max(0, quota[a] - begun[a])
                wanted = rest if within else max(len(mandatory), rest)
                chosen = (mandatory + [u for u in free if level[u] != h])[:wanted]
            for u in chosen:
                if within and begun[lowest[u]] >= quota[lowest[u]]:
                    continue
                p, v = _donor(u, h, area, profile, donors[h], partner, failed_before, compatible, movable, refused)
                if v == NOBODY:
                    failed.append(u)
                    continue
                partner[u], partner[v] = v, u
                begun[lowest[u]] += 1
                swaps.append((h, u, v, p))
    return partner, swaps, failed


def _donor(
    u: int,
    h: int,
    area: Sequence[Sequence[int]],
    profile: Sequence[Sequence[int]],
    race: Sequence[int],
    partner: Sequence[int],
    failed_before: set[int],
    compatible: bool,
    movable: Sequence[bool],
    refused: Callable[[int, int], bool],
) -> tuple[int, int]:
    """Profile and donor: the first in the race who has not swapped, lives elsewhere and agrees on the profile."""
    for p, numbers in enumerate(profile):
        for v in race:
            if partner[v] != v or not movable[v] or numbers[v] != numbers[u] or refused(u, v):
                continue
            if compatible:
                if v in failed_before or area[h][v] != area[h][u]:
                    return p, v
            elif v not in failed_before and area[h][v] != area[h][u]:
                return p, v
    return NOBODY, NOBODY
