"""Count the swaps of given numbers of attributes, and draw an even part of them, without listing all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from engine.data.microdata import Microdata
from engine.plan import Plan
from engine.release.space import Space, check_listable, outside_roles
from engine.release.spec import AttributeSpec
from engine.sweeps.candidates import space_of

MOST_LISTED = 20_000
"""Up to so many swaps all are listed and looked at one by one, of not too many attributes."""
_MOST_ROLES = 20_000_000


@dataclass(frozen=True)
class Counted:
    """The swaps that ``swap_sizes`` of a plan ask for: ``legal``, ``feasible`` and ``distinct`` as
    :class:`engine.release.space.Space` counts them, ``n_impossible`` on these data, and the work ``ahead`` as pairs of
    a size and the number of swaps of that size; ``able`` are the places that they choose from, ``narrow`` the
    attributes that may be swapped but have one category."""

    legal: int
    feasible: int
    distinct: int
    n_impossible: int
    ahead: tuple[tuple[int, int], ...]
    able: tuple[int, ...]
    narrow: tuple[str, ...]
    unswapped: str
    names: tuple[str, ...]
    n_merged = 0  # swaps are only counted where no two of them are the same

    def even_part(self, n: int) -> list[AttributeSpec]:
        """At most ``n`` of the distinct swaps, spread evenly over them in the order in which a sweep lists them."""
        step = max(1, -(-self.distinct // n))
        specs, before = [], 0
        for size, many in self.ahead:
            specs += [self._spec(size, rank - before) for rank in range(-before % step + before, before + many, step)]
            before += many
        return specs

    def _spec(self, size: int, rank: int) -> AttributeSpec:
        """The swap of that rank among all of one size, in lexicographic order of the places."""
        roles, first = list(self.unswapped), 0
        for left in range(size, 0, -1):
            while rank >= (many := comb(len(self.able) - first - 1, left - 1)):
                rank -= many
                first += 1
            roles[self.able[first]] = "S"
            first += 1
        return AttributeSpec(self.names, "".join(roles))


def counted(plan: Plan, data: Microdata) -> Counted | None:
    """The swaps of a plan by numbers of attributes; None where they are not described so, or are few enough to list."""
    space_plan, names, table = plan.space, data.domain.names, data.table
    if not (plan.swaps_at_random and space_plan.swap_sizes):
        return None
    outside = outside_roles(names, space_plan.fix, space_plan.change)
    may = set(plan.swap)
    able = [j for j, name in enumerate(names) if name in may and name not in outside]
    wide = [j for j in able if table.levels_in_use[j] > 1]
    every_one = _all(len(able), space_plan.swap_sizes)
    few = every_one <= MOST_LISTED and every_one * len(names) <= _MOST_ROLES
    if few or len(names) - len(outside) < 3:
        return None  # with so few free attributes swaps may be the same as others
    check_listable(len(able), space_plan.swap_sizes, len(names))
    free = [j for j, name in enumerate(names) if name not in outside]
    n_wide = sum(table.levels_in_use[j] > 1 for j in free)
    changed = [j for j, name in enumerate(names) if outside.get(name) == "C"]
    able_to_change = all(table.levels_in_use[j] > 1 for j in changed)
    legal = feasible = 0
    ahead = []
    for size in space_plan.swap_sizes:
        every, some = comb(len(able), size), comb(len(wide), size)
        legal += every if size < len(names) else 0
        # under the strict rule partners must be able to differ on something that is not swapped
        differ = space_plan.rule != "strict" or bool(changed)
        feasible += every if size < len(names) and (differ or len(free) > size) else 0
        if size < len(names) and able_to_change and (differ or n_wide > size):
            ahead.append((size, some))
    distinct = sum(many for _, many in ahead)
    if not distinct:
        return None  # said why, where they are listed
    unswapped = "".join(outside.get(name, "U") for name in names)
    narrow = tuple(names[j] for j in able if table.levels_in_use[j] < 2)
    places = tuple(wide)
    return Counted(legal, feasible, distinct, every_one - distinct, tuple(ahead), places, narrow, unswapped, names)


def space_or_count(plan: Plan, data: Microdata) -> Space | Counted | None:
    """The swaps that a plan asks for: the space where it is listed, its count where that is too large to look at each;
    None where the plan searches for swaps or tries none."""
    if not plan.swaps_at_random or plan.space.search:
        return None
    return counted(plan, data) or space_of(plan, data)


def _all(n: int, sizes: Sequence[int]) -> int:
    return sum(comb(n, size) for size in sizes)
