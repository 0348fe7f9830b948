"""The types of a plan: coding of columns, roles, release space, measures, rule of decision.

Every part is a frozen value that is checked when it is made, so a plan that exists is a plan that can be run on data
with the right columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cached_property
from math import comb
from numbers import Real
from operator import attrgetter
from typing import Annotated, Any, Literal

from msgspec import Meta

from engine.common.errors import Remedy, UsageError, did_you_mean
from engine.common.wording import listed, quoted, text_of
from engine.data.domain import EditRule
from engine.plan.entries import (
    SINGLE_USES,
    AboutPlan,
    AnalysisPlan,
    AttributePlan,
    ColumnPlan,
    LockPlan,
    MechanismPlan,
    PublishPlan,
    SingleColumns,
    SingleUse,
    TablePlan,
    ThreatPlan,
    TolerancePlan,
    UnitColumns,
    unit_columns,
)
from engine.plan.schema import Entry, check, declared, entry, refuse_repeats, set_fields, typed
from engine.release.space import can_list
from engine.release.spec import MOST_REPLICATES, MOST_SCENARIOS, RULES, AttributeSpec, rate_text

DEFAULT_MISSING = ("", "NA", "N/A", "NaN", "null", ".")
"""Raw codes that mean missing when a plan says nothing."""
DEFAULT_MEASURES = ("small_cells", "hellinger", "total_variation", "entropy_change")
ROLES: tuple[Literal["keys"], Literal["swap"], Literal["analyse"]] = ("keys", "swap", "analyse")
DEFAULT_SIZES = (1, 2)
DEFAULT_PROBABILITY = "0.9"
ON_MEAN = "mean"
"""In place of a probability: the bound on risk is on the mean over runs."""
FIRST_WITHIN = "first_within"
"""The run to be released is the first that meets the bound and is less risky than the data unchanged."""

_MEASURE = re.compile(r"[A-Za-z_]\w*(\[.*\])?")
_Measure = Annotated[str, Meta(pattern=rf"^{_MEASURE.pattern}\Z", description="the name of a measure")]
_Column = Annotated[str, Meta(min_length=1, description="the name of one column")]


@dataclass(frozen=True)
class DataPlan:
    """Use of every column: coded in an attribute, carried with its record, dropped, weight, id or unit.

    ``unit`` is the column that numbers the units (households) to which records belong, or the columns whose values do
    so together, such as a cluster and a household in it.  ``numeric`` names raw columns
    that measures may use as numbers (none named: those that the analyses use).  ``seen`` are the columns that only a
    pattern covered in the file that the plan was made for; it is recorded, and no two plans differ by it alone.
    ``columns`` are labels and missing codes of columns in place of those of the file.
    """

    attributes: tuple[AttributePlan, ...] = ()
    missing: tuple[str, ...] = entry(DEFAULT_MISSING, "codes that mean missing")
    weight: _Column | None = entry(
        None, "weight", "the weight; stays with its record, released only where it is included"
    )
    id: _Column | None = entry(None, "id", "the id; released only as a new id, where it is included")
    carry: tuple[str, ...] = entry((), "columns that stay with their record")
    drop: tuple[str, ...] = entry((), "columns that never leave")
    numeric: tuple[str, ...] = entry((), "columns used as numbers", never_empty=True)
    unit: UnitColumns = entry(
        None,
        "column that numbers households",
        "the column that numbers households, or the columns that do so together; released likewise",
        unchecked=True,
    )
    seen: tuple[str, ...] = entry((), "columns that patterns covered so far", compare=False)
    columns: tuple[ColumnPlan, ...] = entry((), "labels and missing codes of columns")

    def __post_init__(self) -> None:
        check(self)
        self._check_unit()
        if not self.attributes:
            raise UsageError("the plan codes no attribute; name some, as [[attribute]] in the plan", Remedy.ATTRIBUTES)
        refuse_repeats([attribute.name for attribute in self.attributes], "the plan's attributes")
        refuse_repeats([column.name for column in self.columns], "the plan's columns")
        claims: dict[str, str] = {}
        dropped = set(self.drop)
        for column, claim in self.claims():
            if column in claims:
                raise UsageError(f"column '{column}' is claimed by {claims[column]} and by {claim}; keep one of them")
            claims[column] = claim
        for column in self.numeric:
            if column in dropped or column in (self.id, *self.unit_columns):
                use = "dropped" if column in dropped else f"the {self.single_uses[column]}"
                raise UsageError(f"numeric names column '{column}', which is {use}; measures use columns that stay")

    def _check_unit(self) -> None:
        unit = self.unit
        if unit is None or isinstance(unit, str):
            typed(unit, _Column | None, "unit")
            return
        columns = typed(unit, tuple[str, ...], "unit")
        if not columns or not all(columns):
            raise UsageError("unit names no column; name the columns that number households together, or leave it out")
        set_fields(self, unit=columns if len(columns) > 1 else columns[0])

    @property
    def unit_columns(self) -> tuple[str, ...]:
        """The columns that number households, one or several together; () without a unit."""
        return unit_columns(self.unit)

    @property
    def single_uses(self) -> dict[str, SingleUse]:
        """The columns that are the weight, the id and the unit, each with its use."""
        single: list[tuple[str | None, SingleUse]] = [(self.weight, "weight"), (self.id, "id")]
        uses = {column: use for column, use in single if column is not None}
        return uses | dict.fromkeys(self.unit_columns, "unit")

    def single_after(self, changes: Mapping[SingleUse, UnitColumns]) -> SingleColumns:
        """The columns that are the weight, the id and the unit, with ``changes`` of some, for :func:`replace`."""
        values: dict[str, Any] = {use: changes.get(use, getattr(self, use)) for use in SINGLE_USES}
        return SingleColumns(weight=values["weight"], id=values["id"], unit=values["unit"])

    def single_instead(self, old: str, new: str | None) -> SingleColumns:
        """The same with ``new`` in place of the column ``old``; a unit that loses a column (None) is none any more."""
        changes: dict[SingleUse, UnitColumns] = {use: new for use in ("weight", "id") if getattr(self, use) == old}
        if old in self.unit_columns:
            changes["unit"] = None if new is None else tuple(new if name == old else name for name in self.unit_columns)
        return self.single_after(changes)

    def claims(self) -> list[tuple[str, str]]:
        """Columns claimed by their exact name, each with the words for who claims it (patterns are left out)."""
        claims = [(column, f"attribute '{a.name}'") for a in self.attributes for column in a.columns]
        claims += [(column, what) for column, what in self.single_uses.items()]
        claims += [(c, what) for what in ("carry", "drop") for c in getattr(self, what) if not is_pattern(c)]
        return claims


def unknown_attribute(data: DataPlan, what: str, name: str, known: Iterable[str]) -> str:
    """The sentence on a ``name`` that is no attribute, and how a column that the plan uses otherwise becomes one."""
    used = [entry for entry in ("carry", "drop") if covered(name, getattr(data, entry))]
    used += [data.single_uses[name]] if name in data.single_uses else []
    if not used:
        return f"{what} names the unknown attribute '{name}'.{did_you_mean(name, known)}"
    among = "" if what == "attributes" else "name it among the attributes too, or "
    return (
        f"{what} names column '{name}', which is no attribute but under {used[0]}; {among}"
        f'write an [[attribute]] with name = "{name}" into the plan and take it out of {used[0]}'
    )


def covered(name: str, entries: Iterable[str]) -> bool:
    """Return whether carry or drop entries name a column, or cover it by a pattern."""
    return any(entry == name or (is_pattern(entry) and fnmatchcase(name, entry)) for entry in entries)


def is_pattern(text: str) -> bool:
    """Return whether a carry or drop entry is a pattern rather than a column's name."""
    return any(sign in text for sign in "*?[")


