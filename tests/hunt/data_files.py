"""Commands on data files that are wrong in some way; see ``tests/hunt/bad_data_files.py``."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from tests.hunt.bad_data_files import FORMS, bad_files, good_file
from tests.hunt.case import Case, Content, Link, Pipe, Sparse

LIBRARY = ("sav", "zsav", "por", "dta", "xpt", "sas7bdat")
_COMMANDS = (["plan", "init", "{}", "--out", "-"], ["plan", "init", "{}", "--out", "-"], ["plan", "propose", "{}"])


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


def cases(rng: random.Random, count: int) -> Iterator[Case]:
    """The known ones first, then generated ones."""
    for what, files in list(known())[: count // 4 or None]:
        yield _case(what, files, next(iter(files)).partition("/")[0], rng)
    for name, data in bad_files(rng.randrange(2**32)):
        yield _case(name, {name: data}, name, rng)


def _case(what: str, files: Mapping[str, Content], name: str, rng: random.Random) -> Case:
    return Case("data", what, files, [word.format(name) for word in rng.choice(_COMMANDS)])
