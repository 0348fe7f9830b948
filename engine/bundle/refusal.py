"""The reason why a bundle was refused."""

from __future__ import annotations

from typing import Literal

from engine.common.errors import EngineError

Attack = Literal["keys", "undoing", "order", "identifiers", "recodes", "misfits"]


class Refused(EngineError):
    """A bundle was refused: it held what its reader must not see, or its swap could be undone.

    ``kind`` says why in words that may be logged: never a secret, a name or a path.
    """

    def __init__(self, message: str, kind: str, **values: str) -> None:
        super().__init__(message, None, **values)
        self.kind = kind


class AttackSucceeded(Refused):
    """A release was refused because an attack on it succeeded: which one, why it did (``why``) and what to do about it
    (``mend``)."""

    def __init__(self, attack: Attack, why: str, mend: str) -> None:
        sentence = f"the release was refused: an attack on it succeeded ({why}); {mend}. Nothing was written"
        super().__init__(sentence, f"attack: {attack}", attack=attack, why=why, mend=mend)
