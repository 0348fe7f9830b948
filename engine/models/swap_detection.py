"""Detection of swapped records by somebody who holds the release and published two-way tables of the original.

The swapped attributes and the rate are inferred from the tables (:mod:`engine.models.margin_inference`).  A model of
each swapped attribute given all others is fitted to the release (:mod:`engine.models.level_model`), and adjusted to all
published tables (:mod:`engine.models.margin_inference`): that is the intruder's model of the original.  Bayes' rule
with the inferred rate gives the probability that a record is altered, by which records are suspected.  A second
intruder takes nothing of the release but its patterns, fits the tables alone, and suspects the records with the least
probable levels.  Nothing here sees pairs, flags or original records."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from engine.common.errors import UsageError
from engine.common.registry import Cache
from engine.data.table import occupied
from engine.models import margin_inference as adjusted_table
from engine.models.level_model import MOST_ENTRIES, MOST_TERMS, Design, design_of, fit_levels, n_terms
from engine.models.margin_inference import (
    AdjustedTable,
    Margin,
    MarginInference,
    Tables,
    TablesFit,
    adjusted,
    infer_from_margins,
    pair_shares,
    two_way_tables,
)

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

    By released cell: the ``score`` of its records, one minus the chance of their own levels of the swapped attributes
    in the model of the release; the probability that they are ``unaltered`` given release and tables; and ``unlikely``,
    one minus the chance of their own levels in the model of the original that the tables alone give.  ``fit`` and
    ``tables_fit`` state how the models of the original, with and without the release, fit the tables (None: nothing was
    swapped).  A model without the release that is too large is replaced by that of the release.
    """

    score: np.ndarray
    unaltered: np.ndarray
    unlikely: np.ndarray
    fit: TablesFit | None = None
    tables_fit: TablesFit | None = None


def infer_from_release(original: Tables, release: Release) -> MarginInference:
    """The knowledge of the swap that the release and the original's two-way tables, by positions of attributes,
    give."""
    if len(release.shape) < 2:
        return MarginInference((), (), 0.0, 0.0, 0.0, 0.0, int(release.counts.sum()), {})
    return infer_from_margins(original, two_way_tables(*release))


def detect(
    original: Tables, inference: MarginInference, release: Release, model: str = "two_way", memory: Cache | None = None
) -> Detection:
    """Score the records of a release, once it is inferred which attributes were swapped and how many records.

    ``model`` names the terms of the logit (:data:`~engine.models.level_model.MODELS`).  Attributes were swapped
    together where none of their own tables moved; else they are taken as independent given the rest.  ``memory`` keeps
    the design of a model for other releases with the same unswapped attributes.
    """
    n = len(release.cells)
    if not inference.attributes:
        return Detection(np.zeros(n), np.ones(n), np.zeros(n))
    swapped = [int(str(name)) for name in inference.attributes]
    stayed = _Stayed.of(release, swapped, [int(str(name)) for name in inference.fixed])
    design = _design(stayed, model, Cache() if memory is None else memory)
    chances = {j: _chances(release, stayed, design, j) for j in swapped}
    likely = np.prod([chances[j][stayed.pattern, release.cells[:, j]] for j in swapped], axis=0)
    if len(swapped) > 1 and not any(inference.moved[pair] for pair in combinations(swapped, 2)):
        moved = _Moved.of(release, swapped)
        fit = _adjusted(original, stayed, moved, chances)
        if fit.converged:
            odds = _log_odds(stayed, moved, fit.chance, inference.k)
            unlikely, tables_fit = _unlikely(original, stayed, [moved], likely)
            return Detection(1 - likely, _unaltered(odds), unlikely, fit.summary, tables_fit)
    odds, fits, one_by_one = np.zeros(n), [], [_Moved.of(release, [j]) for j in swapped]
    for j, moved in zip(swapped, one_by_one, strict=True):
        fit = _adjusted(original, stayed, moved, chances)
        fits.append(fit.summary)
        chance = fit.chance if fit.converged else chances[j]
        odds += _log_odds(stayed, moved, chance, inference.k, undo=not fit.converged)
    prior = min(max(inference.rate, _SURE), 1 - _SURE)
    odds -= (len(swapped) - 1) * math.log(prior / (1 - prior))
    unlikely, tables_fit = _unlikely(original, stayed, one_by_one, likely)
    return Detection(1 - likely, _unaltered(odds), unlikely, _worst(fits), tables_fit)


