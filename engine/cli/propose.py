"""The command that lists what the records and a codebook suggest for a plan."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.arguments import names
from engine.cli.parser import DATA_HELP, add_command
from engine.cli.plan_options import with_named_columns
from engine.cli.source_options import first_records_of
from engine.common.errors import UsageError, did_you_mean
from engine.common.os_support import write_private
from engine.common.output import say, write_file_text

if TYPE_CHECKING:
    from engine.cli.parser import Commands
    from engine.data.microdata import RawTable
    from engine.plan import Dependencies, Plan, Proposal


def add_propose_command(plans: Commands) -> None:
    """Add plan propose."""
    parser = add_command(
        plans,
        "propose",
        run_plan_propose,
        "list the blocks, skips, ids, weights, missing codes, households and places that a file shows",
    )
    parser.add_argument("data", metavar="DATA", help=DATA_HELP)
    parser.add_argument("--plan", metavar="PLAN", help="list only what would change this plan")
    parser.add_argument(
        "--codebook", metavar="FILE", help="a CSV table with the columns name, label, role, block, missing ..."
    )
    parser.add_argument("--attributes", type=names, metavar="A,B", help="the columns that become attributes")
    parser.add_argument(
        "--accept",
        type=names,
        default=(),
        metavar="KIND,KEY",
        help="accept proposals by kind or key, or all; what only may be so is accepted by its key alone",
    )
    parser.add_argument("--out", metavar="FILE", help="write the plan to FILE (- prints it)")


def run_plan_propose(args: argparse.Namespace) -> None:
    """List what the records suggest; accept some of it and write the plan."""
    from engine.plan import dependencies, plan_to_toml, propose

    if args.accept and not args.out:
        raise UsageError("--accept changes a plan; say with --out where to write it (- prints it)")
    if args.out and args.out != "-" and Path(args.out).exists():
        raise UsageError(f"'{Path(args.out).name}' exists already; name another file with --out")
    raw = first_records_of(args)[0]
    plan, raw = _first_plan(args, raw)
    depending = dependencies(raw)
    if args.accept:
        assert plan is not None
        plan, accepted = _accept(raw, plan, depending, args.accept)
        say(f"accepted {len(accepted)}: {', '.join(p.key for p in accepted)}", file=sys.stderr)
    proposals = propose(raw, plan, depending)
    stream = sys.stderr if args.out == "-" else sys.stdout
    for proposal in proposals:
        say(f"{proposal.key}\n  {proposal.sentence}\n  {proposal.effect}", file=stream)
    if not proposals:
        say("nothing more to propose", file=stream)
    if plan is not None and args.out:
        if args.out == "-":
            write_file_text(plan_to_toml(plan))
        else:
            write_private(Path(args.out), plan_to_toml(plan).encode())
            say(f"wrote {args.out}; check it, then: frontier space {args.data} --plan {args.out}")


def _first_plan(args: argparse.Namespace, raw: RawTable) -> tuple[Plan | None, RawTable]:
    """The plan to begin with (None: nothing is to be changed or compared), and the table with a codebook's labels."""
    from engine.plan import edit_plan, first_plan, read_plan
    from engine.plan.column_labels import labelled_as_far

    plan = read_plan(args.plan) if args.plan else None
    if plan is not None:
        raw = labelled_as_far(raw, plan.data.columns)
    if args.codebook:
        from engine.plan.codebook import apply_codebook, with_labels
        from engine.plan.codebook_file import read_codebook

        codebook = read_codebook(args.codebook)
        plan, raw = apply_codebook(raw, codebook, plan), with_labels(raw, codebook)
    if plan is None and (args.out or args.attributes):
        plan = first_plan(raw)
    if plan is not None and args.attributes:
        plan = edit_plan(with_named_columns(plan, raw, args.attributes), attributes=args.attributes)
    return plan, raw


def _accept(raw: RawTable, plan: Plan, depending: Dependencies, names: Sequence[str]) -> tuple[Plan, list[Proposal]]:
    """Accept the proposals of these kinds or keys ("all": every one), also those that arise from accepting."""
    from engine.plan import propose
    from engine.plan.accept_all import accept_all
    from engine.plan.proposal import KINDS

    proposed = (*propose(raw, None, depending), *propose(raw, plan, depending))
    known = dict.fromkeys((*KINDS, "all", *(proposal.key for proposal in proposed)))
    for name in names:
        if name not in known:
            raise UsageError(f"--accept names the unknown proposal '{name}'.{did_you_mean(name, known)}")
    done = accept_all(
        raw, plan, depending, lambda p: p.key in names or (p.certain and ("all" in names or p.kind in names))
    )
    for _, error in done.refused:
        raise error
    return done.plan, [*done.accepted]
