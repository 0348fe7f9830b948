"""Entries of a plan: attributes, columns, mechanisms, analyses, and those that change no figure, checked when made.

The latter (survey, threat, tables, tolerances, publication, lock) may be completed after a sweep; every change is
logged in the study.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import Literal, TypedDict, get_args

from engine.common.errors import EngineError, Remedy, UsageError, did_you_mean
from engine.common.raw_values import Notation, is_number
from engine.common.untrusted import fits
from engine.common.wording import quoted, text_of
from engine.data.microdata import MEASURES, NO_LABELS, ColumnLabels, GroupedColumns, RawTable, StreamedColumns
from engine.plan.schema import Name, as_tuple, check, entry, needed, set_fields, typed
from engine.release.spec import RANDOM_SWAP

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_END = rf"(\d+(?:\.\d+)?|\.\d+|{'|'.join(_WORDS)})"
_PERCENT = r"(?:\s*%|\s*per\s?cent)"
_BETWEEN = re.compile(
    rf"(?:(?:between|from)\s+)?{_END}{_PERCENT}?\s*(?:\band\b|\bto\b|-|–)\s*{_END}{_PERCENT}", re.IGNORECASE
)
_BELOW = re.compile(rf"(?:below|under|up to|at most|less than|no more than|not more than)\s+{_END}{_PERCENT}", re.I)


@dataclass(frozen=True)
class RateRange:
    """Both ends of a range of shares, in percent."""

    low: Decimal
    high: Decimal

    def holds(self, share: float | Decimal) -> bool:
        """Return whether a share (0.02 is 2 percent) lies in the range, its ends included."""
        return self.low <= Decimal(str(share)) * 100 <= self.high


def rate_range(text: str) -> RateRange:
    """The range that a text names, such as "between 1 and 5 percent" or "below 5 percent".

    A narrow range says as much as the rate itself: both ends must have one significant digit and the upper one be at
    least twice the lower, which may be 0 (:class:`UsageError` otherwise).
    """
    plain = " ".join(text.split())
    ends = ["0"]
    if match := _BETWEEN.fullmatch(plain):
        ends = list(match.groups())
    elif match := _BELOW.fullmatch(plain):
        ends += match.groups()
    numbers = [Decimal(_WORDS.index(end.lower()) if end.lower() in _WORDS else end) for end in ends]
    rough = all(len(number.normalize().as_tuple().digits) == 1 for number in numbers)
    wide = len(numbers) == 2 and 2 * numbers[0] <= numbers[1] and 0 < numbers[1] <= 100
    if not (rough and wide):
        raise UsageError(
            f"the range for the public is '{text}', must read like 'between 1 and 5 percent' or 'below 5 percent', "
            "both ends with one significant digit and the upper one at least twice the lower: a narrow range would say "
            "as much as the rate itself"
        )
    return RateRange(*numbers)


MISSING_LEVEL = "missing"
"""Label of the level that ``on_missing = "level"`` adds."""
OnMissing = Literal["refuse", "level"]


@dataclass(frozen=True)
class AttributePlan:
    """Coding of one attribute from raw columns.

    ``columns`` move as one block; ``view`` are those whose values make the levels.  Either ``cut`` (ascending numeric
    edges, with one label more than edges) or ``merge`` (new level -> raw values) may recode a column; ``levels``
    declares the order of value levels after ``merge``, and a value outside it is refused.  ``skip`` and ``missing`` are
    raw values of those kinds; ``on_missing`` says whether a missing value is refused or becomes the level "missing".
    """

    name: str = needed(example='"..."')
    columns: tuple[str, ...] = entry((), never_empty=True, implied=lambda part: (part.name,))
    view: tuple[str, ...] = entry((), never_empty=True, implied=lambda part: part.columns[:1])
    cut: tuple[float, ...] = entry((), never_empty=True, unchecked=True)
    labels: tuple[str, ...] = entry((), never_empty=True)
    levels: tuple[str, ...] = entry((), never_empty=True)
    merge: tuple[tuple[str, tuple[str, ...]], ...] = ()
    skip: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    on_missing: OnMissing = "refuse"

    def __post_init__(self) -> None:
        typed(self.name, Name, "an attribute's name")
        who = f"attribute '{self.name}'"
        check(self, f"{who}: ")
        for column in self.view:
            if column not in self.columns:
                raise UsageError(
                    f"{who} views column '{column}', which is not in its columns: {', '.join(self.columns)}"
                )
        self._check_merge(who)
        self._check_cut(who)
        extra_levels = (*self.skip, *((MISSING_LEVEL,) if self.on_missing == "level" else ()))
        for level in (*self.levels, *self.labels):
            if level in extra_levels:
                raise UsageError(
                    f"{who}: '{level}' is a declared level and also a skip or missing one; those come last by "
                    "themselves"
                )

    def _check_merge(self, who: str) -> None:
        merged: set[str] = set()
        for level, raw in self.merge:
            if not raw:
                raise UsageError(f"{who}: merge makes '{level}' of nothing; list at least one raw value")
            if merged.intersection(raw):
                raise UsageError(f"{who}: merge uses the value '{sorted(merged.intersection(raw))[0]}' more than once")
            merged.update(raw)
            if self.levels and level not in self.levels and level not in self.skip:
                raise UsageError(
                    f"{who}: merge makes '{level}', which is not in levels.{did_you_mean(level, self.levels)}"
                )

    def _check_cut(self, who: str) -> None:
        given, edges = as_tuple(self.cut), []
        if given is None:
            raise UsageError(f"{who}: cut is {quoted(self.cut)}, must be a list of numbers such as [25, 55]")
        for edge in given:
            if isinstance(edge, bool) or not isinstance(edge, int | float) or not isfinite(edge):
                raise UsageError(f"{who}: cut holds {quoted(edge)}, must hold numbers")
            edges.append(int(edge) if float(edge).is_integer() else float(edge))
        if any(a >= b for a, b in pairwise(edges)):
            raise UsageError(f"{who}: cut edges are {', '.join(map(str, edges))}, must be ascending")
        set_fields(self, cut=tuple(edges))
        if self.labels and not edges:
            raise UsageError(f"{who} has labels but no cut; labels name the cut levels, use levels or merge for others")
        if not edges:
            return
        if self.merge or self.levels:
            other = "merge" if self.merge else "levels"
            raise UsageError(f"{who} has both cut and {other}; a cut column takes labels instead")
        if len(self.view) > 1:
            raise UsageError(f"{who} cuts a view of {len(self.view)} columns; cut needs exactly one")
        if self.labels and len(self.labels) != len(edges) + 1:
            raise UsageError(
                f"{who} has {len(self.labels)} labels for {len(edges) + 1} cut levels; give one label per level"
            )

    @property
    def answers(self) -> frozenset[str]:
        """Raw values that are declared as answers, alone or in a merge, and so do not mean missing whatever the plan
        says of all attributes; none where several columns make the levels."""
        if len(self.view) > 1:
            return frozenset()
        plain = frozenset(self.levels).difference(dict(self.merge))
        return plain.union(raw for _, values in self.merge for raw in values)

    def missing_codes(self, of_plan: Iterable[str]) -> tuple[str, ...]:
        """Raw values that mean missing in this attribute: its own, and those of the plan that it does not declare."""
        return (*(code for code in of_plan if code not in self.answers), *self.missing)

    @property
    def cut_labels(self) -> tuple[str, ...]:
        """Names of the cut levels, given or written from the edges: ``<25``, ``25-<55``, ``>=55``."""
        if self.labels or not self.cut:
            return self.labels
        edges = [str(edge) for edge in self.cut]
        middle = [f"{a}-<{b}" for a, b in pairwise(edges)]
        return (f"<{edges[0]}", *middle, f">={edges[-1]}")


@dataclass(frozen=True)
class MechanismPlan:
    """One mechanism; every parameter has one or more values as texts, and every combination of them is a scenario.

    Which parameters a mechanism has, and which values are legal, is said by ``engine.mechanisms``.
    """

    name: str = needed(example='"rds"')
    grid: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            raise UsageError("a mechanism has an empty name; name one of those that there are", Remedy.MECHANISMS)
        for parameter, values in self.grid:
            if not values:
                raise UsageError(f"mechanism '{self.name}': {parameter} has no value; give one or leave it out")
        names = [parameter for parameter, _ in self.grid]
        if len(set(names)) < len(names):
            raise UsageError(f"mechanism '{self.name}' names a parameter more than once")

    @property
    def by_roles(self) -> bool:
        """Return whether its candidates are the specs and rates of the plan's space; else they are those of the
        grid."""
        return self.name == RANDOM_SWAP

    @classmethod
    def of(cls, name: str, grid: Mapping[str, object]) -> MechanismPlan:
        """From plain values: a list is a grid, anything else one value."""
        return cls(name, tuple((key, tuple(map(as_text, values_of(value)))) for key, value in grid.items()))

    @classmethod
    def read(cls, name: object, **grid: object) -> MechanismPlan:
        """From entries of a file, of any type."""
        for key, value in grid.items():
            if not fits(value, str | int | float | bool | tuple[str | int | float | bool, ...]):
                wanted = "a text, a number, true or false, or a list of them"
                raise UsageError(f"{key} is {quoted(value)}, must be {wanted}")
        return cls.of(typed(name, str, "name"), grid)


def values_of(value: object) -> Sequence[object]:
    """The values of one entry."""
    return value if isinstance(value, list | tuple) else [value]


def as_text(value: object) -> str:
    """A value as the text of a parameter."""
    return ("yes" if value else "no") if isinstance(value, bool) else text_of(value)


SIGNS = "[ ] ; , + ="
"""Signs of the form in which measures are written, which no name in a measure may hold."""


NAMING = (
    *("attributes", "by", "target", "hierarchy", "level", "risk", "near", "similar", "vars", "within", "strata"),
    *("swap", "boundary", "linked", "stratum"),
)
"""Parameters of measures and mechanisms whose values are names of attributes, joined by + or |."""


_SIGNS = frozenset(SIGNS) - {" "}


def attributes_named(entry: MechanismPlan) -> tuple[str, ...]:
    """The attributes that a mechanism of a plan names in its parameters, in :data:`NAMING` ones."""
    texts = [text for name, values in entry.grid if name in NAMING for text in values]
    parts = [part.strip() for text in texts for part in re.split(r"[+|]", text)]
    # of near, such as Age:2, a name stands before the steps
    return tuple(dict.fromkeys(name for part in parts for name in (part, part.rpartition(":")[0].strip()) if name))


def is_writable(name: str) -> bool:
    """Return whether a measure can be written with an attribute's name."""
    return not _SIGNS & set(name)


