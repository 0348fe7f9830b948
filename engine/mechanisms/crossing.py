"""Numbers of combinations of codes, and the parts of edit rules that records, units and places meet."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from engine.common.errors import UsageError
from engine.data.domain import Domain, EditRule
from engine.data.microdata import Microdata, Units

_BITS = 64
_MOST_BYTES = 1 << 31


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


Parts = tuple[np.ndarray, np.ndarray]
"""Bits of what rules forbid together: of the attributes that stay, and of those that are exchanged.  A row breaks a
rule when it has the same bit in both."""


def parts_met(
    rules: Sequence[EditRule],
    domain: Domain,
    codes: Sequence[np.ndarray],
    exchanged: Collection[int],
    rows: np.ndarray | slice = slice(None),
) -> Parts:
    """The :data:`Parts` of rules, in words of 64 bits: those of every row, shape ``(n, words)``, and for the attributes
    ``exchanged`` those of the named ``rows`` alone.

    ``codes`` are the level codes of all rows of the original, an array for each attribute.  A part without attributes
    is met by all.
    """
    forbidding = [rule for rule in rules if not rule.existing]
    parts = [_forbidden(forbidding, domain, codes, exchanged, rows)] if forbidding else []
    parts += [_absent(rule, domain, codes, exchanged, rows) for rule in rules if rule.existing]
    if not parts:
        return np.zeros((len(codes[0]), 0), np.uint64), np.zeros((len(codes[0][rows]), 0), np.uint64)
    stays, moves = (np.concatenate(words, axis=1) for words in zip(*parts, strict=True))
    return stays, moves


def _forbidden(
    rules: Sequence[EditRule],
    domain: Domain,
    codes: Sequence[np.ndarray],
    exchanged: Collection[int],
    rows: np.ndarray | slice,
) -> Parts:
    """A bit for each rule whose part is met."""
    n_words = -(-len(rules) // _BITS)
    stays = np.zeros((len(codes[0]), n_words), np.uint64)
    moves = np.zeros((len(codes[0][rows]), n_words), np.uint64)
    for number, rule in enumerate(rules):
        met = [np.ones(len(words), bool) for words in (stays, moves)]
        for name, levels in rule.forbid:
            j = domain.index(name)
            listed = np.isin(np.array(domain.attributes[j].levels), levels)
            met[j in exchanged] &= listed[codes[j][rows] if j in exchanged else codes[j]]
        for words, meets in zip((stays, moves), met, strict=True):
            words[meets, number // _BITS] |= np.uint64(1) << np.uint64(number % _BITS)
    return stays, moves


def _absent(
    rule: EditRule, domain: Domain, codes: Sequence[np.ndarray], exchanged: Collection[int], rows: np.ndarray | slice
) -> Parts:
    """A bit for each combination of the side that has fewer: there its own, on the other side those that it never
    occurs with."""
    looked_at, n = domain.indices(rule.existing), len(codes[0])
    stay, move = (
        crossed([codes[j].astype(np.int64) for j in looked_at if (j in exchanged) == side], n) for side in (False, True)
    )
    sizes = int(stay.max(initial=-1)) + 1, int(move.max(initial=-1)) + 1
    few = min(sizes)
    if max(sizes) * few + (n + len(move[rows])) * few // 8 > _MOST_BYTES:
        raise UsageError(
            f"edit rule '{rule.name}' compares {sizes[0]:,} combinations with {sizes[1]:,}, which takes too much "
            "memory; name fewer attributes, or merge their levels"
        )
    absent = np.ones(sizes, bool)
    absent[stay, move] = False
    own = np.eye(few, dtype=bool)
    of_stay, of_move = (own, absent.T) if sizes[0] <= sizes[1] else (absent, own)
    return _words(of_stay)[stay], _words(of_move)[move[rows]]


def _words(bits: np.ndarray) -> np.ndarray:
    """Rows of truth values as words of 64 bits."""
    whole = np.zeros((len(bits), -(-bits.shape[1] // _BITS) * _BITS), bool)
    whole[:, : bits.shape[1]] = bits
    return np.packbits(whole, axis=1).view(np.uint64)


def rules_met(data: Microdata, units: Units, places: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bits of the refusing edit rules: those whose part outside geography some member of a unit meets, those whose part
    of geography a place meets, and each unit's place by the whole hierarchy."""
    of_first = [codes[units.first] for codes in data.codes]
    place = crossed([of_first[j].astype(np.int64) for j in places], len(units))
    _, first = np.unique(place, return_index=True)
    met, place_met = parts_met(data.domain.refusing, data.domain, data.codes, places, units.first[first])
    return units.any_bits(met), place_met, place
