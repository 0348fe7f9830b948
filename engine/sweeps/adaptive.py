"""Adaptive replicates: run all scenarios a few times, then spend where dominance or the choice is uncertain.

Every scenario is run ``screen`` times.  One is *settled* when some scenario on the frontier of means is better on both
risk and utility by more than Welch's margin, or when it has no figure to compare (all its runs failed).  The others
go on to twice as many replicates, and again, up to ``replicates``.  Settled is judged anew each time, with what is
known by then: a scenario whose settlement no longer holds goes on like the others.

Where the plan bounds the risk, runs are then spent until the choice under that bound is settled
(:func:`engine.frontier.choosing.contest`): *open* are the scenarios that may be the most useful one within the bound
and whose runs do not tell whether they are within.  They go on to as many runs as the bound takes, then to twice as
many, and again, up to :func:`most_runs`.  What these runs say of dominance is judged again.  A choice that is open even
then is reported as such, with the scenarios on which it hangs.

Last, the scenarios on the frontier, and the one that the bound picks, are run on as many *fresh* replicates, which had
no part in finding them.

What this guarantees:

* Whatever was run less than in full is, on the final figures, worse on both objectives than one scenario on the
  frontier, each at the confidence of :data:`CONFIDENCE` (two-sided, Welch's t with its own degrees of freedom).  So
  every scenario on the frontier, and every one that a slope can recommend, was run in full.
* The scenario that a bound picks has the runs that the bound takes.  Unless the choice is reported as open, further
  runs would hardly change it: each rival that is more useful, and the scenario itself, was told from the bound at the
  confidence of :data:`engine.frontier.summary.CONFIDENCE`.
* A scenario that truly is on the frontier is given up only if chance misleads on an objective on which it is at least
  as good: at most ``(1 - CONFIDENCE) / 2`` against a given rival at a given look.  It is then close to that rival, so
  little is lost; full replication with noisy means is uncertain about the same scenarios.
* Means of the sweep's own replicates favour whoever led to the choice.  Means over fresh replicates do not: whatever
  happened before, they are unbiased, with the standard error that they state.

Scenarios that share pairs (rates of one spec, splits of one S∪C) share their chance; as a rule their figures go
together, and Welch's margin, which takes them as independent, is then on the safe side.

Which scenario is run how often follows from the figures alone, and these from the study key: workers, order, kills and
resumptions change nothing.  What is saved are replicates; where a candidate costs microseconds, judging may cost as
much as it saves.

Search the frontier of a release space that is too large to enumerate: of d attributes it holds about 4^d specs.

The search starts from swaps of one and two attributes and goes on from the frontier found so far: the next specs to
look at differ from one on the frontier in the role of one attribute.  All rates are looked at together, since a lower
rate is the beginning of a higher one.  When all specs around the frontier are known, the search goes on around the
frontier of the other specs, and so on, until the budget is used up.  While searching, a scenario is judged by its mean
over the ``screen`` first replicates; then replicates double for those that may be on the frontier
(:mod:`engine.sweeps.adaptive`), which ends with the frontier on fresh replicates.

It finds *a* frontier, not certainly *the* frontier: nothing is promised about specs that it did not look at.  How much
of the space it looked at is known exactly (:func:`engine.release.space.n_specs`), and it says how little the last
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
from engine.common.wording import listed
from engine.data.microdata import Microdata
from engine.data.table import ContingencyTable
from engine.frontier.choosing import (
    FEWEST_RUNS,
    Contest,
    contest,
    contest_of_means,
    fresh_runs_needed,
    hypervolume,
    runs_needed,
    share_within,
)
from engine.frontier.risk_utility_map import over_limits
from engine.frontier.summary import believed_errors, margins, summarise, t_thresholds
from engine.frontier.undominated import undominated
from engine.measures import Measure
from engine.measures.planned import EditLimit, edit_limits
from engine.plan import DecisionPlan, Plan
from engine.release import space
from engine.release.scenarios import Results, first_runs
from engine.release.space import n_specs
from engine.release.spec import MOST_REPLICATES, AttributeSpec
from engine.release.specs import Specs
from engine.study.decision_log import append, entries
from engine.study.map_reader import objective_indices
from engine.study.study import Study
from engine.sweeps.candidates import equal_partners, merging_of, obstacle_in_all, swap_ways
from engine.sweeps.runner import Runner

CONFIDENCE = 0.95
"""Confidence of one comparison of a scenario with a rival."""
MOST_FOLD = 5
"""A scenario on which the choice hangs is run up to so many times as often as the plan's ``replicates``: the 20 of a
plan that says nothing become 100, the number of Gomatam, Karr and Sanil (2005, Section 5.3)."""
_NAMED = 3  # open scenarios that are named in words


def looks(screen: int, replicates: int) -> list[int]:
    """Numbers of replicates after which dominance is judged: ``screen``, twice as many, and so on up to
    ``replicates``."""
    numbers = [min(screen, replicates)]
    while numbers[-1] < replicates:
        numbers.append(min(2 * numbers[-1], replicates))
    return numbers


def judge(
    results: Results, measures: Sequence[Measure], objectives: Sequence[int], runs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Masks ``(on the frontier of means, settled)`` over scenarios, from the first ``runs`` replicates of each.

    Later replicates are not looked at: the answer is the same whether or not a study holds some already.
    """
    summary = summarise(first_runs(results, runs), measures, len(runs))
    columns = list(objectives)
    loss, se = summary.loss[:, columns], believed_errors(summary.loss_se[:, columns], summary.counted)
    on = undominated(loss)
    settled = np.isnan(loss).any(axis=1)
    quantiles = t_thresholds(1, CONFIDENCE)
    for index in np.flatnonzero(on).tolist():
        with np.errstate(invalid="ignore"):
            settled |= (loss - loss[index] > margins(se, summary.counted, index, quantiles)).all(axis=1)
    return on, settled


