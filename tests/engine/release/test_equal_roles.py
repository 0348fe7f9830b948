"""Specs that share their pairs are found by arrays as they are found one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.release import equal_roles
from engine.release.equal_roles import as_numbers, first_equal, first_of_structure
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.release.specs import Specs
from tests.examples import examples


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
