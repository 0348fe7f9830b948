"""What somebody recognises of a swap from the release and two-way tables of the original, step by step on records.

Section by section of the definitions: which tables moved, the rate by least squares, the logit of the swapped attribute
on the others, iterative proportional fitting to the published tables, Bayes' rule.  ``before`` and ``after`` as in
``measures.py``; the attack reads ``before`` in two-way tables only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import combinations
from math import ceil, exp, log, nan

import numpy as np

from tests.twins.measures import Record, seen

Records = Sequence[Record]
Places = Sequence[int]


# -- 1. attributes and rate ------------------------------------------------------------------------------------------


def moved_tables(before: Records, after: Records, attributes: Places) -> list[tuple[int, int]]:
    pairs = combinations(attributes, 2)
    return [pair for pair in pairs if Counter(seen(r, pair) for r in before) != Counter(seen(r, pair) for r in after)]


def swapped_attributes(moved: Sequence[tuple[int, int]], attributes: Places) -> tuple[int, ...]:
    """The first smallest set of which each moved table has one."""
    for size in range(len(attributes) + 1):
        for some in combinations(attributes, size):
            if all(a in some or b in some for a, b in moved):
                return some
    raise AssertionError


def partner_shares(sizes: dict[int, int], level: int) -> dict[int, float]:
    """Pairs that a level forms with each other one, as shares of all pairs in either order: a record is drawn and,
    uniformly, a partner of another level."""
    n = sum(sizes.values())

    def odds(a: int, b: int) -> float:
        return 0.0 if a == b else sizes[a] * sizes[b] * (1 / (n - sizes[a]) + 1 / (n - sizes[b]))

    total = sum(odds(a, b) for a in sizes for b in sizes)
    return {other: odds(level, other) / total for other in sizes}


def expected_change(before: Records, s: int, level: int, x: int, value: int, fixed: Places) -> float | None:
    """p(x | partners of the level) - p(x | level), given the fixed attributes: a regression over records."""
    sizes = dict(Counter(r[s] for r in before))
    levels = sorted(sizes)
    partners = partner_shares(sizes, level)
    contrast = [partners[other] / sum(partners.values()) - (other == level) for other in levels]
    if not fixed:
        p = [sum(1 for r in before if r[s] == other and r[x] == value) / sizes[other] for other in levels]
        return sum(a * b for a, b in zip(contrast, p, strict=True))
    dummies = [[float(r[s] == other) for other in levels] for r in before]
    for f in fixed:
        values = sorted({q[f] for q in before})
        dummies = [[*row, *(float(r[f] == v) for v in values)] for row, r in zip(dummies, before, strict=True)]
    design = np.array(dummies)
    wanted = np.array(contrast + [0.0] * (design.shape[1] - len(levels)))
    inverse = np.linalg.pinv(design, rcond=1e-6)
    if np.abs(wanted @ inverse @ design - wanted).max() > 1e-6:
        return None
    return float(wanted @ inverse @ np.array([float(r[x] == value) for r in before]))


def rate_of(before: Records, after: Records, s: int, moving: Places, fixed: Places) -> tuple[float, float]:
    """The rate as one swapped attribute tells it, and its weight among several.

    Of all records that leave a level, each level has a known part: so least squares are over the cells of all levels.
    """
    n = len(before)
    sizes = dict(Counter(r[s] for r in before))
    top = bottom = 0.0
    telling = set()
    for level, size in sizes.items():
        if size == n:
            continue
        part = sum(partner_shares(sizes, level).values())
        for x in moving:
            for value in sorted({r[x] for r in before} | {r[x] for r in after}):
                d = expected_change(before, s, level, x, value, fixed)
                if d is None or abs(d) < 1e-9:
                    continue
                old = sum(1 for r in before if r[s] == level and r[x] == value)
                new = sum(1 for r in after if r[s] == level and r[x] == value)
                inside = old / size
                outside = sum(1 for r in before if r[s] != level and r[x] == value) / (n - size)
                variance = max(inside * (1 - inside) + outside * (1 - outside), 1 / n)
                # the change is expected to be rate n part d, with a variance in proportion to part
                top += (new - old) * n * part * d / (part * variance)
                bottom += (n * part * d) ** 2 / (part * variance)
                telling.add(level)
    if not telling:
        return 0.0, 0.0
    return min(max(top / bottom, 0.0), 1.0), bottom / n * max(len(telling) - 1, 1) / len(telling)


@lru_cache(maxsize=64)
def inference(
    before: tuple[Record, ...], after: tuple[Record, ...], attributes: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...], float]:
    """Swapped attributes, fixed ones, rate."""
    moved = moved_tables(before, after, attributes)
    swapped = swapped_attributes(moved, attributes)
    if not swapped:
        return (), (), 0.0
    others = [j for j in attributes if j not in swapped]
    fixed = tuple(j for j in others if not any({j, s} == set(pair) for pair in moved for s in swapped))
    moving = [j for j in others if j not in fixed]
    rates = [rate_of(before, after, s, moving, fixed) for s in swapped]
    total = sum(weight for _, weight in rates)
    if not total:
        return swapped, fixed, sum(rate for rate, _ in rates) / len(rates)
    return swapped, fixed, sum(rate * weight for rate, weight in rates) / total


# -- 2. which records ------------------------------------------------------------------------------------------------


def fitted(after: Records, s: int, others: Places, model: str, levels: int) -> list[list[float]]:
    """Each record's chance of every level of s given the others: a multinomial logit with a coefficient for every level
    of s and every term, a standard normal prior on each, and the shares of the levels as offset; Newton's method."""
    n = len(after)
    counts = Counter(r[s] for r in after)
    present = sorted(counts)
    sets: list[tuple[int, ...]] = []
    if model != "level":
        sets += [(j,) for j in others]
    if model == "two_way":
        sets += list(combinations(others, 2))
    terms = [(some, cell) for some in sets for cell in sorted({seen(r, some) for r in after})]
    design = np.array([[float(seen(r, some) == cell) for some, cell in terms] for r in after]).reshape(n, len(terms))
    offset = np.array([log(counts[level] / n) for level in present])
    own = np.array([[float(r[s] == level) for level in present] for r in after])
    k, p = len(present), len(terms)
    b = np.zeros((k, p))

    def chances(b: np.ndarray) -> np.ndarray:
        eta = offset + design @ b.T
        odds = np.exp(eta - eta.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    def value(b: np.ndarray) -> float:
        return float((own * np.log(chances(b))).sum() - (b**2).sum() / 2)

    for _ in range(100 if p else 0):
        q = chances(b)
        gradient = ((own - q).T @ design - b).ravel()
        hessian = np.eye(k * p)
        for a in range(k):
            for c in range(k):
                weight = q[:, a] * ((a == c) - q[:, c])
                hessian[a * p : (a + 1) * p, c * p : (c + 1) * p] += design.T @ (design * weight[:, None])
        step = np.linalg.solve(hessian, gradient).reshape(k, p)
        part = 1.0
        while value(b + part * step) < value(b) - 1e-9 and part > 1e-6:
            part /= 2
        b = b + part * step
        if np.abs(step).max() < 1e-11:
            break
    q = chances(b)
    return [[q[i, present.index(level)] if level in present else 0.0 for level in range(levels)] for i in range(n)]


def adjusted(
    before: Records,
    after: Records,
    swapped: Places,
    others: Places,
    fixed: Places,
    chances: dict[int, list[list[float]]],
) -> tuple[dict[tuple[Record, Record], float], bool]:
    """The intruder's table of the original, by pattern of the others and levels of the swapped ones, and whether it
    meets every published table: iterative proportional fitting that starts from the release's own associations."""
    patterns = Counter(seen(r, others) for r in after)
    levels = Counter(seen(r, swapped) for r in after)
    if len(swapped) == 1:
        levels |= dict.fromkeys(((level,) for level in range(len(chances[swapped[0]][0]))), 0)
    first = {seen(r, others): i for i, r in reversed(list(enumerate(after)))}
    table = {}
    for x, i in first.items():
        for level, count in levels.items():
            cell = float(count) if len(swapped) > 1 else 1.0
            for s, own in zip(swapped, level, strict=True):
                chance = chances[s][i]
                cell *= chance[own] if chance[own] > 0 else 1 / len(chance)
                if len(swapped) > 1:
                    cell /= sum(1 for r in after if r[s] == own)
            table[x, level] = cell

    def key(x: Record, level: Record, xs: Places, ss: Places) -> tuple[Record, Record]:
        return tuple(x[others.index(j)] for j in xs), tuple(level[swapped.index(s)] for s in ss)

    margins: list[tuple[Record, Record, Records]] = [((j,), (s,), before) for s in swapped for j in others]
    if len(swapped) > 1 or len(fixed) > 1:
        margins.append((tuple(fixed), tuple(swapped), after))
    margins.append((tuple(others), (), after))
    wanted = [Counter((seen(r, xs), seen(r, ss)) for r in source) for xs, ss, source in margins]

    def scale(place: int) -> float:
        xs, ss, _ = margins[place]
        sums: dict[tuple[Record, Record], float] = {}
        for (x, level), count in table.items():
            at = key(x, level, xs, ss)
            sums[at] = sums.get(at, 0.0) + count
        for x, level in table:
            at = key(x, level, xs, ss)
            table[x, level] *= wanted[place][at] / sums[at] if sums[at] else 0.0
        return max(abs(sums.get(at, 0.0) - wanted[place][at]) for at in {*sums, *wanted[place]})

    scale(len(margins) - 1)
    off = previous = float("inf")
    for sweep in range(1, 501):
        previous, off = off, max(scale(place) for place in range(len(margins) - 1))
        scale(len(margins) - 1)
        if off <= 0.05 or (sweep > 50 and off > 0.999 * previous):
            break
    return {at: count / patterns[at[0]] for at, count in table.items()}, off <= 0.05


def transfer(sizes: dict[Record, int], pairs: float) -> dict[tuple[Record, Record], float]:
    """Probability that a record of each combination of levels ends at each other one, when so many pairs form: a record
    is drawn and, uniformly, a partner that differs on every attribute."""

    def may(a: Record, b: Record) -> bool:
        return all(x != y for x, y in zip(a, b, strict=True))

    partners = {a: sum(sizes[b] for b in sizes if may(a, b)) for a in sizes}
    formed = {
        (a, b): sizes[a] * sizes[b] * (1 / partners[a] + 1 / partners[b]) if may(a, b) else 0.0
        for a in sizes
        for b in sizes
    }
    total = sum(formed.values())
    moves = {(a, b): 2 * pairs * formed[a, b] / total / sizes[a] for a, b in formed}
    leave = {a: sum(moves[a, b] for b in sizes) for a in sizes}
    return {(a, b): move / max(leave[a], 1.0) for (a, b), move in moves.items()}


@lru_cache(maxsize=64)
def attack(
    before: tuple[Record, ...],
    after: tuple[Record, ...],
    attributes: tuple[int, ...],
    shape: tuple[int, ...],
    model: str,
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """By released record the probability of being unaltered, and the chance of its own levels in the original as the
    published tables alone give it."""
    n = len(after)
    swapped, fixed, rate = inference(before, after, attributes)
    if not swapped:
        return (1.0,) * n, (1.0,) * n
    others = [j for j in attributes if j not in swapped]
    chances = {s: fitted(after, s, others, model, shape[s]) for s in swapped}
    moved = moved_tables(before, after, attributes)
    prior = min(max(rate, 1e-12), 1 - 1e-12)

    def log_odds(some: Places, origins: Callable[[int], dict[Record, float]], undo: bool) -> list[float]:
        strata: dict[Record, Counter[Record]] = {}
        for r in after:
            strata.setdefault(seen(r, fixed), Counter())[seen(r, some)] += 1
        moves, able = {}, {}
        for stratum, sizes in strata.items():
            partnered = [a for a in sizes if any(all(x != y for x, y in zip(a, b, strict=True)) for b in sizes)]
            able[stratum] = sum(sizes[a] for a in partnered)
        for stratum, sizes in strata.items():
            paired = {a: size for a, size in sizes.items() if able[stratum]}
            paired = {
                a: size
                for a, size in paired.items()
                if any(all(x != y for x, y in zip(a, b, strict=True)) for b in paired)
            }
            moves[stratum] = transfer(paired, rate * n / 2 * able[stratum] / sum(able.values())) if paired else {}
        result = []
        for i, record in enumerate(after):
            own, stratum = seen(record, some), seen(record, fixed)
            if not able[stratum]:
                result.append(log(1e-12))
                continue
            move, origin = moves[stratum], origins(i)
            stay = {a: 1 - sum(move.get((a, b), 0.0) for b in origin) for a in origin}
            if undo:
                order = sorted(origin)
                matrix = np.array(
                    [[move.get((a, b), 0.0) + (stay[a] if a == b else 0.0) for b in order] for a in order]
                )
                undone = np.maximum(np.array([origin[a] for a in order]) @ np.linalg.pinv(matrix, rcond=1e-6), 0)
                origin = dict(zip(order, undone.tolist(), strict=True))
            arrived = sum(origin[a] * move.get((a, own), 0.0) for a in origin)
            result.append(log(max(arrived, 1e-12)) - log(max(origin[own] * stay[own], 1e-12)))
        return result

    def of_table(table: dict[tuple[Record, Record], float]) -> Callable[[int], dict[Record, float]]:
        levels = sorted({level for _, level in table})
        return lambda i: {level: table[seen(after[i], others), level] for level in levels}

    odds: list[float] | None = None
    alike = {s: [[1 / shape[s]] * shape[s]] * n for s in swapped}
    own = [1.0] * n

    def expect(some: Places) -> None:
        table, _ = adjusted(before, after, some, others, fixed, alike)
        for i, record in enumerate(after):
            own[i] *= table[seen(record, others), seen(record, some)]

    if len(swapped) > 1 and not any(set(pair) <= set(swapped) for pair in moved):
        table, fits = adjusted(before, after, swapped, others, fixed, chances)
        if fits:
            odds = log_odds(swapped, of_table(table), False)
            expect(swapped)
    if odds is None:
        odds = [-(len(swapped) - 1) * log(prior / (1 - prior))] * n
        for s in swapped:
            table, fits = adjusted(before, after, (s,), others, fixed, chances)
            of_release = partial(_released, chances[s])
            each = log_odds((s,), of_table(table) if fits else of_release, not fits)
            odds = [a + b for a, b in zip(odds, each, strict=True)]
            expect((s,))
    return tuple(1 / (1 + exp(min(max(each, -50), 50))) for each in odds), tuple(own)


def _released(chance: Sequence[Sequence[float]], i: int) -> dict[Record, float]:
    return {(level,): p for level, p in enumerate(chance[i])}


# -- 3. measures -----------------------------------------------------------------------------------------------------


def _altered(before: Records, after: Records, attributes: Places) -> list[bool]:
    return [seen(old, attributes) != seen(new, attributes) for old, new in zip(before, after, strict=True)]


def rate_error(before: Records, after: Records, attributes: Places, shape: Places) -> float:
    altered = sum(_altered(before, after, attributes))
    if not altered:
        return nan
    rate = altered / len(before)
    return abs(inference(tuple(before), tuple(after), tuple(attributes))[2] - rate) / rate


def detection_auc(before: Records, after: Records, attributes: Places, shape: Places, model: str = "two_way") -> float:
    altered = _altered(before, after, attributes)
    if len(set(altered)) < 2:
        return nan
    areas = []
    for believed in attack(tuple(before), tuple(after), tuple(attributes), tuple(shape), model):
        hit = [-round(u, 7) for u, a in zip(believed, altered, strict=True) if a]
        miss = [-round(u, 7) for u, a in zip(believed, altered, strict=True) if not a]
        areas.append(sum((a > b) + (a == b) / 2 for a in hit for b in miss) / (len(hit) * len(miss)))
    return max(areas)


def detection_precision(
    before: Records, after: Records, attributes: Places, shape: Places, top: str = "0.01", model: str = "two_way"
) -> float:
    altered = _altered(before, after, attributes)
    if not any(altered):
        return nan
    wanted = max(1, ceil(Fraction(top) * len(after)))
    found = []
    for believed in attack(tuple(before), tuple(after), tuple(attributes), tuple(shape), model):
        groups: dict[float, list[bool]] = {}
        for u, a in zip(believed, altered, strict=True):
            groups.setdefault(round(u, 7), []).append(a)
        left, hits = wanted, 0.0
        for u in sorted(groups):
            taken = min(left, len(groups[u]))
            hits += taken * sum(groups[u]) / len(groups[u])
            left -= taken
        found.append(hits / wanted)
    return max(found)


def small_cells_recognised(
    before: Records, after: Records, attributes: Places, shape: Places, n_rule: int = 3
) -> float:
    """Eq. 6 with P(unaltered | release) in place of "unaltered"; the attack sees all attributes."""
    unaltered = attack(tuple(before), tuple(after), tuple(range(len(shape))), tuple(shape), "two_way")[0]
    counts = Counter(seen(r, attributes) for r in after)
    small = [p for p, r in zip(unaltered, after, strict=True) if counts[seen(r, attributes)] < n_rule]
    return sum(small) / len(small) if small else nan


def altered_share_max(before: Records, after: Records, attributes: Places, shape: Places, least: int = 45) -> float:
    altered = _altered(before, after, attributes)
    if not any(altered):
        return nan
    shares = []
    for j in attributes:
        for level in range(shape[j]):
            group = [a for r, a in zip(after, altered, strict=True) if r[j] == level]
            if len(group) >= least:
                shares.append(sum(group) / len(group))
    return max(shares) / (sum(altered) / len(altered)) if shares else nan


TWINS: dict[str, Callable[..., float]] = {
    "rate_error": rate_error,
    "detection_auc": detection_auc,
    "detection_precision": detection_precision,
    "small_cells_recognised": small_cells_recognised,
    "altered_share_max": altered_share_max,
}
