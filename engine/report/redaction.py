"""Texts for the board without what it may not see, and titles of measures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.common.wording import lower_first
from engine.decision.statements import Statement
from engine.measures import MeasureCall

if TYPE_CHECKING:
    from engine.report.facts import Better
    from engine.study.study import Study

WITHHELD = "[withheld]"
_LABEL = re.compile(r"\bx[0-9a-f]{3,20}(/\d+)?\b")
_PATH = re.compile(r"""(?<![^\s"'(=])(?:file://|[A-Za-z]:[\\/]|\\\\|~?/)[^\s"')]*[\\/][^\s"')]*""")
_SECRET = re.compile(r"\b[0-9a-fA-F]{24,}\b")
_RUN = re.compile(r"\breplicate\s*(?:no\.?|number|#)?\s*\d+", re.IGNORECASE)


@dataclass(frozen=True)
class Redactor:
    """Takes out of a free text what identifies a run: internal names become letters; paths, numbers of replicates and
    anything that looks like a key are withheld."""

    letters: Mapping[str, str]
    calls: tuple[MeasureCall, ...] = ()

    @classmethod
    def of(cls, study: Study, letters: Mapping[str, str]) -> Redactor:
        """For a study whose scenarios have these letters (label to letter)."""
        return cls(letters, study.measures)

    def __call__(self, text: str) -> str:
        """The text as the board may see it."""
        text = _PATH.sub(WITHHELD, text)
        for call in sorted(self.calls, key=lambda c: -len(str(c))):
            text = re.sub(rf"\b{re.escape(str(call))}(?![\w\[])", _as_it_is(lower_first(title_of(call))), text)
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


def _as_it_is(text: str) -> str:
    """A text as a replacement: a backslash in the name of a column is no reference to a group."""
    return text.replace("\\", "\\\\")


def is_count_risk(call: MeasureCall) -> bool:
    """Whether a measure is eq. 6, which reports show as a count of records."""
    return call.measure.of_unaltered


def _shown(key: str, value: int | str) -> str | None:
    """A parameter as a word, or None where it might name a file."""
    text = str(value)
    if key == "file" or "/" in text or "\\" in text or re.search(r"\.\w{2,8}$", text):
        return None
    return f"{key.replace('_', ' ')} {text}"


def title_of(call: MeasureCall) -> str:
    """A measure's title with what is particular about it; never a file's name."""
    title = call.measure.title
    if call.measure.better == "zero":
        title = f"Size of {lower_first(title)}"
    parameters = [_shown(key, value) for key, value in call.parameters if value != call.measure.parameters[key]]
    particulars = [text for text in parameters if text]
    if call.attributes is not None:
        particulars.append("of " + " × ".join(call.attributes))
    return title + (f" ({', '.join(particulars)})" if particulars else "")


def meaning_of(call: MeasureCall) -> str:
    """What a measure says, in words for the board."""
    return call.meaning


def unit_of(call: MeasureCall) -> str:
    """The unit in which reports show a measure."""
    return call.measure.unit


def better_of(call: MeasureCall) -> Better:
    """Which figures of a measure are better as reports show them: of a signed change its size, which is better low."""
    return "higher" if call.measure.better == "higher" else "lower"
