"""Multiple and probabilistic swapping of categorical keys (MaPS).

F. Liu, "Multiple and probabilistic swapping of categorical keys for statistical disclosure limitation in microdata".
Each of D tables draws θ of the general location model and visits the records of sensitive key cells in random order.  A
visited record that has not been swapped keeps its keys or exchanges them with one other record, the likelier the closer
their *swapping odds* are to 1; partners whose weight ``min(O, 1/O)`` is below the cutpoint ``w0`` are left out.

Random numbers of table d, from its stream: Σ, μ (π cancels), the visiting order, one uniform per visit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.mechanisms.base import Drawn, Mechanism, table_stream
from engine.models import location
from engine.release.parameter import Parameter, Setting
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus

_SEGMENT = 1 << 14  # odds worked out at once (128 kB)


class Prepared(NamedTuple):
    """Preparation that all tables share: key cells, sensitive records, and (where there are any) the model, whitened
    numbers ``v`` and diagnostics of the fit."""

    keys: location.KeyCells
    sensitive: np.ndarray
    model: location.Model | None
    v: np.ndarray
    about: dict[str, float | str]


def check(values: Mapping[str, Any]) -> None:
    """Refuse thresholds below 1 and cutpoints outside 0 to 1."""
    location.check_threshold(values)
    if not 0 <= values["w0"] <= 1:
        raise UsageError("w0 must be between 0 and 1")


def prepare(setting: Setting) -> Prepared:
    """Key cells, sensitive records and the posterior.  Refuses one key cell, and data the model does not allow."""
    keys = location.key_cells(setting.data, setting.keys, setting["s"], setting["rule"])
    if len(keys.counts) == 1:
        raise EngineError("all records share one key cell; keys cannot be swapped")
    sensitive, about = keys.records, keys.about(setting)
    if not len(sensitive):
        return Prepared(keys, sensitive, None, np.zeros((0, 0)), about)
    _, model, v = location.fitted(setting, keys, "MaPS", about)
    return Prepared(keys, sensitive, model, v, about)


def log_odds(records: np.ndarray, t: np.ndarray, x: np.ndarray, own_products: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """``log O_ij`` between each of some ``records`` and every record ``j``, shape ``(records, n)``.

    ``-(y_i - y_j)ᵀ Σ⁻¹ (μ_a - μ_{x_j})`` for record ``i`` of cell ``a``, with numbers ``t`` and means ``mu`` in units
    where Σ is the identity and ``own_products`` the products of each record with its own cell's mean.  Exactly 0 for
    equal cells and for equal numbers.
    """
    cells = x[records]
    odds = location.products(mu[cells], t)
    odds -= own_products
    products = location.products(t[records], mu)
    odds -= np.take(products[np.arange(len(records)), cells][:, None] - products, x, axis=1)
    return odds


def swap(
    keys: location.KeyCells,
    t: np.ndarray,
    mu: np.ndarray,
    order: np.ndarray,
    uniforms: np.ndarray,
    w0: float,
    same_cell: bool,
) -> np.ndarray:
    """One table's cycles: the record whose keys each record carries, shape ``(n,)``.

    ``order`` lists the sensitive records as they are visited; visit ``v`` uses ``uniforms[v]`` on the options in this
    order: stay (weight 1), then the available partners by record.  No record is swapped twice.
    """
    from engine.mechanisms.donor_kernels import exchange

    x = keys.x
    source, free = np.arange(len(x)), np.ones(len(x), bool)
    own_products = location.dot(t, mu[x])
    limit = -np.log(w0) + 1e-9 if w0 > 0 else np.inf  # what is farther need not be worked out
    lowest = max(w0, 5e-324)
    together = max(1, _SEGMENT // len(x))
    for begin in range(0, len(order), together):
        visits = begin + np.flatnonzero(free[order[begin : begin + together]])
        visited = order[visits]
        distances = np.abs(log_odds(visited, t, x, own_products, mu))
        near = distances <= limit
        near &= free
        if not same_cell:
            near &= x != x[visited, None]
        places = near.ravel().nonzero()[0]
        weights = np.exp(-distances.ravel()[places])
        passed = weights >= lowest
        if not passed.all():
            places, weights = places[passed], weights[passed]
        ends = np.searchsorted(places, len(x) * np.arange(1, len(visited) + 1))
        candidates = places if len(visited) == 1 else places % len(x)
        exchange(visited, uniforms[visits], ends, candidates, weights, free, source)
    return source


def draw(prepared: Prepared, setting: Setting, derived: bytes) -> Drawn:
    """D tables, each with its own θ, order and swaps."""
    n, tables = setting.data.n_records, setting["D"]
    touched = np.zeros((tables, n), bool)
    diagnostics: dict[str, float | str] = dict(prepared.about)
    if prepared.model is None:
        diagnostics["warning"] = "no key cell is sensitive; every table is the original"
        return Drawn([ReleasedTable(setting.data) for _ in range(tables)], RunStatus.NOOP, touched, diagnostics)
    x, sensitive = prepared.keys.x, prepared.sensitive
    released, changed = [], np.zeros(tables)
    for d in range(tables):
        rng = table_stream(derived, d + 1)
        if setting["theta"] == "draw":
            theta = location.draw(prepared.model, rng, with_pi=False)
        else:
            theta = location.plug_in(prepared.model)
        t = location.turned(prepared.v, theta.turn)
        order, uniforms = rng.permutation(sensitive), rng.random(len(sensitive))
        source = swap(prepared.keys, t, theta.mu, order, uniforms, setting["w0"], setting["same_cell_partners"])
        touched[d] = source != np.arange(n)
        changed[d] = np.count_nonzero(x[source[sensitive]] != x[sensitive])
        released.append(ReleasedTable(setting.data, source, setting.keys))
    share = float(changed.mean()) / len(sensitive)
    diagnostics["swaps_per_table"] = float(touched.sum()) / 2 / tables
    diagnostics["sensitive_changed_share"] = share
    if share < 0.5:
        w0 = dict(setting.texts)["w0"]
        diagnostics["warning"] = f"only {share:.0%} of sensitive records change per release at w0={w0}"
    return Drawn(released, RunStatus.OK, touched, diagnostics)


MAPS = Mechanism(
    name="maps",
    title="Probabilistic swapping of keys (MaPS)",
    source="Liu, Multiple and probabilistic swapping of categorical keys, sections 2 and 3",
    when=(
        "numeric variables depend on the keys and the counts of the key cells must stay exactly as they are; several "
        "tables are published together"
    ),
    rate="records of sensitive key cells, each visited once per table",
    prepare=prepare,
    draw=draw,
    parameters=(
        *location.THRESHOLD,
        Parameter(
            "w0",
            "decimal",
            "0.8",
            "smallest weight of a partner, 0 to 1; higher changes less and distorts less",
            label="Smallest weight of a partner",
        ),
        Parameter("D", "whole", "10", "tables published together", low="1", label="Tables published together"),
        Parameter(
            "same_cell_partners",
            "truth",
            "yes",
            "whether a record of the same key cell may be the partner",
            label="Partners of the same key cell are allowed",
        ),
        Parameter(
            "theta",
            "choice",
            "draw",
            "draw parameters for each table, or plug in estimates",
            choices=("draw", "plug-in"),
            label="Parameters of the model for each table",
        ),
        *location.VARIABLES,
    ),
    whole="all sensitive records",
    fit=("s", "rule", "y", "log"),
    many_tables=True,
    exchanges=True,
    check=check,
)
