"""The first page of the memo, which stands alone: the decision and what a board must know before it signs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.common.wording import listed, lower_first, upper_first
from engine.report.answers import (
    count_misleads,
    exposed_groups,
    fixed_words,
    largest_losses,
    neighbour_sentences,
    why_fewer,
)
from engine.report.candidate_words import preferred_words, tried_words
from engine.report.certainty import conclusion, fresh_runs, frontier_words, recommended, spread_words
from engine.report.decision_asked import decision_words, is_decided
from engine.report.loss_words import beyond_words
from engine.report.recognised_words import finding_words, learnt_words, recognised_sentences
from engine.report.run_words import fresh_beside
from engine.report.small_cells import DIRECTIONS, bound_check_words, direction

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.report.findings import Findings

COUNTED_ABOVE = (
    "The measure counts only unaltered records, so altering many lowers it by itself; the table above therefore also "
    "counts all records."
)
"""What a lower number of exposed records does not say, beside the table of the page."""


@dataclass(frozen=True)
class PageOne:
    """The decision in a sentence or two, warnings, the rows of the page as name and text, and whether it is still to be
    signed."""

    decision: str
    warnings: tuple[str, ...]
    rows: tuple[tuple[str, str], ...]
    to_sign: bool


def page_one(findings: Findings) -> PageOne:
    """The first page, from findings alone."""
    recommendation, row = findings.recommendation, recommended(findings)
    facts = findings.recognised
    is_found = facts is not None and facts.finding is not None and facts.finding.finds
    risk = [_against_nothing(findings), spread_words(findings), bound_check_words(findings)]
    rows = [
        ("Why this one", _why(findings)),
        ("Risk", _sentences(risk)),
        ("Left out", _sentences([left_out(findings), learnt_words(findings), *recognised_sentences(findings)])),
        ("Most exposed", _numbered(exposed_groups(findings))),
        ("Worst losses", _sentences([beyond_words(findings.utility), _worst_losses(findings)])),
        ("Neighbours", _sentences(neighbour_sentences(findings))),
        ("How sure", _sentences(_how_sure(findings))),
        ("Fixed beforehand", _sentences(fixed_words(findings))),
        ("Conditions", _conditions(findings)),
    ]
    return PageOne(
        decision=f"{decision_words(findings)} Candidate {row.letter} {row.words}.",
        warnings=(*_overruled(findings), *([finding_words(findings)] if is_found else []), *recommendation.cautions),
        rows=tuple((name, text) for name, text in rows if text),
        to_sign=not is_decided(findings),
    )


def _worst_losses(findings: Findings) -> str:
    """The worst losses, and what the tolerances are where none is beyond them."""
    text, at = _numbered(largest_losses(findings)), findings.utility.tolerances
    if not text:
        return "No figure that users would compute changes."
    if any(row.flagged for row in findings.utility.figures):
        return text
    return (
        f"{text} The tolerances are {at.se:.3g} times what chance alone does to a figure from so many records, or "
        f"{100 * at.change:.3g} % of its value."
    )


def _conditions(findings: Findings) -> str:
    """What the protection rests on in any case, and the conditions of the approval or those proposed before it."""
    cover, facts = findings.cover, findings.recognised
    is_set = cover.state in ("approved", "released")
    whose = "set by the board" if is_set else "proposed"
    conditions = ["No more is said of the method in public than in section 8"]
    if facts is not None and facts.tables.published == "no":
        conditions.insert(0, "No two-way table of the original is published, as the plan says")
    these = "these" if len(conditions) > 1 else "this"
    needed = f"{_listed(conditions)} The figures of risk hold only under {these}."
    if not cover.conditions:
        return f"{needed} Beside {these} none is {whose}."
    return f"{needed} {upper_first(whose)}, beside {these}: {cover.conditions.rstrip('.')}."


def _against_nothing(findings: Findings) -> str:
    """What the numbers of the table above say of the run to be released, and what they do not."""
    found = direction(findings)
    if found != "fewer":
        return DIRECTIONS[found]
    return why_fewer(findings) if count_misleads(findings) else COUNTED_ABOVE


def left_out(findings: Findings) -> str:
    """What the risk figure leaves out, in short."""
    others = [row for row in findings.measures if row.kind == "risk" and not row.chosen_by]
    text = (
        "The figures leave out whether somebody is in fact identified, what is learnt without singling out a record, "
        "intruders who know more than the keys, and altered records that are taken for true."
    )
    if not others:
        return f"{text} No other risk measure was used in the choice."
    listing = upper_first(listed(lower_first(row.title) for row in others))
    return f"{text} {listing} {'is' if len(others) == 1 else 'are'} in section 4."


def _overruled(findings: Findings) -> list[str]:
    """Obstacles to the release, with the recorded reason that overruled them."""
    recommendation = findings.recommendation
    if not recommendation.obstacles:
        return []
    against = f"This speaks against the release: {_sentences(recommendation.obstacles)}"
    if recommendation.despite:
        return [f"{against} It was submitted all the same, for this recorded reason: {recommendation.despite}"]
    return [f"{against} It cannot be submitted without a recorded reason."]


def _why(findings: Findings) -> str:
    recommendation = findings.recommendation
    if not recommendation.recorded:
        return ""
    rule = recommendation.bound or recommendation.rule  # the reason is words enough for a rule that takes the best
    return _sentences([recommendation.why, rule, preferred_words(findings), tried_words(findings)])


def _how_sure(findings: Findings) -> list[str]:
    """The conclusion; what another row of the page says, and the evidence, stand elsewhere."""
    fresh, on_frontier = fresh_beside(findings), frontier_words(findings)
    said = {fresh} if _is_refuted(findings) else set()  # the head of the page says it then
    if not recommended(findings).undominated:  # the neighbours' row says it then
        said.add(on_frontier)
    sentences = [sentence for sentence in conclusion(findings) if sentence not in said]
    rows = [row for row in findings.measures if row.chosen_by and row.fresh is not None]
    if not rows:
        sentences.append(fresh_runs(findings))
    return [*sentences, "What this rests on is in section 6."]


def _is_refuted(findings: Findings) -> bool:
    """Whether clearly fewer fresh runs meet the bound than the plan asks for; the page begins with that."""
    run = findings.recommendation.run
    return run is not None and run.fresh_high is not None and run.asked is not None and run.fresh_high < run.asked


def _numbered(sentences: Iterable[str]) -> str:
    """Sentences as numbered parts of one; a single one stands as it is."""
    texts = [text.rstrip(".") for text in sentences]
    if len(texts) < 2:
        return "".join(f"{text}." for text in texts)
    return "; ".join(f"({number}) {text}" for number, text in enumerate(texts, 1)) + "."


def _listed(sentences: Iterable[str]) -> str:
    """Sentences with their numbers; a single one has none."""
    texts = list(sentences)
    if len(texts) < 2:
        return _sentences(texts)
    return " ".join(f"({number}) {text}." for number, text in enumerate(texts, 1))


def _sentences(sentences: Iterable[str]) -> str:
    """Sentences one after another, each with its full stop."""
    return " ".join(text if text.endswith((".", "!", "?", "”", ":")) else f"{text}." for text in sentences if text)