HOUSEHOLD_SWAP = "trs"
"""The mechanism that exchanges whole households between places."""


@dataclass(frozen=True)
class Family:
    """A kind of regression: what its outcome must be, and whether records may count with the plan's weight.

    An ``event`` is 0 or 1; ``levels`` are those of an attribute, ``ordered levels`` in the order that the plan gives
    them.
    """

    name: str
    outcome: Literal["number", "event", "count", "positive number", "levels", "ordered levels"]
    weighted: bool = False


FAMILIES = {
    family.name: family
    for family in (
        Family("linear", "number", weighted=True),
        Family("logistic", "event", weighted=True),
        Family("poisson", "count", weighted=True),
        Family("probit", "event", weighted=True),
        Family("ordered logit", "ordered levels"),
        Family("ordered probit", "ordered levels"),
        Family("multinomial logit", "levels"),
        Family("negative binomial", "count"),
        Family("gamma", "positive number", weighted=True),
        Family("quantile", "number"),
    )
}
QUANTILE = "quantile"
MEDIAN = "0.5"
MOST_LEVELS = 30
"""Most levels of an outcome whose levels each have parameters of their own."""
FUNCTIONS = ("log", "log10", "exp", "sqrt", "abs", "center", "standardize")
"""Functions of numbers that a formula may call."""
CODINGS = ("C", "Q", "I", "Treatment", "Sum")
"""Formula words: C(name, Treatment("level")), Q("odd name"), I(expression)."""
MOST_CHARACTERS, MOST_SIGNS, MOST_BRACKETS = 20_000, 200, 20
"""Bounds of a formula."""
HOW_TO_NAME = ' A name with other signs than letters, digits and _ is written Q("the.name")'
"""The end of messages on formulas that may name such a column as it is."""
ALL = "all"
"""A measure's parameter for all declared analyses; no analysis may have this name."""

