"""Compare a candidate with another or with doing nothing: differences, their direction, and their significance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.decision.choice import runs_of
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.frontier.summary import margins, t_thresholds
from engine.study.study import Study

_FEW = 5
"""Below so many runs a standard error of exactly 0 says that the runs happened to agree, not that they always will."""


@dataclass(frozen=True)
class Difference:
    """A scenario's mean of one measure (its column ``measure``) against a reference's.

    ``value`` and ``reference`` are in the measure's own units; of a signed change they are its size.  ``absolute`` is
    value less reference, ``relative`` that as a share of the reference's size (NaN where that is zero).  ``better`` is
    1 where the scenario is better than the reference, -1 where it is worse, 0 where they are equal or unknown.
    ``clear`` says that the difference is beyond the noise of the means.  Standard errors are those of the means; that
    of the unaltered data is 0.
    """

    measure: int
    value: float
    value_se: float
    reference: float
    reference_se: float
    absolute: float
    relative: float
    better: int
    clear: bool


def differences(
    view: RiskUtilityMap, place: int, reference: int | None = None, *, together: int = 1
) -> list[Difference]:
    """A scenario against another one, or against the unaltered data (None), on every measure of the study.

    Noise is Welch's interval for the difference of two means at 95 %, shared by all measures (Bonferroni) and by the
    ``together`` scenarios that are shown side by side.  Runs of candidates that share draws are correlated, mostly
    positively, so that it rather errs on the side of noise.  Equal figures over fewer than five runs prove nothing.
    """
    quantiles = t_thresholds(len(view.measures) * max(1, together))
    original = view.original_losses
    found = []
    for k, call in enumerate(view.measures):
        sign = -1.0 if call.measure.better == "higher" else 1.0
        loss, se, n = _mean(view, place, k)
        other, other_se, other_n = (float(original[k]), 0.0, 0) if reference is None else _mean(view, reference, k)
        gap = loss - other
        if reference == place:
            gap = 0.0
        margin = _margin((se, n), None if reference is None else (other_se, other_n), quantiles)
        absolute = sign * gap
        found.append(
            Difference(
                measure=k,
                value=sign * loss,
                value_se=se,
                reference=sign * other,
                reference_se=other_se,
                absolute=absolute,
                relative=absolute / abs(other) if other else np.nan,
                better=0 if np.isnan(gap) else int(np.sign(-gap)),
                clear=bool(gap != 0 and abs(gap) > margin),
            )
        )
    return found


def _mean(view: RiskUtilityMap, place: int, k: int) -> tuple[float, float, int]:
    """Mean loss, its standard error and the number of runs."""
    return (
        float(view.summary.loss[place, k]),
        float(view.summary.loss_se[place, k]),
        int(view.summary.counted[place]),
    )


def _margin(one: tuple[float, int], other: tuple[float, int] | None, quantiles: np.ndarray) -> float:
    """What a difference of two means has to exceed: each is a standard error and a number of runs; the unaltered data
    (None) are known exactly.  Infinite where noise is unknown."""
    se, n = np.array([one, other or (0.0, 2)]).T
    unknown = np.isnan(se) | ((se == 0) & (n < _FEW))
    unknown[1] &= other is not None
    se[unknown] = np.inf
    return float(margins(se[:, None], n, 0, quantiles)[1, 0])


@dataclass(frozen=True)
class Spread:
    """One scenario's runs: ``replicate`` numbers and one column of ``values`` per measure, as measured; ``fresh``
    marks those that did not lead to the choice."""

    replicate: np.ndarray
    values: np.ndarray
    fresh: np.ndarray


def spread(study: Study, place: int, allow_partial: bool = False) -> Spread:
    """The counted runs of a scenario, those on fresh replicates after the sweep's own."""
    parts = [runs_of(study, place, table) for table in ("realisation", "fresh")]
    use = [part.counted(allow_partial) for part in parts]
    return Spread(
        replicate=np.concatenate([part.replicate[mask] for part, mask in zip(parts, use, strict=True)]),
        values=np.concatenate([part.values[mask] for part, mask in zip(parts, use, strict=True)]),
        fresh=np.repeat([False, True], [int(mask.sum()) for mask in use]),
    )


def starting_points(view: RiskUtilityMap) -> Sequence[int]:
    """Up to three scenarios of the frontier to begin a comparison with: the safest, the knee, and the most useful."""
    on = view.frontier().tolist()
    return list(dict.fromkeys(place for place in (*on[:1], view.knee(), *on[-1:]) if place is not None))
