"""Counts of the decision sheet: those behind the risk that decides, and which candidate is better elsewhere."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.measures import call
from engine.report import sheet_counts
from engine.report.sheet_counts import _counted, _decided_by, better_elsewhere
from engine.report.sheet_facts import Counted

SAME, LESS, MORE, NOISE = (False, 0, 0.0), (True, -1, 0.1), (True, 1, 0.1), (False, 1, 0.1)
"""A measure on which a candidate is clearly the same, worse or better than another one, or better within noise."""


@pytest.mark.parametrize(
    ("candidates", "found"),
    [
        ([(SAME, SAME, SAME, SAME)], (None, None)),
        ([(SAME, SAME, SAME, MORE)], (1, 3)),
        ([(NOISE, SAME, NOISE, MORE)], (1, 3)),
        ([(SAME, SAME, SAME, NOISE)], (None, None)),
        ([(SAME, SAME, LESS, MORE)], (None, None)),
        ([(SAME, LESS, SAME, MORE)], (None, None)),
        ([(MORE, SAME, SAME, MORE)], (None, None)),
        ([(SAME, SAME, SAME, MORE), (SAME, SAME, MORE, SAME)], (2, 2)),
        ([(SAME, SAME, MORE, SAME), (SAME, SAME, (True, 1, -0.2), SAME)], (2, 2)),
        ([(SAME, SAME, (True, 1, -0.2), SAME), (SAME, SAME, MORE, SAME)], (1, 2)),
    ],
)
def test_a_candidate_is_better_elsewhere_where_both_axes_and_all_other_measures_allow_it(
    candidates: list[tuple[Any, ...]], found: tuple[int | None, int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def differences(_: Any, other: int, index: int) -> list[SimpleNamespace]:
        assert index == 0
        return [SimpleNamespace(clear=c, better=b, absolute=a) for c, b, a in candidates[other - 1]]

    monkeypatch.setattr(sheet_counts, "differences", differences)
    loss = np.zeros((len(candidates) + 1, 4))
    view: Any = SimpleNamespace(risk=0, utility=1, measures=[None] * 4, summary=SimpleNamespace(loss=loss))
    view.summary.loss_se = np.full_like(loss, 0.1)
    assert better_elsewhere(view, 0) == found
    view.summary.loss[1:, 0] = 4 * np.hypot(0.1, 0.1) + 0.01
    assert better_elsewhere(view, 0) == (None, None), "it is far away on the first axis"
    view.measures = [None] * 2
    assert better_elsewhere(view, 0) == (None, None), "there is no further measure"


@pytest.mark.parametrize(
    ("risk", "shares", "counted"),
    [
        ("small_cells", (0.3, 0.25), (Counted(30, 100), Counted(20, 80))),
        ("exposed_households", (0.25, 0.1), (Counted(10, 40), Counted(3, 30))),
        ("attack", (0.25, 0.1), (Counted(25, 100), Counted(10, 100))),
        ("total_variation", (0.255, 0.1), (None, Counted(10, 100))),
        ("hellinger", (0.25, 0.1), (None, None)),
    ],
)
def test_the_risk_that_decides_is_counted_among_those_of_which_it_is_a_share(
    risk: str, shares: tuple[float, float], counted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100 records 20 are altered, and of 40 households 10."""
    measure = call(risk)
    monkeypatch.setattr(sheet_counts, "units_changed", lambda _: SimpleNamespace(n_units=40, changed=10))
    view = SimpleNamespace(measures=[measure], risk=0, original=[shares[0]])
    context: Any = SimpleNamespace(view=view, study=SimpleNamespace(plan=SimpleNamespace(keys=("A",))), bound="0.2")
    data = SimpleNamespace(n_records=100, domain=SimpleNamespace(indices=lambda _: (0,)))
    realisation: Any = SimpleNamespace(data=data, tables=[None], figures={risk: shares[1]})
    release: Any = SimpleNamespace(changed=lambda *_: np.arange(100) < 20)
    found = _decided_by(context, realisation, release)
    assert (found.before, found.after, found.limit) == (*shares, 0.2)
    assert (found.counted_before, found.counted_after) == counted


@pytest.mark.parametrize(("share", "of", "n"), [(None, 9, None), (0.25, 8, 2), (0.3, 8, None), (0.2500001, 8, 2)])
def test_a_count_is_behind_a_share_that_is_one_of_so_many(share: float | None, of: int, n: int | None) -> None:
    assert _counted(share, of) == (None if n is None else Counted(n, of))
