"""Losses ranked over everything, flags by one rule, and tallies, counted again from records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from engine.models.record_release import RecordRelease
from engine.plan import AnalysisPlan, DecisionPlan, Plan, SpacePlan, TablePlan, TolerancePlan
from engine.plan.entries import MechanismPlan
from engine.release.records import ReleasedTable
from engine.report import losses
from engine.report.decision_pages import pages
from engine.report.facts import NewValue, Tally, Tolerances
from engine.report.losses import (
    Alterable,
    Batch,
    Cells,
    Collection,
    by_size,
    by_table,
    fisher_error,
    flagged_of,
    flags,
    group_of,
    largest,
    new_values,
    reverses,
    utility,
)
from tests.engine.report.conftest import MECHANISMS, Case, N, case_of, plan_of
from tests.engine.report.pages import text_of
from tests.engine.report.recount import codes, column

DEFAULT = Tolerances(0.1, 45, 1.96, 1.1)
Figure = tuple[int, float, float, float, float]
"""Records before and after, the figure before and after, and its standard error."""


def _percentage(cell: list[np.ndarray], weights: np.ndarray, min_n: int) -> Figure | None:
    """A percentage of a group, in proportions, with the error of a ratio of weighted totals; ``cell`` are masks of its
    records and of its group's, before and after."""
    before, after, group, group_after = cell
    n, n_after = int(before.sum()), int(after.sum())
    if not n and not n_after:
        return None

    def share(mask: np.ndarray, of: np.ndarray) -> tuple[float, float]:
        part = float(weights[mask].sum() / weights[of].sum())
        return part, float(np.sqrt((weights[of] ** 2 * (mask[of] - part) ** 2).sum()) / weights[of].sum())

    (old, error), (new, error_after) = share(before, group), share(after, group_after)
    few = min(n, int(group.sum()) - n) <= min_n
    return n, n_after, old, new, max(error, error_after) if few else error


def _mean(values: np.ndarray, before: np.ndarray, after: np.ndarray, weights: np.ndarray) -> Figure | None:
    if not before.any() or not after.any():
        return None
    old, new = (float(np.average(values[mask], weights=weights[mask])) for mask in (before, after))
    n, residuals = int(before.sum()), weights[before] * (values[before] - old)
    error = np.sqrt((residuals**2).sum() * n / (n - 1)) / weights[before].sum() if n > 1 else np.nan
    return n, int(after.sum()), old, new, float(error)


def _tally(kind: str, figures: list[tuple[Figure, bool]], at: Tolerances) -> Tally:
    """The rule in plain words once more: each figure with whether the release can change it."""
    counts = dict.fromkeys(("eligible", "flagged", "unchangeable", "by_change", "by_errors", "new"), 0)
    for (n, n_after, before, after, error), can_change in figures:
        if not can_change:
            counts["unchangeable"] += 1
            assert after == pytest.approx(before, abs=1e-12)
            continue
        is_new = n == 0
        counts["new"] += is_new
        if is_new:
            continue
        stands_out = max(n, n_after) > at.min_n and not (error > 0 and abs(before) <= at.se * error)
        counts["eligible"] += bool(error > 0 or stands_out)
        by_change = stands_out and before != 0 and abs(after - before) > at.change * abs(before)
        by_errors = bool(error > 0 and abs(after - before) > at.se * error)
        counts["by_change"] += by_change
        counts["by_errors"] += by_errors
        counts["flagged"] += by_change or by_errors
    return Tally(kind, len(figures), **counts)


def _cells(attributes: tuple[int, ...], both: np.ndarray) -> Iterator[list[np.ndarray]]:
    """Masks of the records in every cell that anybody is in, and of its group (the level of the first of several
    attributes), before and after."""
    half = len(both) // 2
    for cell in np.unique(both[:, attributes], axis=0):
        mask = (both[:, attributes] == cell).all(axis=1)
        group = both[:, attributes[0]] == cell[0] if len(attributes) > 1 else np.ones(2 * half, bool)
        yield [mask[:half], mask[half:], group[:half], group[half:]]


