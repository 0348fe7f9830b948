"""Probabilistic record linkage (Fellegi and Sunter 1969): agreement patterns, EM, one-to-one links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.data.table import occupied
from engine.measures.base import Figure, Measure
from engine.measures.linkage import LinkRows, check_names, columns_of, decimal_parameter, link_rows, narrow
from engine.models.record_release import RecordRelease
from engine.release.records import ReleasedTable

MOST_VARIABLES = 16
_PAIRS = 20_000**2  # most pairs of distinct rows whose agreement is counted
_WEIGHED = 50_000_000  # most pairs of distinct rows that are weighed one against the other
_OPTIMAL = 2_000  # most records that are assigned optimally
_CHUNK = 1 << 21
_UNIT = 1 << 16  # weights are whole numbers of 1/65536, so that ties are ties
_LEAST = 1e-6  # m and u stay this far from 0 and 1


class Linkage(NamedTuple):
    """Estimates of EM: per variable, the probability of agreement for links (m) and for other pairs (u)."""

    m: np.ndarray
    u: np.ndarray
    share: float

    @property
    def weights(self) -> np.ndarray:
        """Weight of agreement on each variable over disagreement, ``log(m/u) - log((1-m)/(1-u))``, in whole units.

        A variable on which links agree no more often than other pairs weighs nothing.
        """
        gain = np.log(self.m / self.u) - np.log((1 - self.m) / (1 - self.u))
        result: np.ndarray = np.rint(np.maximum(gain, 0) * _UNIT).astype(np.int64)
        return result


def agreements(rows: LinkRows, rows_a: np.ndarray, rows_b: np.ndarray, h: float) -> np.ndarray:
    """Agreement patterns of pairs of rows as bits: variable k agrees where bit k is set; attributes come first.

    Numbers agree when they differ by at most ``h`` standard deviations; missing agrees with missing only.
    """
    pattern = np.zeros((len(rows_a), len(rows_b)), np.uint16)
    bit = 0
    for codes in narrow(rows.categories):
        pattern |= (codes[rows_a][:, None] == codes[rows_b]).astype(np.uint16) << np.uint16(bit)
        bit += 1
    for values in rows.numbers.T:
        values_a, values_b = values[rows_a][:, None], values[rows_b]
        agree = (np.abs(values_a - values_b) <= h) | (np.isnan(values_a) & np.isnan(values_b))
        pattern |= agree.astype(np.uint16) << np.uint16(bit)
        bit += 1
    return pattern


def count_patterns(rows: LinkRows, linkage_block: np.ndarray, n_variables: int, h: float) -> np.ndarray:
    """Number of pairs (released record, original record) of one linkage block with each agreement pattern."""
    original, released = rows.original, rows.released
    counts = np.zeros(1 << n_variables)
    for released_rows, original_rows in _by_block(linkage_block, np.flatnonzero(released), np.flatnonzero(original)):
        step = max(1, _CHUNK // len(original_rows))
        for begin in range(0, len(released_rows), step):
            chunk = released_rows[begin : begin + step]
            pairs = (released[chunk][:, None] * original[original_rows]).ravel()
            patterns = agreements(rows, chunk, original_rows, h).ravel()
            counts += np.bincount(patterns, weights=pairs, minlength=len(counts))
    return counts


def _by_block(
    linkage_block: np.ndarray, released_rows: np.ndarray, original_rows: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Released and original rows of each linkage block that has both."""
    released_rows, original_rows = (
        rows[np.argsort(linkage_block[rows], kind="stable")] for rows in (released_rows, original_rows)
    )
    for number in np.intersect1d(linkage_block[released_rows], linkage_block[original_rows]):
        first, last = np.searchsorted(linkage_block[released_rows], [number, number + 1])
        start, stop = np.searchsorted(linkage_block[original_rows], [number, number + 1])
        yield released_rows[first:last], original_rows[start:stop]


