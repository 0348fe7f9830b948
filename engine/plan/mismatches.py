"""Mismatches between a plan and a file: one value for each way in which they do not fit."""

from __future__ import annotations

import re
from abc import ABC
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

from engine.common.raw_values import Notation, written_unclearly
from engine.plan.coding import absent_unit
from engine.plan.coding import column_list as listed
from engine.plan.coding import counted as count

MismatchKind = Literal[
    "absent", "new", "notation", "code", "level", "missing", "number", "empty", "rule", "unused", "clash"
]
KINDS: tuple[MismatchKind, ...] = get_args(MismatchKind)
"""Kinds of mismatches, in the order in which they are best settled."""


@dataclass(frozen=True)
class Mismatch(ABC):
    """One way in which a plan and a file do not fit."""

    kind: ClassVar[MismatchKind]
    names_subject: ClassVar[tuple[str, ...]] = ("attribute",)
    """The fields that make up the subject."""

    @property
    def subject(self) -> tuple[str, ...]:
        """The subject of the mismatch: a column, or an attribute and one of its values."""
        return tuple(getattr(self, name) for name in self.names_subject)

    text: ClassVar[str]
    """The mismatch as a sentence, with its own parts (``{0.attribute}``) in braces."""

    @property
    def sentence(self) -> str:
        """The mismatch as a sentence."""
        return self.text.format(self)

    @property
    def key(self) -> str:
        """A name that stays the same while plan and file do."""
        return ":".join((self.kind, *self.subject))


@dataclass(frozen=True)
class AbsentColumn(Mismatch):
    """The plan names ``column`` (``claim`` says for what), and the file, whose ``columns`` these are, does not have
    it."""

    column: str
    claim: str
    columns: tuple[str, ...] = field(default=(), compare=False)
    kind = "absent"
    names_subject = ("column",)

    @property
    def sentence(self) -> str:
        """The mismatch as a sentence."""
        if self.claim == "unit":
            return absent_unit(self.column, self.columns)
        parts = {name: re.findall(r"\w+", name) for name in self.columns if self.claim.startswith("analysis")}
        whole = next((name for name, words in parts.items() if words != [name] and self.column in words), None)
        how = f"; write '{whole}' as Q(\"{whole}\") in a formula" if whole else ""
        return f"column '{self.column}' ({self.claim}) is not in the data{how}"


@dataclass(frozen=True)
class NewColumn(Mismatch):
    """The file has ``column``, called ``label``, and the plan does not say what becomes of it; or the plan neither
    names nor has seen it, and only a pattern says that it is ``covered`` ("carried", "dropped")."""

    column: str
    label: str = ""
    covered: str = ""
    kind = "new"
    names_subject = ("column",)

    @property
    def sentence(self) -> str:
        """The mismatch as a sentence."""
        named = f" ({self.label})" if self.label else ""
        if self.covered:
            name = f"'{self.column}'{named}"
            return f"the plan does not name column {name}, and only a pattern says that it is {self.covered}"
        return f"column '{self.column}'{named} of the data has no use in the plan"


@dataclass(frozen=True)
class NewValue(Mismatch):
    """``n_records`` records have ``value`` in ``attribute``, whose declared levels do not hold it; ``label`` is the
    file's own word for it."""

    attribute: str
    value: str
    n_records: int
    label: str = ""
    names_subject = ("attribute", "value")

    @property
    def named(self) -> str:
        """The value with its label."""
        return f"'{self.value}'" + (f" ({self.label})" if self.label not in ("", self.value) else "")

    @property
    def records(self) -> str:
        """The number of records."""
        return count(self.n_records, "record")


@dataclass(frozen=True)
class NewLevel(NewValue):
    """A new value that seems to be an answer."""

    kind = "level"
    text = "attribute '{0.attribute}' has a level {0.named}, in {0.records}, that the plan does not declare"


@dataclass(frozen=True)
class NewMissingCode(NewValue):
    """A new value that seems to be a code for a missing answer."""

    kind = "code"
    text = (
        "attribute '{0.attribute}' has a code {0.named}, in {0.records}, that the plan does not declare and that seems "
        "to mean a missing answer"
    )


@dataclass(frozen=True)
class UndecidedCode(NewMissingCode):
    """A value that means missing by default, and may be an answer."""

    text = (
        "attribute '{0.attribute}' takes {0.named} as missing, in {0.records}, and it may be an answer: the other "
        "values are texts of the same kind"
    )
    way_out = "add '{0.value}' to levels of attribute '{0.attribute}' if it is an answer, else to its missing"

    @property
    def remedy(self) -> str:
        """How the plan decides it."""
        return self.way_out.format(self)


