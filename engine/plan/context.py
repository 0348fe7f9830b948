"""Entries of a plan that change no figure: survey, threat, uses, tolerances, publication, lock.

None of it changes a figure, so it may be completed after a sweep; every change is logged in the study.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from decimal import Decimal

from engine.common.errors import Remedy, UsageError
from engine.plan.attribute import names_tuple, set_fields
from engine.plan.decimals import decimal_text
from engine.plan.rate_range import rate_range

RELEASE_TYPES = ("new", "series", "re-release")
RATE_POLICIES = ("withhold", "range")
INCLUDE = ("weight", "id")
"""What may be released besides the attributes and carried columns: the weight, and a new id in place of the id."""


def check_include(include: Iterable[str], where: str = "") -> tuple[str, ...]:
    """What is released besides, each once in the order of :data:`INCLUDE`; ``where`` says where it was asked for."""
    asked = tuple(include)
    for name in asked:
        if name not in INCLUDE:
            raise UsageError(
                f"{where or 'cannot include'} '{name}', must be weight or id. They stand for the columns that [data] "
                "names as weight and id; other columns are carried, or attributes"
            )
    return tuple(name for name in INCLUDE if name in asked)


def _check_texts(part: object, section: str, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(part, name)
        if not isinstance(value, str):
            raise UsageError(f"{section} {name} is {value!r}, must be a text")
        set_fields(part, **{name: value.strip()})


@dataclass(frozen=True)
class AboutPlan:
    """Who asks for what: the cover of the memo.  Every entry is a text and may be empty.

    ``release_type`` is one of :data:`RELEASE_TYPES`, with ``changes`` since the earlier release in words;
    ``design`` says weights, strata, sampling units and households in words; ``geography`` is the smallest one released;
    ``overlaps`` names other releases of the same data.
    """

    survey: str = ""
    vintage: str = ""
    sponsor: str = ""
    contact: str = ""
    authority: str = ""
    release_type: str = "new"
    changes: str = ""
    geography: str = ""
    design: str = ""
    classification: str = ""
    overlaps: str = ""

    def __post_init__(self) -> None:
        _check_texts(self, "about", tuple(f.name for f in fields(self)))
        if self.release_type not in RELEASE_TYPES:
            raise UsageError(f"about release_type is '{self.release_type}', must be one of {', '.join(RELEASE_TYPES)}")


@dataclass(frozen=True)
class ThreatPlan:
    """Who might attack: ``intruder`` in words, ``public_files`` that overlap with the keys, and the ``harm`` of a
    disclosure."""

    intruder: str = ""
    public_files: tuple[str, ...] = ()
    harm: str = ""

    def __post_init__(self) -> None:
        _check_texts(self, "threat", ("intruder", "harm"))
        set_fields(self, public_files=names_tuple(self.public_files, "threat public_files"))


@dataclass(frozen=True)
class TablePlan:
    """A table that users make: its name and the attributes it crosses."""

    name: str
    attributes: tuple[str, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise UsageError(f"a table's name is {self.name!r}, must be a text that is not empty")
        set_fields(self, attributes=names_tuple(self.attributes, f"table '{self.name}': attributes"))
        if not self.attributes:
            raise UsageError(f"table '{self.name}' crosses no attribute; list at least one")


@dataclass(frozen=True)
class TolerancePlan:
    """From where on a difference between original and release is flagged.

    ``change`` is a relative difference of a percentage or mean (0.1 is 10 %), looked at where the original rests on
    more than ``min_n`` records; ``se`` is a shift of a coefficient in standard errors; ``se_ratio`` is a ratio of
    standard errors.  The defaults are those of the practice described for DataSwap.
    """

    change: str = "0.1"
    min_n: int = 45
    se: str = "1.96"
    se_ratio: str = "1.1"

    def __post_init__(self) -> None:
        for name in ("change", "se", "se_ratio"):
            text = decimal_text(getattr(self, name), f"tolerances {name}")
            if Decimal(text) <= 0:
                raise UsageError(f"tolerances {name} == {text}, must be above 0.")
            set_fields(self, **{name: text})
        if isinstance(self.min_n, bool) or not isinstance(self.min_n, int) or self.min_n < 0:
            raise UsageError(f"tolerances min_n is {self.min_n!r}, must be a whole number, 0 or more")


@dataclass(frozen=True)
class PublishPlan:
    """What is said in public: ``title`` of the released file, the ``rate_policy`` (one of :data:`RATE_POLICIES`) with
    ``rate_range`` such as "between 1 and 5 percent" where a range is given (:mod:`engine.plan.rate_range` says which
    may be), and further ``wording``; and what is released besides the attributes and carried columns (``include``, of
    :data:`INCLUDE`).  An approval leaves all but ``include`` open."""

    title: str = ""
    rate_policy: str = "withhold"
    rate_range: str = ""
    wording: str = ""
    include: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_texts(self, "publish", tuple(f.name for f in fields(self) if f.name != "include"))
        set_fields(self, include=check_include(self.include, "publish include names"))
        if self.rate_policy not in RATE_POLICIES:
            raise UsageError(f"publish rate_policy is '{self.rate_policy}', must be one of {', '.join(RATE_POLICIES)}")
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
        names = tuple(f.name for f in fields(self))
        _check_texts(self, "lock", names)
        for name in names:
            if not getattr(self, name):
                raise UsageError(f"lock {name} is empty; an approval writes this section", Remedy.LOCK)
