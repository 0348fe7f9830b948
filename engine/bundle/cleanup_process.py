"""The process that clears up after an export that is killed.

It is run by its path and imports nothing but Python's own library, so that it starts in a few milliseconds.  The export
tells it the folder that it is going to write into, before that folder exists, and holds the other end of a pipe; when
the pipe ends, however the export ended, that folder is removed if it is still there under that name.  A finished export
has renamed it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time

_PATIENCE = 10.0  # seconds: a process that the export had started may write into the folder for a moment yet
_PAUSE = 0.1


def main() -> None:
    """Read the folder's path as a line of JSON, say so, wait for the end of the pipe, and remove the folder."""
    folder = json.loads(sys.stdin.buffer.readline())
    sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()
    while sys.stdin.buffer.read(1):
        pass
    until = time.monotonic() + _PATIENCE
    while os.path.lexists(folder) and time.monotonic() < until:
        shutil.rmtree(folder, ignore_errors=True)
        if os.path.lexists(folder):
            time.sleep(_PAUSE)


if __name__ == "__main__":
    main()
