"""Commands around a decision: write down a plan and lock it, compare two submissions, validate an installation."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from engine.common.errors import EngineError, UsageError
from engine.common.os_support import write_private
from engine.common.output import say


def run_plan_lock(args: argparse.Namespace) -> None:
    """Write the approval into a plan, leaving everything else in the file as it stands."""
    import tomlkit

    from engine.plan import read_plan
    from engine.plan.lock import lock
    from engine.plan.reading import plan_text

    path = Path(args.plan)
    for option in ("number", "by"):
        if not getattr(args, option).strip():
            raise UsageError(f"--{option} is empty; the approval needs it")
    locked = lock(read_plan(path), args.number.strip(), args.by.strip()).lock
    assert locked is not None
    section = tomlkit.table()
    for name, value in vars(locked).items():
        section[name] = tomlkit.string(value, multiline=True) if name == "approved" else value
    # behind all the rest, which is not even parsed again: not every TOML that is read could be written as it was
    text = f"{plan_text(path).rstrip()}\n\n{tomlkit.dumps({'lock': section})}"
    try:
        write_private(path, text.encode(), replace=True)
    except OSError as error:
        raise EngineError(f"plan '{path.name}' could not be written: {error.strerror}; it is as it was") from None
    say(f"{path.name} is locked as {locked.number}, approved by {locked.by}; only replicates may grow")


def run_plan_document(args: argparse.Namespace) -> None:
    """Write a plan as a document that a board can approve."""
    from engine.plan import read_plan
    from engine.report.plan_document import plan_document, write_plan_document

    plan, counts = read_plan(Path(args.plan)), None
    if args.data:
        from engine.plan.recode import code
        from engine.plan.samples import open_data
        from engine.report.plan_counts import count_plan

        counts = count_plan(plan, code(open_data(args.data)[0], plan))
    out = Path(args.out)
    write_plan_document(plan_document(plan, counts, rates=args.rates), out)
    say(f"wrote {out}" + (", for the chair of the board only: it names the rates" if args.rates else ""))
    if not args.data:
        say("it holds no counts; name the data with --data")


def run_diff(args: argparse.Namespace) -> None:
    """List what changed between two submissions."""
    from engine.bundle.submissions import differences, read_submission

    said = differences(read_submission(args.old), read_submission(args.new))
    for text in said:
        say(text)
    if not said:
        say("nothing has changed")


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
