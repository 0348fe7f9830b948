"""From a plan and coded data to the candidate releases."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from engine.common.errors import UsageError
from engine.common.raw_values import numbers
from engine.data.microdata import Microdata, RawColumn
from engine.data.table import ContingencyTable
from engine.mechanisms import mechanism
from engine.mechanisms.base import Mechanism
from engine.models.columns import numeric_columns
from engine.plan import Dependencies, MechanismPlan, Plan
from engine.plan.dependencies import decided_among
from engine.release import space
from engine.release.parameter import Setting
from engine.release.spec import RANDOM_SWAP, AttributeSpec, ReleaseSpec, Structure, pairs_wanted


@dataclass(frozen=True)
class Group:
    """Scenarios that share work: ``members`` are (place in the study, scenario).

    Random swaps share a ``structure``, and so their pairs.  Scenarios of another mechanism (no structure) share its
    fit.
    """

    structure: Structure | None
    members: tuple[tuple[int, ReleaseSpec], ...]


def space_of(plan: Plan, data: Microdata, known: Collection[AttributeSpec] = ()) -> space.Space:
    """The plan's release space over these data: specs to run, merged ones, impossible ones.  Of a space that is
    searched it is what the search starts from.

    A spec written out in the plan that can never work is an error; one met in an enumeration is explained and left out.
    Of specs that are the same release the first counts, ``known`` ones (run already) before all others.
    """
    names, asked = data.domain.names, plan.space
    if asked.specs:
        specs = [AttributeSpec.parse(text, names) for text in asked.specs]
        specs = [_with_outside(spec, asked.fix, asked.change) for spec in specs]
        for spec in specs:
            _check_written(spec, data.table, plan)
    elif asked.all_specs:
        specs = list(space.complete(names, plan.swap, asked.fix, asked.change))
    else:
        sizes = asked.swap_sizes or [size for size in (1, 2) if size <= len(plan.swap_candidates)]
        specs = list(space.by_swap_sizes(names, plan.swap, sizes, asked.fix, asked.change))
    specs.sort(key=lambda spec: spec not in known)
    built = space.build(specs, data.table, asked.rule, data.has_carried_columns)
    if not built.specs:
        if not built.impossible:
            raise UsageError("no candidate release is possible: no attribute may be swapped")
        hopeless, reason = built.impossible[0]
        raise UsageError(f"no candidate release is possible: {reason} (spec '{hopeless}')")
    return built


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
    reason = space.fault(spec, table, plan.space.rule)
    if reason:
        raise UsageError(f"spec '{spec}': {reason}")
    for name in spec.names_having("S"):
        if name not in plan.swap:
            raise UsageError(
                f"spec '{spec}' swaps '{name}', which is not among the attributes that may be swapped "
                f"({', '.join(plan.swap)})"
            )


def scenarios_of(
    plan: Plan, data: Microdata, known: Collection[ReleaseSpec] = (), *, listed: bool = True
) -> tuple[list[ReleaseSpec], space.Space | None]:
    """All scenarios of a plan over these data, and the space of the random swap where that is among its mechanisms.

    Every other mechanism is tried once here, so that data which do not allow it are refused before anything is run.
    Where the plan searches, the random swap has none yet: it gets them while it is searched.  ``listed`` false leaves
    it out, where its swaps are only counted.
    """
    specs: list[ReleaseSpec] = []
    found = None
    if plan.swaps_at_random and not plan.space.search and listed:
        found = space_of(plan, data, {spec.attributes for spec in known if spec.mechanism == RANDOM_SWAP})
        specs += space.scenarios(found.specs, plan.space.rates, plan.space.rule)
    for declared in plan.mechanisms:
        if declared.name == RANDOM_SWAP:
            if declared.grid:
                raise UsageError(
                    f"mechanism '{RANDOM_SWAP}' has no parameter '{declared.grid[0][0]}'; its specs and rates stand "
                    "in [space]"
                )
            continue
        specs += record_scenarios(declared, plan, data)
    return list(dict.fromkeys(specs)), found


def record_scenarios(declared: MechanismPlan, plan: Plan, data: Microdata) -> list[ReleaseSpec]:
    """Every combination of a mechanism's grid as a scenario; equal ones once.

    Each is fitted and drawn once on trial, so that a sweep does not stop half-way at what these data do not allow.
    """
    made = mechanism(declared.name)
    names = [name for name, _ in declared.grid]
    specs = []
    fitted: dict[tuple[str, ...], Any] = {}
    for values in product(*(values for _, values in declared.grid)):
        setting = setting_of(declared.name, dict(zip(names, values, strict=True)), plan, data)
        fit = fit_key(made, setting.texts)
        if fit not in fitted:
            fitted[fit] = made.prepare(setting)
        made.draw(fitted[fit], setting, bytes(32))
        changes = made.changes(setting) if made.changes else setting.keys
        roles = "".join("S" if j in changes else "U" for j in range(len(data.domain)))
        specs.append(
            ReleaseSpec(AttributeSpec(data.domain.names, roles), "", "strict", declared.name, params=setting.texts)
        )
    return specs


def setting_of(name: str, params: Mapping[str, str], plan: Plan, data: Microdata) -> Setting:
    """A mechanism's parameters on the plan's keys and numeric columns."""
    numeric = tuple(column for column in numeric_columns(plan, data) if column not in (data.weight, data.id))
    return mechanism(name).setting(data, params, data.domain.indices(plan.keys), numeric)


def fit_key(made: Mechanism, texts: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """What a fit depends on: scenarios that agree on it share the fit."""
    return (made.name, *(value for name, value in texts if name in made.fit))


def multi_kind(table: ContingencyTable) -> tuple[int, ...]:
    """Places of the attributes in which more than one kind of level occurs."""
    return tuple(
        j
        for j, attribute in enumerate(table.domain.attributes)
        if not attribute.one_kind and len(np.unique(attribute.kind_codes[table.cells[:, j]])) > 1
    )


def sharing(
    scenarios: Sequence[tuple[int, ReleaseSpec]], table: ContingencyTable
) -> list[list[tuple[int, ReleaseSpec]]]:
    """Scenarios by the work that they share, in the order in which each kind first appears; see :class:`Group`."""
    several = multi_kind(table)
    found: dict[Any, list[tuple[int, ReleaseSpec]]] = {}
    rates_of: dict[tuple[str, str], list[tuple[int, ReleaseSpec]]] = {}  # all rates of a spec, and more, meet in a list
    for place, spec in scenarios:
        if spec.mechanism == RANDOM_SWAP:
            asked = (spec.attributes.roles, spec.rule)
            members = rates_of.get(asked)
            if members is None:
                members = rates_of[asked] = found.setdefault((*_unsplit(asked[0], several), spec.rule), [])
            members.append((place, spec))
        else:
            found.setdefault(fit_key(mechanism(spec.mechanism), spec.params), []).append((place, spec))
    return list(found.values())


def _unsplit(roles: str, several: Sequence[int]) -> tuple[str, str]:
    """Roles without the split of S∪C, but for whether C is empty; and that split on attributes with several kinds of
    levels.  Equal for specs of one :class:`Structure`."""
    if "C" not in roles:
        return roles, ""
    return roles.replace("S", "C"), "".join([str(j) + "," for j in several if roles[j] == "S"])


def group(scenarios: Sequence[tuple[int, ReleaseSpec]], table: ContingencyTable) -> list[Group]:
    """Scenarios by structure, in the order in which structures first appear."""
    several = multi_kind(table)
    return [
        Group(members[0][1].structure(several) if members[0][1].mechanism == RANDOM_SWAP else None, tuple(members))
        for members in sharing(scenarios, table)
    ]


def remarks(plan: Plan, found: space.Space, n_records: int) -> list[str]:
    """What to say about a space before it is run: merged specs, impossible ones, rates that round to nothing."""
    said = [
        f"'{spec}' is equivalent to '{earlier}' (swap of complement) and was skipped"
        for spec, earlier in found.merged[:3]
    ]
    if len(found.merged) > 3:
        said.append(f"{len(found.merged):,} equivalent specs were skipped in all")
    said += [f"'{spec}' cannot work: {reason}" for spec, reason in found.impossible[:3]]
    if len(found.impossible) > 3:
        said.append(f"{len(found.impossible):,} specs cannot work in all")
    return [*said, *rounded(plan, n_records)]


def rounded(plan: Plan, n_records: int) -> list[str]:
    """What to say about rates that round to nothing."""
    return [
        f"rate {rate} of {n_records:,} records rounds to zero: nothing would be swapped"
        for rate in plan.space.rates
        if pairs_wanted(rate, n_records)[0] == 0
    ]


def released_names(data: Microdata) -> list[str]:
    """Raw columns that every release holds, in file order: all but the dropped ones, the weight and the id."""
    aside = {*data.dropped, data.weight, data.id}
    return [name for name in data.raw.names if name not in aside]


def differs_everywhere(column: RawColumn, n_records: int) -> bool:
    """Whether a column has another value in nearly every record, on enough records for that to be no accident."""
    return _differs(len(column.values), n_records)


def _differs(n_values: int, n_records: int) -> bool:
    return n_records > 50 and n_values > 0.9 * n_records


def tells_apart(column: RawColumn, n_records: int) -> bool:
    """Whether a column tells nearly every record apart, so that no public bundle may hold it.

    Numbers with decimals are amounts, which differ by nature; whole numbers and texts that differ are names.
    """
    if not differs_everywhere(column, n_records):
        return False
    figures = numbers(column.values)
    known = figures[~np.isnan(figures)]
    return len(known) < 0.5 * len(figures) or bool((known == np.round(known)).all())


MEND_IDENTIFIER = (
    "drop it, or put classes of it into the file in its place; declare it as the id only if it numbers the records"
)
"""What to do about a column that tells nearly every record apart."""


def carried_identifiers(data: Microdata) -> list[str]:
    """Warnings about columns, carried or in a block, that differ in nearly every record: their values are released as
    they are, and a public bundle that holds one that tells records apart is refused."""
    said, carried = [], set(data.carried)
    n = data.n_records
    for name in released_names(data):
        if not _differs(data.raw.n_values(name), n):
            continue
        column = data.raw.columns[name]
        refused = tells_apart(column, n)
        if refused or name in carried:
            how = "is carried and" if name in carried else "belongs to an attribute and"
            mend = MEND_IDENTIFIER.replace("; ", ", or ") if refused else "drop it, or declare it as the weight"
            said.append(
                f"column '{name}' {how} differs in {len(column.values):,} of {n:,} records: released as it is, it may "
                f"identify them{', and a public bundle with it is refused' if refused else ''}; {mend}"
            )
    return said


def finer_than_counted(data: Microdata, keys: Sequence[str]) -> list[str]:
    """A warning about columns that are released finer than the risk figures count them, or none.

    A block's columns move and are released as they are; an attribute that cuts or merges one of them, or that is viewed
    through a coarser one, counts only its levels.
    """
    finer = []
    for name in keys:
        attribute = data.domain.attributes[data.domain.index(name)]
        values = {column: data.raw.n_values(column) for column in attribute.columns}
        # every value occurs, so where there are more of them than levels some level holds several
        more = [f"'{column}' with {n:,} values" for column, n in values.items() if n > attribute.size]
        if more:
            finer.append(f"'{name}' by {attribute.size} levels (released is {', '.join(more)})")
    if not finer:
        return []
    return [
        f"keys are counted more coarsely than they are released: {', '.join(finer)}; whoever knows such a value exactly"
        " knows more than the risk figures say; drop what is finer, or let its own values be the levels"
    ]


def release_warnings(data: Microdata, plan: Plan) -> list[str]:
    """All that is to be said about what a release of these data would tell, before anything is run.

    What can be done about it stands after the last semicolon of each.
    """
    return [*carried_identifiers(data), *finer_than_counted(data, plan.keys), *loose_recodes(data, plan)]


_PAIRS_NAMED = 3
_DRAWN_ANEW = ("pram", "smike")  # mechanisms that draw the levels of each key, where others move all keys as one


def loose_recodes(data: Microdata, plan: Plan, found: Dependencies | None = None) -> list[str]:
    """A warning about released columns of which one decides the other and one may change without the other, or none.

    ``found`` is an earlier look through all columns of the file, which is what takes the time.
    """
    home = {column: part.name for part in data.domain.attributes for column in part.columns}
    # partners that agree on such an attribute agree on its column, and on all that this decides
    exact = {
        column: part.name
        for part, coded in zip(plan.attributes, data.domain.attributes, strict=True)
        for column in part.view[:1]
        if len(part.view) == 1 and data.raw.n_values(column) <= coded.size
    }
    loose: dict[frozenset[str], str] = {}
    for decider, decided in decided_among(data.raw, set(released_names(data)), found, home):
        holding = {exact[column] for column in (decider, decided) if column in exact}
        if _may_part(plan, home.get(decider), home.get(decided), holding):
            loose.setdefault(frozenset((decider, decided)), f"'{decider}' decides '{decided}'")
    if not loose:
        return []
    named = list(loose.values())[:_PAIRS_NAMED]
    more = len(loose) - len(named)
    listed = ", ".join(named) + (f" and so on for {more:,} more" if more else "")
    return [
        f"{listed} in every record, and one may be changed without the other: whoever recomputes the one from the "
        "other finds the altered records or undoes the swap, and a public bundle is refused where that is so; let them "
        "move as one block (accept the suggestion under File, or name both in the columns of an attribute), or drop one"
    ]


def _may_part(plan: Plan, one: str | None, other: str | None, holding: Collection[str]) -> bool:
    """Whether a candidate may change one of two attributes (None: a carried column, which stays) and not the other, so
    that they contradict each other; they never do where one ``holding`` them together is the same in both partners."""
    if one == other:
        return False
    both = {name for name in (one, other) if name is not None}
    if plan.swaps_at_random:
        asked, may = plan.space, both & set(plan.swap_candidates)
        if asked.specs:
            for text in asked.specs:
                spec = AttributeSpec.parse(text, plan.names)
                moved, held = set(spec.names_having("S")), {*spec.names_having("F"), *asked.fix}
                if (one in moved) != (other in moved) and held.isdisjoint(holding):
                    return True
        elif not set(asked.fix).isdisjoint(holding):
            pass
        elif len(may) == 1 or (may and (not asked.swap_sizes or asked.swap_sizes[0] < len(plan.swap_candidates))):
            return True
    for declared in plan.mechanisms:
        if declared.name == RANDOM_SWAP:
            continue
        named = {name for key, values in declared.grid if key == "vars" for text in values for name in text.split("+")}
        changed = both & ((named - {""}) or set(plan.keys))
        if len(changed) == 1 or (changed and declared.name in _DRAWN_ANEW):
            return True
    return False


def predicted_failures(scenarios: Sequence[ReleaseSpec], table: ContingencyTable) -> list[tuple[ReleaseSpec, str]]:
    """Scenarios whose rate asks for more pairs than can exist, with the reason in words."""
    several, bounds = multi_kind(table), {}
    failures = []
    for spec in scenarios:
        structure = spec.structure(several)
        if structure not in bounds:
            bounds[structure] = space.pair_bound(structure, table)
        most, by = bounds[structure]
        wanted = pairs_wanted(spec.rate, table.n_records)[1]
        if wanted > most:
            where = f"differ on '{table.domain.names[by]}'" if by >= 0 else "be formed"
            failures.append((spec, f"at most {most} pairs can {where}; {wanted} requested"))
    return failures
