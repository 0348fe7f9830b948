"""Verify a bundle from its folder alone: digests, allow-list, fields, chain of the log."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from engine.bundle.binding import compare, read_log
from engine.bundle.contents import Contents, why_unopened
from engine.bundle.file_validity import fault
from engine.bundle.files import SUMS, read_sums, sha256
from engine.bundle.integrity import changed_inside
from engine.bundle.leaks import here
from engine.bundle.manifest import RELEASE, read_manifest
from engine.bundle.public import METHODS
from engine.bundle.tiers import TIERS, Tier, bundles_in, contents_of, is_folder
from engine.bundle.unpack import parts_of, prose
from engine.bundle.xml_names import read_elements
from engine.common.errors import EngineError
from engine.common.os_support import arrow_file
from engine.common.untrusted import is_plain, open_plain, read_text, spelt
from engine.decision.disclosure_text import LABEL
from engine.study.decision_log import START

if TYPE_CHECKING:
    from engine.report.chair import ChairFacts

_MOST_HEADER = 1 << 24
_MOST_SAID = 1000  # of one check: a file can be wrong in millions of places
_MOST_BESIDE = 1000  # names that are listed, of as many as there may be


@dataclass(frozen=True)
class Checked:
    """One check of a bundle: its tier, what was looked at, and what is wrong (nothing when it holds); ``note`` says why
    it could not be looked at (else empty)."""

    tier: str
    what: str
    problems: tuple[str, ...]
    note: str = ""


def verify(path: str | Path, study: str | Path | None = None) -> list[Checked]:
    """All checks of the bundles in a folder: of the folder itself, or of analyst, chair, member and public in it.

    Whether a bundle is one that was exported is looked up in ``study``, else in studies beside it, else in the
    analyst's bundle beside it.  A folder that holds no bundle is an :class:`EngineError`.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise EngineError(f"'{folder.name}' is no folder; give the folder of a bundle")
    bundles = bundles_in(folder)
    if not bundles:
        raise EngineError(
            f"'{folder.name}' is no bundle: it holds none of the files that tell {', '.join(TIERS)} apart"
        )
    found = []
    for tier, bundle in bundles.items():
        files, first = _openable(bundle, tier)
        found += first
        found += [
            Checked(tier, what, tuple(_spoken(check, files))) for what, check in _CHECKS.items() if tier in _FOR[what]
        ]
        found.append(_bound(bundle, tier, None if study is None else Path(study)))
    if len(bundles) > 1 or folder not in bundles.values():
        beside = [spelt(p.name) for p in islice(folder.iterdir(), _MOST_BESIDE) if p not in bundles.values()]
        found.append(Checked("all", "nothing lies beside the bundles", tuple(f"'{name}' does" for name in beside)))
    if {"analyst", "public"} <= set(bundles):
        found.append(Checked("all", "the release is the same in every bundle", tuple(_same_release(bundles))))
    return found


def _openable(bundle: Path, tier: Tier) -> tuple[Contents, list[Checked]]:
    """The files of a bundle, those refused that no other check may open, and the two checks that tell them apart:
    what lies there is looked at before any of it is opened, and what is in it before any of that is used."""
    files = contents_of(bundle, tier)
    faults = {name: why for name in files.sound if (why := fault(bundle / name))}
    return files.without(faults), [
        Checked(tier, what, tuple(f"'{spelt(name)}' {why}" for name, why in refused.items()))
        for what, refused in (
            ("only files that this reader gets", files.refused),
            ("every file can be opened as what it is", faults),
        )
    ]


def _spoken(check: Callable[[Contents], Iterator[str]], files: Contents) -> Iterator[str]:
    """The first that a check finds; a file that is damaged in a way that no check foresees is a finding too."""
    try:
        found = check(files)
        yield from islice(found, _MOST_SAID)
        if next(found, None) is not None:
            yield f"there is more than these {_MOST_SAID:,}"
    except EngineError as error:
        yield str(error)
    except (OSError, ValueError, RecursionError):
        yield "a file of the bundle is damaged, so that this could not be looked at"


