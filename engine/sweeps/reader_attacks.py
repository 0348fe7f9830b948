"""Find altered records by values that do not fit the rest of their record, with nothing but the released file.

What was exchanged no longer goes with what stayed.  Where a column that stayed nearly decides one that moved, such as a
weight that is the same in a whole region, the records in which the two do not go together are those that were altered,
and the others tell what was there.  The intruder knows how many were altered, no more.

Recodes that a release breaks: pairs of columns of which one decided the other in the original.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from engine.common.wording import listed
from engine.data.microdata import Microdata, RawColumn
from engine.measures.verdict import Verdict
from engine.plan import Plan
from engine.plan.dependencies import decided_among
from engine.sweeps.remake import Remade, carriers_of
from engine.sweeps.warnings import released_names

NEIGHBOURS = 50
"""Records next to one by a column of numbers that seldom repeat."""
_SELDOM = 8  # records of a value, on average, below which numbers are compared with near ones
_FEW_CELLS = 4  # cells of a table for each record, up to which all are counted
_MOST_PAIRED = 12  # columns up to which every two of them are looked at together
_LOOKED_AT = 200_000_000  # records times levels beside numbers that seldom repeat, and times pairs of columns
_FEWEST = 20  # records altered, and unaltered, below which a few lucky ones would be a success
_CERTAIN = 0.9


@dataclass(frozen=True)
class Misfit:
    """As many records as were altered on an attribute, ``altered``, are named by how little its value goes with the
    columns ``beside``, which stayed; ``rightly`` are so on average (equal ones are named by chance).

    ``alone`` are as many as the released level names without any column: nearly all records of a rare level are
    altered.  ``restored`` is the share of those named rightly whose original level is the commonest of the records that
    are alike on these columns.
    """

    attribute: str
    beside: tuple[str, ...]
    n_records: int
    altered: int
    rightly: float
    alone: float
    restored: float

    @property
    def skill(self) -> float:
        """The share that the columns add of what names without them would miss: 0 where they add nothing, 1 when all
        named records are altered; below 0 where names without them are better."""
        return (self.rightly - self.alone) / (self.altered - self.alone) if self.alone < self.altered else 0.0

    @property
    def verdict(self) -> Verdict:
        """The verdict on the records that are named."""
        return Verdict("columns", self.n_records, self.altered, self.rightly, self.alone)

    @property
    def is_telling(self) -> bool:
        """True where more than half of the way to certain names is gone: a matter for the board."""
        return self.verdict.severity == "serious"

    @property
    def words(self) -> str:
        """The finding in a sentence without a full stop, for those who may know how many records were altered."""
        named = [f"'{name}'" for name in self.beside]
        tell, them = ("tells", "it") if len(named) == 1 else ("tell", "them")
        return (
            f"{listed(named)} {tell} in which records '{self.attribute}' was altered: of the {self.altered:,} records "
            f"in which it goes least with {them}, {self.rightly:,.0f} are altered, and what is commonest beside {them} "
            f"is what was there in {100 * self.restored:.0f} % of these"
        )

    @property
    def undoes(self) -> bool:
        """True where the names are nearly certain: nothing is left of the protection."""
        return self.skill > _CERTAIN


def misfits(made: Remade, names: Sequence[str]) -> tuple[list[Misfit], int]:
    """The best attack on each altered attribute, the best first, and how many were made.

    ``names`` are the released columns; every one that stayed is used, and every two together where they are few, of
    very many records the first such pairs.  Only the first of several tables is attacked.
    """
    carriers, table = carriers_of(made, 0), made.tables[0]
    stayed = [name for name in names if name not in carriers and not table.is_renumbered(name)]
    best, tried, n = dict[str, Misfit](), 0, made.data.n_records
    moved = [(name, made.codes(j), made.data.codes[j]) for j, name in enumerate(made.data.domain.names)]
    targets = [
        _Target(name, now, before) for name, now, before in moved if _FEWEST <= (now != before).sum() <= n - _FEWEST
    ]
    pairs_left = _LOOKED_AT // max(1, n * len(targets))
    for beside in _beside(_columns(made.data, stayed)):
        if len(beside.names) > 1:
            if not pairs_left:
                break
            pairs_left -= 1
        for target in targets:
            found = _attack(target, beside)
            tried += 1
            if found is not None and (target.name not in best or found.skill > best[target.name].skill):
                best[target.name] = found
    return sorted(best.values(), key=lambda one: -one.skill), tried


def released_misfits(made: Remade, plan: Plan) -> list[Misfit]:
    """The same with all columns that a plan releases, a published weight and household number among them."""
    uses = made.data.single_uses
    included = [name for name, use in uses.items() if use in ("weight", "unit") and use in plan.publish.include]
    return misfits(made, [*released_names(made.data), *included])[0]


def _columns(data: Microdata, names: Sequence[str]) -> Iterator[RawColumn]:
    """The columns that stayed; those that number households together are one, as their new number is."""
    import pyarrow as pa

    for name in names:
        if data.units is None or name not in data.unit_columns or len(data.unit_columns) == 1:
            yield data.raw.columns[name]
        elif name == data.unit_columns[0]:
            yield RawColumn(name, pa.array(np.arange(len(data.units))), data.units.of_record.astype(np.int32))


class _Target:
    """An attribute that moved: its released and original levels."""

    def __init__(self, name: str, now: np.ndarray, before: np.ndarray) -> None:
        self.name, self.now, self.before = name, now.astype(np.int64), before.astype(np.int64)
        self.n_levels = int(max(self.now.max(), self.before.max())) + 1
        self.changed = self.now != self.before
        counts = np.bincount(self.now, minlength=self.n_levels)
        self.share = counts / len(self.now)
        self.alone = self._named_alone(counts)

    def _named_alone(self, counts: np.ndarray) -> float:
        """The number of altered records that the level names on average, of as many as are altered: those of the levels
        that are so most often."""
        altered, left = np.bincount(self.now[self.changed], minlength=self.n_levels), int(self.changed.sum())
        rightly = 0.0
        for level in np.argsort(-altered / np.maximum(counts, 1), kind="stable").tolist():
            taken = min(left, int(counts[level]))
            rightly += taken * altered[level] / max(1, counts[level])
            left -= taken
        return float(rightly)


@dataclass(frozen=True)
class _Beside:
    """Columns that stayed: ``groups`` of records that are alike, or their ``order`` by numbers that seldom repeat."""

    names: tuple[str, ...]
    groups: np.ndarray
    order: np.ndarray | None = None


def _beside(columns: Iterable[RawColumn]) -> Iterator[_Beside]:
    """Each column that stayed, then every two of them that have few values; of very many one is held at a time."""
    several: list[tuple[str, np.ndarray, int]] = []
    for column in columns:
        groups = column.codes.astype(np.int64) + 1
        n = int(groups.max(initial=0)) + 1
        if n * _SELDOM > len(groups):
            figures = column.numbers
            if not np.isnan(figures).any():
                yield _Beside((column.name,), groups, np.argsort(np.append(np.nan, figures)[groups], kind="stable"))
        elif n > 1 and len(several) <= _MOST_PAIRED:
            several.append((column.name, groups, n))
        yield _Beside((column.name,), groups)
    if len(several) > _MOST_PAIRED:
        return
    for (a, groups, _), (b, others, n) in combinations(several, 2):
        yield _Beside((a, b), groups * n + others)


def _attack(target: _Target, beside: _Beside) -> Misfit | None:
    """Name the records that fit least, as many as are altered; None where nothing can be compared."""
    if beside.order is not None:
        if target.n_levels * len(beside.order) > _LOOKED_AT:
            return None
        alike, of_level, commonest = _among_neighbours(target, beside.order)
    else:
        alike, of_level, commonest = _in_groups(target, beside.groups)
    share = target.share[target.now]
    # how much commoner the level is among the other records that are alike than among all, drawn a little to the latter
    fit = (of_level - 1 + share) / (alike * share)
    m = int(target.changed.sum())
    last = np.partition(fit, m - 1)[m - 1]
    below, equal = fit < last, fit == last
    by_chance = (m - below.sum()) / equal.sum()
    rightly = float((below & target.changed).sum() + by_chance * (equal & target.changed).sum())
    named = (below | equal) & target.changed
    restored = float((commonest == target.before)[named].mean()) if named.any() else 0.0
    return Misfit(target.name, beside.names, len(fit), m, rightly, target.alone, restored)


def _in_groups(target: _Target, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each record the number of records in its group, of those of them with its level, and the commonest level."""
    n_groups = int(groups.max()) + 1
    if n_groups * target.n_levels <= _FEW_CELLS * len(groups):
        table = np.bincount(groups * target.n_levels + target.now, minlength=n_groups * target.n_levels)
        table = table.reshape(n_groups, target.n_levels)
        return table.sum(axis=1)[groups], table[groups, target.now], table.argmax(axis=1)[groups]
    cells, cell, counts = np.unique(groups * target.n_levels + target.now, return_inverse=True, return_counts=True)
    owner, level = np.divmod(cells, target.n_levels)
    order = np.lexsort((counts, owner))
    last = np.flatnonzero(np.append(owner[order][1:] != owner[order][:-1], True))
    commonest = np.zeros(n_groups, np.int64)
    commonest[owner[order][last]] = level[order][last]
    return np.bincount(groups)[groups], counts[cell], commonest[groups]


