"""Study files with bits turned over, cut, with rows, types and JSON altered, or something else in their place."""

from __future__ import annotations

import json
import random
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests.hunt import damage, stock
from tests.hunt.case import Case, Content, Link, Pipe, Ran

KEY = f"{stock.STUDY}.key"
LOOK = ("show", stock.STUDY, "--format", "json")
COMMANDS: list[list[str]] = [
    [*LOOK],
    [*LOOK],
    [*LOOK, "--by", "realisation"],
    ["show", stock.STUDY, "--undominated", "--max-risk", "0.002"],
    ["show", stock.STUDY, "--objectives", "small_cells,total_variation,hellinger", "--format", "csv"],
    ["choose", stock.STUDY, "--max-risk", "0.002", "--why", "fits"],
    ["decide", stock.STUDY],
    ["decide", stock.STUDY, "--state", "released", "--by", "B"],
    ["measure", stock.STUDY, "--data", stock.DATA, "--measures", "r1_share"],
    ["recheck", stock.STUDY, "--data", stock.DATA, "--replicates", "4"],
    ["sweep", stock.DATA, "--study", stock.STUDY, "--workers", "1"],
    ["sweep", stock.DATA, "--study", stock.STUDY, "--workers", "1", "--extend", "--replicates", "12"],
    ["export", stock.STUDY, "--data", stock.DATA, "--out", "new", "--tier", "board"],
    ["diff", stock.STUDY, "other.study"],
    ["verify", "out", "--study", stock.STUDY],
]
_ODD: list[Any] = [
    None,
    "",
    "x",
    b"",
    b"\x00\xff",
    -1,
    0,
    1,
    2.5,
    1e300,
    float("inf"),
    2**62,
    -(2**63),
    "[" * 5000,
    "{}",
    "[]",
    "null",
]
Damage = Callable[[random.Random, dict[str, Content]], None]


def prepare() -> None:
    """Make the study that is damaged."""
    stock.made()
    figures()


def cases(rng: random.Random, count: int) -> Iterator[Case]:
    ways: list[Damage] = [
        bytes_damaged,
        bytes_damaged,
        row_altered,
        row_altered,
        row_altered,
        json_altered,
        table_altered,
        beside,
    ]
    board = {name: content for name, content in stock.bundles().items() if name.startswith("out/board")}
    for number in range(count):
        files: dict[str, Content] = dict(stock.study())
        way, argv = rng.choice(ways), rng.choice(COMMANDS)
        way(rng, files)
        if argv[0] == "diff":
            files["other.study"] = stock.study()[stock.STUDY]
        if argv[0] == "verify":
            files |= {f"out/{Path(name).name}": content for name, content in board.items()}
        writes = [stock.STUDY]  # also for a command that only reads: how the database keeps its journal is in it
        if way is beside:
            writes += [f"{stock.STUDY}-journal", f"{stock.STUDY}-wal"]  # the database's own
        check = same_figures if tuple(argv) == LOOK and way is not table_altered else None
        yield Case("studies", f"{way.__name__} {number}", files, argv, writes=writes, check=check)


def bytes_damaged(rng: random.Random, files: dict[str, Content]) -> None:
    """Somewhere in the file."""
    content = stock.study()[stock.STUDY]
    files[stock.STUDY] = damage.flipped(rng, content, 1) if rng.random() < 0.5 else damage.damaged(rng, content)


def row_altered(rng: random.Random, files: dict[str, Content]) -> None:
    """A value of a row replaced, or a row removed or doubled."""

    def alter(db: sqlite3.Connection) -> None:
        table = rng.choice(tables(db))
        columns = [row[1] for row in db.execute(f"pragma table_info({table})")]
        rows = db.execute(f"select * from {table}").fetchall()
        if not rows:
            return
        at, column = rng.choice(rows), rng.randrange(len(columns))
        here = " and ".join(f'"{name}" is ?' for name in columns)
        match rng.randrange(8):
            case 0:
                db.execute(f"delete from {table} where {here}", at)
            case 1:
                db.execute(f"delete from {table}")
            case _:
                odd = rng.choice((*_ODD, rng.choice(rows)[column]))
                with suppress(sqlite3.IntegrityError):  # a number of rows takes numbers only
                    db.execute(f'update or ignore {table} set "{columns[column]}" = ? where {here}', (odd, *at))

    files[stock.STUDY] = edited(alter)


