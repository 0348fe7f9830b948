"""A forked reader gives what one that was started gives, and is a process of its own where it is asked."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from engine.common.errors import EngineError
from engine.data.io import labelled_readers as reader_process
from engine.data.io.labelled_writers import write_sav
from tests.forked_readers import Started


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_sav(tmp_path / "a.sav", {"a": pa.array(np.arange(5.0)), "b": pa.array(list("xyzxy"))})
    (tmp_path / "bad.sav").write_bytes((tmp_path / "a.sav").read_bytes()[:-20])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_it_reads_what_a_started_one_reads(here: Path, loaded_reader: Started | None, monkeypatch: pytest.MonkeyPatch):
    if loaded_reader is None:
        pytest.skip("Windows cannot fork; run the tests on Linux or macOS")
    apart = reader_process.read_apart(Path("a.sav"))
    monkeypatch.setattr(reader_process, "_started", loaded_reader)
    forked = reader_process.read_apart(Path("a.sav"))
    assert forked.content_digest() == apart.content_digest() and forked.n_records == 5
    with pytest.raises(EngineError, match=r"bad\.sav"):
        reader_process.read_apart(Path("bad.sav"))
    with loaded_reader() as waiting:
        assert waiting.pid != os.getpid()
        waiting.kill()
        assert waiting.stdout.read() in (b"", b"." + bytes(8))
