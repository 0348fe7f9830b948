#!/usr/bin/env python3
"""The README's commands and the quick tests on other machines than this one, as near as it can come to them.

Every condition has a clean clone of the last commit in a temporary folder, so without the shared files beside it.  What
this machine cannot be (a Python that it lacks, another user where it is not root) is said in the table.

    python .ci/matrix.py                    every condition
    python .ci/matrix.py latin-1 one-core   these conditions
    python .ci/matrix.py --whole            all tests but those in a browser, not only the quick ones
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
NOBODY = 12345  # a user of whom the machine knows no name, as in many containers
COUNTED = re.compile(r"(\d+) (passed|failed|error|skipped)")


class LackingError(Exception):
    """Why this machine cannot be put under a condition."""


@dataclass
class Machine:
    """A clone under a condition, and how commands run in it."""

    folder: Path
    clone: Path
    environment: dict[str, str]
    limits: dict[str, Any] = field(default_factory=dict)  # of subprocess: user, umask, preexec_fn

    def run(self, *command: str) -> str:
        """What a command prints; its exit code is judged by that."""
        done = subprocess.run(
            command, cwd=self.clone, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", check=False, **self.limits,
        )  # fmt: skip
        return done.stdout


Change = Callable[[Machine], None]


def settings(**values: str) -> Change:
    """Other variables in the environment."""
    return lambda machine: machine.environment.update(values)


def umask(mode: int) -> Change:
    """Other rights of new files."""
    return lambda machine: machine.limits.update(umask=mode)


def as_nobody(machine: Machine) -> None:
    """Another user than the one who owns this folder, and without a name."""
    if os.geteuid() != 0:
        raise LackingError("only root can be another user")
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", machine.folder], check=True)
    machine.limits.update(user=NOBODY, group=NOBODY, extra_groups=[])


def read_only_home(machine: Machine) -> None:
    """A home in which nothing can be written, of somebody whom rights bind."""
    as_nobody(machine)
    Path(machine.environment["HOME"]).chmod(0o555)


def latin_1(machine: Machine) -> None:
    """A locale of ISO 8859-1, made in the condition's folder: few machines still have one."""
    (machine.folder / "locales").mkdir()
    made = ["localedef", "-i", "de_DE", "-f", "ISO-8859-1", str(machine.folder / "locales" / "de_DE.ISO-8859-1")]
    try:
        subprocess.run(made, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise LackingError("localedef cannot make this locale; install the package `locales`") from None
    machine.environment.update(
        LC_ALL="de_DE.ISO-8859-1", LOCPATH=str(machine.folder / "locales"), PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"
    )


def without_numba(machine: Machine) -> None:
    """As where there are no wheels of numba."""
    machine.run(".venv/bin/python", "-m", "pip", "uninstall", "--quiet", "--yes", "numba", "llvmlite")


def one_core(machine: Machine) -> None:
    """All processes on the first core."""
    if not hasattr(os, "sched_setaffinity"):
        raise LackingError("only Linux binds a process to a core")
    machine.limits.update(preexec_fn=functools.partial(os.sched_setaffinity, 0, [0]))


def in_the_background(machine: Machine) -> None:
    """As a shell starts a command with `nohup ... &`."""

    def deaf() -> None:
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)

    machine.limits.update(preexec_fn=deaf)


@dataclass
class Condition:
    """One kind of machine: its Python, where the clone lies, and what else is changed once it is set up."""

    change: Change = lambda machine: None
    python: str = "3"
    place: str = "project"


