"""Equal rows among very many rows of roles, found by numbers that stand for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from engine.common.raw_values import first_places
from engine.release.specs import C, F, S, Specs, U

_DIGITS = np.zeros(128, np.int64)
_DIGITS[[S, F, C, U]] = range(4)
_ROLES_IN_A_WORD = 31
_BLOCK = 1 << 20  # roles looked at together


def blocks(roles: np.ndarray) -> Iterator[slice]:
    """Parts of so many rows that what is computed of them stays in a processor's cache."""
    step = max(1, _BLOCK // max(1, roles.shape[1]))
    return (slice(start, start + step) for start in range(0, len(roles), step))


def n_words(n_roles: int) -> int:
    """The number of words that :func:`as_numbers` needs for so many roles."""
    return max(1, -(-n_roles // _ROLES_IN_A_WORD))


def as_numbers(roles: np.ndarray) -> np.ndarray:
    """Each row of roles as a number in one or more words, shape ``(rows, words)``: two bits for each role."""
    numbers = np.zeros((len(roles), n_words(roles.shape[1])), np.int64)
    digits = _DIGITS[roles]
    for j in range(roles.shape[1]):
        word = numbers[:, j // _ROLES_IN_A_WORD]
        word <<= 2
        word |= digits[:, j]
    return numbers


def first_equal(numbers: np.ndarray) -> np.ndarray:
    """For each number, as :func:`as_numbers` makes them, the place of the first one that equals it."""
    key = numbers[:, 0]
    for word in numbers.T[1:]:
        key = np.unique(key, return_inverse=True)[1] * len(numbers) + np.unique(word, return_inverse=True)[1]
    return first_places(key)


def first_of_structure(specs: Specs, apart: Sequence[int] = ()) -> np.ndarray:
    """For each spec the place of the first one of the same :class:`~engine.release.spec.Structure`, with which it
    shares its pairs: splits of S∪C are the same, but for whether C is empty, and on the places ``apart``, which are
    those of attributes with several kinds of levels and those that refusing edit rules look at."""
    numbers = np.empty((len(specs), n_words(len(specs.names))), np.int64)
    splits = np.ones(len(specs.names), bool)
    splits[list(apart)] = False
    for part in blocks(specs.roles):
        roles = specs.roles[part]
        joined = (roles == S) & splits & (roles == C).any(axis=1)[:, None]
        numbers[part] = as_numbers(np.where(joined, np.uint8(C), roles))
    return first_equal(numbers)
