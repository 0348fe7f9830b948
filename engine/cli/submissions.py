"""The command that compares two submissions to a board."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from engine.cli.parser import add_command
from engine.common.output import say

if TYPE_CHECKING:
    from engine.cli.parser import Commands


def add_commands(commands: Commands) -> None:
    """Add diff."""
    diff = add_command(commands, "diff", run_diff, "list what changed between two submissions to a board")
    diff.add_argument("old", metavar="OLD", help="a plan, a study, or the folder of an analyst's or a board bundle")
    diff.add_argument("new", metavar="NEW", help="the later one")


def run_diff(args: argparse.Namespace) -> None:
    """List what changed between two submissions."""
    from engine.bundle.submissions import differences, read_submission

    changes = differences(read_submission(args.old), read_submission(args.new))
    for change in changes:
        say(change)
    if not changes:
        say("nothing has changed")