@dataclass(frozen=True)
class SpacePlan:
    """The release space: which specs (one of ``swap_sizes``, ``all_specs``, ``specs``, ``search``) at which rates, how
    often.

    Without any of the four, all swaps of one and two attributes.  ``search`` looks for the frontier of the complete
    space among at most ``budget`` scenarios of the random swap.  ``adaptive`` (and ``search``) runs a scenario
    ``screen`` times, and up to ``replicates`` times only while it may be on the frontier; where the decision bounds the
    risk, then more often while the choice depends on it (:func:`engine.sweeps.adaptive.most_runs`).
    """

    swap_sizes: tuple[int, ...] = entry(
        (),
        "numbers of attributes swapped together",
        "try every choice of that many swapped attributes, such as 1,2",
        never_empty=True,
    )
    all_specs: bool = entry(False, "complete space", "try every role S, F, C, U of every attribute")
    specs: tuple[str, ...] = entry(
        (),
        "swaps written out",
        'one spec in text form, such as "Age:S Race:F" (repeatable)',
        never_empty=True,
    )
    fix: tuple[str, ...] = entry(
        (), "attributes that partners agree on (F)", "attributes on which partners must be equal (F) in every spec"
    )
    change: tuple[str, ...] = entry(
        (), "attributes that partners differ on (C)", "attributes on which partners must differ (C) in every spec"
    )
    rule: str = entry("strict", "what a true swap is", "what counts as a true swap", choices=RULES, written=True)
    rates: tuple[str, ...] = entry(
        ("0.01", "0.02", "0.1"),
        "swap rates",
        "swap rates as shares of records, such as 0.01,0.02,0.10",
        never_empty=True,
        unchecked=True,
        written=True,
    )
    replicates: int = entry(
        20, "replicates", "runs per scenario (default 20)", low=1, high=MOST_REPLICATES, written=True
    )
    search: bool = entry(
        False,
        "search of the complete space",
        "look for the frontier of all roles of all attributes, without trying every one (implies adaptive)",
    )
    budget: int = entry(
        3000,
        "scenarios that the search looks at",
        "the most scenarios of the random swap that a search looks at",
        low=1,
        high=MOST_SCENARIOS,
    )
    adaptive: bool = entry(
        False,
        "replicates spent where dominance is uncertain",
        "run few replicates of scenarios that others clearly dominate and all of the rest, under a limit on risk up to "
        "five times as many until the choice is settled; then fresh ones of the frontier",
    )
    screen: int = entry(
        4,
        "runs before a scenario is given up",
        "replicates that every scenario gets (adaptive)",
        low=2,
        high=MOST_REPLICATES,
    )

    def __post_init__(self) -> None:
        check(self)
        for size in self.swap_sizes:
            if size < 1:
                raise UsageError(
                    f"swap size == {quoted(size)}, must be at least 1; swapping no attribute leaves the original"
                )
        described = {
            "swap_sizes": self.swap_sizes,
            "all_specs": self.all_specs,
            "specs": self.specs,
            "search": self.search,
        }
        descriptions = [entry for entry, value in described.items() if value]
        if len(descriptions) > 1:
            raise UsageError(f"the space is described by {' and '.join(descriptions)}; choose one")
        if not all(spec.strip() for spec in self.specs):
            raise UsageError('a spec is empty; write it as for example "Age:S Race:F"')
        both = set(self.fix) & set(self.change)
        if both:
            raise UsageError(
                f"attribute '{sorted(both)[0]}' is in fix and in change; pairs are equal on it or differ on it"
            )
        if (self.adaptive or self.search) and self.screen > self.replicates:
            raise UsageError(f"screen == {self.screen}, must be at most {self.replicates}, the number of replicates.")
        set_fields(self, swap_sizes=tuple(sorted(set(self.swap_sizes))), rates=self._rates())

    def _rates(self) -> tuple[str, ...]:
        try:
            given = [] if isinstance(self.rates, str) else list(self.rates)
        except TypeError:
            given = []
        if not given and not isinstance(self.rates, list | tuple):
            raise UsageError(f'rates is {quoted(self.rates)}, must be a list such as ["0.01", "0.02"]')
        for rate in given:
            if isinstance(rate, bool) or not isinstance(rate, str | Real | Decimal):
                raise UsageError(f"rates holds a value of type {type(rate).__name__}, must hold numbers such as 0.02.")
        rates = tuple(dict.fromkeys(rate_text(text_of(rate)) for rate in given))
        if not rates:
            raise UsageError("rates is empty; give at least one, for example 0.01")
        return rates


