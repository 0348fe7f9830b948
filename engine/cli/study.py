"""The commands on a study that a process works on: show its status, stop it."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from engine.cli.parser import add_command
from engine.common.output import say

if TYPE_CHECKING:
    from engine.cli.parser import Commands


def add_commands(commands: Commands) -> None:
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
