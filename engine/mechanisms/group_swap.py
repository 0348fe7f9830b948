"""Conditional and random group swapping: records of like strata trade their strata.

A. Oganian and G. Lesaja, "Propensity score based conditional group swapping for disclosure limitation of
strata-defining variables".  Strata are paired, the nearest two first; of each pair the same number of records moves in
either direction.  Moving a record changes the strata-defining attributes alone.  CGS prefers records that look like the
other stratum (their propensity is their weight), RGS takes all alike.  Stratum sizes stay exactly as they are.

Successive sampling without replacement by weights is drawn as a race: each record gets a standard exponential number
over its weight, and the smallest win.  Random numbers, from the stream of table 1: for each pair in order, one number
per record of the lower stratum, then of the higher one.  So with an even number of strata a small amount is the
beginning of a larger one.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.mechanisms import propensity
from engine.mechanisms.base import Drawn, Mechanism, table_stream
from engine.release.parameter import Counts, Parameter, Setting
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus

FLOOR = 1e-12
"""The least weight of a record."""
MOST_MODELS = 20_000
"""Propensity models that are fitted to find out which strata are near (200 strata; half a minute of small ones)."""


class Pair(NamedTuple):
    """Two strata that trade records, ``a < b``, their distance, and the weights of their records (in record order).

    ``again`` is the stratum that has traded before, of which only records that have not moved take part (-1: none).
    """

    a: int
    b: int
    distance: float
    weights_a: np.ndarray
    weights_b: np.ndarray
    again: int = -1


class Prepared(NamedTuple):
    """Places of the strata's attributes, names and records of the strata, pairs in order, warnings and diagnostics."""

    places: tuple[int, ...]
    names: tuple[str, ...]
    records: list[np.ndarray]
    pairs: list[Pair]
    warnings: list[str]
    about: dict[str, float | str]


def check(values: Mapping[str, Any]) -> None:
    """Refuse two amounts at once."""
    if values["n_swap"] and values["rate"]:
        raise UsageError("n_swap and rate exclude each other; give one of them")


def prepare(setting: Setting) -> Prepared:
    """Strata, their pairwise propensity models and who trades with whom.

    Refuses fewer than two strata, so many that comparing them takes hours, missing values, and pairs that do not exist.
    """
    data = setting.data
    names = setting["strata"] or tuple(data.domain.names[j] for j in setting.keys)
    if not names:
        raise UsageError("no attribute defines the strata; name them in strata")
    places = propensity.strata_places(data, names)
    rows = propensity.rows(setting, places, setting["formula"], "CGS")
    h = len(rows.names)
    if h < 2:
        raise EngineError("need at least two strata")
    models = h * (h - 1) // 2
    if models > MOST_MODELS and not setting["pairs"].strip():
        raise EngineError(
            f"{'+'.join(names)} define {h:,} strata, and which of them are near takes a propensity model of every two, "
            f"{models:,} in all; at most {MOST_MODELS:,} are fitted. Name fewer attributes in strata, merge levels, or "
            "write the pairs by hand"
        )
    stratum = np.searchsorted(rows.start, rows.row_of, side="right") - 1
    order = np.argsort(stratum, kind="stable")
    records = np.split(order, np.cumsum(rows.sizes())[:-1])
    warnings: list[str] = []
    if not rows.full.shape[1]:
        warnings.append("no column to model the strata with; every record has the same chance to move")
    chosen = _pairs_by_hand(setting["pairs"], rows.names)
    separated = 0
    if chosen is None:
        distances, separated = _distances(rows, setting["distance"])
        chosen = greedy(distances, setting["odd"])
    pairs, ridges = [], 0
    for a, b, again in chosen:
        fitted = propensity.fit(rows, a, b)
        ridges += fitted.ridge
        who = f"{rows.names[a]},{rows.names[b]}"
        if fitted.reduced:
            warnings.append(f"strata {who} have fewer records than parameters; main effects only")
        if fitted.ridge:
            warnings.append(f"propensity model for strata {who} separated; ridge used")
        far = propensity.distance(rows, a, b, fitted, setting["distance"])
        of_a = fitted.of_a[rows.row_of[records[a]] - rows.start[a]]
        of_b = fitted.of_b[rows.row_of[records[b]] - rows.start[b]]
        pairs.append(Pair(a, b, far, np.maximum(of_a, FLOOR), np.maximum(1 - of_b, FLOOR), again))
    alone = sorted(set(range(len(rows.names))) - {s for pair in pairs for s in (pair.a, pair.b)})
    if alone:
        listed = ", ".join(f"'{rows.names[s]}'" for s in alone)
        predicate = (
            "stratum has no partner and is left as it is" if len(alone) == 1 else "strata have no partner and stay"
        )
        warnings.append(f"{len(alone)} {predicate}: {listed}")
    about: dict[str, float | str] = {
        "strata": float(len(rows.names)),
        "smallest_stratum": float(min(map(len, records))),
        "pairs": "; ".join(f"{rows.names[p.a]} ~ {rows.names[p.b]}" for p in pairs),
        "largest_distance": max(p.distance for p in pairs),
        "separated_models": float(separated or ridges),
    }
    return Prepared(tuple(places), rows.names, records, pairs, warnings, about)


