"""Every writer of a file calls a full disk one: it writes through the helpers that do, or into a folder that does."""

from __future__ import annotations

import ast
import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.common.errors import EngineError
from engine.common.os_support import aside, write_private, writing

ROOT = Path(__file__).parents[3]
GUARDS = {"aside", "writing", "new_folder", "scratch_folder", "_new_file"}
IN_NEW_FOLDER = ("engine/bundle/", "engine/report/")
"""Packages whose files go into the hidden folder of an export, or into that for temporary files."""
ELSEWHERE = {
    ("engine/common/os_support.py", "turn"): "an empty file",
    ("engine/common/os_support.py", "appear"): "within aside",
    ("engine/common/output.py", "open_closed_streams"): "the null device",
    ("engine/data/io/labelled_readers.py", "main"): "a pipe and the null device",
    ("engine/data/io/writers.py", "write"): "within aside",
    ("frontier_app/session/jobs.py", "launch"): "the log of a process, opened under a guard",
    ("engine/data/io/labelled_writers.py", "_overwrite"): "within aside",
    ("frontier_app/session/jobs.py", "_zip"): "within aside",
}


def _name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _writes(call: ast.Call) -> bool:
    """Return whether a call opens, writes or renames a file."""
    name, texts = _name(call), [a.value for a in ast.walk(call) if isinstance(a, ast.Constant)]
    if name in ("open", "ZipFile", "arrow_file", "fdopen"):
        flags = {part.attr for part in ast.walk(call) if isinstance(part, ast.Attribute)}
        modes = [text for text in texts if isinstance(text, str) and len(text) < 4 and set(text) <= set("rwxabt+")]
        return any(set(mode) & set("wxa+") for mode in modes) or bool(flags & {"O_CREAT", "O_WRONLY"})
    if name in ("replace", "rename"):  # of os, or of a path: a text's has two arguments
        own = isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "os"
        return own or (name == "rename" and len(call.args) == 1 and not call.keywords)
    return name in ("write_bytes", "write_text", "to_csv", "to_parquet", "to_excel", "copyfile", "write_table")


def _unguarded(node: ast.AST, function: str = "", guarded: bool = False) -> Iterator[tuple[str, int]]:
    """The functions and lines of a module that write outside of a guard."""
    if isinstance(node, ast.FunctionDef):
        function, guarded = node.name, False
    if isinstance(node, ast.With):
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        guarded = guarded or any(_name(call) in GUARDS for call in calls)
    if isinstance(node, ast.Call) and _writes(node) and not guarded:
        yield function, node.lineno
    for child in ast.iter_child_nodes(node):
        yield from _unguarded(child, function, guarded)


def test_no_writer_bypasses_the_guard() -> None:
    """Those that need none are all found, so the search looks where it should."""
    paths = [path for package in ("engine", "frontier_app") for path in (ROOT / package).rglob("*.py")]
    found: dict[tuple[str, str], int] = {}
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(IN_NEW_FOLDER):
            found |= {(name, function): line for function, line in _unguarded(ast.parse(path.read_text("utf-8")))}
    assert {place: line for place, line in found.items() if place not in ELSEWHERE} == {}
    assert found.keys() == ELSEWHERE.keys()


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "x"), OSError(errno.EDQUOT, "x")])
def test_a_full_disk_is_called_one(tmp_path: Path, error: OSError) -> None:
    for guard in (aside, writing):
        with (
            pytest.raises(EngineError, match=r"'a\.csv' could not be written: the disk is full"),
            guard(tmp_path / "a.csv"),
        ):
            raise error
    assert not list(tmp_path.iterdir())


def test_a_library_that_wraps_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError), aside(tmp_path / "a.sav"):
        raise RuntimeError("a library's own words")
    monkeypatch.setattr("engine.common.os_support.is_full", lambda _: True)
    with pytest.raises(EngineError, match="the disk is full"), aside(tmp_path / "a.sav"):
        raise RuntimeError("a library's own words")


def test_other_reasons_have_their_own_words(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="'a' could not be written: its folder does not exist"):
        write_private(tmp_path / "nowhere" / "a", b"")
    (tmp_path / "file").touch()
    with pytest.raises(EngineError, match="Not a directory"):
        write_private(tmp_path / "file" / "a", b"")
    with pytest.raises(FileExistsError):
        write_private(tmp_path / "file", b"")
