"""The manifest's times, and the digests of bundles in decision logs."""

from __future__ import annotations

from engine.bundle.manifest import iso
from engine.bundle.readers import Tier
from engine.bundle.verify import digests_in
from engine.study.decision_log import Entry, Event


def entry(event: Event, **sums: str) -> Entry:
    return Entry(1, "2026-01-01T00:00:00Z", "", event, {"sums": sums}, "", "")


def test_times_are_written_in_utc() -> None:
    assert iso(0) == "1970-01-01T00:00:00Z" and iso() > "2026"


def test_the_boards_bundle_was_the_members_once_and_no_other_was() -> None:
    log = [entry("exporting", member="m", public="p"), entry("exported", board="b"), entry("blocked", board="x")]
    assert [*digests_in(log, Tier.BOARD)] == ["m", "b"]
    assert [*digests_in(log, Tier.PUBLIC)] == ["p"]
    assert [*digests_in(log, Tier.ANALYST)] == []
