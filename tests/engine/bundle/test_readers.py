"""Bundles are told apart by the file that only each has, and files that must not be opened are left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.bundle.folder import write_sums
from engine.bundle.readers import Contents, Tier, bundles_in, contents_of, tier_of, why_unopened
from engine.bundle.verify import verify
from tests import needs


def laid(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    return folder


def test_a_bundle_is_known_by_one_mark_and_a_folder_of_them_by_their_names(tmp_path: Path) -> None:
    laid(tmp_path, "public/METHODS.txt", "member/board.json", "analyst/board.json", "other/METHODS.txt")
    assert bundles_in(tmp_path) == {Tier.PUBLIC: tmp_path / "public", Tier.BOARD: tmp_path / "member"}
    assert bundles_in(tmp_path / "other") == {Tier.PUBLIC: tmp_path / "other"}
    assert tier_of(laid(tmp_path / "two", "METHODS.txt", "board.json")) is None and tier_of(tmp_path) is None


@needs.LINKS
def test_a_link_to_a_bundle_is_none(tmp_path: Path) -> None:
    laid(tmp_path, "real/METHODS.txt")
    (tmp_path / "public").symlink_to(tmp_path / "real")
    assert bundles_in(tmp_path) == {}


def test_refused_files_are_not_opened() -> None:
    assert Contents(Path(), Tier.PUBLIC, ("a", "b"), {"a": "is a link"}).openable == ("b",)


@pytest.mark.parametrize(
    ("tier", "names"),
    [
        (Tier.PUBLIC, ("release.csv", "release-02.parquet", "load-02.R", "codebook.xml", "METHODS.txt", "SHA256SUMS")),
        (Tier.BOARD, ("memo.docx", "slides.pptx", "places.xlsx", "board.json")),
        (Tier.ANALYST, ("release/release.sav", "internal/manifest.json", "internal/pairs-02.parquet")),
    ],
)
def test_each_reader_gets_the_files_on_its_list_and_no_others(
    tmp_path: Path, tier: Tier, names: tuple[str, ...]
) -> None:
    others: tuple[str, ...] = ("release.csvx", "xrelease.csv", "memo.docx.bak", "internal/key", "release/pairs.parquet")
    laid(tmp_path, *names, *others)
    assert set(contents_of(tmp_path, tier).refused) == set(others)


def test_a_plain_file_of_a_fair_size_may_be_opened(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"x")
    assert why_unopened(tmp_path / "a.json") == ""
    assert "no plain file" in why_unopened(tmp_path)


def test_a_file_that_was_changed_is_told_by_its_digest(tmp_path: Path) -> None:
    write_sums(laid(tmp_path, "METHODS.txt", "load.R"))
    for content, wrong in (("x", ()), ("y", ("'load.R' was changed",))):
        (tmp_path / "load.R").write_text(content)
        (found,) = (one for one in verify(tmp_path) if one.statement == "every file is the one that was written")
        assert found.problems == wrong
