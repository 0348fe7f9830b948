"""Recodes that a release breaks: pairs of columns of which one decided the other in the original."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from engine.plan.dependencies import decided_among
from engine.sweeps.release_warnings import released_names
from engine.sweeps.remake import Remade, carriers_of


@dataclass(frozen=True)
class Recode:
    """Of two released columns the ``decider`` decides the ``decided`` in every original record.

    In ``broken`` records of the release (the most of any of its tables) the two contradict each other; ``undone`` says
    whether the decider is as it was, so that recomputing the decided column from it restores that one everywhere.
    """

    decider: str
    decided: str
    broken: int
    undone: bool


def released_recodes(made: Remade, names: Iterable[str] | None = None) -> list[Recode]:
    """All exact recodes among the released columns, or among ``names``, and what a release made of them.

    A decider whose numbers were changed by noise takes values of its own, from which nothing can be recomputed; such
    pairs are left out.
    """
    considered = set(released_names(made.data) if names is None else names)
    pairs = [
        (a, b)
        for a, b in decided_among(made.data.raw, considered)
        if not any(table.is_renumbered(a) for table in made.tables)
    ]
    carriers = [carriers_of(made, d) for d in range(len(made.tables))] if pairs else []
    recodes = []
    for a, b in pairs:
        each = [_broken(made, d, carriers[d], a, b) for d in range(len(made.tables))]
        undone = any(broken and decider_stayed for broken, decider_stayed in each)
        recodes.append(Recode(a, b, max(broken for broken, _ in each), undone))
    return recodes


def _broken(made: Remade, table: int, carriers: dict[str, np.ndarray], a: str, b: str) -> tuple[int, bool]:
    """Records of one table in which ``b`` is not what ``a`` says, and whether ``a`` is as it was in all of them."""
    data, released = made.data, made.tables[table]
    own = data.raw.columns[a].codes.astype(np.int64) + 1
    other = data.raw.columns[b].codes.astype(np.int64) + 1
    shown = own[carriers[a]] if a in carriers else own
    example = np.zeros(len(data.raw.columns[a].values) + 1, np.int64)
    example[own] = np.arange(data.n_records)  # one record of each value of the decider
    says = example[shown]
    if released.is_renumbered(b):
        before = type(released)(data).numeric(b)
        wrong = ~np.isclose(before[says], released.numeric(b), rtol=1e-12, atol=0, equal_nan=True)
    else:
        now = other[carriers[b]] if b in carriers else other
        wrong = other[says] != now
    return int(np.count_nonzero(wrong)), bool(np.array_equal(shown, own))