@dataclass(frozen=True)
class DecisionPlan:
    """Rule that chooses one release: two measures, at most one of a bound on risk and a slope, and the realisation.

    ``risk`` and ``utility`` left out mean the first measure of that kind.  ``probability`` is the share of single runs
    that must meet ``max_risk``, such as "0.9", or "mean" for a bound on their mean.  ``realisation`` says which run is
    released: "first_within", the first that meets the bound and is less risky than the data unchanged; "first", the
    first completed one; or the number of a replicate as text.
    """

    risk: _Measure | None = entry(None, "measure that judges risk")
    utility: _Measure | None = entry(None, "measure that judges use")
    max_risk: str | None = entry(
        None,
        "largest acceptable risk (α)",
        "the limit on risk under which a release will be chosen after the sweep",
        decimal="not negative",
    )
    slope: str | None = entry(None, "slope", decimal="not negative")
    probability: str = entry(
        DEFAULT_PROBABILITY,
        "share of single runs that must meet the limit",
        decimal="above 0 and below 1",
        or_word=ON_MEAN,
    )
    realisation: str = entry(FIRST_WITHIN, "run that is released", unchecked=True, written=True)

    def __post_init__(self) -> None:
        check(self, "decision ")
        if self.max_risk is not None and self.slope is not None:
            raise UsageError("the decision has both max_risk and slope; choose one rule")
        realisation = self.realisation
        if isinstance(realisation, int) and not isinstance(realisation, bool) and realisation.bit_length() < 64:
            realisation = str(realisation)
        if not isinstance(realisation, str) or not re.fullmatch(f"{FIRST_WITHIN}|first|[1-9][0-9]{{0,8}}", realisation):
            raise UsageError(
                f"realisation is {quoted(self.realisation)}, must be '{FIRST_WITHIN}', 'first' or the number of a "
                "replicate"
            )
        set_fields(self, realisation=realisation)

    @property
    def run_share(self) -> Fraction | None:
        """The share of single runs that must meet the bound; None where the bound is on their mean."""
        return None if self.probability == ON_MEAN else Fraction(self.probability)


