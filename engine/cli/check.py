"""The command that lists what differs between a plan and a file, and settles it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from engine.cli.parser import DATA_HELP, add_command
from engine.cli.remedies import OPTIONS
from engine.cli.source_options import add_stream_option, source_of
from engine.common.errors import Remedy, UsageError, did_you_mean
from engine.common.os_support import write_private
from engine.common.output import say, write_file_text
from engine.common.wording import listed

if TYPE_CHECKING:
    from engine.cli.parser import Commands
    from engine.data.microdata import RawTable
    from engine.plan import Plan
    from engine.plan.mismatches import Mismatch

_SHOWN = 20  # mismatches of a kind that are listed
_WAYS = 8  # fixes of a mismatch that are listed


def add_check_command(plans: Commands) -> None:
    """Add plan check."""
    check = add_command(plans, "check", run_plan_check, "list what differs between a plan and a file, and settle it")
    check.add_argument("plan", metavar="PLAN")
    check.add_argument("--data", required=True, metavar="NEW", help=DATA_HELP)
    check.add_argument(
        "--fix",
        action="append",
        default=[],
        metavar="WHICH=FIX",
        help="settle what is listed, one by its name or all of a kind (repeatable), such as new=drop or "
        "level:job:7=merge:other; with --out",
    )
    add_stream_option(check)
    check.add_argument("--out", metavar="FILE", help="write the plan that was settled to FILE (- prints it)")


def run_plan_check(args: argparse.Namespace) -> int:
    """List what differs between a plan and a file; exit code 1 when something does."""
    from engine.measures.planned import unmeasured_uses
    from engine.plan import plan_to_toml, read_plan
    from engine.plan.check import mismatches
    from engine.plan.recode import code
    from engine.plan.tabulate import tabulate
    from engine.sweeps.sweep import plan_problems
    from engine.sweeps.warnings import torn_units

    if bool(args.fix) != bool(args.out):
        raise UsageError("--fix and --out belong together: one says how to settle what differs, one where to write it")
    if args.out and args.out != "-" and Path(args.out).exists():
        raise UsageError(f"'{Path(args.out).name}' exists already; name another file with --out")
    plan = read_plan(args.plan)
    raw = tabulate(source_of(args)[0], plan)
    for text in args.fix:
        plan = _settled(plan, raw, text)
    stream = sys.stderr if args.out == "-" else sys.stdout
    found = mismatches(plan, raw)
    _list(plan, raw, found, stream)
    problems = [] if found else plan_problems(plan, raw)
    for problem in problems:
        say(problem, file=stream)
    if not found and not problems:
        for warning in torn_units(code(raw, plan), plan):
            say(f"warning: {warning}", file=stream)
        unmeasured = unmeasured_uses(plan)
        for use in unmeasured:
            say(f"warning: {use.sentence}", file=stream)
        if any(use.attribute for use in unmeasured):
            say(f"to rename: {OPTIONS[Remedy.RENAME]}", file=stream)
    if args.out == "-":
        write_file_text(plan_to_toml(plan))
    elif args.out:
        write_private(Path(args.out), plan_to_toml(plan).encode())
        say(f"wrote {args.out}")
    if not found and not problems:
        say("the plan fits the data", file=stream)
    return 1 if found or problems else 0


def _settled(plan: Plan, raw: RawTable, text: str) -> Plan:
    """The plan with one ``WHICH=FIX`` carried out."""
    from engine.plan.check import mismatches
    from engine.plan.fixes import settle
    from engine.plan.mismatches import KINDS

    found = mismatches(plan, raw)
    known = {name for mismatch in found for name in (mismatch.kind, mismatch.key)}
    # names of columns and levels may hold the sign themselves
    parts = [(text[:i], text[i + 1 :]) for i, sign in enumerate(text) if sign == "="]
    which, fix = next(((a, b) for a, b in parts if a in known), parts[0] if parts else (text, ""))
    if not fix:
        raise UsageError(f"--fix {text}: write WHICH=FIX, such as new=drop")
    if which not in known and which not in KINDS:
        raise UsageError(f"--fix names '{which}', which is none of the differences.{did_you_mean(which, known)}")
    return settle(plan, raw, [mismatch for mismatch in found if which in (mismatch.kind, mismatch.key)], fix)


def _list(plan: Plan, raw: RawTable, found: Sequence[Mismatch], stream: TextIO) -> None:
    """Print what does not fit, each with the fixes that it takes."""
    from engine.plan.fixes import fixes

    of_kind: dict[str, list[Mismatch]] = {}
    for mismatch in found:
        of_kind.setdefault(mismatch.kind, []).append(mismatch)
    for kind, mismatches in of_kind.items():
        for mismatch in mismatches[:_SHOWN]:
            offered = fixes(mismatch, plan, raw)
            ways = [fix.name for fix in offered]
            more = f", ... ({len(ways) - _WAYS} more)" if len(ways) > _WAYS else ""
            say(f"{mismatch.sentence}\n  {mismatch.key} = {', '.join(ways[:_WAYS])}{more}", file=stream)
            for fix in offered:
                if fix.takes_along:
                    say(f"  {fix.name} also takes out {listed(fix.takes_along)}", file=stream)
        if len(mismatches) > _SHOWN:
            say(f"... and {len(mismatches) - _SHOWN:,} more of this kind, {kind}", file=stream)
    if found:
        say("to settle one, or all of a kind: --fix 'NAME=FIX' or --fix KIND=FIX, with --out PLAN", file=stream)
