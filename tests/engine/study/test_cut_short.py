"""A study that was cut short is called damaged when it is opened, whatever lies beside it."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from engine.common.errors import EngineError
from engine.study.database import is_cut_short
from engine.study.study import Study
from engine.sweeps.sweep import sweep
from tests.engine.small_studies import RAW, keyed, plan_of

PAGE = 8192


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, bytes]]:
    """A study with what it had stored before it was killed, by the kind of journal that was left beside it."""
    folder = tmp_path_factory.mktemp("killed")
    path = keyed(folder / "s.study")
    sweep(RAW, plan_of(space={"replicates": 40}), path, workers=1).close()
    found = {}
    for mode, ending in (("wal", "-wal"), ("delete", "-journal")):
        at = folder / f"{mode}.study"
        shutil.copy(path, at)
        with closing(sqlite3.connect(at, isolation_level=None)) as db:
            db.execute(f"pragma journal_mode = {mode}")
            db.execute("pragma cache_size = 1")  # so that changed pages are written before the transaction ends
            db.execute("create table more (text)")
            db.execute("insert into more values (zeroblob(50000))")
            db.execute("begin")
            db.execute("insert into more values (zeroblob(60000))")
            db.execute("update more set text = zeroblob(70000)")
            if mode == "wal":
                db.execute("commit")
            found[ending] = (at.read_bytes(), Path(f"{at}{ending}").read_bytes())
    return found


def left(folder: Path, study: bytes, beside: bytes, ending: str) -> Path:
    path = keyed(folder / "left.study")
    for name in ("", "-wal", "-journal", "-shm"):
        Path(f"{path}{name}").unlink(missing_ok=True)
    path.write_bytes(study)
    if beside:
        Path(f"{path}{ending}").write_bytes(beside)
    return path


def outcome(path: Path) -> str:
    """Whether it is refused when it is opened; what is not must be whole."""
    try:
        Study.open(path).close()
    except EngineError as error:
        return "damaged" if "damaged" in str(error) else str(error)
    try:
        with closing(sqlite3.connect(path)) as db:
            return str(db.execute("pragma integrity_check(1)").fetchone()[0])
    except sqlite3.Error as error:
        return f"opened, but {error}"


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_what_was_left_by_a_kill_is_whole(ending: str, halves: dict[str, tuple[bytes, bytes]], tmp_path: Path):
    study, beside = halves[ending]
    path = left(tmp_path, study, beside, ending)
    assert beside and not is_cut_short(path) and outcome(path) == "ok"


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_a_study_cut_short_is_whole_again_or_damaged(
    ending: str, halves: dict[str, tuple[bytes, bytes]], tmp_path: Path
):
    study, beside = halves[ending]
    found = set()
    for pages in range(1, len(study) // PAGE, max(1, len(study) // PAGE // 12)):
        for more in (0, 100):
            found.add(said := outcome(left(tmp_path, study[: pages * PAGE + more], beside, ending)))
            assert said in ("ok", "damaged"), (pages, more)
    assert "damaged" in found


def test_a_study_cut_short_without_a_journal_is_damaged(halves: dict[str, tuple[bytes, bytes]], tmp_path: Path):
    for n in (PAGE, 3 * PAGE + 7, len(halves["-wal"][0]) // 2):
        assert outcome(left(tmp_path, halves["-wal"][0][:n], b"", "")) == "damaged"


def test_a_log_or_journal_that_is_none_says_nothing(tmp_path: Path):
    path = tmp_path / "a.study"
    path.write_bytes(bytes(100))
    for ending in ("-wal", "-journal"):
        for content in (b"", b"x" * 10, b"x" * 100, bytes(40)):
            Path(f"{path}{ending}").write_bytes(content)
            assert not is_cut_short(path)
