"""The argument parser that every topic of the command line adds its commands to."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from engine.common.printable import printable

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DATA_HELP = (
    "a sample's name (see `frontier datasets`) or a CSV, Parquet, SPSS, Stata or SAS file, or a folder of CSV or "
    "Parquet files"
)


class Parser(argparse.ArgumentParser):
    """A parser whose errors quote arguments without control codes of a terminal."""

    def error(self, message: str) -> NoReturn:
        """Print the error and leave with exit code 2."""
        super().error(printable(message))


def add_command(
    commands: Commands, name: str, run: Callable[[argparse.Namespace], int | None], summary: str
) -> argparse.ArgumentParser:
    """Add the command ``name`` that calls ``run`` with its arguments; returns its parser, for its options."""
    parser = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
    parser.set_defaults(run=run, command=parser)
    return parser
