"""Hierarchical log-linear models of contingency tables: formulas, fits, likelihoods, parameters.

A model is its generators, the largest sets of attributes that interact: ``[ABCE][ADE][BF]``.  Decomposable models are
fitted in closed form from margins alone; the others by iterative proportional fitting on the full table (Bishop,
Fienberg and Holland 1975, *Discrete Multivariate Analysis*, chapter 3; Lauritzen 1996, *Graphical Models*, chapter 4).

Two models stand in the literature on the Czech auto workers: ``[ABCE][ADE][BF]``, the one usually quoted, and
``[ABCD][ADE][BF]``, Gomatam, Karr and Sanil (2005), eq. 14, most likely a misprint of it.  Neither has the least AIC or
BIC; see :mod:`engine.models.loglinear` for a search.

Search for the log-linear model with the least AIC or BIC.

Up to six attributes every graphical model is compared; beyond that a stepwise search goes through decomposable models.
Graphs are numbers here: bit ``e`` is the edge ``combinations(range(d), 2)[e]``.  Scores within ``TIE`` of each other
are equal; then the model with fewer parameters wins, then the first in the order of its generators.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.registry import Cache, remembered
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

    @remembered()
    def margin(self, attributes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Occupied cells of a margin, shape ``(m', k)``, and their counts."""
        columns, sizes = [self.cells[:, j] for j in attributes], [self.shape[j] for j in attributes]
        cells, inverse = occupied(columns, sizes, len(self.cells))
        return cells, np.bincount(inverse, weights=self.counts, minlength=len(cells)).astype(np.int64)

    @remembered()
    def n_log_n(self, attributes: tuple[int, ...]) -> float:
        """Sum of N log N over a margin; ``n log n`` for no attributes."""
        return _n_log_n(self.margin(attributes)[1])

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
                    # logarithms, -inf of 0
                    with nullcontext() if ratio.all() else np.errstate(divide="ignore"):
                        logs[margin] += np.log(ratio)
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


CRITERIA = ("aic", "bic")
EXHAUSTIVE = 6
"""Most attributes for which all graphical models are compared."""
MOST_FITTED = 10_000
"""Most cells of a full table whose models that are not decomposable are compared, since each must be fitted."""
TIE = 1e-6
SIGNIFICANT = 0.01
"""Pairs whose chi-square test has a smaller p-value are joined in the second start of the stepwise search."""


def search(counts: Counts, criterion: str = "aic", *, decomposable: bool = False) -> Fit:
    """The model with the least AIC or BIC, fitted.

    Exhaustive over graphical models up to six attributes with more than one level (over decomposable ones where asked
    or where the full table has more than ten thousand cells), stepwise over decomposable ones beyond.  A model whose
    fitting does not converge is not taken.  In the stepwise search a clique of two or more attributes has at most as
    many cells as there are records.  Attributes with one level stand alone.
    """
    if criterion not in CRITERIA:
        raise UsageError(f"unknown criterion '{criterion}'.{did_you_mean(criterion, CRITERIA)}")
    if len(counts.shape) < 2:
        raise UsageError("model search needs at least two attributes")
    if counts.n_records == 0:
        raise EngineError("a log-linear model cannot be fitted to a table without records")
    price = 2.0 if criterion == "aic" else math.log(counts.n_records)
    free = [j for j, size in enumerate(counts.shape) if size > 1]
    alone = [(j,) for j, size in enumerate(counts.shape) if size == 1]
    task = _Task(counts, price, free, alone)
    if len(free) <= EXHAUSTIVE:
        return task.exhaustive(decomposable or counts.n_cells > MOST_FITTED)
    return task.stepwise()