def _among_neighbours(target: _Target, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same among the records next to each one in an order."""
    n, now = len(order), target.now[order]
    first = np.clip(np.arange(n) - NEIGHBOURS // 2, 0, max(0, n - NEIGHBOURS - 1))
    end = np.minimum(first + NEIGHBOURS + 1, n)
    own, most, commonest = np.zeros(n, np.int64), np.full(n, -1), np.zeros(n, np.int64)
    for level in range(target.n_levels):
        is_level = now == level
        if not is_level.any():
            continue
        before = np.append(0, np.cumsum(is_level))
        here = before[end] - before[first]
        own[is_level] = here[is_level]
        better = here > most
        most[better], commonest[better] = here[better], level
    back = np.argsort(order)
    return (end - first)[back], own[back], commonest[back]


@dataclass(frozen=True)
class Recode:
    """Of two released columns the ``decider`` decides the ``decided`` in every original record.

    In ``broken`` records of the release (the most of any of its tables) the two contradict each other; ``undone`` says
    whether the decider is as it was, so that recomputing the decided column from it restores that one everywhere.
    """

    decider: str
    decided: str
    broken: int
    undone: bool


def released_recodes(made: Remade, names: Iterable[str] | None = None) -> list[Recode]:
    """All exact recodes among the released columns, or among ``names``, and what a release made of them.

    A decider whose numbers were changed by noise takes values of its own, from which nothing can be recomputed; such
    pairs are left out.
    """
    considered = set(released_names(made.data) if names is None else names)
    pairs = [
        (a, b)
        for a, b in decided_among(made.data.raw, considered)
        if not any(table.is_renumbered(a) for table in made.tables)
    ]
    carriers = [carriers_of(made, d) for d in range(len(made.tables))] if pairs else []
    recodes = []
    for a, b in pairs:
        each = [_broken(made, d, carriers[d], a, b) for d in range(len(made.tables))]
        undone = any(broken and decider_stayed for broken, decider_stayed in each)
        recodes.append(Recode(a, b, max(broken for broken, _ in each), undone))
    return recodes


def _broken(made: Remade, table: int, carriers: dict[str, np.ndarray], a: str, b: str) -> tuple[int, bool]:
    """Records of one table in which ``b`` is not what ``a`` says, and whether ``a`` is as it was in all of them."""
    data, released = made.data, made.tables[table]
    own = data.raw.columns[a].codes.astype(np.int64) + 1
    other = data.raw.columns[b].codes.astype(np.int64) + 1
    shown = own[carriers[a]] if a in carriers else own
    example = np.zeros(len(data.raw.columns[a].values) + 1, np.int64)
    example[own] = np.arange(data.n_records)  # one record of each value of the decider
    says = example[shown]
    if released.is_renumbered(b):
        before = type(released)(data).numeric(b)
        wrong = ~np.isclose(before[says], released.numeric(b), rtol=1e-12, atol=0, equal_nan=True)
    else:
        now = other[carriers[b]] if b in carriers else other
        wrong = other[says] != now
    return int(np.count_nonzero(wrong)), bool(np.array_equal(shown, own))
