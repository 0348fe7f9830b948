"""Remarks on the candidates of a plan before they are run: typed values, and their words for the analyst."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from engine.data.table import ContingencyTable
from engine.plan import Plan
from engine.release.space import Impossibility, Space, impossibility_text, pair_bound
from engine.release.spec import AttributeSpec, ReleaseSpec, multi_kind, pairs_wanted
from engine.sweeps.swap_ways import MOST_LOOKED_AT, obstacle, swap_ways, too_many_to_look_at

_NAMED = 3


class RemarkKind(StrEnum):
    """Kind of a remark."""

    MERGED = "equivalent to another spec"
    MANY_MERGED = "number of equivalent specs"
    IMPOSSIBLE = "cannot work"
    MANY_IMPOSSIBLE = "number of specs that cannot work"
    ZERO_RATE = "rate rounds to zero"
    NOT_LOOKED_AT = "number of specs and ways of which nobody looked whether they can work"
    METHOD = "what a mechanism says of its candidates"
    MANY_METHOD = "number of further remarks of mechanisms"


@dataclass(frozen=True)
class Remark:
    """One remark with its figures; a field that its kind does not need is empty.

    ``spec`` is left out: it is the same release as ``same_as``, or impossible for a ``reason``; or ``n`` specs are.  At
    ``rate`` no record of ``n`` would be swapped.  ``text`` is what a mechanism says.
    """

    kind: RemarkKind
    spec: AttributeSpec | None = None
    same_as: AttributeSpec | None = None
    reason: Impossibility | None = None
    rate: str = ""
    n: int = 0
    text: str = ""


@dataclass(frozen=True)
class PredictedFailure:
    """A scenario whose rate asks for more pairs (``wanted``) than can exist (``most``); ``attribute`` is the one on
    which no more of them can differ, empty where the number of records alone sets the bound; ``obstacle`` says in words
    what keeps all pairs from being made, where something does."""

    spec: ReleaseSpec
    most: int
    wanted: int
    attribute: str
    obstacle: str = ""


def space_remarks(plan: Plan, space: Space, n_records: int) -> list[Remark]:
    """Remarks on a listed space: merged specs, impossible ones, too many to be looked at, rates that round to zero."""
    remarks = [Remark(RemarkKind.MERGED, spec, same_as=earlier) for spec, earlier in space.merged[:_NAMED]]
    if space.n_merged > _NAMED:
        remarks.append(Remark(RemarkKind.MANY_MERGED, n=space.n_merged))
    remarks += [Remark(RemarkKind.IMPOSSIBLE, spec, reason=reason) for spec, reason in space.impossible[:_NAMED]]
    if space.n_impossible > _NAMED:
        remarks.append(Remark(RemarkKind.MANY_IMPOSSIBLE, n=space.n_impossible))
    ways = swap_ways(plan)
    refuses = tuple(ways) != ((),) or any(rule.refuse for rule in plan.edits)
    if refuses and too_many_to_look_at(len(space.specs), ways):
        remarks.append(Remark(RemarkKind.NOT_LOOKED_AT, n=len(space.specs) * len(ways)))
    return [*remarks, *zero_rates(plan, n_records)]


def widest_first(texts: Iterable[str]) -> tuple[str, ...]:
    """The remarks that mechanisms made, each once: those on most candidates first, then in their order."""
    return tuple(text for text, _ in Counter(texts).most_common())


def method_remarks(texts: Sequence[str]) -> list[Remark]:
    """The remarks of mechanisms on their candidates before they are run, the first few."""
    remarks = [Remark(RemarkKind.METHOD, text=text) for text in texts[:_NAMED]]
    return remarks if len(texts) <= _NAMED else [*remarks, Remark(RemarkKind.MANY_METHOD, n=len(texts) - _NAMED)]


def zero_rates(plan: Plan, n_records: int) -> list[Remark]:
    """Remarks on the rates at which no record would be swapped."""
    return [
        Remark(RemarkKind.ZERO_RATE, rate=rate, n=n_records)
        for rate in plan.space.rates
        if pairs_wanted(rate, n_records)[0] == 0
    ]


def predicted_failures(scenarios: Sequence[ReleaseSpec], table: ContingencyTable) -> list[PredictedFailure]:
    """Scenarios whose rate asks for more pairs than can exist."""
    several_kinds, bounds = multi_kind(table), {}
    looked_at: dict[object, str] = {}
    failures = []
    for spec in scenarios:
        structure = spec.structure(several_kinds, table.domain.ruled)
        if structure not in bounds:
            bounds[structure] = pair_bound(structure, table)
        most, place = bounds[structure]
        wanted = pairs_wanted(spec.rate, table.n_records)[1]
        if words := obstacle(spec, table, looked_at) if wanted and len(scenarios) <= MOST_LOOKED_AT else "":
            failures.append(PredictedFailure(spec, 0, wanted, "", words))
        elif wanted > most:
            failures.append(PredictedFailure(spec, most, wanted, table.domain.names[place] if place >= 0 else ""))
    return failures


def remark_text(remark: Remark) -> str:
    """A remark for the analyst, in one sentence."""
    match remark.kind:
        case RemarkKind.MERGED:
            return f"'{remark.spec}' is equivalent to '{remark.same_as}' (swap of complement) and was skipped"
        case RemarkKind.MANY_MERGED:
            return f"{remark.n:,} equivalent specs in all were skipped"
        case RemarkKind.IMPOSSIBLE:
            assert remark.reason is not None
            return f"'{remark.spec}' cannot work: {impossibility_text(remark.reason)}"
        case RemarkKind.MANY_IMPOSSIBLE:
            return f"{remark.n:,} specs in all cannot work"
        case RemarkKind.NOT_LOOKED_AT:
            return (
                f"{remark.n:,} specs and ways are more than the {MOST_LOOKED_AT:,} of which it is looked whether any "
                "pair is possible; one that has none fails at its first run, which says why"
            )
        case RemarkKind.ZERO_RATE:
            return f"rate {remark.rate} of {remark.n:,} records rounds to zero: nothing would be swapped"
        case RemarkKind.METHOD:
            return remark.text
        case RemarkKind.MANY_METHOD:
            return f"{remark.n:,} more remarks of mechanisms on their candidates"


def failure_text(failure: PredictedFailure) -> str:
    """The reason why a scenario is predicted to fail."""
    if failure.obstacle:
        return f"any two records that could be exchanged {failure.obstacle}"
    limit = f"differ on '{failure.attribute}'" if failure.attribute else "be formed"
    return f"at most {failure.most} pairs can {limit}; {failure.wanted} requested"