_WORD = re.compile(
    r"""\bQ\(\s*(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)")\s*\)"""  # Q("odd name")
    r"""|'[^']*'|"[^"]*"|\d[\w.]*"""  # texts and numbers
    r"""|(?P<name>[^\W\d]\w*)(?P<not_column>\s*\(|\s*=(?!=)|\s*\.(?=[^\W\d]))?"""  # np. , log( , reference=
)


@dataclass(frozen=True)
class AnalysisPlan:
    """One regression: a ``formula`` as R and statsmodels write it, and its ``family`` (a name of :data:`FAMILIES`).

    ``by`` fits it separately in every stratum of those attributes; ``weighted`` uses the plan's weight; ``tau`` is the
    quantile of a quantile regression as decimal text (the median where it is left out).  Attributes enter as categories
    with their first level as the reference, other columns as numbers, and the numbers behind a cut attribute as
    NAME_raw.
    """

    name: str = needed(example='"survival"')
    formula: str = needed(example='"Survived ~ Sex + Age"')
    family: str = entry("linear", choices=tuple(FAMILIES), written=True)
    by: tuple[str, ...] = entry((), never_empty=True)
    weighted: bool = False
    tau: str = entry("", decimal="above 0 and below 1")

    def __post_init__(self) -> None:
        typed(self.name.strip() if isinstance(self.name, str) else self.name, Name, "an analysis's name")
        who = f"analysis '{self.name}'"
        if self.name == ALL or re.search(r"[\[\];,=]", self.name) or self.name != self.name.strip():
            raise UsageError(
                f"{who} needs another name: not '{ALL}', no space at its ends and none of the signs [ ] ; , ="
            )
        check(self, f"{who}: ")
        if not all(side.strip() for side in self.sides) or len(self.sides) != 2:
            raise UsageError(f'{who}: formula is {quoted(self.formula)}, must be written as "outcome ~ first + second"')
        self._check_size(who)
        if self.weighted and not self.model.weighted:
            able = ", ".join(family.name for family in FAMILIES.values() if family.weighted)
            raise UsageError(
                f"{who}: the family '{self.family}' takes no weights here; leave weighted out, or use one of {able}"
            )
        if self.family != QUANTILE and self.tau:
            raise UsageError(f'{who}: tau is the quantile of family = "{QUANTILE}"; leave it out of {self.family}')
        set_fields(self, tau=self.tau or (MEDIAN if self.family == QUANTILE else ""))

    @property
    def model(self) -> Family:
        """The family that :attr:`family` names."""
        return FAMILIES[self.family]

    @property
    def family_words(self) -> str:
        """The family with its quantile, where it has one."""
        return f"{self.family} {self.tau}" if self.tau else self.family

    def _check_size(self, who: str) -> None:
        """A parser's memory ends somewhere, and with thousands of terms no regression is meant."""
        unquoted = re.sub(r"'[^']*'|\"[^\"]*\"", "", self.formula)
        signs, depth, deepest = len(re.findall(r"[-+*/:^~<>=,(\[{|&%@!]", unquoted)), 0, 0
        for bracket in re.findall(r"[()\[\]{}]", unquoted):
            depth += 1 if bracket in "([{" else -1
            deepest = max(deepest, depth)
        if len(self.formula) > MOST_CHARACTERS or signs > MOST_SIGNS or deepest > MOST_BRACKETS:
            raise UsageError(
                f"{who}: the formula has {len(self.formula):,} characters, {signs:,} operators and brackets, and up to "
                f"{deepest:,} within each other; at most {MOST_CHARACTERS:,}, {MOST_SIGNS} and {MOST_BRACKETS} are read"
            )

    @property
    def sides(self) -> tuple[str, ...]:
        """Outcome and predictors, split at the tilde."""
        masked = re.sub(r"'[^']*'|\"[^\"]*\"", lambda text: "x" * len(text[0]), self.formula)
        cuts = [-1, *(i for i, sign in enumerate(masked) if sign == "~"), len(masked)]
        return tuple(self.formula[a + 1 : b].strip() for a, b in pairwise(cuts))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of columns and attributes in the formula, in their order."""
        return tuple(dict.fromkeys(name for side in self.sides for name in column_names(side)))

    def with_names(self, new_names: Mapping[str, str]) -> AnalysisPlan:
        """The same with columns and attributes renamed in its formula; levels in quotes stay."""

        def renamed(word: re.Match[str]) -> str:
            (name,) = column_names(word[0]) or ("",)
            new = new_names.get(name)
            if new is None:
                return word[0]
            sign = "'" if '"' in new else '"'
            return new if new.isidentifier() else f"Q({sign}{new}{sign})"

        return replace(self, formula=_WORD.sub(renamed, self.formula))


def column_names(text: str) -> tuple[str, ...]:
    """Names that part of a formula uses as columns: no functions, keywords of calls or quoted levels."""
    names = []
    for word in _WORD.finditer(text):
        quoted = word["single"] if word["single"] is not None else word["double"]
        if quoted is not None:
            names.append(quoted)
        elif word["name"] and not word["not_column"] and word["name"] not in ("True", "False"):
            names.append(word["name"])
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class ColumnPlan:
    """What a plan says about one column ``name`` in place of its file.

    ``values`` pairs raw values with their labels.  ``missing`` are raw values that mean missing; a range of numbers is
    written ``-99 to -90``.  ``decimal`` and ``thousands`` are the signs with which its texts write numbers.  ``real``:
    no value means missing but those listed, whatever it looks like.  What is empty stays as the file has it.
    """

    name: Name = needed(example='"SEX"')
    label: str = ""
    values: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    measure: str = entry("", choices=MEASURES)
    decimal: str = ""
    thousands: str = ""
    real: bool = False

    def __post_init__(self) -> None:
        check(self, f"column '{self.name}': ")
        if self.decimal not in ("", ".", ",") or self.thousands not in ("", *".,' "):
            raise UsageError(
                f"column '{self.name}': decimal must be '.' or ',', and thousands one of them, a blank or an apostrophe"
            )
        if self.thousands and self.thousands == self.decimal:
            raise UsageError(f"column '{self.name}': decimal and thousands are the same sign; leave one out")
        try:
            self.of(ColumnLabels())
        except EngineError as error:
            raise UsageError(f"column '{self.name}': {error}") from None

    @property
    def notation(self) -> Notation | None:
        """The notation of the column's numbers; None where the plan does not say it."""
        if not self.decimal and not self.thousands:
            return None
        return Notation(self.decimal or ("," if self.thousands == "." else "."), self.thousands)

    def of(self, labels: ColumnLabels) -> ColumnLabels:
        """The labels of the column in a file, with what the plan says in their place."""
        codes, ranges = codes_and_ranges(self.missing)
        return replace(
            labels,
            label=self.label or labels.label,
            values=self.values or labels.values,
            missing=codes if self.missing else labels.missing,
            missing_ranges=ranges if self.missing else labels.missing_ranges,
            measure=self.measure or labels.measure,
            notation=self.notation or labels.notation,
        )


