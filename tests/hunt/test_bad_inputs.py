"""Data files, codebooks, plans and command lines that are wrong in some way are read, or refused with a sentence.

``make hunt`` tries many more of each.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import pytest

from tests.hunt import arguments, bad_plans, codebooks
from tests.hunt.bad_data_files import FORMS, bad_files, good_file
from tests.hunt.tries import Content, Link, Pipe, Ran, Sparse, lay, tried

MORE = int(os.environ.get("HUNT", "1"))
"""How many times as many inputs are tried."""
LIBRARY = ("sav", "zsav", "por", "dta", "xpt", "sas7bdat")
DEAR = ("many columns", "a long header", "a long cell in quotes")
pytestmark = [
    pytest.mark.skipif(
        sys.platform == "win32", reason="Windows has no pipes and devices among its files; run it on Linux or macOS"
    ),
    pytest.mark.usefixtures("quick_readers"),
]


def known() -> Iterator[tuple[str, Mapping[str, Content]]]:
    """Files that are no files, and files of the wrong kind: what they are called, and what lies there."""
    for form in FORMS:
        name = f"a.{form}"
        yield "empty", {name: b""}
        yield "one byte", {name: b"\0"}
        yield "a link to an endless file", {name: Link("/dev/zero")}
        yield "a link to nothing", {name: Link("/dev/null")}
        yield "a pipe", {name: Pipe()}
        yield "a folder", {f"{name}/b.csv": b"a,b\n1,2\n"}
        yield "a link to itself", {name: Link(name)}
        yield "a large file of zeros", {name: Sparse(1 << 30)}
    for form, other in zip(FORMS, (*FORMS[1:], FORMS[0]), strict=True):
        yield f"{other} called {form}", {f"a.{form}": good_file(other)}
    for what, text in {
        "a header only": b"a,b\n",
        "two columns of one name": b"a,a\n1,2\n",
        "a quote in the header": b'A,scr 15",B\n1,2,3\n',
        "a long cell": b"a,b\n1," + b"x" * 10**6 + b"\n2,y\n",
        "a long cell in quotes": b'a,b\n1,"' + b'x""\n' * 10**6 + b'"\n2,y\n',
        "a long header": b"a" * 10**6 + b",b\n1,2\n",
        "many columns": b",".join(b"c%d" % i for i in range(5000)) + b"\n" + b",".join([b"1"] * 5000) + b"\n",
        "mixed line ends": b"a,b\r1,2\n3,4\r\n5,6",
        "a mark": b"\xef\xbb\xbfa,b\n1,2\n3,4\n",
        "UTF-16 without a mark": "a,b\n1,2\n".encode("utf-16-le"),
        "UTF-16 without a mark, large end first": "a,b\n1,2\n".encode("utf-16-be"),
        "zero bytes": b"a,b\n1,\0\n2,3\n",
    }.items():
        yield what, {"a.csv": text}


KNOWN = [
    pytest.param(
        *(files, name.partition("/")[0]),
        id=f"{what}, {name}",
        marks=[pytest.mark.slow] if what in DEAR else [],
    )
    for what, files in known()
    for name in files
    if not name.endswith(LIBRARY) or what in ("empty", "a pipe", "a link to an endless file")
]


def one_sentence(ran: Ran) -> int:
    """The exit code; a refusal ends with one sentence of the program."""
    assert not ran.code or ran.err.splitlines()[-1].startswith("frontier: "), ran.err
    return ran.code


@pytest.mark.parametrize(("files", "name"), KNOWN)
def test_a_known_bad_file(files: Mapping[str, Content], name: str, tmp_path: Path) -> None:
    lay(files, tmp_path)
    one_sentence(tried(["plan", "init", name, "--out", "-"], tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_good_file_is_read(form: str, tmp_path: Path) -> None:
    lay({f"a.{form}": good_file(form)}, tmp_path)
    assert tried(["plan", "init", f"a.{form}", "--out", "-"], tmp_path).code == 0


@pytest.mark.slow
@pytest.mark.parametrize(("forms", "count"), [(("csv",), 80), (("parquet",), 40), (LIBRARY, 16)])
def test_generated_bad_files(forms: tuple[str, ...], count: int, tmp_path: Path) -> None:
    codes = set()
    for name, content in islice(bad_files(11, forms), count * MORE):
        lay({name: content}, tmp_path)
        codes.add(one_sentence(tried(["plan", "init", name, "--out", "-"], tmp_path)))
        (tmp_path / name).unlink()
    assert 1 in codes, "some are refused"


@pytest.mark.slow
def test_generated_bad_codebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTIER_HOME", str(tmp_path / "home"))
    rng, codes = random.Random(5), set()
    for number in range(40 * MORE):
        files, argv = codebooks.trial(rng)
        lay(files, tmp_path / str(number))
        codes.add(one_sentence(tried(argv, tmp_path / str(number))))
    assert {0, 2} <= codes, "some are read and some refused"


@pytest.mark.slow
def test_generated_bad_plans(tmp_path: Path) -> None:
    rng, codes = random.Random(3), set()
    for number in range(60 * MORE):
        files, argv, writes = bad_plans.trial(rng)
        lay(files, tmp_path / str(number))
        codes.add(tried(argv, tmp_path / str(number), writes).code)
        shutil.rmtree(tmp_path / str(number))
    assert {0, 2} <= codes, "some are read and some refused"


@pytest.mark.slow
def test_generated_command_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTIER_HOME", str(tmp_path / "home"))
    rng, codes = random.Random(9), set()
    for number in range(60 * MORE):
        folder = tmp_path / str(number)
        lay(arguments.files(), folder)
        (folder / "s.study.key").chmod(0o600)
        argv, writes = arguments.command_line(rng)
        codes.add(tried(argv, folder, writes).code)
        shutil.rmtree(folder)
    assert codes == {0, 1, 2}
