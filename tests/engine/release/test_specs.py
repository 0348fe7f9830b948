"""Specs as a matrix of roles are the same as a list of specs.

Specs that share their pairs are found by arrays as they are found one by one.

Release specs as arrays of codes are the same as a list of release specs.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.release import specs as equal_roles
from engine.release import specs as release_specs
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.release.specs import ReleaseSpecs, Specs, as_numbers, first_equal, first_of_structure
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


@st.composite
def some_specs(draw: st.DrawFn) -> Specs:
    """Specs of a few attributes, or of more than two words hold, which differ at the ends."""
    between = draw(st.sampled_from([0, 0, 1, 60]))
    ends = st.text("SFCU", min_size=2, max_size=2)
    texts = st.tuples(ends, st.sampled_from("SFC"), ends).map(lambda part: part[0] + part[1] * between + part[2])
    names = tuple(f"A{j}" for j in range(4 + between))
    return Specs.of([AttributeSpec(names, text) for text in draw(st.lists(texts, max_size=40))], names)


@pytest.mark.slow
@given(some_specs(), st.sampled_from([1, 100, 1 << 20]), st.data())
@examples(150)
def test_first_of_a_structure(specs: Specs, block: int, data: st.DataObject) -> None:
    places = st.sets(st.integers(0, len(specs.names) - 1))
    several_kinds, ruled = sorted(data.draw(places)), sorted(data.draw(places))
    first: dict[object, int] = {}
    expected = [
        first.setdefault(ReleaseSpec(spec, "0.1").structure(several_kinds, ruled), place)
        for place, spec in enumerate(specs)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equal_roles, "_BLOCK", block)
        assert first_of_structure(specs, sorted({*several_kinds, *ruled})).tolist() == expected


@given(some_specs())
@examples(60)
def test_first_of_equal_rows(specs: Specs) -> None:
    texts = list(specs.texts())
    assert first_equal(as_numbers(specs.roles)).tolist() == [texts.index(text) for text in texts]


HARD_NAMES = ("b", 'ä "\\', "A")
WAYS = ((), (("lean", "1"), ("risk", "A+b")))
PROCEDURES = st.one_of(
    st.tuples(st.sampled_from(("0", "0.1", "0.02")), st.sampled_from(("strict", "loose")), st.sampled_from(WAYS)).map(
        lambda parts: {"rate": parts[0], "rule": parts[1], "params": parts[2]}
    ),
    st.sampled_from(("0.8", "µ")).map(lambda w: {"rate": "", "mechanism": "maps", "params": (("w0", w),)}),
)
LISTS = st.lists(
    st.builds(
        lambda roles, procedure: ReleaseSpec(AttributeSpec(HARD_NAMES, roles), **procedure),
        st.text("SFCU", min_size=3, max_size=3),
        PROCEDURES,
    ),
    max_size=12,
)


@pytest.mark.slow
@given(LISTS, LISTS, st.slices(12), st.randoms(use_true_random=True))
@examples(100)
def test_codes_are_the_same_as_a_list(listed, others, part, chance):
    specs = ReleaseSpecs.of(iter(listed), HARD_NAMES)
    assert len(specs) == len(listed) and list(specs) == listed and specs == listed
    assert [specs[i] for i in range(-len(listed), len(listed))] == listed + listed
    assert isinstance(specs[part], ReleaseSpecs) and specs[part] == listed[part]
    indices = [chance.randrange(len(listed)) for _ in listed]
    some = specs.take(np.array(indices, int))
    assert some == [listed[i] for i in indices]
    assert pickle.loads(pickle.dumps(some)) == some
    joined = specs.joined(ReleaseSpecs.of(others, HARD_NAMES), some)
    assert joined == [*listed, *others, *some]
    assert len(set(joined.procedures)) == len(joined.procedures)
    assert joined.first_equal().tolist() == [list(joined).index(spec) for spec in joined]
    assert [spec for one in joined.parts(4) for spec in one] == list(joined) and joined.compact() == joined
    assert all(len(one.specs) == len(set(one.spec_codes.tolist())) for one in joined.parts(4))
    assert specs.by_roles.tolist() == [spec.by_roles for spec in listed]


@pytest.mark.slow
@given(LISTS, st.sampled_from((1, 100, 2**24)))
@examples(100)
def test_digests_of_many_are_those_of_each(listed, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(release_specs, "_TEXT", at_once)
        digests = ReleaseSpecs.of(listed, HARD_NAMES).digests()
    assert [row.tobytes().hex() for row in digests] == [spec.digest() for spec in listed]
    assert digests.shape == (len(listed), 10)


def test_a_product_is_every_spec_in_every_way_at_every_rate():
    specs = [AttributeSpec(HARD_NAMES, roles) for roles in ("SUU", "FSU")]
    made = ReleaseSpecs.product(specs, ["0.10", "0.5"], "loose", WAYS)
    assert made == [
        ReleaseSpec(spec, rate, "loose", params=way) for spec in specs for way in WAYS for rate in ("0.1", "0.5")
    ]
    assert len(ReleaseSpecs.product(Specs.of([], HARD_NAMES), ["0.1"])) == 0
    with pytest.raises(UsageError, match="rate == 2, must be between 0 and 1"):
        ReleaseSpecs.product(specs, ["2"])
    with pytest.raises(UsageError, match="rule == 'lax', must be strict or loose"):
        ReleaseSpecs.product(specs, ["0.1"], "lax")


def test_specs_over_other_names_are_not_joined():
    here, there = (ReleaseSpecs.product([AttributeSpec(names, "SU")], ["0.1"]) for names in (("A", "B"), ("B", "A")))
    with pytest.raises(ValueError, match="release specs are over different names"):
        here.joined(there)


def test_a_part_travels_without_what_it_does_not_hold():
    names = tuple(f"A{j}" for j in range(8))
    roles = np.frombuffer(b"SFCU", np.uint8)[np.indices((4,) * 8).reshape(8, -1).T]
    many = ReleaseSpecs.product(Specs(names, roles), ["0.01", "0.02"])
    assert len(pickle.dumps(many.take(slice(1000, 1010)))) < 1500
