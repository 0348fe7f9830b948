"""Wrong implementations of MaPS, of DDS and RDS, and of SMIKe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from engine.mechanisms import key_swaps, maps, smike
from engine.mechanisms.base import Drawn, Mechanism
from engine.mechanisms.key_swaps import DDS, RDS
from engine.mechanisms.maps import MAPS
from engine.mechanisms.smike import SMIKE, Choice
from engine.models import location
from engine.release.parameter import Setting
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
from tests.papers import rows_key_swaps, rows_maps, rows_smike
from tests.papers.mutants import Mutant, drawing, forced, inside, unchanged
from tests.papers.row import Row

Weigh = Callable[[np.ndarray, float], np.ndarray]
FEWER = "cells of fewer than s records are sensitive (< for ≤)"
_DRAW = location.draw


# -- what they share -------------------------------------------------------------------------------------------------


def plugged_in(model: location.Model, rng: np.random.Generator, with_pi: bool = True) -> location.Theta:
    return location.plug_in(model)


def printed_scale(model: location.Model, rng: np.random.Generator, with_pi: bool = True) -> location.Theta:
    """Σ from an inverse Wishart whose scale is the pooled variance, as printed, not the sum of squares."""
    theta = _DRAW(model, rng, with_pi)
    turn = theta.turn * np.sqrt(model.df)
    noise = rng.standard_normal(model.means.shape) / np.sqrt(model.sizes)[:, None]
    return location.Theta(theta.log_pi, location.turned(model.means, turn) + noise, turn)


def means_plugged_in(model: location.Model, rng: np.random.Generator, with_pi: bool = True) -> location.Theta:
    theta = _DRAW(model, rng, with_pi)
    return theta._replace(mu=location.turned(model.means, theta.turn))


# -- MaPS ------------------------------------------------------------------------------------------------------------


def close_to_even(log_odds: np.ndarray, w0: float) -> np.ndarray:
    """Weights as the paper has them."""
    weights = np.exp(-np.abs(log_odds))
    return np.where(weights >= w0, weights, 0.0)


def even(log_odds: np.ndarray, w0: float) -> np.ndarray:
    return (close_to_even(log_odds, w0) > 0).astype(float)


def without_cutpoint(log_odds: np.ndarray, w0: float) -> np.ndarray:
    return np.exp(-np.abs(log_odds))


def one_sided(log_odds: np.ndarray, w0: float) -> np.ndarray:
    odds = np.exp(np.minimum(log_odds, 50))
    return np.where(odds >= w0, odds, 0.0)


def swapper(
    weigh: Weigh = close_to_even, stay: float = 1.0, again: bool = False, only_nonsensitive: bool = False
) -> Callable[..., np.ndarray]:
    """One table's cycles of MaPS, plainly written; as it stands it is the right one."""

    def swap(
        keys: location.KeyCells, t: np.ndarray, mu: np.ndarray, order: np.ndarray, uniforms: np.ndarray, w0: float,
        same_cell: bool,
    ) -> np.ndarray:  # fmt: skip
        x, own = keys.x, location.dot(t, mu[keys.x])
        source, free = np.arange(len(x)), np.ones(len(x), bool)
        may_be_chosen = ~keys.sensitive[x] if only_nonsensitive else np.ones(len(x), bool)
        weights_of = weigh(maps.log_odds(order, t, x, own, mu), w0)
        allowed_of = (weights_of > 0) & may_be_chosen
        for i, u, weights, allowed in zip(order.tolist(), uniforms.tolist(), weights_of, allowed_of, strict=True):
            if not (free[i] or again):
                continue
            if not again:
                allowed &= free
            allowed[i] = False
            partners = allowed.nonzero()[0]
            total = stay + weights[partners].cumsum()
            of_all = float(total[-1]) if len(total) else stay
            if of_all > 0 and u * of_all >= stay:
                j = int(partners[min(int(total.searchsorted(u * of_all, side="right")), len(partners) - 1)])
                source[i], source[j] = source[j], source[i]
                free[i] = free[j] = False
        return source

    return swap


def _maps(code: str, what: str, mechanism: Mechanism, detectable: bool = True, rival: bool = False) -> Mutant:
    return Mutant(code, "MaPS", what, lambda quick: rows_maps.rows(quick, mechanism), detectable, rival, made=mechanism)


_VISITS: dict[bytes, list[tuple[Any, ...]]] = {}


