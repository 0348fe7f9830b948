"""What was left out is told in plain lines, each with what brings it back."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import skip_summary, sources

TESTS = Path(__file__).resolve().parent


def test_tests_are_counted_by_what_they_lack():
    lacking = ["Skipped: no Chromium; install it"] * 3 + ["Skipped: no openssl; install that"]
    assert skip_summary.lines(lacking) == ["3 tests: no Chromium; install it", "1 test: no openssl; install that"]


@pytest.mark.slow
def test_a_run_ends_with_what_was_left_out(tmp_path: Path):
    (tmp_path / "conftest.py").write_text(
        "from tests.skip_summary import tell\n"
        "def pytest_terminal_summary(terminalreporter):\n    tell(terminalreporter)\n",
        encoding="utf-8",
    )
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\ndef test_a():\n    pytest.skip('no a; get one')\n\ndef test_b():\n    pass\n",
        encoding="utf-8",
    )

    def ended(*more: str) -> str:
        command = [sys.executable, "-m", "pytest", "--rootdir", str(tmp_path), str(tmp_path), *more]
        environment = {**os.environ, "PYTHONPATH": str(TESTS.parent)}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8").stdout

    assert "left out, and what brings it back" in ended() and "\n1 test: no a; get one\n" in ended()
    assert "left out" not in ended("-k", "test_b")


def reasons() -> Iterator[tuple[str, str]]:
    """Where each test says why it is skipped, and what it says, if it is written out there."""
    for path in TESTS.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for node in sources.nodes_in(source) if "skip" in source else ():  # few files name it, so few are parsed
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("pytest.skip", "mark.skipif")):
                said = [*node.args, *(word.value for word in node.keywords)][-1]
                if isinstance(said, ast.Constant):
                    yield f"{path.relative_to(TESTS)}:{node.lineno}", str(said.value)


@pytest.mark.slow
def test_every_reason_names_a_remedy():
    assert [(where, said) for where, said in reasons() if "; " not in said] == []
