"""The generator, the streams, and the same bits with and without compilation."""

from __future__ import annotations

import dis
import hashlib
import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chisquare

from engine.common import compiled
from engine.common.compiled import below, next_word, wrapping
from engine.common.streams import derive, derived_by_last, fingerprint, generator, kernel_state, key_check, new_key
from engine.data.domain import KINDS, LevelKind
from engine.mechanisms import random_swap
from engine.mechanisms import swap_kernels as kernels
from engine.release.spec import ReleaseSpec
from tests.plain_python import plain
from tests.small_tables import KEY, MEASURED, Small, expand, rows, run

MASK = (1 << 64) - 1


# -- xoshiro256** and bounded integers -------------------------------------------------------------------------------


def reference(state: list[int], n: int) -> list[int]:
    """xoshiro256** in Python integers, from the published C code (Blackman and Vigna 2018)."""

    def rotl(x: int, k: int) -> int:
        return ((x << k) & MASK) | (x >> (64 - k))

    s = list(state)
    out = []
    for _ in range(n):
        out.append(rotl(s[1] * 5 & MASK, 7) * 9 & MASK)
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotl(s[3], 45)
    return out


def test_known_answers_of_the_generator():
    published = [11520, 0, 1509978240, 1215971899390074240]
    assert reference([1, 2, 3, 4], 4) == published
    state = np.array([1, 2, 3, 4], np.uint64)
    with wrapping():
        assert [int(next_word(state)) for _ in range(4)] == published


@given(st.lists(st.integers(0, MASK), min_size=4, max_size=4).filter(any))
def test_the_generator_is_the_published_one(words):
    state = np.array(words, np.uint64)
    with wrapping():
        assert [int(next_word(state)) for _ in range(20)] == reference(words, 20)


@given(st.lists(st.integers(0, MASK), min_size=4, max_size=4).filter(any), st.integers(1, (1 << 32) - 1))
def test_bounded_integers_are_lemires(words, bound):
    """High half of word times bound; a low product below 2**32 mod bound is drawn again."""
    high = iter([word >> 32 for word in reference(words, 200)])
    state = np.array(words, np.uint64)
    with wrapping():
        for _ in range(10):
            product = next(high) * bound
            while product & 0xFFFFFFFF < (1 << 32) % bound:
                product = next(high) * bound
            assert below(state, bound) == product >> 32


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 7, 11, 97, 641])
def test_bounded_integers_are_uniform(bound):
    state = kernel_state(derive(KEY, "uniform", (bound,)))
    with wrapping():
        counts = np.bincount([below(state, bound) for _ in range(40_000)], minlength=bound)
    assert len(counts) == bound
    assert bound == 1 or chisquare(counts).pvalue > 1e-6


def test_bounded_integers_have_no_bias_where_it_would_be_worst():
    """At 3 * 2**30 a product without rejection falls on multiples of three twice as often: the test would see it."""
    bound = 3 << 30
    state = kernel_state(derive(KEY, "bias"))
    with wrapping():
        drawn = [below(state, bound) for _ in range(20_000)]
        careless = [(int(next_word(state)) >> 32) * bound >> 32 for _ in range(20_000)]
    assert chisquare(np.bincount(np.array(drawn) % 3, minlength=3)).pvalue > 1e-6
    assert chisquare(np.bincount(np.array(careless) % 3, minlength=3)).pvalue < 1e-12


# -- streams ---------------------------------------------------------------------------------------------------------


def test_streams_differ_by_key_purpose_parts_and_replicate():
    lists = [("a", "b"), ("a,b",), ("ab",), ("a", "b", 1), ("a", "b", 11), ("a", ("b", 1)), (("a", "b"),), ("a\x1fb",)]
    names = [derive(KEY, purpose, parts) for purpose in ("random_swap", "records") for parts in lists]
    names += [derive(bytes(16), "random_swap", parts) for parts in lists]
    assert len(set(names)) == len(names) and all(len(name) == 32 for name in names)
    assert new_key() != new_key() and len(new_key()) == 16
    assert key_check(KEY) != key_check(bytes(16)) and KEY.hex() not in key_check(KEY)
    assert fingerprint(KEY, b"x") != fingerprint(KEY, b"y") != fingerprint(bytes(16), b"y")


