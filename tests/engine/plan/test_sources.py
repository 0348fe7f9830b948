"""Sources are streamed where they are folders, where they are large, and where somebody asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.common.errors import UsageError
from engine.data.io.stream import RecordStream
from engine.data.microdata import RawTable
from engine.plan import samples as sources
from engine.plan.samples import open_records, open_source
from tests.streamed_sources import records, write_source


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_are_streamed_when_they_are_large_or_when_it_is_asked_for(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(write_source(tmp_path, form, records(400), []))
    assert isinstance(open_source(path)[0], RawTable)
    assert isinstance(open_source(path, True)[0], RecordStream)
    monkeypatch.setattr(sources, "MOST_RECORDS", 300)
    monkeypatch.setattr(sources, "MOST_VALUES", 1000)
    assert isinstance(open_source(path)[0], RecordStream)
    assert isinstance(open_source(path, False)[0], RawTable)


@pytest.mark.parametrize("form", ["csv folder", "parquet folder"])
def test_folders_are_streamed_by_the_same_rule(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(write_source(tmp_path, form, records(400), [10, 200]))
    assert isinstance(open_source(path)[0], RawTable)
    assert isinstance(open_source(path, True)[0], RecordStream)
    monkeypatch.setattr(sources, "MOST_RECORDS", 300)
    monkeypatch.setattr(sources, "MOST_VALUES", 1000)
    assert isinstance(open_source(path)[0], RecordStream)
    assert isinstance(open_source(path, False)[0], RawTable)
    assert open_records(path)[0].n_records == 400


def test_samples_and_other_formats_are_not(tmp_path: Path) -> None:
    data, plan = open_source("czech")
    assert isinstance(data, RawTable)
    assert plan is not None
    with pytest.raises(UsageError, match="'czech' is no file or folder"):
        open_source("czech", True)
    (tmp_path / "a.sav").write_bytes(b"x")
    with pytest.raises(UsageError, match=r"file 'a\.sav' cannot be read by streaming; export it as \.csv or \.parquet"):
        open_source(str(tmp_path / "a.sav"), True)
    with pytest.raises(UsageError, match="does not exist"):
        open_source(str(tmp_path / "none.csv"))
