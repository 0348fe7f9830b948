"""The commands on a study at work: show its status, stop it."""

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
    status = add_command(commands, "status", run_status, "say how far a study is and who is at work on it")
    status.add_argument("study", metavar="STUDY")
    cancel = add_command(
        commands, "cancel", run_cancel, "ask whoever is at work on a study to stop; what is done is kept"
    )
    cancel.add_argument("study", metavar="STUDY")


def run_status(args: argparse.Namespace) -> None:
    """Say how far a study is and who writes it."""
    from engine.study.study import Study

    with Study.open(args.study) as study:
        progress, writer = study.progress, study.writer
        scenarios = study.n_scenarios
    words = f" ({progress.message})" if progress.message and progress.state != "finished" else ""
    say(f"sweep: {progress.state}{words}, {progress.done:,} of {progress.total:,} runs, {scenarios:,} scenarios")
    if writer is None:
        say("at work: nobody")
        return
    silent = max(0, round(time.time() - writer.beat))
    asked = "; it was asked to stop" if writer.asked else ""
    say(f"at work: a {writer}; last heard from {silent} s ago{asked}")


def run_cancel(args: argparse.Namespace) -> None:
    """Ask whoever writes a study to stop."""
    from engine.study.study import Study

    with Study.open(args.study) as study:
        writer = study.writer
        if writer is not None:
            study.cancel()
    if writer is None:
        say("nobody is at work; the next command may go on")
    else:
        say(f"asked a {writer} to stop after what it is doing; what is done is kept (`frontier status` shows it)")
