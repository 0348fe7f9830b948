"""Digests of values: dates and times beyond the years that Python has are digested by what is written."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest

from engine.common.streams import fingerprint
from engine.data.microdata import RawColumn, RawTable, digest_values


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("s"), pa.timestamp("s", "UTC")], ids=str)
def test_dates_beyond_the_years_of_python_have_a_digest(kind: pa.DataType) -> None:
    per_day = 1 if kind == pa.date32() else 86_400
    digests = set()
    for day in (-800_000, -800_001, 4_000_000, 0):
        digest = hashlib.blake2b()
        digest_values(digest, pa.array([day * per_day, 1], pa.int32() if per_day == 1 else pa.int64()).cast(kind))
        digests.add(digest.hexdigest())
    assert len(digests) == 4


def test_the_digest_of_usual_dates_is_that_of_stored_studies() -> None:
    digest, wanted = hashlib.blake2b(), hashlib.blake2b(b"datetime.date(1970, 1, 1)\x1fdatetime.date(1970, 1, 4)")
    digest_values(digest, pa.array([0, 3], pa.int32()).cast(pa.date32()))
    assert digest.hexdigest() == wanted.hexdigest()


def _table(values: list[str], codes: list[int]) -> RawTable:
    return RawTable({"a": RawColumn("a", pa.array(values), np.array(codes, np.int8))}, len(codes), "t")


def test_the_fingerprint_does_not_depend_on_the_order_in_which_distinct_values_lie() -> None:
    seen, listed = _table(["b", "a"], [0, -1, 1, 0]), _table(["a", "b", "c"], [1, -1, 0, 1])
    assert seen.content_digest() == listed.content_digest() != _table(["b", "a"], [0, -1, 1, 1]).content_digest()
    earlier = hashlib.blake2b(digest_size=32)
    earlier.update(repr(("a", "string")).encode())
    digest_values(earlier, listed.columns["a"].values)
    earlier.update(np.array([1, -1, 0, 1], "<i4").data)
    key = b"k" * 16
    assert listed.has_fingerprint(key, fingerprint(key, earlier.digest()))  # of an earlier version
    assert listed.has_fingerprint(key, fingerprint(key, seen.content_digest()))
    assert not listed.has_fingerprint(key, fingerprint(b"l" * 16, seen.content_digest()))
