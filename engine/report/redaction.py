"""Texts for the board without what it may not see, and titles of measures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.common.wording import lower_first
from engine.decision.bounds import title_of
from engine.decision.statements import Statement
from engine.measures import MeasureCall

if TYPE_CHECKING:
    from engine.report.facts import Better

WITHHELD = "[withheld]"
_LABEL = re.compile(r"\bx[0-9a-f]{3,20}(/\d+)?\b")
_PATH = re.compile(r"""(?<![^\s"'(=])(?:file://|[A-Za-z]:[\\/]|\\\\|~?/)[^\s"')]*[\\/][^\s"')]*""")
_SECRET = re.compile(r"\b[0-9a-fA-F]{24,}\b")
_RUN = re.compile(r"\breplicate\s*(?:no\.?|number|#)?\s*\d+", re.IGNORECASE)


@dataclass(frozen=True)
class Redactor:
    """Takes out of a free text what identifies a run: internal names become letters (``letters`` by label), names of
    measures titles; paths, numbers of replicates and anything that looks like a key are withheld."""

    letters: Mapping[str, str]
    calls: tuple[MeasureCall, ...] = ()

    def __call__(self, text: str) -> str:
        """The text as the board may see it."""
        text = _PATH.sub(WITHHELD, text)
        for call in sorted(self.calls, key=lambda c: -len(str(c))):
            title = lower_first(title_of(call)).replace(
                "\\", "\\\\"
            )  # a backslash in a name is no reference to a group
            text = re.sub(rf"\b{re.escape(str(call))}(?![\w\[])", title, text)
        text = _LABEL.sub(self._candidate, text)
        text = _SECRET.sub(WITHHELD, text)
        return _RUN.sub("one run", text)

    def statement(self, found: Statement) -> Statement:
        """A statement whose texts the board may see."""
        values = {name: self(value) if isinstance(value, str) else value for name, value in found.values.items()}
        return replace(found, values=values)

    def all(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Several texts."""
        return tuple(self(text) for text in texts)

    def _candidate(self, match: re.Match[str]) -> str:
        letter = self.letters.get(match.group().partition("/")[0])
        return f"candidate {letter}" if letter else "another candidate"


def better_of(call: MeasureCall) -> Better:
    """Which figures of a measure are better as reports show them: of a signed change its size, which is better low."""
    return "higher" if call.measure.better == "higher" else "lower"
