"""Bundles with files altered, removed, added or replaced by links, pipes and bombs."""

from __future__ import annotations

import hashlib
import io
import random
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache, reduce
from operator import xor
from pathlib import PurePosixPath

from tests.hunt import damage, stock
from tests.hunt.case import Case, Content, Link, Pipe, Ran, Sparse

TIERS = ("analyst", "board", "public")
SUMS = "SHA256SUMS"
GIGABYTES = 4
_MEBIBYTE = bytes(1 << 20)
_NAMES = ("notes.txt", ".hidden", "a\nb", "\x1b[2J.csv", "x" * 200, "é.csv", "-rf", "release.csv.bak", "CON", "a b/c")
Files = dict[str, Content]


def prepare() -> None:
    """Make the bundles that are damaged, and the bombs."""
    stock.made()
    bomb()


def cases(rng: random.Random, count: int) -> Iterator[Case]:
    ways: list[Callable[[random.Random, Files, str], bool]] = [
        *(document_altered, document_altered, json_altered, json_altered),
        *(removed, added, replaced, unpacking, table_altered),
    ]
    whole = stock.bundles()
    for number in range(count):
        tier, way = rng.choice(TIERS), rng.choice(ways)
        files: Files = dict(whole)
        told = way(rng, files, f"out/{tier}/")
        if told and rng.random() < 0.4:
            seal(files, tier)
            told = False
        argv = rng.choice(commands(tier))
        check = refused if told and argv[0] == "verify" else None
        yield Case("bundles", f"{way.__name__} {tier} {number}", files, argv, writes=(stock.STUDY,), check=check)


def commands(tier: str) -> list[list[str]]:
    """What is done with a bundle of a tier."""
    found = [["verify", f"out/{tier}"], ["verify", "out"], ["verify", f"out/{tier}", "--study", stock.STUDY]]
    if tier == "analyst":
        found += [
            ["replay", "out/analyst", "--data", stock.DATA],
            ["replay", "out/analyst/internal/manifest.json", "--data", stock.DATA, "--out", "again"],
            ["diff", "out/analyst", stock.STUDY],
            ["apply", "out/analyst", "--data", "out/public/release.csv", "--id", "A", "--out", "linked"],
            ["export", stock.STUDY, "--data", stock.DATA, "--out", "new", "--same-order-as", "out/analyst"],
        ]
    if tier == "board":
        found += [["diff", "out/member", stock.STUDY], ["diff", "out/member", "out/analyst"]]
    return found


def inside(rng: random.Random, files: Files, root: str, ends: tuple[str, ...] = ("",)) -> str:
    """The path of a file of a bundle."""
    return rng.choice([name for name in files if name.startswith(root) and name.endswith(ends)])


def document_altered(rng: random.Random, files: Files, root: str) -> bool:
    """Bytes changed somewhere."""
    name = inside(rng, files, root)
    content = files[name]
    assert isinstance(content, bytes)
    files[name] = damage.damaged(rng, content)
    return not name.endswith(SUMS)


def json_altered(rng: random.Random, files: Files, root: str) -> bool:
    """A manifest, a log, the board's file."""
    if root == "out/public/":
        return table_altered(rng, files, root)
    name = inside(rng, files, root, (".json",))
    content = files[name]
    assert isinstance(content, bytes)
    files[name] = damage.json_altered(rng, content)
    return True


def table_altered(rng: random.Random, files: Files, root: str) -> bool:
    """The list of digests, a plan or a table, as text."""
    name = inside(rng, files, root, (SUMS, ".toml", ".csv", ".xml", ".txt"))
    content = files[name]
    assert isinstance(content, bytes)
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    odd = (
        b"",
        b"\x00",
        b"../../etc/passwd",
        b"," * 10_000,
        b'"',
        b"0" * 64 + b"  x",
        lines[at] * 2,
        b"\xff\xfe",
        b"a" * 10_000_000,
    )
    lines[at] = rng.choice(odd)
    changed = b"\n".join(lines)
    files[name] = changed
    return changed != content and not name.endswith(SUMS)


def removed(rng: random.Random, files: Files, root: str) -> bool:
    """One file or many."""
    names = [name for name in files if name.startswith(root)]
    for name in rng.sample(names, rng.choice((1, 1, 2, len(names) - 1))):
        del files[name]
    return True


