"""A declared analysis: a regression that users are expected to run, repeated on every release."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from engine.common.errors import UsageError, did_you_mean
from engine.plan.attribute import names_tuple, set_fields

FAMILIES = ("linear", "logistic", "poisson")
FUNCTIONS = ("log", "log10", "exp", "sqrt", "abs", "center", "standardize")
"""Functions of numbers that a formula may call."""
CODINGS = ("C", "Q", "I", "Treatment", "Sum")
"""Formula words: C(name, Treatment("level")), Q("odd name"), I(expression)."""
MOST_CHARACTERS, MOST_SIGNS, MOST_BRACKETS = 20_000, 200, 20
"""Of a formula."""
ALL = "all"
"""What a measure's parameter says for every declared analysis; no analysis may be called so."""

_WORD = re.compile(
    r"""\bQ\(\s*(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)")\s*\)"""  # Q("odd name")
    r"""|'[^']*'|"[^"]*"|\d[\w.]*"""  # texts and numbers
    r"""|(?P<name>[^\W\d]\w*)(?P<not_column>\s*\(|\s*=(?!=)|\s*\.(?=[^\W\d]))?"""  # np. , log( , reference=
)


@dataclass(frozen=True)
class AnalysisPlan:
    """One regression: a ``formula`` as R and statsmodels write it, and its ``family``.

    ``by`` fits it separately in every stratum of those attributes; ``weighted`` uses the plan's weight.  Attributes
    enter as categories with their first level as the reference, other columns as numbers, and the numbers behind a cut
    attribute as NAME_raw.
    """

    name: str
    formula: str
    family: str = "linear"
    by: tuple[str, ...] = ()
    weighted: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise UsageError(f"an analysis has the name {self.name!r}, must be a text that is not empty")
        me = f"analysis '{self.name}'"
        if self.name == ALL or re.search(r"[\[\];,=]", self.name) or self.name != self.name.strip():
            raise UsageError(
                f"{me} needs another name: not '{ALL}', no space at its ends and none of the signs [ ] ; , ="
            )
        if not isinstance(self.formula, str) or not all(side.strip() for side in self.sides) or len(self.sides) != 2:
            raise UsageError(f'{me}: formula is {self.formula!r}, must be written as "outcome ~ first + second"')
        self._check_size(me)
        if self.family not in FAMILIES:
            raise UsageError(
                f"{me}: family is {self.family!r}, must be one of {', '.join(FAMILIES)}."
                + (did_you_mean(self.family, FAMILIES) if isinstance(self.family, str) else "")
            )
        if not isinstance(self.weighted, bool):
            raise UsageError(f"{me}: weighted is {self.weighted!r}, must be true or false")
        set_fields(self, by=names_tuple(self.by, f"{me}: by"))

    def _check_size(self, me: str) -> None:
        """A parser's memory ends somewhere, and with thousands of terms no regression is meant."""
        bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", self.formula)
        signs, depth, deepest = len(re.findall(r"[-+*/:^~<>=,(\[{|&%@!]", bare)), 0, 0
        for bracket in re.findall(r"[()\[\]{}]", bare):
            depth += 1 if bracket in "([{" else -1
            deepest = max(deepest, depth)
        if len(self.formula) > MOST_CHARACTERS or signs > MOST_SIGNS or deepest > MOST_BRACKETS:
            raise UsageError(
                f"{me}: the formula has {len(self.formula):,} characters, {signs:,} operators and brackets, and up to "
                f"{deepest:,} within each other; at most {MOST_CHARACTERS:,}, {MOST_SIGNS} and {MOST_BRACKETS} are read"
            )

    @property
    def sides(self) -> tuple[str, ...]:
        """Outcome and predictors, split at the tilde."""
        if not isinstance(self.formula, str):
            return ()
        quiet = re.sub(r"'[^']*'|\"[^\"]*\"", lambda text: "x" * len(text[0]), self.formula)
        cuts = [-1, *(i for i, sign in enumerate(quiet) if sign == "~"), len(quiet)]
        return tuple(self.formula[a + 1 : b].strip() for a, b in pairwise(cuts))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of columns and attributes in the formula, in their order."""
        return tuple(dict.fromkeys(name for side in self.sides for name in words(side)))


def words(text: str) -> tuple[str, ...]:
    """Names that part of a formula uses as columns: no functions, keywords of calls or quoted levels."""
    found = []
    for word in _WORD.finditer(text):
        quoted = word["single"] if word["single"] is not None else word["double"]
        if quoted is not None:
            found.append(quoted)
        elif word["name"] and not word["not_column"] and word["name"] not in ("True", "False"):
            found.append(word["name"])
    return tuple(dict.fromkeys(found))
