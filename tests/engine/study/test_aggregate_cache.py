"""Arrays kept in a study come back bit for bit, and go with what they rest on."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from engine.study import runs as aggregate_cache

ARRAYS = {
    "matrix": np.random.default_rng(1).random((5, 3)),
    "undefined": np.full((4, 2), np.nan),
    "one": np.array(2.5),
    "none": np.zeros(0),
    "no rows": np.zeros((0, 3)),
    "no columns": np.zeros((4, 0)),
    "words": np.array(["ä", "bcd"]),
    "labels": np.array([b"x1", b"x23"]),
    "by columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "mask": np.ones(7, bool),
    "small": np.array([-5, 300]),
    "large": np.array([2**40, -1]),
    "of both signs and large": np.array([-1, 2**62 + 1]),
    "same": np.full(3, 9),
    "zeros of two signs": np.array([0.0, -0.0]),
}


@pytest.fixture
def db():
    made = sqlite3.connect(":memory:", isolation_level=None)
    yield made
    made.close()


def test_arrays_come_back_as_they_were(db):
    assert aggregate_cache.load(db, "realisation all") is None  # not even the table is there
    aggregate_cache.store(db, "realisation all", ARRAYS)
    aggregate_cache.store(db, "realisation", {"another": np.ones(2)})
    found = aggregate_cache.load(db, "realisation all")
    assert found is not None and set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape), name
        assert found[name].tobytes() == array.tobytes(), name
        assert not found[name].flags.writeable, name
    assert list(aggregate_cache.load(db, "realisation") or ()) == ["another"]
    assert aggregate_cache.load(db, "realisation al") is None


def test_arrays_too_large_for_a_value_are_not_stored(db, monkeypatch):
    monkeypatch.setattr(aggregate_cache, "_MOST", 79)
    aggregate_cache.store(db, "fresh x", {"n": np.zeros(10)})
    assert aggregate_cache.load(db, "fresh x") is None


@pytest.mark.parametrize("place", [0, 60, 300, -300, -1])
def test_arrays_that_damage_has_changed_count_as_none(db, place):
    """Wherever a bit turns, arrays are computed again or the same."""
    aggregate_cache.store(db, "fresh x", {"n": np.arange(50.0)})
    ((value,),) = db.execute("select value from aggregate").fetchall()
    turned = bytearray(value)
    turned[place] ^= 4
    db.execute("update aggregate set value = ?", (bytes(turned),))
    found = aggregate_cache.load(db, "fresh x")
    assert found is None or found["n"].tobytes() == np.arange(50.0).tobytes()
    assert place != 300 or found is None


def test_what_is_kept_goes_with_what_it_rests_on(db):
    def there() -> list[str]:
        return [name for name in ("scenario", "realisation x", "fresh x") if aggregate_cache.load(db, name)]

    for changed, left in (("fresh", ["scenario", "realisation x"]), ("realisation", ["scenario"]), ("scenario", [])):
        for name in ("scenario", "realisation x", "fresh x"):
            aggregate_cache.store(db, name, {"n": np.array(1)})
        for done in ("fresh", "realisation", "scenario"):
            aggregate_cache.invalidate(db, done)
            if done == changed:
                break
        assert there() == left