def estimate(counts: np.ndarray, n_variables: int, n_links: int) -> Linkage:
    """m, u and the share of links among the pairs by EM, variables independent given link or not (Jaro 1989).

    A record has one link at most, so the share is kept from exceeding ``n_links`` over the number of pairs; without
    that bound the two classes drift to whatever splits correlated variables best.  Starts from m = 0.9, u = the
    agreement over all pairs and the share at its bound; stops when no parameter moves by 1e-8, or after 2,000 rounds.
    """
    patterns = np.flatnonzero(counts)
    pairs = counts[patterns]
    agree = ((patterns[:, None] >> np.arange(n_variables)) & 1).astype(float)
    total = pairs.sum()
    m = np.full(n_variables, 0.9)
    u = np.clip(pairs @ agree / total, _LEAST, 1 - _LEAST)
    highest_share = share = float(min(n_links / total, 0.5))
    for _ in range(2000):
        odds = agree @ np.log(m / u) + (1 - agree) @ np.log((1 - m) / (1 - u)) + np.log(share / (1 - share))
        link = 1 / (1 + np.exp(-np.clip(odds, -700, 700)))
        links, non_links = pairs * link, pairs * (1 - link)
        before = np.concatenate([m, u, [share]])
        m = np.clip(links @ agree / max(links.sum(), _LEAST), _LEAST, 1 - _LEAST)
        u = np.clip(non_links @ agree / max(non_links.sum(), _LEAST), _LEAST, 1 - _LEAST)
        share = float(np.clip(links.sum() / total, highest_share * _LEAST, highest_share))
        if np.abs(np.concatenate([m, u, [share]]) - before).max() < 1e-8:
            break
    return Linkage(m, u, share)


def assign(weights: np.ndarray, supply: np.ndarray, demand: np.ndarray) -> np.ndarray:
    """One-to-one links of greatest total weight, shared evenly among equally good ones.

    ``weights[v, u]`` are whole numbers; ``supply[v]`` and ``demand[u]`` say how many records each row stands for.
    Returns the expected number of links ``flow[v, u]``.  Up to 2,000 records the total is greatest (Hungarian method)
    and, of all assignments that reach it, the even mixture of greatest entropy is taken, which depends on no order;
    with more records pairs are linked greedily from the heaviest down, ties shared in proportion.
    """
    if max(int(supply.sum()), int(demand.sum())) > _OPTIMAL:
        return _greedy(weights, supply, demand)
    gap = int(supply.sum() - demand.sum())
    height, width = weights.shape
    if gap > 0:  # whoever stays without a link is linked to nobody, which weighs nothing
        weights, demand = np.column_stack([weights, np.zeros(height, weights.dtype)]), np.append(demand, gap)
    elif gap < 0:
        weights, supply = np.vstack([weights, np.zeros(width, weights.dtype)]), np.append(supply, -gap)
    return _even(weights, supply, demand)[:height, :width]


def _even(weights: np.ndarray, supply: np.ndarray, demand: np.ndarray) -> np.ndarray:
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    left, right = np.repeat(np.arange(len(supply)), supply), np.repeat(np.arange(len(demand)), demand)
    chosen, partner = linear_sum_assignment(weights[left][:, right], maximize=True)
    cost = -weights.astype(np.int64)
    flow = np.zeros(cost.shape)
    np.add.at(flow, (left[chosen], right[partner]), 1)
    used_left, used_right = np.nonzero(flow)
    # potentials by Bellman and Ford: every pair costs at least their difference, every pair in use exactly that
    low = np.zeros(len(supply), np.int64)
    while True:
        high = (low[:, None] + cost).min(axis=0)
        before = low.copy()
        np.minimum.at(low, used_left, high[used_right] - cost[used_left, used_right])
        if np.array_equal(low, before):
            break
    tight_left, tight_right = np.nonzero(low[:, None] + cost == high)
    # a tight pair is in some best assignment when a circle of tight pairs leads through it, or when it is in this one
    n = len(supply)
    graph = coo_array(
        (
            np.ones(len(tight_left) + len(used_left), np.int8),
            (np.concatenate([tight_left, n + used_right]), np.concatenate([n + tight_right, used_left])),
        ),
        shape=(n + len(demand),) * 2,
    )
    component = connected_components(graph, connection="strong")[1]
    possible = (component[tight_left] == component[n + tight_right]) | (flow[tight_left, tight_right] > 0)
    left, right = tight_left[possible], tight_right[possible]
    mixture = _scale(left, right, supply.astype(float), demand.astype(float))
    flow = np.zeros(cost.shape)
    flow[left, right] = mixture
    return flow


