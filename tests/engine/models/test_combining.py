"""Reiter's rules: the examples of Little and Liu's appendix, a literal twin, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import EngineError, UsageError
from engine.models.analyses import combine
from tests.twins.reanalysis import reiter

# y and, in ten imputations, whether the record's key is 1 (Little and Liu, appendix III); everybody else is key 1
EXAMPLES = {
    1: (
        "-1.498256 1111011111 -1.703345 1111110111 -2.257808 1101110011 -.578633 1111111101 -1.979207 1111110111 "
        "-1.482834 0111111111 -.510513 0110111110",
        "2.196066 -.308010 2.473768 -.039146 .516418 -.392493 1.503878 .197190 -.481482 1.122731 -.337457 1.507346 "
        ".691961",
        (0.0140, 0.09471, 0.01015, 0.09572, 0.0106, 80074),
    ),
    2: (
        ".137912 1110100100 .165671 1001011110 1.720408 1111111111 .856713 1110101101 2.720610 1111111111 "
        "2.630290 1111111111 1.897888 1111111111",
        "3.124605 3.846479 3.553457 2.778747 4.479235 3.816940 4.125836 3.295777 3.503293 3.235821 2.967702 2.906859 "
        "3.023004",
        (2.8972, 0.06025, 0.01040, 0.06129, 0.0170, 31275),
    ),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_the_appendix(example: int) -> None:
    moving, rest, wanted = EXAMPLES[example]
    words = moving.split()
    y = np.array([float(word) for word in words[::2]])
    keys = np.array([[sign == "1" for sign in word] for word in words[1::2]])
    others = np.array([float(word) for word in rest.split()])
    groups = [np.concatenate([y[keys[:, d]], others]) for d in range(10)]
    found = combine(
        np.array([[group.mean()] for group in groups]), np.array([[group.var(ddof=1) / len(group)] for group in groups])
    )
    for got, want, places in zip(
        (found.estimate, found.within, found.between, found.total, found.gamma), wanted, (4, 5, 5, 5, 4), strict=False
    ):
        assert round(float(got[0]), places) == want
    assert float(found.df[0]) == pytest.approx(wanted[5], abs=1)


numbers = st.floats(-100, 100).map(lambda x: round(x, 3))


@given(st.lists(st.tuples(numbers, st.floats(0.01, 50)), min_size=2, max_size=12))
def test_it_equals_the_rules_written_out(answers: list[tuple[float, float]]) -> None:
    q, v = ([answer[part] for answer in answers] for part in (0, 1))
    found = combine(np.array(q)[:, None], np.array(v)[:, None])
    mean, total, df, gamma = reiter(q, v)
    assert found.estimate[0] == pytest.approx(mean, abs=1e-9)
    assert found.total[0] == pytest.approx(total)
    assert found.gamma[0] == pytest.approx(gamma, abs=1e-12) and 0 <= found.gamma[0] < 1
    if gamma > 1e-9:
        assert found.df[0] == pytest.approx(df, rel=1e-6)


@given(st.lists(st.tuples(numbers, st.floats(0.01, 50)), min_size=2, max_size=6), numbers, st.floats(0.1, 10))
def test_shift_and_scale_carry_through(answers: list[tuple[float, float]], shift: float, scale: float) -> None:
    q = np.array([[a] for a, _ in answers])
    v = np.array([[b] for _, b in answers])
    one, other = combine(q, v), combine(q * scale + shift, v * scale**2)
    np.testing.assert_allclose(other.estimate, one.estimate * scale + shift, atol=1e-9)
    np.testing.assert_allclose(other.total, one.total * scale**2, rtol=1e-9)
    np.testing.assert_allclose(other.gamma, one.gamma, atol=1e-9)


def test_no_spread_between_releases_loses_nothing() -> None:
    found = combine(np.full((5, 1), 0.1), np.full((5, 1), 2.0))
    assert found.gamma[0] == 0 and np.isinf(found.df[0]) and found.total[0] == 2
    assert combine(np.full((5, 1), 0.1), np.full((5, 1), 2.0), complete_df=17).df[0] == 17


def test_one_release_says_nothing_of_the_loss() -> None:
    found = combine(np.array([[3.0]]), np.array([[2.0]]), complete_df=40)
    assert found.total[0] == 2 and np.isnan(found.gamma[0]) and found.df[0] == 40


def test_the_printed_degrees_of_freedom() -> None:
    q, v = np.array([[1.0], [2.0], [4.0]]), np.ones((3, 1))
    gamma = combine(q, v).gamma[0]
    assert combine(q, v).df[0] == pytest.approx(2 / gamma**2)
    assert combine(q, v, df="printed").df[0] == pytest.approx(2 * (1 + 1 / gamma) ** 2)


def test_what_cannot_be_combined_is_refused() -> None:
    with pytest.raises(EngineError, match="no variance in any release"):
        combine(np.ones((3, 1)), np.zeros((3, 1)))
    with pytest.raises(UsageError, match=r"df == 'print', must be reiter or printed\. Did you mean 'printed'\?"):
        combine(np.ones((3, 1)), np.ones((3, 1)), df="print")  # type: ignore[arg-type]
    with pytest.raises(EngineError, match="must be of one shape"):
        combine(np.ones((3, 1)), np.ones((2, 1)))
