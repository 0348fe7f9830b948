"""Facts of earlier studies of the same data that the board reads: no name or figure of a candidate."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EarlierFacts:
    """An earlier study as it was when a later one began.

    ``begun`` is a day, ``candidates`` had results; ``choices`` were recorded, of which ``decision`` is the latest event
    in words (empty: none was recorded), under these ``bounds`` on risk, the plan's first.  ``differences`` of its plan
    from the later one are in words; ``later`` says that the later one is another earlier study.  ``certain`` says that
    the data are known to be the same, and not only to have the same shape.
    """

    begun: str
    candidates: int
    choices: int
    decision: str
    bounds: tuple[str, ...]
    differences: tuple[str, ...]
    later: bool = False
    certain: bool = True


@dataclass(frozen=True)
class LedgerFacts:
    """What came before a study, oldest first.

    ``unrelated`` studies of the same data were said to have nothing to do with it, for these ``reasons``; ``unread``
    files beside it could not be read.  ``approved_after`` says that the plan was approved after an earlier study had
    begun of which there were results.
    """

    earlier: tuple[EarlierFacts, ...] = ()
    unrelated: int = 0
    reasons: tuple[str, ...] = ()
    unread: int = 0
    approved_after: bool = False
