"""The source of the board's findings: a board bundle, or the open study with its data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from engine.decision.states import decision_status
from engine.report.build_findings import findings
from engine.report.describe import remade
from engine.report.documents import docx
from engine.report.findings import Findings, read_board
from engine.report.no_release import considered, no_release_memo, reason
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from frontier_app.session import actions, state
from frontier_app.widgets import study_page


@dataclass(frozen=True)
class Missing:
    """The reason why there is nothing to show: in words, and the page that helps with the label of its button."""

    words: str
    page: str
    label: str


@dataclass(frozen=True)
class NoRelease:
    """The decision to release nothing: its reason, who made it and when, what it rests on, in sentences, and its memo
    as DOCX, made when it is asked for."""

    why: str
    by: str
    at: str
    rests_on: tuple[str, ...]
    memo: Callable[[], bytes]


def _memo(path: Path) -> bytes:
    with Study.open(path) as study:
        return docx(no_release_memo(study, risk_utility_map(study)))


def has_copy() -> bool:
    """Return whether the open study's plan withholds the rate from a circulating copy."""
    path = actions.own_study()
    if path is None:
        return False
    with Study.open(path) as study:
        return study.plan.publish.members_rate == "withhold"


def source() -> Findings | NoRelease | Missing:
    """The findings at hand; raises the engine's own sentences."""
    now = state.get()
    at = now.workspace
    board = at.board if at else None
    if board is not None:
        return now.memo.get("board", str(board), lambda: read_board(board))
    path = actions.own_study()
    if path is None:
        return Missing(
            "There is nothing for a board to look at yet: open data and run a study.", *study_page.first_step()
        )
    with Study.open(path) as study:
        status = decision_status(study)
        if status.state == "withheld":
            view = actions.the_map(None, None, now.look.partial)
            assert view is not None
            rests_on = tuple(considered(study, view)) if len(view.results) else ()
            return NoRelease(reason(study, status.why), status.by, status.at, rests_on, partial(_memo, path))
        choice = status.choice
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
        depends = (str(path), study.progress.done, study.choices.count(), choice.at, status, study.plan)

        def make() -> Findings:
            return findings(study, remade(study, raw, choice.label, choice.replicate))

        return now.memo.get("board", depends, make)
