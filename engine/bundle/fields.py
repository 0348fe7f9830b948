"""Check field by field the secrets that are too short for a search of bytes: ids of candidates, rate, spec."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from engine.bundle.contents import files_below
from engine.bundle.export_source import ExportSource
from engine.bundle.public import METHODS, methods_of
from engine.bundle.refusal import Refused
from engine.bundle.streamed_source import StreamedSource
from engine.bundle.tiers import Tier
from engine.bundle.unpack import prose
from engine.common.os_support import arrow_file
from engine.data.io.writers import LABELS, labels_json
from engine.decision.disclosure_text import (
    EXPOSED,
    EXTENT,
    exposed_shares,
    label_in,
    names_candidate,
    says_extent,
    says_rate,
    says_share,
)
from engine.mechanisms import amount
from engine.report.circulating import CIRCULATING

_FREE_TEXTS = re.compile(
    r"cover\..*|design\.(design|geography)|threat\.(intruder|harm|public_files\..*)|recommendation\.why|publish\..*"
    r"|checks\.\d+\.name|utility\.coefficients\.\d+\.analysis"
)
"""Fields of a circulating copy with texts that people write, in which a rate may stand by mistake."""


def check_fields(folder: Path, tier: Tier, source: ExportSource | StreamedSource) -> None:
    """Refuse (:class:`Refused`) fields of a bundle of ``source`` that a tier's reader must not see."""
    if tier is Tier.ANALYST:  # sees every field
        return
    assert isinstance(source, ExportSource), "of streamed records the analyst's bundle alone is made"
    match tier:
        case Tier.PUBLIC:
            _check_public(folder, source)
        case Tier.BOARD:
            _check_ids(folder, tier, source)
        case Tier.CIRCULATING:
            _check_ids(folder, tier, source)
            _check_copy(folder, source)


def _refuse(tier: Tier, where: str, what: str) -> NoReturn:
    raise Refused(f"the {tier} bundle was refused: '{where}' holds {what}; nothing was written", f"{tier}: {what}")


def _check_public(folder: Path, source: ExportSource) -> None:
    from pyarrow import parquet

    released = list(source.columns)
    for path in sorted(folder.iterdir()):
        if path.suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                columns = next(csv.reader(file))
        elif path.suffix == ".parquet":
            schema = parquet.read_schema(arrow_file(path))
            columns = schema.names
        else:
            continue
        if columns != released:
            unknown = next((name for name in columns if name not in released), "an order of its own")
            _refuse(Tier.PUBLIC, path.name, f"a column that is not released ({unknown})")
        if path.suffix == ".parquet":
            labels = {LABELS.encode(): text.encode()} if (text := labels_json(released, source.labels)) else {}
            if (schema.metadata or {}) != labels or any(field.metadata for field in schema):
                _refuse(Tier.PUBLIC, path.name, "a description beside its columns")
    text = (folder / METHODS).read_text(encoding="utf-8")
    if text != methods_of(source) + "\n":
        _refuse(Tier.PUBLIC, METHODS, "other words than those on the methods")
    publish = source.study.plan.publish
    for text in (publish.title, publish.wording, publish.rate_range):
        _check_text(Tier.PUBLIC, METHODS, text, source)


def _check_copy(folder: Path, source: ExportSource) -> None:
    """Refuse a circulating copy with a text by hand that tells the rate, or with the share of records changed."""
    copy = json.loads((folder / CIRCULATING).read_text(encoding="utf-8"))
    share_changed = float(source.remade.changed.mean())
    is_long = len(str(share_changed).rstrip("0")) >= 8  # as a short decimal it could be any other figure
    for where, value in _leaves(copy):
        if isinstance(value, str) and _FREE_TEXTS.fullmatch(where):
            _check_text(Tier.CIRCULATING, f"{CIRCULATING}: {where}", value, source)
        if is_long and isinstance(value, float) and value == share_changed:
            _refuse(Tier.CIRCULATING, f"{CIRCULATING}: {where}", EXTENT)


def _leaves(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, f"{where}.{name}" if where else name)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{where}.{index}")
    else:
        yield where, value


def _check_ids(folder: Path, tier: Tier, source: ExportSource) -> None:
    """Refuse a candidate's id: readers of board papers know letters."""
    for where, text in prose(folder, files_below(folder)):
        if label_in(source.study, text):
            _refuse(tier, where, "the id of a candidate")


def _check_text(tier: Tier, where: str, text: str, source: ExportSource) -> None:
    """Refuse words that name a candidate, the rate, or what gives it."""
    if disclosed := names_candidate(source.study, text):
        _refuse(tier, where, disclosed)
    if says_rate(text, amount(source.scenario.spec).share):
        _refuse(tier, where, "the rate")
    if says_extent(text, int(source.remade.changed.sum()), source.data.n_records):
        _refuse(tier, where, EXTENT)
    if any(says_share(text, share) for share in _exposed_shares(source)):
        _refuse(tier, where, EXPOSED)


def _exposed_shares(source: ExportSource) -> list[float]:
    """Eq. 6 of the release as a share: of the run itself, and the recorded one of its candidate."""
    calls = [str(call) for call in source.study.measures if call.measure.of_unaltered]
    return [source.remade.figures[name] for name in calls] + exposed_shares(source.study, source.scenario)
