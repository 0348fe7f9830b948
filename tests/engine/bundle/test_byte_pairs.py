"""What is left to look for is all that can be found."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.bundle import unpack
from engine.bundle.unpack import pairs_in, possible_forms
from tests.examples import examples

few_letters = st.lists(st.sampled_from([b"a", b"b", b"\0", b"\xff"]), max_size=12).map(b"".join)


@pytest.mark.slow
@given(few_letters, st.lists(few_letters, min_size=1, max_size=5).map(tuple), st.integers(1, 5))
@examples(200)
def test_nothing_that_is_there_is_left_out(content: bytes, forms: tuple[bytes, ...], piece: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(unpack, "_CHUNK_OF_PAIRS", piece)
        left = possible_forms(forms, pairs_in(content))
    assert set(left) <= set(forms)
    assert {form for form in left if form in content} == {form for form in forms if form in content}


def test_of_what_is_not_there_little_is_left() -> None:
    text = b"<w:t>12.5 % of all persons in the survey</w:t>" * 100
    secrets = tuple(hashlib.md5(b"%d" % i).digest() for i in range(50))
    assert possible_forms(secrets, pairs_in(text)) == []
    assert possible_forms((b"ab", b"%p", b"p %"), pairs_in(text)) == []
    assert possible_forms((b"per", b"perp", b"pers"), pairs_in(text)) == [b"per", b"pers"]


def test_zeros_around_every_byte_are_no_text_in_utf_16() -> None:
    pixels = b"".join(bytes([0, 0, value, 0]) for value in range(256))
    assert possible_forms(("secret".encode("utf-16-le"), "secret".encode("utf-16-be")), pairs_in(pixels)) == []
    found = "secret".encode("utf-16-le")
    assert possible_forms((found,), pairs_in(pixels + found)) == [found]


def test_nothing_is_asked_of_what_is_too_short_for_a_pair() -> None:
    assert possible_forms((), pairs_in(b"ab")) == []
    assert possible_forms((b"", b"a", b"ab"), pairs_in(b"")) == [b"", b"a"]
