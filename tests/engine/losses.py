"""Tables of losses that tests of frontiers and choices draw."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

FEW = st.integers(0, 3).map(float)
WHOLE = st.integers(-20, 20).map(float)
ANY = st.floats(width=64, allow_nan=True, allow_infinity=True)
ODD = st.one_of(FEW, st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0]))
COLUMNS, ROWS = st.integers(1, 6), st.integers(0, 40)


def tables(elements, columns=COLUMNS, rows=ROWS):
    return st.tuples(rows, columns).flatmap(
        lambda shape: hnp.arrays(np.float64, shape, elements=elements, fill=st.nothing())
    )


def pairs(elements, least=0, most=25):
    return st.lists(st.tuples(elements, elements), min_size=least, max_size=most).map(
        lambda points: (np.array([p[0] for p in points]), np.array([p[1] for p in points]))
    )


ANY_TABLE = st.one_of(tables(FEW), tables(WHOLE), tables(ANY), tables(ODD))
TWO_COLUMNS = st.one_of(*(tables(e, columns=st.just(2)) for e in (FEW, WHOLE, ANY, ODD)))


def simplex(rng, rows, columns):
    """Rows that do not dominate one another: their columns add up to the same."""
    parts = rng.exponential(size=(rows, columns))
    losses = parts / parts.sum(axis=1, keepdims=True)
    losses[:, -1] = 1.0 - losses[:, :-1].sum(axis=1)
    return losses
