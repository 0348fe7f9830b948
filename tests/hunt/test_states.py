"""A finished study and its bundles go through damage after damage, and after each a command ends as it should: it
refuses with a sentence, or shows what it showed before; no bundle that was changed passes."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.hunt import damage, stock
from tests.hunt.test_bad_inputs import MORE
from tests.hunt.tries import Content, Link, Pipe, Sparse, lay, tried

STUDY, KEY, SUMS = stock.STUDY, f"{stock.STUDY}.key", "SHA256SUMS"
TIERS = ("analyst", "board", "public")
LOOK = ["show", STUDY, "--format", "json"]
COMMANDS = [
    LOOK,
    LOOK,
    [*LOOK, "--by", "realisation"],
    ["show", STUDY, "--undominated", "--max-risk", "0.002"],
    ["show", STUDY, "--objectives", "small_cells,total_variation,hellinger", "--format", "csv"],
    ["choose", STUDY, "--max-risk", "0.002", "--why", "fits"],
    ["decide", STUDY],
    ["decide", STUDY, "--state", "released", "--by", "B"],
    ["measure", STUDY, "--data", stock.DATA, "--measures", "r1_share"],
    ["recheck", STUDY, "--data", stock.DATA, "--replicates", "4"],
    ["sweep", stock.DATA, "--study", STUDY, "--workers", "1"],
    ["sweep", stock.DATA, "--study", STUDY, "--workers", "1", "--extend", "--replicates", "12"],
    ["export", STUDY, "--data", stock.DATA, "--out", "new", "--tier", "board"],
    ["export", STUDY, "--data", stock.DATA, "--out", "new", "--same-order-as", "out/analyst"],
    ["verify", "out", "--study", STUDY],
    ["replay", "out/analyst", "--data", stock.DATA],
    ["replay", "out/analyst/internal/manifest.json", "--data", stock.DATA, "--out", "new"],
    ["diff", STUDY, STUDY],
    ["apply", "out/analyst", "--data", "out/public/release.csv", "--id", "A", "--out", "new"],
]
WRITING = ("measure", "recheck", "sweep")
"""Commands after which a study may show other figures."""
NAMES = ("notes.txt", ".hidden", "a\nb", "\x1b[2J.csv", "x" * 200, "é.csv", "-rf", "release.csv.bak", "CON", "a b/c")
ODD: list[Any] = [None, "", "x", b"", b"\x00\xff", -1, 0, 1, 2.5, 1e300, float("inf"), 2**62, -(2**63), "[" * 5000]
ODD += ["{}", "[]", "null"]
SEEDS = st.integers(0, 2**32 - 1)


@cache
def figures() -> Any:
    """What the whole study shows."""
    with tempfile.TemporaryDirectory() as folder:
        lay(stock.study(), Path(folder))
        return json.loads(stock.run("show", str(Path(folder) / STUDY), *LOOK[2:]))


class Damaged(RuleBasedStateMachine):
    """A folder with the study ``s.study``, its key, and its bundles in ``out``."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="hunt"))
        self.whole()

    def teardown(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder)

    @rule()
    def whole(self) -> None:
        """Everything as it was made."""
        shutil.rmtree(self.folder)
        lay(stock.made(), self.folder)
        (self.folder / KEY).chmod(0o600)
        self.changed: set[str] = set()
        self.shows_the_same = True

    @rule(seed=SEEDS)
    def study_bytes(self, seed: int) -> None:
        """Bytes of the study changed, or something else in its place or its key's, or beside it."""
        rng = random.Random(seed)
        content = stock.study()[STUDY]
        odd: list[tuple[str, Content]] = [
            *((STUDY, damage.flipped(rng, content, 1)), (STUDY, damage.damaged(rng, content)), (KEY, b"00" * 15)),
            *((KEY, b""), (KEY, b"zz" * 16), (KEY, b"00" * 16), (KEY, rng.randbytes(40)), (KEY, Pipe())),
            *((KEY, Link("/dev/zero")), (STUDY, b""), (STUDY, b"SQLite format 3\x00"), (STUDY, Pipe())),
            *((STUDY, Link(STUDY)), (STUDY, Link("/dev/zero")), (f"{STUDY}-wal", rng.randbytes(5000))),
            *((f"{STUDY}-journal", rng.randbytes(5000)), (f"{STUDY}-wal", Pipe())),
        ]
        lay(dict([rng.choice(odd[:2] * 4 + odd[2:])]), self.folder)

    @rule(seed=SEEDS)
    def study_rows(self, seed: int) -> None:
        """A row or a JSON text of the study replaced, a row removed, or a table altered."""
        lay({STUDY: _edited(random.Random(seed), self)}, self.folder)

    @rule(seed=SEEDS, tier=st.sampled_from(TIERS), sealed=st.booleans())
    def bundle_file(self, seed: int, tier: str, sealed: bool) -> None:
        """A file of a bundle changed, removed, added or replaced, the list of digests perhaps written anew."""
        rng, root = random.Random(seed), self.folder / "out" / tier
        names = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
        if not names:
            return
        path = rng.choice(names)
        before = path.read_bytes() if path.stat().st_size < 1 << 26 else b""
        content: Content
        match rng.randrange(7):
            case 0 | 1 if before:
                content = damage.damaged(rng, before)
            case 2 | 3 if before:
                content = _text_damaged(rng, before)
            case 4:
                path = root / rng.choice(("", "internal", "release")) / rng.choice(NAMES)
                content = rng.choice(
                    (b"", b"x", Pipe(), Link("/dev/zero"), Link(".."), Link("nowhere"), Sparse(1 << 40))
                )
            case 5:
                path.unlink()
                self.changed.add(tier)
                return
            case _:
                content = rng.choice((Pipe(), Link("/dev/zero"), Link(path.name), Link(".."), Sparse(3 << 30), b""))
        lay({path.relative_to(self.folder).as_posix(): content}, self.folder)
        if content != before and path.name != SUMS:
            self.changed.add(tier)
        if sealed:
            _seal(root)
            self.changed.discard(tier)

    @rule(argv=st.sampled_from(COMMANDS))
    def command(self, argv: list[str]) -> None:
        """Run a command; a verified bundle that was changed does not pass, and no other figures are shown."""
        shutil.rmtree(self.folder / "new", ignore_errors=True)
        beside = [f"{STUDY}-{ends}" for ends in ("journal", "wal", "shm")]  # the database's own
        ran = tried(argv, self.folder, [STUDY, *beside])
        if argv[0] == "verify" and self.changed:
            assert ran.code, f"bundles that were changed pass: {self.changed}"
        if argv == LOOK and self.shows_the_same and not ran.code:
            assert json.loads(ran.out) == figures(), "other figures than before were shown without a word"
        if argv[0] in WRITING and not ran.code:
            self.shows_the_same = False


