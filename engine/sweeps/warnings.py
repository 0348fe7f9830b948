"""Remarks on the candidates of a plan before they are run: typed values, and their words for the analyst.

Warnings about releases of files whose records belong to units, such as persons to households.

Warnings about a release of coded data before anything is run.

They name columns that tell records apart, columns that are released finer than the risk figures count them, and columns
of which one decides the other.

Remedies of warnings about released columns: plans in which a warning is gone, one column at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache, partial

import numpy as np

from engine.common.errors import EngineError
from engine.common.raw_values import n_written
from engine.common.wording import all_of, columns_named, listed, plural
from engine.data.io.stream import first_records
from engine.data.microdata import Microdata, RawColumn, RawTable, Units
from engine.data.table import ContingencyTable
from engine.mechanisms import mechanism
from engine.plan import Dependencies, Link, Plan, Proposal, accept
from engine.plan.columns import facts, is_weight
from engine.plan.dependencies import decided_among
from engine.plan.edit import set_use, viewed_by
from engine.release.space import Impossibility, Space, impossibility_text, pair_bound
from engine.release.spec import AttributeSpec, ReleaseSpec, multi_kind, pairs_wanted
from engine.release.specs import F, S, Specs
from engine.sweeps.candidates import MOST_LOOKED_AT, obstacle, swap_ways, too_many_to_look_at

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


@dataclass(frozen=True)
class ReleaseWarning(ABC):
    """A warning about released columns: what is wrong, how the analyst can mend it, and whether a public bundle with
    them is or may be ``refused``."""

    @property
    @abstractmethod
    def what(self) -> str:
        """Fault, without a full stop."""

    @property
    @abstractmethod
    def mend(self) -> str:
        """Advice for the analyst."""

    @property
    def refused(self) -> bool:
        """Return whether it stands in the way of a public bundle."""
        return False

    @property
    def details(self) -> tuple[str, ...]:
        """Sentences without full stops that tell more than the fault does; none where it tells all."""
        return ()

    def __str__(self) -> str:
        return f"{self.what}; {self.mend}"


@dataclass(frozen=True)
class TornUnits(ReleaseWarning):
    """Attributes that all members of each of ``n_units`` households share, and that some candidate exchanges between
    single persons."""

    names: tuple[str, ...]
    n_units: int

    @property
    def what(self) -> str:
        """Fault, without a full stop."""
        names, are = listed(f"'{name}'" for name in self.names), "is" if len(self.names) == 1 else "are"
        return (
            f"{names} {are} the same within {all_of(self.n_units, 'household')}; a swap of single persons would tear "
            "them apart"
        )

    @property
    def mend(self) -> str:
        """Advice for the analyst."""
        return "use mechanism 'trs'"


def torn_units(data: Microdata, plan: Plan) -> list[TornUnits]:
    """A warning about attributes of households that a plan's mechanisms exchange between single persons, or none."""
    exchanged: set[str] = set()
    if plan.swaps_at_random:
        exchanged |= set(plan.swap_candidates)
    for declared in plan.mechanisms:
        made = mechanism(declared.name)
        if not (made.by_roles or made.whole_units or made.redraws_levels):
            exchanged |= made.altered_in(declared.grid, plan.keys)
    return _torn(data, exchanged)


def torn_by(data: Microdata, spec: ReleaseSpec) -> list[TornUnits]:
    """The same of one candidate."""
    made = mechanism(spec.mechanism)
    return [] if made.whole_units or made.redraws_levels else _torn(data, made.altered(spec))


def _torn(data: Microdata, exchanged: Iterable[str]) -> list[TornUnits]:
    units = data.units
    if units is None or len(units) == data.n_records:
        return []
    names = data.domain.names
    places = [j for j, name in enumerate(names) if name in set(exchanged) and data.domain.shape[j] > 1]
    shared = tuple(names[j] for j in places if units.constant(data.codes[j]).all())
    return [TornUnits(shared, len(units))] if shared else []


MEND_IDENTIFIER = (
    "drop it, or put classes of it into the file in its place; declare it as the id only if it numbers the records"
)
"""Advice on a column that tells nearly every record apart."""
_PAIRS_NAMED = 3
_KEYS_NAMED = 3
_LOOKED_AT = 100_000  # first records of streamed data


