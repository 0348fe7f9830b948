"""Arrays kept in a study come back bit for bit, and go with what they rest on."""

from __future__ import annotations

import sqlite3
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.study import aggregate_cache
from engine.study.aggregate_cache import AggregateCache
from engine.study.database import Database, new_in_memory

MANY = np.arange(20_004.0).reshape(2, 10_002)
ARRAYS = {
    "matrix": np.random.default_rng(1).random((5, 3)),
    "undefined": np.full((4, 2), np.nan),
    "one": np.array(2.5),
    "none": np.zeros(0),
    "no rows": np.zeros((0, 3)),
    "no columns": np.zeros((4, 0)),
    "words": np.array(["ä", "bcd"]),
    "labels": np.array([b"x1", b"x23"]),
    "mask": np.ones(7, bool),
    "small": np.array([-5, 300]),
    "large": np.array([2**40, -1]),
    "of both signs and large": np.array([-1, 2**62 + 1]),
    "same": np.full(3, 9),
    "zeros of two signs": np.array([0.0, -0.0]),
    "matrix again": np.random.default_rng(1).random((5, 3)),
    "eleven columns": np.arange(22.0).reshape(2, 11),
    "a column turned": np.random.default_rng(1).random((5, 3)) * [1, -1, 1],
    "many columns": MANY,
    "many columns, one turned": MANY * np.where(np.arange(10_002) == 7, -1, 1),
    "two columns turned": np.random.default_rng(1).random((5, 3)) * [1, -1, -1],
}


@pytest.fixture
def db():
    made = sqlite3.connect(":memory:", isolation_level=None)
    yield made
    made.close()


@pytest.mark.parametrize("most", [2**28, 8])
def test_arrays_come_back_as_they_were(db, monkeypatch, most):
    monkeypatch.setattr(aggregate_cache, "_MOST", most)  # small: every column by itself
    assert aggregate_cache.load(db, "realisation all") is None  # not even the table is there
    aggregate_cache.store(db, "realisation all", ARRAYS)
    aggregate_cache.store(db, "realisation", {"another": np.ones(2)})
    found = aggregate_cache.load(db, "realisation all")
    assert found is not None and set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape), name
        assert found[name].tobytes() == array.tobytes(), name
        assert not found[name].flags.writeable, name
    assert found["matrix again"] is found["matrix"]
    assert list(aggregate_cache.load(db, "realisation") or ()) == ["another"]
    assert aggregate_cache.load(db, "realisation al") is None


def test_whole_numbers_and_equal_figures_take_little_room(db):
    aggregate_cache.store(db, "fresh x", {"equal": np.full(100_000, np.nan), "small": np.arange(100_000) % 200})
    sizes = dict(db.execute("select substr(name, -12, 5), length(value) from aggregate").fetchall())
    assert sizes["equal"] < 50 and sizes["small"] < 100_050


def test_a_column_that_is_stored_already_takes_no_room(db):
    mean = np.random.default_rng(2).random((1000, 4))
    aggregate_cache.store(db, "fresh x", {"mean": mean, "loss": mean * [1, -1, 1, 1]})
    sizes = db.execute("select length(value) from aggregate where name like '%/loss/%' order by name").fetchall()
    assert [size > 8000 for (size,) in sizes] == [False, True, False, False]


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


@pytest.fixture
def cache():
    no_measures: Any = SimpleNamespace(measures=())
    no_writer: Any = SimpleNamespace(writer=None)
    with Database(None, new_in_memory(lambda db: None)) as database:
        yield AggregateCache(database, no_measures, no_writer)


def test_a_thread_stores_what_the_writer_computes_and_the_writer_waits_for_it_at_the_end(cache, monkeypatch):
    stored, store = [], aggregate_cache.store

    def noted(db, name, arrays, measures):
        store(db, name, arrays, measures)
        stored.append((name, threading.current_thread() is threading.main_thread()))

    monkeypatch.setattr(aggregate_cache, "store", noted)
    since = cache._database.data_version
    before = cache.get("scenario", lambda: {"label": np.arange(9)}, since, as_writer=True)
    with cache.storing_beside():
        found = cache.get("scenario", lambda: pytest.fail("it is stored already"), since, as_writer=True)
        assert (found["label"] == before["label"]).all()
        for name in ("realisation runs", "realisation all"):
            assert cache.get(name, lambda: ARRAYS, since, as_writer=True) is ARRAYS
    assert stored == [("scenario", True), ("realisation runs", False), ("realisation all", False)]
    for name in ("realisation runs", "realisation all"):
        again = cache.get(name, lambda: pytest.fail("it is stored by now"), since)
        assert all(again[one].tobytes() == array.tobytes() for one, array in ARRAYS.items())


def test_nothing_that_goes_wrong_while_a_thread_stores_is_lost(cache, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(aggregate_cache, "store", broken)
    with pytest.raises(ZeroDivisionError), cache.storing_beside():
        cache.get("realisation", lambda: ARRAYS, cache._database.data_version, as_writer=True)
