"""The members' bundle: findings as coarse as it takes that they do not give the rate away."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.bundle.members_attack import FACTOR, MembersAttack, attack_board, attack_members_bundle, width
from engine.bundle.refusal import Refused
from engine.common.wording import upper_first
from engine.report.build_findings import findings
from engine.report.coarsening import coarsened
from engine.report.findings import BOARD
from engine.report.member import write_findings
from engine.report.rate_facts import COUNTS, STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from engine.bundle.export_source import ExportSource
    from engine.report.findings import Findings
    from engine.report.rate_facts import Counts, Step


LET_KNOW = (
    'let the members know the rate (members_rate = "tell" in [publish] of the plan; dashboard: Threat and uses, What '
    "is said in public)"
)


UNTESTED: tuple[Step, Counts] = ("tables", "without groups")
"""How figures are told of which nobody has tried what they tell."""


def write(source: ExportSource, folder: Path, order: np.ndarray | None = None) -> dict[str, Any]:
    """Write the members' bundle into an empty folder; returns what the attacks on it found, as plain values.

    Where the plan withholds the rate from members, figures are told more and more coarsely (see
    :mod:`engine.report.coarsening`) until two attacks leave an interval of the rate that is a factor of three wide and
    holds the share of records that the release changed: that an attack is misled is no evidence that figures tell
    little.  The last step holds no figure that depends on the rate; a file that says more than it should is refused
    (:class:`Refused`).  The attacks are on the random swap: of another mechanism none is made, and figures are told
    coarsely (:data:`UNTESTED`).
    ``order`` is that of the rows of the public file, where it is made together with this one.
    """
    share = float(source.remade.changed.mean())
    told, attacks = told_to_members(findings(source.study, source.remade, order), share)
    write_findings(told, folder)
    if told.members_rate.attacked:
        _check(attack_members_bundle((folder / BOARD).read_text(encoding="utf-8")), share)
    return attacks


def summary(attacks: dict[str, Any]) -> dict[str, Any]:
    """What the decision log says of the attacks: how coarsely the bundle tells, and the interval that this leaves."""
    told = {name: value for name, value in attacks.items() if name != "tried"}
    tried = list(attacks.get("tried", {}).values())
    return {**told, "interval": tried[-1]["both"]} if tried else told


def told_to_members(whole: Findings, share: float) -> tuple[Findings, dict[str, Any]]:
    """Findings as members read them, and what the attacks found at each step that was tried.

    ``share`` is that of the records that the release changed (0 to 1), which no attack is told.
    """
    if whole.members_rate.policy != "withheld":
        return whole, {"members_rate": "tell"}
    if not whole.design.swap:
        step, counts = UNTESTED
        why = "the attacks are on the random swap"
        return coarsened(whole, step, counts), {
            "members_rate": "withhold", "changes": step, "counts": counts, "why": why,
        }  # fmt: skip
    if whole.map.tells_rate:
        raise Refused(
            "the member bundle was refused: the candidate was chosen by a measure whose figures tell the rate. Choose "
            f"by another measure, or {LET_KNOW}; nothing was written",
            "member: the map tells the rate",
        )
    attacked = replace(whole, members_rate=replace(whole.members_rate, attacked=True))
    tried: dict[str, Any] = {}
    for step, counts in _order(attacked):
        told = coarsened(attacked, step, counts)
        result = attack_board(told.as_read())
        tried[f"changes: {step}; counts: {counts}"] = result.to_dict()
        if _is_enough(result, share):
            break
    _check(result, share)
    return told, {"members_rate": "withhold", "changes": step, "counts": counts, "tried": tried}


def _order(whole: Findings) -> Iterator[tuple[Step, Counts]]:
    """What is tried, in this order: counts are withheld last, since a board needs them more than anything else.  Where
    a step tells the rate beside the coarsest counts, finer ones do not help."""
    open_steps = []
    for step in STEPS:
        withheld = attack_board(coarsened(whole, step, COUNTS[-1]).as_read())
        if width(withheld.changes) < FACTOR:
            continue
        open_steps.append(step)
        if attack_board(coarsened(whole, step, COUNTS[-2]).as_read()).leaves_enough:
            yield from product([step], COUNTS[:-1])
    yield from product(open_steps or STEPS[-1:], COUNTS[-1:])


def _is_enough(result: MembersAttack, share: float) -> bool:
    """Whether the attacks leave enough, and are right: of what misleads them a better one might find more."""
    low, high = result.both
    return result.leaves_enough and low <= share <= high


def _check(result: MembersAttack, share: float) -> None:
    if not _is_enough(result, share):
        raise Refused(
            "the member bundle was refused: however coarsely it tells the release, two attacks on it alone infer the "
            f"rate within a factor of less than {FACTOR:g}, or a wrong one. {upper_first(LET_KNOW)}, or export no "
            "bundle for members; nothing was written",
            "member: the rate can be inferred",
        )
