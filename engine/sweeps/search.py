"""Search the frontier of a release space that is too large to enumerate: of d attributes it holds about 4^d specs.

The search starts from swaps of one and two attributes and goes on from the frontier found so far: the next specs to
look at differ from one on the frontier in the role of one attribute.  All rates are looked at together, since a lower
rate is the beginning of a higher one.  When all specs around the frontier are known, the search goes on around the
frontier of the other specs, and so on, until the budget is used up.  While searching, a scenario is judged by its mean
over the ``screen`` first replicates; then replicates double for those that may be on the frontier
(:mod:`engine.sweeps.adaptive`), which ends with the frontier on fresh replicates.

It finds *a* frontier, not certainly *the* frontier: nothing is promised about specs that it did not look at.  How much
of the space it looked at is known exactly (:func:`engine.release.space_size.n_specs`), and it says how little the last
fifth of that added.  What it looks at follows from the study key, the plan and the data: workers, order, kills and
resumptions change nothing, and a larger budget goes on where a smaller one ended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from engine.common.errors import UsageError
from engine.common.streams import derive, generator
from engine.data.microdata import Microdata
from engine.data.table import ContingencyTable
from engine.frontier.summary import summarise
from engine.frontier.tradeoff import hypervolume
from engine.frontier.undominated import undominated
from engine.plan import Plan
from engine.release import space
from engine.release.results import first_runs
from engine.release.space_size import n_specs
from engine.release.spec import AttributeSpec
from engine.study.map_reader import objective_indices
from engine.sweeps.candidates import merging_of
from engine.sweeps.runner import Runner
from engine.sweeps.swap_ways import obstacle_in_all, swap_ways

NONE_TO_START = "no candidate release is possible: no swap of one or two attributes can work on these data"
_START = 300  # most specs to start with
_STEP = 20  # fewest specs looked at before the frontier is looked at anew; a tenth of those known, when that is more


@dataclass
class Search:
    """The scenarios that have been looked at, and where to look next.

    ``specs`` are those looked at, in order; at most ``budget`` of them.  Of specs that are the same release only one is
    looked at; ``merging`` says which are (:func:`engine.release.space.build`).
    """

    table: ContingencyTable
    plan: Plan
    merging: space.Merging
    key: bytes
    known: Collection[AttributeSpec] = ()
    specs: list[AttributeSpec] = field(default_factory=list)
    _first: dict[str, AttributeSpec] = field(default_factory=dict)
    _seen: set[AttributeSpec] = field(default_factory=set)
    _obstacles: dict[object, str] = field(default_factory=dict)
    _around: dict[AttributeSpec, Iterator[AttributeSpec]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names, space_plan = self.table.domain.names, self.plan.space
        self.ways = swap_ways(self.plan)
        self.budget = max(1, space_plan.budget // (len(space_plan.rates) * len(self.ways)))
        outside = space.outside_roles(names, space_plan.fix, space_plan.change)
        able = set(self.plan.swap)
        self.choices = [outside.get(name, "SFCU" if name in able else "FCU") for name in names]
        for spec in self.known:  # of equal specs the one that was run already stands for all
            self._first.setdefault(self._class_of(spec), spec)

    def start(self) -> list[AttributeSpec]:
        """Return the specs to begin with: the swaps of one attribute, then those of two in an order by chance."""
        able = [j for j, roles in enumerate(self.choices) if "S" in roles]
        base = ["U" if "U" in roles else roles for roles in self.choices]
        first, second = np.triu_indices(len(able), 1)  # of all pairs, in the order of combinations

        def chosen() -> Iterator[tuple[int, ...]]:
            yield from combinations(able, 1)
            for i in self._shuffled(len(first), "start"):
                yield able[first[i]], able[second[i]]

        def candidates() -> Iterator[AttributeSpec]:
            for indices in chosen():
                roles = ["S" if j in indices else role for j, role in enumerate(base)]
                yield AttributeSpec(self.table.domain.names, "".join(roles))

        return self._admit(candidates(), min(self.budget, _START))

    def ask(self, losses: np.ndarray) -> list[AttributeSpec]:
        """The next specs, given the losses of all looked at (specs × rates × objectives, NaN where undefined); none
        when the budget is used up or everything that can be reached is known."""
        room = min(self.budget - len(self.specs), max(_STEP, len(self.specs) // 10))
        chosen_specs: list[AttributeSpec] = []
        _, n_rates, k = losses.shape
        remaining = losses.reshape(-1, k).copy()
        while len(chosen_specs) < room and not np.isnan(remaining).all():
            layer = undominated(remaining)
            parents = list(dict.fromkeys((np.flatnonzero(layer) // n_rates).tolist()))
            chosen_specs += self._admit(self._in_turn([self.specs[i] for i in parents]), room - len(chosen_specs))
            remaining[layer] = np.nan
        return chosen_specs

    def _in_turn(self, parents: Sequence[AttributeSpec]) -> Iterator[AttributeSpec]:
        """Neighbours of several specs, one of each in turn."""
        live = [self._around.setdefault(spec, self._neighbours(spec)) for spec in parents]
        while live:
            still = []
            for around in live:
                spec = next(around, None)
                if spec is not None:
                    still.append(around)
                    yield spec
            live = still

    def _neighbours(self, spec: AttributeSpec) -> Iterator[AttributeSpec]:
        """Specs that differ in the role of one attribute, in an order by chance."""
        chosen_specs = [
            AttributeSpec(spec.names, spec.roles[:j] + role + spec.roles[j + 1 :])
            for j, roles in enumerate(self.choices)
            for role in roles
            if role != spec.roles[j]
        ]
        for i in self._shuffled(len(chosen_specs), spec.roles):
            yield chosen_specs[i]

    def _shuffled(self, n: int, name: str) -> list[int]:
        """Indices 0 to n - 1 in an order that follows from the study key."""
        return [int(i) for i in generator(derive(self.key, "search", (name,))).permutation(n)]

    def _admit(self, specs: Iterable[AttributeSpec], most: int) -> list[AttributeSpec]:
        """The first specs that are new and can work; they count as looked at."""
        chosen_specs: list[AttributeSpec] = []
        rule = self.plan.space.rule
        for spec in specs:
            if space.impossibility(spec, self.table, rule) is None and not self._refused(spec):
                representative = self._first.setdefault(self._class_of(spec), spec)
                if representative not in self._seen:
                    self._seen.add(representative)
                    chosen_specs.append(representative)
            if len(chosen_specs) >= most:
                break
        self.specs += chosen_specs
        return chosen_specs

    def _refused(self, spec: AttributeSpec) -> str:
        """The obstacle that keeps every two records from exchanging, in words; empty where some may."""
        return obstacle_in_all(spec, self.plan.space.rule, self.ways, self.table, self._obstacles)

    def _class_of(self, spec: AttributeSpec) -> str:
        merge = space.may_merge(spec, self.table.domain, self.plan.space.rule)
        return space.canonical(spec, self.merging).roles if merge else "=" + spec.roles


def search_of(plan: Plan, data: Microdata, key: bytes, known: Collection[AttributeSpec] = ()) -> Search:
    """Return a search over these data that has not begun."""
    return Search(data.table, plan, merging_of(plan, data), key, known)


@dataclass(frozen=True)
class SearchReport:
    """Extent of a search: ``looked`` specs of the ``space``; and the share of the hypervolume under their frontier
    that the last fifth of them added (NaN when the first fifths have none)."""

    looked: int
    space: int
    added: float

    def __str__(self) -> str:
        text = f"looked at {self.looked:,} of {self.space:,} specs ({_percent(self.looked / self.space)})"
        if self.added == self.added:
            text += f"; the last fifth of them added {_percent(self.added)} to the hypervolume of the frontier"
        return text


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %" if share >= 1e-5 or share == 0 else "less than 0.001 %"


def run_search(runner: Runner, search: Search) -> SearchReport:
    """Look at specs until the budget is used up: each is added to the study at all rates, in all ways, and run
    ``screen`` times."""
    study, space_plan = runner.study, search.plan.space
    objectives = list(objective_indices(study))
    measures = [call.measure for call in study.measures]
    n_each = len(space_plan.rates) * len(search.ways)
    indices: list[list[int]] = []

    def look(specs: list[AttributeSpec]) -> np.ndarray:
        """Losses of all specs so far (specs × rates and ways × objectives), at the first replicates only."""
        wanted = space.scenarios(specs, space_plan.rates, space_plan.rule, search.ways)
        indices_of_specs = study.scenario_table.add(wanted).tolist()
        indices.extend(indices_of_specs[i : i + n_each] for i in range(0, len(indices_of_specs), n_each))
        runner.bring(indices_of_specs, space_plan.screen)
        runs = np.full(len(study.scenarios), space_plan.screen)
        summary = summarise(first_runs(study.runs.results(), runs), measures, len(runs))
        return np.asarray(summary.loss[:, objectives][np.array(indices)])

    new = search.start()
    if not new:
        raise UsageError(NONE_TO_START)
    losses = look(new)
    while new := search.ask(losses):
        losses = look(new)
    complete_space = (search.plan.swap, space_plan.fix, space_plan.change, space_plan.rule, search.merging)
    return SearchReport(len(search.specs), n_specs(search.table, *complete_space), _added(losses))


def _added(losses: np.ndarray) -> float:
    """The share of the hypervolume that the last fifth of the specs added, seen from the worst figures of all."""
    rows = losses.reshape(-1, losses.shape[-1])
    known = rows[~np.isnan(rows).any(axis=1)]
    if not len(known):
        return float("nan")
    corner = known.max(axis=0)
    before = hypervolume(losses[: -(-4 * len(losses) // 5)].reshape(-1, losses.shape[-1]), corner)
    return 1 - before / hypervolume(known, corner) if before > 0 else float("nan")
