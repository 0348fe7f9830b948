"""How a process that runs one command begins and ends."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.cli.main import main
from engine.study.study import Study
from tests import needs

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run in an empty folder, at home there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRONTIER_HOME", str(tmp_path / "home"))


COMMAND = """
import atexit, gc, os, sys
from engine.cli.main import command

class Lasting:
    def __del__(self):
        print("taken apart", flush=True)

lasting = Lasting()
atexit.register(lambda: print(os.environ["OPENBLAS_THREAD_TIMEOUT"], gc.get_threshold()[0] > 100_000))
command()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("words", "code"), [(["datasets"], 0), (["show", "absent.study"], 2)])
@pytest.mark.parametrize(("before", "wanted"), [("", "4"), ("26", "26")])
def test_a_command_ends_with_its_code_and_what_was_to_be_said_but_takes_nothing_apart(
    words: list[str], code: int, before: str, wanted: str
) -> None:
    left_out = ("OPENBLAS_THREAD_TIMEOUT", "PYTHONUNBUFFERED")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    environment |= {"PYTHONPATH": str(ROOT)} | ({"OPENBLAS_THREAD_TIMEOUT": before} if before else {})
    done = subprocess.run([sys.executable, "-c", COMMAND, *words], env=environment, capture_output=True, text=True)
    assert done.returncode == code and "Traceback" not in done.stderr
    assert done.stdout.splitlines()[-1] == f"{wanted} True" and "taken apart" not in done.stdout
    assert ("czech" in done.stdout) == (code == 0) and ("does not exist" in done.stderr) == (code != 0)


ENDING = "import sys; sys.stdin.read(); from engine.cli.main import command; command()"


def ending(*words: str, **streams: Any) -> subprocess.Popen[bytes]:
    """A command that begins when its standard input is closed and says what it has to say at its end."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment["PYTHONPATH"] = str(ROOT)
    given = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.Popen([sys.executable, "-c", ENDING, *words], env=environment, **given)


@pytest.mark.slow
def test_a_command_whose_reader_has_gone_says_so_by_its_code_alone() -> None:
    with ending("datasets", stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.close()
        _, said_by = process.communicate()
    assert process.returncode == 1 and (said_by == b"" or os.name == "nt")


@pytest.mark.slow
@needs.PROC
def test_a_full_disk_is_told_at_the_end_too() -> None:
    with Path("/dev/full").open("wb") as full, ending("datasets", stdout=full) as process:
        _, said_by = process.communicate()
    assert process.returncode == 1 and b"the disk is full" in said_by and b"Traceback" not in said_by


@pytest.mark.slow
@needs.PROC
def test_a_command_without_a_place_to_say_anything_is_done_all_the_same() -> None:
    with ending("datasets", preexec_fn=lambda: os.close(1)) as process:
        _, said_by = process.communicate()
    assert process.returncode == 0 and said_by == b""


def test_a_program_that_calls_a_command_decides_itself_how_often_to_search_for_garbage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(gc, "set_threshold", asked.append)
    assert main(["datasets"]) == 0
    monkeypatch.setattr(sys, "argv", ["frontier", "datasets"])
    assert main() == 0 and not asked


@pytest.mark.slow
@needs.PROC
@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full", "<&- >&- 2>&-"])
def test_what_cannot_be_told_stops_no_sweep(closed: str) -> None:
    words = "sweep czech --study s.study --swap-sizes 1 --rates 0.02 --replicates 2 --after-all"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(f"{sys.executable} -m engine {words} {closed}", shell=True, env=environment, check=False)
    assert done.returncode == 0
    with Study.open(Path("s.study")) as study:
        assert study.runs.count() == 12


@pytest.mark.slow
@needs.PROC
def test_words_on_a_closed_stream_go_nowhere_else() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for words, code in (("show absent.study 2>&-", 2), ("measures >&-", 0)):
        command = f"{sys.executable} -m engine {words}"
        done = subprocess.run(command, shell=True, env=environment, capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")


@pytest.mark.slow
@needs.PROC
def test_no_file_gets_the_number_of_a_closed_stream() -> None:
    code = (
        "import os, sys; from engine.common.output import open_closed_streams; open_closed_streams()\n"
        "with open('file', 'w') as file: file.write(str(file.fileno() > 2)); os.write(2, b'a library warns')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    Path("program.py").write_text(code, encoding="utf-8")
    for closed in ("2>&-", "<&- 2>&-", "<&- >&- 2>&-"):
        subprocess.run(f"{sys.executable} program.py {closed}", shell=True, env=environment, check=True)
        assert Path("file").read_text() == "True"
