"""What commands write is its owner's alone but for what is published, and is there whole or not at all."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.bundle.folder import check_new
from engine.cli.main import main
from engine.common.errors import EngineError
from engine.common.os_support import write_private
from engine.study.keys import read_key, read_or_make_key
from tests import forked_commands
from tests.engine.household_survey import PLAN, text

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="modes, umask and limits of files mean nothing on Windows; run the tests on Linux or macOS"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a plan and its data, where everybody may read new files."""
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o022)
    (tmp_path / "survey.csv").write_text(text())
    (tmp_path / "plan.toml").write_text(PLAN)
    yield tmp_path
    os.umask(before)


def open_files(folder: Path) -> list[str]:
    """What others on this machine may read, but for what was there before."""
    own = {"survey.csv", "plan.toml"}
    found = [path for path in folder.rglob("*") if path.name not in own and path.stat().st_mode & 0o077]
    return sorted(path.relative_to(folder).as_posix() for path in found)


COMMANDS = {
    "plan init": ("plan", "init", "survey.csv", "--out", "new.toml"),
    "plan propose": ("plan", "propose", "survey.csv", "--accept", "all", "--out", "new.toml"),
    "plan lock": ("plan", "lock", "plan.toml", "--number", "DRB-1", "--by", "the board"),
    "plan document": ("plan", "document", "plan.toml", "--out", "new.docx"),
    "datasets write": ("datasets", "write", "fair", "--to", "new.csv"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_writes_is_its_owners_alone(folder: Path, name: str) -> None:
    assert main(COMMANDS[name]) == 0
    assert open_files(folder) == []
    if name == "plan lock":
        assert stat.S_IMODE((folder / "plan.toml").stat().st_mode) == 0o600
    else:
        assert list(folder.glob("new*"))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_leaves_no_cut_file(folder: Path, name: str) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    ended = forked_commands.run(COMMANDS[name], largest=300)
    assert ended.returncode == 1 and "Traceback" not in ended.stderr, ended.stderr
    assert ended.stderr.splitlines()[-1].startswith("frontier: "), ended.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_file_whose_bytes_cannot_all_be_written_is_not_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    (folder / "old").write_text("old")
    for replace, path in ((False, folder / "new"), (True, folder / "old")):
        with pytest.raises(EngineError, match=f"'{path.name}' .*the disk is full"):
            write_private(path, b"new", replace=replace)
    assert sorted(p.name for p in folder.iterdir()) == ["old", "plan.toml", "survey.csv"]
    assert (folder / "old").read_text() == "old"


@pytest.mark.slow
def test_a_study_and_what_stands_beside_it_are_their_owners_alone(folder: Path) -> None:
    words = ["sweep", "survey.csv", "--study", "s.study", "--plan", "plan.toml", "--workers", "1"]
    assert main(words) == 0
    from engine.study.study import Study

    with Study.open(folder / "s.study") as study, study.database.transaction() as db:
        db.execute("create table more (a)")
        assert {"s.study", "s.study-wal", "s.study-shm"} <= {path.name for path in folder.iterdir()}
        assert open_files(folder) == []
    assert open_files(folder) == []


@pytest.mark.slow
def test_only_the_public_bundle_can_be_read_by_others(
    home: tuple[Path, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = home[0]
    words = ["export", str(place / "household.study"), "--data", str(place / "original_survey.csv"), "--formats", "csv"]
    before = os.umask(0o022)
    try:
        assert main([*words, "--tier", "all", "--out", str(tmp_path / "all")]) == 0
        assert main([*words, "--tier", "public", "--out", str(tmp_path / "public")]) == 0
        assert main([*words, "--tier", "board", "--out", str(tmp_path / "board")]) == 0
        os.umask(0o077)
        assert main([*words, "--tier", "public", "--out", str(tmp_path / "own")]) == 0
    finally:
        os.umask(before)
    capsys.readouterr()
    public = [tmp_path / "public", tmp_path / "own", tmp_path / "all" / "public"]
    for folder in public:
        for path in (folder, *folder.rglob("*")):
            assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644), path
    for folder in (tmp_path / "all", tmp_path / "board"):
        for path in (folder, *folder.rglob("*")):
            if not any(path.is_relative_to(one) for one in public):
                assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


# -- the study key ---------------------------------------------------------------------------------------------------


def test_a_key_that_others_may_read_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "s.study").write_bytes(b"no study")
    key = folder / "s.study.key"
    key.write_text("00" * 16)
    key.chmod(0o644)
    assert main(["show", "s.study"]) == 1
    said = capsys.readouterr().err
    assert "others on this machine may read the key file 's.study.key' (mode 644)" in said
    assert "chmod 600 s.study.key" in said and stat.S_IMODE(key.stat().st_mode) == 0o644
    key.chmod(0o600)
    main(["show", "s.study"])
    assert "key file" not in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"0123456789abcdef", b"0123456789ABCDEF\n", b"01", b""])
def test_half_a_key_is_no_key(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "k").write_bytes(content)
    with pytest.raises(EngineError, match="holds no study key; wanted 32 hexadecimal digits"):
        read_key(tmp_path / "k")


def test_a_key_in_bytes_is_read_as_before(tmp_path: Path) -> None:
    (tmp_path / "k").write_bytes(bytes(range(240, 256)))
    assert read_key(tmp_path / "k") == bytes(range(240, 256))


@pytest.mark.slow
def test_many_who_make_one_key_get_the_same(tmp_path: Path) -> None:
    path, found = tmp_path / "k", list[bytes]()
    start = threading.Barrier(8)

    def make() -> None:
        start.wait()
        found.append(read_or_make_key(path))

    workers = [threading.Thread(target=make) for _ in range(8)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert len(found) == 8 and len(set(found)) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["k"]


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder that nothing can be written to; run on Linux")
def test_a_folder_that_nothing_can_be_written_to_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot write beside 'zz'"):
        check_new(Path("/proc/zz"))
    check_new(tmp_path / "out")
    assert not [*tmp_path.iterdir()]
