"""Counts of exposed records, figures of measures and the map, to fewer digits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from engine.report.parameters import ROLE_WORDS
from engine.report.rate_facts import STEPS, Counts, Step
from engine.report.redaction import digits

if TYPE_CHECKING:
    from engine.report.facts import Exposure, MeasureRow
    from engine.report.findings import Findings
    from engine.report.map_facts import CandidateRow, Map, Recommendation, Spread

PLACES: dict[Counts, int | None] = {"exact": None, "two digits": 2, "one digit": 1, "without groups": 1}
"""Significant digits of counts of the release."""


def rounded(value: float | None, places: int | None) -> float | None:
    """To so many significant digits, as it is where that is None; None stays."""
    return value if value is None or places is None else float(digits(np.array(value), places))


def count(value: int, places: int | None) -> int:
    """A count to so many significant digits."""
    return round(rounded(value, places) or 0)


def with_coarse_counts(findings: Findings, counts: Counts, step: Step) -> Findings:
    """Findings with counts and risks to fewer digits, and with distances as coarse as the step of changes."""
    risk, level = PLACES[counts], STEPS.index(step)
    utility = None if level == 0 else 2 if step == "two digits" else 1
    is_told = level < STEPS.index("classes")
    return replace(
        findings,
        measures=tuple(_measure(row, risk if row.kind == "risk" else utility, is_told) for row in findings.measures),
        exposure=_exposure(findings.exposure, risk, _exchanged(findings) if counts == "without groups" else ()),
        map=_map(findings.map, risk, utility),
        recommendation=_recommendation(findings.recommendation, risk),
    )


def _recommendation(recommendation: Recommendation, places: int | None) -> Recommendation:
    """Where the run to be released stands among its siblings, by its rounded risk."""
    if recommendation.run is None:
        return recommendation
    run = recommendation.run
    figures = {name: rounded(getattr(run, name), places) for name in ("released", "mean", "quantile")}
    return replace(recommendation, run=replace(run, **figures))  # type: ignore[arg-type]


def _measure(row: MeasureRow, places: int | None, is_told: bool) -> MeasureRow:
    if places is None:
        return row
    hidden = row.kind == "utility" and not is_told and not row.chosen_by  # the map shows what it shows
    figures = {name: None if hidden else rounded(getattr(row, name), places) for name in ("mean", "released", "fresh")}
    return replace(row, **figures, se=None, fresh_se=None)  # type: ignore[arg-type]


def _exchanged(findings: Findings) -> tuple[str, ...]:
    """What the names of groups begin with that an exchanged attribute makes."""
    return tuple(f"{a.name}: " for a in findings.design.attributes if a.role == ROLE_WORDS["S"])


def _exposure(exposure: Exposure, places: int | None, without: tuple[str, ...]) -> Exposure:
    if places is None:
        return exposure
    names = ("small_after", "unaltered_after", "ones_after", "twos_after", "cells_after")
    counts = {name: count(getattr(exposure, name), places) for name in names}
    if exposure.matches_after is not None:
        counts["matches_after"] = count(exposure.matches_after, places)
    groups = tuple(
        replace(group, after=min(group.people, count(group.after, places)))
        for group in exposure.groups
        if not group.group.startswith(without)
    )
    return replace(exposure, groups=groups, **counts)  # type: ignore[arg-type]


def _map(board_map: Map, risk: int | None, utility: int | None) -> Map:
    if risk is None and utility is None:
        return board_map
    return replace(
        board_map,
        candidates=tuple(_candidate(row, risk, utility) for row in board_map.candidates),
        frontier=_points(board_map.frontier, risk, utility),
        others=_points(board_map.others, risk, utility),
        spreads=tuple(
            _spread(spread, utility if board_map.utility_title.startswith(spread.title) else risk)
            for spread in board_map.spreads
        ),
    )


def _points(
    points: Iterable[tuple[float, float]], risk: int | None, utility: int | None
) -> tuple[tuple[float, float], ...]:
    """Points of the map, rounded, each once."""
    return tuple(sorted({(rounded(u, utility) or 0.0, rounded(r, risk) or 0.0) for u, r in points}))


def _candidate(row: CandidateRow, risk: int | None, utility: int | None) -> CandidateRow:
    if risk is not None:
        row = replace(row, risk=rounded(row.risk, risk), risk_se=None, safer_by=rounded(row.safer_by, 1))
    if utility is not None:
        row = replace(row, utility=rounded(row.utility, utility), utility_se=None)
        row = replace(row, more_useful_by=rounded(row.more_useful_by, 1))
    return row


def _spread(spread: Spread, places: int | None) -> Spread:
    figures = {name: rounded(getattr(spread, name), places) for name in ("least", "mean", "most", "released")}
    return replace(spread, **figures)  # type: ignore[arg-type]