def test_streams_that_differ_in_their_last_part_are_those_of_all_parts():
    for parts in ((), ("a",), ("a", ("b", 1))):
        derived = derived_by_last(KEY, "random_swap", parts)
        assert [derived(last) for last in (1, 2, "c")] == [derive(KEY, "random_swap", (*parts, n)) for n in (1, 2, "c")]


def test_what_a_stream_depends_on_and_what_not():
    small = Small(tuple((i % 3, i % 2, i % 4) for i in range(24)), (3, 2, 4))
    table, _ = small.coded()

    def stream(roles: str, rate: str = "0.1", rule: str = "strict", replicate: int = 1, table=table) -> bytes:
        return random_swap.stream(KEY, ReleaseSpec(small.spec(roles), rate, rule).structure(), table, replicate)

    assert stream("SUU") == stream("SUU", "0.7"), "the rate is not part of a stream"
    assert stream("SCU") == stream("CSU"), "nor is the split of S and C"
    relabelled = Small(small.records, small.shape, (("value",) * 3, ("skip", "value"), ("value",) * 4)).coded()[0]
    different = [stream("SUU"), stream("SCU"), stream("SUC"), stream("USU"), stream("SFU"), stream("SSU")]
    different += [stream("SUU", rule="loose"), stream("SUU", replicate=2), stream("SUU", table=relabelled)]
    assert len(set(different)) == len(different)


def test_the_state_is_never_all_zero():
    assert kernel_state(bytes(32)).tolist() == [1, 0, 0, 0]
    assert kernel_state(bytes(range(32))).tolist()[0] == int.from_bytes(bytes(range(8)), "little")
    assert generator(KEY * 2).integers(1 << 60) == generator(KEY * 2).integers(1 << 60)


# -- pinned values: a change here makes every study in the world irreproducible --------------------------------------


def czech() -> Small:
    from engine.plan.coding import code
    from engine.plan.samples import load

    data = code(*load("czech"))
    return Small(tuple(zip(*(codes.tolist() for codes in data.codes), strict=True)), data.domain.shape)


def test_golden_draws():
    """Pinned draws.  If this fails, studies can no longer be remade: raise STREAM_VERSION, or undo the change."""
    small = expand([(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)], [7, 3, 2, 5, 1], (3, 2))
    assert run(small, "SU", "0.5").cells.tolist() == GOLDEN["cells"]
    assert run(small, "SU", "0.5").records.tolist() == GOLDEN["records"]
    assert run(small, "SU", "1", replicate=7).cells.tolist() == GOLDEN["depleted"]
    assert run(small, "CS", "0.5", "loose").cells.tolist() == GOLDEN["loose"]


def test_golden_study():
    """Pinned rows of all one- and two-attribute swaps of the Czech data; see above before changing the digest."""
    small = czech()
    specs = [
        ReleaseSpec(small.spec("".join("S" if j in (a, b) else "U" for j in range(6))), rate)
        for a in range(6)
        for b in range(a, 6)
        for rate in ("0.02", "0.1")
    ]
    found = rows(small.asked("small_cells", "total_variation", "false_zeros"), specs, [1, 2, 3])
    whole = np.rint(found * [1, 1, 1, 1, 1, 2 * 1841, 1]).astype("<i8")
    # small-cell risk as counts, so that the digest holds integers only
    whole[:, 4] = np.rint(found[:, 4] * (1841 - found[:, 3])).astype("<i8")
    assert whole[0].tolist() == GOLDEN["first row"]
    assert hashlib.blake2b(whole.tobytes(), digest_size=16).hexdigest() == GOLDEN["study"]


GOLDEN: dict[str, Any] = {
    "cells": [[3, 0], [0, 4], [3, 0], [3, 0], [2, 1]],
    "records": [[15, 5], [0, 17], [13, 2], [16, 6], [10, 8]],
    "depleted": [[2, 1], [3, 0], [0, 3], [1, 2], [0, 3], [0, 3], [0, 3], [0, 4]],
    "loose": [[0, 3], [0, 3], [0, 3], [0, 3], [2, 1]],
    "first row": [0, 1, 0, 36, 5, 48, 0],
    "study": "99aba99931a4e7b533d0503c4976dc61",
}


