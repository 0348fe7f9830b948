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
