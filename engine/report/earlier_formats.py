"""Board bundles of earlier formats: 1 with a file of members and one of the chair, 2 and 3 with more fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Literal

from engine.common.errors import EngineError
from engine.common.untrusted import parse, plain_json
from engine.common.wording import listed
from engine.decision.gate import AlteredGroup
from engine.measures.verdict import Verdict
from engine.report.extent_facts import ChangedRow
from engine.report.facts import Figure
from engine.report.unit_counts import UnitsChanged

CHAIR = "chair.json"
"""The file of a chair's bundle."""
COARSE = (
    "An earlier version made this bundle and told some figures coarsely or not at all: these are left out here and "
    "stand in the documents of the bundle."
)


@dataclass(frozen=True)
class _Range:
    low: float
    high: float | None
    about: bool = False


@dataclass(frozen=True)
class _Change:
    kind: Literal["percentage", "mean", "correlation", "association", "coefficient", "cell"]
    table: str
    level: str
    weighted: bool
    n: int | None
    before: float | None
    relative: _Range | None
    errors: _Range | None
    flagged: bool


@dataclass(frozen=True)
class _Rate:
    policy: Literal["", "withheld", "told"] = ""
    asked: str = ""
    share: float | None = None
    step: str = "exact"
    counts: str = "exact"
    attacked: bool = False


@dataclass(frozen=True)
class _Left:
    """Fields that format 4 has not, held to the types that they had."""

    members_rate: _Rate = _Rate()
    changes: tuple[_Change, ...] = ()
    plan_changes: tuple[tuple[str, str], ...] = ()
    withheld: bool = False
    tells_rate: bool = False
    state_words: str = ""
    combinations: int = 0
    cells: int = 0
    ones: int = 0
    twos: int = 0
    platform: tuple[tuple[str, str], ...] = ()
    stream_version: int = 1


_TYPED = {field.name for field in fields(_Left)}


@dataclass(frozen=True)
class ChairFacts:
    """The file of a chair's bundle: the extent of the change."""

    letter: str
    n_records: int
    mechanism: str
    amount: str
    asked: str
    reached: float
    records: int
    share: float
    tables: int
    per_table: float
    attributes: tuple[ChangedRow, ...]
    groups: tuple[AlteredGroup, ...] = ()
    caution: str = ""
    units: UnitsChanged | None = None
    told: str = ""
    asked_amount: str = ""
    by_tables: str = ""
    verdict: Verdict | None = None


def read_chair(text: str) -> ChairFacts:
    """Return the content of a chair's file; what it does not declare is refused by its place."""
    return parse(ChairFacts, plain_json(text, CHAIR), CHAIR)


_GONE = {
    "": ("members_rate",),
    "design": ("has_weight", "has_id"),
    "approved": ("plan_changes",),
    "measures": ("fresh_se", "withheld"),
    "exposure": (
        *(f"{name}_{when}" for name in ("ones", "twos", "cells") for when in ("before", "after")),
        *("bound", "within_bound", "share_after"),
    ),
    "utility": ("distance", "changes"),
    "map": ("spreads", "rechecked", "risk_jointly", "adds_runs", "tells_rate"),
    "map.candidates": ("riskier_than_nothing", "at_most_tried", "too_few_runs"),
    "recommendation": ("rechecked_first", "takes_first", "bound"),
    "recognised": ("finding", "verdict", "tables"),
    "extent": ("told", "by_tables"),
}
"""Fields of formats 1 and 2 that nothing reads, by the place of their record."""
_GONE_SINCE_3 = {
    "cover": ("state_words",),
    "threat": ("combinations", "cells", "ones", "twos"),
    "certificate": ("platform", "stream_version"),
}
"""The same of formats 1 to 3."""
_TEXTS = {"bound", "by", "by_tables", "told", "kind", "title", "severity", "of", "why", "published"}
_NUMBERS = {"moved_low", "moved_high"}
_PARTS = _TEXTS | _NUMBERS | {
    "hellinger", "hellinger_large", "fewest", "small_cells", "moved", "least", "mean", "most", "released", "of_utility",
    "attributes", "extent", "records", "certain", "n", "named", "right", "guessed", "outright", "altered",
}  # fmt: skip
"""Names of the parts of the other fields, those of texts and those of one number."""


def read_plain(text: str, where: str) -> Any:
    """Return the plain values of a board's file in the format of today, whichever wrote it."""
    plain = plain_json(text, where)
    if isinstance(plain, dict) and plain.get("format") in (1, 2, 3):
        plain = _as_format_4(plain, where)
    for check in plain.get("checks") or () if isinstance(plain, dict) else ():
        if isinstance(check, dict) and isinstance(check.get("found"), str):  # words, before they were statements
            check["found"] = _recorded(check["found"], "fact")
    return plain


