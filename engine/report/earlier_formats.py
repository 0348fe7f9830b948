"""Board bundles of earlier formats: 1 with a file of members and one of the chair, 2 with more fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from engine.common.errors import EngineError
from engine.common.untrusted import parse, plain_json
from engine.common.wording import listed
from engine.decision.altered_groups import AlteredGroup
from engine.decision.statements import Severity
from engine.measures.verdict import Verdict
from engine.report import codec
from engine.report.extent_facts import ChangedRow
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
    """The fields that later formats have not; like all others they are held to what they declare."""

    members_rate: _Rate
    changes: tuple[_Change, ...]
    withheld: tuple[bool | None, ...]
    tells_rate: bool
    moved: tuple[float | None, ...]


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
    return codec.from_text(ChairFacts, text, CHAIR)


def as_format_2(plain: Any, where: str) -> Any:
    """Return the plain values of a members' file in format 2, a file of another format as it is.

    Coarse changes have no place in format 2: a caution says that they are left out.
    """
    if not isinstance(plain, dict) or plain.get("format") != 1:
        return plain
    told = {**plain, "format": 2}
    utility, board_map = ({**_record(told.get(name))} for name in ("utility", "map"))
    distance = {**_record(utility.get("distance"))}
    measures = [{**_record(row)} for row in told.get("measures") or ()]
    left = {
        "members_rate": told.pop("members_rate", {}),
        "changes": utility.pop("changes", []),
        "withheld": [row.pop("withheld", None) for row in measures],
        "tells_rate": board_map.pop("tells_rate", False),
        "moved": [distance.pop(name, None) for name in ("moved_low", "moved_high")],
    }
    utility |= {"figures": _figures(utility), "associations": _associations(utility), "tables": _tables(utility)}
    for name in _OLD_FIGURES:
        utility.pop(name, None)
    rate = parse(_Left, left, where).members_rate
    told |= {"utility": {**utility, "distance": distance}, "map": board_map, "measures": measures}
    if (rate.step, rate.counts) != ("exact", "exact"):
        recommendation = {**_record(told.get("recommendation"))}
        recommendation["cautions"] = [*(recommendation.get("cautions") or ()), COARSE]
        told["recommendation"] = recommendation
    return told


_OLD_FIGURES = ("shares", "means", "correlations", "coefficients", "losses")
_PLAIN: dict[str, Any] = {
    **dict.fromkeys(("group", "what", "of", "why", "note"), ""),
    **dict.fromkeys(("n", "n_after", "within", "within_after", "before", "se", "after", "se_after", "errors"), None),
    **{"weighted": False, "flagged": None},
}


def _figures(utility: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the losses that a members' file ranks, or without a ranking its rows, as figures."""
    if rows := [_record(row) for row in utility.get("losses") or ()]:
        return [_figure(row, row.get("kind"), row.get("of"), row.get("what")) for row in rows]
    figures = []
    for row in map(_record, utility.get("shares") or ()):
        kind = "percentage of two attributes" if " × " in str(row.get("table")) else "percentage of one attribute"
        figures.append(_figure(row, kind, row.get("table"), row.get("level")))
    figures += [_figure(r, "mean", r.get("column"), r.get("group")) for r in map(_record, utility.get("means") or ())]
    for row in map(_record, utility.get("coefficients") or ()):
        row = {**row, "errors": row.get("shift"), "se": row.get("se_before")}
        figures.append(_figure(row, "coefficient", row.get("analysis"), row.get("name")))
    return figures


def _figure(row: dict[str, Any], kind: Any, of: Any, what: Any) -> dict[str, Any]:
    kept = {name: value for name, value in row.items() if name in _PLAIN}
    note = "lost" if row.get("lost") else ""
    return {**_PLAIN, **kept, "kind": kind, "of": of, "what": what, "note": note, "why": row.get("lost", "")}


def _associations(utility: dict[str, Any]) -> list[dict[str, Any]]:
    pairs = ("associations", "association"), ("correlations", "correlation")
    rows = [(_record(row), kind) for name, kind in pairs for row in utility.get(name) or ()]
    return [_figure(r, kind, f"{r.get('first')} × {r.get('second')}", r.get("statistic")) for r, kind in rows]


