"""Counts of exposed records, figures of measures and the map, to fewer digits, or withheld."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from engine.report.parameters import ROLE_WORDS
from engine.report.rate_facts import COUNTS, STEPS, Counts, Step
from engine.report.redaction import digits

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from engine.report.facts import Exposure, MeasureRow
    from engine.report.findings import Findings
    from engine.report.map_facts import CandidateRow, Map, Recommendation, Spread

PLACES: dict[Counts, int | None] = {
    "exact": None, "two digits": 2, "one digit": 1, "without groups": 1, "without runs": 1, "withheld": 0,
}  # fmt: skip
"""Significant digits of counts of the release; 0 of those that are withheld."""


def rounded(value: float | None, places: int | None) -> float | None:
    """To so many significant digits, as it is where that is None, withheld where it is 0; None stays."""
    if value is None or places is None:
        return value
    return float(digits(np.array(value), places)) if places else None


def count(value: int, places: int) -> int:
    """A count to so many significant digits, one at least."""
    return round(float(digits(np.array(value), places)))


Row = TypeVar("Row", bound="DataclassInstance")


def with_rounded(row: Row, names: Iterable[str], places: int | None) -> Row:
    """A record of which the figures with these names, those that it has, are :func:`rounded`."""
    wanted = set(names)
    return replace(row, **{f.name: rounded(getattr(row, f.name), places) for f in fields(row) if f.name in wanted})


def is_at_least(counts: Counts, least: Counts) -> bool:
    """Whether counts are as coarse as some others, or coarser."""
    return COUNTS.index(counts) >= COUNTS.index(least)


def with_coarse_counts(findings: Findings, counts: Counts, step: Step) -> Findings:
    """Findings with counts and risks to fewer digits, and with distances as coarse as the step of changes."""
    risk, level = PLACES[counts], STEPS.index(step)
    utility = None if level == 0 else 2 if step == "two digits" else 0 if step == STEPS[-1] else 1
    is_told = level < STEPS.index("classes")
    board_map = _map(findings.map, risk, utility)
    recommendation = _recommendation(findings.recommendation, risk)
    if is_at_least(counts, "without runs"):
        # how many runs meet the bound, beside their counts, tells how many records are unaltered: of other candidates
        # it is withheld, of the recommended one the extreme counts are
        board_map = replace(
            board_map,
            spreads=tuple(with_rounded(spread, ("least", "most"), 0) for spread in board_map.spreads),
            candidates=tuple(row if row.recommended else replace(row, within=None) for row in board_map.candidates),
        )
        if recommendation.run is not None:
            recommendation = replace(recommendation, run=replace(recommendation.run, quantile=None))
    return replace(
        findings,
        measures=tuple(_measure(row, risk if row.kind == "risk" else utility, is_told) for row in findings.measures),
        exposure=_exposure(findings, counts),
        map=board_map,
        recommendation=recommendation,
    )


def _recommendation(recommendation: Recommendation, places: int | None) -> Recommendation:
    """Where the run to be released stands among its siblings, by its rounded risk."""
    if recommendation.run is None:
        return recommendation
    return replace(recommendation, run=with_rounded(recommendation.run, ("released", "mean", "quantile"), places))


def _measure(row: MeasureRow, places: int | None, is_told: bool) -> MeasureRow:
    if places is None:
        return row
    hidden = row.kind == "utility" and not is_told and not row.chosen_by  # the map shows what it shows
    row = with_rounded(row, ("mean", "released", "fresh"), 0 if hidden else places)
    return replace(row, se=None, fresh_se=None)


def _exposure(findings: Findings, counts: Counts) -> Exposure:
    """Counts of the release; those of groups of an exchanged attribute are left out, and last those of all."""
    exposure, places = findings.exposure, PLACES[counts]
    if places is None:
        return replace(exposure, new_after=_new_told(exposure))
    exposure = replace(exposure, new_after=None)
    if not places:
        return replace(
            exposure,
            small_after=None,
            unaltered_after=None,
            ones_after=None,
            twos_after=None,
            cells_after=None,
            matches_after=None,
            groups=(),
        )
    exchanged = {a.name for a in findings.design.attributes if a.role == ROLE_WORDS["S"]}
    left_out = exchanged if is_at_least(counts, "without groups") else set()
    groups = tuple(
        replace(group, after=min(group.people, count(group.after, places)))
        for group in exposure.groups
        if group.attribute not in left_out
    )

    def told(value: int | None) -> int | None:
        return None if value is None else count(value, places)

    return replace(
        exposure,
        small_after=told(exposure.small_after),
        unaltered_after=told(exposure.unaltered_after),
        ones_after=told(exposure.ones_after),
        twos_after=told(exposure.twos_after),
        cells_after=told(exposure.cells_after),
        matches_after=rounded(exposure.matches_after, places),
        groups=groups,
    )


def _new_told(exposure: Exposure) -> int | None:
    """Records with a new combination, all of which are altered: told where the exact counts beside it tell already that
    at least as many are."""
    new, small, unaltered = exposure.new_after, exposure.small_after, exposure.unaltered_after
    if new is None or small is None or unaltered is None:
        return None
    return new if new <= small - unaltered else None


def _map(board_map: Map, risk: int | None, utility: int | None) -> Map:
    if risk is None and utility is None:
        return board_map
    return replace(
        board_map,
        candidates=tuple(_candidate(row, risk, utility) for row in board_map.candidates),
        frontier=_points(board_map.frontier, risk, utility),
        others=_points(board_map.others, risk, utility),
        spreads=tuple(_spread(spread, utility if spread.of_utility else risk) for spread in board_map.spreads),
    )


def _points(
    points: Iterable[tuple[float, float]], risk: int | None, utility: int | None
) -> tuple[tuple[float, float], ...]:
    """Points of the map, rounded, each once; none where one of their figures is withheld."""
    if 0 in (risk, utility):
        return ()
    return tuple(sorted({(rounded(u, utility) or 0.0, rounded(r, risk) or 0.0) for u, r in points}))


def _candidate(row: CandidateRow, risk: int | None, utility: int | None) -> CandidateRow:
    if risk is not None:
        row = with_rounded(with_rounded(row, ("risk",), risk), ("safer_by",), min(risk, 1))
        row = replace(row, risk_se=None)
    if utility is not None:
        row = with_rounded(with_rounded(row, ("utility",), utility), ("more_useful_by",), min(utility, 1))
        row = replace(row, utility_se=None)
    return row


def _spread(spread: Spread, places: int | None) -> Spread:
    return with_rounded(spread, ("least", "mean", "most", "released"), places)