@dataclass(frozen=True)
class _Graphs:
    """All graphs on ``d`` vertices: which sets of vertices (columns, as bit masks) are complete in which graph."""

    complete: np.ndarray
    chordal: np.ndarray

    @staticmethod
    @cache
    def on(d: int) -> _Graphs:
        edges = list(combinations(range(d), 2))
        graphs = np.arange(1 << len(edges), dtype=np.int32)
        edges_within = [
            sum(1 << e for e, (a, b) in enumerate(edges) if s >> a & 1 and s >> b & 1) for s in range(1 << d)
        ]
        complete = np.column_stack([(graphs & need) == need for need in edges_within])
        near = np.zeros((d, len(graphs)), np.int32)
        for e, (a, b) in enumerate(edges):
            near[a] |= (graphs >> e & 1) << b
            near[b] |= (graphs >> e & 1) << a
        # a graph is chordal when vertices with complete neighbourhoods can be taken away until none is left
        remaining = np.full(len(graphs), (1 << d) - 1, np.int32)
        for _ in range(d):
            for v in range(d):
                simplicial = complete[graphs, near[v] & remaining]
                remaining[simplicial] &= ~(1 << v)
        return _Graphs(complete, remaining == 0)

    def cliques(self, graph: int) -> list[tuple[int, ...]]:
        """Vertex sets that are complete in a graph, none of them empty."""
        return [_members(int(s)) for s in np.flatnonzero(self.complete[graph])[1:]]


