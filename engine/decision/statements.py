"""A finding as a value: its declared kinds, and one catalogue of words for all readers.

Code that decides reads :attr:`Statement.kind` and its values.  Documents, pages, the decision log and the command line
print :func:`words`, so that they cannot differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from engine.common.errors import EngineError
from engine.common.wording import listed, lower_first, plural, printable, upper_first

if TYPE_CHECKING:
    from jinja2.environment import TemplateModule

Severity = Literal["fact", "note", "caution", "obstacle"]
Value = str | int | float | bool | None | tuple[str, ...]

CATALOGUE = Path(__file__).with_name("catalogue.jinja")
"""One macro for each kind, with its values as parameters."""


@dataclass(frozen=True)
class Statement:
    """One finding: one of :data:`KINDS`, the values that its kind declares, and its weight."""

    kind: str
    values: Mapping[str, Value]
    severity: Severity = "fact"

    def stored(self) -> dict[str, Any]:
        """Return kind and values for a study or a log; the severity is the kind's."""
        return {"kind": self.kind, "values": dict(self.values)}


class Kind(NamedTuple):
    """A declared kind of statement: names of its values, its severity, and the group that it belongs to."""

    values: tuple[str, ...]
    severity: Severity
    group: str


def _kinds(group: str, severity: Severity, **values: str) -> dict[str, Kind]:
    return {name: Kind(tuple(names.split()), severity, group) for name, names in values.items()}


KINDS: dict[str, Kind] = {
    **_kinds(
        "gate",
        "obstacle",
        changes_nothing="",
        no_figure="of measure",
        over_limit="of measure value limit share_of",
        not_safer="of measure value original share_of",
        too_few_runs="fresh runs needed",
        rarely_within="fresh within runs low high asked",
        share_unsettled="within runs low high asked",
        not_attacked="why",
    ),
    **_kinds(
        "gate",
        "caution",
        limit_set_late="origin",
        limit_met_unaltered="measure original limit share_of",
        off_plan="",
        beaten_by_original="candidate original utility_only",
        partial_run="changed",
        near_limit="measure value limit share_of runs noise_known",
        not_rechecked="",
        sweep_unfinished="state done total",
        uneven_group="group times",
    ),
    **_kinds("choice", "note", tie_broken="n measure value instead share_of"),
    **_kinds(
        "sure",
        "fact",
        run_place="place of as_safe",
        runs_within="fresh within runs low high",
    ),
    **_kinds("log", "note", recorded="text"),
}
"""All kinds of statements; ``recorded`` is a text of a study that stored words instead of values."""


def statement(kind: str, /, **values: Value) -> Statement:
    """Return a statement of a declared kind.

    Raises:
        ValueError: the kind is unknown, or the values are not exactly those that it declares.
    """
    declared = KINDS.get(kind)
    if declared is None:
        raise ValueError(f"statement of the kind '{kind}', must be one of {', '.join(KINDS)}")
    if set(values) != set(declared.values):
        raise ValueError(
            f"statement '{kind}' with {', '.join(sorted(values)) or 'no values'}, needs {', '.join(declared.values)}"
        )
    return Statement(kind, values, declared.severity)


def from_stored(stored: object, severity: Severity | None = None) -> Statement:
    """Return a stored statement; a stored text becomes a ``recorded`` one of the given severity.

    Raises:
        EngineError: the kind is not known, or the values do not fit it.
    """
    if isinstance(stored, str):
        found = statement("recorded", text=stored)
        return found if severity is None else replace(found, severity=severity)
    if not isinstance(stored, Mapping) or not isinstance(stored.get("values"), Mapping):
        raise EngineError("a stored statement is neither a text nor a kind with values; the file was changed")
    values = {str(name): tuple(v) if isinstance(v, list) else v for name, v in stored["values"].items()}
    try:
        return statement(str(stored.get("kind")), **values)
    except ValueError as error:
        raise EngineError(f"a stored statement cannot be read ({error}); a newer version may have written it") from None


def of_severity(statements: Iterable[Statement], severity: Severity) -> list[Statement]:
    """Return the statements of one severity."""
    assert severity in get_args(Severity)
    return [found for found in statements if found.severity == severity]


def words(found: Statement) -> str:
    """Return a statement in words, as every reader sees it."""
    macro = getattr(_catalogue(), found.kind)
    return str(macro(**found.values)).strip()


@cache
def _catalogue() -> TemplateModule | ModuleType:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(CATALOGUE.parent),
        undefined=StrictUndefined,
        autoescape=False,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "of": of,
        "count": count,
        "pct": percent,
        "number": number,
        "figure": figure,
        "listed": listed,
        "plural": plural,
        "lower_first": lower_first,
        "upper_first": upper_first,
    }
    return environment.get_template(CATALOGUE.name).module


def _shown(value: Any) -> Any:
    """Write texts printable and whole numbers with separators; other values need a filter."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, bool | float | tuple) or value is None:
        raise TypeError(f"{value!r} in the catalogue needs a filter such as 'figure'")
    return value  # undefined names raise when they are written


def number(value: float, other: float | None = None, digits: int = 3) -> str:
    """Return a number with three significant digits, whole ones with all theirs.

    Beside an ``other`` number that differs it has as many more digits as show the difference.
    """
    for n in (digits, 5, 9, 17):
        text = _rounded(value, n)
        if other is None or other == value or text != _rounded(other, n):
            break
    return text


def _rounded(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    if float(value).is_integer() and abs(value) < 1e15:
        decimals = 0
    else:
        decimals = min(17, max(0, digits - 1 - math.floor(math.log10(abs(value)))))
    text = f"{value:,.{decimals}f}".replace("-", "−")
    return text.rstrip("0").rstrip(".") if decimals else text


def figure(value: float, share_of: str = "", other: float | None = None) -> str:
    """Return a measure's figure: a share in per cent of its denominator, any other as a number."""
    if not share_of:
        return number(value, other)
    return f"{number(100 * value, None if other is None else 100 * other)} % of {share_of}"


def percent(share: float | Fraction, other: float | None = None) -> str:
    """Return a share in per cent, such as ``90 %``."""
    return f"{number(100 * float(share), None if other is None else 100 * other)} %"


def count(value: float) -> str:
    """Return a number of things, ``no`` for none."""
    return f"{value:,.0f}" if value else "no"


def of(part: float, whole: float, noun: str = "") -> str:
    """Return a part with its denominator and its share: ``274 of 20,000 records (1.4 %)``."""
    share = f" ({number(100 * part / whole, digits=2)} %)" if whole else ""
    return f"{part:,.0f} of {whole:,.0f}{' ' if noun else ''}{noun}{share}"
