"""Original values that the released ones give back to an intruder who knows the mechanism and its parameters.

Where nearly all records of a level were altered, and by one other level, the released value names the original one.
The intruder's guess is the mode of the posterior of the original value given the released one, alone and among records
that agree on all attributes on which partners agree.  The posterior is that of the other records of the release, so
that no record is guessed from itself.  The guesses are compared with the released values taken as they are, which is
how measures of risk count unaltered records.

Numbers with noise name the original where it is small beside the distance of values: they are rounded to the steps that
the column has, or read as the likeliest of the values that other records have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from engine.data.table import ContingencyTable, occupied
from engine.measures.verdict import SEVERITIES, Verdict
from engine.release.reader_view import decimals_of
from engine.release.records import ReleasedTable
from engine.release.spec import AttributeSpec

_LEAST = 0.1  # share of the altered records that guesses must gain to be worth a word
_NEARLY_ALL = 0.9
_MOSTLY = 0.85  # share of records with one number from which the others are judged alone
_FEW_LEVELS = 64
_MOST_STEPS = 1 << 53


class TurnedBack(NamedTuple):
    """The guesses of the original values of some ``attributes`` in ``n`` records, of which ``altered`` show another.

    ``named`` records point to another value than the one released; ``right`` of these are guessed right (of equally
    likely values one at random), and ``as_released`` show their original value.  ``chance`` of them would be right with
    the commonest value of a column of numbers, whatever is released (0 for attributes).
    """

    attributes: str
    n: int
    altered: int
    named: int
    right: float
    as_released: int
    chance: float = 0.0

    @property
    def gain(self) -> float:
        """The records that the guesses get right beyond those that are right without knowing the method."""
        return self.right - self._without

    @property
    def verdict(self) -> Verdict:
        """The verdict on the records whose value is guessed; none is found where little is gained."""
        if not self.named or self.gain < _LEAST * self.altered:
            return Verdict("method", self.n, why=self.attributes)
        return Verdict("method", self.n, self.named, self.right, self._without, why=self.attributes)

    @property
    def _without(self) -> float:
        """The records that are right without knowing the method."""
        return max(self.as_released, self.chance)

    @property
    def words(self) -> str:
        """The finding as a remark on a sweep, which lies below statements."""
        return (
            f"an intruder who knows the method and its parameters guesses {self.right:,.0f} of {self.named:,} original "
            f"values of {self.attributes} right; without this knowledge, {self._without:,.0f} would be."
        )

    @property
    def undoes(self) -> bool:
        """True where nearly all altered records are guessed, nearly always right: nothing is left of the protection."""
        return self.verdict.severity == "serious" and self.right - self.as_released > _NEARLY_ALL * self.altered


class Exchanged(NamedTuple):
    """Levels of some altered attributes (``names``) before and after, and of the attributes on which partners agree
    (``held``), by record, or by group of ``weight`` equal ones."""

    names: Sequence[str]
    own: Sequence[np.ndarray]
    shown: Sequence[np.ndarray]
    held: Sequence[np.ndarray]
    weight: np.ndarray


def turned_back(tables: Iterable[ReleasedTable]) -> TurnedBack | None:
    """The guesses that give back most of the released tables as they were drawn; None where no attribute was altered.

    Equal rows that have traded places since (:func:`engine.release.reader_view.as_seen`) are back in theirs, for the
    method tells where each came from.
    """
    drawn = [table.as_drawn for table in tables]
    exchanges = [exchange for table in drawn if (exchange := _exchanged(table))]
    return most_turned_back(exchanges, [guesses for table in drawn for guesses in _number_guesses(table)])


def most_turned_back(exchanges: Iterable[Exchanged], others: Iterable[TurnedBack] = ()) -> TurnedBack | None:
    """The guesses that give back most of some exchanges, or ``others``; None where none altered anything."""
    found = [guesses for one in exchanges for guesses in _guesses(one)]
    found = [guesses for guesses in (*found, *others) if guesses.altered]
    return max(found, key=lambda one: (SEVERITIES.index(one.verdict.severity), one.gain), default=None)


def exchanged_cells(table: ContingencyTable, pairs: np.ndarray, spec: AttributeSpec) -> Exchanged:
    """The levels that cells have before and after pairs of their records are exchanged, shape ``(pairs, 2)``."""
    own, shown = pairs.reshape(-1), pairs[:, ::-1].reshape(-1)
    stay = table.counts - np.bincount(own, minlength=len(table))
    before, after = (np.concatenate([np.arange(len(table)), cells]) for cells in (own, shown))
    swapped, cells = spec.having("S"), table.cells
    others = [j for j in range(len(table.domain)) if j not in swapped]
    return Exchanged(
        spec.names_having("S"),
        [cells[before, j] for j in swapped],
        [cells[after, j] for j in swapped],
        [cells[before, j] for j in others if np.array_equal(cells[own, j], cells[shown, j])],
        np.concatenate([stay, np.ones(len(own), np.int64)]),
    )


def _number_guesses(table: ReleasedTable) -> Iterator[TurnedBack]:
    """The guesses of each column of numbers that a mechanism drew."""
    for name in table.renumbered:
        column, shown = table.data.raw.columns[name], table.numeric(name)
        own = np.append(column.numbers, np.nan)[column.codes]
        known = np.isfinite(own) & np.isfinite(shown)
        own, shown = own[known], shown[known]
        altered = int(np.count_nonzero(own != shown))
        levels, level, count = np.unique(own, return_inverse=True, return_counts=True)
        if not altered:
            continue
        # Where most records have one value, as many have no benefit, the others tell what is given back.
        judged = level != count.argmax() if count.max() > _MOSTLY * len(own) else np.ones(len(own), bool)
        commonest = float(np.bincount(level[judged]).max(initial=0)) / max(1, int(judged.sum()))
        altered = int(np.count_nonzero((own != shown) & judged))
        rounded = _rounded(own, shown)
        if column.values.type in ("halffloat", "float"):
            rounded = shown.astype(column.values.type.to_pandas_dtype()).astype(float)
        for guess in (rounded, _likeliest(levels, level, count, shown)):
            named = (guess != shown) & ~np.isnan(guess) & judged
            n, right = int(named.sum()), int(np.count_nonzero(named & (guess == own)))
            as_released = int(np.count_nonzero(named & (own == shown)))
            chance = n * commonest
            yield TurnedBack(f"'{name}'", len(own), altered, n, right, as_released, chance)


def _rounded(own: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Released numbers rounded to the steps between the original ones; NaN where these have none."""
    decimals = decimals_of(own)
    first, unit = float(own.min()), 10.0**-decimals
    steps = np.rint((own - first) / unit)
    step = unit * int(np.gcd.reduce(steps.astype(np.int64))) if steps.max() < _MOST_STEPS else 0
    if not step:
        return np.full(len(own), np.nan)
    return np.asarray(np.round(first + step * np.rint((shown - first) / step), decimals) + 0.0)


