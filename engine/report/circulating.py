"""Circulating copy: the fields of findings that do not depend on the rate, for readers who need not know it."""

from __future__ import annotations

import json
import re
from fnmatch import translate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.common.errors import EngineError
from engine.common.untrusted import plain_json
from engine.decision.states import STATES
from engine.report import documents
from engine.report.facts import MISFITS

if TYPE_CHECKING:
    from engine.report.findings import Findings

CIRCULATING = "circulating.json"
"""The file of a circulating copy that holds its fields."""
ALLOWED = (
    "format", "cover.*", "design.n_records", "design.n_units", "design.tables", "design.method", "design.design",
    "design.geography", "design.has_*", "design.dropped", "design.carried.*", "design.numeric.*",
    *(f"design.attributes.*.{name}" for name in ("name", "columns.*", "levels", "coding", "key", "analysed", "label")),
    "threat.*", "approved.number", "approved.at", "approved.run_rule", "approved.parameters.*",
    *(f"approved.ledger.earlier.*.{name}" for name in ("begun", "candidates", "choices", "decision", "bounds.*")),
    "recommendation.recorded", "recommendation.rule", "recommendation.why",
    *(f"measures.*.{name}" for name in ("title", "kind", "meaning", "unit", "better", "before", "chosen_by")),
    "exposure.fewest", "exposure.*_before", "exposure.bound",
    *(f"exposure.groups.*.{name}" for name in ("group", "people", "before")),
    "utility.tolerances.*", "utility.models.*",
    *(f"utility.figures.*.{name}" for name in ("of", "what", "before", "se")),
    "map.n_candidates", "map.bound", "map.bound_asked", "checks.*.name", "checks.*.holds", "publish.*",
    "certificate.version", "recognised.fewest", "recognised.sensitive.*",
    *(f"recognised.nothing_done.{name}" for name in ("keys.*", "small", "alone", "matches")),
    *(f"recognised.all_but_one.*.{name}" for name in ("keys.*", "small", "alone", "matches")),
)  # fmt: skip
"""Paths of the fields that it holds; others are left out, such as letters and flags, which follow from the release."""
_ALLOWED = re.compile("|".join(map(translate, ALLOWED)))


def circulating(findings: Findings) -> dict[str, Any]:
    """Return the allowed fields as plain values; lists that the release chose are left out, others sorted by name."""
    plain = json.loads(findings.to_json())
    utility, exposure = plain["utility"], plain["exposure"]
    figures = [row for row in utility["figures"] if row["kind"] == "coefficient"]  # others are listed if they change
    utility["figures"] = sorted(figures, key=lambda row: (row["of"], row["what"]))
    exposure["groups"] = sorted((row for row in exposure["groups"] if row["before"]), key=lambda row: row["group"])
    plain["measures"].sort(key=lambda row: row["title"])
    plain["checks"] = [row for row in plain["checks"] if row["name"] != MISFITS]
    kept: dict[str, Any] = _kept(plain, "")
    return kept


def _kept(value: Any, path: str) -> Any:
    """Return the allowed part of a value; None where none of it is."""
    if isinstance(value, dict):
        parts = {name: _kept(part, f"{path}.{name}" if path else name) for name, part in value.items()}
        return {name: part for name, part in parts.items() if part is not None} or None
    if isinstance(value, list):
        return [part for at, each in enumerate(value) if (part := _kept(each, f"{path}.{at}")) is not None] or None
    return value if _ALLOWED.fullmatch(path) else None


def read_copy(text: str) -> dict[str, Any]:
    """Return the fields in a copy's file; one with any other field is refused."""
    plain = plain_json(text, CIRCULATING)
    if not isinstance(plain, dict) or _kept(plain, "") != plain:
        raise EngineError(f"{CIRCULATING} holds a field that no circulating copy has")
    return plain


def page(findings: Findings) -> str:
    """Return the copy as a page of HTML."""
    return documents.html("circulating.html", copy=circulating(findings), states=STATES)


def write_circulating(findings: Findings, folder: Path) -> None:
    """Write the copy as a document and as its fields into an existing folder."""
    documents.write(page(findings), folder, "memo", with_pdf=True)
    text = json.dumps(circulating(findings), ensure_ascii=False, indent=1)
    (folder / CIRCULATING).write_text(text + "\n", encoding="utf-8")
