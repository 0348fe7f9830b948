"""Where compiled code is kept, and what loading it brings along."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine.common.compiled import KERNEL_FILES, digest_of_kernels
from tests import needs

ROOT = Path(__file__).resolve().parents[3]


def found(tmp_path: Path, **more: str) -> Path:
    """The folder that a process uses whose home is read-only."""
    (tmp_path / "file").touch()
    (tmp_path / "tmp").mkdir()
    places = {"XDG_CACHE_HOME": "file/cache", "LOCALAPPDATA": "file/cache", "HOME": "file/home"}
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), "tmp")
    environment = {
        name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "FRONTIER_HOME")
    }
    environment |= {name: str(tmp_path / place) for name, place in (places | temporary | more).items()}
    done = subprocess.run(
        [sys.executable, "-c", "from engine.common.compiled import cache_folder; print(cache_folder())"],
        env={**environment, "PYTHONPATH": str(ROOT), "FRONTIER_CACHE": "", "FRONTIER_NUMBA": "0"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return Path(done.stdout.strip())


@pytest.mark.slow
def test_where_no_cache_can_be_kept_nothing_is_left(tmp_path: Path) -> None:
    """A private folder is used, and removed when the process ends."""
    assert found(tmp_path).parent == tmp_path / "tmp"
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.slow
def test_beside_a_read_only_home_the_named_folder_keeps_it(tmp_path: Path) -> None:
    assert found(tmp_path, FRONTIER_HOME="mine") == tmp_path / "mine" / "cache"
    assert (tmp_path / "mine" / "cache").is_dir()


@pytest.mark.slow
@needs.MODE_BITS
def test_code_in_a_folder_that_others_can_change_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine").chmod(0o777)
    assert found(tmp_path, FRONTIER_HOME="mine").parent == tmp_path / "tmp"


@pytest.mark.slow
@needs.MODE_BITS
def test_a_cache_that_others_can_change_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "cache" / "swap-frontier").mkdir(parents=True)
    (tmp_path / "cache" / "swap-frontier").chmod(0o777)
    (tmp_path / "home" / "Library" / "Caches" / "swap-frontier").mkdir(parents=True)
    (tmp_path / "home" / "Library" / "Caches" / "swap-frontier").chmod(0o777)
    assert found(tmp_path, XDG_CACHE_HOME="cache", HOME="home").parent == tmp_path / "tmp"


def test_code_that_calls_another_file_is_compiled_anew_when_that_changes(tmp_path: Path) -> None:
    """All files with kernels count, and one that changed names another folder."""
    engine = ROOT / "engine"
    with_kernels = [file for file in engine.rglob("*.py") if "\n@kernel" in file.read_text(encoding="utf-8")]
    assert sorted(file.relative_to(engine).as_posix() for file in with_kernels) == sorted(KERNEL_FILES)
    for name in KERNEL_FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(engine / name, tmp_path / name)
    assert digest_of_kernels(tmp_path) == digest_of_kernels(engine)
    with (tmp_path / KERNEL_FILES[0]).open("a", encoding="utf-8") as changed:
        changed.write("# another\n")
    assert digest_of_kernels(tmp_path) != digest_of_kernels(engine)
