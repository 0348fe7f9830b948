"""Verify a bundle from its folder alone: digests, allow-list, fields, chain of the log."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import msgspec

from engine.bundle.folder import changed_files, read_sums, sha256
from engine.bundle.leaks import local_names
from engine.bundle.manifest import INTERNAL, MANIFEST, RELEASE, SEEDS, compare, read_log, read_manifest
from engine.bundle.readers import ALL, SUMS, TIERS, Contents, Tier, bundles_in, contents_of, is_folder, why_unopened
from engine.bundle.unpack import fault, header_of, parts_of, prose, variables_in
from engine.bundle.writers import METHODS
from engine.common.errors import EngineError, UsageError
from engine.common.untrusted import is_plain, read_text, spelt
from engine.data.io.writers import LABELS
from engine.decision.disclosure_text import DRAWN, LABEL
from engine.report.circulating import CIRCULATING, read_copy
from engine.report.earlier_formats import CHAIR, read_chair
from engine.report.findings import read_board
from engine.study.decision_log import START

_MOST_PROBLEMS = 1000  # of one check: a file can be wrong in millions of places
_MOST_BESIDE = 1000  # names that are listed, of as many as there may be


@dataclass(frozen=True)
class CheckResult:
    """The result of one check of a bundle, or of all bundles in a folder (``tier`` is "all"): the statement that was
    checked and the problems, none where it holds; ``note`` says why it could not be checked (else empty)."""

    tier: str
    statement: str
    problems: tuple[str, ...]
    note: str = ""


def verify(path: str | Path, study: str | Path | None = None) -> list[CheckResult]:
    """All checks of the bundles in a folder: of the folder itself, or of analyst, board and public in it.

    Whether a bundle is one that was exported is looked up in ``study``, else in studies beside it, else in the
    analyst's bundle beside it.  A folder that holds no bundle is an :class:`EngineError`.
    """
    folder = Path(path)
    if not folder.is_dir():
        if not folder.exists():
            raise UsageError(f"'{folder.name}' does not exist; give the folder of a bundle")
        raise EngineError(f"'{folder.name}' is no folder; give the folder of a bundle")
    bundles = bundles_in(folder)
    if not bundles:
        raise EngineError(
            f"'{folder.name}' is no bundle: it holds none of the files that tell {', '.join(TIERS)} apart"
        )
    results = []
    for tier, bundle in bundles.items():
        files = contents_of(bundle, tier)
        # of a file's kind before it is opened, and of its format before its content is used
        faults = {name: reason for name in files.openable if (reason := fault(bundle / name))}
        for statement, refused in (
            ("only files that this reader gets", files.refused),
            ("every file can be opened as what it is", faults),
        ):
            problems = tuple(f"'{spelt(name)}' {reason}" for name, reason in refused.items())
            results.append(CheckResult(tier, statement, problems))
        files = replace(files, refused={**files.refused, **faults})
        results += [
            CheckResult(tier, statement, tuple(_problems(check, files)))
            for statement, (check, tiers) in _CHECKS.items()
            if tier in tiers
        ]
        problems, note = _provenance(bundle, tier, None if study is None else Path(study))
        results.append(CheckResult(tier, "it is a bundle that was exported", problems, note))
    if len(bundles) > 1 or folder not in bundles.values():
        beside = [spelt(p.name) for p in islice(folder.iterdir(), _MOST_BESIDE) if p not in bundles.values()]
        problems = tuple(f"'{name}' lies beside them" for name in beside)
        results.append(CheckResult(ALL, "nothing lies beside the bundles", problems))
    if {Tier.ANALYST, Tier.PUBLIC} <= set(bundles):
        results.append(CheckResult(ALL, "the release is the same in every bundle", tuple(_same_release(bundles))))
    return results


def _problems(check: Callable[[Contents], Iterator[str]], files: Contents) -> Iterator[str]:
    """The first problems that a check finds; a file with damage that no check foresees is a problem too."""
    try:
        problems = check(files)
        yield from islice(problems, _MOST_PROBLEMS)
        if next(problems, None) is not None:
            yield f"there are more problems than these {_MOST_PROBLEMS:,}"
    except EngineError as error:
        yield str(error)
    except (OSError, ValueError, RecursionError):
        yield "a file of the bundle is damaged, so that this could not be checked"


def _provenance(bundle: Path, tier: Tier, study: Path | None) -> tuple[tuple[str, ...], str]:
    try:
        return compare(bundle, tier, study)
    except EngineError as error:
        return (str(error),), ""
    except (OSError, ValueError, RecursionError):
        return ("the analyst's bundle beside it is damaged, so there is nothing to compare",), ""


def _digests(files: Contents) -> Iterator[str]:
    listed = read_sums(files.folder)
    if listed is None:
        yield f"{SUMS} is missing or damaged"
        return
    changed = changed_files(files.folder, listed, SUMS)
    yield from (f"'{spelt(name)}' was {change}" for name, change in changed.items())


def _local_names(files: Contents) -> Iterator[str]:
    """Names and paths of this machine; those of another one cannot be known."""
    secrets, contact = local_names(), ""
    with suppress(EngineError, LookupError, TypeError):  # another check says so
        if files.tier is Tier.BOARD:  # the contact that its papers name may be the person who made them
            contact = read_board(files.folder).cover.contact
        elif files.tier is Tier.CIRCULATING:
            contact = str(read_copy(read_text(files.folder / CIRCULATING))["cover"]["contact"])
    for name in files.openable:
        for part in parts_of(files.folder / name):
            for secret in secrets:
                if secret.found_in(part, contact):
                    yield f"'{part.where}' holds {secret.description}"


def _chain(files: Contents) -> Iterator[str]:
    log = read_log(files.folder)
    if (log[-1].digest if log else START) != read_manifest(files.folder)["log"]:
        yield "the decision log ends elsewhere than the manifest says: entries were cut off or added"


def _manifest(files: Contents) -> Iterator[str]:
    manifest = read_manifest(files.folder)
    if not manifest["intact"]:
        yield "the manifest is not the one that was sealed with its seed annex: a field was changed"
    for folder, field, own in ((RELEASE, "sha256", ()), (INTERNAL, "internal", (MANIFEST, SEEDS))):
        changed = changed_files(files.folder / folder, manifest[field], *own)
        yield from (f"'{folder}/{name}' was {change} after the export" for name, change in changed.items())


def _fields(files: Contents) -> Iterator[str]:
    match files.tier:
        case Tier.BOARD:
            read_board(files.folder)
        case Tier.CIRCULATING:
            read_copy(read_text(files.folder / CIRCULATING))
        case _:
            read_chair(read_text(files.folder / CHAIR))
    yield from ()


def _candidate_ids(files: Contents) -> Iterator[str]:
    """Ids of candidates, of which these readers know letters only; names that the bundle declares may read like ids."""
    declared = _declared_names(files.folder)
    for where, text in prose(files.folder, files.openable):
        match = next((m for m in LABEL.finditer(text) if m[0] not in declared), None)
        if match:
            yield f"'{where}' holds '{match[0]}', which reads like the id of a candidate"


def _declared_names(bundle: Path) -> frozenset[str]:
    """The parts of names of attributes, columns and levels in a board bundle that read like an id."""
    try:
        if os.path.lexists(bundle / CHAIR):
            facts = read_chair(read_text(bundle / CHAIR))
            return frozenset(match[0] for row in facts.attributes for match in LABEL.finditer(row.name))
        findings = read_board(bundle)
    except EngineError:  # another check says so
        return frozenset()
    names = [name for a in findings.design.attributes for name in (a.name, *a.columns, a.coding)]
    names += [*findings.design.numeric, *findings.design.carried]
    # a level stands after its attribute in the groups of the most exposed
    owners = tuple(f"{a.name}: " for a in findings.design.attributes)
    names += [group.group for group in findings.exposure.groups if group.group.startswith(owners)]
    names += [label for figure in findings.utility.figures for label in (figure.group, figure.what)]
    names += [group.level for group in findings.extent.groups] if findings.extent else []
    return frozenset(match[0] for name in names for match in LABEL.finditer(name))


def _columns(files: Contents) -> Iterator[str]:
    """Data files hold the columns of the codebook and say nothing else."""
    if "codebook.xml" not in files.openable:
        yield "'codebook.xml' is missing or damaged"
        return
    described = variables_in(files.folder / "codebook.xml")
    for name in files.openable:
        columns, description = header_of(files.folder / name) or ([], None)
        if description and not _only_labels(description, columns):
            yield f"'{name}' holds a description beside its columns"
        yield from (
            f"'{name}' holds the column '{column}', which the codebook does not know"
            for column in columns
            if column not in described
        )


class _Labels(msgspec.Struct, forbid_unknown_fields=True):
    """The labels of a column, as :func:`engine.data.io.writers.labels_json` writes them."""

    label: str = ""
    measure: str = ""
    values: dict[str, str] = {}
    missing: list[str] = []


def _only_labels(description: dict[bytes, bytes], names: list[str]) -> bool:
    """Return whether the description of a Parquet file is the labels of its columns, and nothing else."""
    try:
        labels = msgspec.json.decode(description.get(LABELS.encode(), b"{}"), type=dict[str, _Labels])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False
    return {*description} <= {LABELS.encode()} and labels.keys() <= set(names)


def _methods(files: Contents) -> Iterator[str]:
    text = read_text(files.folder / METHODS)
    if text.count("\n") != 1 or not text.endswith("\n"):
        yield f"'{METHODS}' is not one paragraph"
    if DRAWN.search(text) or LABEL.search(text):
        yield f"'{METHODS}' tells how the release was drawn"


def _same_release(bundles: dict[Tier, Path]) -> Iterator[str]:
    folder = bundles[Tier.ANALYST] / RELEASE
    for file in sorted(folder.iterdir()) if is_folder(folder) else ():
        public = bundles[Tier.PUBLIC] / file.name
        if why_unopened(file) or not is_plain(public) or why_unopened(public) or sha256(public) != sha256(file):
            yield f"'{file.name}' of the analyst's bundle differs from that of the public one"


_CHECKS: dict[str, tuple[Callable[[Contents], Iterator[str]], tuple[Tier, ...]]] = {
    "every file is the one that was written": (_digests, tuple(Tier)),
    "no name or path of this machine": (_local_names, (Tier.BOARD, Tier.CIRCULATING, Tier.PUBLIC)),
    "the decision log is unbroken": (_chain, (Tier.ANALYST,)),
    "manifest, seed annex and release belong together": (_manifest, (Tier.ANALYST,)),
    "the board's file holds its fields and no others": (_fields, (Tier.BOARD,)),
    "the copy's file holds its fields and no others": (_fields, (Tier.CIRCULATING,)),
    "the chair's file holds its fields and no others": (_fields, (Tier.CHAIR,)),
    "candidates are letters": (_candidate_ids, (Tier.BOARD, Tier.CHAIR)),
    "the data files are those of the codebook": (_columns, (Tier.PUBLIC,)),
    "one paragraph on methods": (_methods, (Tier.PUBLIC,)),
}
"""Each statement that is checked, how, and for which readers."""
