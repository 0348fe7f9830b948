"""Why a bundle was refused."""

from __future__ import annotations

from engine.errors import EngineError


class Refused(EngineError):
    """A bundle was refused: it held what its reader must not see, or its swap could be undone.

    ``kind`` says why in words that may be logged: never a secret, a name or a path.
    """

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind
