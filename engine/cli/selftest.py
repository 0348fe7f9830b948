"""The command that validates an installation."""

from __future__ import annotations

import argparse
import platform
import sys
from typing import TYPE_CHECKING

from engine.cli.parser import add_command
from engine.common.output import say
from engine.common.version import __version__

if TYPE_CHECKING:
    from engine.cli.parser import Commands


def add_commands(commands: Commands) -> None:
    """Add selftest."""
    add_command(commands, "selftest", run_selftest, "validate this installation: offline, in minutes")


def run_selftest(args: argparse.Namespace) -> int:
    """Run all checks; exit code 1 when one fails."""
    from engine.bundle.selftest import run_checks

    say(f"swap-frontier {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    failed, seconds = 0, 0.0
    for check in run_checks():
        failed += not check.passed
        seconds += check.seconds
        say(f"{'ok    ' if check.passed else 'FAILED'}  {check.subject}: {check.result} ({check.seconds:.1f} s)")
        sys.stdout.flush()
    say(f"{f'{failed} failed' if failed else 'all passed'}, {seconds:.0f} s")
    return 1 if failed else 0
