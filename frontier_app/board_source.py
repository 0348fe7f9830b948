"""Where the board's findings come from: a member's bundle, or the study at work with its data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from frontier_app import actions, state

if TYPE_CHECKING:
    from engine.report.findings import Findings


@dataclass(frozen=True)
class Missing:
    """Why there is nothing to show: in words, and the page that helps with the label of its button."""

    words: str
    page: str
    label: str


def source() -> Findings | Missing:
    """The findings at hand; raises the engine's own sentences."""
    now = state.get()
    at = now.workspace
    board = at.board if at else None
    if board is not None:
        from engine.report.findings import read_board

        return now.memo.get("board", str(board), lambda: read_board(board))
    path = actions.own_study()
    if path is None:
        return Missing("There is nothing for a board to look at yet: open data and run a study.", "data", "Open data")
    from engine.describe import remade
    from engine.report.findings import findings
    from engine.states import state_of
    from engine.study import Study

    with Study.open(path) as study:
        standing = state_of(study)
        if standing.state == "withheld":
            return Missing(
                f"It is recommended to release nothing. Reason given: {standing.why}", "recommend", "See Recommend"
            )
        choice = standing.choice
        if choice is None:
            return Missing(
                "Nothing has been recommended yet. A board looks at one recommended release.",
                "recommend",
                "Recommend a release",
            )
        raw = now.raw
        if raw is None:
            return Missing(
                "The board's figures are computed from the data, which are not open.", "data", "Open the data"
            )
        depends = (str(path), study.stamp(), choice.at, standing, study.plan)

        def make() -> Findings:
            return findings(study, remade(study, raw, choice.label, choice.replicate))

        return now.memo.get("board", depends, make)
