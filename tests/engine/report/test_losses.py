"""Losses ranked over everything, flags by one rule, and tallies, counted again from records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.models.record_release import RecordRelease
from engine.plan import AnalysisPlan, DecisionPlan, Plan, SpacePlan, TablePlan, TolerancePlan
from engine.release.records import ReleasedTable
from engine.report import shares
from engine.report.alterable import Alterable
from engine.report.answers import largest_losses, summary
from engine.report.document import Document, Grid
from engine.report.facts import ShareRow, Tally, Tolerances
from engine.report.findings import Findings
from engine.report.flags import flags
from engine.report.loss_facts import Loss
from engine.report.loss_words import flagged_of, flags_words, place_words, worst_losses
from engine.report.losses import worst
from engine.report.memo import memo
from engine.report.page_one import page_one
from engine.report.tables import sheets
from engine.report.utility import utility
from tests.engine.report.conftest import MECHANISMS, Case, N, case_of, plan_of
from tests.engine.report.recount import codes, column

DEFAULT = Tolerances(0.1, 45, 1.96, 1.1)
Figure = tuple[int, float, float, float, float]
"""Records before and after, the figure before and after, and its standard error."""


def _percentage(before: np.ndarray, after: np.ndarray, weights: np.ndarray, min_n: int) -> Figure | None:
    """A percentage of records (masks), in proportions, with the error of a ratio of weighted totals."""
    n, n_after = int(before.sum()), int(after.sum())
    if not n and not n_after:
        return None
    old, new = (float(weights[mask].sum() / weights.sum()) for mask in (before, after))

    def error(mask: np.ndarray, share: float) -> float:
        return float(np.sqrt((weights**2 * (mask - share) ** 2).sum()) / weights.sum())

    return n, n_after, old, new, error(before, old) if n > min_n else max(error(before, old), error(after, new))


def _mean(values: np.ndarray, before: np.ndarray, after: np.ndarray, weights: np.ndarray) -> Figure | None:
    if not before.any() or not after.any():
        return None
    old, new = (float(np.average(values[mask], weights=weights[mask])) for mask in (before, after))
    n, residuals = int(before.sum()), weights[before] * (values[before] - old)
    error = np.sqrt((residuals**2).sum() * n / (n - 1)) / weights[before].sum() if n > 1 else np.nan
    return n, int(after.sum()), old, new, float(error)


def _tally(kind: str, figures: list[tuple[Figure, bool]], at: Tolerances) -> Tally:
    """The rule in plain words once more: each figure with whether the release can change it."""
    counts = dict.fromkeys(("eligible", "flagged", "unchangeable", "by_change", "by_errors"), 0)
    for (n, n_after, before, after, error), can_change in figures:
        if not can_change:
            counts["unchangeable"] += 1
            assert after == pytest.approx(before, abs=1e-12)
            continue
        stands_out = max(n, n_after) > at.min_n and not (error > 0 and abs(before) <= at.se * error)
        counts["eligible"] += bool(error > 0 or stands_out)
        by_change = stands_out and before != 0 and abs(after - before) > at.change * abs(before)
        by_errors = bool(error > 0 and abs(after - before) > at.se * error)
        counts["by_change"] += by_change
        counts["by_errors"] += by_errors
        counts["flagged"] += by_change or by_errors
    return Tally(kind, len(figures), **counts)


def _cells(table: np.ndarray, attributes: tuple[int, ...], both: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """Masks of the records in every cell that anybody is in, before or after."""
    half = len(both) // 2
    for cell in np.unique(both[:, attributes], axis=0):
        mask = (both[:, attributes] == cell).all(axis=1)
        yield mask[:half], mask[half:]


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
        "cells of declared tables": [(0, 1)],
    }
    for weighted, weights in ((False, ones), (True, w)):
        prefix = "weighted " if weighted else ""
        for kind, tables in kinds.items():
            figures = [
                (figure, can_change(set(table), weighted))
                for table in tables
                for before, after in _cells(old, table, both)
                if (figure := _percentage(before, after, weights, at.min_n)) is not None
            ]
            tallies[prefix + kind] = _tally(prefix + kind, figures, at)
        figures = []
        for name in "xy":
            values, everybody = column(case, name), np.ones(N, bool)
            overall = _mean(values, everybody, everybody, weights)
            assert overall is not None
            figures.append((overall, False))
            for j in range(4):
                for before, after in _cells(old, (j,), both):
                    if (figure := _mean(values, before, after, weights)) is not None:
                        figures.append((figure, can_change({j}, True)))
        tallies[prefix + "means"] = _tally(prefix + "means", figures, at)
    return tallies


@pytest.fixture(scope="module")
def strict(case: Case) -> Case:
    """The same release under tolerances that few figures meet."""
    plan = replace(case.study.plan, tolerances=TolerancePlan("0.02", 20, "0.2", "1.01"))
    use = utility(_release(case, plan), plan, 3)
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
    coefficients, rows = tallies["regression coefficients"], release.findings.utility.coefficients
    assert coefficients.compared == coefficients.eligible == len(rows) and coefficients.unchangeable == 0
    assert coefficients.flagged == sum(row.flagged for row in rows)
    if which == "strict":
        flagged, by_change, by_errors = (
            sum(getattr(t, name) for t in recounted.values()) for name in ("flagged", "by_change", "by_errors")
        )
        assert 0 < by_change < flagged and 0 < by_errors < flagged


def test_a_table_has_as_many_cells_wherever_they_are_counted(case: Case):
    """Its percentages, weighted and not, its cells as a declared table, and its rows."""
    use = case.findings.utility
    tallies = {tally.kind: tally.compared for tally in use.tallies}
    for kind in ("percentages of one attribute", "percentages of two attributes", "cells of declared tables", "means"):
        assert tallies[kind] == tallies[f"weighted {kind}"]
    (table,) = use.tables
    shown = [row for row in use.shares if row.table == "A × B" and not row.weighted]
    assert table.cells == len(table.rows) == len(shown) == tallies["cells of declared tables"]
    for cell in table.rows:
        row = next(r for r in shown if r.level == ", ".join(cell.levels))
        assert (cell.before, cell.flagged) == (row.n, row.flagged)
        assert cell.errors == pytest.approx(row.errors) and cell.relative == pytest.approx(row.relative)


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
    changes = flags(before, after, error, np.array([True, True, True, True, True, False]), DEFAULT)
    assert changes.by_errors.tolist() == [True, False, False, False, True, False]
    # the second does not stand out from 0; the fourth is 49 times itself and still next to nothing
    assert changes.by_change.tolist() == [False, False, True, False, False, False]
    assert changes.asked.tolist() == [True, True, True, True, True, False]
    few = flags(before, after, error, False, DEFAULT)
    assert not few.by_change.any() and (few.by_errors == changes.by_errors).all()


def test_a_cell_with_next_to_nobody_does_not_divide_by_next_to_nothing(case: Case):
    for row in case.findings.utility.shares:
        if row.n == 0 and not row.weighted:
            n_after, share = row.after / 100 * N, row.after / 100
            assert row.errors == pytest.approx(n_after / np.sqrt(N * share * (1 - share)))
            assert row.relative is None


def test_the_worst_loss_is_the_worst_of_the_whole_workbook(case: Case):
    """Whatever kind it is: of coefficients alone the worst would be another one."""
    use = case.findings.utility
    everything = [row.errors or 0 for row in use.shares] + [row.errors or 0 for row in use.means]
    everything += [row.shift or 0 for row in use.coefficients]
    assert use.losses[0].errors == pytest.approx(max(everything))
    errors = [loss.errors or 0 for loss in use.losses]
    assert errors == sorted(errors, reverse=True)
    coefficients = max(row.shift or 0 for row in use.coefficients)
    assert max(everything) > coefficients
    first = largest_losses(case.findings)[0]
    assert first.startswith(place_words(use.losses[0].of, use.losses[0].what))
    assert any(f"The largest loss: {first}" in sentence for sentence in summary(case.findings))


def _loss(of: str, errors: float | None, lost: str = "", kind: str = "coefficient") -> Loss:
    return Loss(kind, of, "a", False, 9, 1.0, 2.0, 1.0, errors, True, lost)  # type: ignore[arg-type]


def test_of_each_table_column_and_analysis_the_worst_figure_is_told(case: Case):
    lost = (_loss("pay", None, "separated"), _loss("A × B", 9.0, kind="percentage of two attributes"))
    losses = (
        *lost,
        _loss("A × B", 8.0, kind="percentage of two attributes"),
        _loss("x", 7.0, kind="mean"),
        _loss("x", 6.0),
    )
    told = worst(replace(case.findings.utility, losses=losses), 4)
    assert [(loss.of, loss.errors) for loss in told] == [("pay", None), ("A × B", 9.0), ("x", 7.0), ("x", 6.0)]
    sentences = largest_losses(replace(case.findings, utility=replace(case.findings.utility, losses=losses)))
    assert len(sentences) == 3 and "can no longer be estimated (separated)" in sentences[0]
    nothing = replace(case.findings.utility, losses=(), shares=(), means=(), coefficients=())
    assert not largest_losses(replace(case.findings, utility=nothing))


def test_a_figure_of_the_whole_recommendation_counts_what_can_change(case: Case):
    flagged, eligible = flagged_of(case.findings.utility)
    tallies = case.findings.utility.tallies
    assert flagged == sum(t.flagged for t in tallies) and eligible == sum(t.eligible for t in tallies)
    assert all(t.flagged <= t.eligible <= t.compared - t.unchangeable for t in tallies)
    assert any(f"Of {eligible:,} figures that users would compute" in sentence for sentence in summary(case.findings))


def test_larger_tables_are_ranked_and_smaller_ones_not_twice(case: Case):
    plan = plan_of(tables=(TablePlan("all four", tuple("ABCD")), TablePlan("A by B", ("A", "B"))))
    use = utility(_release(case, plan), plan, 3)
    of_tables = {loss.of for loss in use.losses if loss.kind == "cell of a declared table"}
    assert of_tables == {"all four"}
    (tally,) = (t for t in use.tallies if t.kind == "cells of declared tables")
    assert tally.compared == sum(table.cells for table in use.tables)


def test_an_analysis_without_a_swapped_attribute_is_not_in_the_denominator(case: Case):
    swapped = case.realisation.spec.attributes.having("S")
    names = case.realisation.data.domain.names
    others = [name for j, name in enumerate(names) if j not in swapped]
    plan = plan_of(
        analyses=(AnalysisPlan("untouched", f"x ~ {others[0]}"), AnalysisPlan("touched", "x ~ A + B + C + D"))
    )
    (tally,) = (t for t in utility(_release(case, plan), plan, 3).tallies if t.kind == "regression coefficients")
    assert tally.unchangeable == len(case.realisation.data.domain.attributes[names.index(others[0])].levels)
    assert tally.eligible == tally.compared - tally.unchangeable > 0


def test_what_appears_where_nobody_was_is_in_the_workbook_too():
    """Its relative change is of nothing, and yet it may be the worst loss: it is not cut off behind the others."""
    few = [ShareRow("A × B", f"c{k}", False, 500, 1.0, 1.0 + k / 1000, k / 1000, 0.1, False) for k in range(300)]
    new = ShareRow("A × B", "none before", False, 0, 0.0, 1.13, None, 12.0, True)
    shown = shares._largest([*few, new], 45)
    assert new in shown and len(shown) <= shares.MOST + shares.MOST // 4
    assert [row.level for row in shown[:2]] == ["c299", "c298"]


def test_a_bundle_that_holds_no_ranking_is_ranked_by_its_rows(case: Case):
    """Earlier versions wrote none, and to say that nothing changes would be wrong."""
    plain = json.loads(case.findings.to_json())
    for name in ("losses", "models", "coefficient_runs", "analysis_runs"):
        del plain["utility"][name]
    for name in ("bound", "within_bound", "share_after"):
        del plain["exposure"][name]
    for tally in plain["utility"]["tallies"]:
        for name in ("unchangeable", "by_change", "by_errors"):
            del tally[name]
    old = Findings.from_json(json.dumps(plain))
    told = worst(old.utility)
    assert [loss.errors for loss in told] == [loss.errors for loss in worst(case.findings.utility)]
    assert told[0].what == case.findings.utility.losses[0].what
    assert memo(old).sections and sheets(old)


def test_a_coefficient_is_told_with_what_its_model_predicts(case: Case):
    """Without it the sign says nothing."""
    use = case.findings.utility
    loss = next(loss for loss in use.losses if loss.kind == "coefficient")
    name = f"pay (of the mean of x), {loss.what}: "
    (told,) = worst_losses(replace(use, losses=(loss,)))
    assert told.startswith(name)


def test_the_sentence_on_flags_adds_up_as_its_table_does(case: Case) -> None:
    tallies = (
        Tally("percentages of one attribute", 12, 0, 0, 12),
        Tally("percentages of two attributes", 60, 32, 4, 28),
    )
    assert flags_words(replace(case.findings.utility, tallies=tallies)) == (
        "4 of 32 percentages of two attributes are beyond the tolerances. Of 72 figures that users would compute 40 "
        "cannot change, among them all percentages of one attribute, and 32 are judged."
    )
    header, rows = sheets(case.findings)["Flags"]
    assert header[:6] == ["kind of figure", "all", "cannot change", "no standard error", "judged", "flagged"]
    assert rows and all(row[1] == sum(row[2:5]) and min(row[1:]) >= 0 for row in rows)
    assert "flagged" not in sheets(case.findings)["Associations"][0]


def test_page_one_tells_how_many_figures_are_beyond_the_tolerances_and_names_those_alone(case: Case) -> None:
    utility = case.findings.utility
    flagged, judged = flagged_of(utility)
    assert 0 < flagged < judged
    page = dict(page_one(case.findings).rows)["Worst losses"]
    assert page.startswith(f"Of {judged} figures that users would compute and that the release can change, {flagged} ")
    assert "within the tolerances" not in page
    named = [loss for loss in worst(utility, len(utility.losses)) if loss.flagged][:3]
    assert page.count(" becomes ") == len(named)
    calm = replace(
        utility,
        losses=tuple(replace(loss, flagged=False) for loss in utility.losses),
        tallies=tuple(replace(tally, flagged=0) for tally in utility.tallies),
    )
    page = dict(page_one(replace(case.findings, utility=calm)).rows)["Worst losses"]
    assert "none changes by more than the tolerances. The largest change: " in page
    assert page.count(" becomes ") == 1 and "standard errors, within the tolerances. The tolerances are" in page


def tables_of(document: Document) -> list[Grid]:
    return [part for section in document.sections for part in section.elements if isinstance(part, Grid)]
