"""Targeted record swapping (TRS): whole households exchange their places of residence, risky ones first.

What is published is the program of sdcMicro 5.8 (``recordSwap``, also used by µ-ARGUS) and the guidelines on census
data that describe it (Eurostat's Centre of Excellence on SDC, *Guidelines for SDC Methods for Census and Demographics
Data*, chapter 3).  A household is *risky* at a level of the hierarchy where fewer than ``k`` persons of its area share
the risk variables of some member.  Level by level, coarse to fine, risky households begin a swap; at the finest level
further ones do, until each area has begun its quota.  Who begins exchanges with the first household in a race that
lies in another area and agrees on the first profile for which there is one.

The rate is a share of households, and a swap counts for two.  Risky households come on top unless ``must`` says that
they stop at the quota.  Where the published program errs, this one does not: a household without a donor gives no
donor to its neighbours, quotas are right on average and sum to what was asked, and all checks are made.
``compatible`` keeps these errors, for comparison.

Random numbers, from the stream of table 1: one bit (a half swap more or less), one whole number below the number of
households (quotas), then exponential numbers by household in order of first appearance, level after level and once
more for who begins; with ``compatible`` a permutation of the areas.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.common.wording import listed, of_them, plural
from engine.data.domain import KINDS, Domain, EditRule
from engine.data.microdata import Microdata, Units
from engine.mechanisms.base import Drawn, Mechanism, table_stream
from engine.release.parameter import Counts, Parameter, Setting
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus

_BITS = 64
_MOST_BYTES = 1 << 31


def dense(numbers: np.ndarray) -> np.ndarray:
    """Numbers from 0 in the order of the given ones, equal for equal ones."""
    ranks: np.ndarray = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    return ranks


def crossed(codes: list[np.ndarray], length: int) -> np.ndarray:
    """One number for each combination of codes, from 0 in the order of the codes, shape ``(length,)``."""
    number = np.zeros(length, np.int64)
    for code in codes:
        number = dense(number * (int(code.max()) + 1) + code)
    return number


def shared(area: np.ndarray, number: np.ndarray) -> np.ndarray:
    """The number of persons of each person's area who share the person's number."""
    cell = dense(area * (int(number.max()) + 1) + number)
    counts: np.ndarray = np.bincount(cell)[cell]
    return counts


Parts = tuple[np.ndarray, np.ndarray]
"""Bits of what rules forbid together: of the attributes that stay, and of those that are exchanged.  A row breaks a
rule when it has the same bit in both."""


def parts_met(
    rules: Sequence[EditRule],
    domain: Domain,
    codes: Sequence[np.ndarray],
    exchanged: Collection[int],
    rows: np.ndarray | slice = slice(None),
) -> Parts:
    """The :data:`Parts` of rules, in words of 64 bits: those of every row, shape ``(n, words)``, and for the attributes
    ``exchanged`` those of the named ``rows`` alone.

    ``codes`` are the level codes of all rows of the original, an array for each attribute.  A part without attributes
    is met by all.
    """
    forbidding = [rule for rule in rules if not rule.existing]
    parts = [_forbidden(forbidding, domain, codes, exchanged, rows)] if forbidding else []
    parts += [_absent(rule, domain, codes, exchanged, rows) for rule in rules if rule.existing]
    if not parts:
        return np.zeros((len(codes[0]), 0), np.uint64), np.zeros((len(codes[0][rows]), 0), np.uint64)
    stays, moves = (np.concatenate(words, axis=1) for words in zip(*parts, strict=True))
    return stays, moves


def _forbidden(
    rules: Sequence[EditRule],
    domain: Domain,
    codes: Sequence[np.ndarray],
    exchanged: Collection[int],
    rows: np.ndarray | slice,
) -> Parts:
    """A bit for each rule whose part is met."""
    n_words = -(-len(rules) // _BITS)
    stays = np.zeros((len(codes[0]), n_words), np.uint64)
    moves = np.zeros((len(codes[0][rows]), n_words), np.uint64)
    for number, rule in enumerate(rules):
        met = [np.ones(len(words), bool) for words in (stays, moves)]
        for name, levels in rule.forbid:
            j = domain.index(name)
            listed = np.isin(np.array(domain.attributes[j].levels), levels)
            met[j in exchanged] &= listed[codes[j][rows] if j in exchanged else codes[j]]
        for words, meets in zip((stays, moves), met, strict=True):
            words[meets, number // _BITS] |= np.uint64(1) << np.uint64(number % _BITS)
    return stays, moves


def _absent(
    rule: EditRule, domain: Domain, codes: Sequence[np.ndarray], exchanged: Collection[int], rows: np.ndarray | slice
) -> Parts:
    """A bit for each combination of the side that has fewer: there its own, on the other side those that it never
    occurs with."""
    looked_at, n = domain.indices(rule.existing), len(codes[0])
    stay, move = (
        crossed([codes[j].astype(np.int64) for j in looked_at if (j in exchanged) == side], n) for side in (False, True)
    )
    sizes = int(stay.max(initial=-1)) + 1, int(move.max(initial=-1)) + 1
    few = min(sizes)
    if max(sizes) * few + (n + len(move[rows])) * few // 8 > _MOST_BYTES:
        raise UsageError(
            f"edit rule '{rule.name}' compares {sizes[0]:,} combinations with {sizes[1]:,}, which takes too much "
            "memory; name fewer attributes, or merge their levels"
        )
    absent = np.ones(sizes, bool)
    absent[stay, move] = False
    own = np.eye(few, dtype=bool)
    of_stay, of_move = (own, absent.T) if sizes[0] <= sizes[1] else (absent, own)
    return _words(of_stay)[stay], _words(of_move)[move[rows]]


def _words(bits: np.ndarray) -> np.ndarray:
    whole = np.zeros((len(bits), -(-bits.shape[1] // _BITS) * _BITS), bool)
    whole[:, : bits.shape[1]] = bits
    return np.packbits(whole, axis=1).view(np.uint64)


def rules_met(data: Microdata, units: Units, places: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bits of the refusing edit rules: those whose part outside geography some member of a unit meets, those whose part
    of geography a place meets, and each unit's place by the whole hierarchy."""
    of_first = [codes[units.first] for codes in data.codes]
    place = crossed([of_first[j].astype(np.int64) for j in places], len(units))
    _, first = np.unique(place, return_index=True)
    met, place_met = parts_met(data.domain.refusing, data.domain, data.codes, places, units.first[first])
    return units.any_bits(met), place_met, place


