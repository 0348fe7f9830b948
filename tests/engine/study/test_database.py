"""The file behind a study: it appears once and whole, is read without writing, and says what is wrong with the disk."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from engine.common.errors import EngineError, UsageError
from engine.study import database
from engine.study.database import Database, errors_in_words, new_in_memory, write_new
from engine.study.study import Study
from tests import forked
from tests.engine.small_studies import ROOT, keyed, plan_of, swept


@pytest.fixture
def path(tmp_path) -> Path:
    """Where a study goes whose key is known."""
    return keyed(tmp_path / "s.study")


def naming(name: str):
    return lambda db: db.execute(f"create table {name} (a)")


def test_new_studies_have_large_pages_also_copies_of_those_in_memory(tmp_path):
    write_new(tmp_path / "x", naming("first"))
    with Database(None, new_in_memory(naming("first"))) as study:
        study.copy_to(tmp_path / "y")
    for name in "xy":
        with closing(sqlite3.connect(tmp_path / name)) as db:
            assert db.execute("pragma page_size").fetchone() == (8192,)


@pytest.mark.parametrize("links", [True, False])
def test_of_two_that_make_one_file_at_once_the_first_stays(tmp_path, monkeypatch, links):
    path = tmp_path / "x"

    def no_link(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    if not links:
        monkeypatch.setattr(os, "link", no_link)

    def late(db: sqlite3.Connection) -> None:
        write_new(path, naming("first"))
        naming("second")(db)

    with pytest.raises(
        UsageError, match="'x' exists already; choose another path or, if another process has just made"
    ):
        write_new(path, late)
    with sqlite3.connect(path) as db:
        assert db.execute("select name from sqlite_master").fetchall() == [("first",)]
    db.close()
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


@pytest.mark.slow
def test_of_two_sweeps_that_begin_at_once_one_goes_on_and_the_other_says_so(tmp_path):
    for round in range(4):
        path = keyed(tmp_path / f"{round}.study")
        command = ["-m", "engine", "sweep", "czech", "--study", str(path), "--workers", "1"]
        both = [forked.start(command) for _ in range(2)]
        said = [(process.communicate(timeout=120), process.returncode) for process in both]
        assert 0 in [code for _, code in said]
        for (_, words), code in said:
            if code:
                last = words.strip().splitlines()[-1]
                assert "if another process has just made it" in last or "another sweep (process" in last, words
                assert "Traceback" not in words
        with Study.open(path) as study:
            assert study.progress.state == "finished" and study.progress.done == len(study.runs.results())


READING = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # no file can grow, as on a full disk
from engine.cli.main import main
sys.exit(main(["status", sys.argv[1]]) or main(["show", sys.argv[1], "--format", "csv"]))
"""


def read_where_no_file_can_grow(path: Path) -> str:
    said = subprocess.run(
        [sys.executable, "-B", "-c", READING, str(path)], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert said.returncode == 0, said.stderr
    return said.stdout


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows cannot limit the sizes of files; run the tests on Linux or macOS")
def test_a_study_is_read_where_no_file_can_grow(path):
    swept(path, plan_of())
    assert not Path(f"{path}-wal").exists()
    before = path.read_bytes()
    assert read_where_no_file_can_grow(path).count("\n") == 2 + 1 + 20
    assert path.read_bytes() == before


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows cannot limit the sizes of files; run the tests on Linux or macOS")
def test_a_study_that_a_killed_sweep_left_is_read_where_no_file_can_grow(path, tmp_path):
    script = tmp_path / "left.py"
    script.write_text(
        "import os, sys; from engine.sweeps.sweep import sweep; from pathlib import Path\n"
        "from tests.engine.small_studies import RAW, plan_of\n"
        "study = sweep(RAW, plan_of(), Path(sys.argv[1]), workers=1)\n"
        "os._exit(0)"
    )
    process = forked.start([str(script), str(path)])
    assert process.communicate(timeout=60) == ("", "") and process.returncode == 0
    assert Path(f"{path}-wal").stat().st_size
    Path(f"{path}-shm").unlink()  # as after a copy of the two files
    assert read_where_no_file_can_grow(path).count("\n") == 2 + 1 + 20


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0,
    reason="rights do not bind root, nor anybody on Windows; run the tests as a plain user on Linux or macOS",
)
def test_a_study_is_read_in_a_folder_that_may_not_be_written_to(tmp_path):
    (tmp_path / "folder").mkdir()
    path = keyed(tmp_path / "folder" / "s.study")
    swept(path, plan_of())
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        with Study.open(path) as study:
            assert len(study.runs.results()) == 80
    finally:
        path.parent.chmod(0o700)


def complaint(code: int, text: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("code", "free", "words"),
    [
        (sqlite3.SQLITE_FULL, 10**12, "could not be written: the disk is full; free some space"),
        (sqlite3.SQLITE_IOERR_WRITE, 0, "could not be written: the disk is full; free some space"),
        (sqlite3.SQLITE_IOERR_READ, 10**12, "could not be read where it lies (why); see to the disk"),
        (sqlite3.SQLITE_IOERR_WRITE, 10**12, "could not be written where it lies (why); see to the disk"),
        (sqlite3.SQLITE_READONLY, 10**12, "is read-only; copy it to a folder you may write to"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, 10**12, "is locked by another program; wait for it or close it"),
        (sqlite3.SQLITE_CANTOPEN, 10**12, "cannot be opened: its folder does not exist or may not be written to"),
        (sqlite3.SQLITE_CORRUPT, 10**12, "is damaged: why; restore it from a copy"),
        (sqlite3.SQLITE_ERROR, 10**12, "is damaged: why; restore it from a copy"),
    ],
)
def test_only_a_full_disk_is_called_full(tmp_path, monkeypatch, code, free, words):
    monkeypatch.setattr(database, "_room", lambda path: free)
    with pytest.raises(EngineError) as got, errors_in_words(tmp_path / "s.study"):
        raise complaint(code, "why")
    assert str(got.value).startswith(f"study 's.study' {words}")


def test_room_is_asked_for_where_the_file_lies(tmp_path):
    assert database._room(tmp_path / "s.study") > 2**20
    assert database._room(tmp_path / "none" / "s.study") == database._LITTLE_ROOM


@pytest.mark.slow
def test_a_study_that_is_opened_twice_in_a_process_keeps_the_first_ones_locks(path):
    """Else the next process to close it takes its log away, and what the first one reads and writes is lost."""
    swept(path, plan_of())
    counting = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "db.execute('update run set total = total + 1000'); db.close()"
    )
    with Study.open(path) as first:
        before = first.progress.total
        Study.open(path).close()
        for times in (1, 2):
            subprocess.run([sys.executable, "-c", counting, str(path)], check=True)
            assert first.progress.total == before + 1000 * times
