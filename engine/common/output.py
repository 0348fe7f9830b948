"""What commands print: to a terminal or a file of any encoding, progress, messages for people and programs.

Nothing else in the engine prints.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal, TextIO, get_args

from engine.common.wording import printable

COLOURS = {"green": "32", "bold green": "1;32", "yellow": "33"}


def obeys_codes(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that codes steer. A console of Windows is asked to, and an old one
    refuses."""
    if not stream.isatty() or os.environ.get("TERM") == "dumb":
        return False
    return _console_obeys(stream) if sys.platform == "win32" else True


def shows_colours(stream: TextIO) -> bool:
    """Return whether text on a stream may be coloured: on a terminal, unless ``NO_COLOR`` (https://no-color.org) is
    set."""
    return not os.environ.get("NO_COLOR") and obeys_codes(stream)


def width_of(stream: TextIO) -> int | None:
    """The number of columns that a line of a terminal may take; None where the stream is none, so that nothing is cut
    for it.

    One stays free: a line that fills a console of Windows is followed by an empty one.
    """
    return shutil.get_terminal_size().columns - 1 if stream.isatty() else None


def _console_obeys(stream: TextIO) -> bool:
    """Let a console of Windows obey codes, as it does for few programs unasked; False where it knows none."""
    if sys.platform != "win32":
        return False
    import ctypes
    import msvcrt

    steered = 0x4  # ENABLE_VIRTUAL_TERMINAL_PROCESSING
    handle = ctypes.c_void_p(msvcrt.get_osfhandle(stream.fileno()))
    mode, kernel32 = ctypes.c_ulong(), ctypes.windll.kernel32
    if not kernel32.GetConsoleMode(handle, ctypes.byref(mode)):
        return False
    return bool(mode.value & steered or kernel32.SetConsoleMode(handle, mode.value | steered))


def text_width(text: str) -> int:
    """The number of columns of a terminal that a text takes: signs of East Asia take two, accents of their own none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text
    )


def shortened(text: str, width: int) -> str:
    """A text in at most so many columns (three or more), with dots in place of an end that does not fit."""
    if text_width(text) <= width:
        return text
    while text_width(text) > width - 3:
        text = text[:-1]
    return f"{text}..."


def padded(text: str, width: int, right: bool = False) -> str:
    """A text filled up with blanks to so many columns."""
    blanks = " " * (width - text_width(text))
    return blanks + text if right else text + blanks


def coloured(text: str, colour: str) -> str:
    """A text in one of :data:`COLOURS`."""
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"


_CLEAR = "\r\x1b[K"


def open_closed_streams() -> None:
    """Let what is said on a stream that was closed from the start go nowhere.  Whatever file is opened next would get
    its number otherwise, and what libraries say."""
    number = os.open(os.devnull, os.O_RDWR)
    while number <= 2:  # one of the three that are closed
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # for as long as the process


def escape_unknown_signs() -> None:
    """From now on print a sign that the locale's encoding lacks as its escape; it would end the command otherwise."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


_unfinished: list[TextIO] = []
"""The terminal with a line that :func:`say_again` will write over; at most one."""


@contextmanager
def _if_it_can_be_told(file: TextIO | None) -> Iterator[None]:
    """Let nothing end because progress or a warning cannot be told: the disk that standard error goes to may be full,
    or its reader gone."""
    try:
        yield
    except OSError:
        if file is not sys.stderr:
            raise


def say(text: str = "", *, end: str = "\n", file: TextIO | None = None, flush: bool = False, colour: str = "") -> None:
    """Print words, to standard output unless told; names in them cannot steer a terminal.

    What would is written out as ``\\u001b``, also into files and pipes, since those are read on terminals later.  A
    JSON text stays the same value.  ``colour`` is one of :data:`engine.common.output.COLOURS`, where colours are
    shown.
    """
    if _unfinished:
        left = _unfinished.pop()
        with _if_it_can_be_told(left):
            print(_CLEAR, end="", file=left, flush=True)
    text = printable(text)
    if colour and shows_colours(file or sys.stdout):
        text = coloured(text, colour)
    with _if_it_can_be_told(file):
        print(text, end=end, file=file, flush=flush)


def say_again(line: str, file: TextIO, *, last: bool) -> None:
    """Print a line over the one before, on a terminal that obeys codes.  Whatever is said next takes its place, unless
    it is the last."""
    _unfinished[:] = [] if last else [file]
    with _if_it_can_be_told(file):
        print(_CLEAR + printable(line), end="\n" if last else "", file=file, flush=True)


def write_file_text(text: str) -> None:
    """Print the text of a file, such as a plan: in UTF-8 and with its own line ends, whatever the locale says.  What
    would steer a terminal is written as TOML escapes it, which reads as the same plan."""
    sys.stdout.flush()
    sys.stdout.buffer.write(printable(text).encode())
    sys.stdout.buffer.flush()


_BAR = 30


class Ticker:
    """Progress on standard error: a bar that grows on a terminal, a line per tenth elsewhere."""

    def __init__(self) -> None:
        self._left = ""
        self._tenth = -1

    def time_left(self, left: object | None) -> None:
        """Take what the next line is to say of the time left (``about 3 min left``); None while nobody can tell."""
        self._left = "" if left is None else f", {left}"

    def __call__(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` runs are done, and how long the others will take."""
        line = f"{done:,} of {total:,} runs{self._left if done < total else ''}"
        tenth = 10 * done // max(1, total)
        if obeys_codes(sys.stderr):
            say_again(_with_bar(line, done / max(1, total), width_of(sys.stderr)), sys.stderr, last=done >= total)
        elif tenth != self._tenth:
            say(line, file=sys.stderr, flush=True)
        self._tenth = tenth


def _with_bar(line: str, share: float, width: int | None) -> str:
    """A line after a bar, where both fit."""
    done = int(_BAR * share)
    full = f"[{'#' * done}{'.' * (_BAR - done)}] {int(100 * share):3d} %  {line}"
    return full if width is None or len(full) <= width else line[:width]


def announce(text: str) -> None:
    """Say one sentence at once."""
    say(text, file=sys.stderr, flush=True)


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
