"""The command that validates an installation."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from engine.cli.parser import add_command
from engine.common.output import say

if TYPE_CHECKING:
    from engine.cli.parser import Commands


def add_commands(commands: Commands) -> None:
    """Add selftest."""
    add_command(commands, "selftest", run_selftest, "validate this installation: offline, in minutes")


def run_selftest(args: argparse.Namespace) -> int:
    """Run all checks; exit code 1 when one fails."""
    import platform

    from engine.bundle.selftest import run
    from engine.common.version import __version__

    say(f"swap-frontier {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    failed, seconds = 0, 0.0
    for check in run():
        failed += not check.passed
        seconds += check.seconds
        say(f"{'ok    ' if check.passed else 'FAILED'}  {check.about}: {check.found} ({check.seconds:.1f} s)")
        sys.stdout.flush()
    words = f"{failed} failed" if failed else "all passed"
    say(f"{words}, {seconds:.0f} s")
    return 1 if failed else 0