def _distances(rows: propensity.Rows, measure: str) -> tuple[np.ndarray, int]:
    """Distances of all pairs, rounded so that like pairs are ties, infinite on the diagonal; how many needed a
    ridge."""
    h = len(rows.names)
    distances, ridges = np.full((h, h), np.inf), 0
    for a in range(h):
        for b in range(a + 1, h):
            fitted = propensity.fit(rows, a, b)
            ridges += fitted.ridge
            distances[a, b] = distances[b, a] = round(propensity.distance(rows, a, b, fitted, measure), 12)
    return distances, ridges


def greedy(distances: np.ndarray, odd: str) -> list[tuple[int, int, int]]:
    """Pairs ``(a, b, again)`` of strata, nearest first, ties by lowest place; ``odd`` says what the last one does."""
    h = len(distances)
    remaining, pairs = distances.copy(), []
    for _ in range(h // 2):
        a, b = sorted(int(s) for s in np.unravel_index(np.argmin(remaining), remaining.shape))
        pairs.append((a, b, -1))
        remaining[[a, b], :] = remaining[:, [a, b]] = np.inf
    if h % 2 and odd == "reuse":
        last = (set(range(h)) - {s for a, b, _ in pairs for s in (a, b)}).pop()
        near = int(np.argmin(distances[last]))
        pairs.append((min(last, near), max(last, near), near))
    return pairs


def _pairs_by_hand(text: str, names: tuple[str, ...]) -> list[tuple[int, int, int]] | None:
    """Pairs written by hand, ``one ~ other; third ~ fourth``, or None where there are none."""
    if not text.strip():
        return None
    pairs, named = list[tuple[int, int, int]](), set[str]()
    for pair_text in filter(None, (piece.strip() for piece in text.split(";"))):
        pair_names = [name.strip() for name in pair_text.split("~")]
        if len(pair_names) != 2:
            raise UsageError(f"pairs: cannot read '{pair_text}'; write two strata joined by ~, pairs separated by ;")
        for name in pair_names:
            if names.count(name) != 1:
                reason = "several strata are called" if name in names else "unknown stratum"
                raise UsageError(f"pairs: {reason} '{name}'.{did_you_mean(name, names)}")
            if name in named:
                raise UsageError(f"pairs: stratum '{name}' is named twice")
            named.add(name)
        a, b = sorted(names.index(name) for name in pair_names)
        pairs.append((a, b, -1))
    if not pairs:
        raise UsageError(f"pairs == '{text}', names no pair")
    return pairs


def amount(prepared: Prepared, setting: Setting) -> int:
    """Records that move in each direction; ``floor(rate · smallest stratum)`` where a rate is given."""
    if setting["n_swap"]:
        return int(setting["n_swap"])
    return int(Fraction(dict(setting.texts)["rate"]) * min(map(len, prepared.records)))


def winners(weights: np.ndarray, exponentials: np.ndarray, free: np.ndarray, n_swap: int) -> np.ndarray:
    """Places of the ``n_swap`` records that are first in the race, in the order in which they arrive."""
    time = np.where(free, exponentials / weights, np.inf)
    first = np.argpartition(time, n_swap - 1)[:n_swap]
    return first[np.argsort(time[first], kind="stable")]


def draw(prepared: Prepared, setting: Setting, derived: bytes) -> Drawn:
    """One table.  Refuses to move more records than a stratum has."""
    data, n_swap = setting.data, amount(prepared, setting)
    touched = np.zeros(data.n_records, bool)
    diagnostics: dict[str, float | str] = {**prepared.about, "n_swap": float(n_swap), "records_moved": 0.0}
    warnings = list(prepared.warnings)
    if n_swap == 0:
        rate = dict(setting.texts)["rate"]
        smallest = min(map(len, prepared.records))
        warnings.append(f"rate {rate} of {smallest} records rounds to zero" if rate != "0" else "nothing is to move")
        diagnostics["warning"] = "; ".join(warnings)
        return Drawn([ReleasedTable(data)], RunStatus.NOOP, touched[None], diagnostics)
    for s in sorted({s for pair in prepared.pairs for s in (pair.a, pair.b)}):
        size = len(prepared.records[s])
        if n_swap > size:
            raise EngineError(f"stratum '{prepared.names[s]}' has {size} records, cannot move {n_swap}")
        if n_swap == size:
            warnings.append(f"stratum '{prepared.names[s]}' moves whole; its records only trade names")
    rng = table_stream(derived, 1)
    source = np.arange(data.n_records)
    moved_weight = all_weight = 0.0
    for pair in prepared.pairs:
        movers = []
        for s, weights in ((pair.a, pair.weights_a), (pair.b, pair.weights_b)):
            records = prepared.records[s]
            free = ~touched[records]
            n_free = int(free.sum())
            if n_free < n_swap:
                raise EngineError(
                    f"stratum '{prepared.names[s]}' has {n_free} records that have not moved, cannot move {n_swap}"
                )
            used = weights if setting["mode"] == "CGS" else np.ones(len(weights))
            won = winners(used, rng.standard_exponential(len(records)), free, n_swap)
            moved_weight += float(weights[won].sum())
            all_weight += float(weights[free].mean()) * n_swap
            movers.append(records[won])
        source[movers[0]], source[movers[1]] = movers[1], movers[0]
        touched[movers[0]] = touched[movers[1]] = True
    moved = 2 * n_swap * len(prepared.pairs)
    diagnostics["records_moved"] = float(moved)
    diagnostics["largest_share_of_a_stratum"] = n_swap / min(
        len(prepared.records[s]) for pair in prepared.pairs for s in (pair.a, pair.b)
    )
    diagnostics["mean_propensity"] = all_weight / moved
    diagnostics["mean_propensity_of_moved"] = moved_weight / moved
    if warnings:
        diagnostics["warning"] = "; ".join(warnings)
    return Drawn([ReleasedTable(data, source, prepared.places)], RunStatus.OK, touched[None], diagnostics)


CGS = Mechanism(
    name="cgs",
    title="Conditional group swapping (CGS, RGS)",
    source="Oganian and Lesaja, Propensity score based conditional group swapping",
    when=(
        "some attributes define strata in which users analyse the other columns; strata must keep their sizes, and "
        "relations within them should be kept as far as possible"
    ),
    rate="records that move in each direction between two strata",
    prepare=prepare,
    draw=draw,
    parameters=(
        Parameter(
            "strata",
            "names",
            "",
            "attributes whose levels together are the strata, joined by +; default keys",
            label="Attributes that make the strata",
        ),
        Parameter(
            "n_swap",
            "whole",
            "0",
            "records that move in each direction of a pair of strata",
            low="0",
            label="Records that move each way between two strata",
            counts=Counts("count", "records each way", unset="0"),
        ),
        Parameter(
            "rate",
            "decimal",
            "0",
            "the same as a share of the smallest stratum, in place of n_swap",
            low="0",
            high="1",
            label="The same as a share of the smallest stratum",
            counts=Counts("share", "of the smallest stratum each way"),
        ),
        Parameter(
            "mode",
            "choice",
            "CGS",
            "CGS prefers records that look like the other stratum; RGS takes all alike",
            choices=("CGS", "RGS"),
            label="Which records of a stratum move",
        ),
        Parameter(
            "distance",
            "choice",
            "pmse",
            "distance between two strata, which decides the pairs",
            choices=propensity.DISTANCES,
            label="Distance between strata",
        ),
        Parameter(
            "odd",
            "choice",
            "reuse",
            "what an odd last stratum does: trade with records of its nearest that have not moved, or stay as it is",
            choices=("reuse", "leave"),
            label="What happens to an odd last stratum",
        ),
        Parameter(
            "formula",
            "text",
            "",
            "what the propensity model uses: a + b, a:b, a*b, or . for all main effects; default all main effects",
            label="Model of who belongs to which stratum",
        ),
        Parameter(
            "pairs",
            "text",
            "",
            "pairs of strata by hand: first male ~ first female; second male ~ ...",
            label="Pairs of strata by hand",
        ),
    ),
    amounts=(("n_swap", "rate"),),
    fit=("strata", "distance", "odd", "formula", "pairs"),
    altered_by="strata",
    exchanges=True,
    check=check,
)