CONDITIONS = {
    **{f"python-{version}": Condition(python=version) for version in VERSIONS},
    "odd-path": Condition(place="Müller’s $HOME & 調査 100 %"),
    "read-only-home": Condition(read_only_home),
    "other-user": Condition(as_nobody),
    "umask-077": Condition(umask(0o077)),
    "umask-022": Condition(umask(0o022)),
    "no-numba": Condition(without_numba),
    "one-core": Condition(one_core),
    "ascii": Condition(settings(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")),
    "latin-1": Condition(latin_1),
    "background": Condition(in_the_background),
}


def interpreter(version: str) -> str:
    """A Python of a version, on PATH, of pyenv or of uv; of any version ("3"), the one that everybody may run."""
    name = f"python{version}"
    kept = Path.home() / ".pyenv" / "versions"
    known = [shutil.which(name, path=os.defpath), *sorted(kept.glob(f"{version}.*/bin/{name}")), shutil.which(name)]
    if shutil.which("uv"):
        asked = ["uv", "python", "find", "--no-python-downloads", version]
        known.append(subprocess.run(asked, capture_output=True, encoding="utf-8", check=False).stdout.strip())
    for path in filter(None, known):
        asked = [str(path), "-c", "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"]
        found = subprocess.run(asked, capture_output=True, encoding="utf-8", check=False).stdout.strip()
        if found == version or (version == "3" and found in VERSIONS):
            return str(path)
    raise LackingError(f"this machine has no Python {version}")


def machine(condition: Condition, folder: Path) -> Machine:
    """A clean clone, set up by the Makefile."""
    python = interpreter(condition.python)
    clone = folder / condition.place
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    for name in ("home", "tmp"):
        (folder / name).mkdir()
    folder.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FRONTIER_", "XDG_"))}
    made = Machine(folder, clone, {**kept, "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp")})
    said = made.run("make", f"PYTHON={python}", ".venv/ready-test")
    if not (clone / ".venv" / "ready-test").exists():
        raise SystemExit(f"the clone could not be set up:\n{said}")
    condition.change(made)
    return made


def tried(condition: Condition, whole: bool) -> tuple[dict[str, int], str]:
    """What pytest counted under a condition, and what it printed."""
    with tempfile.TemporaryDirectory(prefix="matrix-", ignore_cleanup_errors=True) as folder:
        made = machine(condition, Path(folder))
        marked = "not browser" if whole else "not slow and not browser"
        runs = [["-n", "auto", "--dist", "worksteal", "-m", marked], ["tests/test_readme.py", "-m", "slow"]]
        counted, said = dict[str, int](), ""
        for arguments in runs[: 1 if whole else 2]:
            said += (printed := made.run(".venv/bin/python", "-m", "pytest", "-q", *arguments))
            last = (printed.strip().splitlines() or [""])[-1]
            if not COUNTED.search(last):
                counted["error"] = counted.get("error", 0) + 1  # it ended before it could count
            for number, what in COUNTED.findall(last):
                counted[what] = counted.get(what, 0) + int(number)
        return counted, said


def main() -> int:
    """Try the conditions and print a row for each; 1 when something failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "conditions", nargs="*", choices=[*CONDITIONS, []], metavar="CONDITION", help=", ".join(CONDITIONS)
    )
    parser.add_argument("--whole", action="store_true", help="all tests but those in a browser")
    parser.add_argument(
        "--logs", type=Path, default=Path(tempfile.gettempdir()) / "matrix", help="folder for what is printed"
    )
    args = parser.parse_args()
    args.logs.mkdir(parents=True, exist_ok=True)
    columns = ("passed", "failed", "error", "skipped")
    print(f"{'condition':16}" + "".join(f"{name:>9}" for name in (*columns, "seconds")), flush=True)
    wrong = 0
    for name in args.conditions or CONDITIONS:
        begun = time.monotonic()
        try:
            counted, said = tried(CONDITIONS[name], args.whole)
        except LackingError as why:
            print(f"{name:16}  not tried: {why}", flush=True)
            continue
        (args.logs / f"{name}.log").write_text(said, encoding="utf-8")
        numbers = [counted.get(column, 0) for column in columns]
        wrong += numbers[1] + numbers[2]
        print(
            f"{name:16}" + "".join(f"{number:>9,}" for number in (*numbers, round(time.monotonic() - begun))),
            flush=True,
        )
    print(f"what was printed is in {args.logs}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
