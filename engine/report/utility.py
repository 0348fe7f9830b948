"""Utility before and after: percentages, means, associations, coefficients of analyses, named tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from engine.common.wording import listed
from engine.models.analyses import Compared, compare
from engine.models.formulas import design, levels_of
from engine.models.regression import WHY
from engine.plan.uses import in_no_use
from engine.report import shares
from engine.report.alterable import Alterable
from engine.report.correlations import correlations
from engine.report.facts import CoefficientRow, Tolerances, Utility
from engine.report.flags import Flags, flags
from engine.report.loss_facts import Loss, ModelRow
from engine.report.losses import Collection, all_ranked, tallies_of

if TYPE_CHECKING:
    from engine.models.record_release import RecordRelease
    from engine.plan import Plan
    from engine.release.records import ReleasedTable


_LEVEL = re.compile(r"\[(?:T\.)?([^\]]*)\]")
"""A level within a coefficient's name, such as ``Race[T.White]``."""


def utility(release: RecordRelease, plan: Plan, fewest: int) -> Utility:
    """Everything that is compared for users; ``fewest`` is the count from which a cell is large."""
    tolerances = tolerances_of(plan)
    attributes = release.data.domain.indices(plan.analyse)
    percentages, of_percentages = shares.percentages(release, attributes, tolerances)
    means, of_means = shares.means(release, plan, tolerances)
    pearson, of_pearson = correlations(release, plan, tolerances)
    coefficients, of_coefficients = _coefficients(release, plan, tolerances)
    tables, of_tables = shares.named_tables(release, plan, tolerances)
    collections = (*of_percentages, *of_means, of_pearson, of_coefficients, *of_tables)
    return Utility(
        tolerances=tolerances,
        tallies=tuple(tallies_of(collections)),
        shares=tuple(percentages),
        means=tuple(means),
        correlations=tuple(pearson),
        associations=tuple(shares.associations(release, attributes)),
        coefficients=tuple(coefficients),
        tables=tuple(tables),
        distance=shares.distance(release, attributes, fewest),
        losses=all_ranked(collections),
        models=tuple(model_rows(release.original, plan)),
        unused=in_no_use(plan, _altered(release)),
    )


def _altered(release: RecordRelease) -> tuple[str, ...]:
    """Attributes that the release may alter, in their order."""
    places = Alterable.of(release).attributes
    return tuple(name for j, name in enumerate(release.data.domain.names) if j in places)


def tolerances_of(plan: Plan) -> Tolerances:
    """A plan's tolerances as numbers."""
    planned = plan.tolerances
    return Tolerances(float(planned.change), planned.min_n, float(planned.se), float(planned.se_ratio))


def model_rows(original: ReleasedTable, plan: Plan) -> list[ModelRow]:
    """What every declared analysis predicts, and the levels that its coefficients are compared with."""
    rows = []
    for analysis in plan.analyses:
        levels = levels_of(design(analysis, original, plan), original.data.domain)
        formula = analysis.formula + (f", in each stratum of {listed(analysis.by)}" if analysis.by else "")
        family = analysis.family_words + (", weighted" if analysis.weighted else "")
        rows.append(ModelRow(analysis.name, family, formula, levels.predicts, levels.references))
    return rows


def coefficient_flags(comparison: Compared, tolerances: Tolerances) -> tuple[Flags, np.ndarray]:
    """Changes of an analysis's coefficients, and which are beyond the tolerances: by the rule for all figures, or
    because their standard error changes by too large a factor, or because they can no longer be estimated."""
    before = comparison.before
    changes = flags(before.estimate, comparison.after, before.se, True, tolerances)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = comparison.se_after / before.se
        is_wide = (ratio > tolerances.se_ratio) | (ratio < 1 / tolerances.se_ratio)
    lost = comparison.usable & ~np.isfinite(comparison.after)
    return changes, comparison.usable & (changes.beyond | is_wide | lost)


def _coefficients(
    release: RecordRelease, plan: Plan, tolerances: Tolerances
) -> tuple[list[CoefficientRow], Collection]:
    """Every coefficient of every declared analysis: lost ones first, then the most shifted, and last those that the
    original does not estimate, which are not counted as losses."""
    alterable = Alterable.of(release)
    collection = Collection("coefficient", "regression coefficients", False, tolerances)
    rows: list[CoefficientRow] = []
    for analysis in plan.analyses:
        comparison = compare(release, analysis, reported=True)
        changes, flagged = coefficient_flags(comparison, tolerances)
        can_change = alterable.analysis_can_change(analysis, release, plan)
        usable = comparison.usable
        collection.count(
            compared=len(usable),
            unchangeable=0 if can_change else len(usable),
            eligible=int(usable.sum()) if can_change else 0,
            flagged=int(flagged.sum()),
            by_change=int((usable & changes.by_change).sum()),
            by_errors=int((usable & changes.by_errors).sum()),
        )
        of_analysis = [_row(comparison, analysis.name, i, changes, flagged) for i in range(len(usable))]
        collection.append(
            Loss(
                kind="coefficient",
                of=analysis.name,
                what=row.name,
                weighted=analysis.weighted,
                n=None,
                before=row.before,
                after=row.after,
                relative=row.relative,
                errors=row.shift,
                flagged=row.flagged,
                lost=row.lost,
            )
            for row in of_analysis
            if row.before is not None and (row.lost or row.shift)
        )
        rows += of_analysis
    rows.sort(key=lambda row: (row.before is None, not row.lost, -(row.shift or 0)))
    return rows, collection


def coefficient_name(comparison: Compared, i: int) -> str:
    """A coefficient as people read it: its level after a colon."""
    return _LEVEL.sub(r": \1", comparison.ready.names[i])


def _row(comparison: Compared, analysis: str, i: int, changes: Flags, flagged: np.ndarray) -> CoefficientRow:
    name, before = coefficient_name(comparison, i), comparison.before
    if not comparison.usable[i]:
        reason = f"not in the original either: {WHY[int(before.why[i])]}"
        return CoefficientRow(analysis, name, None, None, None, None, None, None, False, reason)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.abs(comparison.after[i] - before.estimate[i]) / before.se[i]
        ratio = comparison.se_after[i] / before.se[i]
    return CoefficientRow(
        analysis=analysis,
        name=name,
        before=shares.optional(before.estimate[i]),
        se_before=shares.optional(before.se[i]),
        after=shares.optional(comparison.after[i]),
        se_after=shares.optional(comparison.se_after[i]),
        shift=shares.optional(shift),
        ratio=shares.optional(ratio),
        flagged=bool(flagged[i]),
        lost="" if np.isfinite(comparison.after[i]) else WHY[int(comparison.why[i])],
        relative=shares.optional(changes.relative[i]),
    )
