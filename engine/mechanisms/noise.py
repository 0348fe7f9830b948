"""Additive multivariate noise: normal noise with the covariances of the numbers it is added to.

``X* = X + E`` with rows of ``E`` from ``N(0, c · Σ̂)``, Σ̂ the sample covariance (of all records, or within strata).
Covariances grow by the factor ``1 + c`` and correlations stay; ``rescale`` shrinks towards the mean by ``sqrt(1 + c)``,
so that means and covariances are in expectation what they were.  Oganian and Lesaja add it to conditional group
swapping; their level is lost from the paper's text.

Random numbers, from the stream of table 1: ``n_records × columns`` standard normal numbers, by record.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.common.blas_threads import one_thread
from engine.common.errors import UsageError
from engine.data.table import occupied
from engine.mechanisms.base import Drawn, Mechanism, table_stream
from engine.mechanisms.propensity import strata_places
from engine.models.columns import complete_numbers
from engine.release.amount import Counts
from engine.release.parameter import Parameter, Setting
from engine.release.records import ReleasedTable
from engine.release.results import RunStatus

_NONE = 1e-12  # eigenvalues of a correlation matrix below this many are rounding


class Prepared(NamedTuple):
    """Columns ``x`` (n_records, p) by name, records of each stratum, its means (p,) and root of its covariance (p, p);
    warnings."""

    names: tuple[str, ...]
    x: np.ndarray
    records: list[np.ndarray]
    means: list[np.ndarray]
    roots: list[np.ndarray]
    warnings: list[str]


def root(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means ``(p,)`` of columns and the symmetric root ``R`` of their correlations times their standard deviations,
    so that ``z @ R`` has their covariance (n - 1 in the denominator) for standard normal ``z``.

    A singular covariance is fine; a constant column, and everything where there is one record, has a column of zeros.
    """
    n, p = x.shape
    columns = np.ascontiguousarray(x.T)
    shifted = columns - columns[:, :1]
    centre = shifted.mean(axis=1, keepdims=True)
    means = (columns[:, :1] + centre)[:, 0]
    if n < 2:
        return means, np.zeros((p, p))
    centred = shifted - centre
    centred[~shifted.any(axis=1)] = 0.0
    sd = np.sqrt((centred * centred).sum(axis=1) / (n - 1))
    unit = centred / np.where(sd > 0, sd, 1.0)[:, None]
    with one_thread():
        sizes, directions = np.linalg.eigh(unit @ unit.T / (n - 1))
        roots_of_sizes = np.sqrt(np.where(sizes > _NONE * p, sizes, 0.0))
        return means, (directions * roots_of_sizes) @ directions.T * sd


def prepare(setting: Setting) -> Prepared:
    """Columns and their covariances.  Refuses unknown columns, columns of an attribute, the weight and the identifier,
    and missing values."""
    data = setting.data
    behind = {c: attribute.name for attribute in data.domain.attributes for c in attribute.columns}
    names, warnings = setting["cols"], list[str]()
    if not names:
        names = tuple(name for name in setting.numeric if name not in behind)
        coded_columns = [name for name in setting.numeric if name in behind]
        if coded_columns:
            warnings.append(f"columns that make levels get no noise: {', '.join(coded_columns)}")
    if not names:
        raise UsageError("noise needs at least one numeric column outside the attributes; name it in cols")
    if len(set(names)) < len(names):
        raise UsageError(f"cols == '{'+'.join(names)}', names a column twice.")
    for name in names:
        if name in behind:
            raise UsageError(f"column '{name}' makes the levels of '{behind[name]}'; noise would contradict them")
        if name in data.single_uses:
            meaning = {
                "weight": "the weight of records",
                "id": "the identifier of records",
                "unit": "that of households",
            }
            raise UsageError(f"column '{name}' is {meaning[data.single_uses[name]]}")
    table = ReleasedTable(data)
    x = np.column_stack([complete_numbers(table, name, "noise") for name in names])
    places = strata_places(data, setting["within"])
    cells, stratum = occupied([data.codes[j] for j in places], [data.domain.shape[j] for j in places], data.n_records)
    sizes = np.bincount(stratum, minlength=len(cells))
    records = np.split(np.argsort(stratum, kind="stable"), np.cumsum(sizes)[:-1])
    means, roots = map(list, zip(*(root(x[stratum_records]) for stratum_records in records), strict=True))
    single = int((sizes == 1).sum())
    if single:
        warnings.append(f"{single} records are alone in their stratum and get no noise")
    flat = [name for c, name in enumerate(names) if not any(r[:, c].any() for r in roots)]
    if flat:
        warnings.append(f"columns without variation get no noise: {', '.join(flat)}")
    return Prepared(tuple(names), x, records, means, roots, warnings)


