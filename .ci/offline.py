"""Make a folder from which swap-frontier installs without a network: wheels for one platform, checked by hashes, and a
small script.

    python .ci/offline.py OUT [--platform win_amd64] [--python 3.12]

Run it where the project is installed (`make offline` does).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = "swap-frontier"
_SYSTEMS = {
    "win": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
    "macosx": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
    "manylinux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
}

_BAT = r"""@echo off
rem Installs swap-frontier for the present user, without a network and without administrator rights.
cd /d "%~dp0"
set there=%LOCALAPPDATA%\swap-frontier\venv
py -{python} -m venv "%there%" || goto failed
set from=--no-index --find-links wheels --no-deps --require-hashes -r requirements.txt
"%there%\Scripts\python" -m pip install %from% || goto failed
"%there%\Scripts\frontier" selftest || goto failed
echo swap-frontier is installed. Start it with:
echo   "%there%\Scripts\frontier" app
pause
exit /b 0
:failed
echo The installation did not finish; the lines above say why.
pause
exit /b 1
"""
_SH = """#!/bin/sh
# Installs swap-frontier for the present user, without a network and without administrator rights.
set -e
cd "$(dirname "$0")"
there="${{SWAP_FRONTIER_VENV:-$HOME/.local/share/swap-frontier/venv}}"
python{python} -m venv "$there"
"$there/bin/python" -m pip install --no-index --find-links wheels --no-deps --require-hashes -r requirements.txt
"$there/bin/frontier" selftest
echo "swap-frontier is installed. Start it with: $there/bin/frontier app"
"""


def environment(platform: str, python: str) -> dict[str, str]:
    """What the markers of requirements are compared with on another platform."""
    system = next((values for start, values in _SYSTEMS.items() if platform.startswith(start)), None)
    if system is None:
        raise SystemExit(f"platform '{platform}' must begin with one of {', '.join(_SYSTEMS)}")
    machine = {"win_amd64": "AMD64", "win_arm64": "ARM64"}.get(platform, platform.rpartition("_")[2])
    machine = "x86_64" if platform.endswith("x86_64") else machine
    return {
        **system,
        "platform_machine": machine,
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": "",
    }


def locked(text: str, target: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names and entries (with hashes) of the lock that hold on the target."""
    for entry in re.split(r"\n(?=\S)", text.strip()):
        requirement = entry.partition(" --hash")[0].replace("\\", "").strip()
        one = Requirement(requirement)
        if one.marker is None or one.marker.evaluate(dict(target)):
            yield str(canonicalize_name(one.name)), entry.replace(requirement, requirement.partition(";")[0].strip())


def main() -> None:
    """Make the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--platform", default="win_amd64")
    parser.add_argument("--python", default="3.12")
    args = parser.parse_args()
    if args.out.exists():
        raise SystemExit(f"'{args.out}' exists already; choose another folder")
    target = environment(args.platform, args.python)
    chosen = dict(locked((ROOT / "requirements.lock").read_text(encoding="utf-8"), target))
    aside = Path(tempfile.mkdtemp(prefix=f".{args.out.name}.", dir=args.out.absolute().parent))
    wheels = aside / "wheels"
    wheels.mkdir()
    run = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run(
        [*run, "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels)], check=True
    )
    (wheel,) = wheels.glob("*.whl")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    others = aside / "requirements.txt"
    others.write_text("\n".join(chosen.values()) + "\n", encoding="utf-8")
    platforms = [args.platform, *_older(args.platform)]
    subprocess.run(
        [*run, "download", "--no-deps", "--require-hashes", "--only-binary", ":all:", "--implementation", "cp"]
        + [part for platform in platforms for part in ("--platform", platform)]
        + ["--python-version", args.python, "--dest", str(wheels), "--requirement", str(others)],
        check=True,
    )
    with others.open("a", encoding="utf-8") as file:
        file.write(f"{PROJECT}=={wheel.name.split('-')[1]} --hash=sha256:{digest}\n")
    if args.platform.startswith("win"):
        (aside / "install.bat").write_text(_BAT.format(python=args.python), encoding="utf-8", newline="\r\n")
    else:
        (aside / "install.sh").write_text(_SH.format(python=args.python), encoding="utf-8")
        (aside / "install.sh").chmod(0o755)
    os.chmod(aside, 0o755)
    os.replace(aside, args.out)
    size = sum(path.stat().st_size for path in (args.out / "wheels").iterdir())
    print(f"{args.out}: {len(chosen) + 1} wheels, {size / 2**20:.0f} MB, for Python {args.python} on {args.platform}")


def _older(platform: str) -> list[str]:
    """Older platform tags whose wheels run on the target too."""
    if platform.startswith("manylinux"):
        machine = "x86_64" if platform.endswith("x86_64") else platform.rpartition("_")[2]
        return [f"manylinux_2_{minor}_{machine}" for minor in range(28, 4, -1)] + [f"manylinux2014_{machine}"]
    return []


if __name__ == "__main__":
    main()