@dataclass(frozen=True)
class Identifier(ReleaseWarning):
    """A released ``column`` with ``n_values`` values in ``n_records`` records, ``carried`` or in a block; it
    ``tells_apart`` nearly every record, unless its values are amounts.

    ``n_units`` is the number of households where it tells these apart, and is the same for all members of each.
    ``of_first`` says that the records are the first ones of streamed data, of which no public bundle is made.
    """

    column: str
    n_values: int
    n_records: int
    carried: bool
    tells_apart: bool
    n_units: int = 0
    of_first: bool = False

    @property
    def what(self) -> str:
        """Fault, without a full stop."""
        how = "is carried and" if self.carried else "belongs to an attribute and"
        among = plural(self.n_units, "household") if self.n_units else plural(self.n_records, "record")
        among = f"the first {among}" if self.of_first else among
        return (
            f"column '{self.column}' {how} differs in {self.n_values:,} of {among}: released as it "
            f"is, it may identify them{', and a public bundle with it is refused' if self.refused else ''}"
        )

    @property
    def mend(self) -> str:
        """Advice for the analyst."""
        if not self.tells_apart:
            return "drop it, or declare it as the weight"
        if self.n_units:
            return "drop it, or put classes of it into the file in its place"
        return (
            "drop it, or put classes of it into the file in its place, or declare it as the id only if it numbers the "
            "records"
        )

    @property
    def refused(self) -> bool:
        """Return whether it stands in the way of a public bundle."""
        return self.tells_apart and not self.of_first


@dataclass(frozen=True)
class CoarseKey:
    """A key that is counted by ``levels``, and its columns that are released with more values (name, values)."""

    name: str
    levels: int
    columns: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        columns = listed([f"'{name}' with {n:,} values" for name, n in self.columns])
        return f"'{self.name}' is counted by {self.levels} levels and released as {columns}"


@dataclass(frozen=True)
class FinerThanCounted(ReleaseWarning):
    """Keys that are released finer than the risk figures count them."""

    keys: tuple[CoarseKey, ...]

    @property
    def what(self) -> str:
        """Fault, without a full stop."""
        if len(self.keys) == 1:
            fault = f"key {self.keys[0]}"
        else:
            named = ", ".join(f"'{key.name}'" for key in self.keys[:_KEYS_NAMED])
            more = len(self.keys) - _KEYS_NAMED
            fault = f"{len(self.keys)} keys are released finer than they are counted: {named}"
            fault += f" and {more} more" if more > 0 else ""
        return f"{fault}; whoever knows such a value exactly knows more than the risk figures say"

    @property
    def details(self) -> tuple[str, ...]:
        """Each of several keys with the columns that are released finer."""
        return tuple(map(str, self.keys)) if len(self.keys) > 1 else ()

    @property
    def mend(self) -> str:
        """Advice for the analyst."""
        return "drop what is finer, or let its own values be the levels"


@dataclass(frozen=True)
class LooseRecodes(ReleaseWarning):
    """Pairs (decider, decided) of released columns of which one may change without the other."""

    pairs: tuple[tuple[str, str], ...]

    @property
    def what(self) -> str:
        """Fault, without a full stop."""
        named = [f"'{decider}' decides '{decided}'" for decider, decided in self.pairs[:_PAIRS_NAMED]]
        more = len(self.pairs) - len(named)
        return (
            ", ".join(named)
            + (f" and so on for {more:,} more" if more else "")
            + " in every record, and one may be changed without the other: whoever recomputes the one from the other"
            " finds the altered records or undoes the swap, and a public bundle is refused where that is so"
        )

    @property
    def mend(self) -> str:
        """Advice for the analyst."""
        return (
            "let them move as one block (accept the suggestion under Data, or name both in the columns of an"
            " attribute), or drop one"
        )

    @property
    def refused(self) -> bool:
        """Return whether it stands in the way of a public bundle."""
        return True


