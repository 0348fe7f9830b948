"""The commands on plans: a first one, its check against a file, its approval and its document."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.arguments import whole_number
from engine.cli.check import add_check_command
from engine.cli.parser import DATA_HELP, add_command
from engine.cli.plan_options import add_plan_options, first_plan_of, plan_of
from engine.cli.propose import add_propose_command
from engine.cli.source_options import first_records_of
from engine.common.errors import UsageError
from engine.common.os_support import write_private
from engine.common.output import say, write_file_text
from engine.common.progress import announce

if TYPE_CHECKING:
    from engine.cli.parser import Commands


def add_commands(commands: Commands) -> None:
    """Add plan with its commands."""
    plan = add_command(commands, "plan", lambda args: None, "write or check a plan")
    plans = plan.add_subparsers(title="commands", metavar="COMMAND", required=True)
    init = add_command(plans, "init", run_plan_init, "write a first plan for a file, to be edited")
    init.add_argument("data", metavar="DATA", help=DATA_HELP)
    init.add_argument(
        "--out", default="plan.toml", metavar="FILE", help="the file to write (default plan.toml; - prints the plan)"
    )
    add_plan_options(init)
    init.add_argument("--replicates", type=whole_number, metavar="N", help="runs per scenario (default 20)")
    add_propose_command(plans)
    add_check_command(plans)
    lock = add_command(plans, "lock", run_plan_lock, "write the approval of a Disclosure Analysis Plan into the plan")
    lock.add_argument("plan", metavar="PLAN")
    lock.add_argument("--number", required=True, metavar="NO", help="the approval's number")
    lock.add_argument("--by", required=True, metavar="NAME", help="who approved")

    document = add_command(
        plans,
        "document",
        run_plan_document,
        "write a plan as the Disclosure Analysis Plan that a board approves",
    )
    document.add_argument("plan", metavar="PLAN")
    document.add_argument("--data", metavar="DATA", help="adds counts of these data: " + DATA_HELP)
    document.add_argument("--out", required=True, metavar="FILE", help="a new file that ends in .docx or .html")
    document.add_argument("--rates", action="store_true", help=argparse.SUPPRESS)  # old scripts; it always has them


def run_plan_init(args: argparse.Namespace) -> None:
    """Write a first plan."""
    from engine.plan import plan_init_text, plan_to_toml, propose
    from engine.plan.init import carried_remark

    raw, sample_plan = first_records_of(args)
    is_guess = sample_plan is None and args.plan is None
    plan = plan_of(args, raw, first_plan_of(args, raw) if is_guess else sample_plan)
    text = plan_init_text(plan, propose(raw, plan)) if is_guess else plan_to_toml(plan)
    if args.out == "-":
        write_file_text(text)
        return
    out = Path(args.out)
    if out.exists():
        raise UsageError(f"'{out.name}' exists already; name another file with --out")
    write_private(out, text.encode())
    if is_guess and plan.data.carry:
        announce(carried_remark(plan))
    say(f"wrote {out}; read it, edit it, then: frontier space {args.data} --plan {out}")
    if is_guess:
        say(
            f"to accept what the records suggest: frontier plan propose {args.data} --plan {out} --accept all --out NEW"
        )


def run_plan_lock(args: argparse.Namespace) -> None:
    """Write the approval into a plan and leave the rest of the file as it is."""
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
    # The approval goes after the text, which is not parsed again: not every TOML that is read can be written unchanged.
    text = f"{plan_text(path).rstrip()}\n\n{tomlkit.dumps({'lock': section})}"
    write_private(path, text.encode(), replace=True)
    say(f"{path.name} is locked as {locked.number}, approved by {locked.by}; only replicates may grow")


def run_plan_document(args: argparse.Namespace) -> None:
    """Write a plan as a document that a board can approve."""
    from engine.plan import read_plan
    from engine.report.plan_document import plan_document, write_plan_document

    plan, counts = read_plan(Path(args.plan)), None
    if args.data:
        from engine.plan.recode import code
        from engine.plan.sources import open_source
        from engine.report.plan_counts import count_plan
        from engine.sweeps.sweep import table_for

        counts = count_plan(plan, code(table_for(open_source(args.data)[0], plan, announce=announce), plan))
    out = Path(args.out)
    write_plan_document(plan_document(plan, counts), out)
    say(f"wrote {out}")
    if not args.data:
        say("the document holds no counts; name the data with --data")
