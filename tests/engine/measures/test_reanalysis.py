"""Measures of re-analysis: their oracles, their notes, what is undefined, and the papers' Titanic regressions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.measures.reanalysis import interval_overlap
from engine.models.record_release import RecordRelease
from engine.plan import AnalysisPlan
from engine.release.records import ReleasedTable
from tests.record_releases import figure, released
from tests.small_tables import Small
from tests.titanic import FARES, REG1, REG2, SIBLINGS, frame, passengers, swapped
from tests.twins.reanalysis import fitted, overlap, overlaps

NAMES = ("ci_overlap", "ci_disjoint", "coefficient_shift", "sign_changes", "coefficients_lost", "information_loss")
PERFECT = {"ci_overlap": 1.0}


def one_overlap(before: tuple[float, float], after: tuple[float, float]) -> float:
    (a, b), (c, d) = before, after
    ends = [np.array([(a + b) / 2]), np.array([(b - a) / 2]), np.array([(c + d) / 2]), np.array([(d - c) / 2])]
    return float(interval_overlap(*ends)[0])


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        ((0, 1), (0, 1), 1),
        ((0, 1), (1, 2), 0),
        ((0, 2), (0.5, 1.5), 0.75),
        ((0, 1), (2, 3), -1),
        ((0, 1), (1.5, 2.0), -0.75),
        ((0, 1), (0.5, 1.5), 0.5),
        ((1, 1), (0, 2), math.nan),
        ((0, 2), (1, 1), math.nan),
    ],
)
def test_the_overlap_of_two_intervals(before: tuple, after: tuple, want: float) -> None:
    assert one_overlap(before, after) == pytest.approx(want, nan_ok=True)


ends = st.floats(-50, 50).map(lambda x: round(x, 2))
intervals = st.tuples(ends, st.floats(0.1, 20).map(lambda x: round(x, 2))).map(lambda t: (t[0], t[0] + t[1]))


@given(intervals, intervals, ends, st.floats(0.1, 9))
def test_overlap_is_symmetric_at_most_one_and_free_of_units(
    one: tuple, other: tuple, shift: float, scale: float
) -> None:
    j = one_overlap(one, other)
    assert j == pytest.approx(overlap((0, *one), (0, *other)), abs=1e-9)
    assert j == pytest.approx(one_overlap(other, one)) and j <= 1 + 1e-12
    moved = [(low * scale + shift, high * scale + shift) for low, high in (one, other)]
    assert j == pytest.approx(one_overlap(*moved), abs=1e-6)
    assert (j < 0) == (max(one[0], other[0]) > min(one[1], other[1])) or abs(j) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_on_the_titanic_overlaps_are_those_of_statsmodels(seed: int) -> None:
    release = swapped(passengers(), REG1, REG2, FARES, SIBLINGS, seed=seed)
    before, after = frame(release.original), frame(release.tables[0])
    wanted = {}
    for analysis in (REG1, FARES, SIBLINGS):
        formula = analysis.formula.replace("log", "np.log")
        wanted[analysis.name] = overlaps(*(fitted(formula, analysis.family, records) for records in (before, after)))
    wanted["Reg2"] = [
        j
        for stratum, part in before.groupby(["Pclass", "Sex"], observed=True)
        for j in overlaps(
            *(
                fitted(REG2.formula, "logistic", records)
                for records in (part, after[(after.Pclass == stratum[0]) & (after.Sex == stratum[1])])
            )
        )
    ]
    for name, js in wanted.items():
        found = figure(f"ci_overlap[analysis={name}]", release)
        assert found.value == pytest.approx(sum(js) / len(js), abs=1e-5)
        assert f"J = {min(js):.2f}" in found.note
        assert figure(f"ci_disjoint[analysis={name}]", release).value == sum(j < 0 for j in js)
    everything = [j for js in wanted.values() for j in js]
    found = figure("ci_overlap", release)
    assert found.value == pytest.approx(sum(everything) / len(everything), abs=1e-5)
    assert "worst subgroup Reg2, Pclass=" in found.note


@pytest.mark.slow
def test_shifts_and_signs_on_the_titanic() -> None:
    release = swapped(passengers(), REG1, REG2, pairs=150)
    both = [fitted(REG1.formula, "logistic", frame(table)) for table in (release.original, release.tables[0])]
    shifts = {
        name: abs(both[1][name][0] - estimate) / ((high - low) / 2 / 1.959963984540054)
        for name, (estimate, low, high) in both[0].items()
    }
    worst = max(shifts, key=shifts.__getitem__)
    found = figure("coefficient_shift[analysis=Reg1]", release)
    assert found.value == pytest.approx(sum(shifts.values()) / 5, rel=1e-4)
    assert found.note == f"worst {worst}: {shifts[worst]:.2f} standard errors"
    assert figure("coefficient_shift[analysis=Reg1;summary=max]", release).value == pytest.approx(
        shifts[worst], rel=1e-4
    )
    turned = figure("sign_changes[analysis=Reg2]", release)
    strict = figure("sign_changes[analysis=Reg2;significant=1]", release)
    assert turned.value > 0 and strict.value <= turned.value
    assert turned.note.startswith("worst Reg2, Pclass=")


@pytest.mark.parametrize("tables", [1, 3])
def test_a_release_of_the_original_is_perfect(tables: int) -> None:
    data = passengers()
    release = swapped(data, REG1, REG2, FARES, SIBLINGS)
    same = [ReleasedTable(data, np.arange(data.n_records), (1, 2)) for _ in range(tables)]
    release = RecordRelease(release.original, same, release.plan)
    for name in NAMES:
        found = figure(name, release)
        if name == "information_loss" and tables == 1:
            assert math.isnan(found.value) and "one released table" in found.note
        else:
            assert found.value == PERFECT.get(name, 0.0) and not math.copysign(1, found.value) < 0, name
            assert found.note == ""


def test_several_tables_lose_information() -> None:
    data = passengers()
    found = figure("information_loss", swapped(data, REG1, tables=5, pairs=150))
    assert 0 < found.value < 1 and found.note.startswith("worst ")
    assert figure("ci_overlap", swapped(data, REG1, tables=5)).value <= 1
    assert figure("ci_overlap[df=printed]", swapped(data, REG1, tables=3, pairs=300)).value != (
        figure("ci_overlap", swapped(data, REG1, tables=3, pairs=300)).value
    )


def test_alone_and_in_company_the_same_bits() -> None:
    data = passengers()
    alone = {name: figure(name, swapped(data, REG1, REG2, tables=2, seed=4)) for name in NAMES}
    shared = swapped(data, REG1, REG2, tables=2, seed=4)
    other = swapped(data, REG1, REG2, tables=2, seed=5)
    for name in NAMES:
        figure(name, RecordRelease(shared.original, other.tables, shared.plan))
        assert figure(name, shared) == alone[name]


RECORDS = Small(tuple((i % 2, (i // 2) % 3, (i * i // 3) % 2) for i in range(60)), (2, 3, 2))


def test_what_is_lost_is_counted_and_named() -> None:
    analysis = AnalysisPlan("r", "A == 'v1' ~ B + C")
    gone = [(a, 0 if b == 2 else b, c) for a, b, c in RECORDS.records]
    release = released(RECORDS, [gone], analyses=(analysis,))
    lost = figure("coefficients_lost", release)
    assert lost.value == 1
    words = "1 of 4 coefficients cannot be estimated from the release, first B[T.v2] (not estimable)"
    assert lost.note == words and words in figure("ci_overlap", release).note
    assert words in figure("coefficient_shift", release).note and words in figure("sign_changes", release).note
    assert not math.isnan(figure("ci_overlap", release).value)
    apart = [(1 if b == 2 else a, b, c) for a, b, c in RECORDS.records]
    separated = figure(
        "coefficients_lost", released(RECORDS, [apart], analyses=(AnalysisPlan("r", "A ~ B", "logistic"),))
    )
    assert separated.value == 1 and "first B[T.v2] (separated or not converged)" in separated.note


def test_nothing_to_compare_is_nan_with_a_reason() -> None:
    for name in NAMES:
        found = figure(name, released(RECORDS, [RECORDS.records]))
        assert math.isnan(found.value) and found.note == "the plan declares no analyses"
    flat = AnalysisPlan("r", "A == 'v1' ~ A")  # a perfect fit: no interval has a width
    release = released(RECORDS, [RECORDS.records], analyses=(flat,))
    found = figure("ci_overlap", release)
    assert math.isnan(found.value) and "2 with an interval of no width" in found.note
    assert math.isnan(figure("coefficient_shift", release).value)
    all_one = [(1, b, c) for _, b, c in RECORDS.records]
    nobody = figure("ci_overlap", released(RECORDS, [all_one], analyses=(AnalysisPlan("r", "A ~ B", "logistic"),)))
    assert math.isnan(nobody.value) and nobody.note.startswith("no coefficient can be compared; 3 of 3 coefficients")


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match=r"analysis == 'q', which the plan does not declare\. Known: r\."):
        figure(
            "ci_overlap[analysis=q]",
            released(RECORDS, [RECORDS.records], analyses=(AnalysisPlan("r", "A ~ B", "logistic"),)),
        )
