"""Sentences about a candidate of targeted record swapping before it is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.data.units import Units
from engine.mechanisms.base import Drawn
from engine.release.parameter import Setting

if TYPE_CHECKING:
    from engine.mechanisms.targeted import Prepared


def remarks(prepared: Prepared, setting: Setting, drawn: Drawn) -> list[str]:
    """Warnings about hierarchy and risk, profiles by which persons by area may change, and how many households are
    swapped where those that must be are more than the rate; the draw on trial tells how many."""
    found = list(prepared.warnings)
    units = prepared.units
    for number, group in enumerate(prepared.group, 1):
        if not Units.from_codes(group).constant(units.size).all():
            found.append(
                f"similar: partners by profile {number} may differ in size, so the number of persons of an area may "
                "change"
            )
    risky = float(np.mean(prepared.movable & (prepared.level < len(prepared.area))))
    rate, share = float(setting["rate"]), float(drawn.diagnostics["share_of_households"])
    if setting["must"] == "all" and round(share, 3) > round(rate, 3) and risky > 0:
        found.append(
            f"{_percent(risky)} of households must be swapped, rate is {_percent(rate)}: {_percent(share)} will be"
        )
    return found


def _percent(share: float) -> str:
    return f"{round(100 * share, 1):g} %"