@dataclass(frozen=True)
class TextAmongNumbers(UndecidedCode):
    """A text that is a level beside numbers, because nobody said otherwise."""

    text = "attribute '{0.attribute}' takes the text {0.named}, in {0.records}, as a level beside numbers"
    way_out = "cut the attribute '{0.attribute}' and list '{0.value}' under missing, or list all of its levels"


@dataclass(frozen=True)
class DoubtfulNumber(Mismatch):
    """``n_records`` records have ``value`` in a ``column`` that the plan uses as unit, id, weight or place, and it may
    mean missing; the file calls it ``label``.  ``first`` is the first record of a value that only its many records
    give away, which no sentence quotes; 0 of a code."""

    column: str
    use: str
    value: str
    n_records: int
    label: str = ""
    first: int = 0
    kind = "code"

    @property
    def subject(self) -> tuple[str, ...]:
        """The column and the value, or its first record."""
        return (self.column, f"record {self.first}" if self.first else self.value)

    @property
    def sentence(self) -> str:
        """The mismatch as a sentence."""
        records = count(self.n_records, "record")
        if self.first:
            which = f"one value in {records} (first: record {self.first:,}), far more than any other has"
        else:
            which = f"'{self.value}'{f' ({self.label})' if self.label else ''} in {records}"
        return f"{self.use} column '{self.column}' has {which}: a real {self.noun}, or a code for a missing one"

    @property
    def noun(self) -> str:
        """The word for what a value of the column names."""
        return {"unit": "household"}.get(self.use, self.use)

    @property
    def remedy(self) -> str:
        """How the plan decides it."""
        where = f"attribute '{self.column}'" if self.use == "place" else f'[[column]] name = "{self.column}"'
        return f'list it under missing of {where}, or say real = true under [[column]] name = "{self.column}"'


@dataclass(frozen=True)
class RefusedMissing(Mismatch):
    """``n_records`` values of ``attribute`` are missing, which the plan refuses."""

    attribute: str
    n_records: int
    kind = "missing"

    @property
    def sentence(self) -> str:
        """The mismatch as a sentence."""
        return f"attribute '{self.attribute}' has {count(self.n_records, 'missing value')}, which the plan refuses"


@dataclass(frozen=True)
class NotNumbers(Mismatch):
    """``column`` is cut by numbers for ``attribute``, and ``values``, in ``n_records`` records, are none."""

    attribute: str
    column: str
    values: tuple[str, ...]
    n_records: int
    kind = "number"

    @property
    def sentence(self) -> str:
        """The mismatch as a sentence."""
        return (
            f"column '{self.column}' is cut by numbers, and {count(len(self.values), 'value')} of it "
            f"({listed(self.values)}; {count(self.n_records, 'record')}) cannot be read as one"
        )


@dataclass(frozen=True)
class UnclearNumbers(Mismatch):
    """The plan uses ``column`` as numbers, which can be read in several ``ways``, or in none (none given)."""

    column: str
    ways: tuple[Notation, ...]
    kind = "notation"
    names_subject = ("column",)

    @property
    def sentence(self) -> str:
        """The mismatch as a sentence."""
        return written_unclearly(self.column)


@dataclass(frozen=True)
class NoValues(Mismatch):
    """No record has a value in what makes the levels of ``attribute``."""

    attribute: str
    kind = "empty"
    text = "attribute '{0.attribute}' has no values at all"


@dataclass(frozen=True)
class RuleOnUnknownLevel(Mismatch):
    """The edit rule ``rule`` forbids ``level`` of ``attribute``, whose levels are ``known``."""

    rule: str
    attribute: str
    level: str
    known: tuple[str, ...]
    kind = "rule"
    names_subject = ("rule", "attribute", "level")
    text = "edit rule '{0.rule}' names the unknown level '{0.level}' of attribute '{0.attribute}'"


@dataclass(frozen=True)
class UnusedLevels(Mismatch):
    """No record has these ``levels`` that the plan declares for ``attribute``."""

    attribute: str
    levels: tuple[str, ...]
    kind = "unused"

    @property
    def sentence(self) -> str:
        """The mismatch as a sentence."""
        levels = f"{count(len(self.levels), 'level')} ({listed(self.levels)})"
        return f"attribute '{self.attribute}' has {levels} in the plan but not in the data"


@dataclass(frozen=True)
class Clash(Mismatch):
    """Entries of the plan contradict each other on this file, as ``why`` says: about the use of columns, or about the
    levels of ``attribute``."""

    why: str
    attribute: str = ""
    kind = "clash"

    @property
    def subject(self) -> tuple[str, ...]:
        """The attribute, where it is about one."""
        return (self.attribute,) if self.attribute else ()

    text = "{0.why}"
