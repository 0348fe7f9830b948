"""The findings that memo, tables, slides and board view show, as one value."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from engine.common.errors import EngineError
from engine.common.untrusted import parse, read_text
from engine.report import earlier_formats
from engine.report.extent_facts import Extent
from engine.report.facts import (
    Approved,
    Certificate,
    Check,
    Claims,
    Cover,
    Design,
    Exposure,
    Map,
    MeasureRow,
    Publish,
    Recommendation,
    Threat,
    Utility,
)
from engine.report.recognised_facts import Recognised
from engine.report.sheet_facts import Sheet

FORMAT = 4
BOARD = "board.json"
"""The file of a board bundle that holds the findings."""


@dataclass(frozen=True)
class Findings:
    """What a board sees of a recommendation: safe by what it can hold (see :mod:`engine.report.facts`)."""

    format: int
    cover: Cover
    design: Design
    threat: Threat
    approved: Approved
    recommendation: Recommendation
    measures: tuple[MeasureRow, ...]
    exposure: Exposure
    utility: Utility
    map: Map
    checks: tuple[Check, ...]
    publish: Publish
    certificate: Certificate
    # absent from bundles of earlier versions
    recognised: Recognised | None = None
    claims: Claims | None = None
    extent: Extent | None = None
    sheet: Sheet | None = None

    def to_json(self) -> str:
        """As JSON text, every declared field and nothing else; an undefined figure is null, and what is no plain value
        is a :class:`TypeError`."""
        plain = json.loads(msgspec.json.encode(self, enc_hook=_figure))
        # json.dumps would write the same with an indent ten times as slowly
        compact = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        return msgspec.json.format(compact, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Findings:
        """The findings in a JSON text of this format or an earlier one; refuses anything that is not declared."""
        where = "the board's file"
        findings = parse(cls, earlier_formats.read_plain(text, where), where)
        if findings.format != FORMAT:
            raise EngineError(f"{where} has format {findings.format}, this version reads format {FORMAT}")
        letters = [row.letter for row in findings.map.candidates if row.recommended]
        if letters != [findings.recommendation.letter]:
            raise EngineError(f"{where} must show one candidate as the recommended one, and name its letter")
        return findings


def _figure(value: Any) -> float:
    if isinstance(value, float):  # one of NumPy's
        return float(value)
    raise TypeError(f"a report holds {type(value).__name__}, which is no plain value")


def read_board(path: str | Path) -> Findings:
    """The findings of a board bundle: of its folder, or of the file itself."""
    path = Path(path)
    candidates = (path / BOARD, path / "board" / BOARD, path / "member" / BOARD)
    file = next((p for p in candidates if os.path.lexists(p)), None) if path.is_dir() else path
    if file is None:
        raise EngineError(f"'{path.name}' is no bundle for the board: it holds no {BOARD}")
    try:
        text = read_text(file, follow=file == path)
    except OSError:
        raise EngineError(f"'{file.name}' cannot be read") from None
    return Findings.from_json(text)
