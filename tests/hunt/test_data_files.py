"""A few dozen bad data files and codebooks, tried in this process; ``python -m tests.hunt`` tries thousands."""

from __future__ import annotations

import os
import random
import sys
import time
from itertools import islice
from pathlib import Path

import pytest

from engine.cli.main import main
from tests.hunt import codebooks, data_files
from tests.hunt.bad_data_files import FORMS, bad_files, good_file
from tests.hunt.case import Case
from tests.hunt.runner import lay

DEAR = ("many columns", "a long header", "a long cell in quotes")
KNOWN = [
    pytest.param(
        *(f"{what}, {name}", files, name.partition("/")[0]),
        id=f"{what}, {name}",
        marks=[pytest.mark.slow] if what in DEAR else [],
    )
    for what, files in data_files.known()
    for name in files
    if not name.endswith(data_files.LIBRARY) or what in ("empty", "a pipe", "a link to an endless file")
]


def tried(argv: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    """The exit code of a command, which ends soon, and with one sentence where it is refused."""
    began = time.monotonic()
    code = main(argv)
    err = capsys.readouterr().err
    assert time.monotonic() - began < 20
    if code:
        assert code in (1, 2)
        last = err.splitlines()[-1]
        assert last.startswith("frontier: ") and "Traceback" not in err, err
    return code


@pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no pipes and devices among its files; run the tests on Linux or macOS"
)
@pytest.mark.parametrize(("what", "files", "name"), KNOWN)
def test_a_known_bad_file(what, files, name, tmp_path: Path, capsys, monkeypatch) -> None:
    lay(files, tmp_path)
    monkeypatch.chdir(tmp_path)
    tried(["plan", "init", name, "--out", "-"], capsys)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_readers")
@pytest.mark.parametrize("form", FORMS)
def test_a_good_file_is_read(form: str, tmp_path: Path, capsys) -> None:
    (tmp_path / f"a.{form}").write_bytes(good_file(form))
    assert tried(["plan", "init", str(tmp_path / f"a.{form}"), "--out", "-"], capsys) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("quick_readers")
@pytest.mark.parametrize(("forms", "count"), [(("csv",), 80), (("parquet",), 40), (data_files.LIBRARY, 8)])
def test_generated_bad_files(forms: tuple[str, ...], count: int, tmp_path: Path, capsys) -> None:
    codes = set()
    for name, content in islice(bad_files(11, forms), count):
        (tmp_path / name).write_bytes(content)
        codes.add(tried(["plan", "init", str(tmp_path / name), "--out", "-"], capsys))
    assert 1 in codes, "some are refused"


@pytest.mark.slow
def test_generated_bad_codebooks(tmp_path: Path, tmp_path_factory, capsys, monkeypatch) -> None:
    def argv(case: Case) -> list[str]:
        for old in tmp_path.iterdir():
            old.unlink()
        lay(case.files, tmp_path)
        return list(case.argv)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRONTIER_HOME", os.fspath(tmp_path_factory.mktemp("home")))
    codes = {tried(argv(case), capsys) for case in codebooks.cases(random.Random(5), 40)}
    assert {0, 2} <= codes, "some are read and some refused"
