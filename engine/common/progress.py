"""Progress of a long command, on standard error."""

from __future__ import annotations

import sys

from engine.common.output import say, say_again
from engine.common.terminal import obeys_codes, width_of

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
