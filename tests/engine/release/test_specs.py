"""Specs as a matrix of roles are the same as a list of specs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.release.spec import AttributeSpec
from engine.release.specs import Specs
from tests.examples import examples

NAMES = ("A", "B", "C")
LISTED = [AttributeSpec(NAMES, roles) for roles in ("SFC", "UUS", "SFC", "CSU")]


@pytest.mark.slow
@given(st.lists(st.text("SFCU", min_size=3, max_size=3)), st.slices(10), st.randoms(use_true_random=True))
@examples(60)
def test_a_matrix_of_roles_is_the_same_as_a_list(texts, part, random):
    listed = [AttributeSpec(NAMES, text) for text in texts]
    specs = Specs.of(iter(listed), NAMES)
    assert len(specs) == len(listed) and list(specs) == listed and list(specs.texts()) == texts
    assert [specs[i] for i in range(-len(listed), len(listed))] == listed + listed
    assert specs == listed and listed == specs and specs == Specs.of(listed, NAMES)
    assert isinstance(specs[part], Specs) and specs[part] == listed[part]
    indices = [random.randrange(len(listed)) for _ in listed]
    assert specs.take(np.array(indices, int)) == [listed[i] for i in indices]
    mask = np.array([random.random() < 0.5 for _ in listed], bool)
    assert specs.take(mask) == [spec for spec, chosen in zip(listed, mask, strict=True) if chosen]


def test_roles_are_ascii_codes_that_nobody_changes():
    specs = Specs.of(LISTED)
    assert specs.names is NAMES and specs[1].names is NAMES, "the names are held once"
    assert specs.roles.dtype == np.uint8 and specs.roles.tobytes() == b"SFCUUSSFCCSU"
    with pytest.raises(ValueError, match="read-only"):
        specs.roles[0, 0] = 0
    assert Specs(NAMES, np.full((2, 3), ord("S"), np.uint8)) == [AttributeSpec(NAMES, "SSS")] * 2


def test_what_is_among_them():
    specs = Specs.of(LISTED)
    assert LISTED[3] in specs and specs.index(LISTED[2]) == 0 and specs.count(LISTED[0]) == 2
    assert AttributeSpec(NAMES, "SSS") not in specs and AttributeSpec(("A", "B", "D"), "SFC") not in specs
    assert "SFC" not in specs
    with pytest.raises(IndexError):
        specs[4]


def test_equal_ones_are_equal_keys_and_survive_a_pickle():
    specs = Specs.of(LISTED)
    again = pickle.loads(pickle.dumps(specs))
    assert again == specs and hash(again) == hash(specs)
    assert specs != specs[:3] and specs != Specs(("A", "B", "D"), specs.roles) and specs != "SFC"
    assert Specs.of(specs) is specs


def test_none_at_all_have_names_too():
    none = Specs.of([], NAMES)
    assert none == [] and none.roles.shape == (0, 3) and none.names == NAMES and not none


def test_what_cannot_be_a_matrix_of_roles_is_refused():
    with pytest.raises(ValueError, match="over different names"):
        Specs.of([LISTED[0], AttributeSpec(("A", "B", "D"), "SFC")])
    for roles in (np.zeros((2, 3), np.int64), np.zeros((2, 2), np.uint8), np.zeros(3, np.uint8)):
        with pytest.raises(ValueError, match="must be of type uint8, with one column for each of 3 names"):
            Specs(NAMES, roles)