def runs_for_choice(decision: DecisionPlan) -> int:
    """Return how many runs a scenario needs before it can be chosen under the plan's bound."""
    share = decision.run_share
    return FEWEST_RUNS if share is None else runs_needed(share)


def most_runs(plan: Plan) -> int:
    """Return the most runs that a scenario gets: the plan's ``replicates``; :data:`MOST_FOLD` times as many, and never
    fewer than a choice takes, where runs are spent until the choice under a bound is settled."""
    space = plan.space
    if plan.decision.max_risk is None or not (space.adaptive or space.search):
        return space.replicates
    return min(MOST_REPLICATES, max(MOST_FOLD * space.replicates, runs_for_choice(plan.decision)))


def who_may_be_chosen(
    results: Results,
    measures: Sequence[Measure],
    objectives: tuple[int, int],
    runs: np.ndarray,
    decision: DecisionPlan,
    limits: Sequence[EditLimit] = (),
) -> Contest | None:
    """Return who may be chosen under the plan's bound and the ``limits`` of its edit rules, from the first ``runs``
    replicates of each scenario; None where the plan has no bound.  ``objectives`` are the columns of risk and
    utility."""
    if decision.max_risk is None:
        return None
    bound, share, (risk, utility) = float(decision.max_risk), decision.run_share, objectives
    first = first_runs(results, runs)
    summary = summarise(first, measures, len(runs))
    usefulness = np.where(np.isnan(summary.loss[:, risk]), np.nan, summary.loss[:, utility])
    if share is None:
        mean, se = summary.loss[:, risk], summary.loss_se[:, risk]
        usefulness[over_limits(summary.mean, limits)] = np.nan
        return contest_of_means(mean, se, summary.counted, usefulness, bound)
    counted = first.counted(False)
    within = measures[risk].loss(first.values[counted, risk]) <= bound
    within &= ~over_limits(first.values[counted], limits)
    n_within = np.bincount(first.scenario[counted][within], minlength=len(runs))
    return contest(n_within, summary.counted, usefulness, share)


@dataclass(frozen=True)
class Settlement:
    """The standing of the choice under a ``bound`` after a sweep: the label of the ``best`` scenario, None without one,
    and the labels of those that are still ``open_`` although they were run ``most`` times, the most useful first."""

    bound: str
    best: str | None
    open_: tuple[str, ...]
    most: int

    def __str__(self) -> str:
        if self.open_:
            others = len(self.open_) - _NAMED
            names = listed([*self.open_[:_NAMED], *([f"{others:,} more"] if others > 0 else [])])
            return (
                f"the choice under the limit {self.bound} is not settled: {self.most:,} runs each do not tell whether "
                f"{names} meet{'s' if len(self.open_) == 1 else ''} it"
            )
        if self.best is None:
            return f"no candidate meets the limit {self.bound}"
        return f"the choice under the limit {self.bound} is settled"


def _settlement(study: Study, found: Contest, utility_loss: np.ndarray) -> Settlement:
    decision, scenarios, limited = study.plan.decision, study.scenarios, edit_limits(study.plan, study.measures)
    open_ = np.flatnonzero(found.open_)
    open_ = open_[np.argsort(utility_loss[open_], kind="stable")]
    return Settlement(
        f"{decision.max_risk} and the limits of edit rules" if limited else str(decision.max_risk),
        None if found.best is None else scenarios[found.best].label,
        tuple(scenarios[index].label for index in open_.tolist()),
        most_runs(study.plan),
    )


def most_to_do(plan: Plan, n_scenarios: int) -> int:
    """Return the most runs that so many scenarios of a staged sweep may take, fresh ones among them."""
    return n_scenarios * (most_runs(plan) + plan.space.replicates) + _most_to_settle(plan)


def _most_to_settle(plan: Plan) -> int:
    """Return the most fresh runs that the scenario picked by the bound may get beyond those of the other finalists."""
    if plan.decision.max_risk is None or plan.decision.run_share is None:
        return 0
    return max(most_runs(plan), fresh_runs_needed(plan.decision.run_share)) - plan.space.replicates


