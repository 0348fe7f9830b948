"""The memo to the board, from findings alone; its words are in ``templates/memo.txt``."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

from engine.plan.uses import no_use_sentence
from engine.report import answers, figures, loss_words
from engine.report.candidate_words import on_frontier, standing_words
from engine.report.certainty import UNBEATEN, certainty, evidence, noise_words
from engine.report.claims import statements, unsaid_words
from engine.report.coherence import check_rows, coherence, idle_checks
from engine.report.decision_asked import decision_words
from engine.report.exposed_words import harm_words, new_words
from engine.report.ledger_words import earlier_sentences
from engine.report.losses import largest
from engine.report.map_words import bound_line_words, compared_words, counts_words
from engine.report.page_one import page_one
from engine.report.parameters import NOTHING, TABLES_TITLE, besides_words, parameter_rows
from engine.report.recognised_words import all_but_one_words
from engine.report.run_words import tells_share
from engine.report.small_cells import bound_check_words, share_words, small_cell_rows
from engine.report.template_reader import document

if TYPE_CHECKING:
    from engine.report.document import Document
    from engine.report.findings import Findings

BANNER = "CONFIDENTIAL: for the disclosure review board"
"""What stands on every page where the plan gives no classification."""
_SENTENCES = (
    *(decision_words, answers.summary, answers.risk_sentence, answers.small_words, answers.omissions),
    *(answers.flags_sentence, answers.largest_losses, answers.distance_sentence, answers.plan_history),
    *(
        answers.public_wording,
        answers.neighbour_sentences,
        certainty,
        evidence,
        bound_line_words,
        coherence,
        compared_words,
        counts_words,
        noise_words,
        page_one,
    ),
)
_FIGURES = (figures.small_cells, figures.associations, figures.frontier)
Pair = tuple[float | None, float | None]


def memo(findings: Findings) -> Document:
    """The whole memo."""
    return document("memo.txt", names_of(findings), pictures_of(findings))


def names_of(findings: Findings) -> dict[str, Any]:
    """What the templates of memo and slides can use: the parts of findings, sentences on them, and a few choices."""
    return {
        **{part.name: getattr(findings, part.name) for part in fields(findings)},
        **{sentence.__name__: sentence(findings) for sentence in _SENTENCES},
        "banner": findings.cover.classification or BANNER,
        "risk_measures": [row for row in findings.measures if row.kind == "risk"],
        "utility_measures": [row for row in findings.measures if row.kind == "utility"],
        "association_pairs": _association_pairs(findings),
        "undeclared": _undeclared(findings),
        "unstated": _unstated(findings),
        "main_parameters": parameter_rows(findings.approved.parameters),
        "check_rows": check_rows(findings.checks),
        "idle_checks": idle_checks(findings.checks),
        "earlier_sentences": earlier_sentences(findings.approved.ledger),
        "besides_words": besides_words(findings.publish.include),
        "standing_words": partial(standing_words, findings),
        "on_frontier": on_frontier,
        "tells_shares": any(row.share is not None and tells_share(row) for row in findings.map.candidates),
        "has_declared": _has_declared(findings),
        "flagged_places": loss_words.flagged_places(findings.utility),
        **_losses(findings),
        "extent_sentences": answers.extent_sentences(findings.extent),
    }


def _losses(findings: Findings) -> dict[str, Any]:
    """What the tables of ``templates/losses.txt`` are made of."""
    return {
        "small_cell_rows": small_cell_rows(findings),
        "share_words": share_words,
        "bound_check_words": bound_check_words(findings),
        "worst_losses": largest(findings.utility.figures, 10),
        "numbered_log": [(number, *row) for number, row in enumerate(findings.approved.changes, 1)],
        "new_words": new_words(findings),
        "harm_words": harm_words(findings),
        "all_but_one_words": all_but_one_words(findings),
        "match_words": answers.match_sentence(findings),
        "statements": statements(findings),
        "unsaid_words": unsaid_words(findings),
        "RANKED": loss_words.RANKED,
        "UNBEATEN": UNBEATEN,
        "unused_words": no_use_sentence(findings.utility.unused),
    }


def pictures_of(findings: Findings) -> dict[str, partial[Any]]:
    """The pictures by name, each drawn when it is asked for."""
    return {picture.__name__: partial(picture, findings) for picture in _FIGURES}


def _has_declared(findings: Findings) -> bool:
    """Whether the plan declares analyses or names tables that users make."""
    utility, tables = findings.utility, dict(findings.approved.parameters).get(TABLES_TITLE, NOTHING)
    return bool(utility.models) or tables != NOTHING


def _undeclared(findings: Findings) -> list[str]:
    """What was not compared because the plan names none of it."""
    utility, numeric = findings.utility, findings.design.numeric
    names_tables = dict(findings.approved.parameters).get(TABLES_TITLE, NOTHING) != NOTHING
    has_large = any(len(table.attributes) > 2 for table in utility.tables)
    kinds = (
        ("means and correlations of numeric columns", numeric),
        ("regressions", utility.models),
        ("tables of three and more attributes", has_large),
        ("tables that users make", names_tables),
        ("weighted figures", findings.design.has_weight),
    )
    return [kind for kind, there in kinds if not there]


def _unstated(findings: Findings) -> list[str]:
    """What the board would ask for and the plan leaves empty, see :mod:`engine.plan.unstated`."""
    cover, design, threat = findings.cover, findings.design, findings.threat
    entries = (
        ("survey", cover.survey),
        ("vintage", cover.vintage),
        ("sponsor", cover.sponsor),
        ("contact", cover.contact),
        ("authority", cover.authority),
        ("strata, sampling units and households", design.design),
        ("smallest geography released", design.geography),
        ("what changed since the earlier release", cover.changes or cover.release_type == "new"),
        ("other releases of the same data", cover.overlaps),
        ("title of the release", cover.title),
        ("intruder", threat.intruder),
        ("public files that overlap", threat.public_files),
        ("harm of a disclosure", threat.harm),
    )
    return [title for title, value in entries if not value]


def _association_pairs(findings: Findings) -> list[tuple[str, str, Pair, Pair]]:
    """Pairs of attributes, most changed first, with their contingency coefficient and Cramér's V before and after."""
    pairs: dict[tuple[str, str], dict[str, Pair]] = {}
    for row in findings.utility.associations:
        pairs.setdefault((row.of, ""), {})[row.what] = (row.before, row.after)
    names, undefined = ("contingency coefficient C", "Cramér's V"), (None, None)
    return [(*pair, *(statistics.get(name, undefined) for name in names)) for pair, statistics in pairs.items()]  # type: ignore[misc]
