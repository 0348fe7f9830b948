"""What commands print, on a terminal or into a file of any encoding."""

from __future__ import annotations

import io
import sys


def escape_unknown_signs() -> None:
    """From now on print a sign that the locale's encoding lacks as its escape; it would end the command otherwise."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write_file_text(text: str) -> None:
    """Print the text of a file, such as a plan: in UTF-8 and with its own line ends, whatever the locale says."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()
