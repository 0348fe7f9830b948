"""Commands print in every locale: what it cannot show is escaped, and a file's text is UTF-8 everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]


def printed(tmp_path: Path, encoding: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "engine", *words]
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_sign_that_cannot_be_shown_is_escaped(tmp_path: Path, encoding: str) -> None:
    done = printed(tmp_path, f"{encoding}:strict", "--help")
    assert (done.returncode, done.stderr) == (0, b"")
    assert ("risk–utility" if encoding == "cp1252" else r"risk\u2013utility") in done.stdout.decode(encoding)


def test_a_plan_is_printed_as_the_file_it_will_be(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("größe,b\n" + "≤1,x\n2,y\n" * 20, encoding="utf-8")
    done = printed(tmp_path, "latin-1:strict", "plan", "init", "people.csv", "--out", "-")
    assert done.returncode == 0, done.stderr
    assert b"\r" not in done.stdout
    text = done.stdout.decode("utf-8")
    assert "größe" in text and "≤1" in text and tomllib.loads(text)
