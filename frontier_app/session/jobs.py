"""Sweeps, fresh runs and exports as processes of their own: started, watched and cancelled from any page.

The study says how far a sweep is and who writes it; only the moments before it exists are kept here, in the workspace.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from engine.bundle.readers import Tier, bundles_in
from engine.common.errors import EngineError
from engine.common.os_support import aside, writing
from engine.common.output import Message, read_messages
from engine.common.processes import is_running, process_birth
from engine.release.scenarios import SweepState
from engine.study.study import Study
from engine.sweeps.runner import FRESH_FROM, TimeLeft
from frontier_app.session.launch import environment, standard_input
from frontier_app.session.workspace import Workspace
from frontier_app.wording import text

_LIKE = {
    ".sav": ("sav",),
    ".zsav": ("sav",),
    ".por": ("sav",),
    ".dta": ("dta",),
    ".xpt": ("csv", "parquet"),
    ".sas7bdat": ("csv", "parquet"),
    ".parquet": ("parquet",),
    ".csv": ("csv",),
    ".tsv": ("csv",),
}
"""Formats of a release by the end of the name of the file that was read: its own, or the nearest that is written."""
_JOB, _RECHECK, _EXPORT = "job.json", "recheck.json", "export.json"
_RECHECK_LOG, _EXPORT_LOG = "recheck.log", "export.log"
_DATE = (1980, 1, 1, 0, 0, 0)  # the same for all, so that a file's date tells nothing


@dataclass(frozen=True)
class Exporting:
    """The progress of an export: its ``state``, its ``messages`` so far, the ``error`` that a failed one ended with."""

    state: Literal["none", "running", "finished", "failed"]
    tier: str = ""
    messages: tuple[Message, ...] = ()
    error: Message | None = None


@dataclass(frozen=True)
class Export:
    """One export on disk: its folder and the bundles in it, by reader."""

    folder: Path
    bundles: dict[Tier, Path]

    @property
    def label(self) -> str:
        """The label of the candidate that was exported."""
        return self.folder.name.partition("-")[0]

    def files(self, tier: Tier) -> list[tuple[str, int]]:
        """The files of a bundle: relative names and sizes in bytes."""
        bundle = self.bundles[tier]
        return sorted((p.relative_to(bundle).as_posix(), p.stat().st_size) for p in bundle.rglob("*") if p.is_file())

    def archive(self, tier: Tier) -> Path:
        """A bundle as one zip, made on disk the first time."""
        archive = self.folder.with_name(f"{self.folder.name}.{tier}.zip")
        if not archive.exists():
            with aside(archive) as part:
                _zip(self.bundles[tier], part)
        return archive

    @property
    def attack(self) -> dict[str, Any] | None:
        """The trials and findings of the attack on the release, where the analyst's bundle is there to say it."""
        path = self.bundles.get(Tier.ANALYST, Path()) / "internal" / "self-attack.json"
        with suppress(OSError, ValueError):
            attack: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return attack
        return None


