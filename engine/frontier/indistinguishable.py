"""Scenarios of the frontier that cannot be told apart within the noise of their means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.frontier.summary import margins, t_thresholds


@dataclass(frozen=True)
class Alike:
    """A scenario that stands for others which cannot be told from it.

    ``place`` is the one that stands for them, ``others`` the places of the rest, from least to most risk.
    """

    place: int
    others: tuple[int, ...] = ()


def merged(view: RiskUtilityMap, keep: int | None = None) -> list[Alike]:
    """The frontier as clearly different choices, from least to most risk.

    Two scenarios are alike when neither their risk nor their loss differs by more than the noise of the difference
    (Welch's t, at a confidence shared by all pairs of the frontier).  Groups grow outwards from ``keep``, which always
    stands for itself (without it from the safest): a scenario joins the group at hand while it is alike to the one
    that stands for it, and begins the next one otherwise.  Where a scenario has too few runs for a standard error
    nothing is known about noise, so nothing is merged with it.
    """
    order = view.frontier().tolist()
    if keep is not None and keep not in order:
        order = sorted([*order, keep], key=lambda i: (view.risk_loss[i], view.utility_loss[i]))
    if not order:
        return []
    start = order.index(keep) if keep is not None else 0
    columns = [view.risk, view.utility]
    places = np.array(order)
    loss, se = view.summary.loss[places][:, columns], view.summary.loss_se[places][:, columns]
    if np.isnan(se).any(axis=1).all():  # nothing is known of any: no need of quantiles, nor of SciPy, slow to load
        return [Alike(place) for place in order]
    counted = view.summary.counted[places]
    quantiles = t_thresholds(len(order) * (len(order) - 1) // 2)

    def alike(i: int, j: int) -> bool:
        if np.isnan(se[[i, j]]).any():
            return False
        pair = np.array([i, j])
        margin = margins(se[pair], counted[pair], 0, quantiles)[1]
        return bool((np.abs(loss[j] - loss[i]) <= margin).all())

    groups: dict[int, list[int]] = {start: []}
    for steps in (range(start + 1, len(order)), range(start - 1, -1, -1)):
        lead = start
        for i in steps:
            if alike(lead, i):
                groups[lead].append(i)
            else:
                groups[i] = []
                lead = i
    return [Alike(order[lead], tuple(order[i] for i in sorted(groups[lead]))) for lead in sorted(groups)]