def _bound(bundle: Path, tier: Tier, study: Path | None) -> Checked:
    what = "it is a bundle that was exported"
    try:
        problems, note = compare(bundle, tier, study)
    except EngineError as error:
        problems, note = (str(error),), ""
    except (OSError, ValueError, RecursionError):
        problems, note = ("the analyst's bundle beside it is damaged, so there is nothing to compare",), ""
    return Checked(tier, what, problems, note)


def _digests(files: Contents) -> Iterator[str]:
    listed = read_sums(files.folder)
    if listed is None:
        yield f"{SUMS} is missing or damaged"
        return
    there = {name for name in files.names if name != SUMS}
    yield from (f"'{name}' is listed and not there" for name in sorted(set(listed) - there))
    yield from (f"'{spelt(name)}' is there and not listed" for name in sorted(there - set(listed)))
    yield from (
        f"'{name}' was changed"
        for name in files.sound
        if name in listed and sha256(files.folder / name) != listed[name]
    )


def _nobodys(files: Contents) -> Iterator[str]:
    """Names and paths of this machine; of another one they cannot be known."""
    secrets, contact = here(), _contact(files.folder) if files.tier == "member" else ""
    for name in files.sound:
        for part in parts_of(files.folder / name):
            for secret in secrets:
                if secret.found_in(part, contact):
                    yield f"'{part.where}' holds {secret.what}"


def _contact(bundle: Path) -> str:
    """The contact that a member's bundle names; it may be who made it."""
    from engine.report.findings import read_board

    try:
        return read_board(bundle).cover.contact
    except EngineError:  # another check says so
        return ""


def _chain(files: Contents) -> Iterator[str]:
    log = read_log(files.folder)
    if (log[-1].digest if log else START) != read_manifest(files.folder)["log"]:
        yield "the decision log ends elsewhere than the manifest says: entries were cut off or added"


def _manifest(files: Contents) -> Iterator[str]:
    bundle, manifest = files.folder, read_manifest(files.folder)
    if not manifest["intact"]:
        yield "the manifest is not the one that was sealed with its seed annex: a field was changed"
    for name, digest in manifest["sha256"].items():
        if f"{RELEASE}/{name}" not in files.sound or sha256(bundle / RELEASE / name) != digest:
            yield f"the released file '{name}' is not the one of the manifest"
    yield from (
        f"'{name}' is not the one of the manifest: it was changed, added or removed"
        for name in changed_inside(bundle, manifest)
    )
    for name in files.sound:
        folder, _, file = name.partition("/")
        if folder == RELEASE and file not in manifest["sha256"]:
            yield f"the released file '{file}' is not in the manifest"


def _board(files: Contents) -> Iterator[str]:
    from engine.report.findings import read_board

    read_board(files.folder)
    yield from ()


def _chair(files: Contents) -> Iterator[str]:
    _chair_facts(files.folder)
    yield from ()


def _chair_facts(bundle: Path) -> ChairFacts:
    from engine.report.chair import CHAIR, ChairFacts

    return ChairFacts.from_json(read_text(bundle / CHAIR))


def _no_ids(files: Contents) -> Iterator[str]:
    """Candidates' own names; these readers know letters.  Names of the data that the bundle declares may read so."""
    declared = _declared(files.folder) if files.tier == "member" else _attributes(files.folder)
    for where, text in prose(files.folder, files.sound):
        match = next((m for m in LABEL.finditer(text) if m[0] not in declared), None)
        if match:
            yield f"'{where}' holds '{match[0]}', which reads like the id of a candidate"


def _attributes(bundle: Path) -> frozenset[str]:
    """What reads like an id in the names of attributes and columns of a chair's bundle."""
    try:
        facts = _chair_facts(bundle)
    except EngineError:  # another check says so
        return frozenset()
    return frozenset(match[0] for row in facts.attributes for match in LABEL.finditer(row.name))


