"""The analyst's bundle of data that are read by streaming: the release, and what explains, remakes and undoes it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from engine.bundle.analyst import manifest_fields, write_internal
from engine.bundle.manifest import BUCKETS, INTERNAL, RELEASE
from engine.bundle.refusal import Refused
from engine.bundle.streamed_release import write_streamed
from engine.bundle.streamed_source import StreamedSource
from engine.bundle.tiers import Tier
from engine.common.messages import Report
from engine.data.io.writers import write_parquet

FIRST, SECOND = "first", "second"
"""Columns of the pair map: the two original records of each pair, counted from 0 in file order."""
_UNATTACKED = "attacks need all records in memory, and these are read by streaming"


def write(source: StreamedSource, folder: Path, tell: Report | None = None) -> dict[str, str]:
    """Write the bundle into an empty folder and return the digests of the released files, as
    :func:`engine.bundle.analyst.write` does of data in memory.

    The pair map has a row for each pair and none for records that stayed.  Change flags, the release in the order of
    the original and the annex, which follow all records, are not made.  Original ids in a column that stays with its
    record are refused (:class:`Refused`).  ``tell`` gets messages on progress.
    """
    import pyarrow as pa

    internal = folder / INTERNAL
    (folder / RELEASE).mkdir()
    internal.mkdir(mode=0o700)
    remade = source.remade
    release = write_streamed(
        folder / RELEASE,
        remade,
        source.study.plan,
        source.include,
        source.formats,
        source.rows.secret,
        tell=tell,
    )
    if release.ids is not None:
        column, what = release.ids
        raise Refused(
            f"the {Tier.ANALYST} bundle was refused: column '{column}' holds {what}; nothing was written. Drop the "
            "column in the plan",
            f"{Tier.ANALYST}: {what}",
        )
    records: dict[str, np.ndarray] = dict(zip((FIRST, SECOND), release.pairs.T, strict=True))
    write_parquet(
        internal / "pairs.parquet", {name: pa.array(numbers, pa.int64()) for name, numbers in records.items()}
    )
    content = {
        **manifest_fields(source, remade.n_without_partner),
        "tables": 1,
        "drawn_anew": [],
        BUCKETS: release.n_buckets,
        "sha256": release.digests,
        "notes": [],
    }
    write_internal(source, internal, content, {"made": False, "why": _UNATTACKED}, None)
    return release.digests
