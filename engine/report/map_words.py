"""Explanations beside the board's map: its error bars, counts of exposed records, what chance hides, and what judges
several tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import listed, plural
from engine.frontier.recall import REDRAWS
from engine.report.redaction import is_count_title
from engine.report.words import bar, figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.report.findings import Findings
    from engine.report.map_facts import CandidateRow, Map


FEWER_WORDS = (
    "The measure counts only unaltered records, so altering many lowers it by itself: fewer exposed records alone do "
    "not make a release safer."
)
"""What a lower number of exposed records does not say."""


def counted_words(findings: Findings) -> str:
    """How counts of exposed records relate to the frontier, and what they do not say; empty where the risk is no such
    count."""
    compared = compared_words(findings)
    return f"{compared} {FEWER_WORDS}" if compared else ""


def compared_words(findings: Findings) -> str:
    """The first of the two, for the memo, whose first page says the second."""
    if not is_count_title(findings.map.risk_title):
        return ""
    return (
        "Candidates are compared by the share of unaltered records that is exposed; the map shows how many these are."
    )


def bars_words(findings: Findings) -> str:
    """What the bars on the map are, and of which candidates there are none."""
    without_bar, drawn = [], False
    for axis in ("risk", "utility"):
        pairs = [(c.letter, getattr(c, axis), getattr(c, f"{axis}_se")) for c in findings.map.candidates]
        missing = [letter for letter, value, se in pairs if value is not None and bar(value, se) is None]
        drawn |= len(missing) < len(pairs)
        without_bar += [axis if len(missing) == len(pairs) else f"the {axis} of {listed(missing)}"] if missing else []
    if not drawn:
        return "no bars of errors are drawn, as none is known"
    sentence = "bars are two standard errors of the average"
    if without_bar:
        sentence += f"; none are drawn for {listed(without_bar)}"
    return sentence


def counts_words(findings: Findings) -> str:
    """How many candidates of the frontier have a letter, and what the figures and the circles of the others are."""
    board_map = findings.map
    rows = board_map.candidates
    lettered = sum(row.undominated for row in rows)
    others = board_map.n_frontier - lettered
    further = [row.letter for row in rows if row.also_within]
    sentences = [*_order_words(rows), *_beaten_by_nothing(findings)]
    if further:
        sentences.append(
            f"{listed(further)} {'is' if len(further) == 1 else 'are'} added for being within the bound too."
        )
    if others > 0:
        sentences.append(
            f"{others} of the frontier {'has' if others == 1 else 'have'} no letter: those that cannot be told from a "
            "lettered one within the noise of the runs, and those farther along the frontier."
        )
    return " ".join(sentences)


def _order_words(rows: Sequence[CandidateRow]) -> list[str]:
    """In which order the neighbours of the recommended candidate have their letters."""
    chosen = [row for row in rows if not row.also_within]
    place = next((at for at, row in enumerate(chosen) if row.recommended), 0)
    sentences = []
    for beside, side in ((chosen[:place], "safety"), (chosen[place + 1 :], "use")):
        letters = [row.letter for row in beside]
        if len(letters) == 1:
            sentences.append(f"{letters[0]} is the next one towards more {side}.")
        elif letters:
            order = "in this order" if side == "use" else "the nearest last"
            sentences.append(f"{listed(letters)} are the next ones towards more {side}, {order}.")
    return sentences


def _beaten_by_nothing(findings: Findings) -> list[str]:
    """That candidates of the frontier are riskier than doing nothing, which changes no figure and is no candidate; an
    empty list where none is seen to be."""
    board_map = findings.map
    nothing, is_lower = board_map.nothing_risk, board_map.risk_better == "lower"
    seen = [
        risk
        for _, risk in board_map.frontier
        if nothing is not None and (risk > nothing if is_lower else risk < nothing)
    ]
    letters = [row.letter for row in board_map.candidates if row.undominated and row.riskier_than_nothing]
    if not seen and not letters:
        return []
    named = f" (of lettered ones {listed(letters)})" if letters else ""
    return [
        "Doing nothing is not counted among the candidates: it beats those on the frontier that are riskier on "
        f"average{named}, as it changes nothing."
    ]


def bound_title(board_map: Map) -> str:
    """What the line of the bound on the map is called."""
    asked = board_map.bound_asked
    return "bound on the average" if asked is None else f"bound, asked of {100 * asked:.3g} % of single runs"


def bound_line_words(findings: Findings) -> str:
    """What the line of the bound says of candidates that stand at their averages; empty without such a line."""
    board_map = findings.map
    if board_map.bound_at is None:
        return ""
    line = "The dashed line is the bound"
    if is_count_title(board_map.risk_title):
        n = findings.design.n_records
        line = (
            f"The dashed line is {100 * board_map.bound_at / n:.3g} % of all {n:,} records, about "
            f"{figure(board_map.bound_at, 2)}; the bound is on the unaltered ones, so it lies somewhat lower where "
            "many are altered"
        )
    if board_map.bound_asked is None:
        return f"{line}."
    return (
        f"{line}. A candidate meets the bound if {100 * board_map.bound_asked:.3g} % "
        "of its single runs do; an average below the line is not enough, and the most useful candidate that meets the "
        "bound need not be on the frontier."
    )


def recall_words(share: float) -> str:
    """How much of the true frontier was not found."""
    if share == 1:
        return "Chance hides next to none of the candidates that are truly on the frontier."
    missed = 1 - share
    one_in = round(1 / missed)
    part = f"{100 * missed:.2g} % of the candidates that are truly on the frontier are"
    if 3 <= one_in <= 20:
        part = f"one in {one_in} of the candidates that are truly on the frontier is"
    return f"At least about {part} probably missed by chance."


def recall_basis(share: float) -> str:
    """How that was reckoned."""
    if share == 1:
        return ""
    return (
        f"Missed by chance: of the candidates on the frontier {100 * share:.0f} % were found again and "
        f"{100 * (1 - share):.2g} % were not, when all averages were drawn anew {REDRAWS} times with their standard "
        "errors. The share truly missed is rather larger."
    )


def tables_words(findings: Findings) -> str:
    """Whether the risk is that of an intruder who sees all tables that are released together."""
    together = f"{plural(findings.design.tables, 'table')} are released together"
    if findings.map.risk_jointly:
        judged = "judges all of them jointly, as an intruder sees them"
    else:
        judged = "judges one at a time, but an intruder sees them all"
    return f"{together}; the risk by which candidates are compared {judged}."