def remarks(prepared: Prepared, setting: Setting, drawn: Drawn) -> list[str]:
    """Warnings about hierarchy and risk, profiles by which nobody finds a donor or persons by area may change, and how
    many households are swapped where those that must be are more than the rate; the draw on trial tells how many."""
    found = [*prepared.warnings, *_without_donors(prepared, setting["similar"])]
    units = prepared.units
    for number, group in enumerate(prepared.group, 1):
        if not _decides(group, units.size):
            found.append(
                f"similar: partners by profile {number} may differ in size, so the number of persons of an area may "
                "change"
            )
    risky = float(np.mean(prepared.movable & (prepared.level < len(prepared.area))))
    rate, share = float(setting["rate"]), float(drawn.diagnostics["share_of_households"])
    if setting["must"] == "all" and round(share, 3) > round(rate, 3) and risky > 0:
        found.append(
            f"{_percent(risky)} of households must be swapped, rate is {_percent(rate)}: {_percent(share)} will be"
        )
    return found


def _without_donors(prepared: Prepared, profiles: Sequence[Sequence[str]]) -> list[str]:
    """Profiles on which only households of one area agree, so that no partner can lie in another."""
    area, last = prepared.area[-1][prepared.movable], prepared.names[-1]
    none = [_decides(group[prepared.movable], area) for group in prepared.group]
    found = [
        f"similar: profile {number} finds no donor: households that agree on {listed(names)} all live in one '{last}', "
        "the finest level that counts"
        for number, (names, is_void) in enumerate(zip(profiles, none, strict=True), 1)
        if is_void
    ]
    if all(none):
        found.append("similar: no profile finds a donor, so no household can move and the table is the original")
    return found


