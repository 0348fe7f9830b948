"""From a plan and coded data to the candidate releases, counted where they are too many to be listed.

Specs for which no way of the random swap can make a pair are left out, and plans of which every candidate would have
the same figure, whatever is drawn, are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain, product
from math import comb
from typing import Any

import numpy as np

from engine.common.errors import Remedy, UsageError
from engine.common.wording import listed
from engine.data.domain import Domain
from engine.data.microdata import Microdata
from engine.data.table import ContingencyTable
from engine.measures import MeasureCall
from engine.measures.base import attribute_indices
from engine.measures.planned import comparable_calls, deciding_column, planned_calls
from engine.measures.turned_back import TurnedBack, exchanged_cells, most_turned_back, turned_back
from engine.mechanisms import mechanism
from engine.mechanisms import names as mechanism_names
from engine.mechanisms.base import Mechanism, names_in
from engine.mechanisms.random_swap import prepare_restricted
from engine.models.record_release import numeric_columns
from engine.plan import MechanismPlan, Plan
from engine.release import space
from engine.release.parameter import Setting
from engine.release.reader_view import columns_beside, exchange_is_void
from engine.release.scenarios import RunStatus
from engine.release.space import (
    EqualPartners,
    Impossibility,
    ImpossibilityKind,
    Space,
    check_listable,
    n_specs,
    outside_roles,
)
from engine.release.spec import (
    UNIFORM,
    AttributeSpec,
    ReleaseSpec,
    pairs_wanted,
    selection_of,
    steps_of,
    structure_of,
)
from engine.release.specs import ReleaseSpecs, S, Specs
from engine.sweeps.groups import fit_key


def space_of(plan: Plan, data: Microdata, known: Specs | None = None) -> space.Space:
    """The plan's release space over these data: specs to run, merged ones, impossible ones.  Of a space that is
    searched it is what the search starts from.

    A spec written out in the plan that can never work is an error; one met in an enumeration is explained and left out.
    Of specs that are the same release the first counts, ``known`` ones (run already) before all others.
    """
    names, space_plan = data.domain.names, plan.space
    if space_plan.specs:
        written = [AttributeSpec.parse(text, names) for text in space_plan.specs]
        written = [_with_outside(spec, space_plan.fix, space_plan.change) for spec in written]
        for spec in written:
            _check_written(spec, data, plan)
        specs = Specs.of(written)
    elif space_plan.all_specs:
        specs = space.complete(names, plan.swap, space_plan.fix, space_plan.change)
    else:
        sizes = space_plan.swap_sizes or [size for size in (1, 2) if size <= len(plan.swap_candidates)]
        specs = space.by_swap_sizes(names, plan.swap, sizes, space_plan.fix, space_plan.change)
    if known and known.names == names:
        texts = set(known.texts())
        is_known = np.fromiter((text in texts for text in specs.texts()), bool, len(specs))
        specs = specs.take(np.argsort(~is_known, kind="stable"))
    built = space.build(specs, data.table, space_plan.rule, merging_of(plan, data))
    built = _without_void(built, data, plan)
    built = without_impossible(built, space_plan.rule, swap_ways(plan), data.table)
    if not built.specs:
        if not built.impossible:
            raise UsageError("no candidate release is possible: no attribute may be swapped")
        spec, reason = built.impossible[0]
        more = "; make another column an attribute, a number with the edges of its levels" if len(names) == 1 else ""
        raise UsageError(f"no candidate release is possible: {space.impossibility_text(reason)} (spec '{spec}'){more}")
    return built


def merging_of(plan: Plan, data: Microdata) -> space.Merging:
    """Return which specs of a plan are one candidate.

    The exchange of some attributes and that of all others that must differ are two, though the released records are the
    same, where a measure tells whose each record is.
    """
    if data.has_carried_columns:
        return "none"
    lists = {"keys": plan.keys, "analyse": plan.analyse}
    told_apart = any(
        call.measure.differs_between_complements(
            len(attribute_indices(call, data.domain, lists)) == len(data.domain.names)
        )
        for call in planned_calls(plan)
    )
    return "same" if told_apart else "complements"


def n_complete(plan: Plan, data: Microdata) -> int:
    """The number of distinct specs of the complete space, of which a search looks at some."""
    asked = plan.space
    merging = merging_of(plan, data)
    return n_specs(data.table, plan.swap, asked.fix, asked.change, asked.rule, merging, equal_partners(plan, data))


def _with_outside(spec: AttributeSpec, fix: Sequence[str], change: Sequence[str]) -> AttributeSpec:
    roles = dict(zip(spec.names, spec.roles, strict=True))
    for names, role in ((fix, "F"), (change, "C")):
        for name in names:
            if roles.get(name, "U") not in ("U", role):
                raise UsageError(
                    f"spec '{spec}' gives '{name}' the role {roles[name]}, but the plan sets it to {role} from outside"
                )
            roles[name] = role
    return AttributeSpec(spec.names, "".join(roles[name] for name in spec.names))


def equal_partners(plan: Plan, data: Microdata) -> EqualPartners | None:
    """The specs of which every release is the original, by structure alone; None under the strict rule, by which they
    make no pair, and where something stays with its record."""
    if plan.space.rule == "strict" or columns_beside(data, plan.publish.include):
        return None
    exact = np.array([attribute.exact for attribute in data.domain.attributes])
    narrow = np.array(data.table.levels_in_use) < 2
    compared = [selection_of(way, plan.names) for way in swap_ways(plan)]
    places = np.arange(len(exact))
    return EqualPartners(exact, narrow, tuple((np.isin(places, one.similar), one.similarity) for one in compared))


def _without_void(built: Space, data: Microdata, plan: Plan) -> Space:
    """A space without these specs, which become impossible ones."""
    equal = equal_partners(plan, data)
    void = np.zeros(0, bool) if equal is None else equal.among(built.specs.roles)
    if not void.any():
        return built
    reason = Impossibility(ImpossibilityKind.ALL_OTHERS_EQUAL)
    refused = [(built.specs[at], reason) for at in np.flatnonzero(void).tolist()]
    return replace(built, specs=built.specs.take(~void), impossible=built.impossible.with_more(refused))


def _check_written(spec: AttributeSpec, data: Microdata, plan: Plan) -> None:
    reason, equal = space.impossibility(spec, data.table, plan.space.rule), equal_partners(plan, data)
    if reason is None and equal is not None and equal.among(Specs.of([spec]).roles)[0]:
        reason = Impossibility(ImpossibilityKind.ALL_OTHERS_EQUAL)
    if reason is not None:
        raise UsageError(f"spec '{spec}': {space.impossibility_text(reason)}")
    for name in spec.names_having("S"):
        if name not in plan.swap:
            raise UsageError(
                f"spec '{spec}' swaps '{name}', which is not among the attributes that may be swapped "
                f"({', '.join(plan.swap)})"
            )


def scenarios_of(
    plan: Plan,
    data: Microdata,
    known: Sequence[ReleaseSpec] = (),
    *,
    listed: bool = True,
    tell: Callable[[str], object] | None = None,
    change: list[bool] | None = None,
) -> tuple[ReleaseSpecs, space.Space | None]:
    """All scenarios of a plan over these data, and the space of the random swap where that is among its mechanisms.

    Every other mechanism is tried once here, so that data which do not allow it are refused before anything is run.
    Where the plan searches, the random swap has none yet: it gets them while it is searched.  ``listed`` false leaves
    it out, where its swaps are only counted.  ``tell`` is told what mechanisms say of their candidates; ``change``
    receives for each of these whether some draw on trial changes a record.
    """
    specs, listed_space = ReleaseSpecs.of([], data.domain.names), None
    if plan.swaps_at_random and not plan.space.search and listed:
        listed_space = space_of(plan, data, _run(ReleaseSpecs.of(known, data.domain.names)))
        ways = swap_ways(plan)
        specs = ReleaseSpecs.product(listed_space.specs, plan.space.rates, plan.space.rule, ways)
    others: dict[ReleaseSpec, None] = {}
    for declared in plan.mechanisms:
        if not mechanism(declared.name).by_roles:
            others |= dict.fromkeys(record_scenarios(declared, plan, data, tell, change))
    return specs.joined(ReleaseSpecs.of(others)), listed_space


def _run(known: ReleaseSpecs) -> Specs:
    """The attribute specs that were run by roles."""
    return known.specs.take(np.flatnonzero(np.bincount(known.spec_codes[known.by_roles])))


def record_scenarios(
    declared: MechanismPlan,
    plan: Plan,
    data: Microdata,
    tell: Callable[[str], object] | None = None,
    change: list[bool] | None = None,
) -> list[ReleaseSpec]:
    """Every combination of a mechanism's grid as a scenario; equal ones once.

    Each is fitted and drawn once on trial, so that a sweep does not stop half-way at what these data do not allow.
    ``tell`` is told what the mechanism says of them, ``change`` receives whether some of :data:`_IDLE` draws on trial
    changes a record.
    """
    made = mechanism(declared.name)
    names = [name for name, _ in declared.grid]
    specs = []
    fitted: dict[tuple[str, ...], Any] = {}
    for values in product(*(values for _, values in declared.grid)):
        setting = made.setting(data, dict(zip(names, values, strict=True)), *_worked_on(plan, data))
        changes = made.changed_attributes(setting)
        _check_rules(made, changes, data.domain)
        _check_leaves_something(made, setting, plan)
        fit = fit_key(made, setting.texts)
        if fit not in fitted:
            fitted[fit] = made.fitted(setting)
        drawn = made.draw_replicate(fitted[fit], setting, bytes(32))
        if change is not None:
            again = range(1, 1 if any(change) else _IDLE)  # one that changes a record settles it
            more = (made.draw_replicate(fitted[fit], setting, bytes([n] * 32)) for n in again)
            change.append(any(one.status != RunStatus.NOOP for one in chain([drawn], more)))
        if tell is not None:
            own = made.remarks(fitted[fit], setting, drawn) if made.remarks is not None else ()
            for text in (*_guessed(declared.name, turned_back(drawn.tables)), *own):
                tell(text)
        roles = "".join("S" if j in changes else "U" for j in range(len(data.domain)))
        specs.append(
            ReleaseSpec(AttributeSpec(data.domain.names, roles), "", "strict", declared.name, params=setting.texts)
        )
    return specs


def _guessed(name: str, found: TurnedBack | None) -> list[str]:
    """A remark on a candidate of which a draw on trial can be turned back."""
    if found is None or not found.verdict.finds:
        return []
    return [f"{name}: {found.words} {'Add more noise' if found.chance else 'Let fewer records change'}"]


def swap_remarks(plan: Plan, data: Microdata, space: Space | Counted | None) -> list[str]:
    """Remarks on random swaps that can be turned back, by draws on trial at the lowest such rate: of a few specs, those
    that swap attributes of few levels first."""
    rates = sorted({*plan.space.rates}, key=Decimal, reverse=True)
    most = pairs_wanted(rates[0], data.n_records)[1] if rates else 0
    if space is None or not most:
        return []
    specs, table = Specs.of(space.even_part(_LOOKED_THROUGH)), data.table
    levels = np.where(specs.roles == S, np.array(table.levels_in_use), len(table) + 1).min(axis=1)
    few = np.argsort(levels, kind="stable")[: max(1, min(_TRIED, _PAIRS_TRIED // most))]
    texts = []
    for spec, way in product(specs.take(few), swap_ways(plan)):
        one = ReleaseSpec(spec, rates[0], plan.space.rule, params=way)
        batched = mechanism(one.mechanism).batched
        assert batched is not None
        pairs = batched.preparing(table)(structure_of(one, table)).draw(bytes(32), most)
        said: list[str] = []
        for rate in rates:
            exchanged = exchanged_cells(table, pairs[: pairs_wanted(rate, data.n_records)[1]], spec)
            again = _guessed(f"'{replace(one, rate=rate)}'", most_turned_back([exchanged]))
            if not again:
                break
            said = again
        texts += said
    return texts


def _check_rules(made: Mechanism, changes: Collection[int], domain: Domain) -> None:
    """Refuse a mechanism that changes attributes of an edit rule that refuses pairs, and knows no such rules."""
    if made.refuses_pairs:
        return
    for rule in domain.refusing:
        if not {domain.names[j] for j in changes}.isdisjoint(rule.attributes):
            able = [name for name in mechanism_names() if mechanism(name).refuses_pairs]
            raise UsageError(
                f"edit rule '{rule.name}' refuses pairs, which mechanism '{made.name}' cannot; let the rule count only "
                f"(leave refuse out of its [[edit]]), or use {' or '.join(able)}"
            )


def _check_leaves_something(made: Mechanism, setting: Setting, plan: Plan) -> None:
    """Refuse a mechanism that would exchange all that is released: whatever it draws, the rows are the original's."""
    if not made.exchanges:
        return
    data, texts = setting.data, dict(setting.texts)
    listing = [parameter for parameter in names_in(made.altered_by) if texts[parameter]]
    named = [name for parameter in listing for name in names_in(texts[parameter])]
    places = data.domain.indices(tuple(named)) if named else setting.keys
    lists = [set(names_in(text)) for text in texts[made.agree_by].split("|")] if made.agree_by else [set[str]()]
    agreed = tuple(name for name in data.domain.names if name in set.intersection(*lists))
    beside = columns_beside(data, plan.publish.include)
    if not exchange_is_void(data, places, beside, made.whole_units, data.domain.indices(agreed)):
        return
    exchanged, mend = listed(data.domain.names[j] for j in places), ["carry a column that stays with its record"]
    what = f"would exchange all that is released of a record ({exchanged})"
    if agreed:
        what = f"would exchange {exchanged} between records that are alike in all else that is released"
        mend.insert(0, f"Name fewer attributes in {made.agree_by} ({listed(agreed)} now)")
    else:
        mend.insert(0, f"Name {' and '.join(listing) or 'keys'} that leave at least one released attribute out")
    raise UsageError(
        f"mechanism '{made.name}' {what}, so that every release is the original, its rows in another order. "
        + ", or ".join(mend),
        None if named else Remedy.KEYS,
    )


