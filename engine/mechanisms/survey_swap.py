"""Swapping of survey records: targets by risk, partners of least bias in neighbouring cells.

What is published is DataSwap (Westat for the National Center for Education Statistics, *User's Guide* 3.4, 2020, and
its program).  Targets are drawn systematically within strata, in proportion to a measure of size that grows with risk;
who is large enough is a target for certain.  Cells are combinations of the boundary attributes, on which partners must
agree, then of the swapping attributes.  Each target finds in the cell before its own and in the one after it the record
of nearest weight, and takes the one of less bias

    | (w_t x_p + w_p x_t) - (w_t x_t + w_p x_p) |  =  | w_t - w_p | | x_t - x_p |,

where x is the last swapping attribute.  A partner serves once; the least bias keeps it, the others search again.  The
swapping attributes and those linked to them change places, all else stays.

The rate counts targets, so twice as many records are perturbed.  The published program stops where a target has no
partner; here it stays as it is and is counted.  It fills in missing values of swapping attributes beforehand; here
records that miss one take no part.

Random numbers, from the stream of table 1: a whole number below 2**62 for each stratum in order of its codes (where
the systematic draw begins), a permutation of all records (ties, and the order within cells), and with ``bias=each``
another permutation (the groups), then for each group a permutation of the other swapping attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.common.raw_values import is_number
from engine.common.wording import all_of, of_them, plural
from engine.data.domain import KINDS, Attribute
from engine.data.microdata import Microdata, Units
from engine.mechanisms.base import Drawn, Mechanism, table_stream
from engine.mechanisms.targeted import crossed, rules_met, shared
from engine.models.record_release import complete_numbers
from engine.release.parameter import Counts, Parameter, Setting
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus

_STARTS = 2**62
"""How many whole numbers there are at which a systematic draw may begin."""


class Prepared(NamedTuple):
    """The arrays that all replicates share, by record.

    ``codes`` and ``values`` are the codes of the swapping attributes and their figures in the bias, shape ``(swapping,
    n_records)``; ``zone`` numbers combinations of the boundary, ``stratum`` those of the strata; ``size`` is the
    measure of size, 0 for who takes no part; ``certain`` marks who is a target whatever the rate.  ``places`` are the
    attributes that change, ``rules`` the edit rules that refuse pairs, as
    :func:`engine.mechanisms.donor_kernels.refused` takes them.
    """

    codes: np.ndarray
    values: np.ndarray
    zone: np.ndarray
    stratum: np.ndarray
    size: np.ndarray
    certain: np.ndarray
    weight: np.ndarray
    places: tuple[int, ...]
    warnings: list[str]
    rules: tuple[np.ndarray, np.ndarray, np.ndarray]


def check(values: Mapping[str, Any]) -> None:
    """Refuse what names no attribute to swap, and names that stand twice."""
    if not values["swap"]:
        raise UsageError(
            "swap names no attribute; name those whose values partners exchange, such as income+occupation."
        )
    used = [*values["swap"], *values["boundary"], *values["linked"]]
    for name in used:
        if used.count(name) > 1:
            raise UsageError(f"'{name}' stands more than once in swap, boundary and linked; keep it in one of them.")


def prepare(setting: Setting) -> Prepared:
    """Zones, strata, sizes and figures.  Refuses places of households, whose members would be torn apart, and weights
    that are negative or no numbers."""
    data, domain = setting.data, setting.data.domain
    swap, n = domain.indices(setting["swap"]), setting.data.n_records
    places = (*swap, *domain.indices(setting["linked"]))
    _refuse_places(data, places)
    if setting["k"] > n:
        raise EngineError(f"k == {setting['k']}, must be at most the number of records ({n:,}).")
    if setting["certain"] and setting["certain"] >= setting["k"]:
        raise UsageError(
            f"certain == {setting['certain']}, must be less than k ({setting['k']}); nobody is at so high a risk."
        )
    codes = np.array([data.codes[j].astype(np.int64) for j in swap])
    missing = KINDS.index("missing")
    takes_part = np.ones(n, bool)
    for j, of_attribute in zip(swap, codes, strict=True):
        takes_part &= (domain.attributes[j].kind_codes != missing)[of_attribute]
    size, certain = _sizes(setting, takes_part)
    warnings = []
    if n_out := int(np.sum(~takes_part)):
        verbs = ("misses", "takes") if n_out == 1 else ("miss", "take")
        warnings.append(f"{plural(n_out, 'record')} {verbs[0]} a swapping attribute and {verbs[1]} no part")
    return Prepared(
        codes,
        np.array([figures(domain.attributes[j])[data.codes[j]] for j in swap]),
        _combinations(data, setting["boundary"]),
        _combinations(data, setting["stratum"]),
        size,
        certain,
        _weights(data),
        places,
        warnings,
        rules_met(data, Units.from_codes(np.arange(n)), places),
    )


def _refuse_places(data: Microdata, places: tuple[int, ...]) -> None:
    """Refuse attributes that are the same within all households where some household has several members."""
    units = data.units
    if units is None or len(units) == data.n_records:
        return
    for j in places:
        if units.constant(data.codes[j]).all():
            raise EngineError(
                f"'{data.domain.names[j]}' is the same within {all_of(len(units), 'household')}; a swap of single "
                "persons would tear them apart; use mechanism 'trs'"
            )


def _combinations(data: Microdata, names: tuple[str, ...]) -> np.ndarray:
    return crossed([data.codes[j].astype(np.int64) for j in data.domain.indices(names)], data.n_records)


def _sizes(setting: Setting, takes_part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each record's measure of size, and whether its risk makes it a target for certain."""
    data = setting.data
    risk = setting["risk"] or tuple(data.domain.names[j] for j in setting.keys)
    alike = shared(np.zeros(data.n_records, np.int64), _combinations(data, risk))
    level = np.maximum(0, setting["k"] - alike)
    of_size = {"equal": np.ones_like(level), "class": level + 1, "square": level**2 + 1}
    certain = takes_part & (level >= setting["certain"]) if setting["certain"] else np.zeros(len(level), bool)
    return np.where(takes_part, of_size[setting["size"]], 0), certain


