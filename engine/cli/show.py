"""The command that lists candidates with their figures."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from engine.cli.catalogue import BETTER
from engine.cli.options import add_command, add_objective_options, map_of, names, number, unmet_lines
from engine.common.errors import UsageError, did_you_mean
from engine.common.output import say, width_of
from engine.common.wording import listed, plural

if TYPE_CHECKING:
    from engine.cli.options import Commands
    from engine.frontier.risk_utility_map import RiskUtilityMap
    from engine.study.study import Study


_MOST_OVER = 5  # candidates over a limit of an edit rule that are named


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
        help="mark the most useful candidate within the limit A, and show what the limit is held against",
    )
    show.add_argument(
        "--slope", type=number, metavar="A", help="mark the best for a trade-off of A units of risk per unit of utility"
    )
    show.add_argument("--columns", type=names, metavar="A,B,C", help="list these columns, by their names in the CSV")
    show.add_argument("--wide", action="store_true", help="list every column in which candidates differ")
    show.add_argument("--plot", action="store_true", help="draw the map under the table")
    show.add_argument("--format", choices=("table", "csv", "json"), default="table")


def run_show(args: argparse.Namespace) -> None:
    """List candidates."""
    from engine.measures.planned import check_bounded
    from engine.report.candidate_table import as_csv, as_json, run_table, scenario_table
    from engine.report.unit_counts import unit_columns, with_units
    from engine.study.study import Study

    _check_options(args)
    with Study.open(args.study) as study:
        view = map_of(study, args)
        if args.max_risk is not None:
            check_bounded(view.measures[view.risk], args.max_risk)
        advice = unmet_lines(study, view, args.max_risk, args.study) if args.by == "scenario" else []
        progress, choices, plan = study.progress, study.choices.all(), study.plan.decision
        make = scenario_table if args.by == "scenario" else run_table
        columns, rows = make(view, args.max_risk, args.slope, args.undominated)
        columns, rows = unit_columns(columns, study), with_units(rows, study)
        cancelled = _cancelled(study, view) if args.format == "table" else ""
    limit = args.max_risk
    if plan.max_risk is not None and (args.risk, limit, args.slope) == (None, None, None):
        limit = float(plan.max_risk)
    choice = choices[-1].label if choices else None
    if args.columns:
        columns = _chosen(args.columns, columns)
        rows = [{name: row[name] for name in columns} for row in rows] if args.format == "json" else rows
    if args.format == "csv":
        say(as_csv(rows, columns), end="")
    elif args.format == "json":
        say(as_json(rows), end="")
    else:
        _print_for_reading(args, view, rows, columns, advice, limit, choice)
        if cancelled:
            say(cancelled)
        if progress.state != "finished":
            say(f"the sweep is {progress.state}: {progress.done:,} of {progress.total:,} runs so far")


def _cancelled(study: Study, view: RiskUtilityMap) -> str:
    """The candidates of which few of the records that took part are altered, in words; empty where there are none."""
    from engine.release.scenarios import NoteKind
    from engine.sweeps.realisations import ALTERED_SHARE

    notes = study.notes.on(None, NoteKind.DIAGNOSTICS)
    shares = {note.scenario: share for note in notes if (share := json.loads(note.text).get(ALTERED_SHARE)) is not None}
    if not shares:
        return ""
    named = [f"{view.scenarios[index].label} ({100 * share:.3g} %)" for index, share in sorted(shares.items())[:5]]
    more = f" and {len(shares) - 5:,} more" if len(shares) > 5 else ""
    return f"fewer than half of the records that took part are altered: {', '.join(named)}{more}"


def _check_options(args: argparse.Namespace) -> None:
    if args.max_risk is not None and args.slope is not None:
        raise UsageError("--max-risk and --slope are two selection rules; give one of them")
    if args.columns and args.wide:
        raise UsageError("--columns names the columns and --wide takes all; give one of them")
    if args.format != "table" and (args.plot or args.wide):
        option = "--plot" if args.plot else "--wide"
        raise UsageError(f"{option} is for reading, and --format {args.format} is for programs; leave one of them out")


def _chosen(asked: list[str], columns: list[str]) -> list[str]:
    """The columns that were asked for."""
    for name in asked:
        if name not in columns:
            raise UsageError(f"no column '{name}'.{did_you_mean(name, columns) or f' Known: {listed(columns)}.'}")
    return asked


def _print_for_reading(
    args: argparse.Namespace,
    view: RiskUtilityMap,
    rows: list[dict[str, Any]],
    columns: list[str],
    advice: list[str],
    limit: float | None,
    choice: str | None,
) -> None:
    """Print the table, how much of the frontier it can hold, the ``advice`` on a limit, and the plot with the ``limit``
    and the ``choice``."""
    from engine.cli.show_table import plot_lines
    from engine.decision.gate import over_edit_limits
    from engine.decision.statements import words
    from engine.report.sentences import hidden

    if args.columns:
        print_table(view, rows, columns)
    elif args.wide:
        print_table(view, rows, _differing(view, rows, columns))
    else:
        print_table(view, rows, bounded=args.max_risk is not None and args.by == "scenario")
    for reason, n in view.all_apart.items():
        say(f"{n:,} of {plural(len(view.scenarios), 'candidate')} cannot be compared: {reason}")
    over = view.over_edits.nonzero()[0].tolist()
    for index in over[:_MOST_OVER]:
        say(f"{view.scenarios[index].label}: {' '.join(map(words, over_edit_limits(view, index)))}")
    if len(over) > _MOST_OVER:
        say(f"{plural(len(over) - _MOST_OVER, 'more candidate')} over a limit of an edit rule")
    for each in hidden(view):
        say(words(each))
    for line in advice:
        say(line, file=sys.stderr)
    if advice:
        raise UsageError("no candidate is marked, since none meets the limit")
    if args.max_risk is not None and args.by == "scenario":
        view.under_bound(args.max_risk)  # says why when nothing is within the bound
    if args.plot:
        best = [row["id"] for row in rows if row["optimal"]]
        for line in ["", *plot_lines(view, width_of(sys.stdout), best=best, limit=limit, choice=choice)]:
            say(line)


def _differing(view: RiskUtilityMap, rows: list[dict[str, Any]], columns: list[str]) -> list[str]:
    """The columns but those that say the same of every candidate."""
    hidden = {"replicates"} if len(set(view.summary.counted.tolist())) == 1 else set()
    if len({scenario.spec.mechanism for scenario in view.scenarios}) == 1:
        hidden.add("mechanism")
    hidden |= {name for name in ("failed", "optimal", "riskier_than_original") if not any(r.get(name) for r in rows)}
    return [name for name in columns if name not in hidden]


def print_table(
    view: RiskUtilityMap, rows: list[dict[str, Any]], columns: list[str] | None = None, *, bounded: bool = False
) -> None:
    """Print rows of :mod:`engine.report.candidate_table` as text, along the frontier: their ``columns``, or without any
    what a choice needs, and with ``bounded`` the risk that a bound is held against."""
    from engine.cli import show_table

    objectives = [view.measures[k] for k in view.objectives]
    shown = view.objectives if columns is None else range(len(view.measures))
    say(f"doing nothing: {'; '.join(f'{view.measures[k]} {view.original[k]:.5g}' for k in shown)}")
    say(f"frontier: {'; '.join(f'{c} ({c.measure.kind}, {BETTER[c.measure.better]})' for c in objectives)}")
    if not rows:
        say("no candidates")
        return
    ordered = show_table.along_frontier(view, rows)
    if columns is None:
        width = width_of(sys.stdout)
        table = show_table.brief_columns(view, ordered, bounded=bounded, width=width)
    else:
        width, table = None, show_table.named_columns(ordered, columns)
    head, rule, *lines = show_table.table_lines(table, width)
    say(f"{head}\n{rule}")
    for line, row in zip(lines, ordered, strict=True):
        say(line, colour=show_table.colour_of(row))
    if columns is None:
        standings = {show_table.standing(row) for row in rows}
        for mark, meaning in show_table.MARKS.items():
            if any(mark in text for text in standings):
                say(f"{mark} {meaning}")
        for meaning in show_table.amount_meanings(view, rows):
            say(meaning)
