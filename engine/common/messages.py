"""Messages of a command at work and at its end: sentences for a person, JSON lines for a program."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal, get_args

from engine.common.output import say

MessageKind = Literal["step", "note", "warning", "error", "fault"]
_KINDS = get_args(MessageKind)


@dataclass(frozen=True)
class Message:
    """One report: a ``step`` that begins, a ``note`` or a ``warning`` on it, or how a command ended: with an ``error``,
    or by a ``fault`` of the program.  ``values`` are particulars of an error, by name; ``remedy`` names the
    :class:`~engine.common.errors.Remedy` that mends it, if there is one."""

    kind: MessageKind
    text: str
    values: Mapping[str, str] = field(default_factory=dict)
    remedy: str = ""

    @property
    def sentence(self) -> str:
        """For a person."""
        before = {"note": "note: ", "warning": "warning: ", "error": "frontier: "}
        return before.get(self.kind, "") + self.text


Report = Callable[[Message], None]


def report_words(message: Message) -> None:
    """Report to a person, on standard error."""
    say(message.sentence, file=sys.stderr, flush=True)


def report_json(message: Message) -> None:
    """Report to the program that started this one: one line of JSON on standard error."""
    say(json.dumps(asdict(message)), file=sys.stderr, flush=True)


def report_fault(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Report to that program that this one ended with a defect of its own; what it was stays in the traceback."""
    sys.__excepthook__(kind, error, trace)
    report_json(Message("fault", kind.__name__))


def read_messages(path: Path) -> list[Message]:
    """The messages among the lines that a started program wrote; all else, such as a traceback, is left out."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [message for message in map(_read, lines) if message is not None]


def _read(line: str) -> Message | None:
    try:
        stored = json.loads(line)
    except ValueError:
        return None
    if not isinstance(stored, dict) or stored.keys() - {"remedy"} != {"kind", "text", "values"}:
        return None
    kind, text, values = stored["kind"], stored["text"], stored["values"]
    if kind not in _KINDS or not isinstance(values, dict):
        return None
    return Message(kind, str(text), values, str(stored.get("remedy", "")))
