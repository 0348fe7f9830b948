"""Every `frontier` command of the README and of the guide runs, in the order in which it stands there."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests import forked

ROOT = Path(__file__).resolve().parents[1]


def commands() -> list[list[str]]:
    """The words of every command in a console block."""
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/guide.md"))
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    return [shlex.split(line) for block in blocks for line in block.splitlines() if line.strip()]


def test_the_readme_holds_commands_of_every_kind() -> None:
    first = {words[1] for words in commands()}
    assert all(words[0] == "frontier" for words in commands())
    assert first >= {"datasets", "space", "sweep", "show", "choose", "export", "replay", "app", "plan"}


@pytest.mark.slow
def test_every_command_of_the_readme_runs(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    people = [f"{['young', 'old'][i % 2]},{'fm'[i % 3 == 0]},{'abc'[i % 3]}" for i in range(40)]
    (tmp_path / "mydata.csv").write_text("age,sex,work\n" + "\n".join(people) + "\n")
    key = tmp_path / "czech.study.key"  # one of the few keys whose fresh runs settle nothing stops at the decision
    key.write_text(hashlib.sha256(b"a study key for the worked example").hexdigest()[:32])
    key.chmod(0o600)
    (tmp_path / "people").mkdir()
    for half in (0, 1):
        part = "age,sex,work\n" + "\n".join(people[half:]) + "\n"  # others than in the file, so another study's data
        (tmp_path / "people" / f"part-{half}.csv").write_text(part)
    for words in commands():
        command = ["-m", "engine", *words[1:]]
        if words[1] in ("app", "demo"):
            serves([sys.executable, *command], tmp_path, {**os.environ, "FRONTIER_HOME": home})
            continue
        ended = forked.run(command, tmp_path, FRONTIER_HOME=home)
        assert ended.returncode == 0, f"{shlex.join(words)}: {ended.stderr}"


@pytest.mark.slow
def test_every_block_of_python_runs_and_writes_nothing(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        ended = subprocess.run(
            [sys.executable, "-W", "error", "-c", block], cwd=tmp_path, capture_output=True, text=True
        )
        assert ended.returncode == 0, ended.stderr
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
def test_the_demo_serves_the_sample(tmp_path: Path) -> None:
    serves([sys.executable, "-m", "engine", "demo"], tmp_path, {**os.environ, "FRONTIER_HOME": str(tmp_path / "home")})


def serves(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    """A command that stays: its server says it is healthy, then it is ended."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = subprocess.Popen(
        [*command, "--no-browser", "--port", str(port)], cwd=folder, env=environment, stdout=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 120
        while True:
            assert running.poll() is None, f"{command} ended with {running.returncode}"
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2) as answer:
                    assert answer.status == 200
                    return
            except OSError:
                assert time.monotonic() < until, f"{command} did not answer"
                time.sleep(0.2)
    finally:
        running.terminate()
        running.wait(20)
