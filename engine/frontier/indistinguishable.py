"""Scenarios of the frontier that cannot be told apart within the noise of their means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.frontier.summary import believed_errors, margins, t_thresholds


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
