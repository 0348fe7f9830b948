"""Detection of the change in a remade release from published tables of the original, worked out once."""

from __future__ import annotations

from engine.report.detected import detected_once
from engine.study.study import Study
from engine.sweeps.remake import Remade
from frontier_app.session import state
from frontier_app.wording import recognised


def of(study: Study, release: Remade, which: tuple[object, ...]) -> str:
    """It in words; ``which`` are study, candidate and replicate."""
    return recognised.detection_words(
        state.get().memo.get("detected", which, lambda: detected_once(release, study.plan))
    )
