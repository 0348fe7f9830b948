"""An order that keeps something of the old one is told from a random one."""

from __future__ import annotations

import numpy as np
import pytest

from engine.release.records import order_trace


@pytest.mark.parametrize("n", [100, 5000])
def test_a_random_order_keeps_nothing_and_others_do(n: int) -> None:
    order = np.random.default_rng(3).permutation(n)
    assert not order_trace(order).is_kept
    nearly = np.argsort(np.arange(n) + np.random.default_rng(3).normal(0, n / 10, n))
    assert order_trace(np.arange(n)).is_kept and order_trace(np.arange(n)[::-1]).is_kept and order_trace(nearly).is_kept


def test_two_records_have_no_order_to_keep() -> None:
    assert not order_trace(np.array([0, 1])).is_kept
