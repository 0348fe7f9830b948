"""The commands that fill a study: sweep, measure, recheck; its progress, and how to stop it."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.options import (
    DATA_HELP,
    add_command,
    add_filled_study,
    add_objective_options,
    add_plan_options,
    add_run_options,
    add_stream_option,
    map_of,
    measures,
    plan_of,
    run_options,
    source_of,
    table_of,
    whole_number,
)
from engine.cli.show import print_table
from engine.common.output import announce, say
from engine.common.processes import load_beside
from engine.common.wording import plural

if TYPE_CHECKING:
    from engine.cli.options import Commands


def add_sweep(commands: Commands) -> None:
    """Add sweep."""
    sweep = add_command(
        commands, "sweep", run_sweep, "draw and measure every candidate; an unfinished study is resumed"
    )
    sweep.add_argument("data", metavar="DATA", help=DATA_HELP)
    sweep.add_argument("--study", required=True, metavar="PATH", help="the study file to make or to resume")
    add_plan_options(sweep)
    sweep.add_argument("--key-file", metavar="PATH", help="the study key (default: STUDY.key, made when absent)")
    add_run_options(sweep)
    add_stream_option(sweep)
    sweep.add_argument("--extend", action="store_true", help="add rates, specs or replicates to a study")
    sweep.add_argument(
        "--deviation",
        default="",
        metavar="TEXT",
        help="the reason why the plan departs from its approval; logged with --by",
    )
    sweep.add_argument("--by", default="", metavar="NAME", help="who gives the reason, for the decision log")
    _add_earlier(sweep)


def _add_earlier(sweep: argparse.ArgumentParser) -> None:
    """Options on earlier studies of the same data."""
    group = sweep.add_argument_group(
        "earlier studies",
        "A new study beside others of the same data says which of them came before it; of samples all do.",
    )
    group.add_argument(
        "--after", action="append", default=[], metavar="STUDY", help="an earlier study; may be given several times"
    )
    others = group.add_mutually_exclusive_group()
    others.add_argument("--after-all", action="store_true", help="all studies of the same data beside it came before")
    others.add_argument(
        "--unrelated", default="", metavar="WHY", help="why those not named have nothing to do with it, for the board"
    )


def run_sweep(args: argparse.Namespace) -> None:
    """Run a sweep, or resume it."""
    from engine.plan import extended_plan
    from engine.release.scenarios import RunStatus
    from engine.study.ledger import Predecessors
    from engine.study.study import Study
    from engine.sweeps.sweep import open_sweep, table_for

    path, options = Path(args.study), run_options(args)
    load_beside("engine.common.compiled")
    study_plan = None
    if path.exists():
        with Study.open(path) as old:
            study_plan = old.plan
            source, sample_plan = source_of(args, old)
    else:
        source, sample_plan = source_of(args)
    plan = plan_of(args, source, sample_plan, study_plan)
    if args.extend and study_plan is not None:
        plan = extended_plan(study_plan, plan)
    raw = table_for(source, plan, announce=announce)
    opened = open_sweep(
        raw,
        plan,
        path,
        key=None if args.key_file is None else Path(args.key_file),
        extend=args.extend,
        deviation=args.deviation,
        by=args.by,
        earlier=Predecessors(
            after=tuple(map(Path, args.after)),
            unrelated=args.unrelated,
            ask=sample_plan is None and not args.after_all,  # everybody has a sample, so nothing is hidden
        ),
    )
    with opened.study as study:
        opened.tell(announce)
        opened.run(**options)
        progress = study.progress
        failed = study.runs.count(status=RunStatus.FAILED)
    if progress.state == "finished":
        if progress.message:
            say(progress.message)
        failures = f", {failed:,} of them failed" if failed else ""
        say(f"{progress.total:,} runs in {path}{failures}; next: frontier show {path} --undominated")
    else:
        say(f"{progress.state}: {progress.done:,} of {progress.total:,} runs in {path}; the same command resumes it")


def add_status(commands: Commands) -> None:
    """Add status and cancel."""
    status = add_command(
        commands, "status", run_status, "show the progress of a study and the process that works on it"
    )
    status.add_argument("study", metavar="STUDY")
    cancel = add_command(
        commands, "cancel", run_cancel, "ask the process that works on a study to stop; finished runs are kept"
    )
    cancel.add_argument("study", metavar="STUDY")


def run_status(args: argparse.Namespace) -> None:
    """Show the progress of a study and the process that writes it."""
    from engine.study.study import Study

    with Study.open(args.study) as study:
        progress, writer = study.progress, study.lease.writer
        scenarios = study.n_scenarios
    message = f" ({progress.message})" if progress.message and progress.state != "finished" else ""
    say(f"sweep: {progress.state}{message}, {progress.done:,} of {progress.total:,} runs, {scenarios:,} scenarios")
    if writer is None:
        say("at work: nobody")
        return
    silent = max(0, round(time.time() - writer.beat))
    stopping = "; it was asked to stop" if writer.asked_to_stop else ""
    say(f"at work: a {writer}; last heard from {silent} s ago{stopping}")


def run_cancel(args: argparse.Namespace) -> None:
    """Ask the process that writes a study to stop."""
    from engine.study.study import Study

    with Study.open(args.study) as study:
        writer = study.lease.writer
        if writer is not None:
            study.lease.cancel()
    if writer is None:
        say("nobody is at work; the next command may go on")
    else:
        say(f"asked a {writer} to stop after its current runs; finished runs are kept (`frontier status` shows them)")


def add_measure(commands: Commands) -> None:
    """Add measure."""
    measure = add_command(commands, "measure", run_measure, "add measures to a finished study by remaking its runs")
    add_filled_study(measure)
    measure.add_argument(
        "--measures",
        type=measures,
        required=True,
        metavar="NAMES",
        help="measures to add; `frontier measures` lists them",
    )


def run_measure(args: argparse.Namespace) -> None:
    """Add measures to a study."""
    from engine.study.keys import key_path, read_key
    from engine.study.study import Study
    from engine.sweeps.sweep import add_measures

    options = run_options(args)
    with Study.open(args.study) as study:
        raw = table_of(args, study)
        key = read_key(key_path(study.path, args.key_file))
        added = add_measures(study, raw, key, args.measures, **options)
    say(f"added {', '.join(added)}" if added else "the study has these measures already")


def add_recheck(commands: Commands) -> None:
    """Add recheck."""
    recheck = add_command(commands, "recheck", run_recheck, "run finalists on fresh replicates")
    add_filled_study(recheck)
    recheck.add_argument(
        "--candidate",
        action="append",
        metavar="ID",
        help="a scenario (repeatable; default: the frontier and what was chosen last)",
    )
    recheck.add_argument(
        "--replicates",
        type=whole_number,
        metavar="N",
        help="fresh runs per scenario (default: as many as tell whether the plan's share of runs meets the limit; 100"
        " for 90 %%, and without a limit)",
    )
    add_objective_options(recheck)


def run_recheck(args: argparse.Namespace) -> None:
    """Run finalists on fresh replicates; list their figures in the sweep and on the fresh runs."""
    from engine.decision.choice import finalists
    from engine.decision.verdict_log import verdict_words
    from engine.report.candidate_table import scenario_table
    from engine.report.detected import attack_choice
    from engine.report.unit_counts import with_units
    from engine.study.keys import key_path, read_key
    from engine.study.study import Study
    from engine.sweeps.sweep import recheck

    options = run_options(args)
    with Study.open(args.study) as study:
        raw = table_of(args, study)
        view = map_of(study, args)
        places = [study.find(text)[0].index for text in args.candidate or ()] or finalists(study, view)
        key = read_key(key_path(study.path, args.key_file))
        verdict = attack_choice(study, raw, key, places)
        recheck(study, raw, key, places, args.replicates, **options)
        fresh_view = map_of(study, args, fresh=True)
        labels = {view.scenarios[place].label for place in places}
        tables = []
        for title, figures, fresh in (
            (f"in the sweep ({plural(len(labels), 'scenario')}):", view, False),
            ("on fresh replicates:", fresh_view, True),
        ):
            rows = [row for row in scenario_table(figures)[1] if row["id"] in labels]
            tables.append((title, figures, with_units(rows, study, fresh=fresh)))
    for title, figures, rows in tables:
        say(title)
        print_table(figures, rows)
    if verdict is not None:
        say(verdict_words(verdict))