def codes_and_ranges(items: Sequence[str]) -> tuple[tuple[str, ...], tuple[tuple[float, float], ...]]:
    """Single codes, and ranges written as ``-99 to -90``."""
    codes, ranges = [], []
    for item in items:
        match item.split():
            case [low, "to", high] if is_number(low) and is_number(high):
                ranges.append((float(low), float(high)))
            case _:
                codes.append(item)
    return tuple(codes), tuple(ranges)


def labelled(raw: RawTable, columns: Iterable[ColumnPlan]) -> RawTable:
    """``raw`` with these labels; a column that it does not have is a :class:`UsageError`.

    Of records that are read by streaming the columns have no labels, and the notation of numbers and codes alone.
    """
    given = {column.name: column for column in columns}
    for name in given:
        if name not in raw.columns:
            raise UsageError(
                f"the plan gives labels of column '{name}', which is not in the data.{did_you_mean(name, raw.names)} "
                "Rename that [[column]] or take it out"
            )
    if not given:
        return raw
    if raw.streamed is not None and isinstance(raw.columns, StreamedColumns):
        about = {name: replace(column.of(NO_LABELS), label="", values=(), measure="") for name, column in given.items()}
        columns_read = raw.columns.labelled(about)
        rows = {n: replace(c, about=columns_read.about(n)) for n, c in raw.streamed.rows.columns.items()}
        streamed = replace(raw.streamed, rows=replace(raw.streamed.rows, columns=rows))
        return replace(raw, columns=columns_read, streamed=streamed)
    about = {name: column.of(raw.about(name)) for name, column in given.items()}
    if isinstance(raw.columns, GroupedColumns):
        return replace(raw, columns=raw.columns.labelled(about))
    changed = {name: replace(raw.columns[name], about=labels) for name, labels in about.items()}
    return replace(raw, columns={**raw.columns, **changed})


