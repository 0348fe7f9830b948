"""The reason why a bundle was refused."""

from __future__ import annotations

import re

from engine.common.errors import EngineError

_ATTACKED = re.compile(
    r"the release was refused: an attack on it succeeded \((?P<why>.*)\); (?P<mend>.*)\. Nothing was written", re.DOTALL
)


class Refused(EngineError):
    """A bundle was refused: it held what its reader must not see, or its swap could be undone.

    ``kind`` says why in words that may be logged: never a secret, a name or a path.
    """

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


def attacked_words(why: str, mend: str) -> str:
    """The sentence with which a release is refused because an attack on it succeeded: what it found, what to do."""
    return f"the release was refused: an attack on it succeeded ({why}); {mend}. Nothing was written"


def read_attacked(sentence: str) -> tuple[str, str] | None:
    """What the attack found and what to do about it, out of such a sentence; None for any other."""
    found = _ATTACKED.fullmatch(sentence)
    return (found["why"], found["mend"]) if found else None
