"""The study key: 128 secret bits in a file of their own, beside the study and never in it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.os_support import write_private
from engine.common.streams import KEY_BYTES
from engine.common.streams import new_key as new_key  # a sweep in memory draws one too
from engine.common.untrusted import read_plain

_MOST_BYTES = 4096
"""Of a key's file: room for digits and blanks, and no more than is read at once."""


def key_path(study: str | Path, key_file: str | Path | None = None) -> Path:
    """Path of a study's key: ``PATH.key`` beside the study, unless another file is named."""
    return Path(key_file) if key_file else Path(str(study) + ".key")


def read_key(path: Path) -> bytes:
    """Return the key in a file: 32 hexadecimal digits, or the 16 bytes themselves.  Raises :class:`EngineError` for a
    file that cannot be read and for one that holds no key."""
    try:
        content = read_plain(path, _MOST_BYTES, follow=True)
    except FileNotFoundError:
        raise UsageError(
            f"key file '{path.name}' does not exist; without its key a study cannot go on. Name it", Remedy.KEY_FILE
        ) from None
    except OSError:
        raise EngineError(f"key file '{path.name}' cannot be read") from None
    try:
        key = bytes.fromhex(content.decode("ascii").strip())  # half a key in digits has as many bytes as a whole one
    except ValueError:
        key = content
    if len(key) != KEY_BYTES:
        raise EngineError(f"key file '{path.name}' holds no study key; wanted {2 * KEY_BYTES} hexadecimal digits")
    return key


def read_or_make_key(path: Path) -> bytes:
    """Return the key in a file, made there from the system's secure source when the file does not exist."""
    return read_key(path) if path.exists() else _written(path, new_key())


def write_key(path: Path, key: bytes) -> None:
    """Write a key to a file that its owner alone can read; refuses (:class:`UsageError`) one that holds another."""
    if (read_key(path) if path.exists() else _written(path, key)) != key:
        raise UsageError(f"key file '{path.name}' holds another key; choose another file")


def _written(path: Path, key: bytes) -> bytes:
    """The key that a file holds after this one was written to it: another, where another process was first."""
    if not path.parent.is_dir():
        raise UsageError(f"the folder of key file '{path.name}' does not exist; make it first")
    with suppress(FileExistsError):
        write_private(path, key.hex().encode() + b"\n")
    return read_key(path)
