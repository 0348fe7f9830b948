"""The members' bundle does not give the rate away: two attacks on it, coarser and coarser findings, and refusals."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from engine.bundle import export, members
from engine.bundle.members import told_to_members
from engine.bundle.members_attack import FACTOR, attack_members_bundle
from engine.bundle.members_evidence import evidence
from engine.bundle.refusal import AttackSucceeded, Refused
from engine.common.errors import EngineError
from engine.models.rate_likelihood import rate_interval
from engine.report.coarsening import coarsened
from engine.report.facts import CoefficientRow, PairRow
from engine.report.findings import Findings
from engine.report.map_facts import CandidateRow, ReleasedRun, Spread
from engine.report.member import write_findings
from engine.report.memo import memo
from engine.report.rate_facts import AT_LEAST_ONE, COUNTS, STEPS, Counts, Range, Step
from engine.report.rate_words import change_words, error_words, rate_words, relative_words
from engine.report.redaction import COUNT_TITLE, RECORDS
from engine.report.slides import slides
from engine.report.tables import sheets, tables_bytes
from engine.study.decision_log import entries
from tests.engine.bundle.members_case import N, Swept, swept

pytestmark = pytest.mark.slow  # whole bundles are made

RATE = 0.1
AVERAGE = "at most 1.35 % of the unaltered records, on average over runs"


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swept]:
    made = swept(tmp_path_factory.mktemp("members"))
    yield made
    made.study.close()


Told = tuple[Findings, dict[str, Any]]


@pytest.fixture(scope="module")
def told_case(case: Swept) -> Told:
    """What members read of the case, and what the attacks found."""
    return told_to_members(case.findings, case.share)


def test_exact_figures_give_the_rate_away(case: Swept) -> None:
    found = attack_members_bundle(case.findings.to_json())
    low, high = found.both
    assert low < RATE < high < 2 * low and not found.leaves_enough
    assert found.estimate.rate == pytest.approx(RATE, abs=3 * found.estimate.error)


def test_the_bundle_leaves_a_factor_of_three_and_the_truth_in_it(case: Swept, told_case: Told) -> None:
    told, attacks = told_case
    assert told.members_rate.step != "exact" and attacks["changes"] == told.members_rate.step
    again = attack_members_bundle(told.to_json())
    low, high = again.both
    assert again.leaves_enough and high >= FACTOR * low and low <= RATE <= high
    tried = list(attacks["tried"].values())
    assert tried[-1]["both"] == [round(low, 4), round(high, 4)]
    assert all(one["both"][1] < FACTOR * one["both"][0] for one in tried[:-1])


def test_an_attack_that_is_misled_lets_no_step_pass(case: Swept) -> None:
    """An interval that is wide enough, but of other rates: who exports knows the true one, and tells nobody."""
    attacked = replace(case.findings, members_rate=replace(case.findings.members_rate, attacked=True))
    for share in (0.005, 0.7):
        told, attacks = told_to_members(case.findings, share)
        low, high = attack_members_bundle(told.to_json()).both
        assert low <= share <= high and high >= FACTOR * low
        assert told == coarsened(attacked, attacks["changes"], attacks["counts"])
        wide = [one["both"] for one in attacks["tried"].values() if one["both"][1] >= FACTOR * one["both"][0]]
        assert len(wide) > 1 and [low <= share <= high for low, high in wide] == [False] * (len(wide) - 1) + [True]


def test_each_step_tells_less(case: Swept) -> None:
    widths = []
    for step in STEPS:
        low, high = attack_members_bundle(coarsened(case.findings, step, "without groups").to_json()).changes
        assert low <= RATE <= high, step
        widths.append(high / low if low else 1e9)
    assert widths[-1] > FACTOR > widths[1]


def _leaves(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, f"{where}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, where)
    else:
        yield where, value


ORIGINAL = re.compile(
    r"\.(format|cover|design|threat|approved|publish|certificate|members_rate|checks)\b.*"
    r"|.*\.(before|n|people|small_before|matches_before|ones_before|twos_before|cells_before|fewest|nothing_risk|nothing_utility)"
    r"|\.utility\.(tolerances|tallies|models|distance\.small_cells)\b.*|\.utility\.shares\..*|\.exposure\.bound"
    r"|\.map\.(n_candidates|n_frontier|n_within|runs|failed|candidates\.(share|shared_runs|runs|within))|\.utility\.changes\.(relative|errors)\..*"
    r"|\.recognised\.(fewest|.*\.(small|alone|matches))"
    r"|\.recommendation\.run\.(place|of|asked|within|low|high|fresh|fresh_within|fresh_low|fresh_high)|.*_runs\.(runs|lost|coefficients)"
)
"""Figures that say nothing of the release, or are classes."""


def test_no_exact_figure_of_the_release_is_left(case: Swept) -> None:
    """Whatever is added to findings later is coarse too, or listed above as telling nothing of the release."""
    told = coarsened(case.findings, "classes without figures", "one digit")
    numbers = [(where, value) for where, value in _leaves(json.loads(told.to_json())) if isinstance(value, int | float)]
    exact = [(w, v) for w, v in numbers if not isinstance(v, bool) and not ORIGINAL.fullmatch(w) and _digits(v) > 1]
    assert exact == []
    assert all(row.before == row.after for row in told.utility.shares)


def _digits(value: float) -> int:
    return len(f"{abs(value):.12e}".partition("e")[0].replace(".", "").rstrip("0"))


def test_memo_slides_and_workbook_hold_the_coarse_figures_alone(case: Swept, told_case: Told) -> None:
    told, _ = told_case
    moved = [row for row in case.findings.utility.shares if row.before != row.after]
    secret = {f"{row.after:.2f} %" for row in moved} - {f"{row.before:.2f} %" for row in case.findings.utility.shares}
    for document in (memo(told), slides(told)):
        text = repr(document.sections)
        assert secret and not [word for word in secret if f" {word}" in text]
    assert tables_bytes(told) and "Changes" in sheets(told) and "Associations" not in sheets(told)
    header, rows = sheets(told)["Changes"]
    assert all(isinstance(row[header.index("errors")], str | None) for row in rows)


def test_the_memo_says_which_step_was_used_and_claims_no_more(case: Swept, told_case: Told) -> None:
    told, _ = told_case
    first, second = rate_words(told)
    assert "worst three" in first
    assert "from the counts, those of single runs and their averages among them, and from the changes" in first
    assert "at least three times the" in first and "for these pages and the files beside them alone" in second
    assert first in repr(memo(told).sections)


def test_the_distance_is_told_as_coarsely_in_section_five_as_on_the_map(case: Swept) -> None:
    told = coarsened(case.findings, "classes", "exact")
    assert told.map.utility_title == "Hellinger distance"
    (row,) = (row for row in told.measures if row.title == "Hellinger distance")
    assert row.released == told.utility.distance.hellinger == told.map.spreads[1].released
    assert row.mean == next(c.utility for c in told.map.candidates if c.recommended)
    assert all(value and _digits(value) == 1 for value in (row.released, row.mean))
    others = [other for other in told.measures if other.kind == "utility" and other is not row]
    assert others and all(other.released is None and other.mean is None for other in others)
    text = " ".join(repr(memo(told).sections).split())
    assert "cell in common). It is rounded to one significant digit" in text and f"{row.released:g}" in text
    some = replace(told.design, attributes=tuple(replace(a, analysed=False) for a in told.design.attributes))
    text = " ".join(repr(memo(replace(told, design=some)).sections).split())
    assert f"attributes is {row.released:g}. It is rounded to one significant digit" in text


def test_what_the_distance_says_of_the_records_moved_is_part_of_the_attack(case: Swept) -> None:
    told = coarsened(case.findings, "classes", "exact")
    distance = told.utility.distance
    assert distance.moved is None and distance.moved_low and distance.moved_low <= RATE
    low = attack_members_bundle(told.to_json()).counts[0]
    assert distance.moved_low - 0.0005 <= low <= RATE


def test_without_coarsening_the_export_is_refused(case: Swept, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    def as_it_is(findings: Findings, step: Step, counts: Counts) -> Findings:
        return replace(findings, members_rate=replace(findings.members_rate, step=step, counts=counts))

    label = f"{case.study.scenarios[0].label}/1"
    monkeypatch.setattr(members, "coarsened", as_it_is)
    with pytest.raises(Refused, match=r"within a factor of less than 3.*members_rate"):
        export(case.study, case.raw, label, tmp_path / "out", tier="member")
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("without_pdf")
def test_a_writer_that_forgets_to_coarsen_is_refused(case: Swept, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    exact = replace(case.findings, members_rate=replace(case.findings.members_rate, attacked=True))
    monkeypatch.setattr(members, "write_findings", lambda told, folder: write_findings(exact, folder))
    with pytest.raises(Refused):
        export(case.study, case.raw, f"{case.study.scenarios[0].label}/1", tmp_path / "out", tier="member")


@pytest.mark.usefixtures("without_pdf")
def test_members_who_are_told_get_exact_figures_and_the_rate(tmp_path) -> None:
    made = swept(tmp_path, members_rate="tell")
    told, attacks = told_to_members(made.findings, made.share)
    assert told == made.findings and attacks == {"members_rate": "tell"} and not told.utility.changes
    assert rate_words(told) == [
        "The plan asked for a rate of 10 % and 10 % of the records were changed; the plan lets the members of the "
        "board know it."
    ]
    text = repr(memo(told).sections)
    assert rate_words(told)[0] in text and "is withheld from the members" not in text
    folder = export(made.study, made.raw, f"{made.study.scenarios[0].label}/1", tmp_path / "out", tier="member")
    assert json.loads((folder / "board.json").read_text())["members_rate"]["share"] == 0.1
    made.study.close()


def _candidate(row: CandidateRow, letter: str, risk: float, within: bool) -> CandidateRow:
    return replace(row, letter=letter, risk=risk, recommended=letter == "A", within_bound=within, within=None)


def test_counts_and_flags_bound_the_rate_from_both_sides(case: Swept) -> None:
    """With e unaltered exposed records a share of at most 1.35 % says rate <= 1 - e / (.0135 n); beyond it the other
    side, whoever else has the same extent."""
    board, n = case.findings, 48_842
    rows = tuple(_candidate(board.map.candidates[0], *row) for row in (("A", 566, True), ("B", 594, False)))
    map_ = replace(
        board.map,
        candidates=rows,
        nothing_risk=None,
        bound="at most 1.35 % of the unaltered records, on average over runs",
    )
    exposure = replace(board.exposure, groups=())
    empty = replace(board.utility, distance=replace(board.utility.distance, moved=None))
    board = replace(board, map=map_, exposure=exposure, utility=empty, design=replace(board.design, n_records=n))
    low, high = attack_members_bundle(board.to_json()).counts
    assert (round(low, 3), round(high, 3)) == (0.099, 0.142)
    told = replace(rows[1], risk=594.0, risk_se=2.0, runs=100, within=50)
    neighbour = replace(board, map=replace(map_, candidates=(rows[0], told)))
    assert attack_members_bundle(neighbour.to_json()).counts[1] < high, "half of a neighbour's runs meet the bound"
    digits = {counts: attack_members_bundle(coarsened(board, "flags", counts).to_json()).counts for counts in COUNTS}
    assert digits["two digits"][0] < low and digits["two digits"][1] > high
    assert digits["one digit"][0] < 0.02 and digits["one digit"][1] > 0.15


def test_ranges_in_words() -> None:
    assert relative_words(Range(0.05, 0.1)) == "5 to 10 %" and relative_words(Range(0.5, None)) == "50 % or more"
    assert relative_words(Range(0.0, 0.05)) == "less than 5 %" and relative_words(None) == "–"
    assert relative_words(Range(0.075, 0.125, True)) == "about 10 %" and error_words(Range(2.0, 5.0)) == "2 to 5"


def test_the_worst_losses_are_classes(case: Swept) -> None:
    told = coarsened(case.findings, "classes without figures")
    worst = told.utility.changes[0]
    assert worst.flagged and "standard errors" in change_words(worst)
    keys = [(not row.flagged, -(row.errors.low if row.errors else 0)) for row in told.utility.changes]
    assert keys == sorted(keys)


def test_classes_of_a_small_table_tell_the_rate(case: Swept) -> None:
    """One-way percentages leave so few tables that the classes of their cells give the rate within a factor of two;
    where only tables are named they leave more than three."""
    classes, flags, tables = (
        attack_members_bundle(coarsened(case.findings, step, "without groups").to_json()).changes
        for step in ("classes without figures", "flags", "tables")
    )
    assert classes[0] <= RATE <= classes[1] < 2 * classes[0]
    assert flags[1] > FACTOR * flags[0] and tables[0] < flags[0]


def test_where_only_tables_are_named_each_stands_once(case: Swept) -> None:
    told = coarsened(case.findings, "tables")
    flagged = {row.table for row in coarsened(case.findings, "flags").utility.changes if row.flagged}
    rows = told.utility.changes
    assert {row.table for row in rows} == flagged and len({(row.kind, row.table) for row in rows}) == len(rows)
    assert all(row.level == AT_LEAST_ONE and row.relative is row.errors is row.before is None for row in rows)
    assert told.utility.tallies == case.findings.utility.tallies


def _run(board: Findings, **figures: object) -> Findings:
    """With a recommended run like that of the README's example."""
    run = ReleasedRun(1, 20, COUNT_TITLE, RECORDS, 0.0, None, 3.0, 0.9, 18, None, None)
    return replace(board, recommendation=replace(board.recommendation, run=replace(run, **figures)))  # type: ignore[arg-type]


