"""Correct attribution probability (CAP): one attribute read by an intruder who knows the keys.

M. Elliot, "Final Report on the Disclosure Risk Associated with the Synthetic Data Produced by the SYLLS Team" (2014);
J. Taub, M. Elliot, M. Pampaka and D. Smith, "Differential Correct Attribution Probability for Synthetic Data: An
Exploration", Privacy in Statistical Databases (2018), doi:10.1007/978-3-319-99771-1_9.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from engine.common.errors import UsageError, did_you_mean
from engine.data.domain import Domain
from engine.data.table import occupied
from engine.measures.base import Measure
from engine.release.batch import ReleaseBatch, unpack

Unmatched = Literal["zero", "skip"]
UNMATCHED: tuple[Unmatched, ...] = get_args(Unmatched)
_AT_ONCE = 1 << 16  # sums that are formed together: few enough to stay in the processor's cache


def correct_attribution(
    batch: ReleaseBatch, domain: Domain, places: tuple[int, ...], target: str, unmatched: Unmatched
) -> np.ndarray:
    """Mean over the original records of the share of released records with the same keys that have the record's target.

    The intruder knows the tabulated attributes except the target.  Records whose keys no released record has count 0
    (``unmatched`` "zero") or are left out ("skip").  In [0, 1]; lower is better; NaN when all are left out.
    """
    t = _target(domain, target)
    return batch.own.cached(("attribution", places, t, unmatched), lambda: _attribution(batch, places, t, unmatched))


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
    batch: ReleaseBatch, domain: Domain, places: tuple[int, ...], target: str, unmatched: Unmatched
) -> np.ndarray:
    """:func:`correct_attribution` less the baseline: the same for an intruder who knows the original shares of the
    target's levels and no keys, which is the sum of their squares.

    In [-1, 1]; lower is better; 0 says that the keys help no more than guessing.
    """
    t = _target(domain, target)
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


def _target(domain: Domain, target: str) -> int:
    if not target:
        raise UsageError("no target is named; write for example correct_attribution[target=Income]")
    return domain.index(target)


def _check(target: str, unmatched: str) -> None:
    if unmatched not in UNMATCHED:
        raise UsageError(f"unmatched == '{unmatched}', must be zero or skip.{did_you_mean(unmatched, UNMATCHED)}")


_SOURCE = "Elliot (2014); Taub et al. (2018), doi:10.1007/978-3-319-99771-1_9"
_PARAMETERS = {"target": "", "unmatched": "zero"}

CORRECT_ATTRIBUTION = Measure(
    name="correct_attribution",
    symbol="CAP",
    title="Correct attribution",
    kind="risk",
    better="lower",
    range="0 to 1",
    least=0.0,
    most=1.0,
    unit="mean share of matching records",
    source=_SOURCE,
    meaning=(
        "How often, on average, the released records with a person's keys show that person's true value of the "
        "target. It is also high where nearly everyone has the same value."
    ),
    over="keys",
    depends_on="table",
    compute=correct_attribution,
    rounding="exact",
    parameters=_PARAMETERS,
    check=_check,
    undefined="no original record's keys occur in the release",
    named=True,
)
ATTRIBUTION_GAIN = Measure(
    name="attribution_gain",
    symbol="ΔCAP",
    title="Correct attribution beyond guessing",
    kind="risk",
    better="lower",
    range="-1 to 1",
    least=-1.0,
    most=1.0,
    unit="mean share of matching records",
    source=_SOURCE + ", less the baseline",
    meaning=(
        "How much more often the released records with a person's keys show the true value of the target than a "
        "guess from its overall shares does."
    ),
    over="keys",
    depends_on="table",
    compute=attribution_gain,
    rounding="exact",
    parameters=_PARAMETERS,
    check=_check,
    undefined="no original record's keys occur in the release",
    named=True,
)
