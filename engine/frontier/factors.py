"""What candidates differ in: factors with their values, a grid of all candidates by them, and which factor decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from math import prod
from typing import NamedTuple

import numpy as np

from engine.mechanisms import mechanism
from engine.release.parameter import Parameter
from engine.release.spec import ReleaseSpec

_ACROSS = 12  # columns of a grid at most, where rows can take the rest


@dataclass(frozen=True)
class Factor:
    """A thing that candidates of one mechanism differ in.

    ``name`` is ``swap`` (the roles of the attributes), ``rate``, ``rule`` or a parameter of the mechanism.  ``values``
    are its canonical texts, numbers in ascending order; ``codes`` says which of them each candidate has.  ``counts``
    marks the share that is changed.
    """

    name: str
    values: tuple[str, ...]
    codes: np.ndarray
    counts: bool = False


def factors(specs: Sequence[ReleaseSpec]) -> tuple[Factor, ...]:
    """The factors with more than one value of some candidates of one mechanism; roles first, the rate last."""
    if not specs:
        return ()
    known = {parameter.name: parameter for parameter in mechanism(specs[0].mechanism).parameters}
    named: dict[str, list[str]] = {"swap": [], "rule": []} if specs[0].by_roles else {}
    named |= {name: [] for name in dict.fromkeys(name for spec in specs for name, _ in spec.params)}
    if specs[0].by_roles:
        named["rate"] = []
    for spec in specs:
        own = {"swap": spec.attributes.short, "rule": spec.rule, "rate": spec.rate, **dict(spec.params)}
        for name, texts in named.items():
            texts.append(own.get(name, ""))
    found = [_factor(name, texts, known.get(name)) for name, texts in named.items() if len(set(texts)) > 1]
    return tuple(sorted(found, key=lambda factor: factor.counts))


def _factor(name: str, texts: Sequence[str], parameter: Parameter | None) -> Factor:
    values = sorted(set(texts), key=_order) if name != "swap" else sorted(set(texts), key=lambda t: (t.count("+"), t))
    place = {text: code for code, text in enumerate(values)}
    counts = (name == "rate" if parameter is None else _is_share(parameter)) and not any(_order(v)[0] for v in values)
    return Factor(name, tuple(values), np.array([place[text] for text in texts], np.int64), counts)


def _is_share(parameter: Parameter) -> bool:
    return parameter.counts is not None and parameter.counts.kind == "share"


def _order(text: str) -> tuple[bool, Decimal, str]:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    return (False, number, text) if number.is_finite() else (True, Decimal(0), text)


class Grid(NamedTuple):
    """Candidates laid out by their factors, the outermost first; ``cells[row, column]`` is a candidate's place, or -1
    where a combination is no candidate."""

    rows: tuple[Factor, ...]
    columns: tuple[Factor, ...]
    cells: np.ndarray


def grid(found: Sequence[Factor], figures: np.ndarray) -> Grid:
    """Lay candidates out, the factors on which their ``figures`` (NaN where unknown) differ most as rows, the share
    that is changed as the innermost of the columns."""
    ranked = sorted(found, key=lambda factor: (factor.counts, -_explained(factor, figures)))
    rows, columns = list[Factor](), ranked
    while len(columns) > 1 and prod(len(factor.values) for factor in columns) > max(
        _ACROSS, prod(len(factor.values) for factor in rows)
    ):
        rows, columns = [*rows, columns[0]], columns[1:]
    if not rows and (len(columns) > 1 or (columns and len(columns[0].values) > _ACROSS)):
        rows, columns = columns[:1], columns[1:]
    shape = [prod(len(factor.values) for factor in axis) for axis in (rows, columns)]
    cells = np.full(shape, -1)
    cells[_places(rows, len(figures)), _places(columns, len(figures))] = np.arange(len(figures))
    return Grid(tuple(rows), tuple(columns), cells)


def _places(axis: Sequence[Factor], n: int) -> np.ndarray:
    at = np.zeros(n, np.int64)
    for factor in axis:
        at = at * len(factor.values) + factor.codes
    return at


def _explained(factor: Factor, figures: np.ndarray) -> float:
    """The share of the variation of some figures that is between the values of a factor."""
    known = ~np.isnan(figures)
    if not known.any():
        return 0.0
    n = np.bincount(factor.codes[known], minlength=len(factor.values))
    sums = np.bincount(factor.codes[known], figures[known], minlength=len(factor.values))
    total = float(((figures[known] - figures[known].mean()) ** 2).sum())
    between = float((n * (sums / np.maximum(n, 1) - figures[known].mean()) ** 2).sum())
    return between / total if total else 0.0


class Decided(NamedTuple):
    """A value of a factor with which all ``n`` candidates are within the limit, while of the ``others`` only
    ``others_within`` are."""

    factor: Factor
    value: str
    n: int
    others: int
    others_within: int


def decided(found: Sequence[Factor], within: np.ndarray, known: np.ndarray) -> Decided | None:
    """The value that decides most: all candidates with it are within the limit, and the fewest of the others are;
    among those of which it is ``known``."""
    options = []
    for factor in found:
        for code, value in enumerate(factor.values):
            has, others = (factor.codes == code) & known, (factor.codes != code) & known
            if has.sum() > 1 and within[has].all() and not within[others].all():
                options.append(Decided(factor, value, int(has.sum()), int(others.sum()), int(within[others].sum())))
    return min(options, key=lambda one: (one.others_within / one.others, -one.n), default=None)


class Between(NamedTuple):
    """Two neighbouring shares between which candidates that agree in all else cross the limit, in so many cases, and a
    round share between them to try."""

    factor: Factor
    over: str
    within: str
    cases: int
    rate: str


def between(found: Sequence[Factor], within: np.ndarray, known: np.ndarray) -> Between | None:
    """The neighbouring shares between which most candidates cross the limit in one direction, among those of which it
    is ``known``; None where none do."""
    factor = next((factor for factor in found if factor.counts), None)
    if factor is None:
        return None
    others = _places([other for other in found if other is not factor], len(within))
    met = {
        (int(other), int(code)): bool(ok)
        for other, code, ok, told in zip(others, factor.codes, within, known, strict=True)
        if told
    }
    cases = np.zeros((len(factor.values) - 1, 2), np.int64)  # by whether the larger share is within
    for (other, code), ok in met.items():
        following = met.get((other, code + 1))
        if following is not None and following != ok:
            cases[code, int(following)] += 1
    if not cases.any():
        return None
    at, rises = divmod(int(cases.argmax()), 2)
    low, high = factor.values[at : at + 2]
    over, within_value = (low, high) if rises else (high, low)
    rate = _round_between(Decimal(low), Decimal(high))
    return None if rate is None else Between(factor, over, within_value, int(cases[at, rises]), rate)


def _round_between(low: Decimal, high: Decimal) -> str | None:
    """The roundest share near the geometric middle of two; None where they are too close."""
    middle = (low * high).sqrt()
    for digits in (1, 2, 3):
        value = Decimal(f"{middle:.{digits - 1}e}")
        if low < value < high:
            return format(value.normalize(), "f")
    return None


class RoleCounts(NamedTuple):
    """Candidates of random swaps by what they do with each attribute: counts of shape ``(attributes, 4)`` in the order
    S, F, C, U; all, and those within the limit."""

    names: tuple[str, ...]
    all: np.ndarray
    within: np.ndarray


def role_counts(names: Sequence[str], roles: Sequence[str], codes: np.ndarray, within: np.ndarray) -> RoleCounts:
    """Count candidates by attribute and role; ``codes`` says of each candidate which of the ``roles`` it has."""
    letters = np.array([list(role) for role in roles])
    n, met = np.bincount(codes, minlength=len(roles)), np.bincount(codes, within, minlength=len(roles)).astype(np.int64)
    by_role = [[(letters[:, j] == role) for role in "SFCU"] for j in range(len(names))]
    return RoleCounts(
        tuple(names),
        np.array([[int(n[has].sum()) for has in row] for row in by_role]),
        np.array([[int(met[has].sum()) for has in row] for row in by_role]),
    )
