"""Pairwise propensity models: probabilities of the stratum from the other columns.

For strata A and B, the propensity of a record is its probability of belonging to B given its features, from a logistic
regression over the records of A and B.  A. Oganian and G. Lesaja, "Propensity score based conditional group swapping
for disclosure limitation of strata-defining variables", choose with it which strata and which records are exchanged.

The printed distance is lost from the paper's text; ``pmse`` is the mean squared distance of propensities from the share
``c`` of B, ``pmse_ratio`` divides it by its largest value ``c (1 - c)``, ``half`` measures from one half instead (not 0
for like strata of unlike sizes).

Records of a stratum that agree on all features are one row with a count, so cost follows distinct rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.processes import one_thread
from engine.data.microdata import Microdata
from engine.data.table import occupied
from engine.models.record_release import complete_numbers
from engine.models.regression import binomial, newton
from engine.release.parameter import Setting
from engine.release.records import ReleasedTable

DISTANCES = ("pmse", "pmse_ratio", "half")
RIDGE = 1e-4
_SINGULAR = 1e-10  # smallest eigenvalue of a correlation matrix that counts as more than rounding


class Variable(NamedTuple):
    """One variable of a model: level codes (with ``size`` levels) or numbers (``size`` 0), shape ``(n_records,)``."""

    name: str
    values: np.ndarray
    size: int


class Rows(NamedTuple):
    """Strata and their distinct rows.

    ``names`` of the strata; ``row_of`` ``(n_records,)`` names each record's row; rows of stratum ``s`` are
    ``start[s]:start[s + 1]``, ``counts`` their records, ``full`` and ``main`` their design columns without intercept
    (``main``: without interactions).
    """

    names: tuple[str, ...]
    row_of: np.ndarray
    start: np.ndarray
    counts: np.ndarray
    full: np.ndarray
    main: np.ndarray

    def sizes(self) -> np.ndarray:
        """Records of each stratum."""
        return np.add.reduceat(self.counts, self.start[:-1])


class Fitted(NamedTuple):
    """The model of two strata: propensities of the rows of A and of B, and whether a ridge and main effects alone had
    to do."""

    of_a: np.ndarray
    of_b: np.ndarray
    ridge: bool
    reduced: bool


def strata_places(data: Microdata, names: Sequence[str]) -> list[int]:
    """Attribute places by name; refuses unknown and repeated ones."""
    for name in names:
        if name not in data.domain.names:
            raise UsageError(f"unknown attribute '{name}'.{did_you_mean(name, data.domain.names)}")
    if len(set(names)) < len(names):
        raise UsageError(f"'{'+'.join(names)}' names an attribute twice.")
    return [data.domain.index(name) for name in names]


def rows(setting: Setting, places: Sequence[int], formula: str, mechanism: str) -> Rows:
    """Strata by some attributes, and what the ``formula`` makes of the other columns ("": main effects of all)."""
    data = setting.data
    groups, stratum = occupied([data.codes[j] for j in places], [data.domain.shape[j] for j in places], data.n_records)
    labels = [data.domain.attributes[j].levels for j in places]
    names = tuple(" ".join(levels[code] for levels, code in zip(labels, row, strict=True)) for row in groups)
    # all attributes but the strata's, and the plan's numeric columns that no attribute stands for
    domain = setting.data.domain
    behind = {column for attribute in domain.attributes for column in attribute.columns}
    others = [name for j, name in enumerate(domain.names) if j not in set(places)]
    terms = parse(formula, others + [name for name in setting.numeric if name not in behind])
    variables = {name: _variable(data, name, places, mechanism) for term in terms for name in term}
    used = list(variables.values())
    columns, sizes, distinct_values = [stratum], [len(groups)], []
    for variable in used:
        if variable.size:
            values = np.arange(variable.size)
            codes = variable.values
        else:
            values, codes = np.unique(variable.values, return_inverse=True)
        distinct_values.append(values)
        columns.append(codes)
        sizes.append(len(values))
    cells, row_of = occupied(columns, sizes, data.n_records)
    coded = {
        v.name: (values[cells[:, 1 + c]], v.size)
        for c, (v, values) in enumerate(zip(used, distinct_values, strict=True))
    }
    start = np.searchsorted(cells[:, 0], np.arange(len(groups) + 1))
    counts = np.bincount(row_of, minlength=len(cells)).astype(np.int64)
    mains = [(name,) for name in variables]
    return Rows(names, row_of, start, counts, _columns(terms, coded, len(cells)), _columns(mains, coded, len(cells)))


def _variable(data: Microdata, name: str, places: Sequence[int], mechanism: str) -> Variable:
    domain = data.domain
    if name in domain.names:
        j = domain.index(name)
        if j in set(places):
            raise UsageError(f"formula names '{name}', which defines the strata")
        return Variable(name, data.codes[j].astype(np.int64), domain.attributes[j].size)
    column = name if name in data.raw.columns else name.removesuffix("_raw")
    if column not in data.raw.columns:
        raise UsageError(f"formula: unknown column '{name}'.{did_you_mean(name, [*domain.names, *data.raw.names])}")
    for j in places:
        if column in domain.attributes[j].columns:
            raise UsageError(f"formula names column '{column}', which belongs to '{domain.names[j]}' of the strata")
    return Variable(name, complete_numbers(ReleasedTable(data), column, mechanism), 0)


def parse(formula: str, everything: Sequence[str]) -> list[tuple[str, ...]]:
    """Terms of a formula, in order, without repeats: ``a + b`` main effects, ``a:b`` their interaction, ``a*b`` all
    three, ``.`` the main effects of ``everything``; names with signs in them go between backticks."""
    terms: list[tuple[str, ...]] = []
    text = formula.strip()
    if not text:
        return [(name,) for name in everything]
    token = re.compile(r"\s*(?:`([^`]+)`|([^`+:*]+?))\s*([+:*]|$)")
    at, factors, starred = 0, list[str](), False
    while True:
        match = token.match(text, at)
        if not match or (match[3] and match.end() == len(text)):
            raise UsageError(f"formula == '{formula}', cannot be read; write for example . + a:b")
        factors.append(match[1] or match[2].strip())
        starred |= match[3] == "*"
        if match[3] in ("+", ""):
            if factors == ["."]:
                terms += [(name,) for name in everything]
            elif "." in factors:
                raise UsageError(f"formula == '{formula}', has . inside a term; . stands alone for all main effects")
            elif starred:
                if len(factors) > 2:
                    raise UsageError(f"formula == '{formula}', * joins two names")
                terms += [(factors[0],), (factors[1],), tuple(factors)]
            else:
                terms.append(tuple(dict.fromkeys(factors)))
            factors, starred = [], False
        at = match.end()
        if not match[3]:
            break
    unlike: dict[frozenset[str], tuple[str, ...]] = {}
    for term in terms:
        unlike.setdefault(frozenset(term), term)
    return list(unlike.values())


def _columns(terms: Sequence[tuple[str, ...]], coded: dict[str, tuple[np.ndarray, int]], m: int) -> np.ndarray:
    """Design columns: dummies of all levels but the first, numbers as they are, products for interactions."""
    terms_made = [np.empty((m, 0))]
    for term in terms:
        columns = np.ones((m, 1))
        for name in term:
            values, size = coded[name]
            variable_columns = (values[:, None] == np.arange(1, size)).astype(float) if size else values[:, None]
            columns = (columns[:, :, None] * variable_columns[:, None, :]).reshape(m, -1)
        terms_made.append(columns)
    return np.concatenate(terms_made, axis=1)


def fit(all_rows: Rows, a: int, b: int) -> Fitted:
    """The propensity model of strata ``a`` and ``b``.

    Constant columns are dropped.  Fewer records than parameters: main effects alone.  Separated strata or dependent
    columns: a ridge of 1e-4 on the standardised columns, the intercept unpenalised.
    """
    of_a, of_b = (slice(all_rows.start[s], all_rows.start[s + 1]) for s in (a, b))
    trials = np.concatenate([all_rows.counts[of_a], all_rows.counts[of_b]]).astype(float)
    n_a = int(of_a.stop - of_a.start)
    wins = trials.copy()
    wins[:n_a] = 0
    x = _standardised(np.concatenate([all_rows.full[of_a], all_rows.full[of_b]]), trials)
    reduced = trials.sum() < x.shape[1] and all_rows.main.shape[1] < all_rows.full.shape[1]
    if reduced:
        x = _standardised(np.concatenate([all_rows.main[of_a], all_rows.main[of_b]]), trials)
    with one_thread():
        p = None
        correlation = (x * trials[:, None]).T @ x / trials.sum()
        if np.linalg.eigvalsh(correlation)[0] > _SINGULAR:
            p = _fitted(x, trials, wins, 0.0)
        ridge = p is None
        if p is None:
            p = _fitted(x, trials, wins, RIDGE)
    if p is None:
        names = ",".join(all_rows.names[s] for s in (a, b))
        raise EngineError(f"propensity model for strata {names} did not converge; use fewer columns in its formula")
    return Fitted(p[:n_a], p[n_a:], ridge, bool(reduced))


def _standardised(x: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """An intercept, and the columns that vary with mean 0 and standard deviation 1."""
    x = x[:, x.max(axis=0) > x.min(axis=0)] if len(x) else x
    x = x - x[0]
    x -= counts @ x / counts.sum()
    x /= np.sqrt(counts @ (x * x) / counts.sum())
    return np.concatenate([np.ones((len(x), 1)), x], axis=1)


def _fitted(x: np.ndarray, trials: np.ndarray, wins: np.ndarray, ridge: float) -> np.ndarray | None:
    """Fitted probabilities of a binomial logistic regression, or None where the likelihood has no highest point."""
    share = wins.sum() / trials.sum()
    start, penalty = np.zeros(x.shape[1]), np.full(x.shape[1], ridge)
    start[0], penalty[0] = np.log(share / (1 - share)), 0.0
    top = newton(x, start, partial(binomial, wins=wins, trials=trials), penalty if ridge else None)
    return top.at.mean if top.converged else None


def distance(all_rows: Rows, a: int, b: int, fitted: Fitted, measure: str) -> float:
    """Distance of two strata: 0 upwards (``pmse`` and ``half`` to 1/4, ``pmse_ratio`` to 1), small when alike."""
    counts_a, counts_b = (all_rows.counts[all_rows.start[s] : all_rows.start[s + 1]] for s in (a, b))
    n_a, n_b = int(counts_a.sum()), int(counts_b.sum())
    c = n_b / (n_a + n_b)
    centre = 0.5 if measure == "half" else c
    total = float((counts_a * (fitted.of_a - centre) ** 2).sum() + (counts_b * (fitted.of_b - centre) ** 2).sum())
    mean = total / (n_a + n_b)
    return mean / (c * (1 - c)) if measure == "pmse_ratio" else mean