@dataclass(frozen=True)
class Uncounted(ReleaseWarning):
    """Released ``columns`` of streamed records of which the ``n_first`` first ones alone were looked at."""

    columns: tuple[str, ...]
    n_first: int

    @property
    def what(self) -> str:
        """Fault, without a full stop."""
        are, them = ("is", "it") if len(self.columns) == 1 else ("are", "them")
        return (
            f"{columns_named(self.columns)} {are} carried, so released as in the file; no risk figure counts {them}, "
            f"and only the first {plural(self.n_first, 'record')} were looked at for values that tell records apart"
        )

    @property
    def mend(self) -> str:
        """Advice for the analyst."""
        return "drop what users do not need"


def release_warnings(data: Microdata, plan: Plan) -> list[ReleaseWarning]:
    """Return all warnings about a release of these data, before anything is run.

    Of records that are read by streaming no pair of columns is looked at, and of carried columns the first records.
    """
    of_columns = [*carried_identifiers(data), *finer_than_counted(data, plan.keys), *loose_recodes(data, plan)]
    return [*of_columns, *uncounted_columns(data)]


def released_names(data: Microdata) -> list[str]:
    """Raw columns that every release holds, in file order: all but the dropped ones, the weight, the id and the
    unit."""
    aside = {*data.dropped, *data.single_uses}
    return [name for name in data.raw.names if name not in aside]


def differs_everywhere(column: RawColumn, n_records: int) -> bool:
    """Return whether a column has another value in nearly every record, on enough records for that to be no
    accident."""
    return _differs(len(column.values), n_records)


def _differs(n_values: int, n_records: int) -> bool:
    return n_records > 50 and n_values > 0.9 * n_records


def tells_apart(column: RawColumn, n_records: int) -> bool:
    """Return whether a column tells nearly every record apart, so that no public bundle may hold it.

    Numbers with decimals are amounts, which differ by nature; whole numbers and texts that differ are names.
    """
    return differs_everywhere(column, n_records) and not _amounts(column)


def tells_units_apart(column: RawColumn, units: Units) -> bool:
    """Return whether a column tells nearly every household apart, being the same for all members of each: whole numbers
    and texts, as for :func:`tells_apart`."""
    if not _differs(len(column.values), len(units)) or _amounts(column):
        return False
    return bool(units.constant(column.codes).all())


def _amounts(column: RawColumn) -> bool:
    figures = column.numbers
    known = figures[~np.isnan(figures)]
    return len(known) >= 0.5 * len(figures) and not bool((known == np.round(known)).all())


def carried_identifiers(data: Microdata) -> list[Identifier]:
    """Columns, carried or in a block, that differ in nearly every record: their values are released as they are, and a
    public bundle that holds one that tells records apart is refused."""
    warnings, carried, n_records = [], set(data.carried), data.n_records
    for name in filter(data.raw.in_memory, released_names(data)):
        if not _differs(data.raw.n_values(name), n_records):
            continue
        column = data.raw.columns[name]
        refused = tells_apart(column, n_records)
        if refused or name in carried:
            warnings.append(Identifier(name, len(column.values), n_records, name in carried, refused))
    if data.units is None or len(data.units) == n_records:
        return warnings
    known, n_units = {warning.column for warning in warnings}, len(data.units)
    for name in released_names(data):
        if name not in known and _differs(data.raw.n_values(name), n_units):
            column = data.raw.columns[name]
            if tells_units_apart(column, data.units):
                warnings.append(Identifier(name, len(column.values), n_records, name in carried, True, n_units))
    return warnings


def uncounted_columns(data: Microdata) -> list[ReleaseWarning]:
    """Warnings about released columns of streamed records that no attribute needs: about each that differs in nearly
    all of the first records, and about all of them; none for records in memory, of which every column is looked at."""
    if data.raw.streamed is None:
        return []
    counted = set(data.raw.streamed.rows.names)
    names = tuple(name for name in released_names(data) if name not in counted)
    if not names:
        return []
    first = first_records(data.raw.streamed.stream, _LOOKED_AT, names)
    n = first.n_records
    differing = [column for column in first.columns.values() if differs_everywhere(column, n)]
    identifiers = [Identifier(c.name, len(c.values), n, True, tells_apart(c, n), of_first=True) for c in differing]
    return [*identifiers, Uncounted(names, n)]


