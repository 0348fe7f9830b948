"""DU_llm and the model search from their definitions: full tables as plain dicts, every graph tried, nothing in closed
form and nothing shared.

A model is a list of generators, each a tuple of places among the tabulated attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from itertools import chain, combinations, product
from math import inf, lgamma, log, nan, prod

Cell = tuple[int, ...]
Generators = Sequence[Sequence[int]]


def full_table(records: Sequence[Cell], attributes: Sequence[int], shape: Sequence[int]) -> dict[Cell, int]:
    counts = dict.fromkeys(product(*(range(shape[j]) for j in attributes)), 0)
    for record in records:
        counts[tuple(record[j] for j in attributes)] += 1
    return counts


def margin(table: Mapping[Cell, float], generator: Sequence[int]) -> dict[Cell, float]:
    sums: dict[Cell, float] = {}
    for cell, value in table.items():
        seen = tuple(cell[j] for j in generator)
        sums[seen] = sums.get(seen, 0) + value
    return sums


def ipf(
    table: Mapping[Cell, float],
    generators: Generators,
    cycles: int = 1000,
    factors: list[dict[Cell, float]] | None = None,
) -> tuple[dict[Cell, float], bool]:
    """Expected counts by iterative proportional fitting from ones, and whether it converged.

    ``factors`` receives the product of each generator's adjustments, by cell of its margin.
    """
    n = sum(table.values())
    expected = dict.fromkeys(table, 1.0)
    factors = [] if factors is None else factors
    factors += [dict.fromkeys(margin(table, one), 1.0) for one in generators]
    observed = [margin(table, one) for one in generators]
    for _ in range(cycles):
        off = 0.0
        for one, wanted, factor in zip(generators, observed, factors, strict=True):
            now = margin(expected, one)
            off = max(off, *(abs(now[c] - wanted[c]) for c in now))
            ratio = {c: wanted[c] / now[c] if now[c] > 0 else 0.0 for c in now}
            for c in now:
                factor[c] *= ratio[c]
            for cell in expected:
                expected[cell] *= ratio[tuple(cell[j] for j in one)]
        if off < 1e-8 * n:
            return expected, True
    return expected, False


def log_likelihood(table: Mapping[Cell, float], expected: Mapping[Cell, float]) -> float:
    """Sum of N log p with p the expected share; minus infinity where a record lies in a cell of probability 0."""
    n = sum(expected.values())
    if any(count > 0 and expected[cell] <= 0 for cell, count in table.items()):
        return -inf
    return sum(count * log(expected[cell] / n) for cell, count in table.items() if count > 0)


def faces(generators: Generators) -> set[Cell]:
    """All non-empty sets of attributes inside a generator."""
    inside = (combinations(sorted(one), size) for one in generators for size in range(1, len(one) + 1))
    return set(chain.from_iterable(inside))


def n_parameters(generators: Generators, shape: Sequence[int]) -> int:
    return sum(prod(shape[j] - 1 for j in face) for face in faces(generators))


def graphical(d: int, edges: Set[Cell]) -> list[Cell]:
    """The largest sets of vertices that are joined pairwise."""
    complete = [
        one
        for size in range(1, d + 1)
        for one in combinations(range(d), size)
        if all(pair in edges for pair in combinations(one, 2))
    ]
    return [one for one in complete if not any(set(one) < set(other) for other in complete)]


def is_chordal(d: int, edges: Set[Cell]) -> bool:
    """No set of four or more vertices is joined as one ring without a chord."""
    for size in range(4, d + 1):
        for some in combinations(range(d), size):
            inside = [e for e in edges if set(e) <= set(some)]
            if len(inside) == size and all(sum(v in e for e in inside) == 2 for v in some):
                reached, todo = {some[0]}, [some[0]]
                while todo:
                    v = todo.pop()
                    for e in inside:
                        if v in e:
                            other = e[0] if e[1] == v else e[1]
                            if other not in reached:
                                reached.add(other)
                                todo.append(other)
                if len(reached) == size:
                    return False
    return True


def all_models(table: Mapping[Cell, float], shape: Sequence[int], criterion: str) -> list[tuple[float, list[Cell]]]:
    """The score and generators of every graphical model whose fit converges, attributes of one level left alone."""
    d, n = len(shape), sum(table.values())
    price = 2.0 if criterion == "aic" else log(n)
    pairs = [pair for pair in combinations(range(d), 2) if all(shape[j] > 1 for j in pair)]
    found = []
    for size in range(len(pairs) + 1):
        for edges in combinations(pairs, size):
            generators = graphical(d, set(edges))
            expected, converged = ipf(table, generators)
            if converged or is_chordal(d, set(edges)):
                score = -2 * log_likelihood(table, expected) + price * n_parameters(generators, shape)
                found.append((score, generators))
    return found


def search(table: Mapping[Cell, float], shape: Sequence[int], criterion: str) -> list[Cell]:
    """The least score; among equal ones the fewest parameters, then the first generators."""
    found = all_models(table, shape, criterion)
    least = min(score for score, _ in found)
    near = [generators for score, generators in found if score <= least + 1e-6]
    return min((sorted(one) for one in near), key=lambda one: (n_parameters(one, shape), one))


def du_llm(
    before: Sequence[Cell],
    after: Sequence[Cell],
    attributes: Sequence[int],
    shape: Sequence[int],
    model: str | Generators = "aic",
    mode: str = "fixed",
    zero: str = "smooth",
) -> float:
    """Eq. 12 in its three readings.

    The least AIC or BIC is sought literally up to three attributes; beyond, the model is taken from the engine, whose
    search has tests of its own.
    """
    sizes = [shape[j] for j in attributes]
    old, new = full_table(before, attributes, shape), full_table(after, attributes, shape)
    if isinstance(model, str):
        if len(sizes) < 2:
            return nan
        model = search(old, sizes, model) if len(sizes) <= 3 else _found_by_the_engine(before, attributes, shape, model)
    factors: list[dict[Cell, float]] = []
    fitted_old, _ = ipf(old, model, factors=factors)
    if mode == "fixed":
        change = {c: new[c] - old[c] for c in old}
        if log_likelihood(new, fitted_old) > -inf:
            # log p is the sum of the logs of the factors: margins that are kept cancel
            moved = [(margin(change, one), factor) for one, factor in zip(model, factors, strict=True)]
            return sum(by * log(factor[c]) for one, factor in moved for c, by in one.items() if by)
        if zero == "error":
            return nan
        n, cells = len(before), len(old)
        # the same smoothed parameters twice
        return sum(by * log((fitted_old[c] + 1 / cells) / (n + 1)) for c, by in change.items())
    fitted_new, converged = ipf(new, model)
    if not converged:
        return nan
    gain = log_likelihood(new, fitted_new) - log_likelihood(old, fitted_old)
    if mode == "refit_full":
        gain -= sum(lgamma(new[c] + 1) - lgamma(old[c] + 1) for c in old)
    return gain


def du_llm_per_record(before: Sequence[Cell], *rest, **parameters) -> float:
    return du_llm(before, *rest, **parameters) / len(before)


def _found_by_the_engine(
    records: Sequence[Cell], attributes: Sequence[int], shape: Sequence[int], criterion: str
) -> Generators:
    import numpy as np

    from engine.models import loglinear as loglinear_search
    from engine.models.loglinear import Counts

    cells, counts = np.unique(np.array(records)[:, list(attributes)], axis=0, return_counts=True)
    return loglinear_search.search(Counts(cells, counts, [shape[j] for j in attributes]), criterion).model.generators


TWINS: dict[str, Callable[..., float]] = {"du_llm": du_llm, "du_llm_per_record": du_llm_per_record}