def added(rng: random.Random, files: Files, root: str) -> bool:
    """A file that nobody gets."""
    where = rng.choice((root, f"{root}internal/", f"{root}release/", "out/"))
    content: Content = rng.choice((b"", b"x", Pipe(), Link("/dev/zero"), Link(".."), Link("nowhere"), Sparse(1 << 40)))
    files[where + rng.choice(_NAMES)] = content
    return where != "out/"


def replaced(rng: random.Random, files: Files, root: str) -> bool:
    """A link, a pipe, a huge or a strange file where another one was."""
    name = inside(rng, files, root)
    odd: list[Content] = [
        Pipe(),
        Link("/dev/zero"),
        Link("/dev/urandom"),
        Link("/dev/tty"),
        Link("/proc/self/mem"),
        Link(PurePosixPath(name).name),
        Link("nowhere"),
        Link(".."),
        Link("../../s.study"),
        Sparse(1 << 40),
        Sparse(3 << 30),
        b"",
    ]
    content = rng.choice(odd)
    files[name] = content
    return True


def unpacking(rng: random.Random, files: Files, root: str) -> bool:
    """A document that unpacks to gigabytes, or to itself."""
    names = [
        name
        for name in files
        if name.startswith(root) and name.endswith((".docx", ".xlsx", ".pptx", ".pdf", ".xml", ".html"))
    ]
    if not names:
        return replaced(rng, files, root)
    name = rng.choice(names)
    laughs = "".join(f'<!ENTITY a{k} "{f"&a{k - 1};" * 20}">' for k in range(1, 12))
    if name.endswith((".docx", ".xlsx", ".pptx")):
        files[name] = bomb()
    elif name.endswith(".xml"):
        deep = "<a>" * 200_000
        laugh = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a0 "ha">{laughs}]><x>&a11;</x>'
        files[name] = rng.choice((deep, laugh)).encode()
    elif name.endswith(".html"):
        files[name] = b"<div>" * 1_000_000
    else:
        content = files[name]
        assert isinstance(content, bytes)
        files[name] = damage.blotted(rng, content)
    return True


@cache
def bomb() -> bytes:
    """An archive of some megabytes that unpacks to gigabytes."""
    return zeros_in_archive("word/document.xml", GIGABYTES << 10)


def zeros_in_archive(name: str, mebibytes: int) -> bytes:
    """An archive with a member of zeros.  A mebibyte is compressed once and repeated, its checksum likewise."""
    packed, press = io.BytesIO(), zlib.compressobj(wbits=-15)
    piece = press.compress(_MEBIBYTE) + press.flush(zlib.Z_FULL_FLUSH)
    content = piece * mebibytes + zlib.compressobj(wbits=-15).flush()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        member = zipfile.ZipInfo(name)
        member.compress_type, member.header_offset, member.external_attr = (
            zipfile.ZIP_DEFLATED,
            packed.tell(),
            0o600 << 16,
        )
        member.CRC, member.file_size, member.compress_size = checksum_of_zeros(mebibytes), mebibytes << 20, len(content)
        packed.write(member.FileHeader(zip64=True) + content)
        archive.filelist.append(member)
        archive.NameToInfo[name] = member
        archive.start_dir = packed.tell()
    return packed.getvalue()


def checksum_of_zeros(mebibytes: int) -> int:
    """The CRC-32 of so many mebibytes of zeros: bits of one that is continued are sums of those of the one before."""
    none = zlib.crc32(_MEBIBYTE)
    of_bit = [zlib.crc32(_MEBIBYTE, 1 << bit) ^ none for bit in range(32)]
    total = 0
    for _ in range(mebibytes):
        total = reduce(xor, (of_bit[bit] for bit in range(32) if total >> bit & 1), none)
    return total


def seal(files: Files, tier: str) -> None:
    """Write the digests anew, as somebody would who does not want to be seen."""
    root = f"out/{tier}/"
    lines = []
    for name, content in sorted(files.items()):
        if name.startswith(root) and not name.endswith(SUMS) and isinstance(content, bytes):
            lines.append(f"{hashlib.sha256(content).hexdigest()}  {name.removeprefix(root)}\n")
    files[root + SUMS] = "".join(lines).encode()


def refused(ran: Ran) -> str:
    """A bundle that was changed does not pass."""
    return "" if ran.code else "a bundle that was changed passes"
