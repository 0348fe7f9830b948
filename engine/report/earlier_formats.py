"""Board bundles of format 2, which has more fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.common.errors import EngineError
from engine.common.untrusted import parse, plain_json
from engine.common.wording import listed
from engine.decision.statements import Severity

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
    plain = as_format_3(plain_json(text, where), where)
    for check in plain.get("checks") or () if isinstance(plain, dict) else ():
        if isinstance(check, dict) and isinstance(check.get("found"), str):  # words, before they were statements
            check["found"] = _recorded(check["found"], "fact")
    return plain


def _record(value: Any) -> dict[str, Any]:
    """Return a plain record; what is none is refused where its place is read."""
    return value if isinstance(value, dict) else {"": value}
