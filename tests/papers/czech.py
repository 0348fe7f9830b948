"""The Czech auto workers of Gomatam, Karr and Sanil (2005, table 2) and what other computations found on them.

Shared by the tests of paper 002 and by its rows in the table of reproductions.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np

from engine.measures import call
from engine.measures.inference import MODES
from engine.models.loglinear import CZECH_LITERATURE, Counts, Fit, Model, _Graphs, fit, parse
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release.scenarios import RunStatus
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.sweeps.evaluator import Question
from tests.fit_statistics import score
from tests.small_tables import rows

NAMES = tuple("ABCDEF")
MODELS = {"ABCD": "[ABCD][ADE][BF]", "ABCE": CZECH_LITERATURE}
COLUMNS = {"fixed": "fixed", "refit": "refit", "refit_full": "fullrefit"}  # the reference's words for the modes
SWAPS = ["".join(chosen) for size in (1, 2) for chosen in combinations(NAMES, size)]
SCORES = [  # log-likelihood, parameters, AIC, BIC, deviance
    ("[ABCD][ADE][BF]", -6677.7495, 21, 13397.50, 13513.38, 69.23),
    ("[ABCE][ADE][BF]", -6665.4277, 21, 13372.86, 13488.73, 44.59),
    ("[ACE][ADE][BCE][BF]", -6668.59, 17, 13371.18, 13464.99, 50.92),
    ("[ABC][ACE][ADE][BF][DEF]", -6665.46, 20, 13370.93, 13481.29, 44.66),
    ("[AC][ADE][BC][BE][F]", -6674.64, 13, 13375.28, 13447.01, 63.01),
    ("[ACE][ADE][BC][F]", -6674.17, 14, 13376.35, 13453.60, 62.08),
]
PLACES = {"aic": (2573, 13), "bic": (9536, 2515)}
"""Places of eq. 14's and of the literature's model among all 32,768 graphical ones."""
NOTED = {  # means of 40 runs at 10 %: DR · 10,000 and its spread, HD, DU_llm (literature's model, fixed) and its spread
    "A": (28.4, 10, 0.0357, -15.5, 4.5),
    "B": (16.0, 10, 0.0662, -165.1, 13),
    "C": (13.3, 9, 0.0669, -164.5, 13),
    "D": (31.4, 12, 0.0332, -6.3, 3.3),
    "E": (33.3, 10, 0.0336, -14.2, 4.8),
    "F": (34.9, 15, 0.0489, -2.0, 1.6),
    "BC": (31.1, 12, 0.0367, -14.6, 4.2),
    "BF": (5.4, 7, 0.0865, -156.4, 13),
    "CF": (3.6, 5, 0.0868, -165.7, 13),
    "CE": (12.5, 11, 0.0702, -174.2, 11),
    "DF": (39.1, 17, 0.0509, -6.2, 4.1),
    "EF": (32.6, 11, 0.0497, -13.8, 5.7),
}


@cache
def counts() -> Counts:
    table = code(*load("czech")).table
    return Counts(table.cells, table.counts, table.domain.shape)


def scores(model: str) -> Fit:
    """A model in text form, fitted."""
    return fit(counts(), parse(model, NAMES))


@cache
def _cliques() -> np.ndarray:
    """The largest sets of attributes that are complete in each graph: a row for each, a column for every set as a bit
    mask."""
    complete, sets = _Graphs.on(6).complete, np.arange(64)
    largest: np.ndarray = complete & (sets > 0)
    for v in range(6):
        largest &= (sets >> v & 1 == 1) | ~complete[:, sets | 1 << v]
    return largest


def model_of(graph: int) -> Model:
    """The model of one of all graphs, by its number."""
    return Model.of([v for v in range(6) if one >> v & 1] for one in np.flatnonzero(_cliques()[graph]).tolist())


@cache
def graphical() -> dict[str, np.ndarray]:
    """``aic`` and ``bic`` of all 32,768 graphs, fitted by setting one margin after the other in all of them at once."""
    observed = np.zeros((2,) * 6)
    observed[tuple(counts().cells.T)] = counts().counts
    n, likelihood = observed.sum(), np.empty(1 << 15)
    left, fitted = np.arange(1 << 15), np.full((1 << 15, *observed.shape), observed.sum() / 64)
    while len(left):
        off = np.zeros(len(left))
        for one in range(1, 64):
            others = tuple(v for v in range(6) if not one >> v & 1)
            these = np.flatnonzero(_cliques()[left, one])
            margin = observed.sum(axis=others, keepdims=True)
            now = fitted[these].sum(axis=tuple(v + 1 for v in others), keepdims=True)
            off[these] = np.maximum(off[these], np.abs(now - margin).max(axis=tuple(range(1, 7))))
            fitted[these] *= np.divide(margin, now, out=np.zeros_like(now), where=now > 0)
        done = off < 1e-8 * n
        there = observed > 0
        likelihood[left[done]] = np.log(fitted[done][:, there] / n) @ observed[there]
        left, fitted = left[~done], fitted[~done]
    parameters = _Graphs.on(6).complete[:, 1:].sum(axis=1)  # of two levels each: one for every set that interacts
    return {"aic": -2 * likelihood + 2 * parameters, "bic": -2 * likelihood + parameters * np.log(n)}


def place(model: str, name: str) -> int:
    """Place of a model among all graphical ones by ``aic`` or ``bic``, 1 the best."""
    return int((graphical()[name] < score(scores(model), name, counts()) - 1e-6).sum()) + 1


@cache
def simulated(replicates: int) -> dict[str, dict[str, np.ndarray]]:
    """DR, HD and DU_llm of every model and mode: each swap's figures over the replicates, 10 %."""
    raw, plan = load("czech")
    texts = {
        f"{COLUMNS[mode]}_{name}": f"du_llm[model={text};mode={mode}]"
        for name, text in MODELS.items()
        for mode in MODES
    }
    texts = {"DR": "small_cells", "HD": "hellinger", **texts}
    asked = Question(code(raw, plan).table, tuple(call(text) for text in texts.values()), plan)
    specs = [
        ReleaseSpec(AttributeSpec(NAMES, "".join("S" if name in swap else "U" for name in NAMES)), "0.1")
        for swap in SWAPS
    ]
    found = rows(asked, specs, range(1, replicates + 1))
    moved = np.where(found[:, 2] == RunStatus.NOOP, 0, 184)  # a wrong draw that moves nothing is held to the figures
    assert np.isin(found[:, 2], (RunStatus.OK, RunStatus.NOOP)).all() and (found[:, 3] == moved).all()
    figures = found[:, 4:].reshape(len(SWAPS), replicates, len(texts))
    return {what: {swap: figures[i, :, k] for i, swap in enumerate(SWAPS)} for k, what in enumerate(texts)}
