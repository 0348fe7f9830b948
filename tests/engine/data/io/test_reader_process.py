"""Labelled files are read in a process of their own, whose end is a sentence."""

from __future__ import annotations

import errno
import io
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

from engine.common.errors import EngineError
from engine.data.io import labelled_readers as reader_process
from engine.data.io.labelled_readers import read_statistical
from engine.data.io.labelled_writers import write_dta, write_sav
from engine.data.io.readers import read_table
from tests.engine.data.io.labelled import COLUMNS, LABELS

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("write", [write_sav, pytest.param(write_dta, marks=pytest.mark.slow)])
def test_what_comes_back_is_what_was_read(tmp_path: Path, write: Callable[..., object]) -> None:
    path = tmp_path / f"a.{write.__name__[-3:]}"
    write(path, COLUMNS, LABELS)
    there, here = read_table(path), read_statistical(path)
    assert there.content_digest() == here.content_digest()
    assert (there.names, there.n_records, there.source) == (here.names, here.n_records, here.source)
    for name in here.names:
        one, other = there.columns[name], here.columns[name]
        assert one.about == other.about
        assert one.values.equals(other.values) and one.codes.dtype == other.codes.dtype


@pytest.mark.slow
def test_a_file_on_which_the_library_crashes_is_a_sentence(tmp_path: Path) -> None:
    """The labels of column 255 of two: without a process of its own, the whole dashboard ended."""
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(pd.DataFrame({"a": [1.0], "s": ["x"]}), path, variable_value_labels={"a": {1.0: "Male"}})
    content = path.read_bytes()
    labels_of = b"\x04\0\0\0\x01\0\0\0"
    assert content.count(labels_of + b"\x01\0\0\0\x07") == 1
    path.write_bytes(content.replace(labels_of + b"\x01", labels_of + b"\xff"))
    with pytest.raises(EngineError, match=r"^file 'a\.sav' is no readable \.sav file \(corrupt, cut short or of an"):
        read_table(path)


WAYS = {
    "stands still": "import re; re.match('(a+)+$', 'a' * 64 + 'b')",  # holds the interpreter as a library does
    "waits for ever": "import time; time.sleep(60)",
    "memory": "bytes(1 << 62)",
    "fault": "raise KeyError('of this program')",
    "ends": "import os; os._exit(0)",
    "disk": "raise OSError(5, 'Input/output error')",
    "is slow": "import time; time.sleep(3); return honest(path, beat)",  # another program has the processor
}


def _start_as(monkeypatch: pytest.MonkeyPatch, way: str, patience: str) -> list[subprocess.Popen[bytes]]:
    """The processes that will have read a file, in this way."""
    code = (
        "import pandas, pyarrow, pyreadstat\nfrom engine.data.io import labelled_readers\n"
        "honest = labelled_readers.read_statistical\n"
        f"def read(path, beat):\n {WAYS[way]}\n"
        f"labelled_readers._STILL, labelled_readers._WAITING = {patience}\n"
        "labelled_readers.read_statistical = read\nlabelled_readers.main()"
    )
    children = []

    def started() -> subprocess.Popen[bytes]:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        children.append(subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, **pipes))
        return children[-1]

    monkeypatch.setattr(reader_process, "_started", started)
    return children


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "patience", "kind", "said"),
    [
        pytest.param(
            "stands still",
            "1, 1000",
            EngineError,
            r"^file 'a\.sav' is no readable \.sav file",
            marks=pytest.mark.skipif(
                sys.platform == "win32", reason="Windows has no timer of processor time; run this on Linux or macOS"
            ),
        ),
        ("stands still", "1, 1", EngineError, r"^file 'a\.sav' is no readable \.sav file"),
        ("waits for ever", "1, 2", EngineError, r"^file 'a\.sav' is no readable \.sav file"),
        ("memory", "15, 1", EngineError, r"^file 'a\.sav' needs more memory than this machine has"),
        ("fault", "15, 1", RuntimeError, "KeyError: 'of this program'"),
        ("ends", "15, 1", EngineError, r"^file 'a\.sav' is no readable \.sav file"),
        ("disk", "15, 1", EngineError, r"^file 'a\.sav' could not be read: Input/output error"),
    ],
)
def test_each_end_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, patience: str, kind: type[Exception], said: str
) -> None:
    path = tmp_path / "a.sav"
    write_sav(path, COLUMNS)
    children = _start_as(monkeypatch, way, patience)
    began = time.monotonic()
    with pytest.raises(kind, match=said):
        read_table(path)
    assert time.monotonic() - began < 40
    assert children[0].poll() is not None, "the process has ended"


@pytest.mark.slow
def test_patience_is_counted_in_processor_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.dta"
    write_dta(path, COLUMNS)
    _start_as(monkeypatch, "is slow", "2, labelled_readers._WAITING")
    assert read_table(path).n_records == len(COLUMNS["sex"])


@pytest.mark.parametrize(
    ("number", "kind", "said"),
    [
        (errno.EPIPE, EngineError, r"is no readable \.sav file"),
        (errno.EINVAL, EngineError, r"is no readable \.sav file"),  # what Windows says of a broken pipe
        (errno.EIO, OSError, "said"),
    ],
)
@pytest.mark.parametrize("at", ["write", "close"])
def test_a_process_that_ended_before_it_was_told_what_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception], said: str, at: str
) -> None:
    path = tmp_path / "a.sav"
    write_sav(path, COLUMNS)

    class Pipe:
        def write(self, _: bytes) -> None:
            if at == "write":
                raise OSError(number, "said")

        def close(self) -> None:
            if at == "close":
                raise OSError(number, "said")

    class Ended:
        stdin, stdout = Pipe(), io.BytesIO()

        def __enter__(self) -> Ended:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def kill(self) -> None:
            pass

    monkeypatch.setattr(reader_process, "_started", Ended)
    with pytest.raises(kind, match=said):
        reader_process.read_apart(path)


def test_a_program_that_may_not_be_started_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.sav"
    write_sav(path, COLUMNS)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    with pytest.raises(EngineError, match=r"could not be started .*; let this program start no-python"):
        read_table(path)


def test_where_the_system_sets_no_limit_of_memory_none_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS refuses it, and every file would be called damaged."""
    resource = pytest.importorskip(
        "resource", reason="Windows has no limits of processes; run the tests on Linux or macOS"
    )
    monkeypatch.setattr(resource, "setrlimit", lambda *_: pytest.fail("a limit was asked for"))
    monkeypatch.setattr(sys, "platform", "darwin")
    reader_process._limit_memory()
