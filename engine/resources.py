"""Where the files that ship with the package are, and where a user's own data may be kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from engine.errors import EngineError

_PACKAGE = Path(__file__).resolve().parent
_SHIPPED = _PACKAGE / "_shipped"


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
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise EngineError(
            f"the private data folder '{folder.name}' could not be made ({error.strerror}); "
            "set FRONTIER_HOME to a folder you may write to"
        ) from None
    return folder


def user_folder_place() -> Path:
    """Where :func:`user_folder` is or would be, without making it."""
    return _user_folder(os.environ, sys.platform, Path.home())


def _user_folder(environment: os._Environ[str] | dict[str, str], platform: str, home: Path) -> Path:
    if environment.get("FRONTIER_HOME"):
        return Path(environment["FRONTIER_HOME"]).expanduser()
    if platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local") / "swap-frontier"
    if platform == "darwin":
        return home / "Library" / "Application Support" / "swap-frontier"
    return Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share") / "swap-frontier"


def _shipped_or_checkout(shipped: str, checkout: str) -> Path:
    inside = _SHIPPED / shipped
    return inside if inside.exists() else _PACKAGE.parent / checkout
