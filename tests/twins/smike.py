"""SMIKe and its two risks, record by record, as Little and Liu (2003) print them; slow on purpose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.twins import location


def distance(a: np.ndarray, b: np.ndarray, inverse: np.ndarray) -> float:
    """The Mahalanobis distance, squared, to 12 digits, so that ties in the data are ties here."""
    return float(f"{float((a - b) @ inverse @ (a - b)):.11e}")


def pooled(x: Sequence[int], y: Sequence[np.ndarray]) -> np.ndarray:
    return location.sum_of_squares(x, y) / (len(x) - len(set(x)))


def global_set(i: int, x: Sequence[int], y: Sequence[np.ndarray], small: set[int], n_mix: int) -> list[int]:
    """GS: the n_mix nearest nonsensitive records."""
    inverse = np.linalg.inv(pooled(x, y))
    others = [j for j in range(len(x)) if x[j] not in small]
    return sorted(others, key=lambda j: (distance(y[i], y[j], inverse), j))[:n_mix]


def local_cells(i: int, x: Sequence[int], y: Sequence[np.ndarray], small: set[int], n_mix: int) -> list[list[int]]:
    """LS: records of the nearest nonsensitive cells, cell by cell, until they hold n_mix."""
    inverse, means = np.linalg.inv(pooled(x, y)), location.cell_means(x, y)
    cells = sorted(set(x) - small, key=lambda k: (distance(means[k], y[i], inverse), k))
    chosen: list[list[int]] = []
    for k in cells:
        if sum(map(len, chosen)) >= n_mix:
            break
        chosen.append([j for j in range(len(x)) if x[j] == k])
    return chosen


def local_set(cells: list[list[int]], n_mix: int, fill: str, rng: np.random.Generator) -> list[int]:
    """n_mix of their records: from all alike, or from the next cell only once the nearer ones are used up."""
    records = [j for cell in cells for j in cell]
    if len(records) <= n_mix:
        return records
    whole = sum(map(len, cells[:-1])) if fill == "sequential" else 0
    rest = records[whole:]
    return records[:whole] + [rest[k] for k in rng.choice(len(rest), n_mix - whole, replace=False, shuffle=False)]


def impute(
    records: Sequence[int],
    cells: Sequence[int],
    y: Sequence[np.ndarray],
    theta: location.Theta,
    uniforms: Sequence[float],
) -> list[int]:
    """A cell for each record of M by its predictive probabilities."""
    got = []
    for i, u in zip(records, uniforms, strict=True):
        got.append(location.pick(cells, location.probabilities(theta, y[i]), u))
    return got


def tables(
    x: Sequence[int],
    y: Sequence[np.ndarray],
    rng: np.random.Generator,
    s: int,
    n_mix: int,
    selection: str,
    model_set: str,
    d: int,
) -> list[list[int]]:
    """All steps, proper, from the data alone: D lists of key cells."""
    small = location.sensitive_cells(x, s, "le")
    chosen: set[int] = {i for i in range(len(x)) if x[i] in small}
    for i in sorted(chosen):
        if selection == "global":
            chosen |= set(global_set(i, x, y, small, n_mix))
        else:
            chosen |= set(local_set(local_cells(i, x, y, small, n_mix), n_mix, "uniform", rng))
    records = sorted(chosen)
    cells = sorted({x[i] for i in records})
    used = records if model_set == "M" else [i for i in range(len(x)) if x[i] in cells]
    place = {k: c for c, k in enumerate(cells)}
    shown = []
    for _ in range(d):
        theta = location.draw([place[x[i]] for i in used], [y[i] for i in used], rng, [place[x[i]] for i in records])
        new = list(x)
        for i, k in zip(records, impute(records, cells, y, theta, rng.random(len(records)).tolist()), strict=True):
            new[i] = k
        shown.append(new)
    return shown


def r1(x: Sequence[int], shown: Sequence[Sequence[int]], s: int) -> float:
    """Eq. 7 and 8."""
    total = 0.0
    for table in shown:
        for old, new in zip(x, table, strict=True):
            m = list(table).count(new)
            if old == new and m <= s:
                total += 1 / m
    return total / len(shown)


def r2(x: Sequence[int], shown: Sequence[Sequence[int]], s: int) -> float:
    """Eq. 9: for each record the chance of being picked as the likeliest one of its true cell."""
    n, total = len(x), 0.0
    for i in range(n):
        e = [sum(table[j] == x[i] for table in shown) for j in range(n)]
        u = e.count(max(e))
        if max(e) > 0 and e[i] == max(e) and u <= s:
            total += 1 / u
    return total