def _likeliest(levels: np.ndarray, level: np.ndarray, count: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """The likeliest original number of each record, of those that other records have: of a few all, of many the next
    lower and higher; NaN where no other record has one.  The noise is normal, about a line."""
    own = levels[level]
    slope = np.cov(own, shown, ddof=0)[0, 1] / own.var() if len(levels) > 1 else 1.0
    expected = shown.mean() + slope * (levels - own.mean())
    variance = float(np.mean((shown - expected[level]) ** 2))
    if not (np.isfinite(slope) and slope > 0 and np.isfinite(variance) and variance > 0):
        return np.full(len(own), np.nan)
    above = np.searchsorted(expected, shown).clip(1, max(len(levels) - 1, 1))
    best, guess = np.full(len(own), -np.inf), np.full(len(own), np.nan)
    for k in np.arange(len(levels)) if len(levels) <= _FEW_LEVELS else (above - 1, above):
        with np.errstate(divide="ignore"):
            score = np.log(count[k] - (level == k)) - (shown - expected[k]) ** 2 / (2 * variance)
        better = score > best
        best[better], guess[better] = score[better], np.broadcast_to(levels[k], len(own))[better]
    return guess


def _exchanged(table: ReleasedTable) -> Exchanged | None:
    data, altered = table.data, sorted(table.altered)
    if not altered:
        return None
    held = [codes for j, codes in enumerate(data.codes) if j not in table.altered] if table.source is not None else []
    held = [codes for codes in held if np.array_equal(codes, codes[table.source])]
    own, shown = [data.codes[j] for j in altered], [table.codes(j) for j in altered]
    return Exchanged([data.domain.names[j] for j in altered], own, shown, held, np.ones(data.n_records, np.int64))


def _guesses(exchanged: Exchanged) -> Iterator[TurnedBack]:
    """The guesses of each attribute and of all together, from their released values alone and beside those held."""
    names, own, shown, held, weight = exchanged
    n = len(weight)
    groups = [np.zeros(n, np.int64), *([_number(held, n)] if held else [])]
    singly = [[k] for k in range(len(names))]
    for places in singly if len(names) == 1 else [*singly, [*range(len(names))]]:
        both = _number([np.concatenate([own[k], shown[k]]) for k in places], 2 * n)
        for group in groups:
            yield _guess(", ".join(f"'{names[k]}'" for k in places), both[:n], both[n:], group, weight)


def _number(columns: Sequence[np.ndarray], n: int) -> np.ndarray:
    return np.asarray(occupied(list(columns), [int(codes.max()) + 1 for codes in columns], n)[1], np.int64)


def _guess(names: str, own: np.ndarray, shown: np.ndarray, group: np.ndarray, weight: np.ndarray) -> TurnedBack:
    """Guess each original value by the commonest one of the other records with the same released value and group."""
    n, altered = int(weight.sum()), int(weight[own != shown].sum())
    seen = _number([group, shown], len(own))
    kinds, kind = occupied([seen, own], [int(seen.max()) + 1, int(own.max()) + 1], len(own))
    of_kind = np.zeros(len(kinds), bool)
    of_kind[kind] = own == shown
    count = np.bincount(kind, weights=weight).astype(np.int64)
    order = np.lexsort((-count, kinds[:, 0]))  # of each released value the commonest original one first
    at, count, stays = kinds[order, 0], count[order], of_kind[order]
    starts = np.flatnonzero(np.diff(at, prepend=-1))
    first = count[starts]
    second = np.zeros(len(starts), np.int64)
    several = np.diff(starts, append=len(count)) > 1
    second[several] = count[starts[several] + 1]
    kept = np.bincount(at, weights=count * stays, minlength=len(starts))
    is_mode = np.zeros(len(count), bool)
    is_mode[starts[first > second]] = True
    most = np.where(is_mode, np.maximum(first - 1, second)[at], first[at])  # of one original value, among the others
    named = kept[at] - stays < most
    ties = 1 + np.bincount(at, weights=count == second[at], minlength=len(starts))[at]
    hit = is_mode & (count - 1 >= second[at])
    credit = np.where(hit, np.where(count - 1 == second[at], 1 / ties, 1.0), 0.0)
    right = float((count * credit)[named].sum())
    return TurnedBack(names, n, altered, int(count[named].sum()), right, int(count[named & stays].sum()))
