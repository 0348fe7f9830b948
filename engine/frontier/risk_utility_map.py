"""The risk–utility map of a study, the rules that pick from it, and parts of it.

Scenarios that the noise of their means does not tell apart are one to a rule.  A recommendation stands among its
neighbours on the frontier, with letters that a board can use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from string import ascii_uppercase
from typing import NamedTuple

import numpy as np

from engine.common.errors import Remedy, UsageError
from engine.common.streams import derive, generator
from engine.frontier.choosing import (
    FEWEST_RUNS,
    RunQuantiles,
    best_under_bound,
    hull_intervals,
    knee,
    run_quantiles,
    runs_needed,
    straight_sum,
    supporting_line,
)
from engine.frontier.summary import (
    Dominance,
    Summary,
    believed_errors,
    expected_recall,
    losses,
    margins,
    margins_of,
    shared_runs,
    t_thresholds,
)
from engine.frontier.undominated import dominated_by, undominated
from engine.measures import MeasureCall
from engine.measures.planned import EditLimit
from engine.plan.types import DEFAULT_PROBABILITY
from engine.release.scenarios import Results, RunStatus, Scenarios

_ROUNDING = 1e-12  # equal figures that were added up in another order may differ by so much, relatively


class Tie(NamedTuple):
    """The ``pick`` of a bound on risk, by index: further measures choose it ``among`` the scenarios that the rule
    cannot tell from the most useful one, the ``leader``; ``measure`` is the one that ruled the leader out, None where
    it is the pick."""

    pick: int
    leader: int
    among: tuple[int, ...]
    measure: int | None


@dataclass(frozen=True)
class RiskUtilityMap:
    """All scenarios of a study under one risk and one utility measure (columns ``risk`` and ``utility`` of the values).

    The frontier is over ``objectives`` (columns too): these two, or any number of measures together.

    ``original`` are the figures of the unaltered data, always shown beside the candidates.  Scenarios without a counted
    run, or whose measure is undefined in one of them, have NaN means and take no part in frontiers.  ``single_runs``
    holds the quantiles of single runs that a bound is on; None where it is on the mean.  ``households`` are the mean
    numbers of households that moved, NaN where the mechanism moves single records; None where no column numbers them.
    ``reasons`` say of objectives, by column, why they have no figure in some run.
    ``void`` marks the scenarios none of whose counted runs changes anything: they are the original, and no rule picks
    them; None where there are none.

    ``edit_limits`` are those of edit rules; ``of_rules`` has a column for each with the number of records that break
    the rule: the quantile of single runs, or their mean.  ``held`` is the quantile of single runs of the risk, infinite
    in a run that is over such a limit; None without limits, and where a bound is on the mean.
    """

    scenarios: Scenarios
    measures: tuple[MeasureCall, ...]
    risk: int
    utility: int
    results: Results
    summary: Summary
    dominance: Dominance
    original: np.ndarray
    allow_partial: bool
    objectives: tuple[int, ...] = ()
    single_runs: RunQuantiles | None = None
    households: np.ndarray | None = None
    reasons: Mapping[int, str] = field(default_factory=dict)
    void: np.ndarray | None = None
    edit_limits: tuple[EditLimit, ...] = ()
    of_rules: np.ndarray | None = None
    held: np.ndarray | None = None

    @property
    def changes_nothing(self) -> np.ndarray:
        """Mask of the scenarios that are the original: no counted run of theirs changes anything."""
        return np.zeros(len(self.scenarios), bool) if self.void is None else self.void

    @property
    def over_edits(self) -> np.ndarray:
        """Mask of the scenarios of which more records than allowed break an edit rule; no rule picks them."""
        if self.of_rules is None:
            return np.zeros(len(self.scenarios), bool)
        with np.errstate(invalid="ignore"):
            return np.asarray((self.of_rules > [limit.at_most for limit in self.edit_limits]).any(axis=1))

    @property
    def risk_loss(self) -> np.ndarray:
        """Mean risk per scenario, smaller is better."""
        return self.summary.loss[:, self.risk]

    @property
    def utility_loss(self) -> np.ndarray:
        """Mean loss of utility per scenario, smaller is better."""
        return self.summary.loss[:, self.utility]

    @property
    def original_losses(self) -> np.ndarray:
        """The unaltered data's figures turned so that smaller is better."""
        result: np.ndarray = losses(self.original[None, :], [call.measure for call in self.measures])[0]
        return result

    @property
    def riskier_than_original(self) -> np.ndarray:
        """Mask of scenarios whose mean risk is above that of doing nothing: swapping can raise a small-cell risk."""
        result: np.ndarray = self.risk_loss > self.original_losses[self.risk]
        return result

    def why_apart(self, index: int) -> str:
        """The reason why a scenario takes no part in comparisons, in words; empty where it does."""
        if not self.summary.counted[index]:
            failed = int(self.summary.failed[index])
            if not failed:
                return "no completed run yet"
            runs = "in its only run" if failed == 1 else f"in all {failed:,} runs"
            return f"no completed run: no feasible pair was left before all exchanges were made, {runs}"
        undefined = [k for k in self.objectives if np.isnan(self.summary.loss[index, k])]
        return "; ".join(
            f"no figure of '{self.measures[k]}' in at least one run: "
            + self.reasons.get(k, self.measures[k].measure.undefined)
            for k in undefined
        )

    @cached_property
    def all_apart(self) -> dict[str, int]:
        """The reasons why scenarios take no part in comparisons, each with their number."""
        apart = np.isnan(self.summary.loss[:, list(self.objectives)]).any(axis=1)
        return dict(Counter(self.why_apart(int(index)) for index in np.flatnonzero(apart)).most_common())

    @cached_property
    def shared_runs(self) -> np.ndarray:
        """The number of runs of each scenario behind its share on the frontier of single runs."""
        return shared_runs(self.results, len(self.scenarios), self.allow_partial)

    @cached_property
    def recall(self) -> float:
        """The share of the true frontier that means over so few runs are expected to find, rather too high than too low
        (:func:`engine.frontier.summary.expected_recall`); NaN where nothing is known about noise.

        The same figures give the same share: it is drawn from a stream of its own.
        """
        columns = list(self.objectives)
        errors = believed_errors(self.summary.loss_se[:, columns], self.summary.counted)
        return expected_recall(self.summary.loss[:, columns], errors, generator(derive(b"recall", "redraws")))

    @cached_property
    def quantiles(self) -> RunQuantiles:
        """The quantiles of single runs of the risk: those that a bound is on, or of nine tenths where it is on the
        mean."""
        if self.single_runs is not None:
            return self.single_runs
        counted = self.results.counted(self.allow_partial)
        loss = self.measures[self.risk].measure.loss(self.results.values[counted, self.risk])
        return run_quantiles(loss, self.results.scenario[counted], len(self.scenarios), Fraction(DEFAULT_PROBABILITY))

    def undominated_by_quantile(self) -> np.ndarray:
        """Mask of the scenarios that no other one dominates by its quantile of single runs and its mean loss of
        utility; a scenario with too few runs for its quantile takes no part."""
        risk = np.where(self.quantiles.supported & ~self.changes_nothing, self.quantiles.quantile, np.nan)
        return undominated(np.column_stack([risk, self.utility_loss]))

    def realisations_undominated(self) -> np.ndarray:
        """Mask over the realisations that no other counted realisation dominates."""
        loss = losses(self.results.values, [call.measure for call in self.measures])[:, list(self.objectives)]
        loss[~self.results.counted(self.allow_partial) | self.results.changes_nothing] = np.nan
        return undominated(loss)

    def dominators(self, index: int) -> np.ndarray:
        """Indices of the scenarios whose means dominate this one's."""
        return np.asarray(dominated_by(self.summary.loss[:, list(self.objectives)], index))

    @property
    def bounded_risk(self) -> np.ndarray:
        """The risk that a bound is held against, as a loss per scenario: the quantile of single runs, or the mean.

        NaN where a scenario has too few runs to support a choice, or changes nothing; infinite where too many runs, or
        the mean of all, are over a limit of an edit rule.
        """
        if self.single_runs is None:
            risk = np.where(self.summary.counted >= FEWEST_RUNS, self.risk_loss, np.nan)
            risk[self.over_edits & ~np.isnan(risk)] = np.inf
        else:
            quantile = self.single_runs.quantile if self.held is None else self.held
            risk = np.where(self.single_runs.supported, quantile, np.nan)
        return np.where(self.changes_nothing, np.nan, risk)

    @property
    def offered_risk(self) -> np.ndarray:
        """Mean risk per scenario as a loss, NaN of those that change nothing or are over a limit of an edit rule: rules
        look at the others."""
        return np.where(self.changes_nothing | self.over_edits, np.nan, self.risk_loss)

    def meets(self, bound: float) -> np.ndarray:
        """Mask of the scenarios that meet a bound on risk and have enough runs to support a choice."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.bounded_risk <= bound)

    def under_bound(self, bound: float) -> int:
        """Return the most useful scenario that meets ``bound`` (eq. 4 and 13, with the quantile of single runs in place
        of the mean unless the bound is on the mean); the further measures of the study decide between scenarios that
        cannot be told from it (:meth:`tie_under`)."""
        if (tie := self.tie_under(bound)) is not None:
            return tie.pick
        bounded = self.bounded_risk
        if np.isnan(self.offered_risk).all() or np.isnan(self.utility_loss).all():
            raise self._none_to_choose()
        if np.isnan(bounded).all():
            raise UsageError(self._too_few_runs(), Remedy.REPLICATES)
        least = int(np.nanargmin(bounded))
        if np.isinf(bounded[least]):
            raise UsageError(self._over_edits_words())
        raise UsageError(
            f"no candidate meets the limit {bound:g}; the nearest is {self.scenarios[least].label}, with "
            f"{self._bounded_words()} {bounded[least]:.4g}"
        )

    def tie_under(self, bound: float) -> Tie | None:
        """Return the pick of a bound among the scenarios within it that cannot be told apart; None where nothing meets
        the bound.

        These are the most useful one by its mean and all whose risk and utility differ from its by no more than noise
        (Welch's interval at 95 %, shared by all measures).  The further measures are asked in the order of the study;
        each leaves those that are not clearly worse than the best on it.  Of those that are left after the last one
        the pick is the most useful, then the least risky, then the earliest.
        """
        leader = best_under_bound(self.bounded_risk, self.utility_loss, bound)
        if leader is None:
            return None
        quantiles, axes = t_thresholds(len(self.measures)), [self.risk, self.utility]
        others = [k for k in range(len(self.measures)) if k not in axes]
        left = np.flatnonzero(self.meets(bound) & ~np.isnan(self.utility_loss))
        left = left[self._as_good(leader, left, axes, quantiles)] if others else np.array([leader])
        among, decided = tuple(left.tolist()), None
        for k in others:
            figures = self.summary.loss[left, k]
            if np.isnan(figures).all():
                continue
            first = int(left[np.lexsort((left, self.utility_loss[left], figures))[0]])
            left = left[self._as_good(first, left, [k], quantiles)]
            if decided is None and leader not in left:
                decided = k
        pick = int(left[np.lexsort((left, self.risk_loss[left], self.utility_loss[left]))[0]])
        return Tie(pick, leader, among, decided)

    def _as_good(self, index: int, others: np.ndarray, columns: list[int], quantiles: np.ndarray) -> np.ndarray:
        """Return which ``others`` differ from a scenario by no more than noise on some measures; where nothing is known
        about noise only those with the same figures."""
        loss = self.summary.loss[:, columns]
        errors = believed_errors(self.summary.loss_se[:, columns], self.summary.counted)
        margin = margins_of(errors, self.summary.counted, index, others, quantiles)
        gap = np.abs(loss[others] - loss[index])
        return np.asarray(((gap <= margin) & np.isfinite(margin) | (gap == 0)).all(axis=1))

    def _too_few_runs(self) -> str:
        most = int(np.nanargmax(np.where(np.isnan(self.risk_loss), np.nan, self.summary.counted)))
        runs = int(self.summary.counted[most])
        needed = FEWEST_RUNS if self.single_runs is None else runs_needed(self.single_runs.probability)
        return (
            f"no candidate has enough runs to be held against a limit: that takes {needed}, and "
            f"{self.scenarios[most].label} has {runs}, {needed - runs} too few"
        )

    def _bounded_words(self) -> str:
        if self.single_runs is None:
            return "a mean risk of"
        return f"a risk that {float(100 * self.single_runs.probability):.3g} % of single runs do not exceed of"

    def by_slope(self, slope: float) -> list[int]:
        """The scenarios that a straight trade-off DR = slope·DU + c favours: one, or both ends when the slope is an
        edge's."""
        best = supporting_line(self.offered_risk, self.utility_loss, slope)
        if not best:
            raise self._none_to_choose()
        return best

    def _over_edits_words(self) -> str:
        """How the nearest of the scenarios over a limit of an edit rule misses it."""
        assert self.of_rules is not None
        beyond = self.of_rules - [limit.at_most for limit in self.edit_limits]
        beyond[~self.over_edits | self.changes_nothing] = np.nan
        if np.isnan(beyond).all():
            return "every candidate with enough runs is over some limit of an edit rule in too many of its runs"
        nearest = int(np.nanargmin(beyond.max(axis=1)))
        worst = int(np.argmax(beyond[nearest]))
        rule, at_most, _ = self.edit_limits[worst]
        return (
            "every candidate with enough runs is over a limit of an edit rule; of the nearest, "
            f"{self.scenarios[nearest].label}, {self.of_rules[nearest, worst]:,.4g} records break '{rule}', wanted at "
            f"most {at_most:,}. Raise at_most in the plan of a new study, or set refuse = true where the mechanism can "
            "obey it"
        )

    def _none_to_choose(self) -> UsageError:
        if self.over_edits[~np.isnan(self.risk_loss)].all() and self.over_edits.any():
            return UsageError(self._over_edits_words())
        if self.changes_nothing.any() and np.isnan(self.offered_risk).all():
            return UsageError("every candidate that was run leaves the data unchanged, so there is none to choose")
        why = ", ".join(f"{n:,} of {len(self.scenarios):,} have {reason}" for reason, n in self.all_apart.items())
        if not self.summary.counted.any():
            return UsageError(
                f"no candidate has a completed run, so none can be chosen unless failed runs count too: {why}",
                Remedy.FAILED_RUNS,
            )
        undefined = [k for k in (self.risk, self.utility) if np.isnan(self.summary.loss[:, k]).all()]
        names = " and ".join(f"'{self.measures[k]}'" for k in undefined or (self.risk, self.utility))
        return UsageError(f"no candidate has figures of {names} in all its runs, so none can be chosen by them: {why}")

    def beaten_by_original(self, index: int, slope: float) -> tuple[float, float] | None:
        """The straight sums DR − slope·DU of a scenario and of the unaltered data, where by them doing nothing is
        better; None where it is not.

        Candidates compete with each other only, so the best of them may lose to releasing the data unchanged.
        """
        original = self.original_losses
        mine = straight_sum(float(self.risk_loss[index]), float(self.utility_loss[index]), slope)
        nothing = straight_sum(float(original[self.risk]), float(original[self.utility]), slope)
        rounding = _ROUNDING * max(abs(mine), abs(nothing))
        return (mine, nothing) if mine - nothing > rounding else None

    def knee(self) -> int | None:
        """The scenario at the knee of the frontier, an aid and not a rule."""
        return knee(self.offered_risk, self.utility_loss)

    def slope_intervals(self) -> list[tuple[int, float, float]]:
        """Per scenario at a corner of the frontier's hull, the slopes for which it wins."""
        return hull_intervals(self.offered_risk, self.utility_loss)

    def frontier(self) -> np.ndarray:
        """Indices of the scenarios on the frontier, from least to most risk."""
        on = np.flatnonzero(self.dominance.undominated)
        return on[np.lexsort((self.utility_loss[on], self.risk_loss[on]))]


def over_limits(values: np.ndarray, limits: Sequence[EditLimit]) -> np.ndarray:
    """Mask of the runs of which more records than allowed break an edit rule; ``values`` has a column for each
    measure."""
    over = np.zeros(len(values), bool)
    for limit in limits:
        over |= values[:, limit.column] > limit.at_most
    return over


def refuse_void(results: Results, row: int, label: str) -> None:
    """Refuse (:class:`UsageError`) a run whose released rows are those of the original."""
    if results.is_void(row):
        raise UsageError(
            f"{label}/{results.replicate[row]} changes nothing: its released rows are those of the original. Choose "
            "another candidate, or record the decision to release nothing"
        )


def check_realisation(results: Results, index: int, replicate: int, label: str, allow_partial: bool = False) -> int:
    """Return the row of a realisation in ``results``; :class:`UsageError` for one that does not exist or, unless
    allowed, that failed."""
    at = np.flatnonzero((results.scenario == index) & (results.replicate == replicate))
    if not len(at):
        most = int((results.scenario == index).sum())
        raise UsageError(f"{label} has no replicate {replicate}; it has {most}")
    row = int(at[0])
    if results.status[row] == RunStatus.FAILED and not allow_partial:
        raise UsageError(
            f"run {label}/{replicate} failed: it swapped {results.changed[row]} records before no feasible pair was "
            "left; it is taken only where failed runs count too",
            Remedy.FAILED_RUNS,
        )
    return row


@dataclass(frozen=True)
class IndistinguishableGroup:
    """Scenarios that cannot be told apart within the noise: the one with this ``index`` stands for the ``others``
    (indices too, from least to most risk)."""

    index: int
    others: tuple[int, ...] = ()


def indistinguishable_groups(view: RiskUtilityMap, representative: int | None = None) -> list[IndistinguishableGroup]:
    """Return the frontier as clearly different choices, from least to most risk.

    Two scenarios are indistinguishable when neither their risk nor their loss differs by more than the noise of the
    difference (Welch's t, at a confidence shared by all pairs of the frontier).  Groups grow outwards from
    ``representative``, the index of a scenario that always stands for itself (without it from the safest): a scenario
    joins a group while it is indistinguishable from the one that stands for it, and begins the next one otherwise.
    Where a scenario has too few runs for a standard error that can be believed, nothing is known about noise, so it is
    a group of its own.
    """
    order = view.frontier().tolist()
    if representative is not None and representative not in order:
        order = sorted([*order, representative], key=lambda i: (view.risk_loss[i], view.utility_loss[i]))
    if not order:
        return []
    start = order.index(representative) if representative is not None else 0
    columns = [view.risk, view.utility]
    indices = np.array(order)
    counted = view.summary.counted[indices]
    loss, se = view.summary.loss[indices][:, columns], view.summary.loss_se[indices][:, columns]
    se = believed_errors(se, counted)
    if np.isinf(se).any(axis=1).all():  # nothing is known of any: no need of quantiles, nor of SciPy, slow to load
        return [IndistinguishableGroup(index) for index in order]
    quantiles = t_thresholds(len(order) * (len(order) - 1) // 2)

    def within_noise(i: int, j: int) -> bool:
        if np.isinf(se[[i, j]]).any():
            return False
        pair = np.array([i, j])
        margin = margins(se[pair], counted[pair], 0, quantiles)[1]
        return bool((np.abs(loss[j] - loss[i]) <= margin).all())

    groups: dict[int, list[int]] = {start: []}
    for steps in (range(start + 1, len(order)), range(start - 1, -1, -1)):
        lead = start
        for i in steps:
            if within_noise(lead, i):
                groups[lead].append(i)
            else:
                groups[i] = []
                lead = i
    return [
        IndistinguishableGroup(order[lead], tuple(order[i] for i in sorted(groups[lead]))) for lead in sorted(groups)
    ]


EACH_SIDE = 3


def lettered(view: RiskUtilityMap, index: int, each_side: int = EACH_SIDE) -> dict[str, int]:
    """Return the letters of a recommended scenario (its ``index``), which is A, and of its nearest neighbours on the
    frontier: B and so on from the safest of them to the most useful.  All stand in that order along the frontier, A
    among them.

    Neighbours are clearly different ones: scenarios that cannot be told apart within the noise are one (see
    :func:`engine.frontier.risk_utility_map.indistinguishable_groups`), but for a side that has no other.  At most
    ``each_side`` are safer and as many more useful.  The scenario itself is always among them, also where it is
    dominated: then neighbours are those of the frontier with less risk, and those with more use.
    """
    groups = indistinguishable_groups(view, representative=index)
    on = np.array([group.index for group in groups if group.index != index], np.int64)
    risk, loss = view.risk_loss, view.utility_loss
    safer = on[(risk[on] < risk[index]) | ((risk[on] == risk[index]) & (loss[on] > loss[index]))]
    safer = safer[np.lexsort((loss[safer], risk[safer]))][-each_side:] if each_side else safer[:0]
    useful = np.setdiff1d(on[loss[on] < loss[index]], safer)
    useful = useful[np.lexsort((risk[useful], -loss[useful]))][:each_side]
    if each_side:  # where noise hides all of a side, its nearest candidate stands for it
        edge = np.setdiff1d(np.flatnonzero(view.dominance.undominated), [*safer, index, *useful])
        if not len(safer) and len(near := edge[risk[edge] < risk[index]]):
            safer = near[np.lexsort((loss[near], risk[near]))][-1:]
        if not len(useful) and len(near := edge[loss[edge] < loss[index]]):
            useful = np.setdiff1d(near[np.lexsort((risk[near], -loss[near]))][:1], safer)
    letters = iter(ascii_uppercase[1:])
    return {"A" if i == index else next(letters): i for i in (*safer.tolist(), index, *useful.tolist())}


def inside(view: RiskUtilityMap, risk: tuple[float, float], loss: tuple[float, float]) -> np.ndarray:
    """Indices of the scenarios within two ranges of losses (ends included, in either order), from least to most
    risk."""
    (low_r, high_r), (low_l, high_l) = sorted(risk), sorted(loss)
    x, y = view.risk_loss, view.utility_loss
    with np.errstate(invalid="ignore"):
        indices = np.flatnonzero((x >= low_r) & (x <= high_r) & (y >= low_l) & (y <= high_l))
    return indices[np.lexsort((y[indices], x[indices]))]


def safest(view: RiskUtilityMap, most: int) -> np.ndarray:
    """Indices of at most so many scenarios with the least risk, from least to most; those without a figure are
    last."""
    x, y = view.risk_loss, view.utility_loss
    indices = np.arange(len(x))
    if len(x) > most > 0:
        indices = np.flatnonzero(x <= np.partition(x, most - 1)[most - 1])  # without ties no more than are asked for
        if len(indices) < most:  # fewer have a figure
            indices = np.arange(len(x))
    return indices[np.lexsort((y[indices], x[indices]))][:most]


def middle(view: RiskUtilityMap) -> float | None:
    """The figure that a bound on risk is held against, as a loss, of the candidate in the middle of the frontier, so
    that it would be within such a bound; its mean risk where it has too few runs for one. None without a frontier."""
    on = view.frontier()
    if not len(on):
        return None
    index = int(on[len(on) // 2])
    bounded = float(view.bounded_risk[index])
    return bounded if np.isfinite(bounded) else float(view.risk_loss[index])


def undominated_among(view: RiskUtilityMap, mask: np.ndarray) -> np.ndarray:
    """Mask of the scenarios that no other one of ``mask`` dominates on the map's risk and utility; shape of the map."""
    on = np.zeros(len(view.risk_loss), bool)
    among = np.flatnonzero(mask)
    on[among] = undominated(np.column_stack([view.offered_risk[among], view.utility_loss[among]]))
    return on


def undominated_together(view: RiskUtilityMap, measures: Sequence[int]) -> np.ndarray:
    """Mask of the scenarios that no other one dominates on several measures (columns) at once, by their means."""
    return np.asarray(undominated(view.summary.loss[:, list(measures)]) & ~view.changes_nothing)
