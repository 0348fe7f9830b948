"""The command that lists candidates with their figures."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from engine.cli.arguments import number
from engine.cli.catalogue import BETTER
from engine.cli.objectives import add_objective_options, map_of
from engine.cli.parser import add_command
from engine.common.errors import UsageError
from engine.common.output import say

if TYPE_CHECKING:
    from engine.cli.parser import Commands
    from engine.frontier.risk_utility_map import RiskUtilityMap


def add_commands(commands: Commands) -> None:
    """Add show."""
    show = add_command(commands, "show", run_show, "list candidates with their figures and the frontier")
    show.add_argument("study", metavar="STUDY")
    add_objective_options(show)
    show.add_argument(
        "--by", choices=("scenario", "realisation"), default="scenario", help="list means over runs, or every run"
    )
    show.add_argument("--undominated", action="store_true", help="the frontier only")
    show.add_argument(
        "--max-risk",
        type=number,
        metavar="A",
        help="mark the most useful candidate within the bound A, and show what the bound is held against",
    )
    show.add_argument(
        "--slope", type=number, metavar="A", help="mark the best for a trade-off of A units of risk per unit of utility"
    )
    show.add_argument("--format", choices=("table", "csv", "json"), default="table")


def run_show(args: argparse.Namespace) -> None:
    """List candidates."""
    from engine.measures.planned import check_bounded
    from engine.report.candidate_table import as_csv, as_json, columns_of, realisation_rows, scenario_rows
    from engine.report.sentences import recall_words
    from engine.study.study import Study

    if args.max_risk is not None and args.slope is not None:
        raise UsageError("--max-risk and --slope are two selection rules; give one of them")
    with Study.open(args.study) as study:
        view = map_of(study, args)
        if args.max_risk is not None:
            check_bounded(view.measures[view.risk])
        progress = study.progress
    make = scenario_rows if args.by == "scenario" else realisation_rows
    rows = make(view, args.max_risk, args.slope, args.undominated)
    columns = columns_of(view, args.by, args.max_risk)
    if args.format == "csv":
        say(as_csv(rows, columns), end="")
    elif args.format == "json":
        say(as_json(rows), end="")
    else:
        print_table(view, rows, columns, args.by)
        if words := recall_words(view):
            say(words)
        if args.max_risk is not None and args.by == "scenario":
            view.under_bound(args.max_risk)  # says why when nothing is within the bound
        if progress.state != "finished":
            say(f"the sweep is {progress.state}: {progress.done:,} of {progress.total:,} runs so far")


def print_table(view: RiskUtilityMap, rows: list[dict[str, Any]], columns: list[str], by: str) -> None:
    """Print rows of :mod:`engine.report.candidate_table` as text, without columns that are the same in all rows."""
    from engine.report.candidate_table import as_table

    figures = "; ".join(f"{call} {value:.5g}" for call, value in zip(view.measures, view.original, strict=True))
    say(f"doing nothing: {figures}")
    objectives = [view.measures[k] for k in view.objectives]
    say(f"frontier: {'; '.join(f'{c} ({c.measure.kind}, {BETTER[c.measure.better]})' for c in objectives)}")
    hidden = {"replicates"} if by == "scenario" and len(set(view.summary.counted.tolist())) == 1 else set()
    if by == "scenario" and not any(row["riskier_than_original"] for row in rows):
        hidden.add("riskier_than_original")
    if len({scenario.spec.mechanism for scenario in view.scenarios}) == 1:
        hidden.add("mechanism")
    hidden |= {column for column in ("failed", "optimal") if not any(row.get(column) for row in rows)}
    say(as_table(rows, [column for column in columns if column not in hidden]), end="")
