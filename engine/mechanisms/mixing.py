"""Mixing sets for SMIKe: the nonsensitive records or cells nearest to each sensitive record.

R. J. A. Little and F. Liu, "Selective multiple imputation of keys" (2003), sections 2.1 and 3.  Distances are
Mahalanobis distances by the covariance matrix within cells, that is, Euclidean ones between whitened numbers.  Squared
distances are rounded to 12 significant digits or so, and equal ones go by record (or cell) number, so that ties in the
data do not hang on rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.models.location import KeyCells

_SEGMENT = 1 << 20  # distances held at once (8 MB)


class Choice(NamedTuple):
    """Records that one sensitive record may mix with: ``records``, nearest cell first; cells' ``ends`` in them."""

    records: np.ndarray
    ends: np.ndarray


def rounded(squares: np.ndarray) -> np.ndarray:
    """Squared distances to 40 bits, shape kept."""
    fraction, exponent = np.frexp(squares)
    result: np.ndarray = np.ldexp(np.rint(fraction * 2.0**40), exponent - 40)
    return result


def squared(v: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Squared distances over the last axes of ``v`` and ``w``, of one length; the others broadcast; rounded."""
    total = np.zeros(np.broadcast_shapes(v.shape[:-1], w.shape[:-1]))
    for c in range(v.shape[-1]):
        gap = v[..., c] - w[..., c]
        gap *= gap
        total += gap
    return rounded(total)


def local_choices(
    v: np.ndarray, sensitive: np.ndarray, means: np.ndarray, donors: np.ndarray, keys: KeyCells, n_mix: int
) -> list[Choice]:
    """For each sensitive record the records of the nearest nonsensitive cells that together hold at least ``n_mix`` of
    them (of all cells when they do not).

    ``v`` (n, p) are whitened numbers, ``means`` (K, p) cell means in the same units, ``donors`` the cells allowed.
    """
    order = np.argsort(keys.x, kind="stable")
    start = np.concatenate([[0], np.cumsum(keys.counts)])
    sizes = keys.counts[donors]
    choices = []
    step = max(1, _SEGMENT // len(donors))
    for first in range(0, len(sensitive), step):
        distance = squared(v[sensitive[first : first + step], None], means[None, donors])
        if n_mix <= sizes.min():
            ranked = distance.argmin(axis=1)[:, None]
        else:
            ranked = np.argsort(distance, axis=1, kind="stable")
        for row in ranked:
            reach = np.cumsum(sizes[row])
            q = min(int(np.searchsorted(reach, n_mix)) + 1, len(row))
            records = np.concatenate([order[start[k] : start[k + 1]] for k in donors[row[:q]].tolist()])
            choices.append(Choice(records, reach[:q]))
    return choices


def global_choices(v: np.ndarray, sensitive: np.ndarray, donors: np.ndarray, n_mix: int) -> list[Choice]:
    """For each sensitive record the ``n_mix`` nearest of the nonsensitive records ``donors`` (all when there are no
    more); of equally near ones those with the lowest number.

    Records with equal numbers are one point of a k-d tree, so that ties cost nothing.
    """
    if len(donors) <= n_mix:
        return [Choice(donors, np.array([len(donors)]))] * len(sensitive)
    from scipy.spatial import cKDTree

    points, point_of = np.unique(v[donors], axis=0, return_inverse=True)
    point_of = point_of.reshape(-1)
    by_point = donors[np.argsort(point_of, kind="stable")]
    start = np.concatenate([[0], np.cumsum(np.bincount(point_of))])
    tree, queries = cKDTree(points), v[sensitive]
    k = min(n_mix, len(points))
    reach = tree.query(queries, k=[k])[0][:, 0]
    near = tree.query_ball_point(queries, reach * (1 + 1e-6) + 1e-150, return_sorted=True)
    n_near = np.array([len(neighbours) for neighbours in near])
    of_query, point = np.repeat(np.arange(len(near)), n_near), np.concatenate(near).astype(np.int64)
    size = np.diff(start)[point]
    reachable = np.add.reduceat(size, np.cumsum(n_near) - n_near)
    choices: list[Choice] = []
    while len(choices) < len(near):
        # as many sensitive records together as have few enough records near them
        first = len(choices)
        last = first + max(1, int(np.searchsorted(np.cumsum(reachable[first:]), _SEGMENT, side="right")))
        part = slice(*np.searchsorted(of_query, (first, last)))
        row = of_query[part] - first
        distance = squared(queries[of_query[part]], points[point[part]])
        row, distance, place = _nearest(row, distance, size[part], n_mix)
        chosen = point[part][place]
        n_records = start[chosen + 1] - start[chosen]
        records = by_point[_ranges(start[chosen], n_records)]
        row, distance = np.repeat(row, n_records), np.repeat(distance, n_records)
        order = np.lexsort((records, distance, row))
        begin = np.searchsorted(row, np.arange(last - first))
        nearest = records[order][begin[:, None] + np.arange(n_mix)]
        choices += [Choice(one, np.array([n_mix])) for one in nearest]
    return choices


def _nearest(
    row: np.ndarray, distance: np.ndarray, size: np.ndarray, n_mix: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, distances and places of the points that together hold at least ``n_mix`` records of each row, and of all
    that are as near as the last of them.

    ``row`` numbers the rows in order; each point has its ``distance`` from its row and holds ``size`` records.
    """
    order = np.lexsort((distance, row))
    distance = distance[order]
    begin = np.searchsorted(row, np.arange(row[-1] + 1))
    cumulated = np.cumsum(size[order])
    before = np.concatenate([[0], cumulated])[begin]
    last = distance[np.searchsorted(cumulated, before + n_mix)]
    near = distance <= last[row]
    return row[near], distance[near], order[near]


def _ranges(start: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The numbers ``start`` to ``start + n - 1`` of each, one after the other."""
    end = np.cumsum(n)
    numbers: np.ndarray = np.arange(end[-1]) + np.repeat(start - (end - n), n)
    return numbers


def mixing_set(choice: Choice, n_mix: int, fill: str, rng: np.random.Generator) -> np.ndarray:
    """One sensitive record's mixing set: ``n_mix`` records drawn without replacement from its choice (all when it holds
    no more, without drawing).

    ``fill`` "sequential" takes the nearest cells whole and draws only from the last.
    """
    records = choice.records
    if len(records) <= n_mix:
        return records
    n_whole = int(choice.ends[-2]) if fill == "sequential" and len(choice.ends) > 1 else 0
    others = records[n_whole:]
    drawn = rng.choice(len(others), n_mix - n_whole, replace=False, shuffle=False)
    return np.concatenate([records[:n_whole], others[drawn]])