def _decides(group: np.ndarray, number: np.ndarray) -> bool:
    """Return whether all units of each group have the same number."""
    some = np.zeros(int(group.max(initial=-1)) + 1, number.dtype)
    some[group] = number
    return bool((some[group] == number).all())


def _percent(share: float) -> str:
    return f"{round(100 * share, 1):g} %"


@dataclass(frozen=True)
class Profiles(Parameter):
    """Lists of names, separated by ``|`` from strict to lax; the order of names within one says nothing."""

    def canonical(self, text: str) -> str:
        """Each list sorted, without blanks."""
        lists = ({name.strip() for name in one.split("+")} - {""} for one in str(text).split("|"))
        return "|".join("+".join(sorted(names)) for names in lists)

    def value(self, canonical: str) -> tuple[tuple[str, ...], ...]:
        """The names of each profile."""
        return tuple(tuple(filter(None, one.split("+"))) for one in canonical.split("|"))


class Prepared(NamedTuple):
    """The arrays that all replicates share, by unit in order of first appearance.

    ``area[h]`` numbers the areas of level ``h`` in the order of their codes; ``shared[h]`` is the least number of
    persons who share some member's risk variables in the area; ``level`` is the coarsest level at which a unit is
    risky (the number of levels where it is at none); ``group[p]`` numbers who agrees on profile ``p``.  Units that are
    not ``movable`` have no place that is known.  ``places`` are the attributes of the whole hierarchy.  ``rules`` are
    the edit rules that refuse pairs, as :func:`engine.mechanisms.donor_kernels.refused` takes them.
    """

    units: Units
    area: np.ndarray
    shared: np.ndarray
    level: np.ndarray
    group: np.ndarray
    movable: np.ndarray
    places: tuple[int, ...]
    names: tuple[str, ...]
    warnings: list[str]
    rules: tuple[np.ndarray, np.ndarray, np.ndarray]


def prepare(setting: Setting) -> Prepared:
    """Areas, counts, levels of risk and profiles.  Refuses geography or profiles that differ within a household."""
    data, units = setting.data, setting.data.units
    if units is None:
        raise EngineError("mechanism 'trs' needs [data] unit, the column that numbers households")
    if setting["k"] > data.n_records:
        raise EngineError(f"k == {setting['k']}, must be at most the number of records ({data.n_records:,}).")
    places = data.domain.indices(setting["hierarchy"])
    names = setting["hierarchy"][: setting["levels"] or None]
    if setting["levels"] > len(places):
        raise UsageError(f"levels == {setting['levels']}, must be at most the number of levels ({len(places)}).")
    warnings = _check_hierarchy(data, units, setting["hierarchy"], places)
    codes = [data.codes[j][units.first].astype(np.int64) for j in places[: len(names)]]
    area = np.array([crossed(codes[: h + 1], len(units)) for h in range(len(codes))])
    risk = setting["risk"] or tuple(data.domain.names[j] for j in setting.keys if j not in places)
    of_person = crossed([data.codes[j].astype(np.int64) for j in data.domain.indices(risk)], data.n_records)
    count = np.array([units.least(shared(of_unit[units.of_record], of_person)) for of_unit in area])
    risky = count < setting["k"]
    level = np.where(risky.any(axis=0), risky.argmax(axis=0), len(area))
    if setting["k"] and not risky.any():
        warnings.append("no household is risky; swaps are drawn by 1/count alone")
    group = np.array([_profile(data, units, p, names_, names[-1]) for p, names_ in enumerate(setting["similar"], 1)])
    movable = np.ones(len(units), bool)
    for j in places:
        movable &= (data.domain.attributes[j].kind_codes != KINDS.index("missing"))[data.codes[j][units.first]]
    rules = rules_met(data, units, places)
    return Prepared(units, area, count, level, group, movable, places, names, warnings, rules)