def setting_of(spec: ReleaseSpec, plan: Plan, data: Microdata) -> Setting:
    """A scenario on the plan's keys and numeric columns, with what leaves beside the attributes."""
    setting = mechanism(spec.mechanism).setting(data, dict(spec.params), *_worked_on(plan, data))
    beside = columns_beside(data, plan.publish.include)
    return replace(setting, spec=spec, beside=beside, rows_are_cells=rows_are_cells(plan, data.table))


def rows_are_cells(plan: Plan, table: ContingencyTable) -> bool:
    """Return whether the rows of a release are the cells of its table: whether no column leaves beside the attributes,
    and none is finer than its levels."""
    leaves_beside = {*plan.data.carry, *plan.publish.include} - {"id"}
    return not leaves_beside and all(attribute.exact for attribute in table.domain.attributes)


def _worked_on(plan: Plan, data: Microdata) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The places of the plan's keys and its numeric columns, on which mechanisms work."""
    numeric = tuple(column for column in numeric_columns(plan, data) if column not in data.single_uses)
    return tuple(data.domain.indices(plan.keys)), numeric


Way = tuple[tuple[str, str], ...]
"""The parameters of a random swap that differ from the swap as published, as canonical texts; empty for that."""
_IDLE = 20
"""Draws on trial of a candidate of which none changes a record, from which on it is taken to change none."""
_LOOKED_THROUGH, _TRIED, _PAIRS_TRIED = 500, 12, 300_000  # specs, those drawn on trial, and their pairs
MOST_LOOKED_AT = 2_000
"""For up to so many specs and ways it is looked whether any two records may be exchanged."""


