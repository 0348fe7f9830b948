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


@pytest.mark.slow
def test_kernels_are_compiled_once_without_scipy_and_code_that_needs_it_finds_it(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    program = """
import sys, time
from engine.common.compiled import compiled_here, kernel

@kernel
def next_one(number):
    return number + 1

compile_now = next_one._compiler.compile
next_one._compiler.compile = lambda *of: time.sleep(0.5) or compile_now(*of)
print(flush=True)
input()
assert next_one(2) == 3
print(compiled_here())
print("scipy.linalg" in sys.modules)

from numba.np import arraymath, linalg
linalg.ensure_blas()  # which compiling a product of matrices calls
print("scipy.linalg" in sys.modules and arraymath._HAVE_BLAS)
"""
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "FRONTIER_CACHE": str(tmp_path / "cache")}
    environment = {
        name: value for name, value in environment.items() if name not in ("NUMBA_CACHE_DIR", "FRONTIER_NUMBA")
    }
    command = [sys.executable, str(tmp_path / "program.py")]
    at_once = [
        subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        for _ in range(2)
    ]
    for process in at_once:
        assert process.stdout and process.stdout.readline() == "\n"
    for process in at_once:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
        if os.name == "nt":  # where no files are locked, one after the other
            process.wait()
    told = [process.communicate()[0].split() for process in at_once]
    assert sorted(told) == [["False", "False", "True"], ["True", "False", "True"]]
    assert not list((tmp_path / "cache").rglob("*.turn"))


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
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "FRONTIER_CACHE": str(tmp_path / "cache")}
    environment = {
        name: value for name, value in environment.items() if name not in ("NUMBA_CACHE_DIR", "FRONTIER_NUMBA")
    }
    for more, told in (
        ([], ["6 True True True"]),
        (["both"], ["6 False False False", "6 True True True"]),
        (["both"], ["6 False False False", "6 False False False"]),
    ):
        command = [sys.executable, str(tmp_path / "program.py"), *more]
        done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=True)
        assert done.stdout.splitlines() == told


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
    (folder / "program.py").write_text(ONE_KERNEL, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "FRONTIER_CACHE": str(folder / "cache")}
    environment = {
        name: value for name, value in environment.items() if name not in ("NUMBA_CACHE_DIR", "FRONTIER_NUMBA")
    }
    command = [sys.executable, str(folder / "program.py"), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=True)
    return done.stdout.strip(), done.stderr


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
