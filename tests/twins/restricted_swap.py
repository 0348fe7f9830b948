"""A random swap with weights and refused pairs, cell by cell with lists and whole numbers, as its text says it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

WORD = 1 << 64
TRIES = 64


class Stream:
    """xoshiro256** on Python's own whole numbers."""

    def __init__(self, derived: bytes) -> None:
        self.state = [int.from_bytes(derived[8 * i : 8 * i + 8], "little") for i in range(4)]

    def word(self) -> int:
        s = self.state
        result = _rotated(s[1] * 5 % WORD, 7) * 9 % WORD
        shifted = (s[1] << 17) % WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = _rotated(s[3], 45)
        return result

    def below(self, n: int) -> int:
        """Leading bits of a word, as many as ``n - 1`` has, until they are below ``n``."""
        bits = (n - 1).bit_length()
        if bits == 0:
            return 0
        while (value := self.word() >> (64 - bits)) >= n:
            pass
        return value


def _rotated(word: int, by: int) -> int:
    return ((word << by) | (word >> (64 - by))) % WORD


def draw(
    strata: Sequence[object],
    classes: Sequence[object],
    counts: Sequence[int],
    weights: Sequence[int],
    feasible: Callable[[int, int], bool],
    differ: Callable[[int, int], bool],
    wanted: int,
    stream: Stream,
) -> list[tuple[int, int]]:
    """Pairs of cells; these are in the order in which strata and classes are sorted.

    ``differ`` says whether two cells of one stratum differ on all that must, ``feasible`` whether they may exchange.
    """
    left = list(counts)
    everyone = range(len(left))

    def at(cells: Sequence[int], number: int) -> int:
        for c in cells:
            number -= left[c] * weights[c]
            if number < 0:
                return c
        raise AssertionError("a number beyond all weights")

    def weight_of(cells: Sequence[int]) -> int:
        return sum(left[c] * weights[c] for c in cells)

    pairs: list[tuple[int, int]] = []
    while len(pairs) < wanted and weight_of(everyone) > 0:
        a = at(everyone, stream.below(weight_of(everyone)))
        around = [c for c in everyone if strata[c] == strata[a]]
        b = None
        for _ in range(TRIES):
            c = at(around, stream.below(weight_of(around)))
            if feasible(a, c):
                b = c
                break
        able = [c for c in around if left[c] and feasible(a, c)]
        if b is None and able:
            b = at(able, stream.below(weight_of(able)))
        if b is None:
            nobody_differs = not any(left[c] and differ(a, c) for c in around)
            for c in everyone:
                if c == a or (nobody_differs and (strata[c], classes[c]) == (strata[a], classes[a])):
                    left[c] = 0
            continue
        pairs.append((a, b))
        left[a] -= 1
        left[b] -= 1
    return pairs
