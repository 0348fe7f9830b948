"""The generator of compiled kernels: xoshiro256**, with its state in four local variables or in an array.

Local variables stay in the processor's registers, an array is read and written for every number.
"""

from __future__ import annotations

import numpy as np

from engine.common.compiled import Integer, kernel

_LOW = np.uint64(0xFFFFFFFF)
_TWO32 = np.uint64(1 << 32)


@kernel
def step(s0: np.uint64, s1: np.uint64, s2: np.uint64, s3: np.uint64) -> tuple[np.uint64, ...]:
    """Next output of xoshiro256** (Blackman and Vigna 2018, doi 10.1145/3460772), then its next state of four words."""
    x = s1 * np.uint64(5)
    result = ((x << np.uint64(7)) | (x >> np.uint64(57))) * np.uint64(9)
    t = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    return result, s0, s1, s2, (s3 << np.uint64(45)) | (s3 >> np.uint64(19))


@kernel
def step_below(
    n: Integer, s0: np.uint64, s1: np.uint64, s2: np.uint64, s3: np.uint64
) -> tuple[np.int64, np.uint64, np.uint64, np.uint64, np.uint64]:
    """A uniform integer in ``0..n-1`` for ``1 <= n < 2**32``, without modulo bias (Lemire 2019, doi 10.1145/3230636),
    then the generator's next state."""
    bound = np.uint64(n)
    word, s0, s1, s2, s3 = step(s0, s1, s2, s3)
    m = (word >> np.uint64(32)) * bound
    if (m & _LOW) < bound:
        threshold = (_TWO32 - bound) % bound
        while (m & _LOW) < threshold:
            word, s0, s1, s2, s3 = step(s0, s1, s2, s3)
            m = (word >> np.uint64(32)) * bound
    return np.int64(m >> np.uint64(32)), s0, s1, s2, s3


@kernel
def next_word(s: np.ndarray) -> np.uint64:
    """The output of :func:`step` from a state in an array, which goes on to the next one."""
    result, s[0], s[1], s[2], s[3] = step(s[0], s[1], s[2], s[3])
    return result


@kernel
def below(s: np.ndarray, n: Integer) -> np.int64:
    """The integer of :func:`step_below` from a state in an array, which goes on to the next one."""
    result, s[0], s[1], s[2], s[3] = step_below(n, s[0], s[1], s[2], s[3])
    return result