def swap_ways(plan: Plan) -> list[Way]:
    """The ways in which the plan tries the random swap, in its order; equal ones once."""
    declared = [entry for entry in plan.mechanisms if entry.by_roles]
    ways: list[Way] = [] if declared else [()]
    for entry in declared:
        made = mechanism(entry.name)
        known = {parameter.name for parameter in made.parameters}
        for name, _ in entry.grid:
            if name not in known:
                raise UsageError(
                    f"mechanism '{entry.name}' has no parameter '{name}'; its specs and rates stand in [space]"
                )
        names = [name for name, _ in entry.grid]
        for values in product(*(values for _, values in entry.grid)):
            ways.append(_way(dict(made.canonical(dict(zip(names, values, strict=True)))), plan))
    return list(dict.fromkeys(ways))


def per_spec(plan: Plan) -> int:
    """The number of scenarios of the random swap that each spec has: one for each rate and way."""
    return len(plan.space.rates) * len(swap_ways(plan))


def _way(texts: dict[str, str], plan: Plan) -> Way:
    """The differences from the published swap, with attributes in the order of the plan."""
    if texts["lean"] == UNIFORM:
        texts["lean"] = texts["risk"] = ""
    else:
        risk = texts["risk"] or "+".join(plan.keys)
        if not texts["risk"] and any("+" in name for name in plan.keys):
            raise UsageError("lean counts keys, but the name of a key holds a +; give that attribute another name")
        texts["risk"] = risk
    if texts["similarity"] == "0":
        texts["similarity"] = ""
    way = tuple((name, text) for name, text in texts.items() if text)
    selection_of(way, plan.names)  # refuses unknown names and contradictions
    ordered = dict(way)
    for name in ("risk", "similar"):
        if name in ordered:
            ordered[name] = "+".join(sorted(set(ordered[name].split("+")), key=plan.names.index))
    if "near" in ordered:
        steps = sorted(steps_of(ordered["near"]), key=lambda step: plan.names.index(step[0]))
        ordered["near"] = "+".join(f"{name}:{most}" for name, most in steps)
    return tuple(ordered.items())


