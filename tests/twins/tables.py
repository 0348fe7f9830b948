"""Further measures on tables, each from its formula, on full record tables and plain dicts; see ``measures.py``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from math import nan, sqrt

from tests.twins.measures import Record, full_table, seen

Records = Sequence[Record]
Places = Sequence[int]


def hellinger_large(before: Records, after: Records, attributes: Places, shape: Places, n_rule: int = 3) -> float:
    """Eq. 9 over the cells of at least n_rule records before, as shares of all records."""
    old, new = full_table(before, attributes, shape), full_table(after, attributes, shape)
    large = [cell for cell in old if old[cell] >= n_rule]
    if not large:
        return nan
    n = len(before)
    return sqrt(sum((sqrt(old[c] / n) - sqrt(new[c] / n)) ** 2 for c in large) / 2)


def association(records: Records, i: int, j: int) -> tuple[float, float]:
    """Cramér's V and the contingency coefficient of two attributes, over the rows and columns that occur."""
    n = len(records)
    table, rows, columns = (
        Counter(seen(r, (i, j)) for r in records),
        Counter(r[i] for r in records),
        Counter(r[j] for r in records),
    )
    if min(len(rows), len(columns)) == 1:
        return 0.0, 0.0
    # n n_ij - r_i c_j in whole numbers, so that independence is exactly nought
    chi2 = sum(
        (n * table[a, b] - rows[a] * columns[b]) ** 2 / (n * rows[a] * columns[b]) for a in rows for b in columns
    )
    return sqrt(chi2 / (n * (min(len(rows), len(columns)) - 1))), sqrt(chi2 / (chi2 + n))


def association_change(which: int) -> Callable[..., float]:
    def compute(before: Records, after: Records, attributes: Places, shape: Places, summary: str = "mean") -> float:
        pairs = list(combinations(attributes, 2))
        if not pairs:
            return nan
        sizes = [abs(association(before, i, j)[which] - association(after, i, j)[which]) for i, j in pairs]
        return sum(sizes) / len(sizes) if summary == "mean" else max(sizes)

    return compute


def r1(before: Records, after: Records, attributes: Places, shape: Places, s: int = 3, rule: str = "le") -> float:
    """Little and Liu: 1/m for a record that stayed in its key cell, when the released cell's size m is sensitive."""
    counts = full_table(after, attributes, shape)
    risk = 0.0
    for old, new in zip(before, after, strict=True):
        m = counts[seen(new, attributes)]
        if seen(old, attributes) == seen(new, attributes) and (m <= s if rule == "le" else m < s):
            risk += 1 / m
    return risk


def sensitive_cells(records: Records, attributes: Places, s: int, rule: str) -> int:
    counts = Counter(seen(record, attributes) for record in records)
    return sum(1 for m in counts.values() if (m <= s if rule == "le" else m < s))


def r1_share(before: Records, after: Records, attributes: Places, shape: Places, s: int = 3, rule: str = "le") -> float:
    cells = sensitive_cells(before, attributes, s, rule)
    return r1(before, after, attributes, shape, s, rule) / cells if cells else nan


def p1(
    before: Records,
    after: Records,
    attributes: Places,
    shape: Places,
    s: int = 3,
    rule: str = "le",
    denominator: str = "sensitive",
) -> float:
    cells = sensitive_cells(before, attributes, s, rule)
    if cells and denominator == "nonempty":
        cells = len({seen(record, attributes) for record in before})
    return 1 - r1(before, after, attributes, shape, s, rule) / cells if cells else nan


def r2(before: Records, tables: Sequence[Records], attributes: Places, s: int = 3, rule: str = "le") -> float:
    """Little and Liu's joint risk over several tables, by the full matrix e_ik."""
    n = len(before)
    cells = sorted({seen(table[i], attributes) for table in tables for i in range(n)})
    e = [[sum(1 for table in tables if seen(table[i], attributes) == k) for k in cells] for i in range(n)]
    risk = 0.0
    for i in range(n):
        own = seen(before[i], attributes)
        if own not in cells:
            continue
        k = cells.index(own)
        most = max(e[a][k] for a in range(n))
        u = sum(1 for a in range(n) if e[a][k] == most)
        if most > 0 and e[i][k] == most and (u <= s if rule == "le" else u < s):
            risk += 1 / u
    return risk


def sample_uniques(before: Records, after: Records, attributes: Places, shape: Places) -> float:
    return sum(1 for count in full_table(after, attributes, shape).values() if count == 1)


def unchanged_uniques(before: Records, after: Records, attributes: Places, shape: Places) -> float:
    old, new = full_table(before, attributes, shape), full_table(after, attributes, shape)
    cells = [(seen(a, attributes), seen(b, attributes)) for a, b in zip(before, after, strict=True)]
    return sum(1 for a, b in cells if a == b and old[a] == 1 and new[b] == 1)


def k_anonymity(before: Records, after: Records, attributes: Places, shape: Places, k: int = 3) -> float:
    counts = full_table(after, attributes, shape)
    return sum(1 for record in after if counts[seen(record, attributes)] < k)


def k_anonymity_share(before: Records, after: Records, attributes: Places, shape: Places, k: int = 3) -> float:
    return k_anonymity(before, after, attributes, shape, k) / len(after)


def external_counts(after: Records, external: Records, attributes: Places) -> list[int]:
    """For every released record the number of external ones, which hold those attributes only, equal to it."""
    return [sum(1 for other in external if tuple(other) == seen(record, attributes)) for record in after]


def correct_attribution(
    before: Records,
    after: Records,
    attributes: Places,
    shape: Places,
    target: str = "",
    unmatched: str = "zero",
) -> float:
    """Elliot's CAP: for every original record, the share of released records with its keys that have its target."""
    t = ord(target) - ord("A")
    known = [j for j in attributes if j != t]
    shares: list[float] = []
    for own in before:
        matches = [record for record in after if seen(record, known) == seen(own, known)]
        if matches:
            shares.append(sum(1 for record in matches if record[t] == own[t]) / len(matches))
        elif unmatched == "zero":
            shares.append(0.0)
    return sum(shares) / len(shares) if shares else nan


def attribution_gain(
    before: Records,
    after: Records,
    attributes: Places,
    shape: Places,
    target: str = "",
    unmatched: str = "zero",
) -> float:
    t = ord(target) - ord("A")
    counts = Counter(record[t] for record in before)
    guess = sum(counts[record[t]] / len(before) for record in before) / len(before)
    return correct_attribution(before, after, attributes, shape, target, unmatched) - guess


TWINS: dict[str, Callable[..., float]] = {
    "hellinger_large": hellinger_large,
    "cramers_v_change": association_change(0),
    "contingency_change": association_change(1),
    "r1": r1,
    "r1_share": r1_share,
    "p1": p1,
    "sample_uniques": sample_uniques,
    "unchanged_uniques": unchanged_uniques,
    "k_anonymity": k_anonymity,
    "k_anonymity_share": k_anonymity_share,
    "correct_attribution": correct_attribution,
    "attribution_gain": attribution_gain,
}
