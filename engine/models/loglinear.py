"""Hierarchical log-linear models of contingency tables: formulas, fits, likelihoods, parameters.

A model is its generators, the largest sets of attributes that interact: ``[ABCE][ADE][BF]``.  Decomposable models are
fitted in closed form from margins alone; the others by iterative proportional fitting on the full table (Bishop,
Fienberg and Holland 1975, *Discrete Multivariate Analysis*, chapter 3; Lauritzen 1996, *Graphical Models*, chapter 4).

Two models stand in the literature on the Czech auto workers: ``[ABCE][ADE][BF]``, the one usually quoted, and
``[ABCD][ADE][BF]``, Gomatam, Karr and Sanil (2005), eq. 14, most likely a misprint of it.  Neither has the least AIC or
BIC; see :mod:`engine.models.loglinear_search` for a search.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from engine.common.cache import Cache
from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.data.table import occupied

MOST_CELLS = 5_000_000
"""Tables with more cells than this are never laid out in full: only decomposable models are fitted to them."""
TOLERANCE = 1e-8  # of the number of records, between fitted and observed margins
MOST_CYCLES = 1000
_DENSE = 1 << 20

CZECH_LITERATURE = "[ABCE][ADE][BF]"

Generators = tuple[tuple[int, ...], ...]


class FitWarning(UserWarning):
    """Iterative proportional fitting ended at its limit of cycles."""


# -- models ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """A hierarchical log-linear model: its generators, as sorted places of attributes, none inside another."""

    generators: Generators

    @classmethod
    def of(cls, sets: Iterable[Iterable[int]]) -> Model:
        """The model with these sets of attributes and everything inside them."""
        distinct = {frozenset(generator) for generator in sets}
        largest = [generator for generator in distinct if not any(generator < other for other in distinct)]
        return cls(tuple(sorted(tuple(sorted(generator)) for generator in largest)))

    def show(self, names: Sequence[str]) -> str:
        """The model in brackets: ``[ABC][DE]`` when all names are one letter, ``[Age,Sex][Race]`` otherwise."""
        comma = "" if all(len(name) == 1 for name in names) else ","
        return "".join(f"[{comma.join(names[j] for j in generator)}]" for generator in self.generators)

    @cached_property
    def faces(self) -> frozenset[frozenset[int]]:
        """All non-empty sets of attributes that interact."""
        return frozenset(
            frozenset(face)
            for generator in self.generators
            for size in range(1, len(generator) + 1)
            for face in combinations(generator, size)
        )

    def n_parameters(self, shape: Sequence[int]) -> int:
        """Free parameters besides the total: the sum over interacting sets of the product of (levels - 1).

        Empty margins are not taken off.
        """
        if self.separators is None:
            return sum(math.prod(shape[j] - 1 for j in face) for face in self.faces)
        signed = [(attribute_set, 1) for attribute_set in self.generators] + [
            (attribute_set, -1) for attribute_set in self.separators
        ]
        return sum(sign * (math.prod(shape[j] for j in attribute_set) - 1) for attribute_set, sign in signed)

    @cached_property
    def separators(self) -> Generators | None:
        """The separators of a junction tree of the generators, one fewer than these; None when the model is not
        decomposable.

        Generators have such a tree exactly when a spanning tree of their heaviest overlaps leaves no attribute counted
        twice (Lauritzen 1996, section 2.1).
        """
        sets = [frozenset(generator) for generator in self.generators]
        best: dict[int, frozenset[int]] = {i: sets[0] & sets[i] for i in range(1, len(sets))}
        separators = []
        while best:
            i = min(best, key=lambda at: (-len(best[at]), at))
            separators.append(best.pop(i))
            for j in best:
                if len(sets[i] & sets[j]) > len(best[j]):
                    best[j] = sets[i] & sets[j]
        once = sum(map(len, sets)) - sum(map(len, separators)) == len(frozenset().union(*sets))
        return tuple(sorted(tuple(sorted(generator)) for generator in separators)) if once else None


_OUTSIDE = re.compile(r"\s*(?:\[([^\[\]]*)\]\s*)+")


def parse(text: str, names: Sequence[str]) -> Model:
    """The model that a formula over the named attributes describes.

    ``[ABCE][ADE][BF]``, ``[Age,Sex][Race]`` or, where brackets and commas mean something else, ``Age*Sex+Race``.
    Letters may stand together when each of them is an attribute.  Every attribute must occur.
    """
    names = tuple(names)
    letters = all(len(name) == 1 for name in names)
    sets = []
    for piece in pieces(text):
        positions: list[int] = []
        for word in piece:
            if word in names:
                positions.append(names.index(word))
            elif all(letter in names for letter in word):
                positions += [names.index(letter) for letter in word]
            else:
                unknown = next(letter for letter in word if letter not in names) if letters else word
                hint = did_you_mean(unknown, names)
                raise UsageError(f"model '{text}' names the unknown attribute '{unknown}'.{hint}")
        sets.append(positions)
    left_out = [name for j, name in enumerate(names) if not any(j in positions_of for positions_of in sets)]
    if left_out:
        raise UsageError(f"model '{text}' leaves out '{left_out[0]}'; add [{left_out[0]}] to let it stand alone.")
    return Model.of(sets)


def pieces(text: str) -> list[list[str]]:
    """The words of every generator of a formula; a formula that cannot be read is refused."""
    if "[" in text or "]" in text:
        if not _OUTSIDE.fullmatch(text):
            raise UsageError(f"cannot read the model '{text}'; write for example [ABCE][ADE][BF] or [Age,Sex][Race].")
        terms = re.findall(r"\[([^\[\]]*)\]", text)
    else:
        terms = text.split("+")
    pieces_found = [[name.strip() for name in re.split(r"[,*]", term)] for term in terms]
    if not all(name for piece in pieces_found for name in piece):
        raise UsageError(f"the model '{text}' has an empty term; write for example [ABCE][ADE][BF] or Age*Sex+Race.")
    return pieces_found


# -- tables and fits -------------------------------------------------------------------------------------------------


class Counts(Cache):
    """The occupied cells of a table (level codes, shape ``(m, d)``) with their counts; margins are remembered."""

    def __init__(self, cells: np.ndarray, counts: np.ndarray, shape: Sequence[int]) -> None:
        super().__init__()
        self.cells, self.counts, self.shape = cells, counts, tuple(int(size) for size in shape)
        self.n_records = int(counts.sum())

    @property
    def n_cells(self) -> int:
        """Number of cells of the full table."""
        return math.prod(self.shape)

    def margin(self, attributes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Occupied cells of a margin, shape ``(m', k)``, and their counts."""
        return self.cached(("margin", attributes), lambda: self._margin(attributes))

    def _margin(self, attributes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        columns, sizes = [self.cells[:, j] for j in attributes], [self.shape[j] for j in attributes]
        cells, inverse = occupied(columns, sizes, len(self.cells))
        return cells, np.bincount(inverse, weights=self.counts, minlength=len(cells)).astype(np.int64)

    def n_log_n(self, attributes: tuple[int, ...]) -> float:
        """Sum of N log N over a margin; ``n log n`` for no attributes."""
        return self.cached(("n log n", attributes), lambda: _n_log_n(self.margin(attributes)[1]))

    @cached_property
    def saturated(self) -> float:
        """Log-likelihood of the saturated model, the most that any model can reach."""
        return _n_log_n(self.counts) - _n_log_n(np.array([self.n_records]))


def _n_log_n(counts: np.ndarray) -> float:
    return math.fsum((counts * np.log(np.maximum(counts, 1))).tolist())


@dataclass(frozen=True)
class Term:
    """One additive part of log p: a value for each listed cell of a margin; p is 0 in every other cell."""

    attributes: tuple[int, ...]
    sizes: tuple[int, ...]
    cells: np.ndarray
    values: np.ndarray

    @cached_property
    def _keys(self) -> tuple[np.ndarray, np.ndarray]:
        keys = cell_numbers(self.cells.T, self.sizes)
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    @cached_property
    def _index_of(self) -> np.ndarray:
        index = np.full(math.prod(self.sizes), -1, np.int64)
        index[self._keys[0]] = self._keys[1]
        return index

    def indices(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Index in ``cells`` of each row of a table (one column per attribute of the model); -1 where it is absent."""
        numbers = cell_numbers([columns[j] for j in self.attributes], self.sizes)
        if math.prod(self.sizes) <= _DENSE:
            result: np.ndarray = self._index_of[numbers]
            return result
        keys, order = self._keys
        at = np.minimum(np.searchsorted(keys, numbers), len(keys) - 1)
        return np.where(keys[at] == numbers, order[at], -1)


def cell_numbers(columns: Sequence[np.ndarray] | np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Mixed-radix numbers of cells, the first column counting most."""
    if math.prod(sizes) > 2**62:
        raise EngineError(f"a term of {len(sizes)} attributes has too many combinations to number; use smaller terms")
    number = np.zeros(len(columns[0]), np.int64)
    for column, size in zip(columns, sizes, strict=True):
        number = number * size + column
    return number


@dataclass(frozen=True)
class Fit:
    """A model's maximum likelihood fit to a table.

    ``log_likelihood`` is ``sum N log p``.  ``terms`` add up to log p of a cell, up to one constant.  ``deviation`` is
    the largest difference of a fitted from an observed margin in the last cycle, 0 for a closed form.
    """

    model: Model
    log_likelihood: float
    n_parameters: int
    terms: tuple[Term, ...]
    constant: float
    converged: bool = True
    cycles: int = 0
    deviation: float = 0.0
    probabilities: np.ndarray | None = None

    def log_p(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Log of the fitted probability of cells given by level codes, one column per attribute; -inf where it is 0."""
        total = np.full(len(columns[0]), self.constant)
        for term in self.terms:
            at = term.indices(columns)
            total += np.where(at >= 0, term.values[at], -np.inf)
        return total


def fit(counts: Counts, model: Model, warn: bool = True) -> Fit:
    """Fit a model: in closed form from margins if it is decomposable, by :func:`ipf` otherwise.

    A fit that is not within its tolerance after the last cycle warns; its ``converged`` is False.
    """
    n = counts.n_records
    if n == 0:
        raise EngineError("a log-linear model cannot be fitted to a table without records")
    n_parameters = model.n_parameters(counts.shape)
    if model.separators is not None:
        likelihood = closed_form(counts, model)
        signed = [(attribute_set, 1) for attribute_set in model.generators] + [
            (attribute_set, -1) for attribute_set in model.separators if attribute_set
        ]
        terms = [_log_margin(counts, attribute_set, sign) for attribute_set, sign in signed]
        n_whole = 1 + sum(not attribute_set for attribute_set in model.separators)
        return Fit(model, likelihood, n_parameters, tuple(terms), -n_whole * math.log(n))
    full = FullTable(counts.shape, model.generators)
    margins = [full.dense_margin(i, counts) for i in range(len(model.generators))]
    fitted = full.ipf(margins, n)
    if warn and not fitted.converged:
        warnings.warn(
            f"fitting stopped after {fitted.cycles} cycles with margins off by up to {fitted.deviation:.2g} records",
            FitWarning,
            stacklevel=2,
        )
    terms = [full.term(i, logs) for i, logs in enumerate(fitted.logs)]
    likelihood = full.log_likelihood(counts, fitted.expected)
    return Fit(
        model,
        likelihood,
        n_parameters,
        tuple(terms),
        -math.log(n),
        fitted.converged,
        fitted.cycles,
        fitted.deviation,
        fitted.expected / n,
    )


def _logs(ratio: np.ndarray) -> np.ndarray:
    """Logarithms, -inf of 0."""
    with nullcontext() if ratio.all() else np.errstate(divide="ignore"):
        result: np.ndarray = np.log(ratio)
    return result


def closed_form(counts: Counts, model: Model) -> float:
    """Log-likelihood of a decomposable model: N log N over cliques less that over separators (Lauritzen 1996, 4.4)."""
    assert model.separators is not None
    summands = [counts.n_log_n(attribute_set) for attribute_set in model.generators]
    summands += [-counts.n_log_n(attribute_set) for attribute_set in model.separators]
    return math.fsum([*summands, -_n_log_n(np.array([counts.n_records]))])


def _log_margin(counts: Counts, attributes: tuple[int, ...], sign: int) -> Term:
    cells, totals = counts.margin(attributes)
    return Term(attributes, tuple(counts.shape[j] for j in attributes), cells, sign * np.log(totals))


@dataclass(frozen=True)
class Fitted:
    """Expected counts of all cells, the logs of each generator's factors, and how the fitting ended."""

    expected: np.ndarray
    logs: list[np.ndarray]
    converged: bool
    cycles: int
    deviation: float


class FullTable:
    """All cells of a table and the margins of a model's generators: what iterative proportional fitting needs."""

    def __init__(self, shape: Sequence[int], generators: Generators) -> None:
        self.shape, self.generators = tuple(shape), generators
        self.n_cells = math.prod(self.shape)
        if self.n_cells > MOST_CELLS:
            raise EngineError(
                f"the table has {self.n_cells:,} cells; a model that is not decomposable is fitted to at most "
                f"{MOST_CELLS:,}. Choose a decomposable model or fewer attributes"
            )
        grid = np.indices(self.shape, np.int32).reshape(len(self.shape), -1) if self.shape else np.zeros((0, 1))
        self.sizes = [math.prod(self.shape[j] for j in generator) for generator in generators]
        self.index = [
            cell_numbers([grid[j] for j in generator], [self.shape[j] for j in generator]) for generator in generators
        ]

    def dense_margin(self, i: int, counts: Counts) -> np.ndarray:
        """Counts of all cells of one generator's margin."""
        generator = self.generators[i]
        cells, totals = counts.margin(generator)
        margin = np.zeros(self.sizes[i])
        margin[cell_numbers(cells.T, [self.shape[j] for j in generator])] = totals
        return margin

    def ipf(self, margins: Sequence[np.ndarray], n: int, start: np.ndarray | None = None) -> Fitted:
        """Iterative proportional fitting from ones (or ``start``): each generator's fitted margin is set in turn to
        the observed one, 0/0 being 0.

        Ends after a cycle that met no margin off by 1e-8 of the records or more, or after 1000 cycles.
        """
        expected = np.ones(self.n_cells) if start is None else start.copy()
        logs = [np.zeros(size) for size in self.sizes]
        for cycle in range(1, MOST_CYCLES + 1):
            deviation = 0.0
            for margin, (index, observed) in enumerate(zip(self.index, margins, strict=True)):
                now = np.bincount(index, weights=expected, minlength=self.sizes[margin])
                deviation = max(deviation, float(np.abs(now - observed).max()))
                if now.all():
                    ratio = observed / now
                else:
                    ratio = np.divide(observed, now, out=np.zeros(len(now)), where=now > 0)
                expected *= ratio[index]
                if start is None:
                    logs[margin] += _logs(ratio)
            if deviation < TOLERANCE * n:
                return Fitted(expected, logs, True, cycle, deviation)
        return Fitted(expected, logs, False, cycle, deviation)

    def term(self, i: int, logs: np.ndarray) -> Term:
        """One generator's factors as a term of log p."""
        generator = self.generators[i]
        sizes = tuple(self.shape[j] for j in generator)
        listed = np.flatnonzero(np.isfinite(logs))
        return Term(generator, sizes, np.array(np.unravel_index(listed, sizes)).T, logs[listed])

    def log_likelihood(self, counts: Counts, expected: np.ndarray) -> float:
        """``sum N log p`` for expected counts."""
        p = expected[cell_numbers(counts.cells.T, self.shape)] / counts.n_records
        return math.fsum((counts.counts * np.log(p)).tolist())