def _role(label: str, help: str = "") -> tuple[str, ...]:
    return entry((), label, help, never_empty=True, implied=lambda plan: plan.names)


@dataclass(frozen=True)
class Plan:
    """Everything that command line, dashboard and study agree on.

    ``keys``, ``swap`` and ``analyse`` are attribute names and default to all attributes; ``measures`` are names with
    optional parameters such as ``small_cells[n_rule=5]``.  ``mechanisms`` left out means the random swap of ``space``.
    From ``about`` on, entries change no figure; ``lock`` is there once the plan was approved.
    """

    data: DataPlan
    keys: tuple[str, ...] = _role("keys", "attributes that an intruder knows (risk)")
    swap: tuple[str, ...] = _role("attributes that may be swapped")
    analyse: tuple[str, ...] = _role("attributes that users tabulate", "attributes that users tabulate (utility)")
    edits: tuple[EditRule, ...] = entry((), "combinations that must not occur")
    space: SpacePlan = field(default_factory=SpacePlan)
    measures: tuple[str, ...] = entry(
        DEFAULT_MEASURES,
        "measures",
        "measures such as small_cells[n_rule=5],hellinger; `frontier measures` lists them",
        never_empty=True,
    )
    decision: DecisionPlan = field(default_factory=DecisionPlan)
    analyses: tuple[AnalysisPlan, ...] = entry((), "regressions that users run")
    mechanisms: tuple[MechanismPlan, ...] = entry((), "mechanisms")
    about: AboutPlan = field(default_factory=AboutPlan)
    threat: ThreatPlan = field(default_factory=ThreatPlan)
    tables: tuple[TablePlan, ...] = entry((), "tables that users make")
    tolerances: TolerancePlan = field(default_factory=TolerancePlan)
    publish: PublishPlan = field(default_factory=PublishPlan)
    lock: LockPlan | None = entry(None, unchecked=True)

    def __post_init__(self) -> None:
        check(self)
        if len(set(self.mechanisms)) < len(self.mechanisms):
            raise UsageError("a mechanism is declared twice with the same parameters; leave one out")
        for role in ROLES:
            self._known(getattr(self, role), role)
        for aside in ("fix", "change"):
            self._known(getattr(self.space, aside), aside)
        if self.space.specs:
            specs = (str(AttributeSpec.parse(spec, self.names)) for spec in self.space.specs)
            set_fields(self, space=replace(self.space, specs=tuple(dict.fromkeys(specs))))
        self._check_measures()
        self._check_edits()
        self._check_analyses()
        self._check_tables()
        self._check_include()
        candidates = self.swap_candidates
        if not candidates and not self.space.specs:
            raise UsageError("fix and change leave no attribute to swap; take one out of them")
        sizes = self.space.swap_sizes
        if not (sizes or self.space.all_specs or self.space.specs or self.space.search):
            # Swapping every attribute exchanges whole records, so the default stops one short of that.
            most = min(len(candidates), max(1, len(self.names) - 1))
            sizes = tuple(
                size
                for size in DEFAULT_SIZES
                if size == 1 or (size <= most and can_list(comb(len(candidates), size), len(self.names)))
            )
            set_fields(self, space=replace(self.space, swap_sizes=sizes))
        if sizes and sizes[-1] > len(candidates):
            raise UsageError(
                f"swap size == {quoted(sizes[-1])}, must be at most {len(candidates)}, the number of attributes that "
                f"may be swapped: {', '.join(candidates)}"
            )

    @property
    def swaps_at_random(self) -> bool:
        """Return whether the random swap of ``space`` is among the mechanisms."""
        return not self.mechanisms or any(m.by_roles for m in self.mechanisms)

    @property
    def attributes(self) -> tuple[AttributePlan, ...]:
        """The attributes in their order."""
        return self.data.attributes

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes in their order."""
        return tuple(attribute.name for attribute in self.data.attributes)

    @cached_property
    def _name_set(self) -> frozenset[str]:
        return frozenset(self.names)

    @property
    def swap_candidates(self) -> tuple[str, ...]:
        """Attributes that may be S: those in ``swap`` that are neither held equal nor made to differ."""
        aside = {*self.space.fix, *self.space.change}
        return tuple(name for name in self.swap if name not in aside)

    def _known(self, names: Iterable[str], what: str) -> None:
        for name in names:
            if name not in self._name_set:
                raise UsageError(unknown_attribute(self.data, what, name, self.names))

    def _check_measures(self) -> None:
        measures = self.measures
        if not measures:
            raise UsageError("measures is empty; name at least one risk measure and one utility measure")
        for measure in measures:
            if not _MEASURE.fullmatch(measure):
                raise UsageError(
                    f"measure {quoted(measure)} is no name; write for example hellinger or small_cells[n_rule=5]"
                )
        for judge in ("risk", "utility"):
            chosen = getattr(self.decision, judge)
            if chosen is not None and chosen not in measures and chosen not in [m.partition("[")[0] for m in measures]:
                hint = did_you_mean(chosen, measures)
                raise UsageError(f"decision {judge} is '{chosen}', which is not among the measures.{hint}")

    def _check_edits(self) -> None:
        for rule in self.edits:
            check(rule, f"edit rule '{rule.name}': ")
        refuse_repeats([rule.name for rule in self.edits], "the edit rules")
        for rule in self.edits:
            if not rule.name:
                raise UsageError("an edit rule has an empty name; name what it forbids")
            where = f"edit rule '{rule.name}'"
            if rule.forbid and rule.existing:
                raise UsageError(f"{where} has both forbid and existing; make two rules of it")
            if rule.existing:
                refuse_repeats(rule.existing, f"{where}: existing")
                if len(rule.existing) == 1:
                    raise UsageError(f"{where}: existing names one attribute; name at least two, which go together")
            elif not rule.forbid or not all(levels for _, levels in rule.forbid):
                raise UsageError(f"{where} forbids nothing; list levels for at least one attribute under forbid")
            self._known(rule.attributes, where)

    def _check_analyses(self) -> None:
        refuse_repeats([analysis.name for analysis in self.analyses], "the analyses")
        for analysis in self.analyses:
            self._known(analysis.by, f"analysis '{analysis.name}': by")
            if analysis.weighted and self.data.weight is None:
                raise UsageError(
                    f"analysis '{analysis.name}' is weighted, but the plan declares no weight; name it as weight in "
                    "[data] or leave weighted out"
                )

    def _check_tables(self) -> None:
        refuse_repeats([table.name for table in self.tables], "the tables")
        for table in self.tables:
            self._known(table.attributes, f"table '{table.name}'")

    def _check_include(self) -> None:
        for role in self.publish.include:
            if getattr(self.data, role) is None:
                raise UsageError(
                    f"publish include names the {role}, but the plan declares none; name it as {role} in [data] or "
                    "leave it out"
                )


def declaration(name: str) -> Entry:
    """The declaration of an entry such as ``keys`` or ``space.screen``; an empty one for what is none."""
    section, _, entry_name = name.rpartition(".")
    part = declared(Plan).get(section)
    of = declared(part.hint if part else Plan).get(entry_name)
    return Entry() if of is None or bool(part) != bool(section) else of.entry


_STATED = (
    *(f"about.{name}" for name in ("survey", "vintage", "sponsor", "contact", "authority", "design", "geography")),
    *("about.changes", "about.overlaps", "publish.title", "threat.intruder", "threat.public_files", "threat.harm"),
)
"""Entries that the memo prints, in its order."""


def unstated(plan: Plan) -> dict[str, str]:
    """Return the labels of entries, such as ``about.survey``, that the memo would call not stated, in its order."""
    return {
        name: declaration(name).label
        for name in _STATED
        if not attrgetter(name)(plan) and not (name == "about.changes" and plan.about.release_type == "new")
    }


def in_no_use(plan: Plan, names: Iterable[str]) -> tuple[str, ...]:
    """Those of the attributes ``names`` that users do not tabulate and that no declared table or regression uses."""
    used = {*plan.analyse, *(name for table in plan.tables for name in table.attributes)}
    columns = {name for analysis in plan.analyses for name in (*analysis.columns, *analysis.by)}
    parts = {part.name: {part.name, f"{part.name}_raw", *part.columns} for part in plan.attributes}
    return tuple(name for name in names if name not in used and columns.isdisjoint(parts[name]))


def no_use_sentence(names: Iterable[str]) -> str:
    """A sentence on altered attributes that no measure of a declared use looks at; "" for none."""
    altered = tuple(names)
    if not altered:
        return ""
    return (
        f"No declared table or regression uses {listed(altered)}, and users do not tabulate "
        f"{'it' if len(altered) == 1 else 'them'}: figures of declared uses stay the same however much of "
        f"{'it' if len(altered) == 1 else 'them'} is exchanged."
    )
