"""The members' bundle does not give the rate away: two attacks on it, coarser and coarser findings, and refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from engine.bundle import export, members
from engine.bundle.members import told_to_members
from engine.bundle.members_attack import FACTOR, attack_members_bundle
from engine.bundle.refusal import Refused
from engine.common.errors import EngineError
from engine.report.coarsening import coarsened
from engine.report.findings import Findings
from engine.report.map_facts import CandidateRow
from engine.report.member import write_findings
from engine.report.memo import memo
from engine.report.rate_facts import COUNTS, STEPS, Counts, Range, Step
from engine.report.rate_words import change_words, error_words, rate_words, relative_words
from engine.report.slides import slides
from engine.report.tables import sheets, tables_bytes
from tests.engine.bundle.members_case import N, Swept, swept

RATE = 0.1
AVERAGE = "at most 1.35 % of the unaltered records, on average over runs"


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swept]:
    made = swept(tmp_path_factory.mktemp("members"))
    yield made
    made.study.close()


def test_exact_figures_give_the_rate_away(case: Swept) -> None:
    found = attack_members_bundle(case.findings.to_json())
    low, high = found.both
    assert low < RATE < high < 2 * low and not found.leaves_enough
    assert found.estimate.rate == pytest.approx(RATE, abs=3 * found.estimate.error)


def test_the_bundle_leaves_a_factor_of_three_and_the_truth_in_it(case: Swept) -> None:
    told, attacks = told_to_members(case.findings)
    assert told.members_rate.step != "exact" and attacks["changes"] == told.members_rate.step
    again = attack_members_bundle(told.to_json())
    low, high = again.both
    assert again.leaves_enough and high >= FACTOR * low and low <= RATE <= high
    tried = list(attacks["tried"].values())
    assert tried[-1]["both"] == [round(low, 4), round(high, 4)]
    assert all(one["both"][1] < FACTOR * one["both"][0] for one in tried[:-1])


def test_each_step_tells_less(case: Swept) -> None:
    widths = []
    for step in STEPS:
        low, high = attack_members_bundle(coarsened(case.findings, step, "without groups").to_json()).changes
        assert low <= RATE <= high, step
        widths.append(high / low if low else 1e9)
    assert widths[-1] == 1e9 and widths[-2] > 3 > widths[1]


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
    r"|\.map\.(n_candidates|n_frontier|n_within|runs|failed|candidates\.share)|\.utility\.changes\.(relative|errors)\..*"
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


def test_memo_slides_and_workbook_hold_the_coarse_figures_alone(case: Swept) -> None:
    told, _ = told_to_members(case.findings)
    moved = [row for row in case.findings.utility.shares if row.before != row.after]
    secret = {f"{row.after:.2f} %" for row in moved} - {f"{row.before:.2f} %" for row in case.findings.utility.shares}
    for document in (memo(told), slides(told)):
        text = repr(document.sections)
        assert secret and not [word for word in secret if f" {word}" in text]
    assert tables_bytes(told) and "Changes" in sheets(told) and "Associations" not in sheets(told)
    header, rows = sheets(told)["Changes"]
    assert all(isinstance(row[header.index("errors")], str | None) for row in rows)


def test_the_memo_says_which_step_was_used_and_claims_no_more(case: Swept) -> None:
    told, _ = told_to_members(case.findings)
    first, second = rate_words(told)
    assert "the size of a change is told as a class" in first and "from the counts and from the changes" in first
    assert "at least three times the smallest" in first and "holds for this bundle alone" in second
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
    assert f"{row.released:g}, as if between" in text and "It is rounded to one digit" in text


def test_what_the_distance_says_of_the_records_moved_is_part_of_the_attack(case: Swept) -> None:
    told = coarsened(case.findings, "classes", "exact")
    distance = told.utility.distance
    assert distance.moved is None and distance.moved_low and distance.moved_low <= RATE
    low = attack_members_bundle(told.to_json()).counts[0]
    assert 0 < low <= distance.moved_low


def test_without_coarsening_the_export_is_refused(case: Swept, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    def as_it_is(findings: Findings, step: Step, counts: Counts) -> Findings:
        return replace(findings, members_rate=replace(findings.members_rate, step=step, counts=counts))

    label = f"{case.study.scenarios[0].label}/1"
    monkeypatch.setattr(members, "coarsened", as_it_is)
    with pytest.raises(Refused, match=r"within a factor of less than 3.*members_rate"):
        export(case.study, case.raw, label, tmp_path / "out", tier="member")
    assert not (tmp_path / "out").exists()


def test_a_writer_that_forgets_to_coarsen_is_refused(case: Swept, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    exact = replace(case.findings, members_rate=replace(case.findings.members_rate, attacked=True))
    monkeypatch.setattr(members, "write_findings", lambda told, folder: write_findings(exact, folder))
    with pytest.raises(Refused):
        export(case.study, case.raw, f"{case.study.scenarios[0].label}/1", tmp_path / "out", tier="member")


def test_members_who_are_told_get_exact_figures_and_the_rate(tmp_path) -> None:
    made = swept(tmp_path, members_rate="tell")
    told, attacks = told_to_members(made.findings)
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
    return replace(row, letter=letter, risk=risk, recommended=letter == "A", within_bound=within)


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
    digits = {counts: attack_members_bundle(coarsened(board, "flags", counts).to_json()).counts for counts in COUNTS}
    assert digits["two digits"][0] < low and digits["two digits"][1] > high
    assert digits["one digit"][0] < 0.02 and digits["one digit"][1] > 0.15


def test_ranges_in_words() -> None:
    assert relative_words(Range(0.05, 0.1)) == "5 to 10 %" and relative_words(Range(0.5, None)) == "50 % or more"
    assert relative_words(Range(0.0, 0.05)) == "less than 5 %" and relative_words(None) == "–"
    assert relative_words(Range(0.075, 0.125, True)) == "about 10 %" and error_words(Range(2.0, 5.0)) == "2 to 5"


def test_the_worst_losses_are_classes(case: Swept) -> None:
    told, _ = told_to_members(case.findings)
    worst = told.utility.changes[0]
    assert worst.flagged and "standard errors" in change_words(worst)
    keys = [(not row.flagged, -(row.errors.low if row.errors else 0)) for row in told.utility.changes]
    assert keys == sorted(keys)


def test_a_bundle_of_before_still_opens(case: Swept) -> None:
    board = json.loads(case.findings.to_json())
    del board["members_rate"], board["utility"]["changes"]
    old = Findings.from_json(json.dumps(board))
    assert old.members_rate.policy == "" and old.utility.changes == () and rate_words(old) == []
    with pytest.raises(EngineError):
        Findings.from_json(json.dumps({**board, "members_rate": {"policy": "hinted"}}))


def test_the_case_is_what_it_says(case: Swept) -> None:
    assert case.findings.design.n_records == N and case.findings.members_rate.policy == "withheld"