def _tables(utility: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [_record(row) for row in utility.get("tables") or ()]
    return [{name: value for name, value in row.items() if name != "rows"} for row in rows]


_GONE = {
    "design": ("has_weight", "has_id"),
    "measures.*": ("fresh_se",),
    "exposure": (
        *(f"{name}_{when}" for name in ("ones", "twos", "cells") for when in ("before", "after")),
        *("bound", "within_bound", "share_after"),
    ),
    "utility": ("distance",),
    "map": ("spreads", "rechecked", "risk_jointly", "adds_runs"),
    "map.candidates.*": ("riskier_than_nothing", "at_most_tried", "too_few_runs"),
    "recommendation": ("rechecked_first", "takes_first", "bound"),
    "recognised": ("finding", "verdict", "tables"),
    "extent": ("told", "by_tables"),
}
"""Fields of format 2 that nothing reads, by the place of their record."""


def as_format_3(plain: Any, where: str) -> Any:
    """Return the plain values of a file of format 2 in format 3, a file of another format as it is."""
    if not isinstance(plain, dict) or plain.get("format") != 2:
        return plain
    told: dict[str, Any] = {**plain, "format": 3}
    published = _record(_record(told.get("recognised")).get("tables")).get("published")
    for place, names in _GONE.items():
        _without(told, place.split("."), names, where)
    advice = {**_record(told.get("recommendation"))}
    for name, severity in (("cautions", "caution"), ("obstacles", "obstacle")):
        advice[name] = [_recorded(text, severity) for text in advice.get(name) or ()]  # type: ignore[arg-type]
    advice["alternatives"] = [_considered(_record(row)) for row in advice.get("alternatives") or ()]
    told["recommendation"] = advice
    approved = {**_record(told.get("approved"))}
    parse(_Changes, {"plan_changes": approved.pop("plan_changes", None)}, where)
    told["approved"] = approved | {"log": [_event(row) for row in approved.pop("changes", ())]}
    if told.get("recognised"):
        told["recognised"] |= {"published": published}
    return told


@dataclass(frozen=True)
class _Changes:
    plan_changes: tuple[tuple[str, str], ...] | None


def _recorded(text: Any, severity: Severity = "note") -> dict[str, Any]:
    return {"kind": "recorded", "values": {"text": text}, "severity": severity}


def _event(row: Any) -> Any:
    return {"at": row[0], "what": [_recorded(row[1])]} if isinstance(row, list) and len(row) == 2 else row


def _considered(row: dict[str, Any]) -> dict[str, Any]:
    why = row.get("why") or row.get("difference")
    values: dict[str, Any] = {"letter": row.get("letter"), "why": why, "risk": "", "utility": "", "noise": []}
    return {"kind": "considered", "values": values, "severity": "note"}


def _without(record: dict[str, Any], place: list[str], names: tuple[str, ...], where: str) -> None:
    """Leave fields out of the records at a place, which are copied; one that holds what it never held is refused."""
    name, *inner = place
    value = record.get(name)
    if isinstance(value, list) and inner[:1] == ["*"]:
        record[name] = [_left(row, names, where) for row in value]
    elif isinstance(value, dict) and not inner:
        record[name] = _left(value, names, where)
    elif isinstance(value, dict):
        record[name] = {**value}
        _without(record[name], inner, names, where)


_PARTS = {
    "hellinger", "hellinger_large", "fewest", "small_cells", "moved", "title", "least", "mean", "most", "released",
    "of_utility", "published", "attributes", "extent", "records", "of", "certain", "kind", "severity", "n", "named",
    "right", "guessed", "why", "outright", "altered", "by",
}  # fmt: skip
"""Names of the parts of these fields."""


def _left(row: Any, names: tuple[str, ...], where: str) -> Any:
    if not isinstance(row, dict):
        return row
    for name in names:
        _check_parts(row.get(name), name, where)
    return {name: value for name, value in row.items() if name not in names}


def _check_parts(value: Any, name: str, where: str) -> None:
    if isinstance(value, dict) and (unknown := value.keys() - _PARTS):
        raise EngineError(f"{where} cannot be read: '{name}' holds unknown fields ({listed(sorted(unknown))})")
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_parts(part, name, where)


def read_plain(text: str, where: str) -> Any:
    """Return the plain values of a board's file in the format of today, whichever wrote it."""
    plain = as_format_3(as_format_2(plain_json(text, where), where), where)
    for check in plain.get("checks") or () if isinstance(plain, dict) else ():
        if isinstance(check, dict) and isinstance(check.get("found"), str):  # words, before they were statements
            check["found"] = _recorded(check["found"], "fact")
    return plain


def _record(value: Any) -> dict[str, Any]:
    """Return a plain record; what is none is refused where its place is read."""
    return value if isinstance(value, dict) else {"": value}
