"""A recommendation among its neighbours on the frontier, with letters that a board can use."""

from __future__ import annotations

from string import ascii_uppercase

import numpy as np

from engine.frontier.indistinguishable import merged
from engine.frontier.risk_utility_map import RiskUtilityMap

EACH_SIDE = 3


def lettered(view: RiskUtilityMap, place: int, each_side: int = EACH_SIDE) -> dict[str, int]:
    """Letters of a recommended scenario, which is A, and of its nearest neighbours on the frontier: B and so on from
    the safest of them to the most useful.  All are returned in that order along the frontier, A in its place.

    Neighbours are clearly different ones: what noise cannot tell apart is one (see
    :func:`engine.frontier.indistinguishable.merged`). At most ``each_side`` that are safer and as many that are more
    useful.  The scenario itself is always among them, also where it is dominated: then neighbours are those of the
    frontier with less risk, and those with more use.
    """
    on = np.array([one.place for one in merged(view, keep=place) if one.place != place], np.int64)
    risk, loss = view.risk_loss, view.utility_loss
    safer = on[(risk[on] < risk[place]) | ((risk[on] == risk[place]) & (loss[on] > loss[place]))]
    safer = safer[np.lexsort((loss[safer], risk[safer]))][-each_side:] if each_side else safer[:0]
    useful = np.setdiff1d(on[loss[on] < loss[place]], safer)
    useful = useful[np.lexsort((risk[useful], -loss[useful]))][:each_side]
    rest = iter(ascii_uppercase[1:])
    return {"A" if i == place else next(rest): i for i in (*safer.tolist(), place, *useful.tolist())}
