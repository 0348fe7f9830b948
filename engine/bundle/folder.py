"""A new folder that is there whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from engine.errors import EngineError, UsageError
from engine.places import process_is_alive

_FREE = 1 << 16  # a disk with less room than this is full


class Failed(EngineError):
    """A folder could not be written; nothing was left behind."""


@contextmanager
def new_folder(out: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    """A hidden folder beside ``out`` to write into, and the step that makes it ``out``.

    Whatever goes wrong before that step, nothing is left; what a killed process left is removed by the next one here.
    """
    check_new(out)
    parent = out.absolute().parent
    _remove_left_over(parent, out.name)
    try:
        aside = Path(tempfile.mkdtemp(prefix=f".{out.name}.{os.getpid()}.", suffix=".part", dir=parent))
    except OSError as error:
        raise Failed(f"cannot write beside '{out.name}': {_reason(error, parent)}; choose another --out") from None

    def finish() -> None:
        os.chmod(aside, 0o755)
        if out.exists():
            out.rmdir()
        os.rename(aside, out)

    try:
        yield aside, finish
    except EngineError:
        raise
    except Exception as error:
        # Libraries that write documents wrap a full disk in errors of their own.
        if not isinstance(error, OSError) and not _is_full(aside):
            raise
        raise Failed(
            f"the export to '{out.name}' could not be written: {_reason(error, parent)}; nothing was left behind"
        ) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def check_new(out: Path) -> None:
    """Refuse a folder that holds something already, or whose parent is not there."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(
            f"'{out.name}' exists and is not an empty folder; an export never overwrites. Choose another --out."
        )
    if not out.absolute().parent.is_dir():
        raise UsageError(f"the folder that should hold '{out.name}' does not exist; make it first")


def _reason(error: Exception, folder: Path) -> str:
    if _is_full(folder) or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full"
    return getattr(error, "strerror", None) or type(error).__name__


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _FREE
    except OSError:
        return False


def _remove_left_over(parent: Path, name: str) -> None:
    """Remove the hidden folders that killed exports to the same name left here."""
    wanted = re.compile(re.escape(f".{name}.") + r"(\d+)\..*\.part")
    with suppress(OSError):
        for path in parent.iterdir():
            match = wanted.fullmatch(path.name)
            if match and path.is_dir() and not process_is_alive(int(match[1])):
                shutil.rmtree(path, ignore_errors=True)
