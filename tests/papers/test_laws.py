"""Wrong implementations of MaPS and SMIKe are rejected by the law of their twins on tables of a few records, where the
parameters are most uncertain; also those that few or none of the published figures can tell."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from engine.common.streams import derive
from engine.mechanisms.base import Drawn, Mechanism
from engine.mechanisms.maps import MAPS
from engine.mechanisms.smike import SMIKE
from tests.numeric_data import numbered
from tests.papers import page
from tests.papers.mutants_all import MUTANTS
from tests.twins import maps as maps_twin
from tests.twins import smike as smike_twin

pytestmark = pytest.mark.slow

Law = dict[str, Counter[tuple[int, ...]]]
"""How often each outcome occurred, by the statistic that tells it."""
DRAWS = 800
NINE = [0, 0, 1, 1, 1, 1, 1, 2, 2], [0.2, -0.9, 0.1, 1.2, -0.4, 0.9, -1.3, 0.5, -0.6]
FIVE = [0, 1, 1, 1, 1], [0.0, 0.4, -1.0, 2.0, -2.6]
"""Cells of records, and their numbers."""
MAPS_CASES = {"nine records": (*NINE, 2, "0.6", (0, 1, 7, 8)), "five records": (*FIVE, 1, "0.1", (0,))}
"""Records, the largest sensitive cell, the cutpoint, and the records of which the partners are looked at."""
ELEVEN = [0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2]
SMIKE_CASES = {
    "few mixed in": ([3.5, -1.0, -0.6, 0.9, 0.1, -1.2, 2.4, 1.3, -0.1, 1.7, 3.0], 2),
    "more mixed in": ([2.4, 1.0, -0.6, 0.9, 0.1, -1.2, 1.4, 0.3, -0.9, 1.1, 2.0], 3),
}
"""Numbers of eleven records, and the nonsensitive records that are mixed in for each sensitive one."""
BY_LAW = [mutant for mutant in MUTANTS if mutant.made is not None]


def draws(mechanism: Mechanism, cells: list[int], numbers: list[float], **given: str) -> list[Drawn]:
    data = numbered({"K": cells}, {"u": np.array(numbers)})
    setting = mechanism.setting(data, {"D": "2", **given}, (0,), ("u",))
    prepared, named = mechanism.prepare(setting), tuple(sorted(given.items()))
    return [mechanism.draw(prepared, setting, derive(bytes(16), "law", (i, *named, len(cells)))) for i in range(DRAWS)]


def maps_law(mechanism: Mechanism) -> Law:
    """Whose keys some records get."""
    law: Law = {}
    for case, (cells, numbers, s, w0, some) in MAPS_CASES.items():
        everyone = np.arange(len(cells))
        law[case] = Counter(
            tuple((everyone if table.source is None else table.source)[list(some)].tolist())
            for drawn in draws(mechanism, cells, numbers, s=str(s), w0=w0)
            for table in drawn.tables
        )
    return law


@cache
def law_of_the_maps_twin() -> Law:
    rng, law = np.random.default_rng(2), Law()
    for case, (cells, numbers, s, w0, some) in MAPS_CASES.items():
        y = list(np.array(numbers)[:, None])
        tables = (maps_twin.table(cells, y, rng, s, "le", float(w0)) for _ in range(2 * DRAWS))
        law[case] = Counter(tuple(source[i] for i in some) for source in tables)
    return law


def smike_outcomes(case: str, pairs: list[list[list[int]]]) -> Law:
    """Cells of the sensitive records in one table; of two tables together, in how many records they agree, how many
    of the first one's have another cell, and the first record's."""
    together: Counter[tuple[int, ...]] = Counter(
        (
            sum(p == q for p, q in zip(one, other, strict=True)),
            sum(p != q for p, q in zip(one, ELEVEN, strict=True)),
            one[0],
        )
        for one, other in pairs
    )
    alone: Counter[tuple[int, ...]] = Counter((table[0], table[1]) for pair in pairs for table in pair)
    return {f"{case}, one table": alone, f"{case}, two tables": together}


def smike_law(mechanism: Mechanism) -> Law:
    law: Law = {}
    for case, (numbers, n_mix) in SMIKE_CASES.items():
        drawn = draws(mechanism, ELEVEN, numbers, s="2", n_mix=str(n_mix), selection="global")
        law |= smike_outcomes(case, [[table.cells((0,)).tolist() for table in one.tables] for one in drawn])
    return law


@cache
def law_of_the_smike_twin() -> Law:
    rng, law = np.random.default_rng(2), Law()
    for case, (numbers, n_mix) in SMIKE_CASES.items():
        y = list(np.array(numbers)[:, None])
        pairs = [smike_twin.tables(ELEVEN, y, rng, 2, n_mix, "global", "M", 2) for _ in range(DRAWS)]
        law |= smike_outcomes(case, pairs)
    return law


def p_value(one: Counter[tuple[int, ...]], other: Counter[tuple[int, ...]]) -> float:
    """The chance of so different counts under one law; outcomes seen fewer than ten times are taken together."""
    often = [k for k in set(one) | set(other) if one[k] + other[k] >= 10]
    table = np.array(
        [[*(counts[k] for k in often), sum(counts[k] for k in counts if k not in often)] for counts in (one, other)]
    )
    return float(chi2_contingency(table[:, table.any(axis=0)]).pvalue)


def p_values(mechanism: Mechanism) -> list[float]:
    ours, twins = (
        (maps_law(mechanism), law_of_the_maps_twin())
        if mechanism.name == "maps"
        else (smike_law(mechanism), law_of_the_smike_twin())
    )
    return [p_value(ours[kind], twins[kind]) for kind in twins]


@pytest.mark.parametrize("mechanism", [MAPS, SMIKE], ids=lambda made: made.name)
def test_the_right_ones_have_the_law_of_their_twins(mechanism: Mechanism):
    assert min(p_values(mechanism)) > 1e-3


@pytest.mark.parametrize("mutant", BY_LAW, ids=lambda mutant: mutant.code)
def test_wrong_ones_do_not(mutant):
    assert min(p_values(mutant.made)) < 1e-7


def test_every_wrong_one_is_put_through_and_the_page_says_so():
    assert len(BY_LAW) == len([m for m in MUTANTS if m.mechanism in ("MaPS", "SMIKe")]) > 20
    assert "tests/papers/test_laws.py" in page.LAWS
