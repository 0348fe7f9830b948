"""Sentences about a candidate of targeted record swapping before it is run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from engine.common.wording import listed
from engine.mechanisms.base import Drawn
from engine.release.parameter import Setting

if TYPE_CHECKING:
    from engine.mechanisms.targeted import Prepared


def remarks(prepared: Prepared, setting: Setting, drawn: Drawn) -> list[str]:
    """Warnings about hierarchy and risk, profiles by which nobody finds a donor or persons by area may change, and how
    many households are swapped where those that must be are more than the rate; the draw on trial tells how many."""
    found = [*prepared.warnings, *_without_donors(prepared, setting["similar"])]
    units = prepared.units
    for number, group in enumerate(prepared.group, 1):
        if not _decides(group, units.size):
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


def _without_donors(prepared: Prepared, profiles: Sequence[Sequence[str]]) -> list[str]:
    """Profiles on which only households of one area agree, so that no partner can lie in another."""
    area, last = prepared.area[-1][prepared.movable], prepared.names[-1]
    none = [_decides(group[prepared.movable], area) for group in prepared.group]
    found = [
        f"similar: profile {number} finds no donor: households that agree on {listed(names)} all live in one '{last}', "
        "the finest level that counts"
        for number, (names, is_void) in enumerate(zip(profiles, none, strict=True), 1)
        if is_void
    ]
    if all(none):
        found.append("similar: no profile finds a donor, so no household can move and the table is the original")
    return found


def _decides(group: np.ndarray, number: np.ndarray) -> bool:
    """Return whether all units of each group have the same number."""
    some = np.zeros(int(group.max(initial=-1)) + 1, number.dtype)
    some[group] = number
    return bool((some[group] == number).all())


def _percent(share: float) -> str:
    return f"{round(100 * share, 1):g} %"
