"""Compare a candidate with another or with doing nothing: differences, their direction, and their significance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.frontier.summary import believed_errors, margins, t_thresholds
from engine.study.study import Study


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
    view: RiskUtilityMap, index: int, reference: int | None = None, *, together: int = 1
) -> list[Difference]:
    """A scenario against another one, or against the unaltered data (None), on every measure of the study.

    Noise is Welch's interval for the difference of two means at 95 %, shared by all measures (Bonferroni) and by the
    ``together`` scenarios that are shown side by side.  Runs of candidates that share draws are correlated, mostly
    positively, so that it rather errs on the side of noise.  Equal figures over few runs prove nothing.
    """
    quantiles = t_thresholds(len(view.measures) * max(1, together))
    original = view.original_losses
    rows = []
    for k, call in enumerate(view.measures):
        sign = -1.0 if call.measure.better == "higher" else 1.0
        loss, se, n = _mean(view, index, k)
        reference_loss, reference_se, reference_n = (
            (float(original[k]), 0.0, 0) if reference is None else _mean(view, reference, k)
        )
        gap = loss - reference_loss
        if reference == index:
            gap = 0.0
        margin = _margin((se, n), None if reference is None else (reference_se, reference_n), quantiles)
        absolute = sign * gap
        rows.append(
            Difference(
                measure=k,
                value=sign * loss,
                value_se=se,
                reference=sign * reference_loss,
                reference_se=reference_se,
                absolute=absolute,
                relative=absolute / abs(reference_loss) if reference_loss else np.nan,
                better=0 if np.isnan(gap) else int(np.sign(-gap)),
                clear=bool(gap != 0 and abs(gap) > margin),
            )
        )
    return rows


def _mean(view: RiskUtilityMap, index: int, k: int) -> tuple[float, float, int]:
    """Mean loss, its standard error and the number of runs."""
    return (
        float(view.summary.loss[index, k]),
        float(view.summary.loss_se[index, k]),
        int(view.summary.counted[index]),
    )


def _margin(mean: tuple[float, int], reference: tuple[float, int] | None, quantiles: np.ndarray) -> float:
    """The least that a difference of two means has to exceed: each is a standard error and a number of runs; the
    unaltered data (None) are known exactly. Infinite where noise is unknown."""
    se, n = np.array([mean, reference or (0.0, 2)]).T
    believed = believed_errors(se, n)
    if reference is None:
        believed[1] = 0.0
    return float(margins(believed[:, None], n, 0, quantiles)[1, 0])


@dataclass(frozen=True)
class Spread:
    """One scenario's runs: ``replicate`` numbers and one column of ``values`` per measure, as measured; ``fresh``
    marks those that did not lead to the choice."""

    replicate: np.ndarray
    values: np.ndarray
    fresh: np.ndarray


def spread(study: Study, index: int, allow_partial: bool = False) -> Spread:
    """The counted runs of a scenario, those on fresh replicates after the sweep's own."""
    tables = [study.runs.of([index], name) for name in ("realisation", "fresh")]
    counted = [table.counted(allow_partial) for table in tables]
    return Spread(
        replicate=np.concatenate([table.replicate[mask] for table, mask in zip(tables, counted, strict=True)]),
        values=np.concatenate([table.values[mask] for table, mask in zip(tables, counted, strict=True)]),
        fresh=np.repeat([False, True], [int(mask.sum()) for mask in counted]),
    )


def starting_points(view: RiskUtilityMap) -> Sequence[int]:
    """Up to three scenarios of the frontier to begin a comparison with: the safest, the knee, and the most useful."""
    frontier = view.frontier().tolist()
    return list(dict.fromkeys(index for index in (*frontier[:1], view.knee(), *frontier[-1:]) if index is not None))
