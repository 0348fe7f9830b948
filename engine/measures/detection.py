"""Risk that a swap is recognised from the release and published tables of the original."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.common.errors import UsageError, did_you_mean
from engine.data.domain import Domain
from engine.data.table import occupied
from engine.measures.base import Measure
from engine.measures.detection_grades import Graded, attacked, auc, graded, precision
from engine.measures.linkage import decimal_parameter
from engine.models.level_model import MODELS
from engine.release.batch import ReleaseBatch, unpack


def rate_error(batch: ReleaseBatch) -> np.ndarray:
    """Relative error of the rate that somebody infers from two-way tables of the original and of the release.

    ``|inferred - true| / true``, with the share of altered records as the true rate; 1 where no table moved.  From 0
    on; higher is better, for the rate is worth keeping to oneself; NaN when no record is altered.
    """
    errors = np.full(len(batch), np.nan)
    for i, (release, altered, inference) in enumerate(attacked(batch)):
        rate = float(altered.sum() / release.counts.sum())
        if rate:
            errors[i] = abs(inference.rate - rate) / rate
    return errors


def detection_auc(batch: ReleaseBatch, model: str) -> np.ndarray:
    """Chance that an altered record is more suspect than an unaltered one, ties counted half (area under the ROC
    curve).

    Records are suspected by the probability that they are altered, given the release and two-way tables of the
    original, or by the chance of their levels in the original as the tables alone give it
    (:mod:`engine.models.swap_detection`); the better suspicion counts.  The logit that the first fit starts from has
    terms for pairs of the unswapped attributes (``model`` is "two_way"), for each by itself ("main"), or none
    ("level").  In [0, 1]; lower is better and 0.5 is guessing; NaN when no record is altered, or all are.
    """
    return np.array([auc(attack) for attack in graded(batch, model)], float)


def detection_precision(batch: ReleaseBatch, top: str, model: str) -> np.ndarray:
    """Share of altered records among the ``top`` share of records that are most suspect.

    Suspicion as in :func:`detection_auc`; the number of records is rounded up, and of equally suspect records an
    average counts.  In [0, 1]; lower is better and the rate is guessing; NaN when no record is altered.
    """
    share = decimal_parameter("detection_precision", "top", top)
    return np.array([precision(attack, share) for attack in graded(batch, model)], float)


def small_cells_recognised(batch: ReleaseBatch, domain: Domain, places: tuple[int, ...], n_rule: int) -> np.ndarray:
    """Mean probability, as somebody with the release can form it, that a record in a small key cell is unaltered.

    Eq. 6 of Gomatam, Karr and Sanil (2005) counts unaltered records in small cells, which only the agency can tell;
    here each released record of a small cell counts with its probability of being unaltered given the release, by
    Bayes' rule with the inferred rate (:mod:`engine.models.swap_detection`), as a share of all records in small cells.
    In [0, 1]; lower is better; 1 when nothing was detected; NaN without small cells.
    """
    return np.array([_recognised(attack, places, n_rule) for attack in graded(batch)], float)


def _recognised(attack: Graded, places: Sequence[int], n_rule: int) -> float:
    cells, counts, shape = attack.release
    key = occupied([cells[:, j] for j in places], [shape[j] for j in places], len(cells))[1]
    small = np.bincount(key, weights=counts)[key] < n_rule
    records = int(counts[small].sum())
    return float((counts * attack.detection.unaltered)[small].sum()) / records if records else float("nan")


def altered_share_max(batch: ReleaseBatch, least: int) -> np.ndarray:
    """Largest share of altered records in any level of an attribute, as a multiple of the rate.

    Levels as released, of all tabulated attributes, with ``least`` records or more.  From 0 on, and about 1 when all
    groups carry the swap alike; lower is better; NaN when no record is altered or no level is large enough.
    """
    levels = [unpack(batch.index_words, place) for place in batch.layout]
    result = np.full(len(batch), np.nan)
    first = 0
    for i, last in enumerate(batch.ends.tolist()):
        part = slice(first, last)
        first = last
        cell, altered = batch.cell[part], (batch.after - batch.kept)[part]
        change = (batch.after - batch.before)[part]
        if not altered.any():
            continue
        largest = []
        for j, n_levels in enumerate(batch.shape):
            own = levels[j][cell]
            records = _original_levels(batch, j) + np.bincount(own, weights=change, minlength=n_levels)
            altered_records = np.bincount(own, weights=altered, minlength=n_levels)
            enough = records >= max(least, 1)
            largest += (altered_records[enough] / records[enough]).tolist()
        if largest:
            result[i] = max(largest) / (altered.sum() / batch.n_records)
    return result


def _original_levels(batch: ReleaseBatch, attribute: int) -> np.ndarray:
    """Records of each level of an attribute in the original, levels that do not occur included."""
    n = len(batch.original)

    def tabulated() -> np.ndarray:
        own = unpack(batch.index_words[:n], batch.layout[attribute])
        return np.bincount(own, weights=batch.original, minlength=batch.shape[attribute])

    return batch.shared.cached(("one-way table", attribute), tabulated)


# -- what is registered ----------------------------------------------------------------------------------------------


def _check_model(model: str) -> None:
    if model not in MODELS:
        raise UsageError(f"model == '{model}', must be two_way, main or level.{did_you_mean(model, MODELS)}")


def _check_precision(top: str, model: str) -> None:
    share = decimal_parameter("detection_precision", "top", top)
    if not 0 < share <= 1:
        raise UsageError(f"detection_precision: top == {top}, must be above 0 and at most 1, such as 0.01.")
    _check_model(model)


def _check_n_rule(n_rule: int) -> None:
    if n_rule < 2:
        raise UsageError(f"small_cells_recognised: n_rule == {n_rule}, must be at least 2.")


def _check_least(least: int) -> None:
    if least < 1:
        raise UsageError(f"altered_share_max: least == {least}, must be at least 1 record.")


_MARGINS = "least squares on two-way tables of original and release"
_FIT = (
    "Bayes' rule with a model of the original: a logit of the swapped attribute on the others in the release, fitted "
    "to two-way tables by iterative proportional fitting (Deming and Stephan 1940, doi:10.1214/aoms/1177731829)"
)
_REVISED = "suspicion by a logit fitted to the release alone, or by Bayes' rule alone"
_SUSPECTED = ", or the tables alone so fitted; the better suspicion counts"
_COST = "ten milliseconds; grows with occupied cells times the square of the model's terms"
_ALTERED = "no record is altered"
_SUPPOSED = (
    " The attack supposes the random swap, whatever made the candidate; detection_unit_auc and "
    "detection_unit_precision suppose none, and look at whole households where these moved."
)

RATE_ERROR = Measure(
    name="rate_error",
    symbol="Δr̂",
    title="Error of the rate inferred from published tables",
    kind="risk",
    better="higher",
    range="0 on",
    least=0.0,
    unit="share of the rate",
    source=_MARGINS,
    meaning=(
        "How far off, as a share of the true rate, somebody is who estimates the share of altered records from "
        "two-way tables of the original and of the release. Near 0 the rate is no secret." + _SUPPOSED
    ),
    over="all",
    compute=rate_error,
    undefined=_ALTERED,
    cost="a millisecond",
)
DETECTION_AUC = Measure(
    name="detection_auc",
    symbol="AUC",
    title="Detection of altered records",
    kind="risk",
    better="lower",
    range="0 to 1",
    least=0.0,
    most=1.0,
    unit="probability",
    source=_FIT
    + _SUSPECTED
    + "; area under the ROC curve (Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747)",
    meaning=(
        "The probability that an altered record is more suspect than an unaltered one to an intruder with published "
        "two-way tables of the original; 0.5 is guessing." + _SUPPOSED
    ),
    over="all",
    compute=detection_auc,
    parameters={"model": "two_way"},
    check=_check_model,
    undefined=_ALTERED + ", or all are",
    cost=_COST,
    revised=_REVISED,
)
DETECTION_PRECISION = Measure(
    name="detection_precision",
    symbol="PPV",
    title="Altered records among the most suspect",
    kind="risk",
    better="lower",
    range="0 to 1",
    least=0.0,
    most=1.0,
    unit="share of the most suspect records",
    unit_kind="share",
    share_of="the most suspect records",
    source=_FIT + _SUSPECTED + "; precision among the first",
    meaning=(
        "The share of altered records among those that are most suspect to an intruder with published two-way tables "
        "of the original. Guessing reaches the rate." + _SUPPOSED
    ),
    over="all",
    compute=detection_precision,
    parameters={"top": "0.01", "model": "two_way"},
    check=_check_precision,
    undefined=_ALTERED,
    cost=_COST,
    revised=_REVISED,
)
SMALL_CELLS_RECOGNISED = Measure(
    name="small_cells_recognised",
    symbol="DR*",
    title="Small-cell records believed unaltered",
    kind="risk",
    better="lower",
    range="0 to 1",
    least=0.0,
    most=1.0,
    unit="mean probability",
    source="Gomatam, Karr and Sanil (2005), eq. 6, with the probability of being unaltered given the release",
    meaning=(
        "The mean probability that a record in a small cell (fewer than n_rule together) is unaltered, for somebody "
        "with the release and published two-way tables of the original. Eq. 6 counts what only the agency knows."
        + _SUPPOSED
    ),
    over="keys",
    compute=small_cells_recognised,
    parameters={"n_rule": 3},
    check=_check_n_rule,
    undefined="no released record stands in a small cell",
    named=True,
    cost=_COST,
    revised=_REVISED,
)
ALTERED_SHARE_MAX = Measure(
    name="altered_share_max",
    symbol="a/r",
    title="Altered share of the most altered group",
    kind="risk",
    better="lower",
    range="0 on",
    least=0.0,
    unit="multiple of the rate",
    source="largest share of altered records in a one-way level, over the rate",
    meaning=(
        "The altered share of the group that carries most of the changes, as a multiple of the overall share. A "
        "group is a level of an attribute with no fewer than least records."
    ),
    over="all",
    compute=altered_share_max,
    parameters={"least": 45},
    check=_check_least,
    undefined="no record is altered, or no level has so many records",
    cost="a tenth of a millisecond",
)