def labelled_as_far(raw: RawTable, columns: Iterable[ColumnPlan]) -> RawTable:
    """``raw`` with these labels; columns that it does not have are passed over, for what looks at plans that do not fit
    yet."""
    return labelled(raw, (column for column in columns if column.name in raw.columns))


def with_notation(columns: Iterable[ColumnPlan], name: str, notation: Notation) -> tuple[ColumnPlan, ...]:
    """The columns of a plan, of which ``name`` writes its numbers in the ``notation``."""
    by_name = {column.name: column for column in columns}
    said = by_name.get(name, ColumnPlan(name))
    by_name[name] = replace(said, decimal=notation.decimal, thousands=notation.thousands)
    return tuple(by_name.values())


def with_missing(columns: Iterable[ColumnPlan], name: str, value: str, about: ColumnLabels) -> tuple[ColumnPlan, ...]:
    """The columns of a plan, in which one more ``value`` of ``name`` means missing, beside those that its file declares
    (``about``)."""
    by_name = {column.name: column for column in columns}
    said = by_name.get(name, ColumnPlan(name))
    declared = (*about.missing, *about.written_ranges)
    by_name[name] = replace(said, missing=tuple(dict.fromkeys((*(said.missing or declared), value))))
    return tuple(by_name.values())


ReleaseType = Literal["new", "series", "re-release"]
RELEASE_TYPES: tuple[ReleaseType, ...] = get_args(ReleaseType)
RatePolicy = Literal["withhold", "range"]
RATE_POLICIES: tuple[RatePolicy, ...] = get_args(RatePolicy)
MembersRate = Literal["tell", "withhold"]
MEMBERS_RATES: tuple[MembersRate, ...] = get_args(MembersRate)
PublishedTables = Literal["yes", "no", "not known"]
PUBLISHED_TABLES: tuple[PublishedTables, ...] = get_args(PublishedTables)
SingleUse = Literal["weight", "id", "unit"]
SINGLE_USES: tuple[SingleUse, ...] = get_args(SingleUse)
"""Uses of which a plan names one column at most."""
INCLUDE: tuple[SingleUse, ...] = SINGLE_USES
"""Columns that may be released besides attributes and carried ones: the weight, and new numbers in place of those of
the id and of the unit."""


