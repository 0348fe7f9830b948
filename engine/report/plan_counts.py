"""Count the candidates of a plan on given data, or at most without data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, prod
from typing import TYPE_CHECKING

from engine.sweeps.candidates import n_complete, per_spec, scenarios_of, space_or_count

if TYPE_CHECKING:
    from engine.data.microdata import Microdata
    from engine.plan import Plan
    from engine.release.space import Space
    from engine.release.spec import ReleaseSpec
    from engine.sweeps.candidates import Counted


NO_DATA = "not counted: no data were named when this document was written"


@dataclass(frozen=True)
class PlanCounts:
    """A plan on data: the ``space`` of the random swap or its count, ``complete`` the number of distinct swaps where
    it is searched, and how many scenarios every other mechanism has."""

    data: Microdata
    space: Space | Counted | None
    complete: int | None
    others: tuple[tuple[str, int], ...]

    def swaps(self, plan: Plan) -> int:
        """Scenarios of the random swap; of a search the most that it looks at."""
        if self.complete is not None:
            return min(self.complete * per_spec(plan), plan.space.budget)
        return self.space.distinct * per_spec(plan) if self.space else 0

    def candidates(self, plan: Plan) -> int:
        """All scenarios, of a search the most that it looks at."""
        return self.swaps(plan) + sum(n for _, n in self.others)


def count_plan(plan: Plan, data: Microdata) -> PlanCounts:
    """Count a plan's candidates on coded data; refuses what a sweep of them would refuse."""
    return plan_counts(plan, data, space_or_count(plan, data), scenarios_of(plan, data, listed=False)[0])


def plan_counts(
    plan: Plan, data: Microdata, space: Space | Counted | None, others: Sequence[ReleaseSpec]
) -> PlanCounts:
    """The same where the space and the scenarios of other mechanisms are known already."""
    complete = n_complete(plan, data) if plan.swaps_at_random and plan.space.search else None
    return PlanCounts(data, space, complete, tuple(Counter(spec.mechanism for spec in others).items()))


def at_most(plan: Plan) -> int | None:
    """The most candidates that a plan can have, from the plan alone; None where that needs the data."""
    space, n = plan.space, 0
    if plan.swaps_at_random:
        if space.search:
            n = space.budget
        elif space.all_specs:
            return None
        else:
            n = len(space.specs) or sum(comb(len(plan.swap_candidates), size) for size in space.swap_sizes)
            n *= per_spec(plan)
    return n + sum(prod(len(values) for _, values in m.grid) for m in plan.mechanisms if not m.by_roles)


def candidates_words(plan: Plan, counts: PlanCounts | None) -> str:
    """How many candidates there are, as exactly as is known."""
    if counts is None:
        most = at_most(plan)
        return f"as many as the space has ({NO_DATA})" if most is None else f"at most {most:,}"
    return ("at most " if counts.complete is not None else "") + f"{counts.candidates(plan):,}"
