"""Check a bundle from its folder alone: digests, the list of what its reader gets, fields, the chain of the log."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.bundle.binding import LOG, compare
from engine.bundle.files import SUMS, read_sums, sha256
from engine.bundle.leaks import here
from engine.bundle.manifest import INTERNAL, RELEASE, read_manifest
from engine.bundle.public import METHODS
from engine.bundle.tiers import TIERS, bundles_in, members, strangers
from engine.bundle.unpack import parts_of, prose
from engine.bundle.untouched import changed_inside
from engine.bundle.whole import is_whole
from engine.decision_log import START, Entry
from engine.decision_log import verify as verify_chain
from engine.errors import EngineError
from engine.telling import LABEL

if TYPE_CHECKING:
    from engine.report.chair import ChairFacts


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
        found += [
            Checked(tier, what, tuple(_spoken(check, bundle, tier)))
            for what, check in _CHECKS.items()
            if tier in _FOR[what]
        ]
        found.append(_bound(bundle, tier, None if study is None else Path(study)))
    if len(bundles) > 1 or folder not in bundles.values():
        beside = [p.name for p in folder.iterdir() if p not in bundles.values()]
        found.append(Checked("all", "nothing lies beside the bundles", tuple(f"'{name}' does" for name in beside)))
    if {"analyst", "public"} <= set(bundles):
        found.append(Checked("all", "the release is the same in every bundle", tuple(_same_release(bundles))))
    return found


def _spoken(check: Callable[[Path, str], Iterator[str]], bundle: Path, tier: str) -> Iterator[str]:
    """What a check finds; a file that is damaged in a way that no check foresees is a finding too."""
    try:
        yield from check(bundle, tier)
    except EngineError as error:
        yield str(error)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        yield "a file of the bundle is damaged, so that this could not be looked at"


def _bound(bundle: Path, tier: str, study: Path | None) -> Checked:
    what = "it is a bundle that was exported"
    try:
        problems, note = compare(bundle, tier, study)
    except EngineError as error:
        problems, note = (str(error),), ""
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        problems, note = ("the analyst's bundle beside it is damaged, so there is nothing to compare",), ""
    return Checked(tier, what, problems, note)


def _digests(bundle: Path, tier: str) -> Iterator[str]:
    listed = read_sums(bundle)
    if listed is None:
        yield f"{SUMS} is missing or damaged"
        return
    there = {name for name in members(bundle) if name != SUMS}
    yield from (f"'{name}' is listed and not there" for name in sorted(set(listed) - there))
    yield from (f"'{name}' is there and not listed" for name in sorted(there - set(listed)))
    yield from (
        f"'{name}' was changed" for name in sorted(there & set(listed)) if sha256(bundle / name) != listed[name]
    )


def _whole(bundle: Path, tier: str) -> Iterator[str]:
    yield from (f"'{name}' cannot be opened as what it is" for name in members(bundle) if not is_whole(bundle / name))


def _allowed(bundle: Path, tier: str) -> Iterator[str]:
    yield from (f"'{name}' is not on the list of what this reader gets" for name in strangers(bundle, tier))


def _nobodys(bundle: Path, tier: str) -> Iterator[str]:
    """Names and paths of this machine; of another one they cannot be known."""
    secrets, contact = here(), _contact(bundle) if tier == "member" else ""
    for name in members(bundle):
        for part in parts_of(bundle / name):
            for secret in secrets:
                if secret.found_in(part, contact):
                    yield f"'{part.where}' holds {secret.what}"


def _contact(bundle: Path) -> str:
    """The contact that a member's bundle names; it may be who made it."""
    try:
        return str(json.loads((bundle / "board.json").read_text(encoding="utf-8"))["cover"]["contact"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _chain(bundle: Path, tier: str) -> Iterator[str]:
    try:
        log = [Entry(**entry) for entry in json.loads((bundle / INTERNAL / LOG).read_text(encoding="utf-8"))]
        verify_chain(log)
        if (log[-1].digest if log else START) != read_manifest(bundle)["log"]:
            yield "the decision log ends elsewhere than the manifest says: entries were cut off or added"
    except EngineError as error:
        yield str(error)
    except (OSError, ValueError, TypeError):
        yield "the decision log is missing or damaged"


def _manifest(bundle: Path, tier: str) -> Iterator[str]:
    try:
        manifest = read_manifest(bundle)
    except EngineError as error:
        yield str(error)
        return
    if not manifest["intact"]:
        yield "the manifest is not the one that was sealed with its seed annex: a field was changed"
    for name, digest in manifest["sha256"].items():
        file = bundle / RELEASE / name
        if not file.is_file() or sha256(file) != digest:
            yield f"the released file '{name}' is not the one of the manifest"
    yield from (
        f"'{name}' is not the one of the manifest: it was changed, added or removed"
        for name in changed_inside(bundle, manifest)
    )
    for file in sorted((bundle / RELEASE).iterdir()) if (bundle / RELEASE).is_dir() else ():
        if file.name not in manifest["sha256"]:
            yield f"the released file '{file.name}' is not in the manifest"


def _board(bundle: Path, tier: str) -> Iterator[str]:
    from engine.report.findings import read_board

    try:
        read_board(bundle / "board.json")
    except EngineError as error:
        yield str(error)


def _chair(bundle: Path, tier: str) -> Iterator[str]:
    try:
        _chair_facts(bundle)
    except EngineError as error:
        yield str(error)


def _chair_facts(bundle: Path) -> ChairFacts:
    from engine.report.chair import CHAIR, ChairFacts

    return ChairFacts.from_json((bundle / CHAIR).read_text(encoding="utf-8"))


def _no_ids(bundle: Path, tier: str) -> Iterator[str]:
    """Candidates' own names; these readers know letters.  Names of the data that the bundle declares may read so."""
    declared = _declared(bundle) if tier == "member" else _attributes(bundle)
    for where, text in prose(bundle):
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
    from engine.report.findings import BOARD, read_board

    try:
        found = read_board(bundle / BOARD)
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


def _columns(bundle: Path, tier: str) -> Iterator[str]:
    """Data files hold the columns of the codebook and say nothing else."""
    from xml.etree import ElementTree

    from pyarrow import parquet

    try:
        book = ElementTree.parse(bundle / "codebook.xml")
    except (OSError, ElementTree.ParseError):
        yield "'codebook.xml' is missing or damaged"
        return
    known = {v.attrib["name"] for v in book.iter("{ddi:codebook:2_5}var")}
    for path in sorted(bundle.iterdir()):
        if path.suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                names = next(csv.reader(file), [])
        elif path.suffix == ".parquet":
            schema = parquet.read_schema(path)
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


def _methods(bundle: Path, tier: str) -> Iterator[str]:
    text = (bundle / METHODS).read_text(encoding="utf-8")
    if text.count("\n") != 1 or not text.endswith("\n"):
        yield f"'{METHODS}' is not one paragraph"
    if re.search(r"\b(seed|replicate|study key)\b", text) or LABEL.search(text):
        yield f"'{METHODS}' says something of how the release was drawn"


def _same_release(bundles: dict[str, Path]) -> Iterator[str]:
    inside = bundles["analyst"] / RELEASE
    for file in sorted(inside.iterdir()) if inside.is_dir() else ():
        other = bundles["public"] / file.name
        if not other.is_file() or sha256(other) != sha256(file):
            yield f"'{file.name}' of the analyst is another one than the public's"


_CHECKS: dict[str, Callable[[Path, str], Iterator[str]]] = {
    "every file is the one that was written": _digests,
    "only files that this reader gets": _allowed,
    "every file can be opened as what it is": _whole,
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
    "only files that this reader gets": TIERS,
    "every file can be opened as what it is": TIERS,
    "no name or path of this machine": ("member", "public"),
    "the decision log is unbroken": ("analyst",),
    "manifest, seed annex and release belong together": ("analyst",),
    "the board's file holds its fields and no others": ("member",),
    "the chair's file holds its fields and no others": ("chair",),
    "candidates are letters": ("member", "chair"),
    "the data files are those of the codebook": ("public",),
    "one paragraph on methods": ("public",),
}
