"""Locations of files that ship with the package, and of a user's own data."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from engine.common.errors import EngineError
from engine.common.os_support import expanded, others_of, reason_of

_PACKAGE = Path(__file__).resolve().parents[1]
_SHIPPED = _PACKAGE / "_shipped"
_PLACES = {"win32": ("LOCALAPPDATA", "AppData/Local"), "darwin": ("", "Library/Application Support")}


def datasets_folder() -> Path:
    """The folder of the sample data: inside an installed package, or at the top of a checkout."""
    return _shipped_or_checkout("datasets", "datasets")


def glossary_path() -> Path:
    """The glossary: inside an installed package, or under ``docs`` in a checkout."""
    return _shipped_or_checkout("GLOSSARY.md", "docs/GLOSSARY.md")


def user_folder() -> Path:
    """A private folder for this user's data, made when it is not there (mode 0700).

    ``FRONTIER_HOME`` wins; otherwise the platform's own place for application data.
    """
    folder = user_folder_place()
    shown = f"the private data folder '{folder.name}'"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise EngineError(
            f"{shown} could not be made ({reason_of(error)}); set FRONTIER_HOME to a folder you may write to"
        ) from None
    if others := others_of(folder):
        raise EngineError(f"{shown} {others}; set FRONTIER_HOME to a folder that you alone can change (mode 700)")
    return folder


def home() -> Path | None:
    """This user's home folder; None where the system knows none: HOME is not set, and no account has the number."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def user_folder_place() -> Path:
    """The path that :func:`user_folder` has or would have, without making it."""
    return _user_folder(os.environ, sys.platform, home())


def _user_folder(environment: os._Environ[str] | dict[str, str], platform: str, home: Path | None) -> Path:
    if environment.get("FRONTIER_HOME"):
        return expanded(environment["FRONTIER_HOME"])
    variable, inside = _PLACES.get(platform, ("XDG_DATA_HOME", ".local/share"))
    if environment.get(variable):
        return Path(environment[variable]) / "swap-frontier"
    if home is None:
        raise EngineError("this user has no home folder, in which private data is kept; set FRONTIER_HOME to one")
    return home / inside / "swap-frontier"


def _shipped_or_checkout(shipped: str, checkout: str) -> Path:
    inside = _SHIPPED / shipped
    return inside if inside.exists() else _PACKAGE.parent / checkout