class _Task:
    def __init__(self, counts: Counts, price: float, free: list[int], alone: list[tuple[int]]) -> None:
        self.counts, self.price, self.free, self.alone = counts, price, free, alone

    def score(self, fitted: Fit) -> float:
        return -2 * fitted.log_likelihood + self.price * fitted.n_parameters

    def best(self, fits: list[Fit]) -> Fit:
        least = min(map(self.score, fits))
        near = [fitted for fitted in fits if self.score(fitted) <= least + TIE]
        return min(near, key=lambda fitted: (fitted.n_parameters, fitted.model.generators))

    def model(self, sets: list[tuple[int, ...]]) -> Model:
        return Model.of([*(tuple(self.free[v] for v in vertices) for vertices in sets), *self.alone])

    # -- up to six attributes ----------------------------------------------------------------------------------------

    def exhaustive(self, decomposable: bool) -> Fit:
        """All graphs at once: a decomposable log-likelihood is a sum over complete sets (of the Möbius inverse of
        N log N), as is the number of parameters of any graph.

        A graph that is not chordal has at most the likelihood of the least chordal graph that holds it, so only those
        are fitted that could still win.
        """
        d = len(self.free)
        graphs = _Graphs.on(d)
        subsets = [tuple(self.free[v] for v in _members(s)) for s in range(1 << d)]
        gain = np.array([self.counts.n_log_n(subset) for subset in subsets])
        weight = np.array([math.prod(self.counts.shape[j] - 1 for j in subset) for subset in subsets], float)
        weight[0] = 0
        for v in range(d):
            has = np.arange(1 << d) >> v & 1 == 1
            gain[has] -= gain[np.flatnonzero(has) ^ (1 << v)]
        gain[0] = 0
        likelihood, k = graphs.complete @ gain, graphs.complete @ weight
        scores = np.where(graphs.chordal, -2 * likelihood + self.price * k, np.inf)
        if not decomposable:
            bound = self._bounds(graphs.chordal, likelihood) + self.price * k
            bound[graphs.chordal] = np.inf
            least, all_vertices = scores.min(), (1 << d) - 1
            for graph in np.lexsort((np.arange(len(bound)), bound)):
                if bound[graph] > least + TIE:
                    break
                likelihood_of_graph = self._likelihood(graphs.complete[graph], all_vertices) - self.counts.n_log_n(())
                if likelihood_of_graph == likelihood_of_graph:
                    scores[graph] = -2 * likelihood_of_graph + self.price * k[graph]
                    least = min(least, scores[graph])
        while True:
            near = np.flatnonzero(scores <= scores.min() + TIE)
            fits = {int(graph): self.fit_graph(graphs, int(graph)) for graph in near}
            if all(subset.converged for subset in fits.values()):
                return self.best(list(fits.values()))
            scores[[graph for graph, subset in fits.items() if not subset.converged]] = np.inf

    def _likelihood(self, complete: np.ndarray, vertices: int) -> float:
        """Sum of N log of the fitted N for the graph on some vertices (a bit mask), NaN where fitting does not
        converge.

        A complete set that parts the graph parts the fit (Lauritzen 1996, section 4.4), so that only what no such set
        parts is fitted, once for all graphs that share it.
        """
        complete_sets = [s for s in _subsets(vertices) if complete[s]]
        if vertices in complete_sets:
            return self.counts.n_log_n(tuple(self.free[v] for v in _members(vertices)))
        return self.counts.cached(
            ("fitted", tuple(self.free), vertices, tuple(complete_sets)),
            lambda: self._fit_part(complete, complete_sets, vertices),
        )

    def _fit_part(self, complete: np.ndarray, complete_sets: list[int], vertices: int) -> float:
        for s in complete_sets:
            piece = _reached(complete, vertices & ~s)
            if piece | s != vertices:
                shared = self.counts.n_log_n(tuple(self.free[v] for v in _members(s)))
                return self._likelihood(complete, piece | s) + self._likelihood(complete, vertices & ~piece) - shared
        places = tuple(self.free[v] for v in _members(vertices))
        cells, totals = self.counts.margin(places)
        table = Counts(cells, totals, [self.counts.shape[j] for j in places])
        rank = {v: i for i, v in enumerate(_members(vertices))}
        fitted = fit(table, Model.of([[rank[v] for v in _members(s)] for s in complete_sets if s]), warn=False)
        return fitted.log_likelihood + self.counts.n_log_n(()) if fitted.converged else math.nan

    @staticmethod
    def _bounds(chordal: np.ndarray, likelihood: np.ndarray) -> np.ndarray:
        """For every graph, -2 times the least likelihood of a chordal graph that holds it."""
        least = np.where(chordal, likelihood, np.inf)
        for bit in range(len(least).bit_length() - 1):
            halves = least.reshape(-1, 2, 1 << bit)
            np.minimum(halves[:, 0], halves[:, 1], out=halves[:, 0])
        return -2 * least

    def fit_graph(self, graphs: _Graphs, graph: int) -> Fit:
        return fit(self.counts, self.model(graphs.cliques(graph)), warn=False)

    # -- more attributes ---------------------------------------------------------------------------------------------

    def stepwise(self) -> Fit:
        """From no edge and from the significant pairs, the best single edge in or out that keeps the graph chordal,
        until none improves the score; the better end of the two.
        """
        ends = [self._climb(near) for near in (self._empty(), self._significant())]
        return self.best([fit(self.counts, self.model(_maximal_cliques(near))) for near in ends])

    def _empty(self) -> list[set[int]]:
        return [set() for _ in self.free]

    def _significant(self) -> list[set[int]]:
        """The significant pairs, most significant first, as far as they keep the graph chordal."""
        near = self._empty()
        remaining = [pair for p, pair in sorted(self._pair_tests()) if p < SIGNIFICANT]
        while True:
            for pair in remaining:
                if self._may_join(near, *pair):
                    _connect(near, *pair)
                    remaining.remove(pair)
                    break
            else:
                return near

    def _pair_tests(self) -> list[tuple[float, tuple[int, int]]]:
        from scipy.special import chdtrc

        tests = []
        for a, b in combinations(range(len(self.free)), 2):
            pair = (self.free[a], self.free[b])
            cells, totals = self.counts.margin(pair)
            rows = np.bincount(cells[:, 0], weights=totals)
            columns = np.bincount(cells[:, 1], weights=totals)
            expected = rows[cells[:, 0]] * columns[cells[:, 1]] / self.counts.n_records
            # sum (O - E)^2 / E = sum O^2 / E - n, over occupied cells
            statistic = max(0.0, math.fsum((totals**2 / expected).tolist()) - self.counts.n_records)
            freedom = (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1)
            tests.append((float(chdtrc(freedom, statistic)) if freedom else 1.0, (a, b)))
        return tests

    def _may_join(self, near: list[set[int]], a: int, b: int) -> bool:
        """Return whether the graph with this edge is chordal, and the clique that it makes has few enough cells."""
        clique = (near[a] & near[b]) | {a, b}
        n_cells = math.prod(self.counts.shape[self.free[v]] for v in clique)
        return _may_add(near, a, b) and n_cells <= self.counts.n_records

    def _price_of(self, near: list[set[int]], a: int, b: int) -> float:
        """Change of the score by the edge between a and b, given the neighbours that they share."""
        shared = near[a] & near[b]

        def n_log_n(extra: set[int]) -> float:
            return self.counts.n_log_n(tuple(sorted(self.free[v] for v in shared | extra)))

        shape = self.counts.shape
        gain = n_log_n({a, b}) + n_log_n(set()) - n_log_n({a}) - n_log_n({b})
        k = (shape[self.free[a]] - 1) * (shape[self.free[b]] - 1) * math.prod(shape[self.free[v]] for v in shared)
        return -2 * gain + self.price * k

    def _climb(self, near: list[set[int]]) -> list[set[int]]:
        while True:
            steps: list[tuple[float, tuple[int, int], Callable[[list[set[int]], int, int], None]]] = []
            for a, b in combinations(range(len(near)), 2):
                if b in near[a]:
                    if _is_complete(near, near[a] & near[b]):
                        steps.append((-self._price_of(near, a, b), (a, b), _disconnect))
                elif self._may_join(near, a, b):
                    steps.append((self._price_of(near, a, b), (a, b), _connect))
            least = min((change for change, _, _ in steps), default=0.0)
            if least >= -TIE:
                return near
            _, pair, step = next(candidate_step for candidate_step in steps if candidate_step[0] <= least + TIE)
            step(near, *pair)


