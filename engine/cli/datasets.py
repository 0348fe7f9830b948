"""The commands on samples: list them, add one, write one as a file."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from engine.cli.parser import add_command
from engine.common.output import say

if TYPE_CHECKING:
    from engine.cli.parser import Commands


def add_commands(commands: Commands) -> None:
    """Add datasets with its two commands."""
    datasets = add_command(commands, "datasets", run_datasets, "list the samples, or add one that is not shipped")
    adding = datasets.add_subparsers(title="commands", metavar="[COMMAND]")
    add = add_command(adding, "add", run_datasets_add, "add a sample, such as cps8d from UCI Adult files")
    add.add_argument("name", metavar="NAME")
    add.add_argument(
        "--from",
        dest="source",
        action="append",
        metavar="FILE",
        help="an original file (repeatable); without it the files are downloaded",
    )

    write = add_command(adding, "write", run_datasets_write, "write a sample's records as a file, with its labels")
    write.add_argument("name", metavar="NAME")
    write.add_argument("--to", required=True, metavar="FILE", help="ends in .csv, .parquet, .sav, .dta or .xpt")


def run_datasets(args: argparse.Namespace) -> None:
    """List the samples."""
    from engine.plan.samples import describe

    for sample in describe():
        size = f"{sample.n_records:,} records, {sample.n_attributes} attributes"
        say(f"{sample.name:8} {size:32} {sample.summary}")


def run_datasets_add(args: argparse.Namespace) -> None:
    """Add a sample that is not shipped."""
    from engine.plan.samples import add

    say(f"added '{args.name}': {add(args.name, args.source):,} records")


def run_datasets_write(args: argparse.Namespace) -> None:
    """Write a sample's records as a file."""
    from engine.plan.samples import write

    for note in write(args.name, args.to):
        say(note, file=sys.stderr)
    say(f"wrote '{args.name}' to {args.to}")