def _worst(fits: Sequence[TablesFit]) -> TablesFit:
    worst = max(fits, key=lambda fit: fit.difference)
    return worst._replace(sweeps=max(fit.sweeps for fit in fits))


def _unlikely(
    original: Tables, stayed: _Stayed, groups: Sequence[_Moved], likely: np.ndarray
) -> tuple[np.ndarray, TablesFit]:
    """One minus the chance of each cell's own levels where the tables alone are fitted, and the worst fit; by the
    chances in the release, ``likely``, where a table is too large."""
    fits = [_adjusted(original, stayed, moved) for moved in groups]
    worst = _worst([fit.summary for fit in fits])
    if not all(fit.chance.size for fit in fits):
        return 1 - likely, worst
    own = [fit.chance[stayed.pattern, moved.own] for fit, moved in zip(fits, groups, strict=True)]
    return 1 - np.prod(own, axis=0), worst


def _unaltered(odds: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(np.clip(odds, -50, 50))))


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


class _Stayed(NamedTuple):
    """The attributes that stayed, at ``places``: the ``patterns`` of their levels, the records of each and its
    ``stratum`` (partners agree on the ``n_fixed`` fixed attributes); ``pattern`` is that of each released cell."""

    places: list[int]
    sizes: list[int]
    patterns: np.ndarray
    totals: np.ndarray
    stratum: np.ndarray
    n_fixed: int
    pattern: np.ndarray

    @classmethod
    def of(cls, release: Release, swapped: Sequence[int], fixed: Sequence[int]) -> _Stayed:
        places = [j for j in range(len(release.shape)) if j not in swapped]
        sizes = [release.shape[j] for j in places]
        patterns, pattern = occupied([release.cells[:, j] for j in places], sizes, len(release.cells))
        totals = np.bincount(pattern, weights=release.counts, minlength=len(patterns))
        columns = [patterns[:, places.index(j)] for j in fixed]
        stratum = occupied(columns, [release.shape[j] for j in fixed], len(patterns))[1]
        return cls(places, sizes, patterns, totals, stratum, len(fixed), pattern)


class _Moved(NamedTuple):
    """Attributes that were swapped together, at ``places``: combinations of their ``levels`` (rows of codes), that of
    each released cell, and released records by combination."""

    places: list[int]
    levels: np.ndarray
    own: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, release: Release, places: list[int]) -> _Moved:
        if len(places) == 1:
            levels, own = np.arange(release.shape[places[0]])[:, None], release.cells[:, places[0]]
        else:
            shape = [release.shape[j] for j in places]
            levels, own = occupied([release.cells[:, j] for j in places], shape, len(release.cells))
        return cls(places, levels, own, release.counts)

    def in_strata(self, stayed: _Stayed) -> np.ndarray:
        """Released records by stratum and combination."""
        shape = (int(stayed.stratum.max()) + 1, len(self.levels))
        flat = stayed.stratum[stayed.pattern] * np.int64(shape[1]) + self.own
        return np.bincount(flat, weights=self.counts, minlength=math.prod(shape)).reshape(shape)


def _design(stayed: _Stayed, model: str, memory: Cache) -> Design:
    # the unswapped attributes of all releases of one spec are the same, so their design is
    digest = hashlib.blake2b(stayed.patterns.tobytes() + stayed.totals.tobytes()).digest()
    name = ("design", model, stayed.patterns.shape, digest)
    return memory.cached(name, lambda: design_of(stayed.patterns, stayed.totals, stayed.sizes, model))


