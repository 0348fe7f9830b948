"""Ids of scenarios once more, one scenario after the other."""

from __future__ import annotations

from collections.abc import Iterable


def short_ids(digests: Iterable[str], taken: dict[str, str]) -> list[str]:
    """A short id for each digest: its shortest prefix (three digits on) that is free, after an x; ``taken`` maps ids to
    digests and is extended."""
    ids = []
    for digest in digests:
        for length in range(3, len(digest) + 1):
            short = "x" + digest[:length]
            if taken.setdefault(short, digest) == digest:
                ids.append(short)
                break
    return ids