# -- sets of vertices as bit masks -----------------------------------------------------------------------------------


@cache
def _members(mask: int) -> tuple[int, ...]:
    return tuple(v for v in range(mask.bit_length()) if mask >> v & 1)


def _subsets(mask: int) -> list[int]:
    return [s for s in range(mask + 1) if s & ~mask == 0]


def _reached(complete: np.ndarray, vertices: int) -> int:
    """The vertices of a set that its first one reaches within the set."""
    reached = vertices & -vertices
    while True:
        further = sum(
            1 << v for v in _members(vertices & ~reached) if any(complete[1 << v | 1 << u] for u in _members(reached))
        )
        if not further:
            return reached
        reached |= further


# -- graphs as sets of neighbours ------------------------------------------------------------------------------------


def _connect(near: list[set[int]], a: int, b: int) -> None:
    near[a].add(b)
    near[b].add(a)


def _disconnect(near: list[set[int]], a: int, b: int) -> None:
    near[a].discard(b)
    near[b].discard(a)


def _is_complete(near: list[set[int]], vertices: set[int]) -> bool:
    return all(vertices - {v} <= near[v] for v in vertices)


def _may_add(near: list[set[int]], a: int, b: int) -> bool:
    """Return whether a chordal graph stays chordal with this edge: the shared neighbours must keep a and b apart."""
    shared = near[a] & near[b]
    reached, pending = {a}, [a]
    while pending:
        for v in near[pending.pop()] - shared - reached:
            if v == b:
                return False
            reached.add(v)
            pending.append(v)
    return True


def _maximal_cliques(near: list[set[int]]) -> list[tuple[int, ...]]:
    """Cliques of a chordal graph that hold all its largest ones: each vertex with its neighbours still there when it
    is taken away."""
    remaining = set(range(len(near)))
    cliques = []
    while remaining:
        v = min(v for v in remaining if _is_complete(near, near[v] & remaining))
        cliques.append(tuple(sorted({v} | (near[v] & remaining))))
        remaining.remove(v)
    return cliques