UnitColumns = str | tuple[str, ...] | None
"""The column that numbers households, or the columns that do so together."""


def unit_columns(unit: UnitColumns) -> tuple[str, ...]:
    """The columns that number households, in their order."""
    return () if unit is None else (unit,) if isinstance(unit, str) else unit


class SingleColumns(TypedDict):
    """The columns of the uses that one column has at most, and those of the unit."""

    weight: str | None
    id: str | None
    unit: UnitColumns


def check_include(include: Iterable[str], where: str = "") -> tuple[str, ...]:
    """Columns released besides, each once in the order of :data:`INCLUDE`; ``where`` says where they were asked for."""
    requested = as_tuple(include)
    if requested is None:
        raise UsageError(
            f"{where or 'include'} is of type {type(include).__name__}, must be a list such as ['weight']."
        )
    for name in requested:
        if not isinstance(name, str) or name not in INCLUDE:
            raise UsageError(
                f"{where or 'cannot include'} {quoted(name)}, must be weight, id or unit. They stand for the columns "
                "that [data] names as weight, id and unit; other columns are carried, or attributes"
            )
    return tuple(name for name in INCLUDE if name in requested)


@dataclass(frozen=True)
class AboutPlan:
    """The cover of the memo: who asks for which release.  Every entry is a text and may be empty.

    ``release_type`` is one of :data:`RELEASE_TYPES`, with ``changes`` since the earlier release in words;
    ``design`` says weights, strata, sampling units and households in words; ``geography`` is the smallest one released;
    ``overlaps`` names other releases of the same data.
    """

    survey: str = entry("", "survey", example="National Household Survey")
    vintage: str = entry("", "vintage", example="2025")
    sponsor: str = entry("", "sponsor", example="Ministry of Labour")
    contact: str = entry("", "contact", example="whom the board may ask")
    authority: str = entry(
        "", "authority", "The law or agreement under which the data were collected", example="Statistics Act, section 4"
    )
    release_type: ReleaseType = entry("new", "type of the release")
    changes: str = entry("", "what changed since the earlier release")
    geography: str = entry("", "smallest geography released", example="region")
    design: str = entry(
        "",
        "strata, sampling units and households",
        example="Two-stage sample of households; final weight wt; strata are regions",
    )
    classification: str = entry("", "classification of the memo", example="Confidential")
    overlaps: str = entry(
        "",
        "other releases of the same data",
        "Files of the same people that are protected differently can undo each other's protection",
        example="tables of 2024",
    )

    def __post_init__(self) -> None:
        check(self, "about ", strip=True)


