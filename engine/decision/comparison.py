"""Compare a candidate with another or with doing nothing: differences, their direction, and their significance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.frontier.summary import believed_errors, margins, t_thresholds


@dataclass(frozen=True)
class Difference:
    """A scenario's mean of one measure against a reference's.

    ``value`` and ``reference``, with the standard errors of these means (0 of the unaltered data), are in the measure's
    own units; of a signed change they are its size.  ``absolute`` is value less reference.  ``better`` is 1 where the
    scenario is better than the reference, -1 where it is worse, 0 where they are equal or unknown.  ``clear`` says that
    the difference is beyond the noise of the means.
    """

    value: float
    value_se: float
    reference: float
    reference_se: float
    absolute: float
    better: int
    clear: bool


def differences(
    view: RiskUtilityMap,
    index: int,
    reference: int | None = None,
    *,
    together: int = 1,
    columns: Sequence[int] | None = None,
) -> list[Difference]:
    """A scenario against another one, or against the unaltered data (None), on the measures of some columns (None: all
    of the study).

    Noise is Welch's interval for the difference of two means at 95 %, shared by these measures (Bonferroni) and by the
    ``together`` scenarios that are shown side by side.  Runs of candidates that share draws are correlated, mostly
    positively, so that it rather errs on the side of noise.  Equal figures over few runs prove nothing.
    """
    columns = range(len(view.measures)) if columns is None else columns
    summary, quantiles = view.summary, t_thresholds(len(columns) * max(1, together))
    loss, se, n = summary.loss[index], summary.loss_se[index], int(summary.counted[index])
    beside, beside_se, beside_n = view.original_losses, np.zeros_like(se), 2  # the unaltered data are known exactly
    if reference is not None:
        beside, beside_se, beside_n = summary.loss[reference], summary.loss_se[reference], summary.counted[reference]
    counted, gaps = np.array([n, beside_n]), np.zeros_like(loss) if reference == index else loss - beside
    believed = believed_errors(np.array([se, beside_se]), counted)
    if reference is None:
        believed[1] = 0.0
    least = margins(believed, counted, 0, quantiles)[1]
    rows = []
    for k in columns:
        sign = -1.0 if view.measures[k].measure.better == "higher" else 1.0
        gap = float(gaps[k])
        rows.append(
            Difference(
                value=sign * float(loss[k]),
                value_se=float(se[k]),
                reference=sign * float(beside[k]),
                reference_se=float(beside_se[k]),
                absolute=sign * gap,
                better=0 if np.isnan(gap) else int(np.sign(-gap)),
                clear=bool(gap != 0 and abs(gap) > least[k]),
            )
        )
    return rows


def starting_points(view: RiskUtilityMap) -> Sequence[int]:
    """Up to three scenarios of the frontier to begin a comparison with: the safest, the knee, and the most useful."""
    frontier = view.frontier().tolist()
    return list(dict.fromkeys(index for index in (*frontier[:1], view.knee(), *frontier[-1:]) if index is not None))