def json_altered(rng: random.Random, files: dict[str, Content]) -> None:
    """A JSON text inside altered."""

    def alter(db: sqlite3.Connection) -> None:
        found = []
        for table in tables(db):
            for column in [row[1] for row in db.execute(f"pragma table_info({table})")]:
                for rowtext in db.execute(
                    f'select distinct "{column}" from {table} where typeof("{column}") = \'text\''
                ):
                    if rowtext[0][:2] in ("[]", "{}", '{"', '["', "[{", "[["):
                        found.append((table, column, rowtext[0]))
        table, column, text = rng.choice(found)
        changed = damage.json_altered(rng, text.encode()).decode()
        db.execute(f'update or ignore {table} set "{column}" = ? where "{column}" = ?', (changed, text))

    files[stock.STUDY] = edited(alter)


def table_altered(rng: random.Random, files: dict[str, Content]) -> None:
    """A table dropped, renamed, or with a column less or more."""

    def alter(db: sqlite3.Connection) -> None:
        table = rng.choice(tables(db))
        columns = [row[1] for row in db.execute(f"pragma table_info({table})")]
        match rng.randrange(5):
            case 0:
                db.execute(f"drop table {table}")
            case 1:
                db.execute(f"alter table {table} rename to other")
            case 2:
                db.execute(f'alter table {table} rename column "{rng.choice(columns)}" to "other"')
            case 3:
                db.execute(f'alter table {table} add column "more" text')
            case _:
                db.execute(f"pragma user_version = {rng.choice((1, 99, -1, 2**31 - 1))}")
                db.execute(f"pragma application_id = {rng.choice((0, 1))}")

    files[stock.STUDY] = edited(alter)


def beside(rng: random.Random, files: dict[str, Content]) -> None:
    """Something else in place of the study or its key, or odd files beside it."""
    odd: list[tuple[str, Content]] = [
        (KEY, b""),
        (KEY, b"00" * 15),
        (KEY, b"zz" * 16),
        (KEY, rng.randbytes(rng.randint(1, 100))),
        (KEY, b"00" * 16),
        (KEY, Pipe()),
        (KEY, Link("/dev/zero")),
        (stock.STUDY, b""),
        (stock.STUDY, b"SQLite format 3\x00"),
        (stock.STUDY, Pipe()),
        (stock.STUDY, Link(stock.STUDY)),
        (stock.STUDY, Link("/dev/zero")),
        (f"{stock.STUDY}-wal", rng.randbytes(5000)),
        (f"{stock.STUDY}-journal", rng.randbytes(5000)),
        (f"{stock.STUDY}-wal", Pipe()),
    ]
    name, content = rng.choice(odd)
    files[name] = content


def tables(db: sqlite3.Connection) -> list[str]:
    """The tables of a study."""
    return [row[0] for row in db.execute("select name from sqlite_master where type = 'table' order by name")]


def edited(alter: Callable[[sqlite3.Connection], None]) -> bytes:
    """The study after an edit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / stock.STUDY
        path.write_bytes(stock.study()[stock.STUDY])
        db = sqlite3.connect(path, isolation_level=None)
        alter(db)
        db.execute("pragma wal_checkpoint(truncate)").fetchall()
        db.close()
        return path.read_bytes()


@cache
def figures() -> Any:
    """What the whole study shows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / stock.STUDY
        path.write_bytes(stock.study()[stock.STUDY])
        return json.loads(stock.run("show", str(path), *LOOK[2:]))


def same_figures(ran: Ran) -> str:
    """A damaged study is refused, or shows what it showed before."""
    if ran.code or json.loads(ran.out) == figures():
        return ""
    return "other figures than before were shown without a word"