@dataclass(frozen=True)
class ThreatPlan:
    """The threat: ``intruder`` in words, ``public_files`` that overlap with the keys, and the ``harm`` of a
    disclosure.

    ``published_tables`` says whether two-way tables of the original are published (one of :data:`PUBLISHED_TABLES`):
    beside a release they undo part of its protection, and where it is not known they are taken to be.
    """

    intruder: str = entry(
        "",
        "intruder",
        "Who the intruder could be, and how they would proceed",
        example="A colleague who knows that a certain person answered, and looks for that person's income",
    )
    public_files: tuple[str, ...] = entry(
        (),
        "public files that overlap with the keys",
        "Public or commercial files, in words. The measure 'Links to an external file' on the page Candidates says how "
        "well a file that you hold matches a release.",
        example="Voter register of 2024: name, address, age, sex",
    )
    harm: str = entry("", "harm of a disclosure", example="Loss of benefits, embarrassment")
    published_tables: PublishedTables = entry(
        "not known",
        "two-way tables of the original are published",
        "Such as the tables of a report on the same survey. Several tables that cross the same two variables count"
        " as one.",
    )

    def __post_init__(self) -> None:
        check(self, "threat ", strip=True)


@dataclass(frozen=True)
class TablePlan:
    """A table that users make: its name and the attributes it crosses."""

    name: str = needed(example='"work"')
    attributes: tuple[str, ...] = needed(example='["Age", "Job"]', never_empty=True)

    def __post_init__(self) -> None:
        typed(self.name.strip() if isinstance(self.name, str) else self.name, Name, "a table's name")
        check(self, f"table '{self.name}': ")
        if not self.attributes:
            raise UsageError(f"table '{self.name}' crosses no attribute; list at least one")