def _bare(board: Findings) -> Findings:
    """1,841 records, a bound of 0.2 %, and nothing else that bounds the rate."""
    row = replace(board.map.candidates[0], risk=None, utility=None)
    map_ = replace(
        board.map, candidates=(row,), spreads=(), bound="at most 0.2 % of the unaltered records, in 90 % of runs"
    )
    exposure = replace(board.exposure, unaltered_after=0, small_after=0, bound=None, within_bound=None, groups=())
    exposure = replace(exposure, new_after=None)
    empty = replace(board.utility, distance=replace(board.utility.distance, moved=None, moved_low=None))
    design = replace(board.design, n_records=1841)
    recommendation = replace(board.recommendation, run=None)
    return replace(board, map=map_, exposure=exposure, utility=empty, design=design, recommendation=recommendation)


def test_how_many_runs_meet_the_bound_tells_how_many_records_are_unaltered(case: Swept) -> None:
    """Nine tenths of the runs do not exceed 3, and 18 of 20 meet a bound of 0.2 %: so 3 do, and 1,500 are unaltered."""
    board = _bare(case.findings)
    low, high = attack_members_bundle(_run(board).to_json()).counts
    assert low == 0 and high == pytest.approx(1 - 3 / 0.002 / 1841)
    low, high = attack_members_bundle(_run(board, within=17).to_json()).counts
    assert high == 1 and low == pytest.approx(1 - 3 / 0.002 / 1841)
    spread = Spread(COUNT_TITLE, 0.0, 2.2, 3.5, 0.0)
    spreads = replace(board, map=replace(board.map, spreads=(spread,)))
    low, high = attack_members_bundle(_run(spreads).to_json()).counts
    assert low == pytest.approx(1 - 3.5 / 0.002 / 1841) and high == pytest.approx(1 - 3 / 0.002 / 1841)