def _zip(folder: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as inside:
                while block := source.read(1 << 20):
                    inside.write(block)


def start_export(
    at: Workspace, label: str, tier: str, formats: Iterable[str], include: Iterable[str], partial: bool
) -> None:
    """Write the bundles of the recommended release into the workspace.  Nothing happens while another is written."""
    if job(at).state == "running":
        return
    study, data = at.study, at.about["data"]
    if study is None or data is None:
        raise EngineError("an export needs the data of the study; open the study with its data")
    out = at.new_export(label)
    arguments = ["export", str(study), "--data", data, *at.reading, "--out", str(out)]
    arguments += ["--for", tier, "--formats", ",".join(formats)]
    for role in include:
        arguments += ["--include", role]
    arguments += ["--allow-partial"] if partial else []
    pid = launch(arguments, at, at.folder / _EXPORT_LOG)
    at.keep(_EXPORT, json.dumps({**process(pid), "out": out.name, "tier": tier}))


def job(at: Workspace) -> Exporting:
    """The progress of the latest export."""
    if not (about := _noted(at, _EXPORT)):
        return Exporting("none")
    running, out, tier = runs(about), str(about["out"]), str(about["tier"])
    messages = read_messages(at.folder / _EXPORT_LOG)
    ends = [message for message in messages if message.kind in ("error", "fault")]
    others = tuple(message for message in messages if message not in ends)
    if running:  # how it ends is told when it has ended
        return Exporting("running", tier, others)
    if (at.folder / "exports" / out).is_dir():
        return Exporting("finished", tier, others)
    if ends and ends[-1].kind == "fault":
        return Exporting("failed", tier, others, Message("error", "the export ended unexpectedly; nothing was written"))
    error = ends[-1] if ends else Message("error", "the export was ended; nothing was written")
    return Exporting("failed", tier, others, error)


def like_the_file(at: Workspace) -> tuple[str, ...]:
    """The formats in which a release is proposed: that of the file that was read; of a sample CSV and Parquet."""
    return _LIKE.get(Path(at.about["data"] or "").suffix.lower(), ("csv", "parquet"))


def has_public(at: Workspace, label: str) -> bool:
    """Return whether a public bundle of the candidate with that label is written."""
    return any(Tier.PUBLIC in export.bundles and export.label == label for export in complete(at))


def complete(at: Workspace) -> list[Export]:
    """All complete exports, newest first."""
    exports = []
    for folder in (at.folder / "exports").glob("x*-*"):
        if folder.is_dir() and (bundles := bundles_in(folder)):
            exports.append(Export(folder, bundles))
    return sorted(exports, key=lambda export: (export.folder.stat().st_mtime, export.folder.name), reverse=True)


_children: dict[int, subprocess.Popen[bytes]] = {}  # so that ended ones are waited for and leave no zombie


JobState = SweepState | Literal["none", "starting", "stopping"]


@dataclass(frozen=True)
class Job:
    """The progress of a sweep; ``message`` says why it failed, or what the study says of itself."""

    state: JobState
    done: int = 0
    total: int = 0
    message: str = ""
    ends: float = 0.0  # when it ends at its pace, seconds since 1970; 0 while nobody can tell
    at_most: bool = False  # it may be settled earlier

    @property
    def busy(self) -> bool:
        """Return whether a process is at work."""
        return self.state in ("starting", "running", "stopping")


def _noted(workspace: Workspace, name: str) -> dict[str, Any]:
    """The note on a job, with the entries that every job has; empty where there is none."""
    try:
        noted = json.loads((workspace.folder / name).read_text(encoding="utf-8"))
        return {"pid": 0, "born": "", "at": 0.0, "stop": False, **noted}
    except (OSError, ValueError, TypeError):
        return {}


def process(pid: int) -> dict[str, Any]:
    """The note on a process that was started, so that :func:`runs` tells it from a later one of its number."""
    return {"pid": pid, "born": process_birth(pid)}


def runs(noted: Mapping[str, Any]) -> bool:
    """Return whether a process of which this was noted is still at work; earlier versions noted its number only."""
    _reap()
    return is_running(int(noted["pid"]), str(noted.get("born", "")))


def _reap() -> None:
    """Wait for children that have ended."""
    for pid, child in list(_children.items()):
        if child.poll() is not None:
            del _children[pid]


def _alive(workspace: Workspace) -> bool:
    noted = _noted(workspace, _JOB)
    return bool(noted) and runs(noted)


def start(
    workspace: Workspace, *, extend: bool = False, deviation: str = "", by: str = "", after: Sequence[Path] = ()
) -> None:
    """Sweep the workspace's study by its plan; it resumes what is there.  Nothing happens while one is at work.

    ``deviation`` is why the plan departs from its approval, ``by`` who says so.  A new study comes after all others of
    the same data in the workspace, and after those studies that lie elsewhere.
    """
    at = time.time()
    if status(workspace).busy:
        return
    study, data = workspace.study, workspace.about["data"]
    if study is None or data is None:
        raise EngineError("there is nothing to sweep yet; open data and settle a plan first")
    arguments = ["sweep", data, *workspace.reading, "--study", str(study)]
    arguments += ["--plan", str(workspace.plan_path)] + (["--extend"] if extend else [])
    arguments += ["--after-all", *(f"--after={path}" for path in after)]
    # Typed words may begin with a hyphen, which would make an option of them.
    arguments += [f"--deviation={deviation}", f"--by={by}"] if deviation else []
    pid = launch(arguments, workspace, workspace.log_path)
    workspace.keep(_JOB, json.dumps({**process(pid), "at": at}))


def launch(arguments: Sequence[str], workspace: Workspace, log_path: Path) -> int:
    """Start a command of `frontier` as a process of its own that outlives this one; returns its id.

    The arguments travel by standard input, and the owner alone can read what it writes.
    """
    detached: dict[str, Any] = {"creationflags": 0x00000200} if os.name == "nt" else {"start_new_session": True}
    with writing(log_path):
        descriptor = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as log, standard_input(list(arguments)) as arguments_file:
        child: subprocess.Popen[bytes] = subprocess.Popen(
            [sys.executable, "-P", "-m", "engine", "-"],
            env=environment(),
            cwd=workspace.folder,
            stdin=arguments_file,
            stdout=log,
            stderr=log,
            umask=0o077,
            **detached,
        )
    _children[child.pid] = child
    return child.pid


def start_recheck(workspace: Workspace, labels: Sequence[str], replicates: int, risk: str, utility: str) -> None:
    """Run finalists on fresh replicates.  Nothing happens while that, or a sweep, is at work."""
    if status(workspace).busy or recheck(workspace)[0]:
        return
    study, data = workspace.study, workspace.about["data"]
    if study is None or data is None or not labels:
        raise EngineError("there is nothing to run again; open the data of the study and choose finalists")
    arguments = ["recheck", str(study), "--data", data, *workspace.reading]
    arguments += ["--replicates", str(replicates), "--risk", risk, "--utility", utility]
    for label in labels:
        arguments += ["--candidate", label]
    about = {"labels": list(labels), "replicates": replicates, "stop": False}
    pid = launch(arguments, workspace, workspace.folder / _RECHECK_LOG)
    workspace.keep(_RECHECK, json.dumps({**process(pid), **about}))


def recheck(workspace: Workspace) -> tuple[bool, str]:
    """Return whether finalists are being run again, with the sentence with which the last time ended, if it went
    wrong."""
    noted = _noted(workspace, _RECHECK)
    if not noted:
        return False, ""
    if runs(noted):
        return True, ""
    return False, "" if noted["stop"] else complaint_in(workspace.folder / _RECHECK_LOG, "it ended unexpectedly")


def recheck_job(workspace: Workspace) -> Job:
    """The progress of running finalists again: none, running, stopping, cancelled, finished or failed."""
    noted = _noted(workspace, _RECHECK)
    if not noted or workspace.study is None or not workspace.study.exists():
        return Job("none")
    busy, error = recheck(workspace)
    total = len(noted["labels"]) * noted["replicates"]
    with Study.open(workspace.study) as study:
        done = study.runs.count("fresh", labels=noted["labels"], up_to=FRESH_FROM + noted["replicates"] - 1)
    if busy:
        if noted["stop"]:
            _ask(workspace)  # asked before the process listened, it would not have heard
        return Job("stopping" if noted["stop"] else "running", done, total)
    if error:
        return Job("failed", done, total, message=error)
    return Job("cancelled" if noted["stop"] and done < total else "finished", done, total)


def cancel_recheck(workspace: Workspace) -> None:
    """Ask for an end to running finalists again; what is done stays."""
    noted = _noted(workspace, _RECHECK)
    if noted and recheck(workspace)[0]:
        workspace.keep(_RECHECK, json.dumps({**noted, "stop": True}))
        _ask(workspace)


def cancel(workspace: Workspace) -> None:
    """Ask the sweep to stop; what is done stays.  Until it does it is stopping."""
    if noted := _noted(workspace, _JOB):
        workspace.keep(_JOB, json.dumps({**noted, "stop": True}))
    _ask(workspace)


def _ask(workspace: Workspace) -> None:
    """Ask whoever writes the study to stop."""
    if workspace.study and workspace.study.exists():
        with Study.open(workspace.study) as study:
            study.lease.cancel()


def stop(workspace: Workspace, patience: float = 5.0) -> None:
    """Cancel and wait; a sweep that does not listen is ended."""
    if not status(workspace).busy:
        return
    cancel(workspace)
    until = time.monotonic() + patience
    while _alive(workspace) and time.monotonic() < until:
        time.sleep(0.1)
    child = _children.get(_noted(workspace, _JOB).get("pid", 0))
    if child is not None and child.poll() is None:
        child.terminate()
        child.wait()


def complaint(workspace: Workspace) -> str:
    """The sentence with which the sweep ended, if it ended with an error."""
    return complaint_in(workspace.log_path, "the sweep ended unexpectedly; its log is in the workspace")


def complaint_in(log_path: Path, otherwise: str) -> str:
    """The sentence with which a command ended, by its log; ``otherwise`` where it ended with a fault of the program."""
    ends = [message for message in read_messages(log_path) if message.kind in ("error", "fault")]
    if not ends:
        return ""
    # A traceback stays in the log: it may quote what nobody should see.
    return text.message_text(ends[-1]) if ends[-1].kind == "error" else otherwise


def status(workspace: Workspace) -> Job:
    """The progress of the workspace's sweep."""
    alive = _alive(workspace)
    study = workspace.study
    if study is None:
        return Job("none")
    stop_noted = alive and _noted(workspace, _JOB)["stop"]
    if study.exists():
        with Study.open(study) as opened:
            progress = opened.progress
            stop_asked = opened.lease.asked_to_stop
            staged = opened.plan.space.adaptive or opened.plan.space.search
            if stop_noted and not stop_asked and progress.state == "running":
                opened.lease.cancel()  # asked before the process listened, it would not have heard
        if progress.state == "running" and (stop_noted or stop_asked):
            return Job("stopping", progress.done, progress.total)
        if progress.state != "running" and alive:
            if progress.started < _noted(workspace, _JOB)["at"]:  # that was an earlier run
                return Job("stopping" if stop_noted else "starting", progress.done, progress.total)
            if progress.state != "finished":
                return Job("stopping", progress.done, progress.total)
        error = complaint(workspace) if progress.state != "finished" and not alive else ""
        if error:
            return Job("failed", progress.done, progress.total, error)
        return Job(progress.state, progress.done, progress.total, progress.message, progress.ends, staged)
    if alive:
        return Job("stopping" if stop_noted else "starting")
    error = complaint(workspace)
    return Job("failed", message=error) if error else Job("none")


def time_left(job: Job) -> TimeLeft | None:
    """The time that the sweep still takes at its pace; None before there is one."""
    return TimeLeft(max(1.0, job.ends - time.time()), job.at_most) if job.ends and job.done < job.total else None
