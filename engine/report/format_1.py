"""Board bundles of format 1: the file of members, of coarse or withheld figures, and the file of the chair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from engine.common.parsing import parse
from engine.common.untrusted import plain_json
from engine.decision.altered_groups import AlteredGroup
from engine.measures.verdict import Verdict
from engine.report import codec
from engine.report.extent_facts import ChangedRow
from engine.report.unit_counts import UnitsChanged

FORMAT = 1
CHAIR = "chair.json"
"""The file of a chair's bundle."""
FOLDERS = ("member", "chair")
"""Folders of such bundles, which are the names of their readers in a decision log."""
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
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        return plain
    told = {**plain, "format": FORMAT + 1}
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
    rate = parse(_Left, left, where).members_rate
    told |= {"utility": {**utility, "distance": distance}, "map": board_map, "measures": measures}
    if (rate.step, rate.counts) != ("exact", "exact"):
        recommendation = {**_record(told.get("recommendation"))}
        recommendation["cautions"] = [*(recommendation.get("cautions") or ()), COARSE]
        told["recommendation"] = recommendation
    return told


def read_plain(text: str, where: str) -> Any:
    """Return the plain values of a board's file in the format of today, whichever wrote it."""
    return as_format_2(plain_json(text, where), where)


def _record(value: Any) -> dict[str, Any]:
    """Return a plain record; what is none is refused where its place is read."""
    return value if isinstance(value, dict) else {"": value}