def test_the_share_of_runs_within_the_bound_tells_how_many_records_are_unaltered(case: Swept) -> None:
    """Counts of 560 give or take 20, of which ten in twelve meet a bound of 1.35 %: 10 % of 48,842 are altered."""
    board = _bare(case.findings)
    row = replace(board.map.candidates[0], risk_se=20 / math.sqrt(200))
    map_ = replace(board.map, candidates=(row,), bound="at most 1.35 % of the unaltered records, in 80 % of runs")
    board = replace(board, map=map_, design=replace(board.design, n_records=48_842))
    few = {"mean": 574.0, "quantile": None, "of": 200, "within": 167, "low": 0.776, "high": 0.884}
    low, high = attack_members_bundle(_run(board, **few).to_json()).counts
    assert 0.08 < low < RATE < high < 0.12
    low, high = attack_members_bundle(
        _run(coarsened(board, "exact", "one digit"), **few | {"mean": 600}).to_json()
    ).counts
    assert low == 0 and high > 0.13


def test_exposed_records_bound_the_unaltered_and_the_altered_ones(case: Swept) -> None:
    """1,500 unaltered exposed records are no more than all unaltered ones; 41 other exposed records are altered."""
    board = _bare(case.findings)
    board = replace(board, exposure=replace(board.exposure, unaltered_after=1500, small_after=1541))
    low, high = attack_members_bundle(board.to_json()).counts
    assert low == pytest.approx(41 / 1841) and high == pytest.approx(1 - 1500 / 1841)


