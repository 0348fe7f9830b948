"""Utility before and after: percentages, means, associations, coefficients of analyses, named tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from engine.common.wording import listed
from engine.models.analyses import Compared, compare
from engine.models.formulas import design, levels_of
from engine.models.regression import WHY
from engine.plan.entries import TolerancePlan
from engine.plan.types import in_no_use
from engine.report import shares
from engine.report.alterable import Alterable
from engine.report.facts import Tolerances, Utility
from engine.report.loss_facts import Figure, ModelRow
from engine.report.losses import Collection, Flags, collected, flags, optional

if TYPE_CHECKING:
    from engine.models.record_release import RecordRelease
    from engine.plan import Plan
    from engine.plan.entries import AnalysisPlan
    from engine.release.records import ReleasedTable


_LEVEL = re.compile(r"\[(?:T\.)?([^\]]*)\]")
"""A level within a coefficient's name, such as ``Race[T.White]``."""


def utility(release: RecordRelease, plan: Plan) -> Utility:
    """Everything that is compared for users."""
    tolerances = tolerances_of(plan)
    attributes = release.data.domain.indices(plan.analyse)
    tables, of_tables = shares.named_tables(release, plan, tolerances)
    tallies, figures = collected(
        (
            *shares.percentages(release, attributes, plan, tolerances),
            *shares.means(release, plan, tolerances),
            shares.correlations(release, plan, tolerances),
            coefficients(release, plan, tolerances),
            *of_tables,
        )
    )
    return Utility(
        tolerances=tolerances,
        tallies=tallies,
        figures=figures,
        associations=tuple(shares.associations(release, attributes)),
        tables=tuple(tables),
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
    is_own = planned != TolerancePlan()
    return Tolerances(float(planned.change), planned.min_n, float(planned.se), float(planned.se_ratio), is_own)


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


def coefficients(release: RecordRelease, plan: Plan, tolerances: Tolerances) -> Collection:
    """Every coefficient of every declared analysis; those that the original does not estimate are no losses."""
    alterable = Alterable.of(release)
    collection = Collection("coefficient", "regression coefficients", False, tolerances)
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
        collection.keep(_coefficient(comparison, analysis, i, changes, bool(flagged[i])) for i in range(len(usable)))
    return collection


def coefficient_name(comparison: Compared, i: int) -> str:
    """A coefficient as people read it: its level after a colon."""
    return _LEVEL.sub(r": \1", comparison.ready.names[i])


def _coefficient(comparison: Compared, analysis: AnalysisPlan, i: int, changes: Flags, flagged: bool) -> Figure:
    before, is_usable = comparison.before, bool(comparison.usable[i])
    is_lost = is_usable and not np.isfinite(comparison.after[i])
    why = WHY[int(comparison.why[i])] if is_lost else "" if is_usable else WHY[int(before.why[i])]
    values = (before.estimate[i], before.se[i], comparison.after[i], comparison.se_after[i], changes.errors[i])
    estimate, se, after, se_after, errors = (optional(value) if is_usable else None for value in values)
    return Figure(
        kind="coefficient",
        of=analysis.name,
        group="",
        what=coefficient_name(comparison, i),
        weighted=analysis.weighted,
        n=None,
        n_after=None,
        within=None,
        within_after=None,
        before=estimate,
        se=se,
        after=after,
        se_after=se_after,
        errors=errors,
        flagged=flagged,
        note="lost" if is_lost else "" if is_usable else "not estimable",
        why=why,
    )
