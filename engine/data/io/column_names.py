"""Column names as SPSS and Stata files take them, and the list of renamed columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class _Rule:
    """Bytes of a name, what its signs are, words it must not be, and whether capitals are told apart."""

    most_bytes: int
    first: str
    others: str
    reserved: frozenset[str]
    cased: bool


Form = Literal["sav", "dta"]
"""Formats of SPSS and Stata files."""
_STATA_WORDS = (
    "_all _b byte _coef _cons double float if in int long _n _N _pi _pred _rc _skip strL using with "
    + " ".join(f"str{i}" for i in range(1, 2046))
).split()
_RULES: dict[str, _Rule] = {
    "sav": _Rule(
        64,
        r"[^\W\d_]|@",
        r"[\w.@#$]",
        frozenset(("ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH")),
        cased=False,
    ),
    "dta": _Rule(32, r"[A-Za-z_]", r"[A-Za-z0-9_]", frozenset(_STATA_WORDS), cased=True),
}


def short_names(names: Sequence[str], form: Form) -> dict[str, str]:
    """The name of each column in a file of the form "sav" or "dta": its own where the format takes it.

    A name that is too long, holds other signs or differs from an earlier one only in capitals is made anew: foreign
    signs become ``_``, and a number at the end keeps it apart.  The same names always give the same answer.
    """
    rule = _RULES[form]

    def folded(name: str) -> str:
        return name if rule.cased else name.upper()

    fits = re.compile(f"(?:{rule.first}){rule.others}*")
    short: dict[str, str] = {}
    used: set[str] = set()
    for name in names:
        good = fits.fullmatch(name) and not name.endswith(".") and folded(name) not in rule.reserved
        if good and len(name.encode()) <= rule.most_bytes and folded(name) not in used:
            short[name] = name
            used.add(folded(name))
    for name in names:
        if name not in short:
            short[name] = _shortened(name, rule, used, folded(name) in rule.reserved)
            used.add(folded(short[name]))
    return {name: short[name] for name in names}


def _shortened(name: str, rule: _Rule, used: set[str], reserved: bool) -> str:
    text = "".join(sign if re.fullmatch(rule.others, sign) else "_" for sign in name).rstrip(".") or "_"
    if not re.fullmatch(rule.first, text[0]):
        text = "v" + text
    number = 2 if reserved else 0
    while True:
        end = str(number) if number else ""
        short = _cut(text, rule.most_bytes - len(end)) + end
        if (short if rule.cased else short.upper()) not in used:
            return short
        number = max(2, number + 1)


def _cut(text: str, limit: int) -> str:
    return text.encode()[:limit].decode(errors="ignore")