def _log_fresh_runs(study: Study, indices: Sequence[int], replicates: int) -> None:
    """Log the fresh runs of some scenarios, once."""
    detail = {"candidates": [study.scenarios[index].label for index in indices], "replicates": replicates}
    logged = any(entry.event == "rechecked" and detail.items() <= entry.detail.items() for entry in entries(study))
    if indices and not logged:
        append(study, "rechecked", detail)


def _settle(runner: Runner, best: int, risk: int) -> int:
    """Add fresh runs of the scenario that the bound picks until they tell whether enough of all runs meet it, or it has
    as many as the plan allows; return how many it has more than the plan's ``replicates``."""
    study, decision = runner.study, runner.study.plan.decision
    if decision.run_share is None or decision.max_risk is None:
        return 0
    bound, measure = float(decision.max_risk), study.measures[risk].measure
    limits = edit_limits(study.plan, study.measures)
    wanted = max(study.plan.space.replicates, fresh_runs_needed(decision.run_share))
    most = study.plan.space.replicates + _most_to_settle(study.plan)
    while True:
        runs = study.runs.of([best], "fresh")
        values = runs.values[runs.counted(False)]
        losses = np.where(over_limits(values, limits), np.inf, measure.loss(values[:, risk]))
        if len(runs) >= wanted:
            if wanted == most or share_within(losses, bound).settled(decision.run_share):
                return len(runs) - study.plan.space.replicates
            wanted = min(2 * wanted, most)
        runner.bring([best], wanted, fresh=True)
        _log_fresh_runs(study, [best], wanted)


def run_adaptively(runner: Runner) -> Settlement | None:
    """Run the scenarios of a study as its plan asks, and those on the frontier on fresh replicates too.

    Returns how the choice under the plan's bound stands; None where the plan has no bound.
    """
    study = runner.study
    replicates, most, needed = study.plan.space.replicates, most_runs(study.plan), runs_for_choice(study.plan.decision)
    objectives = objective_indices(study)
    measures, limits = [call.measure for call in study.measures], edit_limits(study.plan, study.measures)
    levels = looks(study.plan.space.screen, replicates)
    runs = np.full(len(study.scenarios), levels[0])
    runner.total = most_to_do(study.plan, len(runs))
    before = study.runs.replicates_done()  # of a sweep that was stopped
    runner.bring(None, levels[0])
    at = 0
    while True:
        results = study.runs.results()
        on, settled = judge(results, measures, objectives, runs)
        found = who_may_be_chosen(results, measures, objectives, runs, study.plan.decision, limits)
        open_ = np.zeros(len(runs), bool) if found is None else found.open_
        wanted = np.maximum(runs, np.where(open_, most, np.where(settled, 0, replicates)))
        more = ~settled & (runs < replicates)
        if more.any():
            at = min(at + 1, len(levels) - 1)
            runs[more] = np.maximum(runs[more], levels[at])
            finalists = on | ~settled | open_
        else:
            more = open_ & (runs < most)
            runs[more] = np.minimum(np.where(runs < needed, needed, 2 * runs), most)[more]
            if found is not None and found.best is not None:
                on[found.best] = True
            finalists = on | open_ if more.any() else on
        least = int(np.maximum(runs, before).sum() + replicates * on.sum())
        still = int(np.maximum(np.maximum(runs, before), wanted).sum() + replicates * finalists.sum())
        still += _most_to_settle(study.plan)
        runner.total = max(min(runner.total, still), least)
        if not more.any():
            break
        for number in np.unique(runs[more]).tolist():
            runner.bring(np.flatnonzero(more & (runs == number)).tolist(), number)
    runner.bring(np.flatnonzero(on).tolist(), replicates, fresh=True)
    _log_fresh_runs(study, np.flatnonzero(on).tolist(), replicates)
    if found is not None and found.best is not None:
        least += _settle(runner, found.best, objectives[0])
    runner.done = runner.total = least
    runner.report_end()
    if found is None:
        return None
    loss = summarise(first_runs(results, runs), measures, len(runs)).loss[:, objectives[1]]
    return _settlement(study, found, loss)


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
    equal: space.EqualPartners | None = None
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
        """The obstacle that keeps every two records from exchanging, or an exchange from changing anything, in words;
        empty where there is none."""
        if self.equal is not None and self.equal.among(Specs.of([spec]).roles)[0]:
            return space.impossibility_text(space.Impossibility(space.ImpossibilityKind.ALL_OTHERS_EQUAL))
        return obstacle_in_all(spec, self.plan.space.rule, self.ways, self.table, self._obstacles)

    def _class_of(self, spec: AttributeSpec) -> str:
        merge = space.may_merge(spec, self.table.domain, self.plan.space.rule)
        return space.canonical(spec, self.merging).roles if merge else "=" + spec.roles


def search_of(plan: Plan, data: Microdata, key: bytes, known: Collection[AttributeSpec] = ()) -> Search:
    """Return a search over these data that has not begun."""
    return Search(data.table, plan, merging_of(plan, data), key, known, equal_partners(plan, data))


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
    complete_space = (
        search.plan.swap,
        space_plan.fix,
        space_plan.change,
        space_plan.rule,
        search.merging,
        search.equal,
    )
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
