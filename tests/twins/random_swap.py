"""The swapping algorithm, record by record, as Gomatam, Karr and Sanil (2005) print it in Appendix A.

Readable and slow on purpose: no cells, no classes, no shared draws.  A record is a tuple of level codes; ``roles`` has
one of S, F, C, U per attribute; ``kinds[j][level]`` is the kind of each level where levels of several kinds may occur.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, floor
from random import Random

Record = tuple[int, ...]
Kinds = Sequence[Sequence[str]]
Feasible = Callable[[int], bool]
Partner = Callable[[Sequence[Record], int, Sequence[int], Feasible, Random], int | None]


def may_swap(a: Record, b: Record, roles: str, rule: str = "strict", kinds: Kinds | None = None) -> bool:
    """Steps 5 and 6: whether two records make a true swap that respects the constraints."""
    unswapped_differs = False
    for j, role in enumerate(roles):
        differs = a[j] != b[j]
        if role == "S" and not differs:
            return False
        if role == "S" and kinds is not None and kinds[j][a[j]] != kinds[j][b[j]]:
            return False
        if role == "F" and differs:
            return False
        if role == "C" and not differs:
            return False
        if role in "CU" and differs:
            unswapped_differs = True
    return unswapped_differs or rule == "loose"


@dataclass
class Outcome:
    """What one run did: the pairs in order, the records marked unswappable, how many were to be swapped, the label."""

    pairs: list[tuple[int, int]]
    unswappable: set[int]
    to_swap: int
    success: bool


def any_feasible(
    records: Sequence[Record], first: int, others: Sequence[int], feasible: Feasible, rng: Random
) -> int | None:
    """Steps 4 to 7: draw from all unmarked records until one is feasible, none of them twice; None when nobody is."""
    remaining = list(others)
    for end in range(len(remaining), 0, -1):
        at = int(rng.random() * end)
        candidate = remaining[at]
        remaining[at] = remaining[end - 1]
        if candidate != first and feasible(candidate):
            return candidate
    return None


@lru_cache(8)
def _answers(
    records: tuple[Record, ...], roles: str, rule: str, kinds: tuple[tuple[str, ...], ...] | None
) -> dict[Record, list[bool]]:
    """Where the answers are noted whether a record may swap with each of all: equal records get equal ones, and runs
    on the same records ask once."""
    return {}


def draw(
    records: Sequence[Record],
    roles: str,
    rate: str,
    rng: Random,
    rule: str = "strict",
    kinds: Kinds | None = None,
    partner: Partner = any_feasible,
) -> Outcome:
    """Appendix A.  ``partner`` replaces steps 4 to 7 in mutants that the tests must tell from the real thing."""
    n = len(records)
    # Step 2; an odd number overshoots by one record, but no more pairs can be formed than there are records for.
    to_swap = floor(Decimal(rate) * n)
    wanted = min(ceil(Fraction(to_swap, 2)), n // 2)
    # Step 1.  `unmarked` holds what is neither swapped nor unswappable, `place` where each record stands in it.
    unmarked = list(range(n))
    place = list(range(n))

    def mark(record: int) -> None:
        last = unmarked.pop()
        if last != record:
            unmarked[place[record]] = last
            place[last] = place[record]

    answers = _answers(tuple(records), roles, rule, None if kinds is None else tuple(map(tuple, kinds)))
    pairs: list[tuple[int, int]] = []
    unswappable: set[int] = set()
    while len(pairs) < wanted and unmarked:
        # Step 3
        first = unmarked[int(rng.random() * len(unmarked))]
        own = records[first]
        if own not in answers:
            asked = {other: may_swap(own, other, roles, rule, kinds) for other in set(records)}
            answers[own] = [asked[other] for other in records]
        # Steps 4 to 7
        second = partner(records, first, unmarked, answers[own].__getitem__, rng)
        if second is None:
            # Step 10
            unswappable.add(first)
            mark(first)
        else:
            # Step 8
            pairs.append((first, second))
            mark(first)
            mark(second)
    # Step 9, and the end of step 10
    return Outcome(pairs, unswappable, to_swap, len(pairs) == wanted)


def exchange(records: Sequence[Record], pairs: Sequence[tuple[int, int]], roles: str) -> list[Record]:
    """Step 8 for all pairs: the partners interchange their values on every S attribute."""
    released = [list(record) for record in records]
    for a, b in pairs:
        for j, role in enumerate(roles):
            if role == "S":
                released[a][j], released[b][j] = released[b][j], released[a][j]
    return [tuple(record) for record in released]


Pairs = tuple[tuple[int, int], ...]
Law = dict[tuple[Pairs, Pairs], Fraction]


def law(
    cells: Sequence[Record],
    counts: Sequence[int],
    roles: str,
    wanted: int,
    rule: str = "strict",
    weights: Sequence[int] | None = None,
    feasible: Callable[[int, int], bool] | None = None,
) -> Law:
    """The exact law of a run over cells, by enumeration of the algorithm's two draws; for tiny tables only.

    Draws are uniform, or in proportion to the ``weights`` of the records of each cell; ``feasible`` says which two
    cells may exchange where that is not for roles alone.

    An outcome is the multiset of unordered pairs of cells, sorted, with the last pair as drawn (its first record's cell
    first), or nothing.  All records of a cell have the same partners, so a cell whose record has none can be closed.
    """
    each = weights or [1] * len(cells)
    may = feasible or (lambda a, b: may_swap(cells[a], cells[b], roles, rule))
    found: Law = defaultdict(Fraction)

    @cache
    def steps(left: tuple[int, ...]) -> list[tuple[tuple[int, ...], tuple[int, int] | None, Fraction]]:
        """What may come next: what is left then, the pair (None: a cell is closed), and its chance."""
        total = sum(n * weight for n, weight in zip(left, each, strict=True))
        made: list[tuple[tuple[int, ...], tuple[int, int] | None, Fraction]] = []
        for a, n_a in enumerate(left) if total else ():
            if n_a == 0:
                continue
            partners = [b for b, n_b in enumerate(left) if n_b and may(a, b)]
            of_partners = sum(left[b] * each[b] for b in partners)
            if not partners:
                closed = tuple(0 if c == a else k for c, k in enumerate(left))
                made.append((closed, None, Fraction(n_a * each[a], total)))
            for b in partners:
                rest = tuple(k - (c in (a, b)) for c, k in enumerate(left))
                made.append((rest, (a, b), Fraction(n_a * each[a] * left[b] * each[b], total * of_partners)))
        return made

    # A state is what is left and the outcome so far; equal states are folded together, step by step.
    states: dict[tuple[tuple[int, ...], tuple[Pairs, Pairs]], Fraction] = {(tuple(counts), ((), ())): Fraction(1)}
    while states:
        following: dict[tuple[tuple[int, ...], tuple[Pairs, Pairs]], Fraction] = defaultdict(Fraction)
        for (left, outcome), chance in states.items():
            if len(outcome[0]) == wanted or not steps(left):
                found[outcome] += chance
                continue
            for rest, pair, share in steps(left):
                if pair is None:
                    following[rest, outcome] += chance * share
                else:
                    longer = tuple(sorted((*outcome[0], (min(pair), max(pair)))))
                    following[rest, (longer, (pair,))] += chance * share
        states = following
    return found