def _chances(release: Release, stayed: _Stayed, design: Design, attribute: int) -> np.ndarray:
    n_patterns, levels = len(stayed.patterns), release.shape[attribute]
    flat = stayed.pattern * np.int64(levels) + release.cells[:, attribute]
    counts = np.bincount(flat, weights=release.counts, minlength=n_patterns * levels)
    return fit_levels(design, counts.reshape(-1, levels))


def _adjusted(
    original: Tables, stayed: _Stayed, moved: _Moved, chances: Mapping[int, np.ndarray] | None = None
) -> AdjustedTable:
    """The model of the original: associations as the release shows them (without ``chances`` none), adjusted to all
    published tables of attributes that moved with those that stayed, and to the tables within either that no exchange
    changes."""
    if len(stayed.patterns) * len(moved.levels) > adjusted_table.MOST_CELLS:
        return AdjustedTable.too_large()
    sizes, margins = moved.in_strata(stayed), []
    of_all = sizes.sum(axis=0)
    start = np.ones((len(stayed.patterns), len(of_all)))
    together = of_all
    for k, j in enumerate(moved.places):
        level = moved.levels[:, k]
        if chances is not None:
            start *= np.where(chances[j] > 0, chances[j], 1 / chances[j].shape[1])[:, level]
        together = together / np.maximum(np.bincount(level, weights=of_all)[level], 1)
        for i, other in enumerate(stayed.places):
            table = original[other, j] if other < j else original[j, other].T
            margins.append(Margin(stayed.patterns[:, i], level, table))
    if len(moved.places) > 1:
        start *= together
    if len(moved.places) > 1 or stayed.n_fixed > 1:  # else a published table has them
        margins.append(Margin(stayed.stratum, np.arange(len(of_all)), sizes))
    return adjusted(start, stayed.totals, margins)


def _differ(levels: np.ndarray) -> np.ndarray:
    """Which combinations exchange: partners differ on every attribute."""
    return np.asarray((levels[:, None] != levels).all(axis=2))


def _log_odds(stayed: _Stayed, moved: _Moved, chance: np.ndarray, pairs: float, *, undo: bool = False) -> np.ndarray:
    """Logarithm of the odds that a record of each cell came from another combination of levels.

    Within a stratum a record of level m was moved to l with a probability ``T[m, l]`` that follows from the number of
    pairs and the sizes of the levels, whatever its other attributes.  By Bayes' rule this and the chances of the
    original levels by pattern give the odds.  With ``undo`` the chances are those of the released levels, which are
    those of the original ones times T.
    """
    stratum, sizes = stayed.stratum[stayed.pattern], moved.in_strata(stayed)
    present = [np.flatnonzero(row) for row in sizes]
    partners = [_differ(moved.levels[levels]) for levels in present]
    # records that have a partner
    able = np.array([sizes[at, levels] @ partners[at].any(axis=1) for at, levels in enumerate(present)])
    odds = np.full(len(moved.own), math.log(_SURE))
    for at in np.flatnonzero(able):
        rows, levels = np.flatnonzero(stratum == at), present[at]
        size, own = sizes[at, levels], np.searchsorted(levels, moved.own[rows])
        origin = chance[stayed.pattern[rows][:, None], levels]
        moves = 2 * pairs * able[at] / able.sum() * pair_shares(size, partners[at])
        move = moves / size[:, None]
        move /= np.maximum(move.sum(axis=1, keepdims=True), 1.0)
        stay = 1 - move.sum(axis=1)
        if undo:
            origin = np.maximum(origin @ np.linalg.pinv(np.diag(stay) + move, rcond=_SINGULAR), 0.0)
        each = np.arange(len(rows))
        arrived, kept = (origin @ move)[each, own], origin[each, own] * stay[own]
        odds[rows] = np.log(np.maximum(arrived, _SURE)) - np.log(np.maximum(kept, _SURE))
    return odds
