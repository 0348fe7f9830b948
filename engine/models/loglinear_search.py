"""Search for the log-linear model with the least AIC or BIC.

Up to six attributes every graphical model is compared; beyond that a stepwise search goes through decomposable models.
Graphs are numbers here: bit ``e`` is the edge ``combinations(range(d), 2)[e]``.  Scores within ``TIE`` of each other
are equal; then the model with fewer parameters wins, then the first in the order of its generators.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.models.loglinear import MOST_CELLS, Counts, Fit, Model, fit

CRITERIA = ("aic", "bic")
EXHAUSTIVE = 6
"""Most attributes for which all graphical models are compared."""
MOST_FITTED = 10_000
"""Most cells of a full table whose models that are not decomposable are compared, since each must be fitted."""
TIE = 1e-6
SIGNIFICANT = 0.01
"""Pairs whose chi-square test has a smaller p-value are joined in the second start of the stepwise search."""


def search(
    counts: Counts,
    criterion: str = "aic",
    *,
    decomposable: bool = False,
    guard: bool | None = None,
    hierarchical: bool = False,
) -> Fit:
    """The model with the least AIC or BIC, fitted.

    Exhaustive over graphical models up to six attributes with more than one level (over decomposable ones where asked
    or where the full table has more than ten thousand cells), stepwise over decomposable ones beyond.  A model whose
    fitting does not converge is not taken.  ``guard`` forbids cliques of two or more attributes with more cells than
    there are records; by default it is on in the stepwise search only.  ``hierarchical`` ends with a pass that drops
    highest-order terms while that improves the score.  Attributes with one level stand alone.
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
        best = task.exhaustive(decomposable or counts.n_cells > MOST_FITTED, bool(guard))
    else:
        best = task.stepwise(guard is None or guard)
    return task.without_high_orders(best) if hierarchical and counts.n_cells <= MOST_CELLS else best


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

    def exhaustive(self, decomposable: bool, guard: bool) -> Fit:
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
        largest_clique = self.counts.n_records if guard else math.inf
        # an attribute alone is in every graph, however many levels it has
        too_large = np.array(
            [len(s) > 1 and math.prod(self.counts.shape[j] for j in s) > largest_clique for s in subsets]
        )
        allowed = np.logical_not((graphs.complete & too_large).any(axis=1))
        scores = np.where(graphs.chordal & allowed, -2 * likelihood + self.price * k, np.inf)
        if not decomposable:
            bound = self._bounds(graphs.chordal, likelihood) + self.price * k
            bound[graphs.chordal | ~allowed] = np.inf
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

    def stepwise(self, guard: bool) -> Fit:
        """From no edge and from the significant pairs, the best single edge in or out that keeps the graph chordal,
        until none improves the score; the better end of the two.
        """
        largest_clique = self.counts.n_records if guard else math.inf
        ends = [self._climb(near, largest_clique) for near in (self._empty(), self._significant(largest_clique))]
        return self.best([fit(self.counts, self.model(_maximal_cliques(near))) for near in ends])

    def _empty(self) -> list[set[int]]:
        return [set() for _ in self.free]

    def _significant(self, largest_clique: float) -> list[set[int]]:
        """The significant pairs, most significant first, as far as they keep the graph chordal."""
        near = self._empty()
        remaining = [pair for p, pair in sorted(self._pair_tests()) if p < SIGNIFICANT]
        while True:
            for pair in remaining:
                if _may_add(near, *pair) and self._cells(near, *pair) <= largest_clique:
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

    def _cells(self, near: list[set[int]], a: int, b: int) -> int:
        return math.prod(self.counts.shape[self.free[v]] for v in (near[a] & near[b]) | {a, b})

    def _price_of(self, near: list[set[int]], a: int, b: int) -> float:
        """Change of the score by the edge between a and b, given the neighbours that they share."""
        shared = near[a] & near[b]

        def n_log_n(extra: set[int]) -> float:
            return self.counts.n_log_n(tuple(sorted(self.free[v] for v in shared | extra)))

        shape = self.counts.shape
        gain = n_log_n({a, b}) + n_log_n(set()) - n_log_n({a}) - n_log_n({b})
        k = (shape[self.free[a]] - 1) * (shape[self.free[b]] - 1) * math.prod(shape[self.free[v]] for v in shared)
        return -2 * gain + self.price * k

    def _climb(self, near: list[set[int]], largest_clique: float) -> list[set[int]]:
        while True:
            steps: list[tuple[float, tuple[int, int], Callable[[list[set[int]], int, int], None]]] = []
            for a, b in combinations(range(len(near)), 2):
                if b in near[a]:
                    if _is_complete(near, near[a] & near[b]):
                        steps.append((-self._price_of(near, a, b), (a, b), _disconnect))
                elif _may_add(near, a, b) and self._cells(near, a, b) <= largest_clique:
                    steps.append((self._price_of(near, a, b), (a, b), _connect))
            least = min((change for change, _, _ in steps), default=0.0)
            if least >= -TIE:
                return near
            _, pair, step = next(candidate_step for candidate_step in steps if candidate_step[0] <= least + TIE)
            step(near, *pair)

    # -- beyond graphical models -------------------------------------------------------------------------------------

    def without_high_orders(self, fitted: Fit) -> Fit:
        """Drop the generator whose loss improves the score most (its faces stay), until none does."""
        while True:
            fits = []
            for generator in fitted.model.generators:
                if len(generator) > 1:
                    faces = combinations(generator, len(generator) - 1)
                    smaller = Model.of([*(g for g in fitted.model.generators if g != generator), *faces])
                    fits.append(fit(self.counts, smaller, warn=False))
            fits = [
                generator
                for generator in fits
                if generator.converged and self.score(generator) < self.score(fitted) - TIE
            ]
            if not fits:
                return fitted
            fitted = self.best(fits)


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
