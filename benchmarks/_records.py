"""The yardstick of the random swap: all of Appendix A over records, compiled, with the four measures of every sweep.

It does what a careful programmer would do who keeps to records: they lie row by row in as few bytes as they need; what
is still available is a list that shrinks; a partner is drawn with rejection and, once rejections have cost as much as
counting, from the exact list; a record without partner is unswappable for good; any of S, F, C and U may be asked for.
Then the released records are tabulated, and the small-cell risk, Hellinger, total variation and entropy are formed from
the two tables, all in compiled code.  Candidates share the original's table and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

import numpy as np

from engine.common import compiled
from engine.common.compiled import below
from engine.data.table import ContingencyTable

_U, _S, _F, _C = range(4)


@compiled.kernel
def may_swap(records, a, b, roles):
    """Whether two records make a true swap (strict rule) that respects the roles."""
    unswapped_differs = False
    for j in range(len(roles)):
        differs = records[a, j] != records[b, j]
        if roles[j] == _F:
            if differs:
                return False
        elif roles[j] == _U:
            unswapped_differs |= differs
        elif not differs:
            return False
        elif roles[j] == _C:
            unswapped_differs = True
    return unswapped_differs


@compiled.kernel
def swap_records(records, roles, wanted, s, available, place, changed, released):
    """Appendix A; returns how many pairs were swapped.  ``available`` and ``place`` number all records on entry."""
    n = len(records)
    pairs = 0
    while pairs < wanted and n > 0:
        a = available[below(s, n)]
        b = -1
        for _ in range(n // 4):  # a draw costs a few times a check in order, so this is about what counting costs
            other = available[below(s, n)]
            if may_swap(records, a, other, roles):
                b = other
                break
        if b < 0:
            feasible = 0
            for i in range(n):
                feasible += may_swap(records, a, available[i], roles)
            if feasible > 0:
                number = below(s, feasible)
                for i in range(n):
                    if b < 0 and may_swap(records, a, available[i], roles):
                        if number == 0:
                            b = available[i]
                        number -= 1
        for side in range(2):
            record = a if side == 0 else b
            if record >= 0:
                n -= 1
                last = available[n]
                available[place[record]] = last
                place[last] = place[record]
        if b >= 0:
            for j in range(len(roles)):
                if roles[j] == _S:
                    released[a, j] = records[b, j]
                    released[b, j] = records[a, j]
            changed[a] = changed[b] = True
            pairs += 1
    return pairs


@compiled.kernel
def measured(released, changed, radix, before, after, unchanged):
    """Tabulate the released records; small-cell risk, Hellinger, total variation and entropy change."""
    n, d = released.shape
    after[:] = 0
    unchanged[:] = 0
    kept = 0
    for i in range(n):
        cell = 0
        for j in range(d):
            cell += released[i, j] * radix[j]
        after[cell] += 1
        if not changed[i]:
            unchanged[cell] += 1
            kept += 1
    at_risk = 0
    moved = 0
    squares = 0.0
    entropy = 0.0
    for cell in range(len(after)):
        p, q = before[cell], after[cell]
        if 0 < q < 3:
            at_risk += unchanged[cell]
        if p != q:
            moved += abs(p - q)
            squares += (sqrt(p) - sqrt(q)) ** 2
            entropy += (p * log(p) if p > 0 else 0.0) - (q * log(q) if q > 0 else 0.0)
    return at_risk / kept, sqrt(squares / (2 * n)), moved / (2 * n), entropy / n


class OverRecords:
    """One table's records, and room for one candidate at a time."""

    def __init__(self, table: ContingencyTable) -> None:
        self._records = np.repeat(table.cells, table.counts, axis=0).astype(np.int8)
        shape = table.domain.shape
        self._radix = np.cumprod([1, *shape[:0:-1]])[::-1].copy()
        self._before = np.bincount(self._records @ self._radix, minlength=int(np.prod(shape)))
        self._after, self._unchanged = np.empty_like(self._before), np.empty_like(self._before)

    def candidate(self, swapped: Sequence[int], wanted: int, s: np.ndarray) -> tuple[float, ...]:
        """Swap and measure one candidate; every attribute that is not swapped is U."""
        n, d = self._records.shape
        roles = np.where(np.isin(np.arange(d), swapped), _S, _U).astype(np.int8)
        changed, released = np.zeros(n, bool), self._records.copy()
        numbers = np.arange(n, dtype=np.int32)
        with compiled.wrapping():
            swap_records(self._records, roles, wanted, s, numbers, numbers.copy(), changed, released)
            return tuple(measured(released, changed, self._radix, self._before, self._after, self._unchanged))