def _visits(prepared: maps.Prepared, setting: Setting, derived: bytes) -> list[tuple[Any, ...]]:
    """What MaPS hands to its cycles, table by table; noted once for all that get it wrong only from there on."""
    if derived not in _VISITS:
        noted = _VISITS[derived] = list[tuple[Any, ...]]()

        def note(*handed: Any) -> np.ndarray:
            noted.append(handed)
            return np.arange(setting.data.n_records)

        with patch.object(maps, "swap", note):
            MAPS.draw(prepared, setting, derived)
    return _VISITS[derived]


def cycles(**wrong: Any) -> Mechanism:
    """MaPS with the cycles of :func:`swapper`."""
    swap = swapper(**wrong)

    def draw(prepared: maps.Prepared, setting: Setting, derived: bytes) -> Drawn:
        if prepared.model is None:
            return MAPS.draw(prepared, setting, derived)
        sources = [swap(*handed) for handed in _visits(prepared, setting, derived)]
        tables = [ReleasedTable(setting.data, source, setting.keys) for source in sources]
        touched = np.array([source != np.arange(setting.data.n_records) for source in sources])
        return Drawn(tables, RunStatus.OK, touched, {})

    return replace(MAPS, draw=draw)


def _theta(draw: Callable[..., location.Theta], mechanism: Mechanism = MAPS) -> Mechanism:
    return drawing(mechanism, location, draw=draw)


OF_MAPS = (
    _maps("M1", "the original is released", unchanged(MAPS)),
    _maps("M2", "parameters are plugged in, not drawn", _theta(plugged_in)),
    _maps("M3", "cell means are plugged in, Σ is drawn", _theta(means_plugged_in)),
    _maps("M4", "scale of Σ is the pooled variance, as printed", _theta(printed_scale)),
    _maps("M5", "no partners of the same cell", forced(MAPS, same_cell_partners="no"), rival=True),
    _maps("M6", "partners from nonsensitive cells alone", cycles(only_nonsensitive=True)),
    _maps("M7", "the cutpoint is not applied", cycles(weigh=without_cutpoint)),
    _maps("M8", "weight is the odds, not min(O, 1/O)", cycles(weigh=one_sided)),
    _maps("M9", "who has been swapped is swapped again", cycles(again=True)),
    _maps("M10", "all partners above the cutpoint weigh the same", cycles(weigh=even), detectable=False),
    _maps("M11", "whoever has a partner never stays", cycles(stay=0.0), detectable=False),
    _maps("M12", FEWER, forced(MAPS, rule="lt"), detectable=False),
)


# -- DDS and RDS -----------------------------------------------------------------------------------------------------

_SWAP, _INITIATORS = key_swaps.swap, key_swaps.initiators


def within_a_cell(prepared: Any, visits: np.ndarray, state: np.ndarray, other: bool, barred: Any = None) -> Any:
    return _SWAP(prepared, visits, state, False, barred)


def nonsensitive_partners(prepared: Any, visits: np.ndarray, state: np.ndarray, other: bool, barred: Any = None) -> Any:
    return _SWAP(prepared, visits, state, other, prepared.sensitive)


def half_as_many(setting: Setting, n_sensitive: int) -> int:
    return _INITIATORS(setting, n_sensitive) // 2


def sensitive_first(prepared: Any, setting: Setting, derived: bytes) -> Drawn:
    """Every sensitive record is swapped, as DDS does."""
    return DDS.draw(prepared, setting, derived)


def at_random(prepared: Any, setting: Setting, derived: bytes) -> Drawn:
    """As many random records are swapped as there are sensitive ones, as RDS does."""
    return RDS.draw(prepared, RDS.setting(setting.data, {"s": str(setting["s"])}, setting.keys), derived)


def _key_swap(
    code: str,
    name: str,
    what: str,
    mechanism: Mechanism,
    table_2: bool = True,
    detectable: bool = True,
    rival: bool = False,
) -> Mutant:
    """A mutant of DDS or RDS in Liu's table 2 and, unless it is of no use there, in Liu and Little's."""

    def rows(quick: bool) -> list[Row]:
        ours = {name: mechanism}
        first = rows_key_swaps.rows_000(quick, ours) if table_2 else []
        second = rows_key_swaps.rows_003(quick, ours) if not (table_2 and rival) else []
        return [*first, *second]

    return Mutant(code, name, what, rows, detectable, rival)


