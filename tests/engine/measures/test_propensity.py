"""Propensity measures beside statsmodels on stacked records; what they see and what they cannot see."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.measures import propensity as measured
from engine.models.record_release import RecordRelease
from tests.examples import examples
from tests.frames import frame_of
from tests.record_releases import figure, released
from tests.small_tables import Record, Small
from tests.titanic import FARES, passengers, plan, swapped
from tests.twins import propensity as twin

NAMES = ("pmse", "pmse_ratio", "pmse_tree", "specks")


def made(
    seed: int = 3, n: int = 200, moved: int = 60, shape: tuple[int, ...] = (2, 3, 2)
) -> tuple[Small, list[Record]]:
    """Records with associations, and after some have exchanged their first attribute."""
    random = np.random.default_rng(seed)
    base = random.integers(0, 6, n)
    records = np.column_stack([(base + random.integers(0, 2, n)) % size for size in shape])
    after = records.copy()
    drawn = random.permutation(n)[: moved - moved % 2].reshape(-1, 2)
    after[drawn[:, 0], 0], after[drawn[:, 1], 0] = records[drawn[:, 1], 0], records[drawn[:, 0], 0]
    return Small(tuple(map(tuple, records.tolist())), shape), [tuple(row) for row in after.tolist()]


@pytest.mark.parametrize(("interactions", "formula"), [(0, "A + B + C"), (1, "(A + B + C)**2")])
def test_the_figures_are_those_of_statsmodels(interactions: int, formula: str) -> None:
    small, after = made()
    after = [(a, (b + 1) % 3 if i % 17 == 0 else b, c) for i, (a, b, c) in enumerate(after)]
    release = released(small, [after])
    before, after_frame = (frame_of(table, ["A", "B", "C"]) for table in (release.original, release.tables[0]))
    chance, k = twin.propensities(before, after_frame, formula)
    asked = f"[interactions={interactions}]"
    assert figure("pmse" + asked, release).value == pytest.approx(twin.pmse(chance), rel=1e-6)
    assert figure("pmse_ratio" + asked, release).value == pytest.approx(twin.pmse_ratio(chance, k), rel=1e-6)
    assert figure("specks" + asked, release).value == pytest.approx(twin.specks(chance), abs=1e-9)


@pytest.mark.slow
def test_numbers_enter_beside_attributes() -> None:
    from dataclasses import replace

    release = swapped(passengers(), FARES, pairs=100)
    release = RecordRelease(release.original, release.tables, plan(numeric=("Fare", "SibSp")))
    release = RecordRelease(release.original, release.tables, replace(release.plan, analyse=("Pclass", "Sex")))
    names = ["Pclass", "Sex", "Fare", "SibSp"]
    chance, k = twin.propensities(
        frame_of(release.original, names), frame_of(release.tables[0], names), "(Pclass + Sex + Fare + SibSp)**2"
    )
    assert k == 15
    assert figure("pmse", release).value == pytest.approx(twin.pmse(chance), rel=1e-5)
    assert figure("pmse_ratio", release).value == pytest.approx(twin.pmse_ratio(chance, k), rel=1e-5)
    assert figure("specks", release).value == pytest.approx(twin.specks(chance), abs=3e-3)
    # a missing age is a number and a mark of its own, the same before and after: nothing to see
    ages = RecordRelease(release.original, release.tables, plan(numeric=("Age",)))
    assert figure("pmse[attributes=Survived]", ages).value == pytest.approx(0, abs=1e-20)
    assert figure("specks[attributes=Survived]", ages).value == 0


def test_main_effects_do_not_see_what_keeps_every_margin() -> None:
    small, after = made()
    release = released(small, [after])
    assert figure("pmse[interactions=0]", release).value == 0
    assert figure("specks[interactions=0]", release).value == 0
    assert figure("pmse", release).value > 1e-4 and figure("specks", release).value > 0.01
    assert figure("pmse", release).note.startswith("worst level ")


def test_a_tree_sees_what_pairs_do_not() -> None:
    """Parity of three: every two-way table stays as it is."""
    records = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1) for _ in range(30)]
    small = Small(tuple(records), (2, 2, 2))
    after = [(a, b, (a + b) % 2 if i % 3 else 1 - (a + b) % 2) for i, (a, b, _) in enumerate(records)]
    release = released(small, [after])
    assert figure("pmse", release).value == 0 == figure("specks", release).value
    assert figure("pmse_tree", release).value > 0.005


def test_a_tree_with_room_for_every_cell_is_the_cells_themselves() -> None:
    small, after = made(n=300)
    release = released(small, [after])
    cells: dict[Record, list[int]] = {}
    for label, records in enumerate((small.records, after)):
        for record in records:
            cells.setdefault(tuple(record), [0, 0])[label] += 1
    want = sum(sum(pair) * (pair[1] / sum(pair) - 0.5) ** 2 for pair in cells.values()) / 600
    assert figure("pmse_tree[leaf=1]", release).value == pytest.approx(want)
    values = [figure(f"pmse_tree[leaf={leaf}]", release).value for leaf in (1, 20, 100, 600)]
    assert values[0] > values[2] and values[3] == 0


@pytest.mark.slow
@given(st.integers(0, 99), st.integers(2, 60))
@examples(25)
def test_ranges(seed: int, moved: int) -> None:
    small, after = made(seed, 60, moved, (3, 2, 4))
    release = released(small, [after, [tuple(record) for record in small.records]])
    assert 0 <= figure("pmse", release).value <= 0.25 and 0 <= figure("pmse_tree", release).value <= 0.25
    assert 0 <= figure("specks", release).value <= 1 and figure("pmse_ratio", release).value >= 0


def test_files_with_nothing_in_common_are_told_apart_entirely() -> None:
    small = Small(((0, 0),) * 10 + ((1, 0),) * 10, (3, 2))
    release = released(small, [[(2, 1)] * 20])
    assert figure("pmse[interactions=0]", release).value == pytest.approx(0.25, abs=1e-6)
    assert figure("specks", release).value == 1
    assert figure("pmse_tree", release).value == 0.25


@pytest.mark.slow
@given(st.integers(0, 99), st.randoms(use_true_random=True))
@examples(15)
def test_rows_may_come_in_any_order_and_levels_may_have_any_names(seed: int, random) -> None:
    small, after = made(seed, 80, 40, (2, 3, 3))
    order = random.sample(range(80), 80)
    names = [random.sample(range(size), size) for size in small.shape]

    def renamed(records) -> list[Record]:
        return [tuple(names[j][level] for j, level in enumerate(records[i])) for i in order]

    other = released(Small(tuple(renamed(small.records)), small.shape), [renamed(after)])
    for name in ("pmse", "pmse_ratio", "specks"):
        assert figure(name, other).value == pytest.approx(figure(name, released(small, [after])).value, abs=1e-9)
    assert figure("pmse_tree[leaf=1]", other).value == pytest.approx(
        figure("pmse_tree[leaf=1]", released(small, [after])).value, abs=1e-9
    )


@pytest.mark.slow
def test_alone_and_in_company_the_same_bits() -> None:
    data = passengers()
    for name in NAMES:
        company = swapped(data, FARES, tables=2)
        for other in NAMES:
            if other != name:
                figure(other, company)
        assert figure(name, company) == figure(name, swapped(data, FARES, tables=2))


def test_where_nothing_varies_it_is_undefined() -> None:
    constant = Small(((0, 0),) * 5, (1, 1))
    found = figure("pmse_ratio", released(constant, [constant.records]))
    assert math.isnan(found.value) and "no variable takes two values" in found.note


def test_a_model_that_would_not_fit_into_memory_is_refused(monkeypatch) -> None:
    small, after = made()
    monkeypatch.setattr(measured, "_CELLS", 50)
    found = figure("pmse", released(small, [after]))
    assert math.isnan(found.value) and "use interactions=0 or fewer attributes" in found.note
