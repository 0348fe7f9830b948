"""Draw the exchanges of a release again under guessed keys, as somebody would who wants to undo it.

Which mechanisms can be drawn again they say themselves (``redrawable``); the guesser has their parameters, except for
the rate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from engine.bundle.export_source import ExportSource
from engine.mechanisms import mechanism
from engine.release.spec import ReleaseSpec, pairs_wanted, structure_of
from engine.sweeps.candidates import setting_of

_RATES = ("0.01", "0.02", "0.05", "0.1")


class Redrawn(NamedTuple):
    """The exchanged attributes (by position), how many rates are tried, and ``donors_of(key)``: for each rate and
    record the one from which it gets its values back, were that the key."""

    moved: tuple[int, ...]
    n_rates: int
    donors_of: Callable[[bytes], list[np.ndarray]]


def redrawn_exchanges(source: ExportSource) -> Redrawn | str:
    """The parts that draw the exchanges of a release again; the reason in words where that is no use."""
    spec, names = source.scenario.spec, source.data.domain.names
    swap = mechanism(spec.mechanism)
    moved = source.data.domain.indices(swap.altered(spec))
    if not swap.redrawable or len(moved) == len(names):
        return "the mechanism cannot be undone by drawing its pairs again"
    return _random_swap(source, moved) if swap.batched is not None else _of_records(source, moved)


def _random_swap(source: ExportSource, moved: tuple[int, ...]) -> Redrawn | str:
    """Pairs of cells, of which a smaller rate takes the first ones."""
    spec, data = source.scenario.spec, source.data
    swap, n = mechanism(spec.mechanism), data.n_records
    rates = sorted({*_RATES, *source.study.plan.space.rates, spec.rate}, key=float)
    stops = sorted({pairs_wanted(rate, n)[1] for rate in rates} - {0})
    if not stops or swap.batched is None:
        return "nothing was swapped"
    drawn, prepared = swap.batched, swap.batched.preparing(data.table)(structure_of(spec, data.table))

    def donors_of(key: bytes) -> list[np.ndarray]:
        derived = swap.stream(key, spec, data.table, source.replicate)
        pairs = drawn.records(derived, prepared.draw(derived, stops[-1]), data.cell_of_record)
        return [_traded(pairs[:stop], n) for stop in stops]

    return Redrawn(moved, len(stops), donors_of)


def _traded(pairs: np.ndarray, n_records: int) -> np.ndarray:
    """For each record, the one from which it gets its values when pairs trade them."""
    donors = np.arange(n_records)
    donors[pairs[:, 0]], donors[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
    return donors


def _of_records(source: ExportSource, moved: tuple[int, ...]) -> Redrawn:
    """Exchanges that are drawn over records, with each rate that the study has with the same other parameters."""
    spec, data, plan = source.scenario.spec, source.data, source.study.plan
    swap = mechanism(spec.mechanism)
    specs = [s.spec for s in source.study.scenarios if _but_rate(s.spec) == _but_rate(spec)]
    settings = [setting_of(one, plan, data) for one in specs]
    prepared = swap.prepare(settings[0])

    def donors_of(key: bytes) -> list[np.ndarray]:
        streams = (swap.stream(key, one, data.table, source.replicate) for one in specs)
        drawn = (
            swap.draw_replicate(prepared, setting, derived).tables[0]
            for setting, derived in zip(settings, streams, strict=True)
        )
        return [np.arange(data.n_records) if table.source is None else table.source for table in drawn]

    return Redrawn(moved, len(specs), donors_of)


def _but_rate(spec: ReleaseSpec) -> tuple[str, tuple[tuple[str, str], ...]]:
    return spec.mechanism, tuple((name, text) for name, text in spec.params if name != "rate")
