"""Digests of values: dates and times beyond the years that Python has are digested by what is written."""

from __future__ import annotations

import hashlib

import pyarrow as pa
import pytest

from engine.data.microdata import digest_values


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
