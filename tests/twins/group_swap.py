"""Group swapping, record by record and without matrices; slow on purpose."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

RIDGE = 1e-4


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gaussian elimination with pivots."""
    k = len(right)
    rows = [[*matrix[i], right[i]] for i in range(k)]
    for c in range(k):
        best = max(range(c, k), key=lambda r: abs(rows[r][c]))
        rows[c], rows[best] = rows[best], rows[c]
        for r in range(c + 1, k):
            factor = rows[r][c] / rows[c][c]
            for j in range(c, k + 1):
                rows[r][j] -= factor * rows[c][j]
    found = [0.0] * k
    for c in reversed(range(k)):
        found[c] = (rows[c][k] - sum(rows[c][j] * found[j] for j in range(c + 1, k))) / rows[c][c]
    return found


def standardised(features: Sequence[Sequence[float]]) -> list[list[float]]:
    """An intercept and the columns that vary, mean 0 and standard deviation 1."""
    n = len(features)
    columns = []
    for column in zip(*features, strict=True):
        if max(column) == min(column):
            continue
        mean = sum(column) / n
        sd = math.sqrt(sum((v - mean) ** 2 for v in column) / n)
        columns.append([(v - mean) / sd for v in column])
    return [[1.0, *row] for row in (zip(*columns, strict=True) if columns else [()] * n)]


def propensities(features: Sequence[Sequence[float]], in_b: Sequence[bool], ridge: float) -> list[float]:
    """P(B | features) of every record by Newton's method with step halving."""
    x = standardised(features)
    k = len(x[0])
    share = sum(in_b) / len(in_b)
    beta = [math.log(share / (1 - share))] + [0.0] * (k - 1)

    def chance(row: Sequence[float], b: Sequence[float]) -> float:
        return 1 / (1 + math.exp(-sum(u * v for u, v in zip(row, b, strict=True))))

    def height(b: Sequence[float]) -> float:
        total = -ridge / 2 * sum(v * v for v in b[1:])
        for row, one in zip(x, in_b, strict=True):
            eta = sum(u * v for u, v in zip(row, b, strict=True))
            total += (eta if one else 0.0) - max(eta, 0.0) - math.log1p(math.exp(-abs(eta)))
        return total

    for _ in range(200):
        slope, information = [0.0] * k, [[0.0] * k for _ in range(k)]
        for row, one in zip(x, in_b, strict=True):
            p = chance(row, beta)
            for i in range(k):
                slope[i] += row[i] * (one - p)
                for j in range(k):
                    information[i][j] += row[i] * row[j] * p * (1 - p)
        for i in range(1, k):
            slope[i] -= ridge * beta[i]
            information[i][i] += ridge
        step = solve(information, slope)
        now = height(beta)
        for _ in range(30):
            if height([b + s for b, s in zip(beta, step, strict=True)]) >= now - 1e-12 * (1 + abs(now)):
                break
            step = [s / 2 for s in step]
        beta = [b + s for b, s in zip(beta, step, strict=True)]
        if max(map(abs, step)) < 1e-11:
            break
    return [chance(row, beta) for row in x]


def distance(p: Sequence[float], in_b: Sequence[bool], kind: str) -> float:
    c = sum(in_b) / len(in_b)
    centre = 0.5 if kind == "half" else c
    mean = sum((one - centre) ** 2 for one in p) / len(p)
    return mean / (c * (1 - c)) if kind == "pmse_ratio" else mean


def greedy(distances: dict[tuple[int, int], float], h: int, odd: str) -> list[tuple[int, int, int]]:
    """The nearest two of those left, again and again."""
    left, pairs = set(range(h)), []
    while len(left) > 1:
        _, a, b = min((d, a, b) for (a, b), d in distances.items() if a in left and b in left)
        pairs.append((a, b, -1))
        left -= {a, b}
    if left and odd == "reuse":
        last = left.pop()
        _, near = min((distances[min(last, s), max(last, s)], s) for s in range(h) if s != last)
        pairs.append((min(last, near), max(last, near), near))
    return pairs


def successive(weights: Sequence[float], n_swap: int, rng: np.random.Generator) -> list[int]:
    """Draw one, put its weight aside, draw the next."""
    left, chosen = dict(enumerate(weights)), []
    for _ in range(n_swap):
        target = rng.random() * sum(left.values())
        places = iter(left)
        place = next(places)
        while (target := target - left[place]) >= 0:
            place = next(places)
        chosen.append(place)
        del left[place]
    return chosen


def race(weights: Sequence[float], exponentials: Sequence[float], n_swap: int) -> list[int]:
    """The same law: the first in a race in which the heavy run faster."""
    return sorted(range(len(weights)), key=lambda i: exponentials[i] / weights[i])[:n_swap]


def release(
    strata: Sequence[int],
    features: Sequence[Sequence[float]],
    n_swap: int,
    mode: str,
    kind: str,
    odd: str,
    ridges: set[tuple[int, int]],
    rng: np.random.Generator,
) -> list[int]:
    """Released strata; ``ridges`` names the pairs whose model needs the ridge."""
    h, n = max(strata) + 1, len(strata)
    models, distances = {}, {}
    for a in range(h):
        for b in range(a + 1, h):
            both = [i for i in range(n) if strata[i] in (a, b)]
            in_b = [strata[i] == b for i in both]
            p = propensities([features[i] for i in both], in_b, RIDGE if (a, b) in ridges else 0.0)
            models[a, b] = dict(zip(both, p, strict=True))
            distances[a, b] = round(distance(p, in_b, kind), 12)
    out, moved = list(strata), set[int]()
    for a, b, _ in greedy(distances, h, odd):
        movers = []
        for s, other in ((a, b), (b, a)):
            members = [i for i in range(n) if strata[i] == s]
            exponentials = rng.standard_exponential(len(members))
            drawn = [(i, e) for i, e in zip(members, exponentials, strict=True) if i not in moved]
            weights = [
                1.0 if mode == "RGS" else max(models[a, b][i] if s == a else 1 - models[a, b][i], 1e-12)
                for i, _ in drawn
            ]
            movers.append(([drawn[w][0] for w in race(weights, [e for _, e in drawn], n_swap)], other))
        for records, other in movers:
            moved |= set(records)
            for i in records:
                out[i] = other
    return out
