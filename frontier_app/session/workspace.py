"""A workspace: one private folder for a person's work, found again by an unguessable token in the address.

It holds the uploaded file, the plan, the studies with their keys and what was exported.  The token is 128 secret bits,
of which the folder keeps a digest only: neither its name, which others can see, nor its files tell the token.  A token
is good while the server that gave it runs: once that has ended, another program may take its port, and a page that is
still open would tell it the address.  The folder can be read by its owner alone.  Nothing of the data is in the
address.

The tokens of this server, and the workspace that each opens.

The token in an address belongs either to the launch, the start of this server, or to a workspace.  The launch's token
is in the address that `frontier app` printed.  It opens the workspace that the launch is on and carries the rights of
who started the server: to open files by their path, and to go on with earlier work.  A workspace's token opens that
workspace while the server that gave it runs.  It carries those rights only if the workspace was opened in a session
that had them.  A door's token carries the rights and opens nothing: it is in the address while such a session has
nothing open.  Who has the rights is in this process's memory, as digests, and no file says it.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from engine.common.errors import EngineError
from engine.common.os_support import turn, user_folder, write_private
from engine.common.processes import is_running, process_birth
from engine.plan.toml import plan_text

TOKEN = re.compile(r"[A-Za-z0-9_-]{22}")


@dataclass(frozen=True)
class Workspace:
    """A workspace's folder; ``about.json`` in it says which data and which study belong to it.

    ``token`` is the one by which it was found or with which it was made; "" where the folder was found otherwise.
    """

    folder: Path
    token: str = field(default="", compare=False, repr=False)

    @property
    def about(self) -> dict[str, Any]:
        """``data`` is what :func:`engine.plan.samples.open_data` opens, ``study`` a path; each may be None,
        ``clean_names`` how names of columns are read."""
        try:
            about = json.loads((self.folder / "about.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            about = {}
        return {"data": None, "study": None, "clean_names": False, **about}

    @property
    def reading(self) -> list[str]:
        """Arguments that say to a command how the data are read."""
        return ["--clean-names"] if self.about["clean_names"] else []

    def note(self, **changes: Any) -> None:
        """Replace entries of :attr:`about`."""
        self.keep("about.json", json.dumps({**self.about, **changes}))

    def keep(self, name: str, text: str) -> None:
        """Write a file, whole or not at all, that the owner alone can read."""
        write_private(self.folder / name, text.encode(), replace=True)

    @property
    def study(self) -> Path | None:
        """The study at work; it may lie elsewhere, and it need not exist yet."""
        name = self.about["study"]
        return self.folder / name if name else None

    @property
    def board(self) -> Path | None:
        """The board bundle that is looked at instead of a study."""
        path = self.about.get("board")
        return Path(path) if path else None

    @property
    def codebook_path(self) -> Path:
        """The path of the codebook that was given with the data."""
        return self.folder / "codebook.csv"

    @property
    def codebook(self) -> bytes | None:
        """The codebook that was given with the data; None where there is none."""
        return self.codebook_path.read_bytes() if self.codebook_path.exists() else None

    def restore_codebook(self, content: bytes | None) -> None:
        """Put an earlier codebook in the place of the present one; None: there was none."""
        if content is None:
            self.codebook_path.unlink(missing_ok=True)
        else:
            write_private(self.codebook_path, content, replace=True)

    @property
    def plan_path(self) -> Path:
        """The path of the plan."""
        return self.folder / "plan.toml"

    @property
    def log_path(self) -> Path:
        """The file with a sweep's messages."""
        return self.folder / "sweep.log"

    @property
    def look_path(self) -> Path:
        """The path of the view of the map."""
        return self.folder / "look.json"

    @property
    def disputes_path(self) -> Path:
        """The path of what two tabs changed otherwise."""
        return self.folder / "disputes.json"

    def save_look(self, text: str) -> None:
        """Keep how the map is looked at."""
        self.keep(self.look_path.name, text)

    def turn(self) -> AbstractContextManager[None]:
        """Meanwhile no other tab writes the plan: what is read in it is still there when it is written."""
        return turn(self.folder / ".plan.turn")

    @property
    def saved_plan(self) -> str | None:
        """The text of the plan as it is on disk; None where there is none."""
        return plan_text(self.plan_path) if self.plan_path.exists() else None

    def save_plan(self, text: str) -> None:
        """Keep the plan."""
        self.keep(self.plan_path.name, text)

    def save_upload(self, name: str, content: Any) -> Path:
        """Keep an uploaded file (bytes or a buffer) under a harmless form of its name; an earlier one goes."""
        stem, dot, extension = Path(name).name.rpartition(".")
        safe = re.sub(r"[^A-Za-z0-9._-]+", "_", stem if dot else extension).strip("._") or "data"
        self.delete_upload()
        folder = self.folder / "data"
        folder.mkdir(mode=0o700)
        path = folder / f"{safe[:80]}.{extension.lower() if dot else 'csv'}"
        write_private(path, content)
        return path

    def delete_upload(self) -> None:
        """Remove the uploaded file."""
        shutil.rmtree(self.folder / "data", ignore_errors=True)

    def next_study(self) -> Path:
        """A path for a new study beside the earlier ones."""
        n = 1
        while (self.folder / f"study-{n}.study").exists() or (self.folder / f"study-{n}.study.key").exists():
            n += 1
        return self.folder / f"study-{n}.study"

    def begin_study(self) -> None:
        """Put a new study to work.  An earlier one that lies elsewhere is remembered, since the new one follows it."""
        at_work = self.study
        elsewhere = self.elsewhere
        if at_work is not None and at_work.parent != self.folder and at_work.exists():
            elsewhere.append(at_work)
        self.note(study=self.next_study().name, elsewhere=[str(path) for path in elsewhere])

    @property
    def elsewhere(self) -> list[Path]:
        """Earlier studies of the workspace that lie elsewhere, without the one at work."""
        paths = (Path(path) for path in self.about.get("elsewhere", ()))
        return [path for path in paths if path != self.study and path.exists()]

    @property
    def studies(self) -> list[Path]:
        """All studies in the workspace, and those at work in it that lie elsewhere, the latest first."""
        paths = {path for path in self.folder.glob("*.study") if not path.name.startswith(".")}
        paths.update(self.elsewhere)
        if self.study is not None and self.study.exists():
            paths.add(self.study)
        return sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)

    @property
    def used(self) -> float:
        """The time of the last change, in seconds since 1970."""
        paths = [self.folder / "about.json", self.plan_path, *self.folder.glob("*.study")]
        return max(path.stat().st_mtime for path in paths if path.exists())

    def new_export(self, label: str) -> Path:
        """A path for a new export."""
        exports = self.folder / "exports"
        exports.mkdir(mode=0o700, exist_ok=True)
        return exports / f"{label}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"

    def delete(self) -> None:
        """Remove everything in it.  A study that lies elsewhere stays."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.folder.exists():
            raise EngineError("the workspace could not be deleted completely; close programs that use it and try again")


def new_token() -> str:
    """A token that nobody can guess: 128 bits, safe in an address."""
    return secrets.token_urlsafe(16)


def digest(token: str) -> str:
    """The digest of a token, which may be kept: it recognises the token and does not tell it."""
    return sha256(token.encode()).hexdigest()


def _home() -> Path:
    home = user_folder() / "workspaces"
    home.mkdir(mode=0o700, exist_ok=True)
    return home


def _all() -> Iterator[Workspace]:
    """Every workspace of this user."""
    for folder in _home().iterdir():
        if (folder / "about.json").is_file():
            yield Workspace(folder)


def _made() -> Path:
    folder = _home() / secrets.token_hex(8)
    folder.mkdir(mode=0o700)
    return folder


def create() -> Workspace:
    """A new, empty workspace with a token of its own."""
    return reopened(_made())


def reopened(folder: Path) -> Workspace:
    """The workspace in a folder under a new token, good while this process runs; those of others that run stay good."""
    at = Workspace(folder, new_token())
    entry = {"token": digest(at.token), "pid": os.getpid(), "born": process_birth(os.getpid())}
    at.note(tokens=[*(other for other in _tokens(at) if is_running(other["pid"], other["born"])), entry])
    return at


def _tokens(at: Workspace) -> list[dict[str, Any]]:
    """The digests of its tokens, each with the process that gave it."""
    tokens: list[dict[str, Any]] = at.about.get("tokens", [])
    return tokens


def earlier() -> list[Workspace]:
    """Workspaces with data in them, the last used first."""
    return sorted((at for at in _all() if at.about["data"]), key=lambda at: at.used, reverse=True)


def find(token: str | None) -> Workspace | None:
    """The workspace with that token, if there is one and the process that gave it still runs; anything but a
    well-formed token finds nothing.

    Earlier versions named the folder by its token; such a name finds nothing any more.
    """
    if not token or not TOKEN.fullmatch(token):
        return None
    digest_given = digest(token).encode()
    for at in _all():
        for entry in _tokens(at):
            if hmac.compare_digest(entry["token"].encode(), digest_given) and is_running(entry["pid"], entry["born"]):
                return Workspace(at.folder, token)
    return None


def link(study: Path | None, data: str | None) -> Workspace:
    """A workspace on a study and data that lie elsewhere; the one with the same study, if there is one, or without a
    study the one made for the same data.

    It has no token: the launch's own opens it (:mod:`frontier_app.session.workspace`).
    """
    study_path = study.absolute() if study else None
    for candidate in _all():
        about = candidate.about
        at = candidate.study.absolute() if candidate.study else None
        if at == study_path if study_path else about.get("begun_on") == data:
            candidate.note(data=data or about["data"])
            return candidate
    new = Workspace(_made())
    new.note(data=data, study=str(study_path) if study_path else None, begun_on=None if study_path else data)
    return new


def link_board(bundle: Path) -> Workspace:
    """A workspace that shows a board bundle and nothing else; the one made for it earlier, if there is one."""
    bundle_path = bundle.absolute()
    for candidate in _all():
        if candidate.board == bundle_path:
            return candidate
    new = Workspace(_made())
    new.note(board=str(bundle_path))
    return new


@dataclass
class _Launch:
    """Digest of the launch's token ("" before there is a launch), the folder it opens, and digests of the tokens that
    carry the rights of who started the server: of workspaces, and of doors."""

    token: str = ""
    folder: Path | None = None
    owned: set[str] = field(default_factory=set)
    doors: set[str] = field(default_factory=set)


_launch = _Launch()


@dataclass(frozen=True)
class Opened:
    """The access that a token gives: a workspace, if any, and whether with the rights of who started the server."""

    workspace: Workspace | None
    owner: bool


def begin(token: str, folder: Path | None) -> None:
    """A launch begins: ``token`` is the digest of its token, ``folder`` the workspace that it is on, if any."""
    _launch.token, _launch.folder = token, folder
    _launch.owned.clear()
    _launch.doors.clear()


def is_the_launch(token: str) -> bool:
    """Return whether a token is that of the launch."""
    return bool(_launch.token) and hmac.compare_digest(_launch.token.encode(), digest(token).encode())


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
    if not token or not TOKEN.fullmatch(token):
        return None
    if is_the_launch(token):
        folder = _launch.folder
        if folder is None or not folder.is_dir():  # it may have been deleted since
            return Opened(None, True)
        return Opened(Workspace(folder, token), True)
    if _among(token, _launch.doors):
        return Opened(None, True)
    at = find(token)
    return Opened(at, _among(token, _launch.owned)) if at else None