def _seal(root: Path) -> None:
    """Write the digests anew, as somebody would who does not want to be seen."""
    files = sorted(p for p in root.rglob("*") if p.is_file() and not p.is_symlink() and p.name != SUMS)
    files = [path for path in files if path.stat().st_size < 1 << 26]
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(root).as_posix()}\n" for p in files]
    lay({SUMS: "".join(lines).encode()}, root)


def _text_damaged(rng: random.Random, content: bytes) -> bytes:
    """A part of a JSON text replaced, else a line of a text."""
    with suppress(ValueError, RecursionError):
        return damage.json_altered(rng, content)
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    odd = (b"", b"\x00", b"../../etc/passwd", b"," * 10_000, b'"', b"0" * 64 + b"  x", lines[at] * 2, b"\xff\xfe")
    lines[at] = rng.choice((*odd, b"a" * 10_000_000))
    return b"\n".join(lines)


def _edited(rng: random.Random, machine: Damaged) -> bytes:
    """The whole study after an edit of its database."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / STUDY
        path.write_bytes(stock.study()[STUDY])
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            names = [row[0] for row in db.execute("select name from sqlite_master where type = 'table' order by name")]
            table = rng.choice(names)
            columns = [row[1] for row in db.execute(f"pragma table_info({table})")]
            rows = db.execute(f"select * from {table}").fetchall()
            if rng.random() < 0.2:
                machine.shows_the_same = False
                db.execute(
                    rng.choice(
                        (
                            f"drop table {table}",
                            f"alter table {table} rename to other",
                            f'alter table {table} rename column "{rng.choice(columns)}" to "other"',
                            f'alter table {table} add column "more" text',
                            f"pragma user_version = {rng.choice((1, 99, -1, 2**31 - 1))}",
                        )
                    )
                )
            elif rows:
                row, column = rng.choice(rows), rng.randrange(len(columns))
                here = " and ".join(f'"{name}" is ?' for name in columns)
                value, odd = row[column], rng.choice((*ODD, rng.choice(rows)[column]))
                if isinstance(value, str) and value[:1] in ("[", "{"):
                    odd = damage.json_altered(rng, value.encode()).decode()
                if rng.random() < 0.15:
                    db.execute(f"delete from {table} where {here}", row)
                with suppress(sqlite3.IntegrityError):  # a number of rows takes numbers only
                    db.execute(f'update or ignore {table} set "{columns[column]}" = ? where {here}', (odd, *row))
            db.execute("pragma wal_checkpoint(truncate)").fetchall()
        return path.read_bytes()


TestDamaged = pytest.mark.slow(
    pytest.mark.skipif(
        sys.platform == "win32", reason="Windows has no pipes among its files; run it on Linux or macOS"
    )(Damaged.TestCase)
)
TestDamaged.settings = settings(max_examples=12 * MORE, stateful_step_count=10)
