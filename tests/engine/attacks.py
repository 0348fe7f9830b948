"""The verdict that an approval needs, for tests of what comes after it."""

from __future__ import annotations

from engine.decision.states import decision_status
from engine.decision.verdict_log import log_verdict
from engine.measures.verdict import Verdict
from engine.study.study import Study


def log_attack(study: Study) -> None:
    """Log that the recommended release was attacked, without the work of it."""
    choice = decision_status(study).choice
    assert choice is not None
    log_verdict(study, f"{choice.label}/{choice.replicate}", Verdict("tables", n=100, named=10, right=1.0, guessed=1.0))
