"""Entries of a plan that change no figure: survey, threat, uses, tolerances, publication, lock.

None of it changes a figure, so it may be completed after a sweep; every change is logged in the study.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal, TypedDict, get_args

from msgspec import Meta

from engine.common.errors import Remedy, UsageError
from engine.plan.decimals import decimal_text
from engine.plan.field_types import Name, as_tuple, check_types, set_fields, typed
from engine.plan.rate_range import rate_range

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
                f"{where or 'cannot include'} {name!r}, must be weight, id or unit. They stand for the columns that "
                "[data] names as weight, id and unit; other columns are carried, or attributes"
            )
    return tuple(name for name in INCLUDE if name in requested)


def _strip(part: object) -> None:
    """Take blanks off the ends of all texts of a part."""
    set_fields(part, **{name: value.strip() for name, value in vars(part).items() if isinstance(value, str)})


@dataclass(frozen=True)
class AboutPlan:
    """The cover of the memo: who asks for which release.  Every entry is a text and may be empty.

    ``release_type`` is one of :data:`RELEASE_TYPES`, with ``changes`` since the earlier release in words;
    ``design`` says weights, strata, sampling units and households in words; ``geography`` is the smallest one released;
    ``overlaps`` names other releases of the same data.
    """

    survey: str = ""
    vintage: str = ""
    sponsor: str = ""
    contact: str = ""
    authority: str = ""
    release_type: ReleaseType = "new"
    changes: str = ""
    geography: str = ""
    design: str = ""
    classification: str = ""
    overlaps: str = ""

    def __post_init__(self) -> None:
        _strip(self)
        check_types(self, where="about ")


@dataclass(frozen=True)
class ThreatPlan:
    """The threat: ``intruder`` in words, ``public_files`` that overlap with the keys, and the ``harm`` of a
    disclosure.

    ``published_tables`` says whether two-way tables of the original are published (one of :data:`PUBLISHED_TABLES`):
    beside a release they undo part of its protection, and where it is not known they are taken to be.
    """

    intruder: str = ""
    public_files: tuple[str, ...] = ()
    harm: str = ""
    published_tables: PublishedTables = "not known"

    def __post_init__(self) -> None:
        _strip(self)
        check_types(self, where="threat ")


@dataclass(frozen=True)
class TablePlan:
    """A table that users make: its name and the attributes it crosses."""

    name: str
    attributes: tuple[str, ...]

    def __post_init__(self) -> None:
        typed(self.name.strip() if isinstance(self.name, str) else self.name, Name, "a table's name")
        check_types(self, where=f"table '{self.name}': ")
        if not self.attributes:
            raise UsageError(f"table '{self.name}' crosses no attribute; list at least one")


@dataclass(frozen=True)
class TolerancePlan:
    """Limits beyond which a difference between original and release is flagged.

    ``change`` is a relative difference of a percentage or mean (0.1 is 10 %), looked at where the original rests on
    more than ``min_n`` records; ``se`` is a shift of a coefficient in standard errors; ``se_ratio`` is a ratio of
    standard errors.  The defaults are those of the practice described for DataSwap.
    """

    change: str = "0.1"
    min_n: Annotated[int, Meta(ge=0, description="a whole number, 0 or more")] = 45
    se: str = "1.96"
    se_ratio: str = "1.1"

    def __post_init__(self) -> None:
        for name in ("change", "se", "se_ratio"):
            text = decimal_text(getattr(self, name), f"tolerances {name}")
            if Decimal(text) <= 0:
                raise UsageError(f"tolerances {name} == {text}, must be above 0.")
            set_fields(self, **{name: text})
        check_types(self, "change", "se", "se_ratio", where="tolerances ")


@dataclass(frozen=True)
class PublishPlan:
    """Public statements: ``title`` of the released file, the ``rate_policy`` (one of :data:`RATE_POLICIES`) with
    ``rate_range`` such as "between 1 and 5 percent" where a range is given (:mod:`engine.plan.rate_range` says which
    may be), and further ``wording``; what is released besides the attributes and carried columns (``include``, of
    :data:`INCLUDE`); and ``members_rate`` (one of :data:`MEMBERS_RATES`): the board always reads the rate, and where it
    is withheld a circulating copy leaves out what depends on it.  An approval leaves all but ``include`` and
    ``members_rate`` open."""

    title: str = ""
    rate_policy: RatePolicy = "withhold"
    rate_range: str = ""
    wording: str = ""
    include: tuple[str, ...] = ()
    members_rate: MembersRate = "tell"

    def __post_init__(self) -> None:
        _strip(self)
        check_types(self, "include", where="publish ")
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
        _strip(self)
        check_types(self, where="lock ")
        for name, text in vars(self).items():
            if not text:
                raise UsageError(f"lock {name} is empty; an approval writes this section", Remedy.LOCK)
