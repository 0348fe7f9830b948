"""The command that adds measures to a study."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from engine.cli.arguments import measures
from engine.cli.parser import DATA_HELP, add_command
from engine.cli.run_options import add_run_options, run_options
from engine.cli.source_options import add_stream_option, table_of
from engine.common.output import say

if TYPE_CHECKING:
    from engine.cli.parser import Commands


def add_commands(commands: Commands) -> None:
    """Add measure."""
    measure = add_command(commands, "measure", run_measure, "add measures to a finished study by remaking its runs")
    measure.add_argument("study", metavar="STUDY")
    measure.add_argument("--data", required=True, metavar="DATA", help=DATA_HELP)
    measure.add_argument(
        "--measures",
        type=measures,
        required=True,
        metavar="NAMES",
        help="measures to add; `frontier measures` lists them",
    )
    measure.add_argument("--key-file", metavar="PATH", help="the study key (default: STUDY.key)")
    add_stream_option(measure)
    add_run_options(measure)


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
