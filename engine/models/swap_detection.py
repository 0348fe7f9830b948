"""Detection of swapped records by somebody who holds the release and published two-way tables of the original.

The swapped attributes and the rate are inferred from the tables (:mod:`engine.models.margin_inference`).  A model of
each swapped attribute given all others is fitted to the release (:mod:`engine.models.level_model`): a record whose own
level the model finds unlikely is suspected, and Bayes' rule with the inferred rate gives the probability that it is
unaltered.  Nothing here sees pairs, flags or original records.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.common.cache import Cache
from engine.common.errors import UsageError
from engine.data.table import occupied
from engine.models.level_model import MOST_ENTRIES, MOST_TERMS, Design, design_of, fit_levels, n_terms
from engine.models.margin_inference import MarginInference, Tables, infer_from_margins, pair_shares, two_way_tables

_SURE = 1e-12
_SINGULAR = 1e-6


class Release(NamedTuple):
    """The released file as everybody sees it: occupied ``cells`` over all attributes (rows of level codes), their
    ``counts``, and the number of levels of each attribute."""

    cells: np.ndarray
    counts: np.ndarray
    shape: tuple[int, ...]


class Detection(NamedTuple):
    """The result of the attack on a release.

    By released cell: the ``score`` of its records, one minus the modelled chance of their own levels of the swapped
    attributes, and the probability that they are ``unaltered`` given the release.
    """

    score: np.ndarray
    unaltered: np.ndarray


def infer_from_release(original: Tables, release: Release) -> MarginInference:
    """The knowledge of the swap that the release and the original's two-way tables, by positions of attributes,
    give."""
    if len(release.shape) < 2:
        return MarginInference((), (), 0.0, 0.0, 0.0, 0.0, int(release.counts.sum()), (), {})
    return infer_from_margins(original, two_way_tables(*release))


def detect(
    inference: MarginInference, release: Release, model: str = "two_way", memory: Cache | None = None
) -> Detection:
    """Score the records of a release, once it is inferred which attributes were swapped and how many records.

    ``model`` names the terms of the logit (:data:`~engine.models.level_model.MODELS`).  Several swapped attributes are
    taken as independent given the others.  ``memory`` keeps the design of a model for other releases with the same
    unswapped attributes.
    """
    n = len(release.cells)
    if not inference.attributes:
        return Detection(np.zeros(n), np.ones(n))
    swapped = [int(str(name)) for name in inference.attributes]
    others = [j for j in range(len(release.shape)) if j not in swapped]
    sizes = [release.shape[j] for j in others]
    patterns, pattern = occupied([release.cells[:, j] for j in others], sizes, n)
    totals = np.bincount(pattern, weights=release.counts, minlength=len(patterns))
    design = _design(patterns, totals, sizes, model, Cache() if memory is None else memory)
    strata = _strata(release, [int(str(name)) for name in inference.fixed])
    likely, odds = np.ones(n), np.zeros(n)
    for j in swapped:
        levels = release.shape[j]
        flat = pattern * np.int64(levels) + release.cells[:, j]
        counts = np.bincount(flat, weights=release.counts, minlength=len(patterns) * levels).reshape(-1, levels)
        chance = fit_levels(design, counts).chance[pattern]
        likely *= chance[np.arange(n), release.cells[:, j]]
        odds += _log_odds(release, j, chance, strata, inference.k)
    prior = min(max(inference.rate, _SURE), 1 - _SURE)
    odds -= (len(swapped) - 1) * math.log(prior / (1 - prior))
    return Detection(1 - likely, 1 / (1 + np.exp(np.clip(odds, -50, 50))))


def check_size(cells: np.ndarray, shape: Sequence[int], model: str) -> None:
    """Refuse (:class:`UsageError`) a model with more terms than a fit can hold, whatever is swapped."""
    terms = n_terms(cells, shape, model)
    most = min(MOST_TERMS, MOST_ENTRIES // max(len(cells), 1))
    if terms > most:
        raise UsageError(
            f"detection: the model '{model}' of {len(shape)} attributes in {len(cells):,} cells has {terms:,} terms, "
            f"must have at most {most:,}; name fewer attributes="
            + (", or let detection_auc and detection_precision have model=main." if model == "two_way" else ".")
        )


def _design(patterns: np.ndarray, totals: np.ndarray, sizes: Sequence[int], model: str, memory: Cache) -> Design:
    # the unswapped attributes of all releases of one spec are the same, so their design is
    digest = hashlib.blake2b(patterns.tobytes() + totals.tobytes()).digest()
    name = ("design", model, patterns.shape, digest)
    return memory.cached(name, lambda: design_of(patterns, totals, sizes, model))


def _strata(release: Release, fixed: Sequence[int]) -> np.ndarray:
    """The stratum of each cell: partners agree on the fixed attributes."""
    return occupied([release.cells[:, j] for j in fixed], [release.shape[j] for j in fixed], len(release.cells))[1]


def _log_odds(release: Release, attribute: int, chance: np.ndarray, strata: np.ndarray, pairs: float) -> np.ndarray:
    """Logarithm of the odds that a record of each cell came from another level of one attribute.

    Within a stratum a record of level m was moved to l with a probability ``T[m, l]`` that follows from the number of
    pairs and the sizes of the levels, whatever its other attributes.  The chances of the released levels, ``chance``,
    are those of the original ones times T; with that undone, Bayes' rule gives the odds.
    """
    levels, n_strata = release.shape[attribute], int(strata.max()) + 1
    own = release.cells[:, attribute]
    sizes = np.bincount(strata * levels + own, weights=release.counts, minlength=n_strata * levels)
    sizes = sizes.reshape(n_strata, levels)
    open_ = (sizes > 0).sum(axis=1) > 1
    swappable = float(sizes[open_].sum())
    odds = np.full(len(own), math.log(_SURE))
    for stratum in np.flatnonzero(open_):
        rows = np.flatnonzero(strata == stratum)
        size = sizes[stratum]
        moves = 2 * pairs * size.sum() / swappable * pair_shares(size)
        moved = np.divide(moves, size[:, None], out=np.zeros_like(moves), where=size[:, None] > 0)
        moved /= np.maximum(moved.sum(axis=1, keepdims=True), 1.0)
        stay = 1 - moved.sum(axis=1)
        before = np.maximum(chance[rows] @ np.linalg.pinv(np.diag(stay) + moved, rcond=_SINGULAR), 0.0)
        arrived = (before @ moved)[np.arange(len(rows)), own[rows]]
        stayed = before[np.arange(len(rows)), own[rows]] * stay[own[rows]]
        odds[rows] = np.log(np.maximum(arrived, _SURE)) - np.log(np.maximum(stayed, _SURE))
    return odds