def _check_hierarchy(data: Microdata, units: Units, names: tuple[str, ...], places: tuple[int, ...]) -> list[str]:
    """Warnings about a hierarchy; refuses what is none."""
    if not names:
        raise UsageError("hierarchy names no attribute; name the places from coarse to fine, such as region+district.")
    warnings: list[str] = []
    for name, j in zip(names, places, strict=True):
        constant = units.constant(data.codes[j])
        if not constant.all():
            raise EngineError(
                f"'{name}' differs between members of {plural(int(np.sum(~constant)), 'household')}, first in the one "
                f"that begins at record {int(units.first[np.argmin(constant)]) + 1:,}; targeted swapping moves whole "
                "households, so geography must be one for all of them"
            )
        if int(data.codes[j].min()) == int(data.codes[j].max()):
            raise UsageError(f"hierarchy: all records lie in one '{name}'; leave it out")
    for upper, lower, i, j in zip(names, names[1:], places, places[1:], strict=False):
        pairs = np.unique(np.stack([data.codes[i], data.codes[j]]), axis=1)
        parents, children = np.bincount(pairs[1]), np.bincount(pairs[0])
        if children.max() == 1:
            if parents.max() == 1:
                raise UsageError(f"hierarchy: '{upper}' and '{lower}' are the same areas; leave one out")
            raise UsageError(f"hierarchy: '{upper}' decides '{lower}', so it is the finer one; write {lower}+{upper}")
        if parents.max() > 1:
            level = data.domain.attributes[j].levels[int(parents.argmax())]
            warnings.append(
                f"hierarchy: '{lower}' == '{level}' lies in {parents.max()} areas of '{upper}'; its path is used"
            )
    return warnings


def _profile(data: Microdata, units: Units, number: int, names: tuple[str, ...], finest: str) -> np.ndarray:
    """The number of each unit's combination of the profile's attributes."""
    if finest in names:
        raise UsageError(
            f"similar: profile {number} names '{finest}', the finest level; no donor can agree on it and lie elsewhere"
        )
    codes = []
    for name, j in zip(names, data.domain.indices(names), strict=True):
        different = int(np.count_nonzero(~units.constant(data.codes[j])))
        if different:
            raise UsageError(
                f"profile {number} of similar: '{name}' differs between members of {plural(different, 'household')}; "
                "use columns of the household"
            )
        codes.append(data.codes[j][units.first].astype(np.int64))
    return crossed(codes, len(units))


class Chances(NamedTuple):
    """The random numbers of one replicate as whole numbers: swaps asked for in all, quotas by finest area, units in
    the order of each level's race (shape ``(levels, units)``) and of the race among who begins."""

    swaps: int
    quota: np.ndarray
    donors: np.ndarray
    initiators: np.ndarray


