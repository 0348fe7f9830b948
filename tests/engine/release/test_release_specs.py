"""Release specs as arrays of codes are the same as a list of release specs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.release import release_specs
from engine.release.release_specs import ReleaseSpecs
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.release.specs import Specs
from tests.examples import examples

NAMES = ("b", 'ä "\\', "A")
WAYS = ((), (("lean", "1"), ("risk", "A+b")))
PROCEDURES = st.one_of(
    st.tuples(st.sampled_from(("0", "0.1", "0.02")), st.sampled_from(("strict", "loose")), st.sampled_from(WAYS)).map(
        lambda parts: {"rate": parts[0], "rule": parts[1], "params": parts[2]}
    ),
    st.sampled_from(("0.8", "µ")).map(lambda w: {"rate": "", "mechanism": "maps", "params": (("w0", w),)}),
)
LISTS = st.lists(
    st.builds(
        lambda roles, procedure: ReleaseSpec(AttributeSpec(NAMES, roles), **procedure),
        st.text("SFCU", min_size=3, max_size=3),
        PROCEDURES,
    ),
    max_size=12,
)


@pytest.mark.slow
@given(LISTS, LISTS, st.slices(12), st.randoms(use_true_random=True))
@examples(100)
def test_codes_are_the_same_as_a_list(listed, others, part, chance):
    specs = ReleaseSpecs.of(iter(listed), NAMES)
    assert len(specs) == len(listed) and list(specs) == listed and specs == listed
    assert [specs[i] for i in range(-len(listed), len(listed))] == listed + listed
    assert isinstance(specs[part], ReleaseSpecs) and specs[part] == listed[part]
    indices = [chance.randrange(len(listed)) for _ in listed]
    some = specs.take(np.array(indices, int))
    assert some == [listed[i] for i in indices]
    assert pickle.loads(pickle.dumps(some)) == some
    joined = specs.joined(ReleaseSpecs.of(others, NAMES), some)
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
        digests = ReleaseSpecs.of(listed, NAMES).digests()
    assert [row.tobytes().hex() for row in digests] == [spec.digest() for spec in listed]
    assert digests.shape == (len(listed), 10)


def test_a_product_is_every_spec_in_every_way_at_every_rate():
    specs = [AttributeSpec(NAMES, roles) for roles in ("SUU", "FSU")]
    made = ReleaseSpecs.product(specs, ["0.10", "0.5"], "loose", WAYS)
    assert made == [
        ReleaseSpec(spec, rate, "loose", params=way) for spec in specs for way in WAYS for rate in ("0.1", "0.5")
    ]
    assert len(ReleaseSpecs.product(Specs.of([], NAMES), ["0.1"])) == 0
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
