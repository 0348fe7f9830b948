"""Kernels that choose by weights: a partner for each visited record, a key cell for each imputed one.

Weights are added up in order and compared, never multiplied with one another, so that compiled and plain runs give the
same bits.
"""

from __future__ import annotations

import numpy as np

from engine.common.compiled import kernel


@kernel
def exchange(
    visits: np.ndarray,
    uniforms: np.ndarray,
    ends: np.ndarray,
    candidates: np.ndarray,
    weights: np.ndarray,
    free: np.ndarray,
    source: np.ndarray,
) -> None:
    """Visit records in order; each that is ``free`` stays (weight 1) or exchanges with a free one of its candidates.

    Visit ``v`` has the ``candidates`` that end at ``ends[v]``, ascending, with their ``weights``, and uses
    ``uniforms[v]``.  Who exchanges is free no more, and ``source`` names whose keys it carries.
    """
    begin = 0
    for v in range(len(visits)):
        first, end, i = begin, ends[v], visits[v]
        begin = end
        if not free[i]:
            continue
        free[i] = False
        total, last = 0.0, -1
        for k in range(first, end):
            if free[candidates[k]]:
                total += weights[k]
                last = k
        chosen = uniforms[v] * (1.0 + total)
        # A number below 1 out of the sum of all weights stays.
        if last < 0 or chosen < 1.0:
            free[i] = True
            continue
        total = 0.0
        for k in range(first, last + 1):
            if free[candidates[k]]:
                total += weights[k]
                if k == last or 1.0 + total > chosen:
                    j = candidates[k]
                    source[i], source[j] = j, i
                    free[j] = False
                    break


@kernel
def below_largest(logarithms: np.ndarray) -> None:
    """Take each row's largest number off the row."""
    for i in range(len(logarithms)):
        largest = logarithms[i, 0]
        for k in range(1, logarithms.shape[1]):
            if logarithms[i, k] > largest:
                largest = logarithms[i, k]
        for k in range(logarithms.shape[1]):
            logarithms[i, k] -= largest


@kernel
def choose(weights: np.ndarray, uniforms: np.ndarray, chosen: np.ndarray) -> None:
    """Fill ``chosen`` with the place in each row at which the sum of its weights passes ``uniforms`` of their total."""
    last = weights.shape[1] - 1
    for i in range(len(weights)):
        total = 0.0
        for k in range(last + 1):
            total += weights[i, k]
        target = uniforms[i] * total
        place, passed = 0, weights[i, 0]
        while place < last and passed <= target:
            place += 1
            passed += weights[i, place]
        chosen[i] = place
