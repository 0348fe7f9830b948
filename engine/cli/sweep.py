"""The command that draws and measures every candidate."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.arguments import whole_number
from engine.cli.parser import DATA_HELP, add_command
from engine.cli.plan_options import add_plan_options, plan_of
from engine.cli.run_options import add_run_options, run_options
from engine.cli.source_options import add_stream_option, source_of
from engine.common.beside import load_beside
from engine.common.output import say
from engine.common.progress import announce

if TYPE_CHECKING:
    from engine.cli.parser import Commands


def add_commands(commands: Commands) -> None:
    """Add sweep."""
    sweep = add_command(
        commands, "sweep", run_sweep, "draw and measure every candidate; an unfinished study is resumed"
    )
    sweep.add_argument("data", metavar="DATA", help=DATA_HELP)
    sweep.add_argument("--study", required=True, metavar="PATH", help="the study file to make or to resume")
    add_plan_options(sweep)
    sweep.add_argument("--replicates", type=whole_number, metavar="N", help="runs per scenario (default 20)")
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
    from engine.release.results import RunStatus
    from engine.study.earlier_studies import Predecessors
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
    raw = table_for(source, plan, cluster=args.cluster, announce=announce)
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
