"""How well rarity tells which records or households were altered: by counting pairs, and after targeted swapping."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.streams import derive
from engine.data.microdata import Microdata
from engine.measures import call, evaluate_records
from engine.mechanisms.targeted import TRS
from engine.release.records import ReleasedTable
from tests.engine.measures.test_households import Plain, figure, levels, moved, release_of, several_towns
from tests.examples import examples
from tests.households import in_households


def chance(altered: list[int], others: list[int]) -> float:
    pairs = [1.0 if a < o else 0.5 if a == o else 0.0 for a in altered for o in others]
    return sum(pairs) / len(pairs) if pairs else math.nan


@pytest.mark.slow
@given(several_towns(), st.integers(0, 99))
@examples(60)
def test_households_by_counting_pairs(data: Microdata, i: int):
    release = moved(data, i)
    plain, sharing = Plain(release, "town+sex+age"), Counter(levels(release.tables[0], "town+sex+age"))
    rarest = [(min(sharing[plain.after[j]] for j in m), m in plain.unmoved) for m in plain.members]
    wanted = chance([r for r, same in rarest if not same], [r for r, same in rarest if same])
    assert figure("rarity_auc[attributes=town+sex+age]", release) == pytest.approx(wanted, nan_ok=True)


@given(several_towns(), st.integers(0, 99))
@examples(30)
def test_records_by_counting_pairs_where_there_are_no_units(data: Microdata, i: int):
    data = replace(data, unit=None)
    order = np.random.default_rng(i).permutation(data.n_records)
    release = release_of(data, [ReleasedTable(data, order, (1,))])
    before, after = levels(release.original, "town+age"), levels(release.tables[0], "town+age")
    sharing = Counter(after)
    rarest = [(sharing[b], a == b) for a, b in zip(before, after, strict=True)]
    wanted = chance([r for r, same in rarest if not same], [r for r, same in rarest if same])
    assert figure("rarity_auc[attributes=town+age]", release) == pytest.approx(wanted, nan_ok=True)


def test_who_moves_risky_households_tells_which_and_a_blind_draw_does_not():
    rng = np.random.default_rng(4)
    n = 4000
    data = in_households(
        range(n), {"town": rng.integers(0, 20, n).tolist()}, {"age": np.minimum(rng.geometric(0.15, n), 30).tolist()}
    )
    found = {}
    for name, asked in (("risky", {"k": "3", "lean": "1"}), ("blind", {"k": "0", "lean": "0"})):
        setting = TRS.setting(data, {"rate": "0.05", "hierarchy": "town", "risk": "age"} | asked, range(2))
        tables = TRS.draw(TRS.prepare(setting), setting, derive(bytes(16), "test", (1,))).tables
        found[name] = figure("rarity_auc[attributes=town+age]", release_of(data, tables))
    assert found["risky"] > 0.8 and abs(found["blind"] - 0.5) < 0.06


def test_a_release_in_which_nothing_changed_has_no_figure_but_a_reason():
    data = in_households([0, 1], {"town": [0, 1]}, {"sex": [0, 1]})
    found = evaluate_records(call("rarity_auc"), release_of(data, [ReleasedTable(data)]))
    assert math.isnan(found.value) and "no record is altered" in found.note