def test_a_hellinger_distance_on_the_map_bounds_the_rate(case: Swept) -> None:
    board, row = _bare(case.findings), case.findings.map.candidates[0]
    map_ = replace(board.map, candidates=(replace(row, utility=0.3, risk=None),), utility_title="Hellinger distance")
    assert attack_members_bundle(replace(board, map=map_).to_json()).counts == (pytest.approx(0.295**2), 1.0)
    of_two = replace(map_, utility_title="Hellinger distance of two-way tables")
    assert attack_members_bundle(replace(board, map=of_two).to_json()).counts == (0.0, 1.0)


def test_coefficients_and_correlations_are_attacked(case: Swept) -> None:
    """Both fall by the rate over the chance that two records differ: a quarter of 8,000 have the rarer group."""
    pull = 1 / (2 * 0.25 * 0.75)
    fallen = 0.5 * (1 - 0.1 * pull)
    coefficient = CoefficientRow("pay", "group[g1]", 0.5, 0.01, fallen, 0.01, -13.0, 1.0, True, "")
    board = replace(case.findings, utility=replace(case.findings.utility, coefficients=(coefficient,), correlations=()))
    (of_coefficient,) = evidence(board)["coefficients"]
    assert rate_interval([of_coefficient])[0] < RATE < rate_interval([of_coefficient])[1] < 2 * RATE
    pair = PairRow("group", "pay", "Pearson's r", 0.5, fallen)
    (of_pair,) = evidence(replace(board, utility=replace(board.utility, correlations=(pair,))))["correlations"]
    assert rate_interval([of_pair])[0] < RATE < rate_interval([of_pair])[1] < 2 * RATE
    classes = coarsened(replace(board, utility=replace(board.utility, correlations=(pair,))), "classes")
    assert evidence(classes)["coefficients"] and evidence(classes)["correlations"]


