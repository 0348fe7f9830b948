"""A recommendation among its neighbours on the frontier, with letters that a board can use."""

from __future__ import annotations

from string import ascii_uppercase

import numpy as np

from engine.frontier.indistinguishable import indistinguishable_groups
from engine.frontier.risk_utility_map import RiskUtilityMap

EACH_SIDE = 3


def lettered(view: RiskUtilityMap, index: int, each_side: int = EACH_SIDE) -> dict[str, int]:
    """Return the letters of a recommended scenario (its ``index``), which is A, and of its nearest neighbours on the
    frontier: B and so on from the safest of them to the most useful.  All stand in that order along the frontier, A
    among them.

    Neighbours are clearly different ones: scenarios that cannot be told apart within the noise are one (see
    :func:`engine.frontier.indistinguishable.indistinguishable_groups`).  At most ``each_side`` are safer and as many
    more useful.  The scenario itself is always among them, also where it is dominated: then neighbours are those of the
    frontier with less risk, and those with more use.
    """
    groups = indistinguishable_groups(view, representative=index)
    on = np.array([group.index for group in groups if group.index != index], np.int64)
    risk, loss = view.risk_loss, view.utility_loss
    safer = on[(risk[on] < risk[index]) | ((risk[on] == risk[index]) & (loss[on] > loss[index]))]
    safer = safer[np.lexsort((loss[safer], risk[safer]))][-each_side:] if each_side else safer[:0]
    useful = np.setdiff1d(on[loss[on] < loss[index]], safer)
    useful = useful[np.lexsort((risk[useful], -loss[useful]))][:each_side]
    letters = iter(ascii_uppercase[1:])
    return {"A" if i == index else next(letters): i for i in (*safer.tolist(), index, *useful.tolist())}
