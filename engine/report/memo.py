"""The memo to the board, from findings alone; its words are in ``templates/memo.txt``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from engine.report import answers, figures, like_with_like, loss_words
from engine.report.coherence import coherence
from engine.report.losses import worst
from engine.report.map_words import counted_words
from engine.report.parameters import besides_words
from engine.report.rate_words import error_words, is_coarse, rate_words, relative_words
from engine.report.redaction import WITHHELD_WORDS, is_withheld
from engine.report.run_words import run_sentences
from engine.report.template_reader import document

if TYPE_CHECKING:
    from engine.report.document import Document
    from engine.report.findings import Findings

BANNER = "CONFIDENTIAL: for members of the disclosure review board"
"""What stands on every page where the plan gives no classification."""
_SENTENCES = (
    *(answers.decision_words, answers.summary, answers.risk_sentence, answers.small_words, answers.omissions),
    *(answers.flags_sentence, answers.largest_losses, answers.distance_words, answers.certainty, answers.plan_history),
    *(answers.public_wording, coherence, counted_words, run_sentences),
)
_FIGURES = (figures.small_cells, figures.percentages, figures.associations, figures.coefficients, figures.frontier)
Pair = tuple[float | None, float | None]


def memo(findings: Findings) -> Document:
    """The whole memo."""
    return document("memo.txt", names_of(findings), pictures_of(findings))


def names_of(findings: Findings) -> dict[str, Any]:
    """What the templates of memo and slides can use: the parts of findings, sentences on them, and a few choices."""
    return {
        **vars(findings),
        **{sentence.__name__: sentence(findings) for sentence in _SENTENCES},
        "banner": findings.cover.classification or BANNER,
        "risk_measures": [row for row in findings.measures if row.kind == "risk"],
        "utility_measures": [row for row in findings.measures if row.kind == "utility"],
        "association_pairs": _association_pairs(findings),
        "neighbour_sentences": _neighbour_sentences(findings),
        "largest_changes": partial(answers.largest_changes, findings),
        "utility_words": partial(answers.utility_words, findings),
        "besides_words": besides_words(findings.publish.include),
        "NOISE_WORDS": answers.NOISE_WORDS,
        **_losses(findings),
        "WITHHELD_WORDS": WITHHELD_WORDS,
        "is_withheld": is_withheld,
        "rate_words": rate_words(findings),
        "is_coarse": is_coarse(findings),
        "relative_words": relative_words,
        "error_words": error_words,
    }


def _losses(findings: Findings) -> dict[str, Any]:
    """What the tables of ``templates/losses.txt`` are made of."""
    return {
        "small_cell_rows": like_with_like.small_cell_rows(findings),
        "share_words": like_with_like.share_words,
        "bound_check_words": like_with_like.bound_check_words(findings),
        "worst_losses": worst(findings.utility, 10),
        "moved_words": loss_words.moved_words(findings.utility.distance),
        "RANKED": loss_words.RANKED,
    }


def pictures_of(findings: Findings) -> dict[str, partial[Any]]:
    """The pictures by name, each drawn when it is asked for."""
    return {picture.__name__: partial(picture, findings) for picture in _FIGURES}


def _neighbour_sentences(findings: Findings) -> list[str]:
    """The recommended candidate against the nearest safer and the nearest more useful one, where there are any."""
    safer, useful = answers.neighbours(findings)
    return [answers.neighbour_sentence(findings, row, safer=row is safer) for row in (safer, useful) if row is not None]


def _association_pairs(findings: Findings) -> list[tuple[str, str, Pair, Pair]]:
    """Pairs of attributes, most changed first, with their contingency coefficient and Cramér's V before and after."""
    pairs: dict[tuple[str, str], dict[str, Pair]] = {}
    for row in findings.utility.associations:
        pairs.setdefault((row.first, row.second), {})[row.statistic] = (row.before, row.after)
    names, undefined = ("contingency coefficient C", "Cramér's V"), (None, None)
    return [(*pair, *(statistics.get(name, undefined) for name in names)) for pair, statistics in pairs.items()]  # type: ignore[misc]
