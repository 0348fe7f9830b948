"""Adaptive replicates: run all scenarios a few times, then spend where dominance is uncertain.

Every scenario is run ``screen`` times.  One is *settled* when some scenario on the frontier of means is better on both
risk and utility by more than Welch's margin, or when it has no figure to compare (all its runs failed).  The others
go on to twice as many replicates, and again, up to ``replicates``.  Settled is judged anew each time, with what is
known by then: a scenario whose settlement no longer holds goes on like the others.  Last, the scenarios on the frontier
are run on as many *fresh* replicates, which had no part in finding them.

What this guarantees:

* Whatever was run less than in full is, on the final figures, worse on both objectives than one scenario on the
  frontier, each at the confidence of :data:`CONFIDENCE` (two-sided, Welch's t with its own degrees of freedom).  So
  every scenario on the frontier, and every one that a rule can recommend, was run in full.
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
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.frontier.summary import FEW, margins, summarise, t_thresholds
from engine.frontier.undominated import undominated
from engine.measures import Measure
from engine.release.results import Results, first_runs
from engine.study.map_reader import objective_indices
from engine.sweeps.runner import Runner

CONFIDENCE = 0.95
"""Confidence of one comparison of a scenario with a rival."""


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
    loss, se = summary.loss[:, columns], np.nan_to_num(summary.loss_se[:, columns], nan=np.inf)
    # few equal runs happened to agree; that does not make their mean certain
    se[(se == 0) & (summary.counted < FEW)[:, None]] = np.inf
    on = undominated(loss)
    settled = np.isnan(loss).any(axis=1)
    quantiles = t_thresholds(1, CONFIDENCE)
    for index in np.flatnonzero(on).tolist():
        with np.errstate(invalid="ignore"):
            settled |= (loss - loss[index] > margins(se, summary.counted, index, quantiles)).all(axis=1)
    return on, settled


def run_adaptively(runner: Runner) -> None:
    """Run the scenarios of a study as its plan asks, and those on the frontier on fresh replicates too."""
    study = runner.study
    replicates = study.plan.space.replicates
    objectives = objective_indices(study)
    measures = [call.measure for call in study.measures]
    levels = looks(study.plan.space.screen, replicates)
    runs = np.full(len(study.scenarios), levels[0])
    runner.bring(None, levels[0])
    at = 0
    while True:
        on, settled = judge(study.runs.results(), measures, objectives, runs)
        runner.total = int(np.where(settled, runs, replicates).sum() + replicates * on.sum())
        short = ~settled & (runs < replicates)
        if not short.any():
            break
        at = min(at + 1, len(levels) - 1)
        runs[short] = levels[at]
        runner.bring(np.flatnonzero(short).tolist(), levels[at])
    runner.bring(np.flatnonzero(on).tolist(), replicates, fresh=True)
    runner.done = runner.total
