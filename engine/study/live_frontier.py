"""The frontier of a study while a sweep still fills it.

A map reads every realisation into memory and works out errors and dominance; beside a running sweep that would be for a
moment's use only.  Here the database adds up what is stored and hands over one row per scenario, in a fraction of a
second per million realisations; once the sweep has ended, the summary that it leaves in the study is taken.

A database rounds sums otherwise than the map does, and one bit decides which of two level candidates dominates the
other.  So whatever comes near the frontier is added up once more, as the map does it: both name the same candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.common.errors import UsageError
from engine.frontier.summary import summarise
from engine.frontier.tradeoff import hypervolume
from engine.frontier.undominated import undominated
from engine.release.results import RunStatus
from engine.study.map_reader import objective_indices, summary_name
from engine.study.study import Study

_ROUNDING = 1e-9  # of the largest figure: more than two ways to add it up can differ by, less than anybody looks at


@dataclass(frozen=True)
class LiveFrontier:
    """The frontier so far.

    ``runs`` is how many realisations it rests on.  ``scenarios`` are the indices of those with a defined mean,
    ``losses`` their mean losses of shape ``(len(scenarios), 2)`` (risk, then utility; smaller is better),
    ``undominated`` marks those on the frontier.  ``volume`` is the hypervolume that it dominates up to ``reference``;
    of two with one reference, the larger is ahead.
    """

    runs: int
    scenarios: np.ndarray
    losses: np.ndarray
    undominated: np.ndarray
    reference: tuple[float, float]
    volume: float

    @property
    def area(self) -> float:
        """The share, 0 to 1, that the frontier dominates of the rectangle between the best and the reference losses."""
        if not len(self.losses):
            return 0.0
        rectangle = float(np.prod(np.asarray(self.reference) - self.losses.min(axis=0)))
        return self.volume / rectangle if rectangle > 0 else 1.0


def live_frontier(
    study: Study,
    risk: str | None = None,
    utility: str | None = None,
    *,
    allow_partial: bool = False,
    reference: Sequence[float] | None = None,
) -> LiveFrontier:
    """Return the frontier over the means of the runs that a study holds now: the same candidates as the map's.

    ``reference`` bounds the hypervolume from above (two losses); without it the worst mean losses so far are taken, and
    may be handed on to the next call.  Raises :class:`UsageError` for measures that the study does not have or that are
    of another kind, and for a reference that is not two finite numbers.
    """
    objectives = objective_indices(study, risk, utility)
    summary = study.cache.load(summary_name(allow_partial))
    indices, n, means = _sums(study, objectives, allow_partial) if summary is None else _of_summary(summary, objectives)
    defined = ~np.isnan(means).any(axis=1)
    losses = means[defined]
    on = undominated(losses) & ~np.isin(indices[defined], _void(study))
    if reference is None:
        corner = losses.max(axis=0) if len(losses) else np.zeros(2)
    elif len(reference) == 2 and np.isfinite(reference).all():
        corner = np.asarray(reference, dtype=float)
    else:
        raise UsageError(f"reference is {list(reference)}, must be two finite losses, of risk and of utility")
    return LiveFrontier(
        runs=int(n.sum()),
        scenarios=indices[defined],
        losses=losses,
        undominated=on,
        reference=(float(corner[0]), float(corner[1])),
        volume=hypervolume(losses[on], corner),
    )


def _void(study: Study) -> np.ndarray:
    """Indices of the scenarios whose runs all left the data as they were."""
    all_void = f"min(status = {int(RunStatus.NOOP)})"
    rows = study.database.rows(f"select scenario from realisation group by scenario having {all_void}")
    return np.array([index for (index,) in rows], np.int64)


def _of_summary(summary: dict[str, np.ndarray], objectives: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices of the scenarios that were run, how often, and their mean losses, from the cached summary."""
    indices = np.flatnonzero(summary["counted"])
    return indices, summary["counted"][indices], summary["loss"][:, list(objectives)][indices]


def _sums(study: Study, objectives: Sequence[int], allow_partial: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the same, added up by the database and near the frontier anew: NaN where the measure is undefined in one
    run."""
    sums = ", ".join(f"count(m{k}), total({_loss(study, k)}), max(abs(m{k}))" for k in objectives)
    which = "" if allow_partial else f" where status != {RunStatus.FAILED}"
    rows = study.database.rows(
        f"select scenario, count(*), {sums} from realisation{which} group by scenario order by scenario"
    )
    columns = np.array(rows, dtype=float).reshape(-1, 8)
    indices, n = columns[:, 0].astype(np.int64), columns[:, 1]
    means = np.where(columns[:, [2, 5]] == n[:, None], columns[:, [3, 6]] / n[:, None], np.nan)
    defined = np.flatnonzero(~np.isnan(means).any(axis=1))
    if len(defined):
        slack = _ROUNDING * np.maximum(columns[defined][:, [4, 7]].max(axis=0), np.finfo(float).tiny)
        near = defined[_near_frontier(means[defined], slack)]
        means[near] = _as_mapped(study, objectives, allow_partial, indices[near])
    return indices, n, means


def _near_frontier(losses: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """Mask of what nothing beats by more than ``slack`` on both objectives."""
    on = losses[undominated(losses)]
    on = on[np.argsort(on[:, 0], kind="stable")] + slack
    lowest = np.minimum.accumulate(on[:, 1])
    at = np.searchsorted(on[:, 0], losses[:, 0], side="right")
    return np.asarray((at == 0) | (lowest[np.maximum(at, 1) - 1] > losses[:, 1]))


def _as_mapped(study: Study, objectives: Sequence[int], allow_partial: bool, indices: np.ndarray) -> np.ndarray:
    """Mean losses of some scenarios (their indices in ascending order), to the last bit as the map has them."""
    runs = study.runs.of(indices.tolist())
    runs = replace(runs, scenario=np.searchsorted(indices, runs.scenario), values=runs.values[:, list(objectives)])
    return summarise(runs, [study.measures[k].measure for k in objectives], len(indices), allow_partial).loss


def _loss(study: Study, k: int) -> str:
    """The column of a measure turned so that smaller is better, as :meth:`engine.measures.Measure.loss` does."""
    return {"lower": "m{}", "higher": "-m{}", "zero": "abs(m{})"}[study.measures[k].measure.better].format(k)
