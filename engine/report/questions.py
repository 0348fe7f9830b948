"""The ten questions that a board asks, and what an answer to one is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BoardQuestion(StrEnum):
    """The ten questions, in the order in which a board asks them."""

    DECISION = "What is decided?"
    RISK = "What is the risk, against doing nothing?"
    OMISSIONS = "What does this risk leave out?"
    EXPOSED = "Who stays most exposed?"
    LOSSES = "What do users lose?"
    ALTERNATIVES = "Why not safer, or more useful?"
    CERTAINTY = "How sure is this?"
    PLAN = "What was fixed beforehand, and what changed since?"
    COHERENCE = "Is the file coherent, and consistent with other releases?"
    PUBLIC = "What may be said, and who can repeat it?"


@dataclass(frozen=True)
class Answer:
    """A question and its answer, a sentence or more each on a line of its own; the first says the most."""

    question: BoardQuestion
    lines: tuple[str, ...]