def test_a_bundle_of_before_still_opens(case: Swept) -> None:
    board = json.loads(case.findings.to_json())
    del board["members_rate"], board["utility"]["changes"]
    old = Findings.from_json(json.dumps(board))
    assert old.members_rate.policy == "" and old.utility.changes == () and rate_words(old) == []
    with pytest.raises(EngineError):
        Findings.from_json(json.dumps({**board, "members_rate": {"policy": "hinted"}}))


def test_the_case_is_what_it_says(case: Swept) -> None:
    assert case.findings.design.n_records == N and case.findings.members_rate.policy == "withheld"


@pytest.mark.usefixtures("without_pdf")
def test_a_members_bundle_alone_is_attacked_as_with_the_others(case: Swept, tmp_path, told_case: Told) -> None:
    """The log of the study says what was found, since no analyst's bundle beside it does."""
    label = f"{case.study.scenarios[0].label}/1"
    export(case.study, case.raw, label, tmp_path / "out", tier="member")
    detail = entries(case.study)[-1].detail
    told, attacks = told_case
    assert detail["members"]["changes"] == told.members_rate.step == attacks["changes"]
    assert detail["members"]["interval"] == list(attacks["tried"].values())[-1]["both"]


def test_a_release_that_an_attack_undoes_makes_no_bundle_for_members(
    case: Swept, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    def undone(source: object) -> dict[str, Any]:
        raise AttackSucceeded("recodes", "a column tells", "drop it")

    monkeypatch.setattr(sys.modules["engine.bundle.export"], "attack", undone)
    with pytest.raises(AttackSucceeded):
        export(case.study, case.raw, f"{case.study.scenarios[0].label}/1", tmp_path / "out", tier="member")
    assert not (tmp_path / "out").exists()
