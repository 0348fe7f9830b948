"""A full disk is called a full disk by every command that writes, and nothing half written stays."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.plan import edit_plan, plan_to_toml
from engine.plan.samples import load
from engine.sweeps.sweep import sweep

pytestmark = pytest.mark.slow
Fill = Callable[[], None]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    raw, plan = load("czech")
    path = tmp_path_factory.mktemp("study") / "s.study"
    sweep(raw, edit_plan(plan, swap_sizes=[1], rates=["0.1"], replicates=10), path, workers=1).close()
    return path


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[tuple[Path, Fill]]:
    """A disk of 400 kB, and what fills it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not shutil.which("mount") or subprocess.call(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", folder]):
        pytest.skip("no small disk can be mounted; run this as root on Linux")

    def fill() -> None:
        with pytest.raises(OSError), (folder / "fill").open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass

    try:
        yield folder, fill
    finally:
        subprocess.call(["umount", folder])


def is_said(capsys: pytest.CaptureFixture[str], *words: str) -> None:
    capsys.readouterr()
    assert main(list(words)) == 1
    assert "the disk is full" in capsys.readouterr().err


WRITERS = {
    **{form: ("datasets", "write", "czech", "--to", f"DISK/a.{form}") for form in ("csv", "parquet", "sav", "dta")},
    "plan": ("plan", "init", "czech", "--out", "DISK/b.toml"),
    "accepted plan": ("plan", "propose", "czech", "--accept", "all", "--out", "DISK/b.toml"),
    "lock": ("plan", "lock", "DISK/p.toml", "--number", "1", "--by", "A"),
    "document": ("plan", "document", "DISK/p.toml", "--out", "DISK/d.docx"),
    "page": ("plan", "document", "DISK/p.toml", "--out", "DISK/d.html"),
    "new study": ("sweep", "czech", "--plan", "DISK/p.toml", "--study", "DISK/new.study"),
    "choice": ("choose", "DISK/s.study", "--max-risk", "0.9", "--why", "so", "--by", "A"),
    "decision": ("decide", "DISK/s.study", "--state", "withheld", "--by", "A", "--why", "so"),
    "more runs": ("sweep", "czech", "--study", "DISK/s.study", "--replicates", "30", "--extend"),
    "more measures": ("measure", "DISK/s.study", "--data", "czech", "--measures", "false_zeros"),
    "export": ("export", "DISK/s.study", "--data", "czech", "--candidate", "FIRST", "--out", "DISK/out"),
}


@pytest.mark.parametrize("words", WRITERS.values(), ids=WRITERS)
def test_every_writer(words: tuple[str, ...], study: Path, disk: tuple[Path, Fill], capsys: pytest.CaptureFixture[str]):
    from engine.study.study import Study

    folder, fill = disk
    for path in (study, study.with_name("s.study.key")):
        shutil.copy(path, folder / path.name)
    (folder / "p.toml").write_text(plan_to_toml(edit_plan(load("czech")[1], replicates=10)))
    with Study.open(study) as opened:
        first = opened.scenarios[0].label
    before = {path.name for path in folder.iterdir()}
    fill()
    is_said(capsys, *(word.replace("DISK", str(folder)).replace("FIRST", first) for word in words))
    left = {path.name for path in folder.iterdir()} - before - {"fill", "s.study-wal", "s.study-shm"}
    assert not left - {"new.study.key"}