def obstacle(spec: ReleaseSpec, table: ContingencyTable, looked_at: dict[object, str]) -> str:
    """The obstacle that keeps every two records from exchanging in a scenario, in words; empty where some may or where
    only roles are asked. ``looked_at`` remembers structures."""
    structure = structure_of(spec, table)
    if structure.is_published:
        return ""
    if structure not in looked_at:
        looked_at[structure] = prepare_restricted(structure, table).obstacle()
    return looked_at[structure]


def obstacle_in_all(
    spec: AttributeSpec, rule: str, ways: Sequence[Way], table: ContingencyTable, looked_at: dict[object, str]
) -> str:
    """The obstacle that keeps every two records from exchanging whatever the way, in words (those of the first); empty
    where some may in some way."""
    words = [obstacle(ReleaseSpec(spec, "0", rule, params=way), table, looked_at) for way in ways]
    return words[0] if all(words) else ""


def too_many_to_look_at(n_specs: int, ways: Sequence[Way]) -> bool:
    """Return whether so many specs, each tried in these ways, are not looked at before a sweep: one that can make no
    pair fails at its first run, whose note says why."""
    return n_specs * len(ways) > MOST_LOOKED_AT


def without_impossible(space: Space, rule: str, ways: Sequence[Way], table: ContingencyTable) -> Space:
    """A space without the specs that cannot make a pair in any of the ways, which become impossible ones."""
    only_roles = tuple(ways) == ((),) and not table.domain.ruled
    if only_roles or too_many_to_look_at(len(space.specs), ways):
        return space
    looked_at: dict[object, str] = {}
    refused = []
    works = np.ones(len(space.specs), bool)
    for i, spec in enumerate(space.specs):
        if words := obstacle_in_all(spec, rule, ways, table, looked_at):
            refused.append((spec, Impossibility(ImpossibilityKind.ALL_PAIRS_REFUSED, words)))
            works[i] = False
    return replace(space, specs=space.specs.take(works), impossible=space.impossible.with_more(refused))