def noisy(prepared: Prepared, z: np.ndarray, c: float, rescale: bool) -> np.ndarray:
    """Columns with noise, shape of ``x``, given standard normal numbers ``z`` of that shape."""
    out = prepared.x.copy()
    with one_thread():
        for records, mean, factor in zip(prepared.records, prepared.means, prepared.roots, strict=True):
            x = prepared.x[records] + np.sqrt(c) * (z[records] @ factor)
            varies = factor.any(axis=0)
            if rescale:
                x[:, varies] = mean[varies] + (x[:, varies] - mean[varies]) / np.sqrt(1 + c)
            out[records] = x
    return out


def draw(prepared: Prepared, setting: Setting, derived: bytes) -> Drawn:
    """One table."""
    data, c = setting.data, setting["c"]
    warnings = list(prepared.warnings)
    diagnostics: dict[str, float | str] = {"columns": ", ".join(prepared.names), "c": c}
    if not c:
        diagnostics["warning"] = "; ".join([*warnings, "no noise is asked for"])
        return Drawn([ReleasedTable(data)], RunStatus.NOOP, np.zeros((1, data.n_records), bool), diagnostics)
    x = noisy(prepared, table_stream(derived, 1).standard_normal(prepared.x.shape), c, setting["rescale"])
    if setting["round"]:
        integer_columns = (prepared.x == np.round(prepared.x)).all(axis=0)
        x[:, integer_columns] = np.round(x[:, integer_columns])
        names = [name for name, is_whole in zip(prepared.names, integer_columns, strict=True) if is_whole]
        warnings.append(f"rounded to whole numbers, which moves covariances: {', '.join(names) or 'no column'}")
    if setting["clip"]:
        low, high = prepared.x.min(axis=0), prepared.x.max(axis=0)
        beyond = int(((x < low) | (x > high)).sum())
        x = np.clip(x, low, high)
        warnings.append(f"{beyond} values cut to the range of the original, which moves means and covariances")
        diagnostics["cut_values"] = float(beyond)
    differs = x != prepared.x
    diagnostics["records_changed"] = float(differs.any(axis=1).sum())
    if warnings:
        diagnostics["warning"] = "; ".join(warnings)
    released = {name: np.ascontiguousarray(x[:, k]) for k, name in enumerate(prepared.names)}
    return Drawn([ReleasedTable(data, numbers=released)], RunStatus.OK, differs.any(axis=1)[None], diagnostics)


NOISE = Mechanism(
    name="noise",
    title="Additive multivariate noise",
    source="Oganian and Lesaja, Propensity score based conditional group swapping, section 4",
    when="numbers are nearly unique and could be linked; usually after a swap of attributes, which leaves them alone",
    rate="the noise that every record gets, of c times the variance of its column",
    prepare=prepare,
    draw=draw,
    parameters=(
        Parameter(
            "cols",
            "names",
            "",
            "numeric columns that get noise, joined by +; by default those the plan names",
            label="Numeric columns that get noise",
        ),
        Parameter(
            "c",
            "decimal",
            "0.15",
            "variance of the noise over the variance of the column",
            low="0",
            label="Variance of the noise, as a share of the column's",
            counts=Counts("number"),
        ),
        Parameter(
            "rescale",
            "truth",
            "yes",
            "shrink towards the mean, so that variances stay in expectation",
            label="Keep variances as they are on average",
        ),
        Parameter(
            "within",
            "names",
            "",
            "attributes in whose strata covariances are taken, joined by +; default none",
            label="Strata in which covariances are taken",
        ),
        Parameter(
            "round",
            "truth",
            "no",
            "round columns of whole numbers to whole numbers again",
            label="Round whole numbers to whole numbers again",
        ),
        Parameter(
            "clip",
            "truth",
            "no",
            "cut values to the smallest and largest of the original",
            label="Stay within the smallest and largest value",
        ),
    ),
    amounts=(("c",),),
    fit=("cols", "within"),
)
