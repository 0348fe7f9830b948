"""The paragraph on methods for the public, and what was looked at of its statements on the records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import EngineError
from engine.decision.statements import KINDS, Statement, sentences, statement
from engine.plan.entries import rate_range
from engine.report.facts import ROW_ORDER, Claims, Publish
from engine.report.losses import flagged_of
from engine.report.other_keys import altered_in

if TYPE_CHECKING:
    from engine.models.record_release import RecordRelease
    from engine.plan import Plan
    from engine.report.facts import Figure
    from engine.report.findings import Findings

_STRENGTH = "Cramér's V"


def public_text(told: Iterable[Statement]) -> str:
    """Return statements as a paragraph for the public; one whose kind is not of the group "public" is refused."""
    told = list(told)
    for one in told:
        if KINDS[one.kind].group != "public":
            raise EngineError(f"a statement of the kind '{one.kind}' is not for the public")
    return sentences(told).strip()


def methods_paragraph(publish: Publish, *, swap: bool, n_tables: int, new_ids: bool) -> str:
    """Return the paragraph: that the data were altered, how in general, and how much only as far as the plan says.

    ``swap`` says whether values were exchanged between records or altered otherwise, ``n_tables`` how many tables the
    release has, ``new_ids`` whether records are released with new identifiers.
    """
    told = [statement("values_altered", title=publish.title, swap=swap)]
    told += [statement("several_files", n=n_tables)] if n_tables > 1 else []
    told += [statement("public_extent", extent=publish.extent)] if publish.extent else []
    told += [statement("not_published", several=n_tables > 1, extent=bool(publish.extent)), statement("may_mislead")]
    told += [statement("weaker_associations")] if swap else []
    told += [statement("random_order", new_ids=new_ids)]
    told += [statement("own_wording", text=publish.wording)] if publish.wording else []
    return public_text(told)


def public_wording(findings: Findings) -> str:
    """Return the paragraph that goes with the public file, word for word."""
    publish, design = findings.publish, findings.design
    return methods_paragraph(publish, swap=design.swap, n_tables=design.tables, new_ids=publish.has_new_ids)


# -- what was looked at ----------------------------------------------------------------------------------------------


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


def judged(findings: Findings, claimed: Claims) -> Iterator[tuple[str, bool, bool | None]]:
    """Yield each claim of the paragraph in short, whether the program checks it on this file, and whether it holds
    (None: it holds of the method, or the board judges it)."""
    publish, several = findings.publish, findings.design.tables > 1
    yield "exchanged values" if findings.design.swap else "altered values", True, bool(claimed.differing)
    if several:
        yield "files of the same records in the same order", True, True
    if publish.extent:
        yield f"the share of records concerned is {publish.extent}", True, claimed.extent
    else:
        yield "what is not published", not several, several or not _named(findings, claimed)
    yield "matches may be false", True, True
    yield "estimates may differ", True, True if flagged_of(findings.utility)[1] else None
    yield "standard errors do not show the change", False, None
    if findings.design.swap:
        yield "weaker associations", True, claimed.weaker
    order = next((check for check in findings.checks if check.name == ROW_ORDER), None)
    if order is not None:
        checked = order.holds is not None
        yield "random order", checked, order.holds
    if publish.has_new_ids:
        yield "new identifiers", True, True
    if publish.wording:
        yield f"“{publish.wording}”", False, None


def _named(findings: Findings, claimed: Claims) -> list[str]:
    """The altered attributes that the title or the plan's own words name."""
    own = f"{findings.publish.title} {findings.publish.wording}".replace("_", " ")
    names = (re.escape(name.replace("_", " ")) for name in claimed.differing)
    return [name for name in names if re.search(rf"(?<!\w){name}(?!\w)", own, re.IGNORECASE)]


def claims_checked(findings: Findings) -> list[Statement]:
    """Return how many claims were looked at and whether they hold; none for findings of an earlier version."""
    if findings.claims is None:
        return []
    rows = list(judged(findings, findings.claims))
    untrue = tuple(says for says, is_checked, holds in rows if is_checked and holds is False)
    unchecked = tuple(says for says, is_checked, _ in rows if not is_checked)
    return [statement("claims_checked", n=len(rows), unchecked=unchecked, untrue=untrue)]