@dataclass(frozen=True)
class TolerancePlan:
    """Limits beyond which a difference between original and release is flagged.

    ``change`` is a relative difference of a percentage or mean (0.1 is 10 %), looked at where the original rests on
    more than ``min_n`` records; ``se`` is a shift of a coefficient in standard errors; ``se_ratio`` is a ratio of
    standard errors.  The defaults are those of the practice described for DataSwap.
    """

    change: str = entry("0.1", "tolerated change of a share or mean", decimal="above 0")
    min_n: int = entry(45, "records that it rests on", low=0)
    se: str = entry("1.96", "tolerated shift of a coefficient", decimal="above 0")
    se_ratio: str = entry("1.1", "tolerated growth of a standard error", decimal="above 0")

    def __post_init__(self) -> None:
        check(self, "tolerances ")


@dataclass(frozen=True)
class PublishPlan:
    """Public statements: ``title`` of the released file, the ``rate_policy`` (one of :data:`RATE_POLICIES`) with
    ``rate_range`` such as "between 1 and 5 percent" where a range is given (:mod:`engine.plan.entries` says which
    may be), and further ``wording``; what is released besides the attributes and carried columns (``include``, of
    :data:`INCLUDE`); and ``members_rate`` (one of :data:`MEMBERS_RATES`): the board always reads the rate, and where it
    is withheld a circulating copy leaves out what depends on it.  An approval leaves all but ``include`` and
    ``members_rate`` open."""

    title: str = entry("", "title of the release", example="Household Survey 2025")
    rate_policy: RatePolicy = entry("withhold", "how much of the rates is told in public")
    rate_range: str = entry("", "range of rates told in public", example="between 1 and 5 percent")
    wording: str = entry("", "words on the method in public", example="Whom users may ask about the file")
    include: tuple[str, ...] = entry((), "released with the file", unchecked=True)
    members_rate: MembersRate = entry(
        "tell",
        "whether a circulating copy leaves out the rate",
        "The board reads exact figures and the rate. Where it is withheld, a circulating copy leaves out every "
        "figure that depends on the rate.",
    )

    def __post_init__(self) -> None:
        check(self, "publish ", strip=True)
        set_fields(self, include=check_include(self.include, "publish include names"))
        if (self.rate_policy == "range") != bool(self.rate_range):
            raise UsageError(
                "publish rate_range and rate_policy belong together; give the range in words with rate_policy = "
                '"range", or neither'
            )
        if self.rate_range:
            rate_range(self.rate_range)


@dataclass(frozen=True)
class LockPlan:
    """The approval of a plan: its ``number``, ``by`` whom, ``at`` which time (ISO), the ``digest`` of what was
    approved and the ``approved`` plan itself in its TOML form."""

    number: str
    by: str
    at: str
    digest: str
    approved: str

    def __post_init__(self) -> None:
        check(self, "lock ", strip=True)
        for name, text in vars(self).items():
            if not text:
                raise UsageError(f"lock {name} is empty; an approval writes this section", Remedy.LOCK)
