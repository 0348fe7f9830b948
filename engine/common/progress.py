"""Progress of a long command, on standard error."""

from __future__ import annotations

import sys
import time

from engine.common.output import say, say_again
from engine.common.wording import duration


class Ticker:
    """Progress on standard error: a line that moves on a terminal, a line per tenth elsewhere."""

    def __init__(self) -> None:
        self.begin: tuple[float, int] | None = None
        self.shown = -1

    def __call__(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` runs are done, and how long the others will take."""
        now = time.monotonic()
        if self.begin is None:
            self.begin = (now, done)
        tenth = 10 * done // max(1, total)
        if not sys.stderr.isatty() and tenth == self.shown:
            return
        self.shown = tenth
        fresh = done - self.begin[1]
        left = f", {duration((now - self.begin[0]) / fresh * (total - done))} left" if fresh and done < total else ""
        line = f"{done:,} of {total:,} runs{left}"
        if sys.stderr.isatty():
            say_again(line, sys.stderr, last=done >= total)
        else:
            say(line, file=sys.stderr, flush=True)


def announce(text: str) -> None:
    """Say one sentence at once."""
    say(text, file=sys.stderr, flush=True)
