"""Whatever lies in a bundle: its readers say so in a sentence, soon, and open nothing that is no plain file."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.bundle.apply import apply
from engine.bundle.folder import write_sums
from engine.bundle.readers import files_below
from engine.bundle.replay import replay
from engine.bundle.unpack import TooLarge, parts_of
from engine.bundle.verify import verify
from engine.cli.main import main
from engine.common.errors import EngineError
from engine.data.microdata import RawTable
from engine.report.findings import read_board
from tests import forked_commands
from tests.engine.bundle import hostile

pytest.importorskip("resource", reason="links, pipes and sockets need a system that has them")
pytestmark = pytest.mark.slow  # whole bundles are made

SOON = 10.0
"""Seconds of work within which a hostile bundle must be told from an honest one; of work, since others may be at it."""


def copied(every: Path, tmp_path: Path, tier: str) -> Path:
    shutil.copytree(every / tier, tmp_path / tier)
    return tmp_path / tier


def said_soon(path: Path) -> list[str]:
    """What is said of a bundle by a process of its own that works no longer than :data:`SOON`."""
    ended = forked_commands.run(["verify", str(path)], seconds=12 * SOON)
    assert 0 < ended.worked < SOON
    assert ended.returncode in (0, 1) and "Traceback" not in ended.stderr, ended.stderr
    return (ended.stdout + ended.stderr).splitlines()


_OPENED: list[str] = []
sys.addaudithook(lambda event, of: _OPENED.append(str(of[0])) if event == "open" else None)


@pytest.fixture
def opened() -> list[str]:
    """Every path that is opened meanwhile."""
    return _OPENED


PLACES = [
    ("analyst", "internal/manifest.json"),
    ("analyst", "internal/decision-log.json"),
    ("analyst", "internal/pairs.parquet"),
    ("analyst", "release/release.csv"),
    ("board", "board.json"),
    ("board", "memo.docx"),
    ("public", "SHA256SUMS"),
    ("public", "release.csv"),
    ("public", "release.sav"),
    ("public", "notes.txt"),
]


@pytest.mark.parametrize("kind", hostile.KINDS)
@pytest.mark.parametrize(("tier", "name"), PLACES, ids=[name for _, name in PLACES])
def test_what_is_no_plain_file_is_a_finding_and_never_opened(
    every: Path, tmp_path: Path, kind: str, tier: str, name: str, opened: list[str]
) -> None:
    bundle = copied(every, tmp_path, tier)
    hostile.replaced(name, hostile.KINDS[kind])(bundle)
    opened.clear()
    found = [text for one in verify(bundle) for text in one.problems]
    assert any(text.startswith(f"'{name}'") and "not opened" in text for text in found), found
    assert str(bundle / name) not in opened


@pytest.mark.parametrize("name", ["analyst", "board"])
def test_a_link_to_a_bundle_is_no_bundle(every: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(every / "public", tmp_path / "public")
    (tmp_path / name).symlink_to(every / name)
    assert f"'{name}' lies beside them" in [text for one in verify(tmp_path) for text in one.problems]


def test_more_files_than_any_bundle_has_are_not_counted(tmp_path: Path) -> None:
    (tmp_path / "METHODS.txt").write_text("x\n")
    for i in range(10_001):
        (tmp_path / f"{i}").touch()
    with pytest.raises(EngineError, match="more than 10,000 files"):
        verify(tmp_path)


def test_folders_without_files_or_too_deep_are_seen(every: Path, tmp_path: Path) -> None:
    bundle = copied(every, tmp_path, "public")
    (bundle / "empty").mkdir()
    (bundle / "/".join("abcdefgh")).mkdir(parents=True)
    assert {"empty", "a/b/c/d/e"} <= set(files_below(bundle))
    found = [text for one in verify(bundle) for text in one.problems]
    assert "'empty' is a folder and no plain file; it was not opened" in found


def test_a_name_that_is_no_text_can_be_printed(every: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = copied(every, tmp_path, "public")
    try:
        (bundle / os.fsdecode(b"\xff.txt")).touch()
    except OSError:
        pytest.skip("the file system takes names of letters only; run the tests where it takes all bytes, as on Linux")
    assert main(["verify", str(bundle)]) == 1
    assert "'\\xff.txt' is not on the list" in capsys.readouterr().out


BOMBS: list[tuple[str, str, Callable[[], bytes]]] = [
    ("board", "memo.docx", hostile.zip_bomb),
    ("board", "slides.pptx", lambda: hostile.zip_bomb(nested=1)),
    ("board", "tables.xlsx", hostile.zip_bomb),
    ("board", "memo.pdf", hostile.pdf_bomb),
    ("analyst", "internal/annex-b-analyst.docx", hostile.zip_bomb),
]


@pytest.mark.parametrize(("tier", "name", "made"), BOMBS, ids=[name for _, name, _ in BOMBS])
def test_a_document_that_unpacks_to_gigabytes_is_a_finding(
    every: Path, tmp_path: Path, tier: str, name: str, made: Callable[[], bytes]
) -> None:
    bundle = copied(every, tmp_path, tier)
    (bundle / name).write_bytes(made())
    write_sums(bundle)
    said = said_soon(bundle)
    assert any(f"'{Path(name).name}' unpacks to more than" in text or f"'{name}' unpacks" in text for text in said)


@pytest.mark.parametrize(
    ("name", "made"), [("memo.pdf", hostile.pdf_of_beginnings), ("memo.html", lambda: b"<!doctype html>" + b"<" * 9**7)]
)
def test_beginnings_without_an_end_are_read_once(
    every: Path, tmp_path: Path, name: str, made: Callable[[], bytes]
) -> None:
    bundle = copied(every, tmp_path, "board")
    (bundle / name).write_bytes(made())
    write_sums(bundle)
    said_soon(bundle)


@pytest.mark.parametrize(
    ("tier", "name", "made", "words"),
    [
        ("board", "memo.pdf", hostile.pdf_of_streams, "unpacks to more than"),
        ("board", "memo.html", hostile.html_of_pictures, "unpacks to more than"),
        ("public", "codebook.xml", hostile.xml_of_elements, "'codebook.xml' cannot be opened as what it is"),
        ("public", "codebook.xml", hostile.xml_of_attributes, "'codebook.xml' cannot be opened as what it is"),
        ("public", "release.csv", hostile.csv_of_columns, "... 981 more"),
    ],
)
def test_very_many_pieces_are_a_finding_soon(
    every: Path, tmp_path: Path, tier: str, name: str, made: Callable[[], bytes], words: str
) -> None:
    bundle = copied(every, tmp_path, tier)
    (bundle / name).write_bytes(made())
    write_sums(bundle)
    said = said_soon(bundle)
    assert any(words in text for text in said) and len(said) < 5000


def test_a_picture_with_text_that_may_begin_anywhere_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(hostile.png_of_text())
    began = time.process_time()
    assert len(list(parts_of(tmp_path / "a.png"))) == 2
    assert time.process_time() - began < SOON


@pytest.mark.parametrize("made", [hostile.parquet_of_many, hostile.parquet_of_much])
def test_a_small_parquet_file_that_holds_far_more_than_it_can_is_a_finding(
    every: Path, tmp_path: Path, made: Callable[[Path], None]
) -> None:
    bundle = copied(every, tmp_path, "public")
    made(bundle / "release.parquet")
    write_sums(bundle)
    with pytest.raises(TooLarge, match="it was not read"):
        list(parts_of(bundle / "release.parquet"))
    assert any("'release.parquet' has" in text and "it was not read" in text for text in said_soon(bundle))


def test_a_large_honest_table_is_not_refused(tmp_path: Path) -> None:
    """Most columns hold one value, which takes no room: what is released of a long questionnaire."""
    import numpy as np
    import pyarrow as pa

    from engine.bundle.unpack import fault
    from engine.data.io.writers import write_parquet

    draw = np.random.default_rng(7).integers(0, 8, (5, 1_000_000), np.int8)
    columns = {f"v{j}": pa.array(row) for j, row in enumerate(draw)}
    columns |= {f"skip{j}": pa.array(np.zeros(1_000_000, np.int8)) for j in range(80)}
    write_parquet(tmp_path / "release.parquet", columns)
    assert not fault(tmp_path / "release.parquet")


DOCUMENTS = [
    ("analyst", "internal/manifest.json"),
    ("analyst", "internal/seed-annex.json"),
    ("analyst", "internal/decision-log.json"),
    ("board", "board.json"),
]


@pytest.mark.parametrize("kind", hostile.JSON)
@pytest.mark.parametrize(("tier", "name"), DOCUMENTS, ids=[name for _, name in DOCUMENTS])
def test_json_that_is_none_of_ours_gets_a_sentence_from_every_reader(
    every: Path, home: tuple[Path, RawTable], tmp_path: Path, kind: str, tier: str, name: str
) -> None:
    bundle, raw = copied(every, tmp_path, tier), home[1]
    path = bundle / name
    path.write_text(hostile.JSON[kind](path.read_text(encoding="utf-8")), encoding="utf-8")
    write_sums(bundle)
    assert any(one.problems for one in verify(bundle))
    readers: list[Callable[[], object]] = [
        lambda: replay(bundle, raw),
        lambda: apply(bundle, raw, "case", tmp_path / "linked"),
    ]
    if tier == "board":
        readers = [lambda: read_board(bundle)]
    for read in readers:
        with pytest.raises(EngineError):
            read()


@pytest.mark.parametrize("name", ["a.json", "b.study"])
def test_a_pipe_in_the_place_of_a_named_file_is_not_waited_for(
    every: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / name)
    bundle = copied(every, tmp_path, "board")
    words = {
        "a.json": ["app", str(tmp_path / name), "--no-browser"],
        "b.study": ["verify", str(bundle), "--study", str(tmp_path / name)],
    }
    assert main(words[name]) == 1
    said = capsys.readouterr()
    assert "is a named pipe" in said.out + said.err
    assert main(["verify", str(bundle)]) == 0  # a pipe beside a bundle that has the name of a study


def test_a_study_beside_a_bundle_cannot_be_a_program(every: Path, tmp_path: Path) -> None:
    """A view is run whenever it is read, and can count for ever."""
    import sqlite3

    bundle = copied(every, tmp_path, "board")
    db = sqlite3.connect(tmp_path / "own.study")
    db.execute("pragma application_id = 1398227280")
    endless = "with recursive r(n) as (select 1 union all select n + 1 from r) select 'a' as name, n as value from r"
    db.execute(f"create view about as {endless}")
    db.close()
    began = time.process_time()
    assert not any(one.problems for one in verify(bundle))
    assert time.process_time() - began < SOON


def test_a_large_member_of_a_document_is_searched(tmp_path: Path) -> None:
    """Larger, packed, than what is read of an archive at once."""
    import zipfile

    with zipfile.ZipFile(tmp_path / "memo.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("picture", os.urandom(3 << 20) + b"the end")
    assert any(part.content.endswith(b"the end") for part in parts_of(tmp_path / "memo.docx"))
