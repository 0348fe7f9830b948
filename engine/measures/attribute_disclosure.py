"""Disclosure of a sensitive attribute by key cells: l-diversity and t-closeness.

A. Machanavajjhala, D. Kifer, J. Gehrke and M. Venkitasubramaniam, "l-Diversity: Privacy Beyond k-Anonymity", ACM
Transactions on Knowledge Discovery from Data 1(1), 2007; N. Li, T. Li and S. Venkatasubramanian, "t-Closeness: Privacy
Beyond k-Anonymity and l-Diversity", ICDE 2007.

Correct attribution probability (CAP): one attribute read by an intruder who knows the keys.

M. Elliot, "Final Report on the Disclosure Risk Associated with the Synthetic Data Produced by the SYLLS Team" (2014);
J. Taub, M. Elliot, M. Pampaka and D. Smith, "Differential Correct Attribution Probability for Synthetic Data: An
Exploration", Privacy in Statistical Databases (2018), doi:10.1007/978-3-319-99771-1_9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np

from engine.common.errors import UsageError
from engine.common.registry import remembered
from engine.data.domain import Domain
from engine.data.table import occupied
from engine.measures.base import Measure, Several
from engine.release.batch import ReleaseBatch, unpack

_ROUNDING = 1e-12


def l_diversity(
    batch: ReleaseBatch,
    domain: Domain,
    places: tuple[int, ...],
    target: str = "",
    l: Several = 2,  # noqa: E741
    diversity: Literal["distinct", "entropy"] = "distinct",
) -> np.ndarray:
    """Share of released records in key cells that are not l-diverse in the target.

    A key cell is l-diverse when its records have at least ``l`` distinct values of the target ("distinct"), or when the
    entropy of the target among them is at least log l ("entropy"; Machanavajjhala et al. 2007, definition 4.1).  A
    table is called l-diverse when all cells are, which hardly a file of records is; hence the share.  By entropy a
    target of two values reaches ``l=2`` in evenly divided cells only.  In [0, 1]; lower is better.
    """
    not_diverse = _few_values if diversity == "distinct" else _little_entropy
    return _figures(
        batch,
        (places, _target(domain, "l_diversity", target)),
        lambda table: float(table.sum(axis=1)[not_diverse(table, l)].sum()) / batch.n_records,
    )


def _few_values(table: np.ndarray, least: int) -> np.ndarray:
    return np.asarray((table > 0).sum(axis=1) < least)


def _little_entropy(table: np.ndarray, least: int) -> np.ndarray:
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    logs = np.log(np.where(shares > 0, shares, 1.0))
    return np.asarray(-(shares * logs).sum(axis=1) < np.log(least) - _ROUNDING)


def t_closeness(
    batch: ReleaseBatch,
    domain: Domain,
    places: tuple[int, ...],
    target: str = "",
    distance: Literal["equal", "ordered"] = "equal",
) -> np.ndarray:
    """Largest distance between the distribution of the target in a key cell and that in the whole release.

    The distance moves records between levels at least cost (Li, Li and Venkatasubramanian 2007): with equal costs for
    all moves it is the total variation ("equal"), with costs that grow with the number of levels between, in their
    declared order, it is the mean absolute difference of the cumulative shares ("ordered").  The release is t-close for
    every t from this figure on.  In [0, 1]; lower is better.
    """
    distances = _equal if distance == "equal" else _ordered
    return _figures(
        batch, (places, _target(domain, "t_closeness", target)), lambda table: float(distances(table).max())
    )


def _away(table: np.ndarray) -> np.ndarray:
    """Shares in each occupied key cell less those of all records."""
    used = table[table.sum(axis=1) > 0]
    return np.asarray(used / used.sum(axis=1, keepdims=True) - used.sum(axis=0) / used.sum())


def _equal(table: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(_away(table)).sum(axis=1) / 2)


def _ordered(table: np.ndarray) -> np.ndarray:
    steps = max(table.shape[1] - 1, 1)
    return np.asarray(np.abs(np.cumsum(_away(table), axis=1)).sum(axis=1) / steps)


class _Asked(NamedTuple):
    """Positions of the attributes that are tabulated, and of the target, which is no key."""

    places: tuple[int, ...]
    target: int


def _figures(
    batch: ReleaseBatch, asked: tuple[tuple[int, ...], int], figure: Callable[[np.ndarray], float]
) -> np.ndarray:
    return np.array([figure(table) for table in _tables(batch, _Asked(*asked))], float)


def _tables(batch: ReleaseBatch, asked: _Asked) -> Iterator[np.ndarray]:
    """The released table of each candidate by key cell (rows, empty ones among them) and level of the target."""
    joint = tuple(sorted({*asked.places, asked.target}))
    margin = batch.project(joint)
    keys = [k for k, j in enumerate(joint) if j != asked.target]
    columns = [unpack(margin.index_words, margin.layout[k]) for k in keys]
    cells, key = occupied(columns, [margin.shape[k] for k in keys], len(margin.index_words))
    at = joint.index(asked.target)
    levels = margin.shape[at]
    flat = key * np.int64(levels) + unpack(margin.index_words, margin.layout[at])
    n = len(margin.original)
    before = np.bincount(flat[:n], weights=margin.original, minlength=len(cells) * levels)
    first = 0
    for last in margin.ends.tolist():
        table = before.copy()
        touched = slice(first, last)
        np.add.at(table, flat[margin.cell[touched]], margin.after[touched] - margin.before[touched])
        yield table.reshape(len(cells), levels)
        first = last


def _target(domain: Domain, measure: str, target: str) -> int:
    if not target:
        raise UsageError(f"no target is named; write for example {measure}[target=Income]")
    return domain.index(target)


L_DIVERSITY = Measure.of(
    l_diversity,
    "risk",
    symbol="¬ℓD",
    title="Records in key cells of little diversity",
    share_of="records",
    source="Machanavajjhala et al. (2007), doi:10.1145/1217299.1217302, as a share of records",
    meaning=(
        "The share of released records whose key cell shows fewer than l different values of a sensitive attribute, "
        "so that knowing the keys nearly gives the value away."
    ),
    depends_on="table",
    named=True,
    cost="a tenth of a millisecond; grows with occupied key cells",
)
T_CLOSENESS = Measure.of(
    t_closeness,
    "risk",
    symbol="t",
    title="Distance of key cells from the whole file",
    least=0.0,
    most=1.0,
    unit="distance",
    source="Li, Li and Venkatasubramanian (2007), doi:10.1109/ICDE.2007.367856",
    meaning=(
        "The largest distance between the distribution of a sensitive attribute in one key cell and in the whole "
        "release. It is near 1 where a cell of one record shows a rare value."
    ),
    depends_on="table",
    named=True,
    cost="a tenth of a millisecond; grows with occupied key cells",
)


Unmatched = Literal["zero", "skip"]
_AT_ONCE = 1 << 16  # sums that are formed together: few enough to stay in the processor's cache


def correct_attribution(
    batch: ReleaseBatch, domain: Domain, places: tuple[int, ...], target: str = "", unmatched: Unmatched = "zero"
) -> np.ndarray:
    """Mean over the original records of the share of released records with the same keys that have the record's target.

    The intruder knows the tabulated attributes except the target.  Records whose keys no released record has count 0
    (``unmatched`` "zero") or are left out ("skip").  In [0, 1]; lower is better; NaN when all are left out.
    """
    return _attribution(batch, places, _target_of(domain, target), unmatched)


@remembered("own")
def _attribution(batch: ReleaseBatch, places: tuple[int, ...], t: int, unmatched: Unmatched) -> np.ndarray:
    joint = tuple(sorted({*places, t}))
    margin = batch.project(joint)
    key_positions = [joint.index(j) for j in joint if j != t]
    columns = [unpack(margin.index_words, margin.layout[j]) for j in key_positions]
    keys, key = occupied(columns, [margin.shape[j] for j in key_positions], len(margin.index_words))
    n_keys = len(keys)
    before = np.zeros(len(margin.index_words))
    before[: len(margin.original)] = margin.original
    # whole numbers: records per key cell, and pairs (original, released) that agree on keys and target
    size = np.bincount(key, weights=before, minlength=n_keys)
    agree = np.bincount(key, weights=before**2, minlength=n_keys)
    share = agree / np.maximum(size, 1)
    total = np.full(len(batch), share[size > 0].sum())
    lost = np.zeros(len(batch))
    change = (margin.after - margin.before).astype(float)
    ends = np.concatenate([[0], margin.ends])
    step = max(1, _AT_ONCE // n_keys)
    for first in range(0, len(batch), step):
        last = min(first + step, len(batch))
        entries = slice(ends[first], ends[last])
        cell, amounts = margin.cell[entries], change[entries]
        flat = (margin.owner[entries] - first) * n_keys + key[cell]
        changed_keys, by_size, by_agree = _sums(flat, amounts, before[cell] * amounts, (last - first) * n_keys)
        owner, changed_keys = np.divmod(changed_keys, n_keys)
        remaining = size[changed_keys] + by_size
        # a key cell without released records agrees with nobody: 0 over 1 instead of 0 over 0
        gained = (agree[changed_keys] + by_agree) / np.maximum(remaining, 1) - share[changed_keys]
        total[first:last] += np.bincount(owner, weights=gained, minlength=last - first)
        lost[first:last] = np.bincount(owner, weights=size[changed_keys] * (remaining == 0), minlength=last - first)
    if unmatched == "zero":
        return total / batch.n_records
    matched = batch.n_records - lost
    result: np.ndarray = np.divide(total, matched, out=np.full(len(batch), np.nan), where=matched > 0)
    return result


def attribution_gain(
    batch: ReleaseBatch, domain: Domain, places: tuple[int, ...], target: str = "", unmatched: Unmatched = "zero"
) -> np.ndarray:
    """:func:`correct_attribution` less the baseline: the same for an intruder who knows the original shares of the
    target's levels and no keys, which is the sum of their squares.

    In [-1, 1]; lower is better; 0 says that the keys help no more than guessing.
    """
    t = _target_of(domain, target)
    counts = batch.project((t,)).original
    guess = int((counts.astype(float) ** 2).sum()) / batch.n_records**2
    return correct_attribution(batch, domain, places, target, unmatched) - guess


def _sums(
    number: np.ndarray, first: np.ndarray, second: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places where one of two sums of whole numbers is not 0, in order, with both."""
    if size <= 4 * len(number) + _AT_ONCE:
        sums = [np.bincount(number, weights=values, minlength=size) for values in (first, second)]
        where = np.flatnonzero((sums[0] != 0) | (sums[1] != 0))
        return where, sums[0][where], sums[1][where]
    distinct, inverse = np.unique(number, return_inverse=True)
    sums = [np.bincount(inverse, weights=values, minlength=len(distinct)) for values in (first, second)]
    nonzero = (sums[0] != 0) | (sums[1] != 0)
    return distinct[nonzero], sums[0][nonzero], sums[1][nonzero]


