from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from engine.bundle import export
from engine.bundle.source import ExportSource
from engine.data.microdata import RawTable
from engine.report import documents
from engine.study.study import Study
from tests.engine.bundle.sources import export_source
from tests.engine.household_survey import approved


@pytest.fixture(autouse=True)
def forked_readers(quick_readers: None) -> None:
    """Bundles hold SPSS, Stata and SAS files, each of which is read by a process of its own."""


@pytest.fixture(scope="session", autouse=True)
def remembered_pdf() -> Iterator[None]:
    """A memo that was made as a PDF is not made again, which takes a second: many exports are of the same study."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(documents, "pdf", lru_cache(maxsize=16)(documents.pdf))
        yield


@pytest.fixture
def without_pdf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memos are not made as PDFs, for tests that look at other files of a study of their own."""
    monkeypatch.setattr(documents, "why_no_pdf", lambda: "left out by a test")


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RawTable]:
    """A folder with an approved study, and its data."""
    folder = tmp_path_factory.mktemp("home")
    return folder, approved(folder)


@pytest.fixture(scope="session")
def every(home: tuple[Path, RawTable]) -> Path:
    """A folder with a bundle for each reader, data in all formats, weights and new ids included."""
    folder, raw = home
    formats = ("csv", "parquet", "sav", "dta")
    with Study.open(folder / "household.study") as study:
        return export(study, raw, None, folder / "every", tier="all", formats=formats, include=("weight", "id"))


@pytest.fixture(scope="session")
def made(home: tuple[Path, RawTable]) -> ExportSource:
    """The approved realisation, remade."""
    folder, raw = home
    with Study.open(folder / "household.study") as study:
        return export_source(study, raw, None, include=("weight", "id"))


@pytest.fixture
def reopened(home: tuple[Path, RawTable], made: ExportSource) -> Iterator[ExportSource]:
    """The approved realisation with its study open."""
    with Study.open(home[0] / "household.study") as study:
        yield replace(made, study=study)