def _as_format_4(plain: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the plain values of a file of format 1 to 3 in format 4.

    Coarse changes have no place there: a caution says that they are left out.
    """
    number, rate = plain["format"], _record(plain.get("members_rate"))
    tables = _record(plain.get("recognised")).get("tables")
    if number == 1:
        plain["utility"] = _with_figures(_record(plain.get("utility")))
    for place, names in (_GONE_SINCE_3 | (_GONE if number < 3 else {})).items():
        for record in _records(plain, place.split(".") if place else []):
            for name in names:
                value = record.pop(name, None)
                if name in _TYPED:
                    parse(_Left, {} if value is None else {name: value}, where)
                else:
                    _check_parts(value, name, where)
    if number == 3:
        return plain | {"format": 4}
    advice, approved = (_record(plain.get(name)) for name in ("recommendation", "approved"))
    if (rate.get("step", "exact"), rate.get("counts", "exact")) != ("exact", "exact"):
        advice["cautions"] = [*(advice.get("cautions") or ()), COARSE]
    for name in ("cautions", "obstacles"):
        advice[name] = [_recorded(text, name.removesuffix("s")) for text in advice.get(name) or ()]
    advice["alternatives"] = [_considered(_record(row)) for row in advice.get("alternatives") or ()]
    approved["log"] = [
        {"at": row[0], "what": [_recorded(row[1])]} if isinstance(row, list) and len(row) == 2 else row
        for row in approved.pop("changes", ())
    ]
    if plain.get("recognised"):
        plain["recognised"] |= {"published": _record(tables).get("published")}
    return plain | {"format": 4, "recommendation": advice, "approved": approved}


def _with_figures(utility: dict[str, Any]) -> dict[str, Any]:
    """Return what a members' file tells of losses: those that it ranks, or without a ranking its rows, as figures."""
    names = ("losses", "shares", "means", "coefficients", "correlations", "associations", "tables")
    rows = {name: [_record(row) for row in utility.pop(name, None) or ()] for name in names}
    figures = [_figure(row, row.get("kind"), "of", "what") for row in rows["losses"]]
    if not figures:
        for row in rows["shares"]:
            kind = "percentage of two attributes" if " × " in str(row.get("table")) else "percentage of one attribute"
            figures.append(_figure(row, kind, "table", "level"))
        figures += [_figure(row, "mean", "column", "group") for row in rows["means"]]
        for row in rows["coefficients"]:
            row |= {"errors": row.get("shift"), "se": row.get("se_before")}
            figures.append(_figure(row, "coefficient", "analysis", "name"))
    pairs = [(row, name[:-1]) for name in ("associations", "correlations") for row in rows[name]]
    associations = [
        _figure({**row, "of": f"{row.get('first')} × {row.get('second')}"}, kind, "of", "statistic")
        for row, kind in pairs
    ]
    tables = [{name: value for name, value in row.items() if name != "rows"} for row in rows["tables"]]
    return utility | {"figures": figures, "associations": associations, "tables": tables}


def _figure(row: dict[str, Any], kind: Any, of: str, what: str) -> dict[str, Any]:
    told = {"kind": kind, "of": row.get(of), "what": row.get(what), "note": "lost" if row.get("lost") else ""}
    told |= {"group": row.get("group", ""), "weighted": row.get("weighted", False), "why": row.get("lost", "")}
    return {field.name: row.get(field.name) for field in fields(Figure)} | told


def _recorded(text: Any, severity: str = "note") -> dict[str, Any]:
    return {"kind": "recorded", "values": {"text": text}, "severity": severity}


def _considered(row: dict[str, Any]) -> dict[str, Any]:
    why = row.get("why") or row.get("difference")
    values: dict[str, Any] = {"letter": row.get("letter"), "why": why, "risk": "", "utility": "", "noise": []}
    return {"kind": "considered", "values": values, "severity": "note"}


def _records(value: Any, place: list[str]) -> Iterator[dict[str, Any]]:
    """The records at a place, one or a list of them."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            yield from _records(each.get(place[0]), place[1:]) if place else [each]


def _check_parts(value: Any, name: str, where: str) -> None:
    """Refuse parts of a field that it never had, and a text where it had none."""
    if name in _NUMBERS and not isinstance(value, int | float | None):
        raise EngineError(f"{where} cannot be read: '{name}' holds no number")
    if isinstance(value, list):
        for part in value:
            _check_parts(part, name, where)
    elif isinstance(value, dict):
        if unknown := value.keys() - _PARTS:
            raise EngineError(f"{where} cannot be read: '{name}' holds unknown fields ({listed(sorted(unknown))})")
        for part, inner in value.items():
            _check_parts(inner, part, where)
    elif isinstance(value, str) and name not in _TEXTS:
        raise EngineError(f"{where} cannot be read: '{name}' holds a text")


def _record(value: Any) -> dict[str, Any]:
    """Return a plain record; what is none is refused where its place is read."""
    return value if isinstance(value, dict) else {"": value}
