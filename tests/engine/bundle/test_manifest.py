"""The manifest's times, and the digests of bundles in decision logs."""

from __future__ import annotations

import hashlib
from contextlib import nullcontext
from pathlib import Path

import pytest

from engine.bundle import verify
from engine.bundle.folder import changed_files, sha256
from engine.bundle.manifest import iso
from engine.bundle.readers import Tier
from engine.bundle.source import check_figures
from engine.bundle.verify import digests_in
from engine.common.errors import EngineError
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
    def origin() -> verify.CheckResult:
        return verify._result("public", "", verify._provenance(bundle, Tier.PUBLIC, None))

    (bundle := tmp_path / "bundle").mkdir()
    assert origin().problems == ("SHA256SUMS is missing, so there is nothing to compare",)
    (bundle / "SHA256SUMS").write_text("x")
    assert not origin().problems and origin().note.startswith("from the bundle alone nobody can tell")
    (tmp_path / "a.study").touch()
    log = [entry("exported", public=hashlib.sha256(b"x").hexdigest())]
    for name, made in (("entries", lambda study: log), ("verify_chain", list), ("check_seal", id)):
        monkeypatch.setattr(verify, name, made)
    monkeypatch.setattr(Study, "open", nullcontext)
    assert origin().problems == () and not origin().note
    (bundle / "SHA256SUMS").write_text("y")
    assert origin().problems[0].startswith("the decision log of 'a.study' records no such bundle") and not origin().note


def test_files_that_are_not_those_of_the_digests(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "own"):
        (tmp_path / name).write_text(name)
    digests = {name: sha256(tmp_path / name) for name in ("a", "b")}
    (tmp_path / "b").write_text("x")
    assert changed_files(tmp_path, digests | {"d": ""}, "own") == {"b": "changed", "c": "added", "d": "removed"}
    assert changed_files(tmp_path / "none", {"a": ""}) == {"a": "removed"}


def test_figures_of_another_platform_may_differ_in_the_last_digits() -> None:
    nan = float("nan")
    check_figures({"small_cells": 0.5 + 1e-12, "hellinger": nan}, {"small_cells": 0.5, "hellinger": nan})
    with pytest.raises(EngineError, match=r"the study holds 0\.5"):
        check_figures({"small_cells": 0.5 + 1e-8}, {"small_cells": 0.5})