def _target_of(domain: Domain, target: str) -> int:
    if not target:
        raise UsageError("no target is named; write for example correct_attribution[target=Income]")
    return domain.index(target)


_SOURCE = "Elliot (2014); Taub et al. (2018), doi:10.1007/978-3-319-99771-1_9"

CORRECT_ATTRIBUTION = Measure.of(
    correct_attribution,
    "risk",
    symbol="CAP",
    title="Correct attribution",
    least=0.0,
    most=1.0,
    unit="mean share of matching records",
    source=_SOURCE,
    meaning=(
        "How often, on average, the released records with a person's keys show that person's true value of the "
        "target. It is also high where nearly everyone has the same value."
    ),
    depends_on="table",
    undefined="no original record's keys occur in the release",
    named=True,
)
ATTRIBUTION_GAIN = Measure.of(
    attribution_gain,
    "risk",
    symbol="ΔCAP",
    title="Correct attribution beyond guessing",
    range="-1 to 1",
    least=-1.0,
    most=1.0,
    unit="mean share of matching records",
    source=_SOURCE + ", less the baseline",
    meaning=(
        "How much more often the released records with a person's keys show the true value of the target than a "
        "guess from its overall shares does."
    ),
    depends_on="table",
    undefined="no original record's keys occur in the release",
    named=True,
)
