"""The statements of the public paragraph, looked at on the records, and what came of each of them.

The paragraph is :func:`engine.report.public_wording.methods_paragraph`; its statements stand here in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from engine.common.wording import listed, plural
from engine.plan.entries import rate_range
from engine.report.facts import ROW_ORDER, Claims
from engine.report.losses import flagged_of
from engine.report.other_keys import altered_in
from engine.report.public_wording import match_words
from engine.report.small_cells import is_none

if TYPE_CHECKING:
    from engine.models.record_release import RecordRelease
    from engine.plan import Plan
    from engine.report.findings import Findings
    from engine.report.loss_facts import Figure

_STRENGTH = "Cramér's V"
PROGRAM, AT_EXPORT, METHOD, BOARD = "on the records", "at export", "by the method", "by the board"
"""How a statement is looked at: by the program on the records or when a public file is made, by what the method is, or
by the board."""


def claims(release: RecordRelease, plan: Plan, associations: Iterable[Figure], changed: float) -> Claims:
    """Look at what the paragraph states of a release, of which the share ``changed`` of the records is altered."""
    altered, strongest = altered_in(release), dict[str, tuple[float, float]]()
    pairs = {f"{a} × {b}": (a, b) for a, b in combinations(release.data.domain.names, 2)}
    for row in associations:
        own = [name for name in pairs.get(row.of, ()) if name in altered]
        if row.what != _STRENGTH or len(own) != 1 or row.before is None or row.after is None:
            continue
        if np.isfinite(row.before) and np.isfinite(row.after):
            strongest[own[0]] = max(strongest.get(own[0], (0.0, 0.0)), (row.before, row.after))
    told = plan.publish.rate_range if plan.publish.rate_policy == "range" else ""
    return Claims(
        differing=altered,
        weaker=all(after < before for before, after in strongest.values()) if strongest else None,
        extent=rate_range(told).holds(changed) if told else None,
    )


@dataclass(frozen=True)
class Claim:
    """A statement of the paragraph in short, what was found of it in this file, who looked, and whether it holds (None:
    nobody looked at this file)."""

    says: str
    found: str
    by: str
    holds: bool | None = True


def statements(findings: Findings) -> list[Claim]:
    """The statements of the paragraph in its order; empty for findings of an earlier version, which do not say."""
    claimed, publish, n_tables = findings.claims, findings.publish, findings.design.tables
    if claimed is None:
        return []
    rows = [_altered(claimed, "exchanged" if findings.design.swap else "altered")]
    if n_tables > 1:
        found = "Yes: each file is written in the one order that is drawn for all."
        rows.append(Claim(f"{n_tables} files, the same records in the same order", found, AT_EXPORT))
    rows += [
        _extent(findings, claimed),
        Claim("matches may be false", _matches(findings), PROGRAM),
        Claim("estimates may differ", _estimates(findings), PROGRAM),
        Claim("standard errors do not tell", "Yes: they are computed as if all values were true.", METHOD, None),
    ]
    if findings.design.swap:
        rows.append(_associations(findings, claimed))
    order = next((check for check in findings.checks if check.name == ROW_ORDER), None)
    if order is not None:
        by = AT_EXPORT if order.holds is None else PROGRAM
        later = "A public file that keeps anything of the original order is refused."
        rows.append(Claim("random order", order.found if by == PROGRAM else later, by, order.holds is not False))
    if {"id", "unit"} & set(publish.include):
        rows.append(Claim("new identifiers", "Yes: they are drawn when the public file is made.", AT_EXPORT))
    if publish.wording:
        found = "The plan's own words. The program only makes sure that they tell no share of records and no candidate."
        rows.append(Claim(f"“{publish.wording}”", found, BOARD, None))
    return rows


def _altered(claimed: Claims, verb: str) -> Claim:
    differ = "differs" if len(claimed.differing) == 1 else "differ"
    found = "No: every record is as in the original."
    if claimed.differing:
        found = f"Yes: in some records {listed(claimed.differing)} {differ} from the original."
    return Claim(f"{verb} values", found, PROGRAM, bool(claimed.differing))


def _extent(findings: Findings, claimed: Claims) -> Claim:
    if extent := findings.publish.extent:
        found = "Yes: the share lies in this range." if claimed.extent else "No: the share lies outside of this range."
        return Claim(f"the share of records concerned is {extent}", found, PROGRAM, claimed.extent)
    if findings.design.tables > 1:
        found = "No more can be kept back: whoever compares the files sees in which variables and records they differ."
        return Claim("what is not published", found, METHOD, None)
    own = f"{findings.publish.title} {findings.publish.wording}".replace("_", " ")
    named = [name for name in claimed.differing if _names(own, name.replace("_", " "))]
    found = "Yes: no file that may be public tells either."
    if named:
        found = f"The share is not told; but the title or the plan's own words name {listed(named)}, which was altered."
    return Claim("what is not published", found, AT_EXPORT, not named)


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def _matches(findings: Findings) -> str:
    """What an apparent match means in this file; why users are told no more follows from what is left unsaid."""
    return match_words(findings.exposure, is_none(findings))


def _estimates(findings: Findings) -> str:
    flagged, judged = flagged_of(findings.utility)
    if not judged:
        return "No figure that was compared can differ; others may."
    return f"Yes: {flagged:,} of {plural(judged, 'figure')} that can change do by more than the tolerances."


def _associations(findings: Findings, claimed: Claims) -> Claim:
    found = {
        True: "Yes: the strongest one of each exchanged attribute is weaker (Cramér's V).",
        False: "Not wholly: the strongest of some exchanged attribute is no weaker (Cramér's V). True of the method.",
        None: "No association of an exchanged and another attribute could be compared. True of the method.",
    }[claimed.weaker]
    models = "Coefficients not checked." if findings.utility.models else "Models not checked, as none is declared."
    return Claim("weaker associations", f"{found} {models}", PROGRAM, claimed.weaker)


def claims_summary(findings: Findings) -> str:
    """How many statements were looked at and whether they hold; empty for findings of an earlier version."""
    rows = statements(findings)
    if not rows:
        return ""
    looked_at = [row for row in rows if row.by in (PROGRAM, AT_EXPORT)]
    untrue = [row.says for row in looked_at if row.holds is False]
    text = f"Of the {plural(len(rows), 'statement')} of this paragraph the program checks {len(looked_at)} on this file"
    return f"{text}; not so of it: {listed(untrue)}." if untrue else f"{text}, and none of them is untrue."