def _recounted(case: Case, swapped: frozenset[int]) -> dict[str, Tally]:
    """Every tally from the records alone; exchanging ``swapped`` together keeps what uses only them, or none."""
    old, new = codes(case)
    both, ones, w = np.concatenate([old, new]), np.ones(N), column(case, "w")
    tallies, at = {}, case.findings.utility.tolerances

    def can_change(attributes: set[int], beside: bool) -> bool:
        return bool(attributes & swapped) and (beside or bool(attributes - swapped))

    kinds: dict[str, list[tuple[int, ...]]] = {
        "percentages of one attribute": [(j,) for j in range(4)],
        "percentages of two attributes": list(combinations(range(4), 2)),
    }
    for weighted, weights in ((False, ones), (True, w)):
        prefix = "weighted " if weighted else ""
        for kind, tables in kinds.items():
            figures = [
                (figure, can_change(set(table), weighted))
                for table in tables
                for cell in _cells(table, both)
                if (figure := _percentage(cell, weights, at.min_n)) is not None
            ]
            tallies[prefix + kind] = _tally(prefix + kind, figures, at)
        figures = []
        for name in "xy":
            values, everybody = column(case, name), np.ones(N, bool)
            overall = _mean(values, everybody, everybody, weights)
            assert overall is not None
            figures.append((overall, False))
            for j in range(4):
                for before, after, _, _ in _cells((j,), both):
                    if (figure := _mean(values, before, after, weights)) is not None:
                        figures.append((figure, can_change({j}, True)))
        tallies[prefix + "means"] = _tally(prefix + "means", figures, at)
    return tallies


@pytest.fixture(scope="module")
def strict(case: Case) -> Case:
    """The same release under tolerances that few figures meet."""
    plan = replace(case.study.plan, tolerances=TolerancePlan("0.02", 20, "0.2", "1.01"))
    use = utility(_release(case, plan), plan)
    return Case(case.study, case.realisation, replace(case.findings, utility=use))


def _release(case: Case, plan: Plan) -> RecordRelease:
    realisation = case.realisation
    return RecordRelease(ReleasedTable(realisation.data), realisation.tables, plan, realisation.spec)


@pytest.mark.parametrize("which", ["case", "strict"])
def test_every_tally_counted_again_from_records(which: str, request: pytest.FixtureRequest):
    release: Case = request.getfixturevalue(which)
    swapped = frozenset(release.realisation.spec.attributes.having("S"))
    assert swapped and len(swapped) < 4
    tallies = {tally.kind: tally for tally in release.findings.utility.tallies}
    recounted = _recounted(release, swapped)
    assert {kind: tallies[kind] for kind in recounted} == recounted
    assert set(tallies) - set(recounted) == {"regression coefficients", "correlations"}
    assert tallies["correlations"] == Tally("correlations", 1, 0, 0, unchangeable=1)  # of columns that stay as they are
    assert any(t.unchangeable for t in recounted.values())
    coefficients = tallies["regression coefficients"]
    rows = [figure for figure in release.findings.utility.figures if figure.kind == "coefficient"]
    assert coefficients.compared == coefficients.eligible == len(rows) and coefficients.unchangeable == 0
    assert coefficients.flagged == sum(row.flagged for row in rows)  # type: ignore[misc]
    if which == "strict":
        flagged, by_change, by_errors = (
            sum(getattr(t, name) for t in recounted.values()) for name in ("flagged", "by_change", "by_errors")
        )
        assert 0 < by_change < flagged and 0 < by_errors < flagged


def test_figures_are_sorted_by_their_size_and_values_that_did_not_exist_are_apart(strict: Case) -> None:
    figures = strict.findings.utility.figures
    assert [by_size(figure) for figure in figures] == sorted(by_size(figure) for figure in figures)
    errors = [figure.errors or 0.0 for figure in largest(figures)]
    assert errors == sorted(errors, reverse=True) and errors[0] > errors[-1] > 0
    assert {figure.kind for figure in largest(figures)} >= {"percentage of two attributes", "mean", "coefficient"}
    names = [(figure.kind, figure.of, figure.group, figure.what) for figure in largest(figures)]
    assert len(names) == len(set(names)), "a figure stands once, weighted or not"


def test_every_flagged_figure_is_held_however_few_others_are(strict: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "MOST_UNFLAGGED", 3)
    plan = replace(strict.study.plan, tolerances=TolerancePlan("0.02", 20, "0.2", "1.01"), tables=())
    use = utility(_release(strict, plan), plan)
    assert sum(figure.flagged is True for figure in use.figures) == sum(tally.flagged for tally in use.tallies) > 20
    assert sum(figure.flagged is False for figure in use.figures) <= 3