def _declared(bundle: Path) -> frozenset[str]:
    """What reads like an id in names of attributes, columns and levels of a member's bundle."""
    from engine.report.findings import read_board

    try:
        found = read_board(bundle)
    except EngineError:  # another check says so
        return frozenset()
    names = [name for a in found.design.attributes for name in (a.name, *a.columns, a.coding)]
    names += [*found.design.numeric, *found.design.carried]
    # a level stands after its attribute in the groups of the most exposed
    owners = tuple(f"{a.name}: " for a in found.design.attributes)
    names += [group.group for group in found.exposure.groups if group.group.startswith(owners)]
    names += [row.level for row in found.utility.shares]
    names += [level for table in found.utility.tables for row in table.rows for level in row.levels]
    return frozenset(match[0] for name in names for match in LABEL.finditer(name))


def _columns(files: Contents) -> Iterator[str]:
    """Data files hold the columns of the codebook and say nothing else."""
    from pyarrow import parquet

    known: set[str] = set()

    def each(element: str, attributes: dict[str, str]) -> None:
        if element == "ddi:codebook:2_5 var":
            known.add(attributes.get("name", ""))

    if "codebook.xml" not in files.sound:
        yield "'codebook.xml' is missing or damaged"
        return
    read_elements(files.folder / "codebook.xml", each)
    for path in (files.folder / name for name in files.sound):
        if path.suffix == ".csv":
            names = _header(path)
        elif path.suffix == ".parquet":
            schema = parquet.read_schema(arrow_file(path))
            names = schema.names
            if schema.metadata or any(field.metadata for field in schema):
                yield f"'{path.name}' holds a description beside its columns"
        else:
            continue
        yield from (
            f"'{path.name}' holds the column '{name}', which the codebook does not know"
            for name in names
            if name not in known
        )


def _header(path: Path) -> list[str]:
    """The names in the first row of a CSV file."""
    with open_plain(path) as file:
        head = file.read(_MOST_HEADER).decode("utf-8", "replace")
    try:
        return next(csv.reader(io.StringIO(head, newline="")), [])
    except csv.Error:
        raise EngineError(f"'{path.name}' has a header that cannot be read") from None


def _methods(files: Contents) -> Iterator[str]:
    text = read_text(files.folder / METHODS)
    if text.count("\n") != 1 or not text.endswith("\n"):
        yield f"'{METHODS}' is not one paragraph"
    if re.search(r"\b(seed|replicate|study key)\b", text) or LABEL.search(text):
        yield f"'{METHODS}' says something of how the release was drawn"


def _same_release(bundles: dict[Tier, Path]) -> Iterator[str]:
    inside = bundles["analyst"] / RELEASE
    for file in sorted(inside.iterdir()) if is_folder(inside) else ():
        other = bundles["public"] / file.name
        if why_unopened(file) or not is_plain(other) or why_unopened(other) or sha256(other) != sha256(file):
            yield f"'{file.name}' of the analyst is another one than the public's"


_CHECKS: dict[str, Callable[[Contents], Iterator[str]]] = {
    "every file is the one that was written": _digests,
    "no name or path of this machine": _nobodys,
    "the decision log is unbroken": _chain,
    "manifest, seed annex and release belong together": _manifest,
    "the board's file holds its fields and no others": _board,
    "the chair's file holds its fields and no others": _chair,
    "candidates are letters": _no_ids,
    "the data files are those of the codebook": _columns,
    "one paragraph on methods": _methods,
}
_FOR = {
    "every file is the one that was written": TIERS,
    "no name or path of this machine": ("member", "public"),
    "the decision log is unbroken": ("analyst",),
    "manifest, seed annex and release belong together": ("analyst",),
    "the board's file holds its fields and no others": ("member",),
    "the chair's file holds its fields and no others": ("chair",),
    "candidates are letters": ("member", "chair"),
    "the data files are those of the codebook": ("public",),
    "one paragraph on methods": ("public",),
}
