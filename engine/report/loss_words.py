"""Losses of users in sentences: the worst, how many are beyond the tolerances, and what a distance stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.report.loss_facts import ModelRow


def model_words(model: ModelRow) -> str:
    """What the coefficients of a declared analysis mean."""
    references = "; ".join(f"{factor} with {level}" for factor, level in model.references)
    compared = f" Levels are compared with a reference level: {references}." if references else ""
    return f"A positive coefficient stands for more of this: {model.predicts}.{compared}"
