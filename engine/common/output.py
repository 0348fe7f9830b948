"""Printing of commands, to a terminal or a file of any encoding; nothing else in the engine prints."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from engine.common.printable import printable
from engine.common.terminal import coloured, shows_colours

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
    JSON text stays the same value.  ``colour`` is one of :data:`engine.common.terminal.COLOURS`, where colours are
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
