"""The command that proposes what a plan should say, from the records and from a codebook."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from engine.microdata import RawTable
    from engine.plan import Dependencies, Plan, Proposal


def run_plan_propose(args: argparse.Namespace) -> None:
    """List what the records suggest; accept some of it and write the plan."""
    from engine.datasets import open_data
    from engine.plan import dependencies, plan_to_toml, propose

    if args.accept and not args.out:
        raise UsageError("--accept changes a plan; say with --out where to write it (- prints it)")
    if args.out and args.out != "-" and Path(args.out).exists():
        raise UsageError(f"'{Path(args.out).name}' exists already; name another file with --out")
    raw = open_data(args.data)[0]
    plan, raw = _start(args, raw)
    found = dependencies(raw)
    if args.accept:
        assert plan is not None
        plan, accepted = _accept(raw, plan, found, args.accept)
        print(f"accepted {len(accepted)}: {', '.join(p.key for p in accepted)}", file=sys.stderr)
    waiting = propose(raw, plan, found)
    where = sys.stderr if args.out == "-" else sys.stdout
    for proposal in waiting:
        print(f"{proposal.key}\n  {proposal.sentence}\n  {proposal.effect}", file=where)
    if not waiting:
        print("nothing more to propose", file=where)
    if plan is not None and args.out:
        if args.out == "-":
            print(plan_to_toml(plan), end="")
        else:
            Path(args.out).write_text(plan_to_toml(plan), encoding="utf-8", newline="\n")
            print(f"wrote {args.out}; check it, then: frontier space {args.data} --plan {args.out}")


def _start(args: argparse.Namespace, raw: RawTable) -> tuple[Plan | None, RawTable]:
    """The plan to begin with (None: nothing is to be changed or compared), and the table with a codebook's labels."""
    from engine.plan import edit_plan, first_plan, read_plan

    plan = read_plan(args.plan) if args.plan else None
    if args.codebook:
        from engine.io.codebook import read_codebook
        from engine.plan.codebook import apply_codebook, with_labels

        codebook = read_codebook(args.codebook)
        plan, raw = apply_codebook(raw, codebook, plan), with_labels(raw, codebook)
    if plan is None and (args.out or args.attributes):
        plan = first_plan(raw)
    if plan is not None and args.attributes:
        plan = edit_plan(plan, attributes=args.attributes)
    return plan, raw


def _accept(raw: RawTable, plan: Plan, found: Dependencies, asked: Sequence[str]) -> tuple[Plan, list[Proposal]]:
    """Accept proposals of these kinds or keys ("all": every one), and those that open up by that."""
    from engine.plan import accept, propose
    from engine.plan.proposal import KINDS

    every = propose(raw, None, found)
    known = (*KINDS, "all", *(proposal.key for proposal in every))
    for word in asked:
        if word not in known:
            raise UsageError(f"--accept names the unknown proposal '{word}'.{did_you_mean(word, known)}")
    accepted: list[Proposal] = []
    while True:
        waiting = [p for p in propose(raw, plan, found) if "all" in asked or p.kind in asked or p.key in asked]
        if not waiting:
            return plan, accepted
        plan = accept(plan, waiting[0])
        accepted.append(waiting[0])
