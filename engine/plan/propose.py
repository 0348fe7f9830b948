"""Make proposals for a plan from the records of a file: few decisions, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.data.microdata import RawTable
from engine.plan.accept import changes
from engine.plan.column_lists import count, listed
from engine.plan.dependencies import Dependencies, SkipPattern, dependencies
from engine.plan.proposal import KINDS, Link, Proposal
from engine.plan.types import Plan


def propose(raw: RawTable, plan: Plan | None = None, found: Dependencies | None = None) -> list[Proposal]:
    """What the records suggest, in the order in which it is best decided.

    With a ``plan``, only what would change it: a block between columns that are all carried needs no decision, since
    columns that stay with their record stay together.  Accepting one proposal may open another, so ask again until the
    list is empty.  ``found`` is an earlier answer of :func:`engine.plan.dependencies.dependencies`, which is what takes
    the time.
    """
    found = dependencies(raw) if found is None else found
    place = {name: i for i, name in enumerate(raw.names)}
    proposals = sorted(
        (*_identity(found), *_missing(raw, found), *_blocks(raw, found), *(_skip(raw, p) for p in found.skips)),
        key=lambda p: (KINDS.index(p.kind), place[p.columns[0]]),
    )
    return proposals if plan is None else [p for p in proposals if changes(plan, p)]


def _identity(found: Dependencies) -> Iterator[Proposal]:
    if found.ids:
        first, *more = found.ids
        yield Proposal(
            "id",
            found.ids,
            f"{_names(found.ids)} {'numbers' if len(found.ids) == 1 else 'number'} the records or groups of them, as "
            "ids do.",
            f"'{first}' becomes the id, which is never exported unless asked for"
            + (f"; {_names(more)} {'is' if len(more) == 1 else 'are'} dropped." if more else "."),
        )
    if found.weights:
        lead = min(found.weights, key=_is_auxiliary)
        more = [name for name in found.weights if name != lead]
        yield Proposal(
            "weight",
            (lead, *more),
            f"{_names((lead, *more))} {'looks' if not more else 'look'} like {'a weight' if not more else 'weights'} "
            "by name and values.",
            f"'{lead}' becomes the weight and follows its record"
            + (f"; {_names(more)} {'stays' if len(more) == 1 else 'stay'} with the record too." if more else "."),
        )
    if found.constant:
        yield Proposal(
            "constant",
            found.constant,
            f"{_names(found.constant)} {'has' if len(found.constant) == 1 else 'have'} one value only.",
            "There is nothing to swap: carried with the records.",
        )


def _is_auxiliary(weight: str) -> tuple[bool, bool]:
    """Sorts final weights before others, and replicate weights, which are numbered, last."""
    return "fin" not in weight.casefold(), any(sign.isdigit() for sign in weight)


def _missing(raw: RawTable, found: Dependencies) -> Iterator[Proposal]:
    if not found.missing:
        return
    said: dict[str, str] = {}
    for name, codes in found.missing:
        for code in codes:
            said.setdefault(code, raw.columns[name].about.label_of.get(code, ""))
    shown = [f"{code} ({label})" if label else code for code, label in sorted(said.items())]
    more = f" and {len(shown) - 6} more" if len(shown) > 6 else ""
    yield Proposal(
        "missing",
        tuple(name for name, _ in found.missing),
        f"{count(len(found.missing), 'column')} hold codes that mean missing: {', '.join(shown[:6])}{more}.",
        "In attributes made of these columns the codes become one level 'missing'; the data keep their codes.",
        codes=found.missing,
    )


def _blocks(raw: RawTable, found: Dependencies) -> Iterator[Proposal]:
    """One proposal for each set of columns that hang together, the finest first in it."""
    links = [Link(b, a, "recode") for a, b in found.recodes]
    links += [Link(b, group[0], "same") for group in found.same for b in group[1:]]
    links += [Link(b, a, "flag") for a, b in found.flags if a in found.levels]
    parent = {name: name for link in links for name in (link.column, link.source)}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = name = parent[parent[name]]
        return name

    for link in links:
        parent[root(link.column)] = root(link.source)
    groups: dict[str, list[str]] = {}
    inside: dict[str, list[Link]] = {}
    for name in raw.names:
        if name in parent:
            groups.setdefault(root(name), []).append(name)
    for link in links:
        inside.setdefault(root(link.column), []).append(link)
    decided = {link.column for link in links if link.kind != "same"}
    for lead, members in groups.items():
        members.sort(key=lambda name: (name in decided, -found.levels[name]))
        yield _block(tuple(members), inside[lead], found)


def _block(members: tuple[str, ...], links: Sequence[Link], found: Dependencies) -> Proposal:
    rank = {name: i for i, name in enumerate(members)}
    # One link a column, from the finest column that decides it.
    order = {"recode": 0, "same": 0, "flag": 1}
    best: dict[str, Link] = {}
    for link in sorted(links, key=lambda link: (order[link.kind], rank[link.source])):
        best.setdefault(link.column, link)
    kept = tuple(sorted(best.values(), key=lambda link: rank[link.column]))
    said: dict[tuple[str, str], list[str]] = {}
    for link in kept:
        said.setdefault((link.source, link.kind), []).append(link.column)
    words = {
        "recode": "decides {}: equal values in the one go with equal values in the other, in every record",
        "same": "and {} say the same in different codes",
        "flag": "has the flag {} by its name",
    }
    sentences = [f"'{source}' {words[kind].format(_names(columns))}." for (source, kind), columns in said.items()]
    return Proposal(
        "block",
        members,
        " ".join(sentences),
        f"{_names(members)} become one block: they move together, so that no record shows a combination that "
        "contradicts itself.",
        kept,
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
    shown = [about.label_or_value(value) or "empty" for value in pattern.values[:4]]
    shown += [f"{len(pattern.values) - 4} more"] if len(pattern.values) > 4 else []
    values = f"{', '.join(shown[:-1])} or {shown[-1]}" if len(shown) > 1 else shown[0]
    return Proposal(
        "skip",
        (pattern.gate, *names),
        f"{_names(names)} {'is' if len(names) == 1 else 'are'} skipped in exactly the records where '{pattern.gate}' "
        f"is {values}.",
        f"{'It moves' if len(names) == 1 else 'They move'} with '{pattern.gate}' as one block, so that nobody answers "
        "a question that was skipped; skipped is a kind of level of its own.",
        tuple(Link(name, pattern.gate, "skip", pattern.values, code) for name, code in pattern.columns),
    )


def _names(names: Sequence[str]) -> str:
    if 1 < len(names) <= 5:
        return listed(names[:-1]) + f" and '{names[-1]}'"
    return listed(names)
