"""Properties of the terminal that a stream goes to: its width, and whether codes colour its text or move its cursor."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from typing import TextIO

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
