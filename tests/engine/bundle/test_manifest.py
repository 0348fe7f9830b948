"""The manifest's times, and the places where a bundle's list of digests is looked up."""

from __future__ import annotations

import hashlib
from contextlib import nullcontext
from pathlib import Path

import pytest

from engine.bundle import manifest
from engine.bundle.manifest import UNKNOWN, compare, digests_in, iso
from engine.bundle.readers import Tier
from engine.study.decision_log import Entry, Event
from engine.study.study import Study


def entry(event: Event, **sums: str) -> Entry:
    return Entry(1, "2026-01-01T00:00:00Z", "", event, {"sums": sums}, "", "")


def test_times_are_written_in_utc() -> None:
    assert iso(0) == "1970-01-01T00:00:00Z" and iso() > "2026"


def test_the_boards_bundle_was_the_members_once_and_no_other_was() -> None:
    log = [entry("exporting", member="m", public="p"), entry("exported", board="b"), entry("blocked", board="x")]
    assert [*digests_in(log, Tier.BOARD)] == ["m", "b"]
    assert [*digests_in(log, Tier.PUBLIC)] == ["p"]
    assert [*digests_in(log, Tier.ANALYST)] == []


def test_a_bundle_is_looked_up_by_its_list_of_digests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bundle := tmp_path / "bundle").mkdir()
    assert compare(bundle, Tier.PUBLIC, None)[0] == ("SHA256SUMS is missing, so there is nothing to compare",)
    (bundle / "SHA256SUMS").write_text("x")
    assert compare(bundle, Tier.PUBLIC, None) == ((), UNKNOWN)
    (tmp_path / "a.study").touch()
    log = [entry("exported", public=hashlib.sha256(b"x").hexdigest())]
    for name, made in (("entries", lambda study: log), ("verify_chain", list), ("check_seal", id)):
        monkeypatch.setattr(manifest, name, made)
    monkeypatch.setattr(Study, "open", nullcontext)
    assert compare(bundle, Tier.PUBLIC, None) == ((), "")
    (bundle / "SHA256SUMS").write_text("y")
    (problem,), note = compare(bundle, Tier.PUBLIC, None)
    assert problem.startswith("the decision log of 'a.study' records no such bundle") and not note
