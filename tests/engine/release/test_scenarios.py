"""Scenarios in memory are those that are read back.

Ids of candidates: short, unique, and never another one later.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.common.untrusted import sum_of
from engine.release import scenarios as ids
from engine.release.scenarios import Note, NoteKind, Scenario, Scenarios, mean_diagnostics, params_text, short_ids
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.release.specs import ReleaseSpecs
from tests.engine.release.test_specs import HARD_NAMES as NAMES
from tests.engine.release.test_specs import LISTS
from tests.examples import examples
from tests.twins import ids as twin


def many(n: int = 3000) -> ReleaseSpecs:
    names = ("A", "B", "C", "D", "E", "F")
    roles = ["".join("SFCU"[i // 4**j % 4] for j in range(6)) for i in range(n)]
    return ReleaseSpecs.of([ReleaseSpec(AttributeSpec(names, r), "0.02") for r in roles])


def labels(specs: ReleaseSpecs, taken: list[str] | None = None) -> list[str]:
    found = short_ids(specs.digests(), np.array(taken or np.zeros(0), np.bytes_))
    return [label.decode() for label in found.tolist()]


def test_ids_are_short_unique_and_stable():
    specs = many()
    found = labels(specs)
    assert len(set(found)) == len(found)
    assert all(label[0] == "x" and len(label) >= 4 for label in found)
    assert sum(len(label) > 5 for label in found) < len(found) / 10 and min(map(len, found)) == 4
    assert labels(specs) == found
    # given once, an id stays, whatever comes after
    assert labels(specs[:100]) == found[:100]
    assert labels(specs[100:], found[:100]) == found[100:]


def test_the_id_of_a_known_spec():
    """Pinned: ids are written down in decisions, so a spec must keep its id from version to version."""
    spec = ReleaseSpec(AttributeSpec(("A", "B"), "SU"), "0.1")
    assert labels(ReleaseSpecs.of([spec])) == ["xdbb"]
    assert labels(ReleaseSpecs.of([], ("A", "B"))) == []


def near(n: int, chance: random.Random) -> list[bytes]:
    """Different digests, many of which begin alike."""
    made: dict[bytes, None] = {}
    while len(made) < n:
        shared = chance.choice((0, 1, 2, 4, 8, 9))
        own = bytes(chance.choice((0, 1, 255, chance.randrange(256))) for _ in range(10 - shared))
        made[bytes(shared) + own] = None
    return list(made)


@pytest.mark.slow
@given(st.integers(0, 120), st.integers(0, 40), st.randoms(use_true_random=True), st.sampled_from((0, 3, 20, 1000)))
@examples(150)
def test_ids_given_at_once_are_those_given_one_by_one(n, n_known, chance, one_by_one):
    digests = near(n + n_known, chance)
    taken: dict[str, str] = {}
    expected = twin.short_ids([digest.hex() for digest in digests], taken)
    rows = np.frombuffer(b"".join(digests[n_known:]), np.uint8).reshape(-1, 10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ids, "_ONE_BY_ONE", one_by_one)
        found = short_ids(rows, np.array(expected[:n_known] or np.zeros(0), np.bytes_))
    assert [label.decode() for label in found.tolist()] == expected[n_known:]


def test_two_scenarios_of_one_digest_are_told():
    same = np.zeros((19, 10), np.uint8)
    with pytest.raises(UsageError, match="two different scenarios share the digest 00000000000000000000; report this"):
        short_ids(same)


@pytest.mark.slow
@given(LISTS, st.data())
@examples(100)
def test_scenarios_of_specs_are_those_of_their_rows(listed, data):
    every = ReleaseSpecs.of(dict.fromkeys(listed), NAMES)
    specs = every.take(np.array(data.draw(st.permutations(range(len(every)))), int))
    labels = short_ids(specs.digests())
    rows = [
        (index, label.decode(), s.mechanism, s.rate, s.rule, s.attributes.roles, params_text(s.params))
        for index, (label, s) in enumerate(zip(labels.tolist(), specs, strict=True))
    ]
    made, read = Scenarios.of_specs(labels, specs), Scenarios.of_rows(NAMES, [(*row, sum_of(row)) for row in rows])
    assert made == read == Scenarios(NAMES, made.arrays())
    assert list(read) == [
        Scenario(index, row[1], spec) for index, (row, spec) in enumerate(zip(rows, specs, strict=True))
    ]
    assert [read[index] for index in range(len(read))] == list(made)
    assert made.specs == specs == read.specs
    for name, array in read.arrays().items():
        assert made.arrays()[name].dtype == array.dtype
        np.testing.assert_array_equal(made.arrays()[name], array)


def test_numbers_that_a_mechanism_counted_are_averaged_over_runs_and_texts_are_listed_once() -> None:
    texts = ['{"moved": 4, "why": "few"}', '{"moved": 5, "why": "few"}', '{"moved": 9, "why": "none"}']
    notes = [Note(0, run, NoteKind.DIAGNOSTICS, None, text) for run, text in enumerate(texts)]
    assert mean_diagnostics([*notes, Note(0, 0, NoteKind.FIGURE, 1, "not estimable")]) == {
        "moved": 6.0,
        "why": ("few", "none"),
    }