OF_KEY_SWAPS = (
    _key_swap("D1", "DDS", "the original is released", unchanged(DDS)),
    _key_swap("D2", "DDS", "partners of the same cell are allowed", drawing(DDS, key_swaps, swap=within_a_cell)),
    _key_swap(
        "D3", "DDS", "partners from nonsensitive cells alone", drawing(DDS, key_swaps, swap=nonsensitive_partners),
        rival=True,
    ),
    _key_swap("D4", "DDS", FEWER, forced(DDS, rule="lt")),
    _key_swap("D5", "DDS", "RDS in place of DDS", replace(DDS, draw=at_random)),
    _key_swap("R1", "RDS", "the original is released", unchanged(RDS)),
    _key_swap("R2", "RDS", "table 2 of Liu: partners of any cell", forced(RDS, partner_pool="any"), rival=True),
    _key_swap(
        "R3", "RDS", "table 2 of Liu: initiators too are partners", forced(RDS, avoid_initiators="no"), rival=True
    ),
    _key_swap("R4", "RDS", "the rate counts both partners", drawing(RDS, key_swaps, initiators=half_as_many)),
    _key_swap("R5", "RDS", FEWER, forced(RDS, rule="lt")),
    _key_swap("R6", "RDS", "DDS in place of RDS", replace(RDS, draw=sensitive_first)),
    _key_swap(
        "R7", "RDS", "Liu and Little: partners of another cell alone", forced(RDS, partner_pool="other_cell"),
        table_2=False, detectable=False,
    ),
)  # fmt: skip


# -- SMIKe -----------------------------------------------------------------------------------------------------------

_KEY_CELLS, _TASK = location.key_cells, smike.make_task


def fewer_than_s(data: Any, keys: Any, s: int, rule: str) -> location.KeyCells:
    return _KEY_CELLS(data, keys, s, "lt")


def random_choices(v: np.ndarray, sensitive: np.ndarray, donors: np.ndarray, n_mix: int) -> list[Choice]:
    """Nonsensitive records are mixed in whatever their numbers."""
    return [Choice(donors, np.array([len(donors)]))] * len(sensitive)


def sensitive_alone(prepared: Any, level: Any, mixing: np.ndarray, model_set: str) -> smike.Task:
    """Mixing records serve the model and keep their own keys."""
    task = _TASK(prepared, level, mixing, model_set)
    return task._replace(records=level.sensitive, v=task.v[np.searchsorted(task.records, level.sensitive)])


def blind_to_numbers(task: smike.Task, theta: location.Theta, uniforms: np.ndarray) -> np.ndarray:
    """Cells are drawn by π alone."""
    assert theta.log_pi is not None
    return task.cells[np.searchsorted(np.cumsum(np.exp(theta.log_pi)), uniforms).clip(0, len(task.cells) - 1)]


def same_table(mechanism: Mechanism) -> Mechanism:
    """The first table is released D times."""

    def draw(prepared: Any, setting: Setting, derived: bytes) -> Drawn:
        drawn = mechanism.draw(prepared, setting, derived)
        return drawn._replace(tables=[drawn.tables[0]] * len(drawn.tables))

    return replace(mechanism, draw=draw)


def _smike(code: str, what: str, mechanism: Mechanism, detectable: bool = True) -> Mutant:
    def rows(quick: bool) -> list[Row]:
        return rows_smike.rows(quick, mechanism, rows_smike.VARIANTS[:1])

    return Mutant(code, "SMIKe", what, rows, detectable, made=mechanism)


def _fewer_counted(quick: bool) -> list[Row]:
    with patch.object(location, "key_cells", fewer_than_s):
        return rows_smike.sensitivity_rows(quick)


OF_SMIKE = (
    Mutant("K1", "sensitive cells", FEWER, _fewer_counted, rival=True),
    _smike("S1", "the original is released", unchanged(SMIKE)),
    _smike("S2", "mixing records at random, not the nearest", inside(SMIKE, smike, global_choices=random_choices)),
    _smike("S3", "local selection in place of global", forced(SMIKE, selection="local")),
    _smike("S4", "sensitive records alone are imputed", drawing(SMIKE, smike, make_task=sensitive_alone)),
    _smike("S5", "cells are drawn by π alone, whatever y is", drawing(SMIKE, smike, impute=blind_to_numbers)),
    _smike("S6", "scale of Σ is the pooled variance, as printed", _theta(printed_scale, SMIKE)),
    _smike("S7", "one mixing record for each sensitive one", forced(SMIKE, n_mix="1")),
    _smike("S8", "the same table is released D times", same_table(SMIKE)),
    _smike("S9", FEWER, forced(SMIKE, rule="lt")),
    _smike("S10", "one draw of the parameters for all tables", forced(SMIKE, proper="no"), detectable=False),
    _smike("S11", "parameters are plugged in, not drawn", _theta(plugged_in, SMIKE), detectable=False),
    _smike("S12", "the model is of all records of the donor cells", forced(SMIKE, model_set="C"), detectable=False),
)

MUTANTS = (*OF_MAPS, *OF_KEY_SWAPS, *OF_SMIKE)
