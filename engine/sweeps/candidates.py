"""From a plan and coded data to the candidate releases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from engine.common.errors import Remedy, UsageError
from engine.common.wording import listed
from engine.data.domain import Domain
from engine.data.microdata import Microdata
from engine.data.table import ContingencyTable
from engine.measures.base import attribute_indices
from engine.measures.planned import planned_calls
from engine.mechanisms import mechanism
from engine.mechanisms import names as mechanism_names
from engine.mechanisms.base import Mechanism, names_in
from engine.models.columns import numeric_columns
from engine.plan import MechanismPlan, Plan
from engine.release import space
from engine.release.parameter import Setting
from engine.release.reader_view import columns_beside, exchange_is_void
from engine.release.release_specs import ReleaseSpecs
from engine.release.space_size import n_specs
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.release.specs import Specs
from engine.sweeps.groups import fit_key
from engine.sweeps.swap_ways import swap_ways, without_impossible


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
            _check_written(spec, data.table, plan)
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
    built = without_impossible(built, space_plan.rule, swap_ways(plan), data.table)
    if not built.specs:
        if not built.impossible:
            raise UsageError("no candidate release is possible: no attribute may be swapped")
        spec, reason = built.impossible[0]
        raise UsageError(f"no candidate release is possible: {space.impossibility_text(reason)} (spec '{spec}')")
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
    return n_specs(data.table, plan.swap, asked.fix, asked.change, asked.rule, merging)


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


def _check_written(spec: AttributeSpec, table: ContingencyTable, plan: Plan) -> None:
    reason = space.impossibility(spec, table, plan.space.rule)
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
) -> tuple[ReleaseSpecs, space.Space | None]:
    """All scenarios of a plan over these data, and the space of the random swap where that is among its mechanisms.

    Every other mechanism is tried once here, so that data which do not allow it are refused before anything is run.
    Where the plan searches, the random swap has none yet: it gets them while it is searched.  ``listed`` false leaves
    it out, where its swaps are only counted.  ``tell`` is told what mechanisms say of their candidates.
    """
    specs, listed_space = ReleaseSpecs.of([], data.domain.names), None
    if plan.swaps_at_random and not plan.space.search and listed:
        listed_space = space_of(plan, data, _run(ReleaseSpecs.of(known, data.domain.names)))
        ways = swap_ways(plan)
        specs = ReleaseSpecs.product(listed_space.specs, plan.space.rates, plan.space.rule, ways)
    others: dict[ReleaseSpec, None] = {}
    for declared in plan.mechanisms:
        if not mechanism(declared.name).by_roles:
            others |= dict.fromkeys(record_scenarios(declared, plan, data, tell))
    return specs.joined(ReleaseSpecs.of(others)), listed_space


def _run(known: ReleaseSpecs) -> Specs:
    """The attribute specs that were run by roles."""
    return known.specs.take(np.flatnonzero(np.bincount(known.spec_codes[known.by_roles])))


def record_scenarios(
    declared: MechanismPlan, plan: Plan, data: Microdata, tell: Callable[[str], object] | None = None
) -> list[ReleaseSpec]:
    """Every combination of a mechanism's grid as a scenario; equal ones once.

    Each is fitted and drawn once on trial, so that a sweep does not stop half-way at what these data do not allow.
    ``tell`` is told what the mechanism says of them.
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
        if tell is not None and made.remarks is not None:
            for text in made.remarks(fitted[fit], setting, drawn):
                tell(text)
        roles = "".join("S" if j in changes else "U" for j in range(len(data.domain)))
        specs.append(
            ReleaseSpec(AttributeSpec(data.domain.names, roles), "", "strict", declared.name, params=setting.texts)
        )
    return specs


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
    if exchange_is_void(data, places, columns_beside(data, plan.publish.include), made.whole_units):
        raise UsageError(
            f"mechanism '{made.name}' would exchange all that is released of a record "
            f"({listed(data.domain.names[j] for j in places)}), so that every release is the original, its rows in "
            f"another order. Name {' and '.join(listing) or 'keys'} that leave at least one released attribute out, or "
            "carry a column that stays with its record",
            None if named else Remedy.KEYS,
        )


def setting_of(spec: ReleaseSpec, plan: Plan, data: Microdata) -> Setting:
    """A scenario on the plan's keys and numeric columns, with what leaves beside the attributes."""
    setting = mechanism(spec.mechanism).setting(data, dict(spec.params), *_worked_on(plan, data))
    return replace(setting, spec=spec, beside=columns_beside(data, plan.publish.include))


def _worked_on(plan: Plan, data: Microdata) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The places of the plan's keys and its numeric columns, on which mechanisms work."""
    numeric = tuple(column for column in numeric_columns(plan, data) if column not in data.single_uses)
    return tuple(data.domain.indices(plan.keys)), numeric
