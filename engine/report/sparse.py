"""Sparseness of the tables behind a study's measures, which bounds how exactly members may see figures of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from engine.report.redaction import SATURATED, is_count_risk, tells_rate

if TYPE_CHECKING:
    from engine.data.microdata import Microdata
    from engine.frontier.risk_utility_map import RiskUtilityMap
    from engine.measures import MeasureCall
    from engine.plan import Plan
    from engine.release.spec import ReleaseSpec
    from engine.study.study import Study

_FEWEST = 3  # a cell of fewer records is small


def small_records(data: Microdata, names: tuple[str, ...]) -> float:
    """Share of the records that stand in small cells of the table of some attributes (0 to 1)."""
    _, counts, _ = data.table.margin(data.domain.indices(names))
    return float(counts[counts < _FEWEST].sum() / data.n_records)


def largest_exposed(study: Study, view: RiskUtilityMap, data: Microdata) -> float:
    """The largest share of the original's records in small cells by any measure of a study, and by the board's own
    count: of one such count the others can be inferred, so that one rule holds for all of them."""
    shares = [small_records(data, study.plan.keys)]
    for k, call in enumerate(view.measures):
        if is_count_risk(call):
            shares.append(float(view.original[k]))
        elif call.measure.counts_uniques:
            shares.append(float(view.original[k]) / data.n_records)
    return float(np.nanmax(shares))


def withheld_from_members(
    plan: Plan, calls: Sequence[MeasureCall], data: Microdata, spec: ReleaseSpec
) -> frozenset[int]:
    """Places of the measures whose figures members do not see: those of tables with most records in small cells, and
    where the rate of a swap is withheld those that may tell it."""
    places = saturated(plan, calls, data)
    if plan.publish.members_rate == "tell" or not spec.by_roles:
        return places
    return places | {k for k, call in enumerate(calls) if tells_rate(call)}


def saturated(plan: Plan, calls: Sequence[MeasureCall], data: Microdata) -> frozenset[int]:
    """Places of the measures that follow changed cells of a table with most records in small cells."""
    measures = set()
    for k, call in enumerate(calls):
        if not call.measure.follows_changes:
            continue
        names = tuple(call.attributes or (plan.keys if call.measure.over == "keys" else plan.analyse))
        tables = list(combinations(names, 2)) if call.measure.two_way else [names]
        if any(small_records(data, table) > SATURATED for table in tables):
            measures.add(k)
    return frozenset(measures)
