"""The tokens of this server, and the workspace that each opens.

The token in an address belongs either to the launch, the start of this server, or to a workspace.  The launch's token
is in the address that `frontier app` printed.  It opens the workspace that the launch is on and carries the rights of
who started the server: to open files by their path, and to go on with earlier work.  A workspace's token opens that
workspace while the server that gave it runs.  It carries those rights only if the workspace was opened in a session
that had them.  A door's token carries the rights and opens nothing: it is in the address while such a session has
nothing open.  Who has the rights is in this process's memory, as digests, and no file says it.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from pathlib import Path

from frontier_app.session import workspace
from frontier_app.session.workspace import Workspace, digest, new_token


@dataclass
class _Launch:
    """Digest of the launch's token ("" before there is a launch), the folder it opens, whether it shows its visitor
    around, and digests of the tokens that carry the rights of who started the server: of workspaces, and of doors."""

    token: str = ""
    folder: Path | None = None
    tour: bool = False
    owned: set[str] = field(default_factory=set)
    doors: set[str] = field(default_factory=set)


_launch = _Launch()


@dataclass(frozen=True)
class Opened:
    """The access that a token gives: a workspace, if any, whether with the rights of who started the server, and
    whether the guided tour is on."""

    workspace: Workspace | None
    owner: bool
    tour: bool = False


def begin(token: str, folder: Path | None, *, tour: bool = False) -> None:
    """A launch begins: ``token`` is the digest of its token, ``folder`` the workspace that it is on, if any; ``tour``
    says that it begins with the guided tour."""
    _launch.token, _launch.folder, _launch.tour = token, folder, tour
    _launch.owned.clear()
    _launch.doors.clear()


def is_the_launch(token: str) -> bool:
    """Return whether a token is that of the launch."""
    return bool(_launch.token) and hmac.compare_digest(_launch.token.encode(), digest(token).encode())


def shows_around() -> bool:
    """Return whether the launch began with the guided tour, and nobody has ended it."""
    return _launch.tour


def end_tour() -> None:
    """The tour with which the launch began is ended: the page loaded again begins without it."""
    _launch.tour = False


def own(token: str) -> None:
    """From now to the server's end a workspace's token carries the rights of who started the server."""
    _launch.owned.add(digest(token))


def door() -> str:
    """A new token that carries the rights of who started the server and opens nothing."""
    token = new_token()
    _launch.doors.add(digest(token))
    return token


def _among(token: str, digests: set[str]) -> bool:
    digest_given = digest(token).encode()
    return any(hmac.compare_digest(known.encode(), digest_given) for known in digests)


def opened_by(token: str | None) -> Opened | None:
    """The access that a token gives; None if it gives none."""
    if not token or not workspace.TOKEN.fullmatch(token):
        return None
    if is_the_launch(token):
        folder = _launch.folder
        if folder is None or not folder.is_dir():  # it may have been deleted since
            return Opened(None, True)
        return Opened(Workspace(folder, token), True, _launch.tour)
    if _among(token, _launch.doors):
        return Opened(None, True)
    at = workspace.find(token)
    return Opened(at, _among(token, _launch.owned)) if at else None
