"""Verify a bundle: digests, allow-list, fields, chain of the log, and its origin.

Whoever changes a file can write the list of digests anew, so a bundle alone cannot tell its origin: the decision log of
its study or the analyst's bundle beside it can.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import msgspec

from engine.bundle.folder import changed_files, read_sums, sha256
from engine.bundle.leaks import local_names
from engine.bundle.manifest import INTERNAL, MANIFEST, RELEASE, SEEDS, read_log, read_manifest
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
from engine.study.decision_log import START, Entry, check_seal, entries
from engine.study.decision_log import verify as verify_chain
from engine.study.study import Study

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
            _result(tier, statement, check(files)) for statement, (check, tiers) in _CHECKS.items() if tier in tiers
        ]
        origin = _provenance(bundle, tier, None if study is None else Path(study))
        results.append(_result(tier, "it is a bundle that was exported", origin))
    if len(bundles) > 1 or folder not in bundles.values():
        names = (spelt(p.name) for p in islice(folder.iterdir(), _MOST_BESIDE) if p not in bundles.values())
        beside = (f"'{name}' lies beside them" for name in names)
        results.append(_result(ALL, "nothing lies beside the bundles", beside))
    if {Tier.ANALYST, Tier.PUBLIC} <= set(bundles):
        results.append(_result(ALL, "the release is the same in every bundle", _same_release(bundles)))
    return results


def _result(tier: str, statement: str, problems: Iterator[str]) -> CheckResult:
    """The result of a check with the first problems that it finds; a file with damage that no check foresees is one."""
    found: list[str] = []
    try:
        found += islice(problems, _MOST_PROBLEMS)
        if next(problems, None) is not None:
            found.append(f"there are more problems than these {_MOST_PROBLEMS:,}")
    except _Unknown:
        return CheckResult(tier, statement, (), _UNKNOWN)
    except EngineError as error:
        found.append(str(error))
    except (OSError, ValueError, RecursionError):
        found.append("a file of the bundle is damaged, so that this could not be checked")
    return CheckResult(tier, statement, tuple(found))


_UNKNOWN = (
    "from the bundle alone nobody can tell; name the study, or keep the bundle beside the study or the analyst's bundle"
)


class _Unknown(Exception):
    """Nothing records such a bundle."""


_LEVELS_UP = 3  # folders above a bundle in which its study may lie: of the export, of all exports, their own


def _provenance(bundle: Path, tier: Tier, study: Path | None) -> Iterator[str]:
    """Look a bundle up in the study given, else in those beside it, else in the analyst's bundle beside it;
    :class:`_Unknown` where none of them records such a bundle."""
    if not is_plain(bundle / SUMS) or why_unopened(bundle / SUMS):
        yield f"{SUMS} is missing, so there is nothing to compare"
        return
    digest = sha256(bundle / SUMS)
    beside = [path for folder in bundle.absolute().parents[:_LEVELS_UP] for path in sorted(folder.glob("*.study"))]
    studies: dict[str, str] = {}
    for path in filter(is_plain, beside) if study is None else [study]:  # a pipe is left out
        try:
            opened = Study.open(path)
        except EngineError:
            if study is None:  # a file beside it that is no study; a log that was changed is never passed over
                continue
            raise
        with opened:
            log = entries(opened)
            verify_chain(log)
            check_seal(opened)
            studies |= dict.fromkeys(digests_in(log, tier), path.name)
    if digest in studies:
        return
    if study is not None or studies:
        names = " or ".join(f"'{name}'" for name in dict.fromkeys(studies.values() if study is None else [study.name]))
        yield f"the decision log of {names} records no such bundle: it was changed, or belongs to another study"
        return
    analyst = bundle.absolute().parent / Tier.ANALYST
    if tier is Tier.ANALYST or not (analyst / INTERNAL).is_dir():
        raise _Unknown
    manifest = read_manifest(analyst)
    if not manifest["intact"]:
        yield "the manifest of the analyst's bundle beside it was changed, so there is nothing to compare"
        return
    written = [manifest["bundles"][name] for name in _names(tier) if name in manifest["bundles"]]
    if digest not in (*written, *digests_in(read_log(analyst), tier)):  # of this export, or of an earlier one
        if not written:
            raise _Unknown
        yield "it is not the bundle that was written with the analyst's bundle beside it"


def digests_in(log: Iterable[Entry], tier: Tier) -> Iterator[str]:
    """The digests of a reader's bundles in a decision log, also begun ones: an export may end between entries."""
    for entry in log:
        sums = entry.detail.get("sums")
        if entry.event in ("exporting", "exported") and isinstance(sums, Mapping):
            yield from (str(sums[name]) for name in _names(tier) if name in sums)


def _names(tier: Tier) -> tuple[str, ...]:
    """The names of a reader in decision logs; the board's file was the members' in format 1."""
    return (tier.value, "member") if tier is Tier.BOARD else (tier.value,)


def _digests(files: Contents) -> Iterator[str]:
    listed = read_sums(files.folder)
    if listed is None:
        yield f"{SUMS} is missing or damaged"
        return
    changed = changed_files(files.folder, listed, SUMS)
    yield from (f"'{spelt(name)}' was {change}" for name, change in changed.items())


def _local_names(files: Contents) -> Iterator[str]:
    """Names and paths of this machine; those of another one cannot be known."""
    secrets, allowed = local_names(), tuple[str, ...]()
    with suppress(EngineError, LookupError, TypeError):  # another check says so
        if files.tier is Tier.BOARD:  # the contact and the approver that its papers name may have made them
            board = read_board(files.folder)
            allowed = board.cover.contact, board.approved.by
        elif files.tier is Tier.CIRCULATING:
            allowed = (str(read_copy(read_text(files.folder / CIRCULATING))["cover"]["contact"]),)
    for name in files.openable:
        for part in parts_of(files.folder / name):
            for secret in secrets:
                if secret.found_in(part, *allowed):
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