# -- with and without compilation ------------------------------------------------------------------------------------


def bits() -> list[object]:
    """Whether kernels are compiled here, and the number and a digest of the rows of many kinds of spec."""
    rng = np.random.default_rng(3)
    cells = np.column_stack([np.minimum(rng.geometric(0.5, 150) - 1, size - 1) for size in (3, 4, 2, 5)])
    values: list[tuple[LevelKind, ...]] = [(KINDS[0],) * size for size in (4, 2, 5)]
    kinds: tuple[tuple[LevelKind, ...], ...] = (("value", "skip", "value"), *values)
    small = Small(tuple(map(tuple, cells.tolist())), (3, 4, 2, 5), kinds)
    specs = [
        ReleaseSpec(small.spec(roles), rate, rule)
        for roles in ("SUUU", "SSUU", "SCFU", "CSFU", "USUF", "UUSC", "SUFF")
        for rate in ("0.05", "0.4", "1")
        for rule in ("strict", "loose")
    ]
    found = rows(small.asked(*MEASURED, "hellinger_two_way"), specs, [1, 2, 3])
    return [compiled.COMPILED, len(found), hashlib.sha256(found.tobytes()).hexdigest()]


@pytest.mark.slow
def test_bits_are_the_same_without_compilation():
    if not compiled.COMPILED:
        pytest.skip(f"{compiled.WHY_NOT}; install numba and leave FRONTIER_NUMBA unset")
    here = bits()
    script = "import json; from tests.engine.mechanisms.test_kernels import bits; print(json.dumps(bits()))"
    assert plain(script) == [False, *here[1:]] and here[1] == 126


TRACED = """
import json, sys
from engine.mechanisms import swap_kernels as kernels, random_swap as published_swap
from tests.engine.mechanisms.laws import CASES
from tests.small_tables import run

code, seen = kernels.draw_pairs.__code__, set()

def trace(frame, event, argument):
    if frame.f_code is not code:
        return None
    seen.add(frame.f_lineno)
    return trace

sys.settrace(trace)
for name in CASES:
    case = CASES[name]
    for replicate in range(1, 12):
        run(case.small, case.roles, "1" if case.rate is None else case.rate, case.rule, replicate)
published_swap.RUNS_KEPT = 0
for replicate in range(1, 3):
    run(CASES["depleted"].small, CASES["depleted"].roles, "1", "strict", replicate)
sys.settrace(None)
print(json.dumps(sorted(seen)))
"""


@pytest.mark.slow
def test_the_cases_of_the_laws_reach_every_branch_of_the_draw():
    """Renumbering, counting after many rejections, closing a cell, closing a class, forgetting runs."""
    seen = set(plain(TRACED))
    function = getattr(kernels.draw_pairs, "py_func", kernels.draw_pairs)
    source, first = inspect.getsourcelines(function)
    lines = {line for _, line in dis.findlinestarts(function.__code__) if line is not None and line > first + 1}
    missed = {line: source[line - first].strip() for line in sorted(lines - seen)}
    assert not missed


PATIENT = """
import json
from engine.mechanisms import swap_kernels as kernels
from tests.engine.mechanisms.laws import CASES
from tests.small_tables import run

def draws():
    cases = [CASES[name] for name in sorted(CASES)]
    return [run(case.small, case.roles, "1", case.rule, number).cells.tolist() for case in cases for number in (1, 2)]

found = []
for kernels.PATIENCE in (1, kernels.PATIENCE, kernels.RETRIES):
    found.append(draws())
print(json.dumps(found))
"""


@pytest.mark.slow
def test_when_it_is_looked_whether_anybody_is_left_changes_no_draw():
    """At ``RETRIES`` rejections nothing is saved any more: that is the draw as the stream defines it."""
    at_once, as_it_is, never = plain(PATIENT)
    assert at_once == as_it_is == never


def test_chi_square_is_what_it_is():
    """The tests of laws rest on one tail probability."""
    assert chi2.sf(24.0, 1) == pytest.approx(9.634e-07, rel=1e-3)
