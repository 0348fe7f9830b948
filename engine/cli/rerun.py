"""The commands that remake releases of a study: for further measures, and on fresh replicates."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from engine.cli.arguments import measures, whole, workers
from engine.cli.objectives import add_objective_options, map_of
from engine.cli.parser import DATA_HELP, add_command
from engine.cli.show import print_table
from engine.common.output import say
from engine.common.progress import Ticker, announce

if TYPE_CHECKING:
    from engine.cli.parser import Commands


def add_commands(commands: Commands) -> None:
    """Add measure and recheck."""
    adding_measures = add_command(
        commands, "measure", run_measure, "add measures to a finished study by remaking its releases"
    )
    adding_measures.add_argument("study", metavar="STUDY")
    adding_measures.add_argument("--data", required=True, metavar="DATA", help=DATA_HELP)
    adding_measures.add_argument("--measures", type=measures, required=True, metavar="NAMES")
    adding_measures.add_argument("--key-file", metavar="PATH")
    adding_measures.add_argument("--workers", type=workers, metavar="N")

    recheck = add_command(commands, "recheck", run_recheck, "run finalists again on fresh replicates")
    recheck.add_argument("study", metavar="STUDY")
    recheck.add_argument("--data", required=True, metavar="DATA", help=DATA_HELP)
    recheck.add_argument(
        "--candidate", action="append", metavar="ID", help="a scenario (repeatable; default: the frontier)"
    )
    recheck.add_argument(
        "--replicates", type=whole, default=100, metavar="N", help="fresh runs per scenario (default 100)"
    )
    recheck.add_argument("--key-file", metavar="PATH")
    add_objective_options(recheck)


def run_measure(args: argparse.Namespace) -> None:
    """Add measures to a study."""
    from engine.plan.samples import open_data
    from engine.study.keys import key_path, read_key
    from engine.study.study import Study
    from engine.sweeps.rerun import add_measures

    raw, _ = open_data(args.data)
    with Study.open(args.study) as study:
        key = read_key(key_path(study.path, args.key_file))
        added = add_measures(
            study, raw, key, args.measures, workers=args.workers, on_progress=Ticker(), announce=announce
        )
    say(f"added {', '.join(added)}" if added else "the study has these measures already")


def run_recheck(args: argparse.Namespace) -> None:
    """Run finalists on fresh replicates and list both sets of figures."""
    from engine.plan.samples import open_data
    from engine.report.candidate_table import columns_of, scenario_rows
    from engine.study.keys import key_path, read_key
    from engine.study.study import Study
    from engine.sweeps.rerun import reevaluate

    raw, _ = open_data(args.data)
    with Study.open(args.study) as study:
        view = map_of(study, args)
        places = [study.find(text)[0].index for text in args.candidate] if args.candidate else view.frontier().tolist()
        key = read_key(key_path(study.path, args.key_file))
        reevaluate(study, raw, key, places, args.replicates)
        again = map_of(study, args, fresh=True)
    wanted = {view.scenarios[place].label for place in places}
    say(f"as swept ({len(wanted)} scenarios):")
    print_table(
        view, [row for row in scenario_rows(view) if row["id"] in wanted], columns_of(view, "scenario"), "scenario"
    )
    say("on fresh replicates:")
    print_table(
        again, [row for row in scenario_rows(again) if row["id"] in wanted], columns_of(again, "scenario"), "scenario"
    )