def finer_than_counted(data: Microdata, keys: Sequence[str]) -> list[FinerThanCounted]:
    """A warning about columns that are released finer than the risk figures count them, or none.

    A block's columns move and are released as they are; an attribute that cuts or merges one of them, or that is viewed
    through a coarser one, counts only its levels.
    """
    finer = []
    for name in keys:
        attribute = data.domain.attributes[data.domain.index(name)]
        values = {column: data.raw.n_values(column) for column in attribute.columns}
        # every value occurs, so where there are more of them than levels some level holds several
        columns = tuple(
            (column, written)
            for column, n in values.items()
            if n > attribute.size and (written := n_written(data.raw.columns[column].values)) > attribute.size
        )
        if columns:
            finer.append(CoarseKey(name, attribute.size, columns))
    return [FinerThanCounted(tuple(finer))] if finer else []


def loose_recodes(data: Microdata, plan: Plan, known: Dependencies | None = None) -> list[LooseRecodes]:
    """A warning about released columns of which one decides the other and one may change without the other, or none.

    ``known`` is an earlier look through all columns of the file, which is what takes the time.
    """
    if data.streamed is not None:
        return []
    attribute_of = {column: part.name for part in data.domain.attributes for column in part.columns}
    # partners that agree on such an attribute agree on its column, and on all that this decides
    exact = {
        column: part.name
        for part, coded in zip(plan.attributes, data.domain.attributes, strict=True)
        for column in part.view[:1]
        if len(part.view) == 1 and data.raw.n_values(column) <= coded.size
    }
    loose: dict[frozenset[str], tuple[str, str]] = {}
    for decider, decided in decided_among(data.raw, set(released_names(data)), known, attribute_of):
        binding = {exact[column] for column in (decider, decided) if column in exact}
        if _may_part(plan, attribute_of.get(decider), attribute_of.get(decided), binding):
            loose.setdefault(frozenset((decider, decided)), (decider, decided))
    return [LooseRecodes(tuple(loose.values()))] if loose else []


def _may_part(plan: Plan, first: str | None, second: str | None, binding: Collection[str]) -> bool:
    """Return whether a candidate may change one of two attributes (None: a carried column, which stays) and not the
    other, so that they contradict each other; they never do where one ``binding`` them together is the same in both
    partners."""
    if first == second:
        return False
    if plan.swaps_at_random and _random_swap_may_part(plan, first, second, binding):
        return True
    attributes = {name for name in (first, second) if name is not None}
    for declared in plan.mechanisms:
        made = mechanism(declared.name)
        if not made.by_roles:
            changed = attributes & made.altered_in(declared.grid, plan.keys)
            if len(changed) == 1 or (changed and made.redraws_levels):
                return True
    return False


def _random_swap_may_part(plan: Plan, first: str | None, second: str | None, binding: Collection[str]) -> bool:
    """Return whether a random swap that the plan asks for may exchange one of two attributes without the other."""
    space_plan = plan.space
    if space_plan.specs and set(space_plan.fix).isdisjoint(binding):
        specs = _written(space_plan.specs, plan.names)
        first_swapped, second_swapped = (_with_role(specs, S, [name]) for name in (first, second))
        return bool(((first_swapped != second_swapped) & ~_with_role(specs, F, binding)).any())
    if not set(space_plan.fix).isdisjoint(binding):
        return False
    swappable = {first, second} & set(plan.swap_candidates)
    swaps_some = not space_plan.swap_sizes or space_plan.swap_sizes[0] < len(plan.swap_candidates)
    return len(swappable) == 1 or (bool(swappable) and swaps_some)


@lru_cache(maxsize=4)
def _written(texts: tuple[str, ...], names: tuple[str, ...]) -> Specs:
    """The specs that a plan writes out; reading thousands for each of many pairs of columns would take long."""
    return Specs.of([AttributeSpec.parse(text, names) for text in texts])


def _with_role(specs: Specs, role: int, names: Collection[str | None]) -> np.ndarray:
    """A mask of the specs in which some of these attributes has a role; None is no attribute."""
    places = [specs.names.index(name) for name in names if name is not None]
    return np.asarray((specs.roles[:, places] == role).any(axis=1))


@dataclass(frozen=True)
class PlanRemedy:
    """A way out of a warning: its ``label``, what becomes of the column, what it has ``done``, and the ``plan`` with
    it."""

    label: str
    done: str
    plan: Plan


_Way = tuple[str, str, Callable[[], Plan]]


