"""Utility for inference: the fit of the original's log-linear model to the released table.

Gomatam, Karr and Sanil (2005), section 4.2, eq. 12: ``DU = l(post) - l(pre)`` with ``l(D) = sum N_D(c) log p(c)``.  The
paper does not say whether the parameters of the model are fitted again, so there are three readings:

``fixed``       p is the fit to the original.  Linear in the changes of the model's margins, so 0 when they are kept.
``refit``       p is the model's fit to each table; never below ``fixed`` (unless that one is smoothed).
``refit_full``  as ``refit``, with the multinomial coefficient: the change of ``sum N log p - sum log N!``, which is the
                log-likelihood of a Poisson regression.  It is not 0 for swaps that keep the model's margins and is
                often positive.

The model is a formula such as ``[ABCE][ADE][BF]`` (the usual one for the Czech auto workers; eq. 14 of the paper prints
``[ABCD][ADE][BF]``), or found once on the original: ``aic`` or ``bic`` (:mod:`engine.models.loglinear`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from engine.common.registry import remembered
from engine.data.domain import Domain
from engine.measures.base import Measure
from engine.measures.distortion import x_log_x
from engine.models.loglinear import CRITERIA, Counts, Fit, FullTable, cell_numbers, fit, parse, pieces, search
from engine.release.batch import ReleaseBatch, unpack

Mode = Literal["fixed", "refit", "refit_full"]
MODES: tuple[Mode, ...] = get_args(Mode)
Zero = Literal["smooth", "error"]


def du_llm(
    batch: ReleaseBatch,
    domain: Domain,
    attributes: tuple[int, ...],
    model: str = "aic",
    mode: Mode = "fixed",
    zero: Zero = "smooth",
) -> np.ndarray:
    """Log-likelihood of the original's model on the released table less that on the original; higher is better.

    Unbounded, 0 for the identity, seldom above 0 unless ``mode`` is refit_full.  Where a released record lies in a cell
    that the fixed model holds impossible, ``zero`` decides: smooth takes ``(n p + 1 / cells) / (n + 1)`` for p in both
    terms of that candidate, error leaves the figure undefined.  NaN, too, for fewer than two attributes under aic and
    bic, and where refitting does not converge within 1000 cycles (models that are not decomposable).  A formula with an
    unknown attribute is a :class:`UsageError`.
    """
    if model in CRITERIA and len(attributes) < 2:
        return np.full(len(batch), np.nan)
    batch = batch.project(attributes)
    names = [domain.names[j] for j in attributes]
    fitted = batch.shared.cached(("log-linear fit", model), lambda: _fit(_counts(batch), model, names))
    if mode == "fixed":
        return _fixed(batch, fitted, zero)
    change = _refit(batch, fitted) if fitted.model.separators is not None else _refit_by_ipf(batch, fitted)
    if mode == "refit":
        return change
    from scipy.special import gammaln

    result: np.ndarray = change - batch.total(gammaln(batch.after + 1.0) - gammaln(batch.before + 1.0))
    return result


def du_llm_per_record(
    batch: ReleaseBatch, domain: Domain, attributes: tuple[int, ...], model: str, mode: Mode, zero: Zero
) -> np.ndarray:
    """:func:`du_llm` divided by the number of records: comparable between files of different size.  Higher is
    better."""
    return du_llm(batch, domain, attributes, model, mode, zero) / batch.n_records


# -- the original ----------------------------------------------------------------------------------------------------


@remembered("shared")
def _counts(batch: ReleaseBatch) -> Counts:
    """The original table on the batch's attributes, whose cells come first in the batch's index."""
    packed = batch.index_words[: len(batch.original)]
    cells = np.column_stack([unpack(packed, layout) for layout in batch.layout])
    return Counts(cells, batch.original, batch.shape)


def _fit(counts: Counts, model: str, names: Sequence[str]) -> Fit:
    return search(counts, model) if model in CRITERIA else fit(counts, parse(model, names))


# -- parameters as they were -----------------------------------------------------------------------------------------


def _fixed(batch: ReleaseBatch, fitted: Fit, zero: Zero) -> np.ndarray:
    """Sum over touched cells of (after - before) log p.

    The parts of log p are rounded to multiples of a power of two small enough not to matter, and added as integers: so
    margins that are kept cancel to exactly 0, in any order and any company.
    """
    few = len(batch.index_words) <= len(batch.cell)
    packed = batch.index_words if few else batch.index_words[batch.cell]
    at = batch.cell if few else np.arange(len(batch.cell))
    columns = [unpack(packed, index) for index in batch.layout]
    bits = _bits(batch.n_records, sum(float(np.abs(term.values).max(initial=0)) for term in fitted.terms))
    log_p, impossible = np.zeros(len(packed), np.int64), np.zeros(len(packed), bool)
    for term in fitted.terms:
        index = term.indices(columns)
        log_p += np.append(_rounded(term.values, bits), 0)[index]
        impossible |= index < 0
    change = batch.after - batch.before
    figures = _sums(batch, change * log_p[at], bits)
    worst = batch.total(batch.after * impossible[at]) > 0
    if worst.any():
        if zero == "error":
            figures[worst] = np.nan
        else:
            n, cells = float(batch.n_records), _counts(batch).n_cells
            smooth = np.log((n * np.exp(fitted.log_p(columns)) + 1 / cells) / (n + 1))
            bits = _bits(batch.n_records, float(np.log(cells) + np.log(n + 1)))
            figures[worst] = _sums(batch, change * _rounded(smooth, bits)[at], bits)[worst]
    return figures


def _bits(n_records: int, largest: float) -> int:
    """Binary places such that sums of that many changes of values up to ``largest`` fit in 62 bits."""
    return 61 - int(np.ceil(np.log2(2 * n_records * (largest + 1))))


def _rounded(values: np.ndarray, bits: int) -> np.ndarray:
    result: np.ndarray = np.rint(np.ldexp(values, bits)).astype(np.int64)
    return result


def _sums(batch: ReleaseBatch, values: np.ndarray, bits: int) -> np.ndarray:
    """Exact sums per candidate: running sums may wrap around, their differences cannot."""
    running = np.concatenate([[0], np.cumsum(values)])
    sums = running[batch.ends] - running[np.concatenate([[0], batch.ends[:-1]])]
    result: np.ndarray = np.ldexp(sums.astype(float), -bits)
    return result


# -- parameters fitted again -----------------------------------------------------------------------------------------


def _refit(batch: ReleaseBatch, fitted: Fit) -> np.ndarray:
    """Decomposable models: the change of sum N log N over cliques less that over separators."""
    separators = fitted.model.separators or ()
    change = np.zeros(len(batch))
    for attributes, sign in [(attribute_set, 1) for attribute_set in fitted.model.generators] + [
        (attribute_set, -1) for attribute_set in separators if attribute_set
    ]:
        margin = batch.project(attributes)
        change += sign * margin.total(x_log_x(margin.after) - x_log_x(margin.before))
    return change


def _refit_by_ipf(batch: ReleaseBatch, fitted: Fit) -> np.ndarray:
    """Other models: iterative proportional fitting per candidate, begun at the original's fit where that gives every
    possible cell a chance, and afresh otherwise."""
    counts, generators = _counts(batch), fitted.model.generators
    full = batch.shared.cached(("full table", generators), lambda: FullTable(batch.shape, generators))
    margins = [full.dense_margin(i, counts) for i in range(len(generators))]
    assert fitted.probabilities is not None
    start = fitted.probabilities * batch.n_records
    numbers = cell_numbers([unpack(batch.index_words, place) for place in batch.layout], batch.shape)[batch.cell]
    before = np.zeros(full.n_cells, np.int64)
    before[cell_numbers(counts.cells.T, batch.shape)] = counts.counts
    change = batch.after - batch.before
    figures = np.zeros(len(batch))
    first = 0
    for candidate, end in enumerate(batch.ends.tolist()):
        cells, amounts = numbers[first:end], change[first:end]
        first = end
        new = [
            margin + np.bincount(index[cells], weights=amounts, minlength=size)
            for margin, index, size in zip(margins, full.index, full.sizes, strict=True)
        ]
        if all(map(np.array_equal, new, margins)):
            continue
        possible = np.ones(full.n_cells, bool)
        for margin, index in zip(new, full.index, strict=True):
            possible &= margin[index] > 0
        refitted = full.ipf(new, batch.n_records, None if (possible & (start <= 0)).any() else start)
        after = before.copy()
        after[cells] += amounts
        lies = np.flatnonzero(after)
        likelihood = float((after[lies] * np.log(refitted.expected[lies] / batch.n_records)).sum())
        figures[candidate] = likelihood - fitted.log_likelihood if refitted.converged else np.nan
    return figures


# -- the measures ----------------------------------------------------------------------------------------------------


def _check(model: str, mode: str, zero: str) -> None:
    if model not in CRITERIA:
        pieces(model)


DU_LLM = Measure.of(
    du_llm,
    "utility",
    symbol="DU_llm",
    title="Log-linear model utility",
    better="higher",
    range="unbounded; 0 for unchanged data, mostly negative",
    unit="log-likelihood (nats)",
    source="Gomatam, Karr and Sanil (2005), eq. 12",
    meaning=(
        "How much worse (negative) or better (positive) a statistical model chosen on the original describes the "
        "released table; 0 means just as well. Where the plan has the model refitted, the figure is not 0 even for "
        "swaps that keep everything the model rests on, and often positive."
    ),
    named=True,
    check=_check,
    undefined=(
        "a model search needs two attributes, refitting did not converge, or with zero=error a released record lies "
        "where the model allows none"
    ),
    cost="microseconds; milliseconds when a model that is not decomposable is refitted",
)
DU_LLM_PER_RECORD = replace(
    DU_LLM,
    name="du_llm_per_record",
    symbol="DU_llm/n",
    title="Log-linear model utility per record",
    unit="log-likelihood per record (nats)",
    source="Gomatam, Karr and Sanil (2005), eq. 12, divided by the number of records",
    meaning=(
        "How much worse (negative) or better (positive) a statistical model chosen on the original describes a "
        "released record; 0 means just as well. Where the plan has the model refitted, the figure is not 0 even for "
        "swaps that keep everything the model rests on, and often positive."
    ),
    compute=du_llm_per_record,
)
