"""Numbers of combinations of codes, and the edit rules that units and places meet."""

from __future__ import annotations

import numpy as np

from engine.data.edit_rules import parts_met
from engine.data.microdata import Microdata
from engine.data.units import Units


def dense(numbers: np.ndarray) -> np.ndarray:
    """Numbers from 0 in the order of the given ones, equal for equal ones."""
    ranks: np.ndarray = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    return ranks


def crossed(codes: list[np.ndarray], length: int) -> np.ndarray:
    """One number for each combination of codes, from 0 in the order of the codes, shape ``(length,)``."""
    number = np.zeros(length, np.int64)
    for code in codes:
        number = dense(number * (int(code.max()) + 1) + code)
    return number


def shared(area: np.ndarray, number: np.ndarray) -> np.ndarray:
    """The number of persons of each person's area who share the person's number."""
    cell = dense(area * (int(number.max()) + 1) + number)
    counts: np.ndarray = np.bincount(cell)[cell]
    return counts


def rules_met(data: Microdata, units: Units, places: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bits of the refusing edit rules: those whose part outside geography some member of a unit meets, those whose part
    of geography a place meets, and each unit's place by the whole hierarchy."""
    attributes, rules = data.domain.attributes, data.domain.refusing
    of_first = [codes[units.first] for codes in data.codes]
    place = crossed([of_first[j].astype(np.int64) for j in places], len(units))
    _, first = np.unique(place, return_index=True)
    place_met = parts_met(rules, attributes, [codes[first] for codes in of_first], places)
    elsewhere = [j for j in range(len(attributes)) if j not in places]
    return units.any_bits(parts_met(rules, attributes, data.codes, elsewhere)), place_met, place