MOST_LISTED = 20_000
"""Up to so many swaps all are listed and looked at one by one, of not too many attributes."""
_MOST_ROLES = 20_000_000


@dataclass(frozen=True)
class Counted:
    """The swaps that ``swap_sizes`` of a plan ask for: ``legal``, ``feasible`` and ``distinct`` as
    :class:`engine.release.space.Space` counts them, ``n_impossible`` on these data, and the work ``ahead`` as pairs of
    a size and the number of swaps of that size; ``able`` are the places that they choose from, ``narrow`` the
    attributes that may be swapped but have one category."""

    legal: int
    feasible: int
    distinct: int
    n_impossible: int
    ahead: tuple[tuple[int, int], ...]
    able: tuple[int, ...]
    narrow: tuple[str, ...]
    unswapped: str
    names: tuple[str, ...]
    n_merged = 0  # swaps are only counted where no two of them are the same

    def even_part(self, n: int) -> list[AttributeSpec]:
        """At most ``n`` of the distinct swaps, spread evenly over them in the order in which a sweep lists them."""
        step = max(1, -(-self.distinct // n))
        specs, before = [], 0
        for size, many in self.ahead:
            specs += [self._spec(size, rank - before) for rank in range(-before % step + before, before + many, step)]
            before += many
        return specs

    def _spec(self, size: int, rank: int) -> AttributeSpec:
        """The swap of that rank among all of one size, in lexicographic order of the places."""
        roles, first = list(self.unswapped), 0
        for left in range(size, 0, -1):
            while rank >= (many := comb(len(self.able) - first - 1, left - 1)):
                rank -= many
                first += 1
            roles[self.able[first]] = "S"
            first += 1
        return AttributeSpec(self.names, "".join(roles))


def counted(plan: Plan, data: Microdata) -> Counted | None:
    """The swaps of a plan by numbers of attributes; None where they are not described so, or are few enough to list."""
    space_plan, names, table = plan.space, data.domain.names, data.table
    if not (plan.swaps_at_random and space_plan.swap_sizes):
        return None
    outside = outside_roles(names, space_plan.fix, space_plan.change)
    may = set(plan.swap)
    able = [j for j, name in enumerate(names) if name in may and name not in outside]
    wide = [j for j in able if table.levels_in_use[j] > 1]
    every_one = _all(len(able), space_plan.swap_sizes)
    few = every_one <= MOST_LISTED and every_one * len(names) <= _MOST_ROLES
    if few or len(names) - len(outside) < 3:
        return None  # with so few free attributes swaps may be the same as others
    check_listable(len(able), space_plan.swap_sizes, len(names))
    unswapped = "".join(outside.get(name, "U") for name in names)
    equal = equal_partners(plan, data)
    void = -1  # the size of the one swap that comes to nothing, of all that differ
    if equal is not None:
        if any(similarity for _, similarity in equal.ways):
            return None  # others may too
        widest = AttributeSpec(names, "".join("S" if j in wide else role for j, role in enumerate(unswapped)))
        void = len(wide) if equal.among(Specs.of([widest]).roles)[0] else -1
    free = [j for j, name in enumerate(names) if name not in outside]
    n_wide = sum(table.levels_in_use[j] > 1 for j in free)
    changed = [j for j, name in enumerate(names) if outside.get(name) == "C"]
    able_to_change = all(table.levels_in_use[j] > 1 for j in changed)
    legal = feasible = 0
    ahead = []
    for size in space_plan.swap_sizes:
        every, some = comb(len(able), size), comb(len(wide), size)
        legal += every if size < len(names) else 0
        # under the strict rule partners must be able to differ on something that is not swapped
        differ = space_plan.rule != "strict" or bool(changed)
        feasible += every if size < len(names) and (differ or len(free) > size) else 0
        if size < len(names) and size != void and able_to_change and (differ or n_wide > size):
            ahead.append((size, some))
    distinct = sum(many for _, many in ahead)
    if not distinct:
        return None  # said why, where they are listed
    narrow = tuple(names[j] for j in able if table.levels_in_use[j] < 2)
    places = tuple(wide)
    return Counted(legal, feasible, distinct, every_one - distinct, tuple(ahead), places, narrow, unswapped, names)


def space_or_count(plan: Plan, data: Microdata) -> Space | Counted | None:
    """The swaps that a plan asks for: the space where it is listed, its count where that is too large to look at each;
    None where the plan searches for swaps or tries none."""
    if not plan.swaps_at_random or plan.space.search:
        return None
    return counted(plan, data) or space_of(plan, data)


def _all(n: int, sizes: Sequence[int]) -> int:
    return sum(comb(n, size) for size in sizes)


_LISTS = {"keys": "keys", "analyse": "analyse", "all": "attributes"}


def check_meaning(plan: Plan, others: Iterable[ReleaseSpec]) -> None:
    """Refuse a plan whose measures of risk, or of utility, have one figure for all candidates by structure alone.

    So it is where no candidate changes an attribute that is tabulated, or all exchange the whole of what is tabulated.
    Where a rule of choice is set, the measure that it compares must differ too.  ``others`` are the candidates of other
    mechanisms than the random swap.
    """
    calls = comparable_calls(plan)
    others = [*others]
    for kind in ("risk", "utility"):
        of_kind = [call for call in calls if call.measure.kind == kind]
        named = getattr(plan.decision, kind)
        column = deciding_column(plan, calls, kind)
        deciding = next((call for call in calls if named in (str(call), call.measure.name)), None)
        if deciding is None and column is not None:
            deciding = calls[column]
        ruled = plan.decision.max_risk is not None or plan.decision.slope is not None
        judged = [deciding] if deciding is not None and ruled else of_kind
        if judged and not any(_differs(call, plan, others) for call in judged):
            raise UsageError(_sentence(judged[0], plan, others))
        for spec in others if judged and kind == "utility" else ():
            # beside other candidates it would look as if it cost nothing
            if mechanism(spec.mechanism).exchanges and not any(_seen(call, plan, spec) for call in judged):
                raise UsageError(f"of mechanism '{spec.mechanism}' {_sentence(judged[0], plan, [spec], True)}")


def refuse_idle(plan: Plan, n_records: int, change: Sequence[bool]) -> None:
    """Refuse a plan of which every release would be the original; ``change`` says of each candidate of other mechanisms
    than the random swap whether draws on trial change a record."""
    swaps = plan.swaps_at_random
    if any(change) or (swaps and any(pairs_wanted(rate, n_records)[0] for rate in plan.space.rates)):
        return
    reasons = [f"rate {listed(plan.space.rates)} of {n_records:,} records rounds to zero"] if swaps else []
    names = dict.fromkeys(f"'{one.name}'" for one in plan.mechanisms if not mechanism(one.name).by_roles)
    if names:
        reasons.append(f"{_IDLE} draws on trial of each candidate of {listed(names)} change no record")
    raise UsageError(
        f"every release is the original: {'; '.join(reasons)}. Let more records change, by a larger amount or by a "
        "higher threshold of what is at risk"
    )


def _tabulated(call: MeasureCall, plan: Plan) -> frozenset[str]:
    """Names of the attributes that a measure tabulates."""
    lists = {"keys": plan.keys, "analyse": plan.analyse, "all": plan.names}
    return frozenset(call.attributes or lists[call.measure.over])


def _differs(call: MeasureCall, plan: Plan, others: Iterable[ReleaseSpec]) -> bool:
    """Return whether some candidate can have another figure than the original."""
    if call.measure.on_records or call.measure.named or any(_seen(call, plan, spec) for spec in others):
        return True
    return plan.swaps_at_random and _swaps_differ(plan, _tabulated(call, plan), _by_table(call))


def _by_table(call: MeasureCall) -> bool:
    """Return whether a measure sees the released table alone, and not which records changed."""
    depends = call.measure.depends_on
    return depends == "table" or (not depends and call.measure.kind == "utility")


def _seen(call: MeasureCall, plan: Plan, spec: ReleaseSpec) -> bool:
    """Return whether a measure can see what a candidate of another mechanism changes."""
    if call.measure.on_records or call.measure.named:
        return True
    tabulated, changed = _tabulated(call, plan), frozenset(spec.attributes.names_having("S"))
    as_whole = _by_table(call) and not mechanism(spec.mechanism).redraws_levels and tabulated <= changed
    return bool(changed & tabulated) and not as_whole


def _swaps_differ(plan: Plan, tabulated: frozenset[str], by_table: bool) -> bool:
    """Return whether a random swap of the plan can change a figure."""
    if plan.space.specs:
        swaps = [frozenset(AttributeSpec.parse(spec, plan.names).names_having("S")) for spec in plan.space.specs]
        return any(swap & tabulated and not (by_table and tabulated <= swap) for swap in swaps)
    able = frozenset(plan.swap_candidates)
    if not able & tabulated or not by_table:
        return bool(able & tabulated)
    if not tabulated <= able:
        return True
    fewest = min(plan.space.swap_sizes, default=1)
    return len(tabulated) > 1 and fewest < len(able)


def _sentence(call: MeasureCall, plan: Plan, others: Iterable[ReleaseSpec], of_one: bool = False) -> str:
    """What is the same of all candidates (``of_one``: of one mechanism's), why, and what to change."""
    tabulated = _tabulated(call, plan)
    specs = [AttributeSpec.parse(spec, plan.names) for spec in plan.space.specs]
    changed = {name for spec in (*specs, *(one.attributes for one in others)) for name in spec.names_having("S")}
    if of_one:
        changed = {name for one in others for name in one.attributes.names_having("S")}
    elif plan.swaps_at_random and not specs:
        changed |= set(plan.swap_candidates)
    own = listed(name for name in plan.names if name in tabulated)
    what = f"every candidate has the same {call.measure.kind}, by '{call}'"
    entry = "its attributes" if call.attributes else _LISTS[call.measure.over]
    if not changed & tabulated:
        altered = listed(name for name in plan.names if name in changed) or "no attribute"
        return (
            f"{what}: it tabulates {own}, and candidates change {altered} alone. Name an attribute that is changed in "
            f"{entry}, or let one of those tabulated be changed (swap)"
        )
    return (
        f"{what}: its table of {own} stays as it is, since {'it is' if len(tabulated) == 1 else 'they are'} exchanged "
        f"as a whole. Name an attribute in {entry} that stays with its record, or exchange fewer"
    )
