"""Progress of a long command, on standard error."""

from __future__ import annotations

import sys
import time

from engine.common.output import say, say_again
from engine.common.terminal import obeys_codes, width_of
from engine.common.wording import duration

_BAR = 30


class Ticker:
    """Progress on standard error: a bar that grows on a terminal, a line per tenth elsewhere."""

    def __init__(self) -> None:
        self.begin: tuple[float, int] | None = None
        self.tenth = -1

    def __call__(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` runs are done, and how long the others will take."""
        now = time.monotonic()
        if self.begin is None:
            self.begin = (now, done)
        fresh = done - self.begin[1]
        left = f", {duration((now - self.begin[0]) / fresh * (total - done))} left" if fresh and done < total else ""
        line = f"{done:,} of {total:,} runs{left}"
        tenth = 10 * done // max(1, total)
        if obeys_codes(sys.stderr):
            say_again(_with_bar(line, done / max(1, total), width_of(sys.stderr)), sys.stderr, last=done >= total)
        elif tenth != self.tenth:
            say(line, file=sys.stderr, flush=True)
        self.tenth = tenth


def _with_bar(line: str, share: float, width: int | None) -> str:
    """A line after a bar, where both fit."""
    done = int(_BAR * share)
    full = f"[{'#' * done}{'.' * (_BAR - done)}] {int(100 * share):3d} %  {line}"
    return full if width is None or len(full) <= width else line[:width]


def announce(text: str) -> None:
    """Say one sentence at once."""
    say(text, file=sys.stderr, flush=True)
