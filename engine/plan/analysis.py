"""A declared analysis: a regression that users are expected to run, repeated on every release."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Literal

from engine.common.errors import UsageError, did_you_mean
from engine.plan.decimals import decimal_text
from engine.plan.field_types import Name, check_types, set_fields, typed


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

    name: str
    formula: str
    family: str = "linear"
    by: tuple[str, ...] = ()
    weighted: bool = False
    tau: str = ""

    def __post_init__(self) -> None:
        typed(self.name.strip() if isinstance(self.name, str) else self.name, Name, "an analysis's name")
        who = f"analysis '{self.name}'"
        if self.name == ALL or re.search(r"[\[\];,=]", self.name) or self.name != self.name.strip():
            raise UsageError(
                f"{who} needs another name: not '{ALL}', no space at its ends and none of the signs [ ] ; , ="
            )
        check_types(self, "tau", where=f"{who}: ")
        if not all(side.strip() for side in self.sides) or len(self.sides) != 2:
            raise UsageError(f'{who}: formula is {self.formula!r}, must be written as "outcome ~ first + second"')
        self._check_size(who)
        if self.family not in FAMILIES:
            raise UsageError(
                f"{who}: family is {self.family!r}, must be one of {', '.join(FAMILIES)}."
                + did_you_mean(self.family, FAMILIES)
            )
        if self.weighted and not self.model.weighted:
            able = ", ".join(family.name for family in FAMILIES.values() if family.weighted)
            raise UsageError(
                f"{who}: the family '{self.family}' takes no weights here; leave weighted out, or use one of {able}"
            )
        self._check_tau(who)

    def _check_tau(self, who: str) -> None:
        if self.family != QUANTILE:
            if self.tau != "":
                raise UsageError(f'{who}: tau is the quantile of family = "{QUANTILE}"; leave it out of {self.family}')
            return
        tau = decimal_text(self.tau if self.tau != "" else MEDIAN, f"{who}: tau")
        if not 0 < Decimal(tau) < 1:
            raise UsageError(f"{who}: tau == {tau}, must be above 0 and below 1; 0.5 is the median")
        set_fields(self, tau=tau)

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