def _scale(left: np.ndarray, right: np.ndarray, supply: np.ndarray, demand: np.ndarray) -> np.ndarray:
    """The most even table on some cells with given margins: iterative proportional fitting from all ones."""
    column = np.ones(len(demand))
    for _ in range(5000):
        row = supply / np.bincount(left, weights=column[right], minlength=len(supply))
        reached = column * np.bincount(right, weights=row[left], minlength=len(demand))
        column = column * demand / reached
        if np.abs(reached - demand).max() < 1e-12 * demand.max():
            break
    result: np.ndarray = row[left] * column[right]
    return result


def _greedy(weights: np.ndarray, supply: np.ndarray, demand: np.ndarray) -> np.ndarray:
    flow = np.zeros(weights.shape)
    supply, demand = supply.astype(float), demand.astype(float)
    rows, columns = np.arange(len(supply)), np.arange(len(demand))
    remaining = weights
    for level in np.unique(weights)[::-1]:
        row, column = np.nonzero(remaining == level)
        row, column = rows[row], columns[column]
        for _ in range(100):
            open_ = (supply[row] > _LEAST) & (demand[column] > _LEAST)
            row, column = row[open_], column[open_]
            if not len(row):
                break
            # every row offers itself in proportion to what its partners still need, and the other way round
            wanted = np.bincount(row, weights=demand[column], minlength=len(supply))
            offered = np.bincount(column, weights=supply[row], minlength=len(demand))
            links = supply[row] * demand[column] / np.maximum(wanted[row], offered[column])
            flow[row, column] += links
            supply = np.maximum(supply - np.bincount(row, weights=links, minlength=len(supply)), 0)
            demand = np.maximum(demand - np.bincount(column, weights=links, minlength=len(demand)), 0)
        keep, need = supply[rows] > _LEAST, demand[columns] > _LEAST
        if not keep.any() or not need.any():
            break
        if keep.mean() < 0.9 or need.mean() < 0.9:
            rows, columns, remaining = rows[keep], columns[need], remaining[keep][:, need]
    return flow


def correct_links(rows: LinkRows, linkage_block: np.ndarray, linkage: Linkage, h: float) -> float:
    """Expected number of records linked to their own original.

    Rows equal on everything are linked first (no link weighs more); what remains is assigned one to one by weight.
    Within a row the records are interchangeable: in the ``flow[v, u]`` links between a released row v and an original
    row u each record of v takes part with equal chance, and meets each record of u with equal chance.
    """
    original, released = rows.original, rows.released
    exact = np.minimum(original, released)
    v, u, subjects = rows.true_pairs()
    unaltered = v == u
    correct = float(
        (subjects[unaltered] * exact[v[unaltered]] / (released[v[unaltered]] * original[u[unaltered]])).sum()
    )
    v, u, subjects = v[~unaltered], u[~unaltered], subjects[~unaltered]
    supply, demand = released - exact, original - exact
    for block_v, block_u in _by_block(linkage_block, np.flatnonzero(supply), np.flatnonzero(demand)):
        if len(block_v) * len(block_u) > _WEIGHED:
            raise EngineError(
                f"{len(block_v):,} released and {len(block_u):,} original rows remain to be weighed against each "
                f"other, more than {_WEIGHED:,} pairs; name attributes that must agree with block=ATTRIBUTE+ATTRIBUTE"
            )
        patterns = np.arange(1 << len(linkage.weights))
        of_pattern = (((patterns[:, None] >> np.arange(len(linkage.weights))) & 1) @ linkage.weights).astype(np.int32)
        flow = assign(
            of_pattern[agreements(rows, block_v, block_u, h)],
            supply[block_v],
            demand[block_u],
        )
        at, to = np.searchsorted(block_v, v), np.searchsorted(block_u, u)
        in_block = (at < len(block_v)) & (to < len(block_u))
        in_block[in_block] = (block_v[at[in_block]] == v[in_block]) & (block_u[to[in_block]] == u[in_block])
        links = flow[at[in_block], to[in_block]] * subjects[in_block]
        correct += float((links / (released[v[in_block]] * original[u[in_block]])).sum())
    return correct