PLACES = MechanismPlan("trs", (("rate", ("0.1",)), ("hierarchy", ("region+town",))))


def _towns(before: str, after: str) -> Collection:
    """Figures of two towns (letters) by whether a dwelling is a house or a flat (capital), before and after."""
    cells, cell = np.unique(list(before + after), return_inverse=True)
    groups, names = (["aAbB".index(each) for each in cells], [each.isupper() for each in cells])
    words = ["ab"[group // 2] for group in groups], [("house", "flat")[name] for name in names]
    table = Cells(np.split(cell, [len(before)]), np.array(groups) // 2, *words)
    collection = Collection("percentage of two attributes", "percentages", DEFAULT)
    collection.add(table.batch("town × dwelling", None, DEFAULT.min_n), True)
    return collection


def _errors(collection: Collection) -> dict[tuple[str, str], float | None]:
    return {(figure.group, figure.what): figure.errors for figure in collection.figures}


def test_a_value_that_did_not_exist_has_no_standard_error_and_is_not_judged() -> None:
    """0 of 60 becomes 20 of 60: not 4.5 standard errors of an original that has none."""
    collection = _towns("a" * 60 + "b" * 30 + "B" * 30, "a" * 40 + "A" * 20 + "b" * 50 + "B" * 10)
    new = next(figure for figure in collection.figures if figure.note)
    assert (new.note, new.group, new.what, new.n, new.n_after, new.within) == ("new value", "a", "flat", 0, 20, 60)
    assert new.errors is None and new.se is None and new.flagged is None and new.relative is None
    assert (collection.tally.new, collection.tally.eligible, collection.tally.flagged) == (1, 3, 3)
    assert new not in largest(collection.figures)
    assert new_values(collection.figures) == [NewValue("town × dwelling", "flat", 1, 20, new)]
    assert by_table(collection.figures)[0] == ("town × dwelling", 3, 1)


def test_every_value_that_did_not_exist_is_held_and_counted_however_few_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(losses, "MOST_UNFLAGGED", 0)
    collection = _towns("a" * 1000 + "b" * 999 + "B", "a" * 999 + "A" + "b" * 1000)
    _, figures = losses.collected([collection])
    (new,) = new_values(figures)
    assert by_table(figures)[0].new == new.groups == collection.tally.new == 1


def test_values_that_did_not_exist_are_counted_unweighted_those_with_most_records_first() -> None:
    """Whatever the order of the figures; of as many records, those of more groups first."""
    (one,) = (figure for figure in _towns("a" * 60, "a" * 40 + "A" * 20).figures if figure.note)
    flat, flat_in_b = one, replace(one, group="b", n_after=30)
    few, hut, tent = (replace(one, what=what, n_after=n) for what, n in (("barn", 7), ("hut", 80), ("tent", 50)))
    heavy, whole = replace(flat, weighted=True, n_after=900), replace(flat, group="", n_after=900)
    was_there = replace(flat, note="", n_after=900)
    assert new_values([few, heavy, tent, flat, was_there, flat_in_b, whole, hut]) == [
        NewValue(one.of, "hut", 1, 80, hut),
        NewValue(one.of, "flat", 2, 50, flat_in_b),
        NewValue(one.of, "tent", 1, 50, tent),
        NewValue(one.of, "barn", 1, 7, few),
    ]
    assert by_table([replace(few, of="t"), flat, heavy, flat_in_b]) == [(one.of, 0, 2), ("t", 0, 1)]
    assert [figure.what for figure in sorted([few, tent, hut], key=by_size)] == ["hut", "tent", "barn"]


def test_the_error_is_that_of_the_share_within_the_group() -> None:
    """The same shift of 61 of 778 is as many standard errors from 119 as from 659, and the rest of the file is
    irrelevant."""
    expected = 61 / 778 / np.sqrt(119 / 778 * 659 / 778 / 778)
    for rest in (10, 5000):
        town_b = "b" * rest + "B" * rest
        errors = _errors(_towns("a" * 659 + "A" * 119 + town_b, "a" * 598 + "A" * 180 + town_b))
        assert errors == {("a", "house"): pytest.approx(expected), ("a", "flat"): pytest.approx(expected)}


def test_a_share_that_nearly_all_have_is_measured_as_the_one_that_few_have() -> None:
    """1 of 100 becomes 20: 1.9 in 4.0 of the release, not 19 in 0.995 of the original, and so 99 that become 80."""
    expected = 19 / (100 * np.sqrt(0.2 * 0.8 / 100))
    errors = _errors(_towns("a" * 99 + "A", "a" * 80 + "A" * 20))
    assert errors == {("a", "house"): pytest.approx(expected), ("a", "flat"): pytest.approx(expected)}


def test_a_group_that_grows_is_measured_by_its_share() -> None:
    collection = _towns("a" * 60 + "A" * 60 + "b" * 80, "a" * 50 + "A" * 50 + "b" * 100)
    assert {figure.errors for figure in collection.figures if figure.group == "a"} <= {0.0}


def test_a_group_that_the_original_or_the_release_lacks_is_not_divided_by() -> None:
    emptied, filled = _towns("a" * 60 + "b" * 60, "a" * 120), _towns("a" * 120, "a" * 60 + "b" * 60)
    (lost,), (new,) = ([f for f in c.figures if f.group == "b"] for c in (emptied, filled))
    assert (lost.n, lost.n_after, lost.before, lost.after) == (60, 0, 100.0, 0.0) and lost.flagged
    assert (new.n, new.n_after, new.errors, new.note) == (0, 60, None, "new value")


def test_the_group_of_a_table_is_its_finest_place() -> None:
    plan = plan_of(mechanisms=(PLACES,))
    assert group_of(("age", "town"), plan) == 1 and group_of(("region", "age", "town"), plan) == 2
    assert group_of(("region", "sex"), plan) == 0 and group_of(("age", "sex"), plan) == 0


KINDS: dict[str, dict[str, Any]] = {
    "pairs that agree on an attribute": {
        "space": SpacePlan(specs=("A:S B:F C:U D:U", "A:S B:F C:S D:U"), rates=("0.2113",), replicates=10)
    },
    "two attributes at once": {"space": SpacePlan(swap_sizes=(2,), rates=("0.2113",), replicates=10)},
    **{
        name: {"mechanisms": (mechanism,), "measures": ("small_cells", "pmse")}
        for name, mechanism in MECHANISMS.items()
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_change_never_does(tmp_path: Path, kind: str):
    """Over releases of several kinds: whatever is left out of the denominators is exactly as it was."""
    case = case_of(tmp_path, plan_of(analyses=(), decision=DecisionPlan(), **KINDS[kind]))
    old, new = codes(case)
    alterable = Alterable.of(_release(case, case.study.plan))
    still = 0
    for size in (1, 2, 3):
        for table in combinations(range(4), size):
            before, after = (np.unique(rows[:, table], axis=0, return_counts=True) for rows in (old, new))
            same = all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
            if not alterable.can_change(table):
                assert same
                still += 1
            if not alterable.can_change(table, ("x",)):
                assert (old[:, table] == new[:, table]).all()
    assert still or kind == "pram"  # which draws every key anew


def test_pairs_that_agree_on_an_attribute_keep_its_table():
    kept = Alterable(frozenset({0}), frozenset({"A"}), exchanged=True, agreeing=frozenset({1}))
    assert not kept.can_change((0, 1)) and not kept.can_change((0,)) and not kept.can_change((1, 2))
    assert kept.can_change((0, 2)) and kept.can_change((0, 1), ("w",)) and kept.can_change((0,), ("w",))
    drawn = replace(kept, exchanged=False)
    assert drawn.can_change((0,)) and not drawn.can_change((1,))


def test_one_rule_for_all_figures():
    before = np.array([10.0, 10.0, 10.0, 0.01, 0.0, 5.0])
    after = np.array([10.5, 11.5, 11.5, 0.5, 3.0, 5.0])
    error = np.array([0.1, 6.0, 1.0, 1.0, 1.0, np.nan])
    is_large = np.array([True, True, True, True, True, False])
    _, asked, by_change, by_errors = flags(before, after, error, is_large, DEFAULT)
    assert by_errors.tolist() == [True, False, False, False, True, False]
    # the second does not stand out from 0; the fourth is 49 times itself and still next to nothing
    assert by_change.tolist() == [False, False, True, False, False, False]
    assert asked.tolist() == [True, True, True, True, True, False]
    _, _, few_by_change, few_by_errors = flags(before, after, error, False, DEFAULT)
    assert not few_by_change.any() and (few_by_errors == by_errors).all()


def test_cells_are_counted_once_however_many_declared_tables_hold_them(case: Case):
    """In the order of the plan or another, of two attributes or of four that two tables name."""
    none = utility(_release(case, plan := plan_of(tables=())), plan)
    two = (TablePlan("A by B", ("A", "B")), TablePlan("C by A", ("C", "A")), TablePlan("of A", ("A",)))
    plan = plan_of(tables=two)
    assert flagged_of(utility(_release(case, plan), plan)) == flagged_of(none)
    four = (TablePlan("all four", tuple("ABCD")), TablePlan("once more", tuple("DCBA")))
    use = utility(_release(case, plan := plan_of(tables=(*four, *two))), plan)
    assert {figure.of for figure in use.figures if figure.kind == "cell of a declared table"} == {"all four"}
    (tally,) = (t for t in use.tallies if t.kind == "cells of declared tables")
    assert tally.compared == use.tables[0].cells == use.tables[1].cells


def test_a_declared_table_has_its_largest_change_and_the_sign_of_its_association(case: Case) -> None:
    use = utility(_release(case, plan := plan_of(tables=(TablePlan("A by B", ("A", "B")),))), plan)
    (table,) = use.tables
    cells = [figure for figure in use.figures if figure.of == "A × B" and not figure.weighted]
    assert table.changed and table.largest is not None
    assert table.largest.errors == max(figure.errors or 0.0 for figure in cells)


@pytest.mark.parametrize(
    ("before", "after", "is_other"),
    [((30, 10, 10, 30), (10, 30, 30, 10), True), ((30, 10, 10, 30), (21, 20, 20, 21), False)],
)
def test_an_association_reverses_where_its_sign_does(
    before: tuple[int, ...], after: tuple[int, ...], is_other: bool
) -> None:
    cells = np.array([(0, 0), (0, 1), (1, 0), (1, 1)])
    old, new = (np.repeat(np.arange(4), counts) for counts in (before, after))
    batch = Cells([old, new], cells[:, 0], list("aabb"), list("xyxy")).batch("t", None, 45)
    assert reverses(cells, batch) is is_other
    assert not reverses(np.array([(0, 0), (0, 1), (0, 2), (0, 3)]), batch)


def test_an_analysis_without_a_swapped_attribute_is_not_in_the_denominator(case: Case):
    swapped = case.realisation.spec.attributes.having("S")
    names = case.realisation.data.domain.names
    others = [name for j, name in enumerate(names) if j not in swapped]
    plan = plan_of(
        analyses=(AnalysisPlan("untouched", f"x ~ {others[0]}"), AnalysisPlan("touched", "x ~ A + B + C + D"))
    )
    (tally,) = (t for t in utility(_release(case, plan), plan).tallies if t.kind == "regression coefficients")
    assert tally.unchangeable == len(case.realisation.data.domain.attributes[names.index(others[0])].levels)
    assert tally.eligible == tally.compared - tally.unchangeable > 0


def test_percentages_weighted_and_not(case: Case):
    old, new = codes(case)
    weight = column(case, "w")
    domain = case.realisation.data.domain
    for weighted, by in ((False, np.ones(N)), (True, weight)):
        figures = [f for f in case.findings.utility.figures if f.weighted == weighted and f.of == "A × B"]
        assert figures
        for f in figures:
            level = [domain.attributes[j].levels.index(t.partition(": ")[2]) for j, t in enumerate((f.group, f.what))]
            here, there = ((c[:, :2] == level).all(axis=1) for c in (old, new))
            of, of_after = (c[:, 0] == level[0] for c in (old, new))
            assert f.before == pytest.approx(100 * by[here].sum() / by[of].sum())
            assert f.after == pytest.approx(100 * by[there].sum() / by[of_after].sum())
            assert (f.n, f.n_after) == (here.sum(), there.sum())
            assert (f.within, f.within_after) == (of.sum(), of_after.sum())
            assert f.relative == pytest.approx((f.after - f.before) / f.before)  # type: ignore[operator]
            assert f.flagged == (here.sum() > 45 and abs(f.relative) > 0.1)  # type: ignore[arg-type]


def test_associations_against_scipy(case: Case):
    old, new = codes(case)
    names = case.realisation.data.domain.names
    changes = [abs(row.after - row.before) for row in case.findings.utility.associations]  # type: ignore[operator]
    assert changes == sorted(changes, reverse=True) and changes[0] > changes[-1] >= 0
    for row in case.findings.utility.associations:
        i, j = (names.index(name) for name in row.of.split(" × "))
        for table, got in ((old, row.before), (new, row.after)):
            counts = np.zeros((table[:, i].max() + 1, table[:, j].max() + 1))
            np.add.at(counts, (table[:, i], table[:, j]), 1)
            phi2 = chi2_contingency(counts, correction=False).statistic / N
            wanted = np.sqrt(phi2 / (1 + phi2)) if row.what[-1] == "C" else np.sqrt(phi2 / (min(counts.shape) - 1))
            assert got == pytest.approx(wanted)


def test_a_coefficient_is_flagged_by_errors_by_change_or_by_its_standard_error(case: Case):
    rows = [figure for figure in case.findings.utility.figures if figure.kind == "coefficient"]
    assert [row.what for row in sorted(rows, key=lambda row: row.what)] == [
        "A: a1",
        "A: a2",
        "B: b1",
        "D: d1",
        "Intercept",
    ]
    for row in rows:
        assert row.errors is not None and row.se is not None and row.se_after is not None and row.relative is not None
        assert row.before is not None and row.after is not None
        by_change = abs(row.relative) > 0.1 and abs(row.before) > 1.96 * row.se
        assert row.flagged == (row.errors > 1.96 or by_change or not 1 / 1.1 <= row.se_after / row.se <= 1.1)


def test_among_many_attributes_only_unchanged_pairs_are_passed_over(case: Case, monkeypatch: pytest.MonkeyPatch):
    release = _release(case, case.study.plan)
    every = losses.associations(release, losses.pairs(release, range(4)))
    monkeypatch.setattr(losses, "_MANY", 2)
    some = losses.associations(release, losses.pairs(release, range(4)))
    old, new = codes(case)
    changed = {case.realisation.data.domain.names[j] for j in range(4) if (old[:, j] != new[:, j]).any()}
    assert set(some) == {row for row in every if changed.intersection(row.of.split(" × "))}
    assert 0 < len(some) < len(every)
    assert all(row.before == row.after for row in every if row not in some)


@pytest.mark.parametrize(
    ("before", "after", "n", "errors", "flagged"),
    [
        (0.5, 0.3, 103, 10 * (np.arctanh(0.5) - np.arctanh(0.3)), True),
        (0.5, 0.46, 103, 10 * (np.arctanh(0.5) - np.arctanh(0.46)), False),
        (0.5, 0.44, 103, 10 * (np.arctanh(0.5) - np.arctanh(0.44)), True),  # 12 % of its value
        (0.1, 0.05, 103, 10 * (np.arctanh(0.1) - np.arctanh(0.05)), False),  # within noise of 0
        (0.7, 0.7, 103, 0.0, False),
        (-0.2, 0.2, 19, 8 * np.arctanh(0.2), False),
    ],
)
def test_a_change_is_counted_in_standard_errors_of_fishers_z(
    before: float, after: float, n: int, errors: float, flagged: bool
) -> None:
    collection = Collection("correlation", "correlations", DEFAULT)
    arrays = (np.array([value], float) for value in (n, n, before, after, fisher_error(before, after, n)))
    collection.add(Batch("x × y", [""], ["Pearson's r"], *arrays), True)
    assert [figure.errors for figure in collection.figures] == ([pytest.approx(errors)] if errors else [])
    assert collection.tally.flagged == flagged and collection.tally.eligible == 1


def test_three_records_give_no_standard_error() -> None:
    assert np.isnan(fisher_error(0.5, 0.3, 3))
    assert fisher_error(0.6, 0.6, 67) == pytest.approx((1 - 0.36) / 8)


@pytest.mark.slow
def test_an_exchanged_attribute_that_nobody_uses_is_named(case: Case, tmp_path: Path) -> None:
    assert case.findings.utility.unused == ()
    space = SpacePlan(swap_sizes=(1,), rates=("0.0537", "0.2113"), replicates=12)
    parts: dict[str, Any] = {"keys": ("A", "D"), "analyse": ("A", "B"), "swap": ("D",), "analyses": (), "tables": ()}
    measures = ("small_cells", "hellinger[attributes=A+D]")
    found = case_of(tmp_path, plan_of(space=space, measures=measures, **parts)).findings
    assert found.utility.unused == ("D",)
    assert "No declared table or regression uses D" in text_of(pages(found))
