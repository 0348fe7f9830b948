"""Read some columns of a CSV or Parquet file again, and refuse a file that has changed since."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.common.errors import EngineError
from engine.data.microdata import RawColumn

FileState = tuple[int, int, int]


def file_state(path: Path) -> FileState:
    """Size, time of the last change and number of a file: together they tell whether it was changed or replaced."""
    about = path.stat()
    return about.st_size, about.st_mtime_ns, about.st_ino


@dataclass(frozen=True)
class Reread:
    """Reader of further columns of an unchanged file: ``read`` gives those of some names, in the order of the names.

    A file that has changed or gone since it was ``before`` is an :class:`EngineError`.
    """

    path: Path
    before: FileState
    read: Callable[[Path, Sequence[str]], list[RawColumn]]

    def __call__(self, names: Sequence[str]) -> list[RawColumn]:
        """The columns of these names."""
        self._check()
        try:
            return self.read(self.path, names)
        except OSError as error:
            raise EngineError(
                f"file '{self.path.name}' could not be read: {error.strerror or 'input or output failed'}"
            ) from None
        finally:
            self._check()

    def _check(self) -> None:
        check_unchanged(self.path, self.before)


def check_unchanged(path: Path, before: FileState) -> None:
    """Refuse (:class:`EngineError`) a file that has changed or gone since it was ``before``."""
    try:
        now = file_state(path)
    except OSError as error:
        raise EngineError(
            f"file '{path.name}' cannot be read again: {os.strerror(error.errno or 0)}; its columns are read "
            "when they are needed, so leave it where it is while you work on it"
        ) from None
    if now != before:
        raise EngineError(
            f"file '{path.name}' has changed since it was opened; open it again, and leave it as it is while "
            "you work on it"
        )
