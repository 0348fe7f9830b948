"""Utility before and after: percentages, means, associations, coefficients of analyses, named tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from engine.models.analyses import compare
from engine.models.regression import WHY
from engine.report import shares
from engine.report.facts import CoefficientRow, Tally, Tolerances, Utility

if TYPE_CHECKING:
    from engine.models.record_release import RecordRelease
    from engine.plan import Plan


_LEVEL = re.compile(r"\[(?:T\.)?([^\]]*)\]")
"""A level within a coefficient's name, such as ``Race[T.White]``."""


def utility(release: RecordRelease, plan: Plan, fewest: int) -> Utility:
    """Everything that is compared for users; ``fewest`` is the count from which a cell is large."""
    planned = plan.tolerances
    tolerances = Tolerances(float(planned.change), planned.min_n, float(planned.se), float(planned.se_ratio))
    attributes = release.data.domain.indices(plan.analyse)
    percentages, tallies = shares.percentages(release, attributes, tolerances)
    means, of_means = shares.means(release, plan, tolerances)
    coefficients, of_coefficients = _coefficients(release, plan, tolerances)
    return Utility(
        tolerances=tolerances,
        tallies=(*tallies, *of_means, *of_coefficients),
        shares=tuple(percentages),
        means=tuple(means),
        correlations=tuple(shares.correlations(release, plan)),
        associations=tuple(shares.associations(release, attributes)),
        coefficients=tuple(coefficients),
        tables=tuple(shares.named_tables(release, plan)),
        distance=shares.distance(release, attributes, fewest),
    )


def _coefficients(
    release: RecordRelease, plan: Plan, tolerances: Tolerances
) -> tuple[list[CoefficientRow], list[Tally]]:
    """Every coefficient of every declared analysis: lost ones first, then the most shifted, and last those that the
    original does not estimate, which are not counted as losses."""
    rows = []
    for analysis in plan.analyses:
        comparison = compare(release, analysis, reported=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = np.abs(comparison.after - comparison.before.estimate) / comparison.before.se
            ratio = comparison.se_after / comparison.before.se
        for i, usable in enumerate(comparison.usable.tolist()):
            name = _LEVEL.sub(r": \1", comparison.ready.names[i])
            if not usable:
                reason = f"not in the original either: {WHY[int(comparison.before.why[i])]}"
                rows.append(CoefficientRow(analysis.name, name, None, None, None, None, None, None, False, reason))
                continue
            lost = "" if np.isfinite(comparison.after[i]) else WHY[int(comparison.why[i])]
            is_wide = bool(ratio[i] > tolerances.se_ratio or ratio[i] < 1 / tolerances.se_ratio)
            rows.append(
                CoefficientRow(
                    analysis=analysis.name,
                    name=name,
                    before=shares.optional(comparison.before.estimate[i]),
                    se_before=shares.optional(comparison.before.se[i]),
                    after=shares.optional(comparison.after[i]),
                    se_after=shares.optional(comparison.se_after[i]),
                    shift=shares.optional(shift[i]),
                    ratio=shares.optional(ratio[i]),
                    flagged=bool(lost) or bool(shift[i] > tolerances.se) or is_wide,
                    lost=lost,
                )
            )
    rows.sort(key=lambda row: (row.before is None, not row.lost, -(row.shift or 0)))
    if not rows:
        return [], []
    estimated = sum(row.before is not None for row in rows)
    return rows, [Tally("regression coefficients", len(rows), estimated, sum(row.flagged for row in rows))]
