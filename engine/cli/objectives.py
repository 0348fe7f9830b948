"""The options that select a map: its two measures, further objectives, failed runs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from engine.cli.arguments import measures

if TYPE_CHECKING:
    from engine.frontier.risk_utility_map import RiskUtilityMap
    from engine.study.study import Study


def add_objective_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that :func:`map_of` reads."""
    parser.add_argument("--risk", metavar="MEASURE", help="risk measure (default: the plan's, else the first)")
    parser.add_argument("--utility", metavar="MEASURE", help="utility measure (default: the plan's, else the first)")
    parser.add_argument(
        "--objectives", type=measures, default=(), metavar="A,B,C", help="measures that define the frontier together"
    )
    parser.add_argument("--allow-partial", action="store_true", help="count failed runs too")


def map_of(study: Study, args: argparse.Namespace, *, fresh: bool = False) -> RiskUtilityMap:
    """The map of a study that the options select; with ``fresh``, of the runs of a recheck."""
    from engine.study.map_reader import risk_utility_map

    return risk_utility_map(
        study, args.risk, args.utility, objectives=args.objectives, allow_partial=args.allow_partial, fresh=fresh
    )


def unmet_lines(study: Study, view: RiskUtilityMap, bound: float | None, path: str) -> list[str]:
    """The remedies where no candidate meets a bound, and the commands for them; nothing where one does."""
    from engine.decision.unmet_bound import unmet_bound, unmet_sentences

    unmet = None if bound is None else unmet_bound(study, view, bound)
    if unmet is None:
        return []
    lines = unmet_sentences(unmet, view)
    if unmet.trend is not None and unmet.trend.next_rate is not None:
        lines.append(f"to add a rate: frontier sweep DATA --study {path} --rates {unmet.trend.next_rate} --extend")
    if unmet.coarse_keys:
        lines.append("to merge levels: edit the plan, then: frontier sweep DATA --study NEW --plan PLAN")
    return lines
