"""Forked processes are what started ones are: output, exit codes, signals, environment and folder."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests import forked, needs

TOLD = """
import os, sys
print(sys.argv[1:], __name__, os.getcwd(), os.environ.get("TOLD"), os.getpid())
print("numba" in sys.modules, "distributed" in sys.modules)
sys.stderr.write("é")
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("start", [forked.start, forked.start_anew])
def test_a_process_is_what_it_would_be(tmp_path, monkeypatch, start):
    script = tmp_path / "told.py"
    script.write_text(TOLD)
    monkeypatch.chdir(tmp_path)
    process = start([str(script), "3", "x"], TOLD="ü")
    out, err = process.communicate(timeout=60)
    assert process.returncode == process.poll() == process.wait() == 3 and err == "é"
    assert out.splitlines()[0] == f"['3', 'x'] __main__ {forked.ROOT} ü {process.pid}" and process.pid != os.getpid()
    is_loaded = start is forked.start and forked.FORKS
    assert out.splitlines()[1] == f"{is_loaded} {is_loaded}"
    assert os.getcwd() == str(tmp_path) and sys.modules["__main__"].__name__ == "__main__"


@pytest.mark.slow
@needs.SIGKILL
def test_it_is_killed_and_writes_to_a_file(tmp_path):
    script = tmp_path / "waits.py"
    script.write_text("import time\nprint('here', flush=True)\ntime.sleep(100)\n")
    log = tmp_path / "log"
    with log.open("wb") as to:
        process = forked.start([str(script)], to)
    while not log.read_bytes():
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    assert process.wait(10) == -signal.SIGKILL and process.stdout is None and log.read_bytes() == b"here\n"


@pytest.mark.slow
def test_code_runs_in_a_folder_and_sees_this_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("TOLD", "2")
    told = forked.run(["-c", TOLD + "print(sys.modules['__main__'].sys is sys)", "0"], tmp_path)
    assert (told.returncode, told.stderr) == (0, "é")
    assert told.stdout.startswith(f"['0'] __main__ {tmp_path} 2 ")


@pytest.mark.slow
def test_a_module_runs_as_a_command(tmp_path):
    process = forked.start(["-m", "engine", "sweep", str(tmp_path / "none.csv"), "--study", str(tmp_path / "s.study")])
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2 and not out and "none.csv" in err and "Traceback" not in err
    assert not list(Path(tmp_path).iterdir())
