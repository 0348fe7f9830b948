"""Slow twins of the attack with tables of places: loops over units, tables and cells, from the definitions.

Called with records before and after as tuples of level codes, the household of each record, and positions of
attributes.  No columns finer than the levels, no carried columns, no published weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil, log, nan, sqrt
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

Record = tuple[int, ...]


class Found(NamedTuple):
    """By unit: scores by attack, and what is certain and what is altered."""

    scores: dict[str, list[float]]
    certain: list[bool]
    altered: list[bool]


def log_saddle(change: float, come: float, gone: float) -> float:
    """log z of come z - gone / z = change; the limits where a rate is 0."""
    if come == 0:
        if change >= 0:
            return 30.0 if change > 0 else 0.0
        return log(-gone / change) if gone else -30.0
    if gone == 0 and change <= 0:
        return -30.0
    return log((change + sqrt(change**2 + 4 * come * gone)) / (2 * come))


def attack(
    before: Sequence[Record],
    after: Sequence[Record],
    home: Sequence[int],
    attributes: Sequence[int],
    keys: Sequence[int],
) -> Found:
    """The attack on one release."""
    n = len(before)
    moved = [j for j in attributes if any(b[j] != a[j] for b, a in zip(before, after, strict=True))]
    members: dict[int, list[int]] = {}
    for i in range(n):
        members.setdefault(home[i], []).append(i)
    units = list(members.values())
    as_one = bool(moved) and all(
        len({records[i][j] for i in unit}) == 1 for unit in units for j in moved for records in (before, after)
    )
    if not as_one:
        units = [[i] for i in range(n)]
    beside = [j for j in attributes if j not in moved]
    pairs: list[tuple[Record, int]] = [((j,), k) for j in moved for k in beside]
    pairs += [((j,), k) for j in moved for k in moved if j < k]
    if as_one:
        pairs = [(tuple(moved), k) for k in beside]
    tables = []
    for places, k in pairs:
        was = Counter((*(b[j] for j in places), b[k]) for b in before)
        cell = [(*(a[j] for j in places), a[k]) for a in after]
        now = Counter(cell)
        if was != now:
            tables.append((was, now, cell))
    spread = sum((now[c] - was[c]) ** 2 for was, now, _ in tables for c in {*was, *now})
    total = sum(now[c] + was[c] for was, now, _ in tables for c in {*was, *now})
    rate = min(max(spread / max(total, 1), 1e-6), 0.5)
    excess, mean, likelihood, certain = [], [], [], []
    for unit in units:
        shares, ratio, sure = 0.0, 0.0, False
        for was, now, cell in tables:
            for c, m in Counter(cell[i] for i in unit).items():
                change = now[c] - was[c]
                shares += m * max(0, change) / now[c]
                one = m * log_saddle(change - m / 2, rate * (now[c] - m), rate * was[c])
                if was[c] < m:
                    sure, one = True, 30.0
                ratio += min(max(one, -30.0), 30.0)
        excess.append(shares)
        mean.append(shares / len(unit))
        likelihood.append(ratio)
        certain.append(sure)
    known = [*moved, *(j for j in keys if j in attributes and j not in moved)]
    sharing = Counter(tuple(a[j] for j in known) for a in after)
    rare = [-float(min(sharing[tuple(after[i][j] for j in known)] for i in unit)) for unit in units]
    altered = [any(before[i][j] != after[i][j] for i in unit for j in moved) for unit in units]
    scores = {"rare": rare, "excess": excess, "mean_excess": mean, "likelihood": likelihood}
    own_traces = [[traces(unit, table) for table in tables] for unit in units]
    rows = []
    for u, unit in enumerate(units):
        of_cells = [one for found in own_traces[u] for one in found.cells] or [(0.0, False, False)]
        shares_of = [sum(one[k] for one in of_cells) / len(of_cells) for k in (1, 2)]
        excesses = [one[0] for one in of_cells] if tables else [1.0]
        rows.append(
            [log(-rare[u])]
            + [figure for found in own_traces[u] for figure in found.figures]
            + [excess[u], mean[u], likelihood[u], likelihood[u] / len(unit)]
            + [log(len(unit) * len(tables)) if tables else 0.0, float(certain[u])]
            + [*shares_of, min(excesses), max(excesses) if tables else 0.0]
        )
    if (odds := learned(rows, altered)) is not None:
        scores["learned"] = odds
    return Found(scores, certain, altered)


class Traces(NamedTuple):
    """Of a unit in one table: mean excess, mean bounded change and log least count; and of each of its cells the
    excess, whether it was too small before, and whether it gained the members."""

    figures: list[float]
    cells: list[tuple[float, bool, bool]]


def traces(unit: Sequence[int], table: tuple[Counter[Record], Counter[Record], list[Record]]) -> Traces:
    """The traces of one unit in one table."""
    was, now, cell = table
    share = change = 0.0
    cells = []
    for c, m in Counter(cell[i] for i in unit).items():
        gained = now[c] - was[c]
        excess = max(0, gained) / now[c]
        share, change = share + m * excess, change + m * min(max(gained, -3), 3)
        cells.append((excess, was[c] < m, gained >= m))
    return Traces([share / len(unit), change / len(unit), log(min(now[cell[i]] for i in unit))], cells)


def learned(rows: Sequence[Sequence[float]], altered: Sequence[bool]) -> list[float] | None:
    """The penalised logit of one half on the other, as scikit-learn fits it."""
    x, y = np.array(rows), np.array(altered)
    number = [round(float(sum((k + 1) * figure for k, figure in enumerate(row))), 6) for row in rows]
    distinct = sorted(set(number))
    half = np.array([distinct.index(one) % 2 for one in number])
    if any(not (y[half == h] == kind).any() for h in (0, 1) for kind in (False, True)):
        return None
    spread = x.std(axis=0)
    kept = spread > 1e-9 * np.abs(x).max(axis=0, initial=1.0)
    x = (x[:, kept] - x[:, kept].mean(axis=0)) / spread[kept]
    odds = np.zeros(len(y))
    for h in (0, 1):
        model = LogisticRegression(C=0.1, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
        odds[half == h] = model.fit(x[half != h], y[half != h]).decision_function(x[half == h])
    return [float(one) for one in odds]


def auc(found: Found) -> float:
    """The best of all attacks, by counting pairs."""
    figures = []
    for score in found.scores.values():
        hit = [round(s, 9) for s, a in zip(score, found.altered, strict=True) if a]
        miss = [round(s, 9) for s, a in zip(score, found.altered, strict=True) if not a]
        if not hit or not miss:
            return nan
        figures.append(sum((a > b) + (a == b) / 2 for a in hit for b in miss) / (len(hit) * len(miss)))
    return max(figures)


def precision(found: Found, top: float) -> float:
    """The best of all attacks among the first; equally suspect ones count in part."""
    n = len(found.altered)
    if not any(found.altered):
        return nan
    first = min(n, max(1, ceil(top if top > 1 else top * n)))
    figures = []
    for score in found.scores.values():
        groups: dict[float, list[bool]] = {}
        for s, a in zip(score, found.altered, strict=True):
            groups.setdefault(round(s, 9), []).append(a)
        left, hits = first, 0.0
        for s in sorted(groups, reverse=True):
            taken = min(left, len(groups[s]))
            hits += taken * sum(groups[s]) / len(groups[s])
            left -= taken
        figures.append(hits / first)
    return max(figures)


def certain(found: Found) -> float:
    """The share of altered ones that are certain."""
    if not any(found.altered):
        return nan
    return sum(c for c, a in zip(found.certain, found.altered, strict=True) if a) / sum(found.altered)
