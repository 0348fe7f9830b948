"""Record linkage and the attack on the swap, record by record and pair by pair; see ``measures.py`` for the pattern.

``before[i]`` and ``after[i]`` are the same subject; ``numbers`` are columns of floats (None: missing).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product
from math import exp, log, sqrt
from statistics import stdev

from tests.twins.measures import Record, seen
from tests.twins.random_swap import Kinds, may_swap

Column = Sequence[float | None]


def distance(a: Record, b: Record, x: Sequence[float | None], y: Sequence[float | None], power: int) -> float:
    """Categories that differ count 1, numbers (in standard deviations) their difference to the power."""
    total = float(sum(p != q for p, q in zip(a, b, strict=True)))
    for p, q in zip(x, y, strict=True):
        if p is None or q is None:
            total += (p is None) != (q is None)
        else:
            total += abs(p - q) ** power
    return total


def distance_linkage(
    before: Sequence[Record],
    after: Sequence[Record],
    attributes: Sequence[int],
    numbers: Sequence[tuple[Column, Column]] = (),
    power: int = 2,
) -> float:
    """Every released record against every original one; 1/ties where its own is among the nearest."""
    n = len(before)
    scaled = []
    for old, new in numbers:
        known = [x for x in old if x is not None]
        if len(set(known)) > 1:
            spread = stdev(known)
            scaled.append([[None if x is None else x / spread for x in column] for column in (old, new)])
    credit = Fraction(0)
    for r in range(n):
        new = [column[1][r] for column in scaled]
        far = [
            distance(seen(before[i], attributes), seen(after[r], attributes), [c[0][i] for c in scaled], new, power)
            for i in range(n)
        ]
        ties = [i for i in range(n) if far[i] <= min(far) * (1 + 1e-9)]
        credit += Fraction(r in ties, len(ties))
    return float(credit / n)


def em(patterns: Sequence[tuple[bool, ...]], n_links: int) -> tuple[list[float], list[float]]:
    """m and u by EM over all pairs, given by their patterns of agreement."""
    total, pairs = len(patterns), Counter(patterns)
    variables = range(len(patterns[0]))

    def inside(x: float) -> float:
        return min(max(x, 1e-6), 1 - 1e-6)

    m, u = [0.9 for _ in variables], [inside(sum(p[j] for p in patterns) / total) for j in variables]
    most = share = min(n_links / total, 0.5)
    for _ in range(2000):
        old = [*m, *u, share]
        link = {}
        for p in pairs:
            odds = log(share / (1 - share))
            for j in variables:
                odds += log(m[j] / u[j]) if p[j] else log((1 - m[j]) / (1 - u[j]))
            link[p] = 1 / (1 + exp(-odds))
        links = sum(count * link[p] for p, count in pairs.items())
        agree = [sum(count * link[p] for p, count in pairs.items() if p[j]) for j in variables]
        other = [sum(count * (1 - link[p]) for p, count in pairs.items() if p[j]) for j in variables]
        m = [inside(a / max(links, 1e-6)) for a in agree]
        u = [inside(a / max(total - links, 1e-6)) for a in other]
        share = min(max(links / total, most * 1e-6), most)
        if max(abs(a - b) for a, b in zip(old, [*m, *u, share], strict=True)) < 1e-8:
            break
    return m, u


def probabilistic_linkage(
    before: Sequence[Record], after: Sequence[Record], attributes: Sequence[int]
) -> tuple[float, float]:
    """Fewest and most correct links (as a share) over all best one-to-one linkages, by trying every one.

    Of the best ones only those count that link as many records equal on everything as is possible.
    """
    n = len(before)
    old, new = ([seen(r, attributes) for r in records] for records in (before, after))
    patterns = [tuple(p == q for p, q in zip(a, b, strict=True)) for a, b in product(new, old)]
    m, u = em(patterns, n)
    gains = [max(0.0, log(a / b) - log((1 - a) / (1 - b))) for a, b in zip(m, u, strict=True)]

    def merit(linkage: Sequence[int]) -> tuple[int, float]:
        equal = sum(new[r] == old[i] for r, i in enumerate(linkage))
        return equal, sum(
            g for r, i in enumerate(linkage) for g, a in zip(gains, patterns[r * n + i], strict=True) if a
        )

    every = [(merit(linkage), linkage) for linkage in permutations(range(n))]
    equal = max(e for (e, _), _ in every)
    weight = max(w for (e, w), _ in every if e == equal)
    hits = [
        sum(r == i for r, i in enumerate(linkage)) for (e, w), linkage in every if e == equal and w >= weight - 1e-3
    ]
    return min(hits) / n, max(hits) / n


def undo(
    released: Sequence[Record],
    roles: str,
    n_pairs: int,
    rule: str,
    kinds: Kinds | None,
    steps: int,
    step: float,
    done: float,
) -> list[dict[Record, float]]:
    """For every released record: the chance of each value of its swapped attributes before the swap."""
    everybody = range(len(released))
    swapped = [j for j, role in enumerate(roles) if role == "S"]
    own = [seen(r, swapped) for r in released]
    still = [1.0 for _ in everybody]
    chance: list[dict[Record, float]] = [dict.fromkeys(own, 0.0) for _ in everybody]
    pairs = [(r, p) for r in everybody for p in everybody if may_swap(released[r], released[p], roles, rule, kinds)]

    def exchanged(r: int, p: int) -> Record:
        return tuple(released[p][j] if j in swapped else level for j, level in enumerate(released[r]))

    left = 2.0 * n_pairs
    goal = left * done
    for _ in range(steps):
        if left <= goal:
            break
        odds = {}
        for r, p in pairs:  # before the swap r had the values of p, and p those of r
            free = [
                sum(w for w, other in zip(still, released, strict=True) if may_swap(one, other, roles, rule, kinds))
                for one in (exchanged(r, p), exchanged(p, r))
            ]
            odds[r, p] = sum(1 / f if f > 1e-9 else 0 for f in free)
        total = [sum(still[p] * odds[r, p] for r, p in pairs if r == one) for one in everybody]
        mass = sum(still[r] * total[r] for r in everybody)
        if mass <= 1e-9:
            break
        part = min(left, step * sum(still[r] for r in everybody if total[r] > 0))
        pace = [part / mass * total[r] for r in everybody]
        present = [(1 - exp(-x)) / x if x > 1e-9 else 1.0 for x in pace]
        gone = [0.0 for _ in everybody]
        for r, p in pairs:
            flow = part / mass * odds[r, p] * still[r] * present[r] * still[p] * present[p]
            chance[r][own[p]] += flow
            gone[r] += flow
        still = [w - g for w, g in zip(still, gone, strict=True)]
        for r in everybody:
            if still[r] < 1e-3:
                chance[r][own[r]] += max(still[r], 0.0)
                still[r] = 0.0
        left -= sum(gone)
        if sum(gone) <= goal:
            break
    for r in everybody:
        chance[r][own[r]] += still[r]
    return chance


def attack(
    before: Sequence[Record],
    after: Sequence[Record],
    roles: str,
    chance: Sequence[dict[Record, float]],
    known: Sequence[int],
    target: int | None,
    threshold: float,
) -> float:
    """Share of subjects about whom the likeliest attribution is right and more probable than the threshold."""
    n = len(before)
    swapped = [j for j, role in enumerate(roles) if role == "S"]

    def origins(r: int) -> Iterator[tuple[Record, float]]:
        for value, p in chance[r].items():
            yield tuple(value[swapped.index(j)] if j in swapped else level for j, level in enumerate(after[r])), p

    credit = 0.0
    for i in range(n):
        scores: dict[int, float] = {}
        for r in range(n):
            for original, p in origins(r):
                if seen(original, known) == seen(before[i], known):
                    what = r if target is None else original[target]
                    scores[what] = scores.get(what, 0.0) + p
        total = sum(scores.values())
        top = max(scores.values(), default=0.0)
        if total <= 0 or top / total <= threshold + 1e-6:
            continue
        best = [what for what, score in scores.items() if score >= top * (1 - 1e-6)]
        truth = i if target is None else before[i][target]
        credit += (truth in best) / len(best)
    return credit / n


def one_pair(released: Sequence[Record], roles: str, rule: str = "strict") -> list[float]:
    """Chance of each record to have been exchanged when exactly one pair was: every possible original in turn."""
    n = len(released)
    swapped = [j for j, role in enumerate(roles) if role == "S"]
    weight = [0.0] * n
    total = 0.0
    for r in range(n):
        for p in range(r):
            if not may_swap(released[r], released[p], roles, rule):
                continue
            original = list(released)
            original[r] = tuple(released[p][j] if j in swapped else x for j, x in enumerate(released[r]))
            original[p] = tuple(released[r][j] if j in swapped else x for j, x in enumerate(released[p]))
            counts = Counter(original)  # equal records have as many partners
            partners = {a: sum(n for b, n in counts.items() if may_swap(a, b, roles, rule)) for a in counts}
            free = [partners[a] for a in original]
            odds = (1 / free[r] + 1 / free[p]) / sum(f > 0 for f in free)
            weight[r] += odds
            weight[p] += odds
            total += odds
    return [w / total for w in weight]


def wilson(hits: float, n: int) -> tuple[float, float]:
    """Both ends solve (p - share)² = z² p (1 - p) / n for p."""
    z2 = 1.959963984540054**2
    a, b, c = 1 + z2 / n, -(2 * hits / n + z2 / n), (hits / n) ** 2
    root = sqrt(max(0.0, b * b - 4 * a * c))
    return (-b - root) / (2 * a), (-b + root) / (2 * a)