def one_by_one(warnings: Sequence[ReleaseWarning]) -> list[ReleaseWarning]:
    """Warnings that each speak of one column, one key or one pair of columns."""
    single: list[ReleaseWarning] = []
    for warning in warnings:
        if isinstance(warning, FinerThanCounted):
            single += [FinerThanCounted((key,)) for key in warning.keys]
        elif isinstance(warning, LooseRecodes):
            single += [LooseRecodes((pair,)) for pair in warning.pairs]
        else:
            single.append(warning)
    return single


def remedies(warning: ReleaseWarning, plan: Plan, raw: RawTable) -> list[PlanRemedy]:
    """Ways out of a warning of :func:`one_by_one`, the usual one first; those that the plan does not allow are left
    out."""
    ways: Iterator[_Way]
    if isinstance(warning, Identifier):
        ways = _of_identifier(warning, plan, raw)
    elif isinstance(warning, LooseRecodes):
        ways = _of_recode(*warning.pairs[0], plan, raw)
    elif isinstance(warning, FinerThanCounted):
        ways = _of_key(warning.keys[0], plan, raw)
    else:
        return []
    possible = []
    for label, done, change in ways:
        try:
            possible.append(PlanRemedy(label, done, change()))
        except EngineError:
            continue  # an analysis, a table or an edit rule needs the column: no remedy then
    return possible


def _of_identifier(warning: Identifier, plan: Plan, raw: RawTable) -> Iterator[_Way]:
    column = warning.column
    ways: list[_Way] = [("not released", f"{column} is dropped", partial(_without, plan, raw, (column,)))]
    if warning.refused and plan.data.id is None:
        ways.append(("id", f"{column} is the id", lambda: set_use(plan, column, "id")))
    if not warning.refused and plan.data.weight is None:
        weight = ("survey weight", f"{column} is the weight", lambda: set_use(plan, column, "weight"))
        named = is_weight(raw.columns[column], facts(raw.columns[column], raw.n_records))
        ways.insert(0 if named else 1, weight)
    yield from ways


def _of_recode(decider: str, decided: str, plan: Plan, raw: RawTable) -> Iterator[_Way]:
    block = Proposal("block", (decider, decided), "", "", (Link(decided, decider, "recode"),))
    yield "one block", f"{decider} and {decided} move as one block", lambda: accept(plan, block)
    for column in (decided, decider):
        yield f"{column} not released", f"{column} is dropped", partial(_without, plan, raw, (column,))


def _of_key(key: CoarseKey, plan: Plan, raw: RawTable) -> Iterator[_Way]:
    part = plan.attributes[plan.names.index(key.name)]
    finest = max(key.columns, key=lambda column: column[1])[0]
    finer = tuple(column for column, _ in key.columns if column not in part.view)
    if finer:
        names = listed(finer)
        yield f"{names} not released", f"{names} dropped", partial(_without, plan, raw, finer)
    yield (
        f"counted by the values of {finest}",
        f"{key.name} is counted by the values of {finest}",
        lambda: _counted_by(plan, key.name, finest, raw),
    )


def _counted_by(plan: Plan, name: str, column: str, raw: RawTable) -> Plan:
    """The plan in which each value of a column is a level of an attribute."""
    part = plan.attributes[plan.names.index(name)]
    own = replace(viewed_by(part, raw, column), cut=(), labels=(), merge=(), levels=())
    return replace(plan, data=replace(plan.data, attributes=tuple(own if a is part else a for a in plan.attributes)))


def _without(plan: Plan, raw: RawTable, columns: Sequence[str]) -> Plan:
    """The plan in which some columns are dropped; the levels of a block are then those of another of its columns."""
    for column in columns:
        part = next((a for a in plan.attributes if column in a.view and len(a.columns) > 1), None)
        if part is not None:
            other = next(
                (
                    name
                    for name in part.columns
                    if name != column and facts(raw.columns[name], raw.n_records).categorical
                ),
                part.columns[-1],
            )
            seen = viewed_by(part, raw, other)
            attributes = tuple(seen if a is part else a for a in plan.attributes)
            plan = replace(plan, data=replace(plan.data, attributes=attributes))
        plan = set_use(plan, column, "drop")
    return plan