def probabilistic_linkage(
    release: RecordRelease, places: Sequence[int], numeric: str = "", h: str = "0.1", block: str = ""
) -> Figure:
    """Expected share of released records that an intruder links to their own original by probabilistic linkage.

    The intruder holds the original values of the link variables for everyone (attributes, and raw columns with
    ``numeric=COLUMN+COLUMN``, which agree within ``h`` standard deviations), compares all pairs of a released and an
    original record, estimates by EM how often links (m) and other pairs (u) agree on each variable, and weighs a pair
    by the sum of ``log(m/u)`` over the variables that agree and ``log((1-m)/(1-u))`` over the others (Fellegi and
    Sunter 1969, doi 10.1080/01621459.1969.10501049; EM and one-to-one assignment as Jaro 1989, doi
    10.1080/01621459.1989.10478785).  Records equal on everything are linked first, the rest one to one so that the
    total weight is greatest (up to 2,000 records in a block; greedily beyond).  Where several links are equally good
    they share the credit, so the figure depends on no order and on no draw.

    ``block=ATTRIBUTE+ATTRIBUTE`` compares only pairs that agree on these attributes, as is done for large files.  In
    [0, 1]; higher is riskier; 1/n is guessing, 1 when nothing changed and all rows are distinct.  A variable on which
    links agree less often than other pairs weighs nothing, so a swap at a rate near one is not undone.  Several tables:
    their mean.  At most 16 variables.
    """
    tolerance = _checked(numeric, h, block)
    n = release.data.n_records
    figures = [
        _one_table(release, table, places, columns_of(numeric), tolerance, columns_of(block))
        for table in release.tables
    ]
    correct = sum(figures) / len(figures)
    return Figure(correct / n, f"{correct:.1f} of {n} records linked correctly, 1.0 by guessing")


def _one_table(
    release: RecordRelease,
    table: ReleasedTable,
    places: Sequence[int],
    numeric: Sequence[str],
    h: Decimal,
    block: Sequence[str],
) -> float:
    fixed = release.data.domain.indices(tuple(block))
    compared = [j for j in places if j not in fixed]
    rows = link_rows(release, table, [*compared, *fixed], numeric)
    categories = rows.categories[:, len(compared) :]
    columns = list(categories.T)
    linkage_block = occupied(columns, [int(codes.max(initial=0)) + 1 for codes in columns], len(categories))[1]
    rows = rows._replace(categories=rows.categories[:, : len(compared)])
    n_variables = len(compared) + rows.numbers.shape[1]
    if n_variables > MOST_VARIABLES:
        raise UsageError(
            f"probabilistic_linkage: {n_variables} link variables, must be at most {MOST_VARIABLES}; choose some with "
            "attributes=ATTRIBUTE+ATTRIBUTE or let some agree with block=ATTRIBUTE+ATTRIBUTE"
        )
    n_released, n_original = (np.bincount(linkage_block[np.flatnonzero(x)]) for x in (rows.released, rows.original))
    shared = min(len(n_released), len(n_original))
    pairs = int(n_released[:shared] @ n_original[:shared])
    if pairs > _PAIRS:
        raise EngineError(
            f"{pairs:,} pairs of distinct rows would have to be compared, more than {_PAIRS:,}; name attributes that "
            "must agree with block=ATTRIBUTE+ATTRIBUTE"
        )
    linkage = estimate(count_patterns(rows, linkage_block, n_variables, float(h)), n_variables, release.data.n_records)
    return correct_links(rows, linkage_block, linkage, float(h))


def _checked(numeric: str, h: str, block: str) -> Decimal:
    check_names("probabilistic_linkage", "numeric", numeric)
    check_names("probabilistic_linkage", "block", block)
    tolerance = decimal_parameter("probabilistic_linkage", "h", h)
    if tolerance < 0:
        raise UsageError(f"probabilistic_linkage: h == {h}, must not be negative.")
    return tolerance


PROBABILISTIC_LINKAGE = Measure.of(
    probabilistic_linkage,
    "risk",
    symbol="PRL",
    title="Probabilistic record linkage",
    share_of="records",
    source=(
        "Fellegi and Sunter (1969), doi 10.1080/01621459.1969.10501049; EM and assignment as Jaro (1989), "
        "doi 10.1080/01621459.1989.10478785"
    ),
    meaning=(
        "The share of released records that somebody who knows everyone's original keys would match to the right "
        "person by weighing agreements; each person is used once."
    ),
    check=_checked,
    undefined="no link variable holds values",
    needs="records",
    cost="tens of milliseconds for thousands of distinct rows; grows with their square within a block",
)
