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


def environment(folder: Path) -> dict[str, str]:
    """The environment of a process that compiles and keeps code in a folder."""
    without = ("NUMBA_CACHE_DIR", "FRONTIER_NUMBA")
    here = {name: value for name, value in os.environ.items() if name not in without}
    return {**here, "PYTHONPATH": str(ROOT), "FRONTIER_CACHE": str(folder / "cache")}


def told_by(folder: Path, program: str, *arguments: str) -> tuple[str, str]:
    """What a program prints that keeps its code in ``folder``, and what it says beside."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    command = [sys.executable, str(folder / "program.py"), *arguments]
    done = subprocess.run(command, env=environment(folder), capture_output=True, encoding="utf-8", check=True)
    return done.stdout.strip(), done.stderr


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


@pytest.mark.slow
def test_kernels_are_compiled_without_scipy_and_code_that_needs_it_finds_it(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    program = """
from engine.common.compiled import kernel

@kernel
def next_one(number):
    return number + 1

assert next_one(2) == 3
print("scipy.linalg" in sys.modules)

from numba.np import arraymath, linalg
linalg.ensure_blas()  # which compiling a product of matrices calls
print("scipy.linalg" in sys.modules and arraymath._HAVE_BLAS)
"""
    assert told_by(tmp_path, "import sys" + program)[0].split() == ["False", "True"]


@pytest.mark.slow
def test_processes_that_keep_code_of_one_kernel_at_once_keep_both(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    program = """
import sys, time
from engine.common.compiled import compiled_here, kernel

@kernel
def next_one(number):
    return number + 1

file = next_one._cache._cache_file
load_index = file._load_index
file._load_index = lambda: (load_index(), time.sleep(2))[0]  # between reading the index and writing it
for number in map(eval, sys.argv[1:]):
    print(next_one(number), compiled_here())
"""
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "program.py")]
    at_once = [
        subprocess.Popen([*command, number], env=environment(tmp_path), stdout=subprocess.PIPE, encoding="utf-8")
        for number in ("2", "2.5")
    ]
    assert [process.communicate()[0].split() for process in at_once] == [["3", "True"], ["3.5", "True"]]
    later = subprocess.run(
        [*command, "2", "2.5"], env=environment(tmp_path), capture_output=True, encoding="utf-8", check=True
    )
    assert later.stdout.split() == ["3", "False", "3.5", "False"]


@pytest.mark.slow
def test_kept_code_is_loaded_without_what_compiling_takes_and_called_by_code_that_is_compiled(tmp_path: Path) -> None:
    """A kernel that was kept makes an array; then one that was not is compiled and calls it."""
    pytest.importorskip("numba")
    program = """
import sys
import numpy as np
from engine.common.compiled import compiled_here, kernel

@kernel
def counted(n):
    return np.arange(n)

@kernel
def added(n):
    total = 0
    for number in counted(n):
        total += number
    return total

def made_ready():
    from numba.core.runtime import nrt
    return nrt.rtsys._init, "numba.typed.typedlist" in sys.modules

print(counted(4).sum(), compiled_here(), *made_ready())
if sys.argv[1:]:
    print(added(4), compiled_here(), *made_ready())
"""
    for more, told in (
        ([], ["6 True True True"]),
        (["both"], ["6 False False False", "6 True True True"]),
        (["both"], ["6 False False False", "6 False False False"]),
    ):
        assert told_by(tmp_path, program, *more)[0].splitlines() == told


ONE_KERNEL = """
import sys
from engine.common.compiled import compiled_here, kernel

@kernel
def next_one(number):
    return number + 1

if sys.argv[1:]:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))  # as if the disk were full
print(next_one(2), compiled_here())
"""


def of_one_kernel(folder: Path, *arguments: str) -> tuple[str, str]:
    """What a process with one kernel prints, and what it says beside."""
    return told_by(folder, ONE_KERNEL, *arguments)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("left", [0, 100, -1, -2], ids=["empty", "cut", "zeros", "a page"])
def test_kept_code_that_is_damaged_is_compiled_again(tmp_path: Path, kind: str, left: int) -> None:
    pytest.importorskip("numba")
    assert of_one_kernel(tmp_path) == ("3 True", "")
    assert of_one_kernel(tmp_path) == ("3 False", "")
    (kept,) = (tmp_path / "cache").rglob(f"*.{kind}")
    content = kept.read_bytes()
    page = content[: len(content) // 2] + bytes(200) + content[len(content) // 2 + 200 :]
    damaged = {-1: bytes(len(content)), -2: page}.get(left, content[:left])
    kept.write_bytes(damaged)
    assert of_one_kernel(tmp_path) == ("3 True", "")
    assert of_one_kernel(tmp_path) == ("3 False", "")


@pytest.mark.slow
@needs.FILE_SIZES
def test_code_that_cannot_be_kept_is_used_all_the_same(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    told, beside = of_one_kernel(tmp_path, "full")
    assert told == "3 True" and f"compiled code cannot be kept in {tmp_path / 'cache'}" in beside
    assert "every process compiles it anew" in beside and "Traceback" not in beside
    assert of_one_kernel(tmp_path) == ("3 True", ""), "later there is room"
