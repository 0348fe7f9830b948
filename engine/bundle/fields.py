"""Check field by field the secrets that are too short for a search of bytes: rate, spec, candidates, replicates."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.bundle.contents import members
from engine.bundle.refusal import Refused
from engine.bundle.unpack import prose
from engine.common.os_support import arrow_file
from engine.decision.disclosure_text import (
    EXPOSED,
    EXTENT,
    exposed_shares,
    names_candidate,
    says_extent,
    says_rate,
    says_share,
)

if TYPE_CHECKING:
    from engine.bundle.package import Package

_OPEN = re.compile(
    r"cover\..*|design\.(design|geography)|threat\.(intruder|harm|public_files\..*)|approved\.(departures|changes)\..*"
    r"|recommendation\.(why|alternatives\..*)|publish\..*|checks\.\d+\.name"
    r"|utility\.(tables\.\d+\.name|coefficients\.\d+\.analysis)"
)
"""Fields of the board's file in which people write: a rate may have slipped in there."""


def check_fields(folder: Path, tier: str, made: Package) -> None:
    """Refuse fields that a tier's reader must not see; ``made`` says what they would be."""
    if tier == "public":
        _public(folder, made)
    elif tier == "member":
        _member(folder, made)
    elif tier == "chair":
        _no_ids(folder, tier, made)


def _refuse(tier: str, where: str, what: str) -> None:
    raise Refused(f"the {tier} bundle was refused: '{where}' holds {what}; nothing was written", f"{tier}: {what}")


def _public(folder: Path, made: Package) -> None:
    from pyarrow import parquet

    wanted = list(made.columns)
    for path in sorted(folder.iterdir()):
        if path.suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                got = next(csv.reader(file))
        elif path.suffix == ".parquet":
            schema = parquet.read_schema(arrow_file(path))
            got = schema.names
            if schema.metadata or any(field.metadata for field in schema):
                _refuse("public", path.name, "a description beside its columns")
        else:
            continue
        if got != wanted:
            strange = next((name for name in got if name not in wanted), "an order of its own")
            _refuse("public", path.name, f"a column that is not released ({strange})")
    from engine.bundle.public import METHODS, methods_of

    text = (folder / METHODS).read_text(encoding="utf-8")
    if text != methods_of(made) + "\n":
        _refuse("public", METHODS, "other words than those on the methods")
    own = [made.study.plan.publish.title, made.study.plan.publish.wording, made.study.plan.publish.rate_range]
    for words in own:
        _free_text("public", METHODS, words, made)


def _member(folder: Path, made: Package) -> None:
    _no_ids(folder, "member", made)
    board = json.loads((folder / "board.json").read_text(encoding="utf-8"))
    for where, value in _leaves(board):
        if isinstance(value, str) and _OPEN.fullmatch(where):
            _free_text("member", f"board.json: {where}", value, made)
    reached = made.made.changed.mean()
    if len(str(float(reached)).rstrip("0")) >= 8:  # as a short decimal it could be any other figure
        for where, value in _leaves(board):
            if isinstance(value, float) and value == reached:
                _refuse("member", f"board.json: {where}", "the share of records changed")


def _leaves(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, f"{where}.{name}" if where else name)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{where}.{place}")
    else:
        yield where, value


def _no_ids(folder: Path, tier: str, made: Package) -> None:
    """No candidate's own id, no spec: readers of these tiers know letters."""
    for where, text in prose(folder, members(folder)):
        found = names_candidate(made.study, text)
        if found:
            _refuse(tier, where, found)


def _free_text(tier: str, where: str, text: str, made: Package) -> None:
    found = names_candidate(made.study, text) or ("the rate" if says_rate(text, made.scenario.spec.rate) else "")
    if not found and says_extent(text, int(made.made.changed.sum()), made.data.n_records):
        found = EXTENT
    if not found and any(says_share(text, share) for share in _exposed(made)):
        found = EXPOSED
    if found:
        _refuse(tier, where, found)


def _exposed(made: Package) -> list[float]:
    """Eq. 6 of the release as a share: of the run itself, and of its candidate as it was recorded."""
    calls = [str(call) for call in made.study.measures if call.measure.of_unaltered]
    return [made.made.figures[name] for name in calls] + exposed_shares(made.study, made.scenario)
