"""The commands that propose what a plan should say, from the records and a codebook, and count what it asks for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.options import plan_of
from engine.common.errors import UsageError, did_you_mean
from engine.common.os_support import write_private
from engine.common.output import say, write_file_text
from engine.common.public_wording import duration

if TYPE_CHECKING:
    from engine.data.microdata import Microdata, RawTable
    from engine.plan import Dependencies, Plan, Proposal
    from engine.release.space import Space
    from engine.sweeps.space_count import Counted


def run_plan_propose(args: argparse.Namespace) -> None:
    """List what the records suggest; accept some of it and write the plan."""
    from engine.plan import dependencies, plan_to_toml, propose
    from engine.plan.samples import open_data

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
        say(f"accepted {len(accepted)}: {', '.join(p.key for p in accepted)}", file=sys.stderr)
    waiting = propose(raw, plan, found)
    where = sys.stderr if args.out == "-" else sys.stdout
    for proposal in waiting:
        say(f"{proposal.key}\n  {proposal.sentence}\n  {proposal.effect}", file=where)
    if not waiting:
        say("nothing more to propose", file=where)
    if plan is not None and args.out:
        if args.out == "-":
            write_file_text(plan_to_toml(plan))
        else:
            write_private(Path(args.out), plan_to_toml(plan).encode())
            say(f"wrote {args.out}; check it, then: frontier space {args.data} --plan {args.out}")


def _start(args: argparse.Namespace, raw: RawTable) -> tuple[Plan | None, RawTable]:
    """The plan to begin with (None: nothing is to be changed or compared), and the table with a codebook's labels."""
    from engine.plan import edit_plan, first_plan, read_plan

    plan = read_plan(args.plan) if args.plan else None
    if args.codebook:
        from engine.plan.codebook import apply_codebook, with_labels
        from engine.plan.codebook_file import read_codebook

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


def run_space(args: argparse.Namespace) -> None:
    """Count candidates and estimate the time."""
    from collections import Counter

    from engine.plan.recode import code
    from engine.plan.samples import open_data
    from engine.release.space import Space
    from engine.release.space_size import n_specs
    from engine.release.spec import percent
    from engine.sweeps.candidates import release_warnings, scenarios_of
    from engine.sweeps.probe import estimate, probed
    from engine.sweeps.space_count import space_or_count

    raw, sample_plan = open_data(args.data)
    plan = plan_of(args, raw, sample_plan)
    data = code(raw, plan)
    asked, table, found = plan.space, data.table, space_or_count(plan, data)
    others = scenarios_of(plan, data, listed=False)[0]
    say(
        f"{data.n_records:,} records in {len(table):,} occupied cells of {len(data.domain)} attributes, "
        f"{table.n_below(3):,} of them with one or two records"
    )
    for warning in release_warnings(data, plan):
        say(f"warning: {warning}")
    rates, (specs, n_scenarios) = ", ".join(percent(rate) for rate in asked.rates), probed(plan, found, others)
    known, parts = n_scenarios, []
    if found:
        if isinstance(found, Space):
            _say_space(plan, data, found)
        else:
            _say_counts(plan, data, found)
        parts.append(f"{found.distinct:,} specs at {rates}")
    elif asked.search and plan.swaps_at_random:
        of = n_specs(table, plan.swap, asked.fix, asked.change, asked.rule, data.has_carried_columns)
        looked = min(of, asked.budget // len(asked.rates))
        say(f"specs: {of:,} distinct ones, of which the search looks at {looked:,} at most")
        parts.append(f"{looked:,} specs at {rates}")
        n_scenarios += looked * len(asked.rates)
    parts += [f"{n:,} of {name}" for name, n in Counter(spec.mechanism for spec in others).items()]
    say(f"scenarios: {n_scenarios:,} ({'; '.join(parts)})")
    total, seconds = estimate(plan, data, specs=specs, total=known)
    most = "at most " if asked.adaptive or asked.search else ""
    each = f"{asked.screen} to {asked.replicates}" if most else f"{asked.replicates}"
    say(f"runs: {most}{total:,} ({each} replicates of each scenario)")
    say(f"estimated time: {most}{duration(seconds)}")


def _say_space(plan: Plan, data: Microdata, found: Space) -> None:
    """The specs of a space, and what is wrong with some."""
    from engine.release.space import scenarios
    from engine.sweeps.candidates import predicted_failures, remarks

    say(f"specs: {found.legal:,} legal, {found.feasible:,} feasible, {found.distinct:,} distinct to run")
    for remark in remarks(plan, found, data.n_records):
        say(f"  {remark}")
    if found.distinct * len(plan.space.rates) <= 5000:
        failing = predicted_failures(scenarios(found.specs, plan.space.rates, plan.space.rule), data.table)
        for doomed, reason in failing[:3]:
            say(f"  '{doomed}' will fail: {reason}")
        if len(failing) > 3:
            say(f"  ... {len(failing):,} scenarios will fail in all")


def _say_counts(plan: Plan, data: Microdata, many: Counted) -> None:
    """The specs of a space too large to look at each."""
    from engine.sweeps.candidates import rounded

    say(f"specs: {many.legal:,} legal, {many.feasible:,} feasible, {many.distinct:,} distinct to run")
    if many.n_impossible:
        say(f"  {many.n_impossible:,} specs cannot work in all")
    for remark in rounded(plan, data.n_records):
        say(f"  {remark}")