def chances(prepared: Prepared, setting: Setting, derived: bytes) -> Chances:
    """The random numbers of the replicate with this derived key."""
    rng, levels, n = table_stream(derived, 1), len(prepared.area), len(prepared.units)
    lowest = prepared.area[-1]
    households = np.bincount(lowest[prepared.movable], minlength=int(lowest.max()) + 1)
    n_movable = int(households.sum())
    up, offset = int(rng.integers(2)), int(rng.integers(max(n_movable, 1)))
    exponentials = rng.standard_exponential((levels + 1, n))
    asked = Fraction(dict(setting.texts)["rate"]) * n_movable / 2
    swaps = -int(-asked // 1) if up else int(asked // 1)
    if setting["compatible"]:
        quota = compatible_quotas(households, swaps, rng.permutation(len(households)))
    else:
        reached = np.append(0, (swaps * np.cumsum(households) + offset) // max(n_movable, 1))
        quota = np.diff(reached)
    weight = prepared.shared.astype(float) ** setting["lean"]
    times = exponentials * np.concatenate([weight, weight[-1:]])
    return Chances(swaps, quota, np.array([race_order(level) for level in times[:-1]]), race_order(times[-1]))


def race_order(times: np.ndarray) -> np.ndarray:
    """Units in the order of their times, the first to appear first where times are equal."""
    order = np.argsort(times)  # much quicker than a stable sort, and the same where all times differ
    in_order = times[order]
    return np.argsort(times, kind="stable") if (in_order[1:] == in_order[:-1]).any() else order


def compatible_quotas(households: np.ndarray, swaps: int, order: np.ndarray) -> np.ndarray:
    """Quotas of the published program: whole parts, and one more each to areas that come first in a random order; with
    nothing left to give, the first area gets one more where it comes first in that order."""
    quota: np.ndarray = swaps * households // max(int(households.sum()), 1)
    rest = swaps - int(quota.sum())
    quota[order[:rest] if rest else order[:1][order[:1] == 0]] += 1
    return quota


class Swapped(NamedTuple):
    """Each unit's partner (itself where it stays), how many began at each level and profile, who found no donor; and
    how many pairs edit rules refused, and how many units found no donor only because of them."""

    partner: np.ndarray
    begun: np.ndarray
    failed: np.ndarray
    refused: np.ndarray


def swap(prepared: Prepared, chance: Chances, within: bool, compatible: bool) -> Swapped:
    """Let the units swap, level by level."""
    from engine.common.compiled import wrapping
    from engine.mechanisms import donor_kernels as donors

    n, levels, profiles = len(prepared.units), len(prepared.area), len(prepared.group)
    lowest = prepared.area[-1]
    partner, profile_used = np.arange(n), np.full(n, -1)
    taken, barred = ~prepared.movable, ~prepared.movable
    begun_in, begun = np.zeros(len(chance.quota), np.int64), np.zeros((levels, profiles), np.int64)
    base = np.append(0, np.cumsum(prepared.group.max(axis=1) + 1))
    slot = prepared.group + base[:-1, None]
    refused = np.zeros(2, np.int64)
    with wrapping():
        for h in range(levels):
            last, must, area = h == levels - 1, prepared.level == h, prepared.area[h]
            may_begin = (must | last) & (partner == np.arange(n)) & ~barred
            turns = chance.initiators[may_begin[chance.initiators]]
            if not len(turns) or (last and not must[turns].any() and not chance.quota.any()):
                continue
            turns = _grouped(turns, area * 2 + ~must)[0]
            order = chance.donors[h][~taken[chance.donors[h]]]
            lists = [_grouped(order, prepared.group[p]) for p in range(profiles)]
            members = np.concatenate([one for one, _ in lists])
            start = np.concatenate([s[:-1] + p * len(order) for p, (_, s) in enumerate(lists)] + [[len(members)]])
            donor_area = np.where(barred, -1, area) if compatible else area
            left = np.repeat(start[:-1, None], 2, axis=1)
            before = profile_used.copy()
            donors.swap_level(
                turns, area, donor_area, must, lowest, chance.quota, begun_in, (members, start, slot, left), taken,
                barred, (last, within), (*prepared.rules, refused), partner, profile_used,
            )  # fmt: skip
            begun[h] = np.bincount(profile_used[before != profile_used], minlength=profiles)
            if not compatible:
                taken |= barred
    return Swapped(partner, begun, barred & prepared.movable, refused)


def _grouped(order: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The units of ``order`` group by group, and where each group begins (one longer than the groups)."""
    from engine.mechanisms import donor_kernels as donors

    start, members = np.zeros(int(group.max()) + 2, np.int64), np.empty(len(order), np.int64)
    donors.in_groups(order, group, start, members)
    return members, start


def draw(prepared: Prepared, setting: Setting, derived: bytes) -> Drawn:
    """One table; RunStatus.PARTIAL when some household found no donor."""
    data, units = setting.data, prepared.units
    swapped = swap(prepared, chances(prepared, setting, derived), setting["must"] == "within", setting["compatible"])
    moved = swapped.partner != np.arange(len(units))
    touched = moved[units.of_record]
    source = np.where(touched, units.first[swapped.partner][units.of_record], np.arange(data.n_records))
    failed = int(swapped.failed.sum())
    status = RunStatus.PARTIAL if failed else RunStatus.OK if moved.any() else RunStatus.NOOP
    diagnostics = _about(prepared, swapped, moved, touched)
    warnings = list(prepared.warnings)
    if failed:
        by_rules = int(swapped.refused[1])
        because = f", {of_them(by_rules, failed)} edit rules refuse all donors that are left" if by_rules else ""
        stay = "stays where it is" if failed == 1 else "stay where they are"
        warnings.append(f"{plural(failed, 'household')} found no donor and {stay}{because}")
    if status == RunStatus.NOOP:
        warnings.append("no household begins a swap; the table is the original")
    if warnings:
        diagnostics["warning"] = "; ".join(warnings)
    return Drawn([ReleasedTable(data, source, prepared.places)], status, touched[None], diagnostics)


def _about(prepared: Prepared, swapped: Swapped, moved: np.ndarray, touched: np.ndarray) -> dict[str, float | str]:
    about: dict[str, float | str] = {"households": float(len(prepared.units))}
    left = prepared.area != prepared.area[:, swapped.partner]
    stays = np.zeros(len(moved), bool)
    for h, name in enumerate(prepared.names):
        risky = prepared.level == h
        stays |= risky & ~left[h]
        about[f"risky_{name}"] = float(risky.sum())
        about[f"left_{name}"] = float(left[h].sum())
        for p, begun in enumerate(swapped.begun[h], 1):
            about[f"begun_{name}_profile_{p}"] = float(begun)
    about["households_swapped"] = float(moved.sum())
    about["share_of_households"] = float(moved.mean())
    about["persons_swapped"] = float(touched.sum())
    about["touched_share"] = float(touched.mean())
    about["without_donor"] = float(swapped.failed.sum())
    about["risky_left"] = float(stays.sum())
    if prepared.rules[0].shape[1]:
        about["pairs_refused_by_rules"] = float(swapped.refused[0])
        about["without_donor_by_rules"] = float(swapped.refused[1])
    return about


def _places(setting: Setting) -> tuple[int, ...]:
    return setting.data.domain.indices(setting["hierarchy"])


TRS = Mechanism(
    name="trs",
    title="Targeted swapping of households (TRS)",
    source="sdcMicro 5.8, recordSwap; Eurostat, Guidelines for SDC Methods for Census and Demographics Data, chapter 3",
    when=(
        "persons live in households and geography is what identifies them: whole households exchange their places, "
        "risky ones first, and everything without geography stays exactly as it was"
    ),
    rate="share of households that are swapped, both of a pair; with must=all risky ones come on top",
    prepare=prepare,
    draw=draw,
    parameters=(
        Parameter(
            "rate",
            "decimal",
            None,
            "share of households that are swapped, 0 to 1; a swap counts for two",
            low="0",
            high="1",
            label="Share of households that are swapped",
            counts=Counts("share", "of households"),
        ),
        Parameter(
            "hierarchy",
            "names",
            None,
            "attributes of place from coarse to fine, joined by +",
            label="Places, from coarse to fine",
        ),
        Parameter(
            "risk",
            "names",
            "",
            "attributes that an intruder knows of persons, joined by +; default keys that are no places",
            label="What an intruder knows of persons",
        ),
        Parameter(
            "k",
            "whole",
            "3",
            "a household is risky where fewer than k persons of its area share a member's risk attributes; 0: none is",
            low="0",
            label="Fewest persons alike that are safe",
        ),
        Profiles(
            "similar",
            "text",
            "",
            "attributes of households on which partners agree, joined by +; laxer profiles after |",
            label="On what partners agree",
        ),
        Parameter(
            "must",
            "choice",
            "all",
            "all risky households are swapped, or only as many as the rate says",
            choices=("all", "within"),
            label="Which risky households are swapped",
        ),
        Parameter(
            "lean",
            "decimal",
            "1",
            "how far the draw leans to risky households: they are drawn by 1/count to this power; 0: all alike",
            low="0",
            high="10",
            label="How far the draw leans to risky households",
        ),
        Parameter(
            "levels",
            "whole",
            "0",
            "how many of the coarsest levels count for risk and quotas; 0: all",
            low="0",
            label="Levels that count, from the coarsest",
        ),
        Parameter(
            "compatible",
            "truth",
            "no",
            "whether known errors of the published program are kept, for comparison",
            label="Keep the errors of the published program",
        ),
    ),
    amounts=(("rate",),),
    fit=("hierarchy", "risk", "k", "similar", "levels"),
    changes=_places,
    altered_by="hierarchy",
    agree_by="similar",
    exchanges=True,
    refuses_pairs=True,
    whole_units=True,
    remarks=remarks,
)
