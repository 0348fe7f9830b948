"""Make proposals for a plan from the records of a file: few decisions, each with its reason; accept them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.common.wording import columns_named, printable
from engine.data.microdata import NO_LABELS, RawTable, Units
from engine.plan.coding import assign_columns
from engine.plan.coding import column_list as listed
from engine.plan.coding import counted as count
from engine.plan.columns import facts, is_weight, unnumbered
from engine.plan.dependencies import Dependencies, SkipPattern, dependencies
from engine.plan.doubts import PROPOSALS as KINDS
from engine.plan.doubts import Link, Proposal, codes_below_zero, counted_values
from engine.plan.edit import is_dropped, on_data, take_out, uses_of_attributes, with_attributes_renamed, writable_names
from engine.plan.entries import (
    HOUSEHOLD_SWAP,
    SIGNS,
    AttributePlan,
    UnitColumns,
    is_writable,
    unit_columns,
    with_missing,
    with_notation,
)
from engine.plan.households import (
    can_name_place,
    exchange_of,
    household_columns,
    lacks_exchange,
    places_of,
    suggested_places,
    with_mechanism,
)
from engine.plan.toml import plan_to_toml
from engine.plan.types import DataPlan, Plan

_OF_HOUSEHOLD = re.compile(r"(^|_)hh?_?w|w(ei)?gh?t_?(hh|house)|house|^wgtp\d*$", re.IGNORECASE)  # names of weights


def propose(raw: RawTable, plan: Plan | None = None, known: Dependencies | None = None) -> list[Proposal]:
    """Proposals that the records suggest, in the order in which they are best decided.

    With a ``plan``, only what would change it: a block between columns that are all carried needs no decision, since
    columns that stay with their record stay together.  Where a column numbers households, places that nest become no
    block but the hierarchy of an exchange of households, which is proposed once the plan names that column.
    Accepting one proposal may open another, so ask again until the list is empty.  ``known`` are dependencies found
    before: looking for them is what takes the time.
    """
    known = dependencies(raw) if known is None else known
    unit: UnitColumns = known.together or (known.units[0] if known.units else None)
    if plan is not None and plan.data.unit:
        unit = plan.data.unit
    of_columns = _one_by_one(raw, known) if plan is None else plan
    suggested = _without_finer(suggested_places(raw, of_columns, unit), of_columns, known) if unit else ()
    view_of = {part.name: part.view[0] for part in of_columns.attributes}
    places = tuple(view_of.get(name, name) for name in places_of(of_columns) or suggested)
    index_of = {name: i for i, name in enumerate(raw.names)}
    proposals = sorted(
        (
            *_identity(raw, known),
            *_possible_weights(raw, known, plan),
            *_missing(raw, known),
            *_doubtful(known, of_columns),
            *_blocks(raw, known, places),
            *(_skip(raw, p) for p in known.skips),
            *(() if plan is None else _names_of_attributes(raw, plan)),
            *(_places(raw, of_columns, unit, suggested, places) if unit else ()),
        ),
        key=lambda p: (KINDS.index(p.kind), not p.certain, index_of[p.columns[0]] if p.certain else 0),
    )
    if plan is None:
        return proposals
    return [p for p in proposals if (p.kind != "places" or lacks_exchange(plan)) and changes(plan, p)]


def _without_finer(suggested: tuple[str, ...], plan: Plan, known: Dependencies) -> tuple[str, ...]:
    """The places suggested; none where another column decides one, such as a sampling unit: an exchange of the places
    would tear apart what it decides, which a block keeps whole."""
    columns = {view for part in plan.attributes if part.name in suggested for view in part.view}
    return () if any(b in columns and a not in columns for a, b in known.recodes) else suggested


def _one_by_one(raw: RawTable, known: Dependencies) -> Plan:
    """A plan in which each column that is no number, weight or constant is an attribute."""
    numbers = {*known.together, *known.repeated, *known.units, *known.lines}
    aside = {*numbers, *known.ids, *known.weights, *known.constant}
    return Plan(DataPlan(tuple(AttributePlan(name) for name in raw.names if name not in aside)))


def _places(
    raw: RawTable, plan: Plan, unit: UnitColumns, names: Sequence[str], columns: tuple[str, ...]
) -> Iterator[Proposal]:
    """The exchange of households between nested places, where there are two levels or more."""
    if len(names) < 2 or any(not can_name_place(name) for name in names):
        return
    yield Proposal(
        "places",
        columns,
        f"{_names(columns)} are places from coarse to fine: each lies in one of the level before it, and all records "
        f"with the same {_names(unit_columns(unit))} have the same ones.",
        f"They stay attributes of their own, the hierarchy between whose places whole households are exchanged "
        f"(mechanism '{HOUSEHOLD_SWAP}'); this takes the place of the random swap, which would tear households apart.",
        exchange=exchange_of(household_columns(raw, plan, unit, names), names),
    )


def _identity(raw: RawTable, known: Dependencies) -> Iterator[Proposal]:
    if known.together:
        units = Units.of_columns([raw.columns[name].codes for name in known.together])
        others = [name for name in (*known.units, *known.repeated) if name not in known.together]
        why = f", and each value of {_names(known.lines)} occurs once in a household" if known.lines else ""
        yield Proposal(
            "unit",
            (*known.together, *others),
            f"{_names(known.together)} number households together: a combination stands for "
            f"{raw.n_records / len(units):.2g} records on average{why}; none of them does so alone.",
            f"{_names(known.together)} become the unit together, which is never exported unless asked for, and then as "
            f"new numbers in the place of '{known.together[0]}'" + _also_dropped(others),
            together=known.together,
        )
    elif known.units:
        leading, *others = (*known.units, *known.repeated)
        are = "is part" if len(known.repeated) == 1 else "are parts"
        parts = f"; {_names(known.repeated)} {are} of such a number, or of clusters of them" if known.repeated else ""
        n_without = int(np.count_nonzero(unnumbered(raw.columns[leading])))
        gaps = f"; {count(n_without, 'record')} may have none, of which `plan check` says more" if n_without else ""
        yield Proposal(
            "unit",
            (leading, *others),
            f"{_names(known.units)} {'numbers' if len(known.units) == 1 else 'number'} households: a value "
            f"stands for {raw.n_records / known.facts[leading].n_distinct:.2g} records on average, and hardly any for "
            f"more than 15{parts}{gaps}.",
            f"'{leading}' becomes the unit, the column that numbers households, which is never exported unless asked "
            "for, and then with new numbers" + _also_dropped(others),
        )
    if known.lines:
        are = "numbers" if len(known.lines) == 1 else "number"
        yield Proposal(
            "line",
            known.lines,
            f"{_names(known.lines)} {are} the members of a household, from 1 on: each value occurs once in it.",
            "A line number says nothing about a person, so there is nothing to swap: carried with the records.",
        )
    if known.ids:
        first, *others = known.ids
        yield Proposal(
            "id",
            known.ids,
            f"{_names(known.ids)} {'numbers' if len(known.ids) == 1 else 'number'} the records or groups of them, as "
            "ids do.",
            f"'{first}' becomes the id, which is never exported unless asked for" + _also_dropped(others),
        )
    if known.weights:
        yield _named_weights(raw, known.weights)
    if known.constant:
        yield Proposal(
            "constant",
            known.constant,
            f"{_names(known.constant)} {'has' if len(known.constant) == 1 else 'have'} one value only.",
            "There is nothing to swap: carried with the records.",
        )


def _named_weights(raw: RawTable, weights: Sequence[str]) -> Proposal:
    """The weights by name and values; uncertain where the leading one has codes in place of some weights."""
    leading = min(weights, key=_is_auxiliary)
    others = [name for name in weights if name != leading]
    gaps = _gaps(raw, leading)
    return Proposal(
        "weight",
        (leading, *others),
        f"{_names((leading, *others))} {'look like weights' if others else 'looks like a weight'} by name and "
        f"values{gaps}.",
        f"'{leading}' becomes the weight and follows its record"
        + (f"; {_names(others)} {'stays' if len(others) == 1 else 'stay'} with the record too." if others else ".")
        + (" First give these records a weight in the file, or take them out." if gaps else ""),
        certain=not gaps,
    )


def _gaps(raw: RawTable, name: str) -> str:
    """The codes in place of weights, with their numbers of records; empty where there is none."""
    column = raw.columns[name]
    codes = codes_below_zero(column)
    return f", but for likely codes for missing: {counted_values(column, codes)}" if codes else ""


def unused_weight(raw: RawTable, plan: Plan) -> Proposal | None:
    """The weights by name and values that a plan without a weight carries."""
    if plan.data.weight is not None or raw.streamed is not None:
        return None
    carried = [raw.columns[name] for name in assign_columns(plan.data, raw.names).carried if raw.in_memory(name)]
    found = [c.name for c in carried if is_weight(c, facts(c, raw.n_records))]
    return _named_weights(raw, found) if found else None


def _also_dropped(others: Sequence[str]) -> str:
    return f"; {_names(others)} {'is' if len(others) == 1 else 'are'} dropped." if others else "."


def _possible_weights(raw: RawTable, known: Dependencies, plan: Plan | None) -> Iterator[Proposal]:
    """One proposal for each column that may be a weight by its values, as long as a plan has none and carries it."""
    if plan is not None and plan.data.weight is not None:
        return
    carried = raw.names if plan is None else assign_columns(plan.data, raw.names).carried
    for name in known.possible_weights:
        if name in carried:
            yield Proposal(
                "weight",
                (name,),
                f"'{name}' may be a weight: it is positive in every record and has {known.levels[name]:,} values in "
                f"{raw.n_records:,} records{_gaps(raw, name)}.",
                f"'{name}' becomes the weight and follows its record; decline it where it measures something, such as "
                "an exact income.",
                certain=False,
            )


def _is_auxiliary(weight: str) -> tuple[bool, bool, bool]:
    """Sorts final weights before others, those of persons before those of households, and replicate weights, which are
    numbered, last."""
    return "fin" not in weight.casefold(), any(sign.isdigit() for sign in weight), bool(_OF_HOUSEHOLD.search(weight))


def _missing(raw: RawTable, known: Dependencies) -> Iterator[Proposal]:
    if not known.missing:
        return
    label_of_code: dict[str, str] = {}
    for name, codes in known.missing:
        for code in codes:
            label_of_code.setdefault(code, raw.columns[name].about.label_of.get(code, ""))
    codes_shown = [f"{code} ({label})" if label else code for code, label in sorted(label_of_code.items())]
    remainder = f" and {len(codes_shown) - 6} more" if len(codes_shown) > 6 else ""
    yield Proposal(
        "missing",
        tuple(name for name, _ in known.missing),
        f"{count(len(known.missing), 'column')} {'holds' if len(known.missing) == 1 else 'hold'} codes that mean "
        f"missing: {', '.join(codes_shown[:6])}{remainder}.",
        "In attributes made of these columns the codes become one level 'missing'; the data keep their codes.",
        codes=known.missing,
    )


def _doubtful(known: Dependencies, plan: Plan) -> Iterator[Proposal]:
    """What is in doubt of the values of attributes, and of numbers that do not say how they are written."""
    viewed = {part.view[0] for part in plan.attributes if len(part.view) == 1 and not part.cut}
    aside = {name for name, _ in known.missing}
    read = {column.name for column in plan.data.columns if column.notation is not None}
    for proposal in known.doubtful:
        name = proposal.columns[0]
        if (proposal.kind == "number" and name not in read) or (
            name in viewed and not (proposal.kind == "code" and name in aside)
        ):
            yield proposal


def _blocks(raw: RawTable, known: Dependencies, places: Sequence[str]) -> Iterator[Proposal]:
    """One proposal for each set of columns that depend on each other, the finest first in it; ``places``, from coarse
    to fine, stay apart, and what several of them decide goes with the finest one."""
    links = [Link(b, a, "recode") for a, b in known.recodes]
    links += [Link(b, group[0], "same") for group in known.same for b in group[1:]]
    links += [Link(b, a, "flag") for a, b in known.flags if a in known.levels]
    # the links that join no two places: none between them, and from the finest alone to what several decide
    rank = {name: level for level, name in enumerate(places)}
    finest: dict[str, int] = {}
    for link in links:
        if link.source in rank:
            finest[link.column] = max(rank[link.source], finest.get(link.column, 0))
    links = [
        link
        for link in links
        if link.source not in rank or (link.column not in rank and finest[link.column] == rank[link.source])
    ]
    parent = {name: name for link in links for name in (link.column, link.source)}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = name = parent[parent[name]]
        return name

    for link in links:
        parent[root(link.column)] = root(link.source)
    groups: dict[str, list[str]] = {}
    links_of: dict[str, list[Link]] = {}
    for name in raw.names:
        if name in parent:
            groups.setdefault(root(name), []).append(name)
    for link in links:
        links_of.setdefault(root(link.column), []).append(link)
    decided = {link.column for link in links if link.kind != "same"}
    for representative, columns in groups.items():
        if len(set(places) & set(columns)) > 1:
            continue  # another column joins them, such as a finer code of places
        columns.sort(key=lambda name: (name in decided, -known.levels[name]))
        yield _block(tuple(columns), links_of[representative], known)


def _block(block_columns: tuple[str, ...], links: Sequence[Link], known: Dependencies) -> Proposal:
    rank = {name: i for i, name in enumerate(block_columns)}
    # One link a column, from the finest column that decides it.
    order = {"recode": 0, "same": 0, "flag": 1}
    best: dict[str, Link] = {}
    for link in sorted(links, key=lambda link: (order[link.kind], rank[link.source])):
        best.setdefault(link.column, link)
    chosen = tuple(sorted(best.values(), key=lambda link: rank[link.column]))
    linked: dict[tuple[str, str], list[str]] = {}
    for link in chosen:
        linked.setdefault((link.source, link.kind), []).append(link.column)
    phrases = {
        "recode": "decides {}: equal values in the one go with equal values in the other, in every record",
        "same": "and {} say the same in different codes",
        "flag": "has the flag {} by its name",
    }
    sentences = [f"'{source}' {phrases[kind].format(_names(columns))}." for (source, kind), columns in linked.items()]
    return Proposal(
        "block",
        block_columns,
        " ".join(sentences),
        f"{_names(block_columns)} become one block: they move together, so that no record shows a combination that "
        "contradicts itself.",
        chosen,
    )


def _skip(raw: RawTable, pattern: SkipPattern) -> Proposal:
    names = tuple(name for name, _ in pattern.columns)
    if pattern.gate is None:
        links = tuple(Link(name, names[0], "skip", (), code) for name, code in pattern.columns[1:])
        return Proposal(
            "skip",
            names,
            f"{_names(names)} are skipped in the same records.",
            "They become one block, so that they stay skipped together.",
            (Link(names[0], names[0], "skip", (), pattern.columns[0][1]), *links),
        )
    about = raw.columns[pattern.gate].about
    values_shown = [about.label_or_value(value) or "empty" for value in pattern.values[:4]]
    values_shown += [f"{len(pattern.values) - 4} more"] if len(pattern.values) > 4 else []
    values = f"{', '.join(values_shown[:-1])} or {values_shown[-1]}" if len(values_shown) > 1 else values_shown[0]
    return Proposal(
        "skip",
        (pattern.gate, *names),
        f"{_names(names)} {'is' if len(names) == 1 else 'are'} skipped in exactly the records where '{pattern.gate}' "
        f"is {values}.",
        f"{'It moves' if len(names) == 1 else 'They move'} with '{pattern.gate}' as one block, so that nobody answers "
        "a question that was skipped; skipped is a kind of level of its own.",
        tuple(Link(name, pattern.gate, "skip", pattern.values, code) for name, code in pattern.columns),
    )


def _names_of_attributes(raw: RawTable, plan: Plan) -> Iterator[Proposal]:
    """Another name for each attribute that no measure can name."""
    columns_of = {part.name: part.columns for part in plan.attributes}
    for name, new_name in writable_names(plan).items():
        if columns_of[name][0] in raw.columns:
            yield Proposal(
                "name",
                columns_of[name],
                f"No measure can name the attribute '{name}', which holds one of {SIGNS}: a table of it is not "
                "measured.",
                f"The attribute is renamed to '{new_name}'. Its column keeps its name, in the release and its codebook "
                "too.",
                new_name=new_name,
            )


def _names(names: Sequence[str]) -> str:
    if 1 < len(names) <= 5:
        return listed(names[:-1]) + f" and '{names[-1]}'"
    return listed(names)


def accept(plan: Plan, proposal: Proposal) -> Plan:
    """``plan`` with ``proposal`` carried out; an equal plan when it changes nothing.

    Attributes that join another's block hand their roles to it; the block keeps the name and the levels of one that the
    plan names or cuts.  An analysis, edit rule, table or spec that names an attribute which would go is a
    :class:`UsageError`: it says something that the proposal would silently change.
    """
    if proposal.kind in ("missing", "code"):
        return _with_missing(plan, proposal)
    if proposal.kind == "alike":
        return _alike(plan, proposal)
    if proposal.kind in ("block", "skip"):
        return _join(plan, proposal)
    if proposal.kind == "name":
        named = (part.name for part in plan.attributes if part.columns == proposal.columns)
        return with_attributes_renamed(plan, {name: proposal.new_name for name in named if not is_writable(name)})
    if proposal.kind == "number" and proposal.codes:
        plan = _with_words_missing(_with_missing(plan, proposal), *proposal.codes[0])
    if proposal.notation is not None:
        columns = with_notation(plan.data.columns, proposal.columns[0], proposal.notation)
        return replace(plan, data=replace(plan.data, columns=columns))
    if proposal.kind == "number" and proposal.codes:
        return plan
    if proposal.kind == "number":
        return take_out(plan, drop=proposal.columns)
    if proposal.kind in ("constant", "line"):
        return take_out(plan, carry=proposal.columns)
    if proposal.exchange is not None:
        return with_mechanism(plan, proposal.exchange)
    if proposal.kind == "unit":
        return _unit(plan, proposal)
    leading, *others = proposal.columns
    declared = getattr(plan.data, proposal.kind)
    if declared is not None:
        others = [name for name in proposal.columns if name != declared]
        leading = declared
    if proposal.kind == "weight":
        return take_out(plan, carry=others, weight=leading)
    # A second number of records or households would be released if it were carried.
    return take_out(plan, drop=others, **{proposal.kind: leading})


def _unit(plan: Plan, proposal: Proposal) -> Plan:
    """The plan whose unit is the leading column of a proposal, or those that number households together."""
    leading = plan.data.unit_columns or proposal.together or proposal.columns[:1]
    if plan.data.unit is None and plan.data.id in leading:
        plan = replace(plan, data=replace(plan.data, id=None, drop=(*plan.data.drop, str(plan.data.id))))
    return take_out(plan, drop=[name for name in proposal.columns if name not in leading], unit=leading)


def changes(plan: Plan, proposal: Proposal) -> bool:
    """Return whether :func:`accept` would change ``plan`` (or refuse to); much faster than to try for a block or a
    skip."""
    if proposal.kind in ("block", "skip"):
        columns, affected = _reach(plan.data, proposal)
        if len(affected) != 1 or not set(columns) <= set(affected[0].columns):
            return bool(affected)
        return _coded(affected[0], proposal, plan) != affected[0]
    try:
        return accept(plan, proposal) != plan
    except UsageError:
        return True  # accepting it says what is in its way


def _reach(data: DataPlan, proposal: Proposal) -> tuple[list[str], list[AttributePlan]]:
    """The columns that a block or skip concerns (what is dropped, id, unit or weight stays that), and the attributes
    that hold some of them."""
    columns = [c for c in proposal.columns if c not in data.single_uses and not is_dropped(data, c)]
    concerned = set(columns)
    return columns, [a for a in data.attributes if not concerned.isdisjoint(a.columns)]


def _join(plan: Plan, proposal: Proposal) -> Plan:
    """The columns of the proposal as one block, where at least one of them is in an attribute."""
    data = plan.data
    columns, affected = _reach(data, proposal)
    if not affected:
        return plan
    # An attribute that somebody chose keeps name and levels; else the one that views the finest column.
    # the attributes that a list of roles, which is not that of all, or another entry names
    roles = (names for names in (plan.keys, plan.swap, plan.analyse) if names != plan.names)
    named = (*roles, plan.space.fix, plan.space.change, *(names for _, names in uses_of_attributes(plan)))
    rank, chosen = {name: i for i, name in enumerate(columns)}, {name for names in named for name in names}
    target = min(
        affected,
        key=lambda a: (a.name not in chosen and not a.cut, min(rank.get(c, len(rank)) for c in a.view)),
    )
    joined_columns = dict.fromkeys((*target.columns, *columns, *(c for a in affected for c in a.columns)))
    joined = _coded(replace(target, columns=tuple(joined_columns)), proposal, plan)
    attributes = tuple(joined if a is target else a for a in data.attributes if a is target or a not in affected)
    changed = replace(data, attributes=attributes, carry=tuple(c for c in data.carry if c not in joined_columns))
    return on_data(plan, changed, {a.name: target.name for a in affected if a is not target})


def _coded(attribute: AttributePlan, proposal: Proposal, plan: Plan) -> AttributePlan:
    """The attribute with the code that says "skipped" in the column it views."""
    codes = {link.column: link.code for link in proposal.links if link.kind == "skip"}
    if len(attribute.view) == 1 and attribute.view[0] in codes:
        return _with_skip(attribute, codes[attribute.view[0]], plan)
    return attribute


def _with_skip(attribute: AttributePlan, code: str | None, plan: Plan) -> AttributePlan:
    if code is None or code in (*plan.data.missing, *attribute.missing):
        return replace(attribute, on_missing="level")
    if code in attribute.skip:
        return attribute
    return replace(_without(attribute, {code}), skip=(*attribute.skip, code))


def _with_missing(plan: Plan, proposal: Proposal) -> Plan:
    codes = dict(proposal.codes)
    attributes = []
    for attribute in plan.attributes:
        of_plan = () if proposal.kind == "code" else plan.data.missing
        new = {c for name in attribute.view for c in codes.get(name, ())} - {
            *attribute.missing,
            *attribute.skip,
            *of_plan,
        }
        if new:
            ordered = tuple(c for name in attribute.view for c in codes.get(name, ()) if c in new)
            attribute = _without(attribute, new)
            attribute = replace(attribute, missing=(*attribute.missing, *dict.fromkeys(ordered)), on_missing="level")
        attributes.append(attribute)
    return replace(plan, data=replace(plan.data, attributes=tuple(attributes)))


def _with_words_missing(plan: Plan, name: str, words: Sequence[str]) -> Plan:
    """The plan in which words among the numbers of a column mean missing."""
    columns = plan.data.columns
    for word in words:
        columns = with_missing(columns, name, word, NO_LABELS)
    return replace(plan, data=replace(plan.data, columns=columns))


def _alike(plan: Plan, proposal: Proposal) -> Plan:
    """Values that look alike as one level each, called as most of its records are; what the plan merges or declares to
    be no answer stays."""
    attributes = []
    for attribute in plan.attributes:
        for name, group in proposal.codes:
            taken = {*attribute.missing, *attribute.skip, *(raw for _, values in attribute.merge for raw in values)}
            alike = tuple(raw for raw in group if raw not in taken and raw in (attribute.levels or group))
            if attribute.view == (name,) and not attribute.cut and len(alike) > 1:
                levels = tuple(level for level in attribute.levels if level not in alike[1:])
                attribute = replace(attribute, levels=levels, merge=(*attribute.merge, (alike[0], alike)))
        attributes.append(attribute)
    return replace(plan, data=replace(plan.data, attributes=tuple(attributes)))


def _without(attribute: AttributePlan, codes: set[str]) -> AttributePlan:
    """The attribute whose value levels no longer hold these raw values."""
    merge = tuple((level, tuple(raw for raw in values if raw not in codes)) for level, values in attribute.merge)
    emptied = {level for level, values in merge if not values}
    levels = tuple(level for level in attribute.levels if level not in emptied and level not in codes)
    return replace(attribute, merge=tuple((level, raw) for level, raw in merge if raw), levels=levels)


@dataclass(frozen=True)
class Acceptance:
    """The plan with the proposals ``accepted``, in their order; those ``refused`` have the error that kept them from
    being carried out."""

    plan: Plan
    accepted: tuple[Proposal, ...]
    refused: tuple[tuple[Proposal, EngineError], ...]


def accept_all(raw: RawTable, plan: Plan, known: Dependencies, is_wanted: Callable[[Proposal], bool]) -> Acceptance:
    """``plan`` with every wanted proposal accepted, until none is left that arises."""
    accepted: list[Proposal] = []
    refused: dict[str, tuple[Proposal, EngineError]] = {}
    while True:
        proposals = [p for p in propose(raw, plan, known) if p.key not in refused and is_wanted(p)]
        if not proposals:
            return Acceptance(plan, tuple(accepted), tuple(refused.values()))
        try:
            plan = accept(plan, proposals[0])
            accepted.append(proposals[0])
        except EngineError as error:
            refused[proposals[0].key] = (proposals[0], error)


_HEAD = """\
# A first plan, guessed from the columns of the data. Check every line before a study.
#
# Each column has one use: part of an [[attribute]], or carry (stays with its record), drop (never leaves), weight, id.
# Weight and id follow their record and are released only where [publish] includes them.
#
# An attribute may have
#   columns = ["age", "age_flag"]               raw columns that move as one block (default: the one of its name)
#   view = ["age"]                              the column(s) whose values make the levels
#   cut = [25, 55]                              numeric edges: below 25, from 25 to below 55, 55 and above
#   labels = ["<25", "25-54", "55+"]            names of the cut levels
#   merge = { Govt = ["Federal-gov", "State-gov"] }   new level = raw values
#   levels = ["no", "yes"]                      order of the levels; a value outside them is refused
#   skip = ["-1"]                               raw values of a question validly skipped
#   missing = ["-9"]                            further raw values that mean missing
#   on_missing = "level"                        missing values become a level; the default is "refuse"
"""
_BEFORE = {
    "[space]": (
        "# [roles]                  # each list defaults to all attributes\n"
        '# keys = ["Age", "Sex"]    # what an intruder may know: risk measures tabulate these\n'
        '# swap = ["Age"]           # what may be swapped\n'
        '# analyse = ["Age", "Sex"] # what users tabulate: utility measures tabulate these\n'
        "\n"
        "# [[edit]]                 # a forbidden combination, counted before and after\n"
        '# name = "no married children"\n'
        '# forbid = { Age = ["<25"], MS = ["Married"] }\n'
        "# refuse = true            # and no swap may make it\n"
        "# at_most = 20             # a candidate of which more records break it is not within the limit\n"
        "\n"
        '# Candidate releases: swap_sizes, or all_specs = true, or specs = ["Age:S Race:F"].\n'
        "# Rates are shares of records.\n"
    ),
    "[decision]": (
        '# max_risk = "0.014" limits the risk, or slope = "0.05" trades it against utility.\n'
        '# probability = "0.9" of single runs must meet max_risk (the default); "mean" holds their mean against it.\n'
        "# Released is the first run that meets the limit and is safer than the data unchanged (first_within),\n"
        '# the first of all ("first"), or one by its number.\n'
    ),
}


def carried_remark(plan: Plan) -> str:
    """A remark on the columns that a plan carries, in two sentences."""
    are, them = ("is", "it") if len(plan.data.carry) == 1 else ("are", "them")
    return (
        f"The {columns_named(plan.data.carry)} {are} carried, so released as in the file, and no risk figure counts "
        f"{them}. Whoever knows such a value exactly, as an age in years, may find its record by it: make an attribute "
        "of the column, put classes of it into the file in its place, or drop it."
    )


def plan_init_text(plan: Plan, suggested: Sequence[Proposal] = (), reasons: Sequence[str] = ()) -> str:
    """The text of a first plan with comments on what may be changed, on ``reasons`` for what was not made an attribute
    (:func:`engine.plan.guess.reasons`) and on what the records suggest (:func:`propose`); it reads back to that
    plan."""
    head = _HEAD
    for reason in reasons:
        head += "#\n" + "".join(f"# {line}\n" for line in wrap(printable(reason), 112))
    if suggested:
        head += "#\n# What the records suggest, each with the name by which it is accepted:\n"
    for proposal in suggested:
        head += "".join(f"#   {line}\n" for line in wrap(printable(f"{proposal.key}: {proposal.sentence}"), 112))
    if plan.data.carry:
        head += "#\n" + "".join(f"# {line}\n" for line in wrap(printable(carried_remark(plan)), 112))
    lines = []
    for line in plan_to_toml(plan).removesuffix("\n").split("\n"):
        lines.append(_BEFORE.get(line, "") + line)
    return head + "\n" + "\n".join(lines) + "\n"
