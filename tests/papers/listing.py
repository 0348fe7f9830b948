"""Where the rows of the table of reproductions come from, and their names without running a simulation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from tests.papers import (
    czech,
    not_reproduced,
    rows_decision,
    rows_group_swap,
    rows_key_swaps,
    rows_maps,
    rows_smike,
)
from tests.papers.row import Row
from tests.shared import folder

Rows = list[Row]


class Source(NamedTuple):
    """One function of rows: its paper, its part of the paper, what it needs from the shared folder."""

    paper: str
    part: str
    files: tuple[str, ...]
    make: Callable[[bool], Rows]

    def missing(self) -> list[str]:
        """Its files that are not there."""
        return [name for name in self.files if not folder().joinpath(name).is_file()]


MAPS = "Liu: Multiple and probabilistic swapping of categorical keys (MaPS)"
CGS = "Oganian and Lesaja: Propensity score based conditional group swapping"
NISS = "Gomatam, Karr and Sanil (2005): Data swapping as a decision problem"
SWAPS = "Liu and Little: SMIKe vs. data swapping and PRAM"
SMIKE = "Little and Liu (2003): Selective multiple imputation of keys (SMIKe)"
BESIDE = "Not published: the Czech and CPS-8D figures of independent implementations"
CPS, CPS_THERE, CZECH_THERE = "data/cps8d.csv", "reference/reference_cps8d.csv", "reference/reference_czech.csv"
PASSENGERS, HOSPITALS = "data/titanic.csv", "data/smho_n874.csv"

SOURCES = (
    Source(MAPS, "table 1", (), lambda quick: rows_maps.rows(quick)),
    Source(MAPS, "table 2", (), lambda quick: rows_key_swaps.rows_000(quick)),
    Source(MAPS, "not reproduced", (), lambda quick: not_reproduced.MAPS),
    Source(CGS, "group swapping", (PASSENGERS, HOSPITALS), lambda quick: rows_group_swap.rows(quick)),
    Source(CGS, "not reproduced", (), lambda quick: not_reproduced.GROUP_SWAPPING),
    Source(NISS, "swapping as a decision", (), lambda quick: rows_decision.rows_counts()),
    Source(NISS, "swapping as a decision", (CPS,), lambda quick: rows_decision.rows_cps(quick)),
    Source(NISS, "swapping as a decision", (), lambda quick: rows_decision.rows_czech(quick)),
    Source(NISS, "not reproduced", (), lambda quick: not_reproduced.DECISION),
    Source(SWAPS, "sensitivity", (), lambda quick: rows_smike.sensitivity_rows(quick)),
    Source(SWAPS, "key swaps", (), lambda quick: rows_key_swaps.rows_003(quick)),
    Source(SMIKE, "SMIKe", (), lambda quick: rows_smike.rows(quick)),
    Source(SMIKE, "study I", (), lambda quick: rows_smike.study_rows(quick)),
    Source(SMIKE, "not reproduced", (), lambda quick: not_reproduced.SMIKE),
    Source(BESIDE, "beside independent", (), lambda quick: rows_decision.rows_models()),
    Source(BESIDE, "beside independent", (CZECH_THERE,), lambda quick: rows_decision.rows_elsewhere(quick)),
    Source(BESIDE, "beside independent", (CPS, CPS_THERE), lambda quick: rows_decision.rows_elsewhere_cps(quick)),
)


def listed() -> list[tuple[Source, Rows]]:
    """All rows with names, published figures and grades as they are, and figures of ours that mean nothing.

    Every simulation is replaced by random numbers of its shape; rows come about the way they always do.
    """
    with ExitStack() as stack:
        for module, name, fake in _fakes():
            stack.enter_context(patch.object(module, name, fake))
        return [(source, source.make(True)) for source in SOURCES]


def _fakes() -> list[tuple[Any, str, Callable[..., Any]]]:
    rng = np.random.default_rng(1)

    def of(*shape: int) -> Callable[..., np.ndarray]:
        return lambda *given: rng.random(shape)

    def tables(names: Any) -> Callable[..., Any]:
        return lambda *given: {name: (rng.random((3, 5)), rng.random((3, 5))) for name in names}

    def realise(*given: Any) -> rows_group_swap.Realised:
        overlaps: dict[str, np.ndarray] = defaultdict(lambda: rng.random((3, 5)))
        places: dict[str, list[str]] = defaultdict(lambda: [rows_group_swap.SEX])
        return rows_group_swap.Realised(overlaps, places, rng.random((3, 6, 4)), rng.random((3, 6, 4, 4)), {})

    def swapped(replicates: int) -> tuple[list[str], np.ndarray]:
        letters = rows_decision.LETTERS
        pairs = [a + b for i, a in enumerate(letters) for b in letters[i + 1 :]]
        return [*letters, *pairs], rng.random((36, 3, 4, 4))

    def simulated(replicates: int) -> dict[str, dict[str, np.ndarray]]:
        readings = [f"{mode}_{model}" for model in czech.MODELS for mode in czech.COLUMNS.values()]
        return {what: {swap: rng.random(40) for swap in czech.SWAPS} for what in ("DR", "HD", *readings)}

    def references(name: str) -> list[dict[str, str]]:
        if "czech" in name:
            return [defaultdict(lambda: "1", swap=swap) for swap in czech.SWAPS]
        labels, _ = swapped(1)
        return [defaultdict(lambda: "1", swap=one, rate=rate) for one in labels for rate in rows_decision.RATES]

    table = type("Table", (), {"n_records": 1, "__len__": lambda self: 1})()
    data = SimpleNamespace(table=table, domain=SimpleNamespace(shape=(1,)))
    return [
        (rows_maps, "simulate", tables(rows_maps.PUBLISHED)),
        (rows_key_swaps, "simulate", tables(rows_key_swaps.TABLE_2)),
        (rows_key_swaps, "protection", lambda *given: {k: rng.random((3, 2, 8)) for k in ("RDS", "DDS", "PRAM")}),
        (rows_smike, "sensitivity", of(3, 2, 8)),
        (rows_smike, "protection", of(3, 2, 2, 8)),
        (rows_smike, "study_1", of(3, 2)),
        (rows_group_swap, "realise", realise),
        (rows_group_swap, "linked", of(3)),
        (rows_decision, "cps", lambda: (None, data)),
        (rows_decision, "swapped", swapped),
        (rows_decision, "references", references),
        (czech, "place", lambda *given: 1),
        (czech, "simulated", simulated),
    ]