def _weights(data: Microdata) -> np.ndarray:
    if data.weight is None:
        return np.ones(data.n_records)
    weights = complete_numbers(ReleasedTable(data), data.weight, "the survey swap")
    if (weights < 0).any():
        raise EngineError(f"weight '{data.weight}' is negative in {plural(int(np.sum(weights < 0)), 'record')}")
    return weights


def figures(attribute: Attribute) -> np.ndarray:
    """Figures of an attribute's levels: the numbers that they are where all values are numbers, else their places."""
    values = [level for level, kind in zip(attribute.levels, attribute.kinds, strict=True) if kind == "value"]
    if not all(is_number(level) for level in values):
        return np.arange(attribute.size, dtype=float)
    return np.array([float(level) if is_number(level) else 0.0 for level in attribute.levels])


def select(size: np.ndarray, asked: int, begin: int) -> np.ndarray:
    """Return whether each record of a stratum, in order, is a target; shape ``(n,)``.

    A record whose ``size`` is no less than the sum of sizes over ``asked`` is one for certain and is taken out, until
    there is none; the others are drawn systematically, each with its share as chance.  ``begin``, of which there are
    2**62, says where that begins.
    """
    chosen, left, total = np.zeros(len(size), bool), asked, int(size.sum())
    while left:
        certain = ~chosen & (size > 0) & (left * size >= total)
        if not certain.any():
            break
        chosen |= certain
        left, total = left - int(certain.sum()), total - int(size[certain].sum())
    if left <= 0 or not total:
        return chosen
    so_far = np.cumsum(np.where(chosen, 0, size))
    if total * (left + 1) >= 2**63:  # more than 64 bits hold, from a k of some thousands on
        so_far = so_far.astype(object)
    reached = so_far * left + begin * total // _STARTS
    return chosen | (np.diff(reached // total, prepend=0) > 0)


class Chances(NamedTuple):
    """The random numbers of one replicate: where each stratum's draw begins, a rank for each record, and with
    ``bias=each`` each record's group and each group's order of swapping attributes."""

    begins: list[int]
    rank: np.ndarray
    group: np.ndarray
    orders: list[np.ndarray]


def chances(prepared: Prepared, setting: Setting, derived: bytes) -> Chances:
    """The random numbers of the replicate with this derived key."""
    rng, (attributes, n) = table_stream(derived, 1), prepared.codes.shape
    begins = [int(begin) for begin in rng.integers(_STARTS, size=int(prepared.stratum.max()) + 1)]
    rank = rng.permutation(n)
    if setting["bias"] == "last" or attributes == 1:
        return Chances(begins, rank, np.zeros(n, np.int64), [np.arange(attributes)])
    group = rng.permutation(n) % attributes
    others = [np.delete(np.arange(attributes), g)[rng.permutation(attributes - 1)] for g in range(attributes)]
    return Chances(begins, rank, group, [np.append(order, g) for g, order in enumerate(others)])


def targets(prepared: Prepared, chance: Chances, rate: str) -> np.ndarray:
    """Return whether each record is a target: those for certain, and by stratum as many as the rate says of the
    others."""
    chosen, cell = prepared.certain.copy(), crossed([prepared.zone, *prepared.codes], len(prepared.size))
    in_order = np.lexsort((chance.rank, cell))
    eligible = (prepared.size > 0) & ~prepared.certain
    for h, begin in enumerate(chance.begins):
        members = in_order[(eligible & (prepared.stratum == h))[in_order]]
        asked = int(Fraction(rate) * len(members) + Fraction(1, 2))
        chosen[members] = select(prepared.size[members], asked, begin)
    return chosen


class Found(NamedTuple):
    """Each record's partner (itself where it has none), in how many rounds they were found, how many pairs edit rules
    refused, and how many targets found no partner only because of them."""

    partner: np.ndarray
    rounds: int
    refused: np.ndarray


def find(prepared: Prepared, chance: Chances, chosen: np.ndarray) -> Found:
    """The partners that targets find."""
    from engine.common.compiled import wrapping
    from engine.mechanisms import donor_kernels as nearest_partners

    n = len(prepared.size)
    columns = np.array(chance.orders)[chance.group]
    in_order = prepared.codes[columns, np.arange(n)[:, None]].T
    cell = crossed([prepared.zone, chance.group, *in_order], n)
    zone = np.empty(int(cell.max()) + 1, np.int64)
    zone[cell] = crossed([prepared.zone, chance.group], n)
    free = np.flatnonzero((prepared.size > 0) & ~chosen)
    donors = free[np.lexsort((chance.rank[free], prepared.weight[free], cell[free]))]
    start = np.append(0, np.cumsum(np.bincount(cell[donors], minlength=len(zone))))
    partner, taken = np.arange(n), np.ones(n, bool)
    taken[free] = False
    value = prepared.values[columns[:, -1], np.arange(n)]
    refused = np.zeros(2, np.int64)
    with wrapping():
        rounds = nearest_partners.find_partners(
            np.flatnonzero(chosen), cell, zone, donors, start, _runs(cell[donors], prepared.weight[donors]),
            prepared.weight, value, chance.rank, taken, (*prepared.rules, refused), partner,
        )  # fmt: skip
    return Found(partner, rounds, refused)


def _runs(cell: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first and last positions of the donors that share a place's cell and weight."""
    begins = np.ones(len(cell), bool)
    begins[1:] = (cell[1:] != cell[:-1]) | (weight[1:] != weight[:-1])
    bounds = np.append(np.flatnonzero(begins), len(cell))
    run = np.cumsum(begins) - 1
    return bounds[run], bounds[run + 1]


def draw(prepared: Prepared, setting: Setting, derived: bytes) -> Drawn:
    """One table; RunStatus.PARTIAL when some target found no partner."""
    data = setting.data
    chance = chances(prepared, setting, derived)
    chosen = targets(prepared, chance, dict(setting.texts)["rate"])
    partner, rounds, refused = find(prepared, chance, chosen)
    touched = partner != np.arange(data.n_records)
    alone = int(np.count_nonzero(chosen & ~touched))
    status = RunStatus.PARTIAL if alone else RunStatus.OK if touched.any() else RunStatus.NOOP
    pairs = np.flatnonzero(chosen & touched)
    about: dict[str, float | str] = {
        "targets": float(chosen.sum()),
        "certain_targets": float((chosen & prepared.certain).sum()),
        "pairs": float(len(pairs)),
        "touched_share": float(touched.mean()),
        "without_partner": float(alone),
        "rounds": float(rounds),
    }
    if prepared.rules[0].shape[1]:
        about["pairs_refused_by_rules"] = float(refused[0])
        about["without_partner_by_rules"] = float(refused[1])
    warnings = list(prepared.warnings)
    if alone:
        because = f", {of_them(int(refused[1]), alone)} edit rules refuse all that are left" if refused[1] else ""
        stay = "has no partner within its boundary and stays as it is"
        stay = stay if alone == 1 else "have no partner within their boundary and stay as they are"
        warnings.append(f"{plural(alone, 'target')} {stay}{because}")
    if status == RunStatus.NOOP:
        warnings.append("there is no target; the table is the original")
    if warnings:
        about["warning"] = "; ".join(warnings)
    return Drawn([ReleasedTable(data, partner, prepared.places)], status, touched[None], about)


def _places(setting: Setting) -> tuple[int, ...]:
    return setting.data.domain.indices((*setting["swap"], *setting["linked"]))


SURVEY_SWAP = Mechanism(
    name="survey_swap",
    title="Swapping of survey records (targets and partners)",
    source="Westat, DataSwap User's Guide 3.4 (2020) and its program",
    when=(
        "the file is a weighted survey: records at risk are swapped first, with partners in neighbouring cells whose "
        "weights are near, so that weighted totals hardly change"
    ),
    rate="share of records that are targets; each takes a partner, so twice as many are perturbed",
    prepare=prepare,
    draw=draw,
    parameters=(
        Parameter(
            "rate",
            "decimal",
            None,
            "share of records that are targets, 0 to 0.5; each takes a partner, so twice as many are perturbed",
            low="0",
            high="0.5",
            label="Share of records that are targets (twice as many are perturbed)",
            counts=Counts("share", "of records are targets"),
        ),
        Parameter(
            "swap",
            "names",
            None,
            "attributes whose values partners exchange, joined by +; the last one counts in the bias",
            label="What partners exchange",
        ),
        Parameter(
            "boundary",
            "names",
            "",
            "attributes on which partners must agree, joined by +",
            label="On what partners must agree",
        ),
        Parameter(
            "linked",
            "names",
            "",
            "attributes that go along with those exchanged, joined by +",
            label="What goes along",
        ),
        Parameter(
            "stratum",
            "names",
            "",
            "attributes that define the strata of the draw of targets, joined by +",
            label="Strata of the draw of targets",
        ),
        Parameter(
            "risk",
            "names",
            "",
            "attributes that an intruder knows, joined by +; default the keys",
            label="What an intruder knows",
        ),
        Parameter(
            "k",
            "whole",
            "3",
            "records that fewer than k share are at risk; their class is k less the number who share them, else 0",
            low="1",
            label="Fewest records alike that are safe",
        ),
        Parameter(
            "size",
            "choice",
            "class",
            "measure of size by which targets are drawn: all alike, class + 1, or the class squared + 1",
            choices=("equal", "class", "square"),
            label="How far the draw leans to records at risk",
        ),
        Parameter(
            "certain",
            "whole",
            "0",
            "records of this class of risk or a higher one are targets whatever the rate; 0: none are",
            low="0",
            label="Class of risk from which records are always targets",
        ),
        Parameter(
            "bias",
            "choice",
            "last",
            "whether the last exchanged attribute counts in the bias, or each one for an equal share of records",
            choices=("last", "each"),
            label="Which attribute counts in the bias",
        ),
    ),
    amounts=(("rate",),),
    fit=("swap", "boundary", "linked", "stratum", "risk", "k", "size", "certain"),
    check=check,
    changes=_places,
    altered_by="swap+linked",
    agree_by="boundary",
    exchanges=True,
    refuses_pairs=True,
)
