"""Check where a bundle comes from: compare its list of digests with the decision log of its study, or with the
analyst's bundle beside it.

Whoever changes a file can write the list of digests anew, so a bundle alone cannot tell.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec

from engine.bundle.files import SUMS
from engine.bundle.manifest import INTERNAL, read_manifest
from engine.bundle.tiers import Tier
from engine.common.errors import EngineError
from engine.common.untrusted import is_plain, read_json, read_plain
from engine.study.decision_log import Entry, entries
from engine.study.decision_log import verify as verify_chain
from engine.study.log_seal import check_seal
from engine.study.study import Study

LOG = "decision-log.json"
"""The decision log in an analyst's bundle, as it was when that was written."""
UNKNOWN = (
    "from the bundle alone nobody can tell; name the study, or keep the bundle beside the study or the analyst's bundle"
)
_LEVELS_UP = (
    3  # folders above a bundle in which a study lies beside it: one of the export, one of all exports, their own
)


def compare(bundle: Path, tier: Tier, study: Path | None) -> tuple[tuple[str, ...], str]:
    """The problems of a bundle according to the study (the one given, else those beside it) or the analyst's bundle
    beside it; and, where none of them records such a bundle, a sentence that says so (else empty)."""
    if not is_plain(bundle / SUMS):
        return (f"{SUMS} is missing, so there is nothing to compare",), ""
    digest = hashlib.sha256(read_plain(bundle / SUMS)).hexdigest()
    if study is not None:
        studies = _studies_by_digest([study], tier)
    else:
        studies = _studies_by_digest(_studies_beside(bundle), tier, lenient=True)
    if digest in studies:
        return (), ""
    if study is not None or studies:
        names = " or ".join(f"'{name}'" for name in dict.fromkeys(studies.values() if study is None else [study.name]))
        return (f"the decision log of {names} records no such bundle: it was changed, or belongs to another study",), ""
    return _compare_with_analyst(bundle, tier, digest)


def digests_in(log: Iterable[Entry], tier: Tier) -> Iterator[str]:
    """The digests of one reader's bundles that a decision log holds; those that were about to be written count, since
    an export may be ended between the two entries."""
    for entry in log:
        sums = entry.detail.get("sums")
        if entry.event in ("exporting", "exported") and isinstance(sums, Mapping):
            yield from (str(sums[name]) for name in _names(tier) if name in sums)


def _names(tier: Tier) -> tuple[str, ...]:
    """The names of a reader in decision logs; the board's file was the members' in format 1."""
    return (tier.value, "member") if tier is Tier.BOARD else (tier.value,)


def read_log(analyst: Path) -> list[Entry]:
    """The decision log in an analyst's bundle; one that is no log, or whose chain is broken, is refused."""
    try:
        content = read_json(analyst / INTERNAL / LOG)
    except OSError:
        raise EngineError("the decision log is missing or cannot be read") from None
    names = {field.name for field in fields(Entry)}
    if not isinstance(content, list) or not all(isinstance(entry, dict) and {*entry} == names for entry in content):
        raise EngineError("the decision log is missing or damaged")
    try:
        log = msgspec.convert(content, list[Entry])
    except msgspec.ValidationError:
        raise EngineError("the decision log is missing or damaged") from None
    verify_chain(log)
    return log


def _studies_beside(bundle: Path) -> list[Path]:
    """The studies beside a bundle; whatever has such a name and is no plain file, such as a pipe, is left out."""
    paths = [path for folder in bundle.absolute().parents[:_LEVELS_UP] for path in sorted(folder.glob("*.study"))]
    return [path for path in paths if is_plain(path)]


def _studies_by_digest(paths: Iterable[Path], tier: Tier, *, lenient: bool = False) -> dict[str, str]:
    """The name of the study whose log holds a digest, by the digest; ``lenient`` passes over files that cannot be
    opened as a study, never over a log that was changed."""
    names: dict[str, str] = {}
    for path in paths:
        try:
            study = Study.open(path)
        except EngineError:
            if lenient:
                continue
            raise
        with study:
            log = entries(study)
            verify_chain(log)
            check_seal(study)
            names |= dict.fromkeys(digests_in(log, tier), path.name)
    return names


def _compare_with_analyst(bundle: Path, tier: Tier, digest: str) -> tuple[tuple[str, ...], str]:
    """Compare with the analyst's bundle beside this one: the bundles of its own export, and earlier ones in its log."""
    analyst = bundle.absolute().parent / Tier.ANALYST
    if tier is Tier.ANALYST or not (analyst / INTERNAL).is_dir():
        return (), UNKNOWN
    manifest: dict[str, Any] = read_manifest(analyst)
    if not manifest["intact"]:
        return ("the manifest of the analyst's bundle beside it was changed, so there is nothing to compare",), ""
    log = read_log(analyst)
    written = [manifest["bundles"][name] for name in _names(tier) if name in manifest["bundles"]]
    if digest in (*written, *digests_in(log, tier)):
        return (), ""
    if written:
        return ("it is not the bundle that was written with the analyst's bundle beside it",), ""
    return (), UNKNOWN
