"""A file is written beside its place, and gets its name when it is whole."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def aside(path: str | Path) -> Iterator[Path]:
    """An empty new file in the folder of ``path`` to write to; it becomes ``path`` at the end of the block.

    What the system still holds in memory goes to the disk before that.  Whatever goes wrong earlier, ``path`` stays
    what it was and nothing is left beside it.  An :class:`OSError` names ``path``.
    """
    path = Path(path)
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        part.open("xb").close()
        yield part
        with part.open("r+b") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror or os.strerror(error.errno), str(path)) from None
    finally:
        part.unlink(missing_ok=True)
