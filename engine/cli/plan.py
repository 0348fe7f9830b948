"""The commands on plans: first plan, check against a file, proposals, approval, document, count of candidates."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from engine.cli.options import (
    DATA_HELP,
    OPTIONS,
    add_command,
    add_names_option,
    add_plan_options,
    add_stream_option,
    first_plan_of,
    first_records_of,
    names,
    plan_of,
    source_of,
    with_named_columns,
)
from engine.common.errors import Remedy, UsageError, did_you_mean
from engine.common.os_support import write_private
from engine.common.output import announce, say, write_file_text
from engine.common.wording import listed, rough_duration

if TYPE_CHECKING:
    from engine.cli.options import Commands
    from engine.data.microdata import Microdata, RawTable
    from engine.plan import Dependencies, Plan, Proposal
    from engine.plan.mismatches import Mismatch
    from engine.release.space import Space
    from engine.sweeps.candidates import Counted


def add_commands(commands: Commands) -> None:
    """Add plan with its commands."""
    plan = add_command(commands, "plan", lambda args: None, "write or check a plan")
    plans = plan.add_subparsers(title="commands", metavar="COMMAND", required=True)
    init = add_command(plans, "init", run_plan_init, "write a first plan for a file, to be edited")
    init.add_argument("data", metavar="DATA", help=DATA_HELP)
    init.add_argument(
        "--out", default="plan.toml", metavar="FILE", help="the file to write (default plan.toml; - prints the plan)"
    )
    add_names_option(init)
    add_plan_options(init)
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
    add_names_option(document)
    document.add_argument("--out", required=True, metavar="FILE", help="a new file that ends in .docx or .html")


def run_plan_init(args: argparse.Namespace) -> None:
    """Write a first plan."""
    from engine.plan import plan_init_text, plan_to_toml, propose
    from engine.plan.guess import reasons
    from engine.plan.propose import carried_remark

    raw, sample_plan = first_records_of(args)
    is_guess = sample_plan is None and args.plan is None
    plan = plan_of(args, raw, first_plan_of(args, raw) if is_guess else sample_plan)
    text = plan_init_text(plan, propose(raw, plan), reasons(raw, plan)) if is_guess else plan_to_toml(plan)
    _check_new(args.out)
    _write(text, args.out)
    if args.out == "-":
        return
    if is_guess and plan.data.carry:
        announce(carried_remark(plan))
    out = Path(args.out)
    say(f"wrote {out}; read it, edit it, then: frontier space {args.data} --plan {out}")
    if is_guess:
        say(
            f"to accept what the records suggest: frontier plan propose {args.data} --plan {out} --accept all --out NEW"
        )


def _check_new(out: str | None) -> None:
    """Refuse the name of a file that exists."""
    if out and out != "-" and Path(out).exists():
        raise UsageError(f"'{Path(out).name}' exists already; name another file with --out")


def _write(text: str, out: str) -> None:
    """Write the text of a plan to a new file; ``-`` prints it."""
    if out == "-":
        write_file_text(text)
    else:
        write_private(Path(out), text.encode())


def run_plan_lock(args: argparse.Namespace) -> None:
    """Write the approval into a plan and leave the rest of the file as it is."""
    import tomlkit

    from engine.plan import read_plan
    from engine.plan.differences import lock
    from engine.plan.toml import plan_text

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
        from engine.plan.coding import code
        from engine.plan.samples import open_source
        from engine.report.plan_document import count_plan
        from engine.sweeps.sweep import table_for

        counts = count_plan(
            plan,
            code(table_for(open_source(args.data, clean_names=args.clean_names)[0], plan, announce=announce), plan),
        )
    out = Path(args.out)
    write_plan_document(plan_document(plan, counts), out)
    say(f"wrote {out}")
    if not args.data:
        say("the document holds no counts; name the data with --data")


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
    from engine.plan.check import mismatches, points_between_thousands
    from engine.plan.coding import code, tabulate
    from engine.plan.propose import unused_weight
    from engine.sweeps.sweep import plan_problems
    from engine.sweeps.warnings import carried_identifiers, torn_units

    if bool(args.fix) != bool(args.out):
        raise UsageError("--fix and --out belong together: one says how to settle what differs, one where to write it")
    _check_new(args.out)
    plan = read_plan(args.plan)
    raw = tabulate(source_of(args)[0], plan)
    for text in args.fix:
        plan = _settled(plan, raw, text)
    stream = sys.stderr if args.out == "-" else sys.stdout
    found = mismatches(plan, raw)
    _list(plan, raw, found, stream)
    remarks: list[str] = []
    problems = [] if found else plan_problems(plan, raw, remarks.append)
    for problem in problems:
        say(problem, file=stream)
    if not found and not problems:
        data = code(raw, plan)
        told = (*torn_units(data, plan), *carried_identifiers(data), *points_between_thousands(plan, raw), *remarks)
        for warning in told:
            say(f"warning: {warning}", file=stream)
        if weight := unused_weight(raw, plan):
            say(f"warning: the plan has no weight. {weight.sentence}", file=stream)
        unmeasured = unmeasured_uses(plan)
        for use in unmeasured:
            say(f"warning: {use.sentence}", file=stream)
        if any(use.attribute for use in unmeasured):
            say(f"to rename: {OPTIONS[Remedy.RENAME]}", file=stream)
    if args.out:
        _write(plan_to_toml(plan), args.out)
    if args.out and args.out != "-":
        say(f"wrote {args.out}")
    if not found and not problems:
        say("the plan fits the data", file=stream)
    return 1 if found or problems else 0


def _settled(plan: Plan, raw: RawTable, text: str) -> Plan:
    """The plan with one ``WHICH=FIX`` carried out."""
    from engine.plan.check import mismatches, settle
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
    from engine.plan.check import fixes

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


def add_propose_command(plans: Commands) -> None:
    """Add plan propose."""
    parser = add_command(
        plans,
        "propose",
        run_plan_propose,
        "list the blocks, skips, ids, weights, missing codes, households and places that a file shows",
    )
    parser.add_argument("data", metavar="DATA", help=DATA_HELP)
    add_names_option(parser)
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
    _check_new(args.out)
    raw = first_records_of(args)[0]
    plan, raw = _first_plan(args, raw)
    depending = dependencies(raw)
    if args.accept:
        assert plan is not None
        plan, accepted = _accept(raw, plan, depending, args.accept)
        say(f"accepted {len(accepted)}{': ' * bool(accepted)}{', '.join(p.key for p in accepted)}", file=sys.stderr)
    proposals = propose(raw, plan, depending)
    stream = sys.stderr if args.out == "-" else sys.stdout
    for proposal in proposals:
        say(f"{proposal.key}\n  {proposal.sentence}\n  {proposal.effect}", file=stream)
    if not proposals:
        say("nothing more to propose", file=stream)
    if plan is not None and args.out:
        _write(plan_to_toml(plan), args.out)
        if args.out != "-":
            say(f"wrote {args.out}; check it, then: frontier space {args.data} --plan {args.out}")


def _first_plan(args: argparse.Namespace, raw: RawTable) -> tuple[Plan | None, RawTable]:
    """The plan to begin with (None: nothing is to be changed or compared), and the table with a codebook's labels."""
    from engine.plan import edit_plan, first_plan, read_plan
    from engine.plan.entries import labelled_as_far

    plan = read_plan(args.plan) if args.plan else None
    if plan is not None:
        raw = labelled_as_far(raw, plan.data.columns)
    if args.codebook:
        from engine.plan.codebook import apply_codebook, read_codebook, with_labels

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
    from engine.plan.doubts import PROPOSALS as KINDS
    from engine.plan.propose import accept_all

    proposed = (*propose(raw, None, depending), *propose(raw, plan, depending))
    known = dict.fromkeys((*KINDS, "all", *(proposal.key for proposal in proposed)))
    spelt = {key.strip(): key for key in known}  # a value may end in blanks
    names = [name if name in known else spelt.get(name, name) for name in names]
    for name in names:
        if name not in known:
            raise UsageError(f"--accept names the unknown proposal '{name}'.{did_you_mean(name, known)}")
    done = accept_all(
        raw, plan, depending, lambda p: p.key in names or (p.certain and ("all" in names or p.kind in names))
    )
    for _, error in done.refused:
        raise error
    return done.plan, [*done.accepted]


def add_space(commands: Commands) -> None:
    """Add space."""
    space = add_command(commands, "space", run_space, "count the candidates of a plan and estimate the time of a sweep")
    space.add_argument("data", metavar="DATA", help=DATA_HELP)
    add_plan_options(space)
    add_stream_option(space)


def run_space(args: argparse.Namespace) -> None:
    """Count candidates and estimate the time."""
    from engine.plan.coding import code
    from engine.release.space import Space
    from engine.sweeps.adaptive import most_runs
    from engine.sweeps.candidates import (
        check_meaning,
        n_complete,
        per_spec,
        scenarios_of,
        space_or_count,
        swap_remarks,
    )
    from engine.sweeps.probe import estimate, probed
    from engine.sweeps.sweep import check_single_columns, table_for

    began = time.perf_counter()
    source, sample_plan = source_of(args)
    plan = plan_of(args, source, sample_plan)
    raw = table_for(source, plan, announce=announce)
    data = code(raw, plan)
    check_single_columns(data)
    read = time.perf_counter() - began
    asked, table, counted = plan.space, data.table, space_or_count(plan, data)
    said: list[str] = []
    others = scenarios_of(plan, data, listed=False, tell=said.append)[0]
    check_meaning(plan, others)
    say(
        f"{data.n_records:,} records{_in_households(data)} in {len(table):,} occupied cells of {len(data.domain)} "
        f"attributes, {table.n_below(3):,} of them with one or two records"
    )
    _say_warnings(data, plan, list(dict.fromkeys([*said, *swap_remarks(plan, data, counted)])))
    rates, (specs, n_scenarios) = _amounts(plan), probed(plan, data, counted, others)
    n_listed, parts = n_scenarios, []
    if counted:
        if isinstance(counted, Space):
            _say_space(plan, data, counted)
        else:
            _say_counts(plan, data, counted)
        parts.append(f"{counted.distinct:,} specs at {rates}")
    elif asked.search and plan.swaps_at_random:
        n_distinct = n_complete(plan, data)
        n_searched = min(n_distinct, asked.budget // per_spec(plan))
        say(f"specs: {n_distinct:,} distinct ones, of which the search looks at {n_searched:,} at most")
        parts.append(f"{n_searched:,} specs at {rates}")
        n_scenarios += n_searched * per_spec(plan)
    parts += [f"{n:,} of {name}" for name, n in Counter(spec.mechanism for spec in others).items()]
    say(f"scenarios: {n_scenarios:,} ({'; '.join(parts)})")
    estimated = estimate(plan, data, specs=specs, total=n_listed, read=read)
    at_most = "at most " if asked.adaptive or asked.search else ""
    replicates = f"{asked.screen} to {asked.replicates}" if at_most else f"{asked.replicates}"
    say(f"runs: {at_most}{estimated.runs:,} ({replicates} replicates of each scenario)")
    if (most := most_runs(plan)) > asked.replicates:
        say(f"  and up to {most:,} of each scenario on which the choice under the limit depends")
    say(f"estimated time: {at_most}{rough_duration(estimated.seconds)}")


def _in_households(data: Microdata) -> str:
    return "" if data.units is None else f" of {len(data.units):,} households"


def _say_warnings(data: Microdata, plan: Plan, said: list[str]) -> None:
    """Print warnings about releases, and what mechanisms ``said`` of their candidates."""
    from engine.measures.planned import unmeasured_uses
    from engine.sweeps.warnings import method_remarks, release_warnings, remark_text, torn_units

    for warning in (*torn_units(data, plan), *release_warnings(data, plan)):
        say(f"warning: {warning}")
        for detail in warning.details:
            say(f"  {detail}")
    for use in unmeasured_uses(plan):
        say(f"warning: {use.sentence}")
    for remark in method_remarks(said):
        say(f"  {remark_text(remark)}")


def _say_space(plan: Plan, data: Microdata, listed: Space) -> None:
    """Print the counts of a space's specs, and problems of some of them."""
    from engine.release.space import scenarios
    from engine.sweeps.candidates import per_spec, swap_ways
    from engine.sweeps.warnings import failure_text, predicted_failures, remark_text, space_remarks

    say(f"specs: {listed.legal:,} legal, {listed.feasible:,} feasible, {listed.distinct:,} distinct to run")
    for remark in space_remarks(plan, listed, data.n_records):
        say(f"  {remark_text(remark)}")
    if listed.distinct * per_spec(plan) <= 5000:
        listed_scenarios = scenarios(listed.specs, plan.space.rates, plan.space.rule, swap_ways(plan))
        failing = predicted_failures(listed_scenarios, data.table)
        for failure in failing[:3]:
            say(f"  '{failure.spec}' will fail: {failure_text(failure)}")
        if len(failing) > 3:
            say(f"  ... {len(failing):,} scenarios in all will fail")


def _amounts(plan: Plan) -> str:
    """The rates of a plan, and in how many ways each swap is tried at them."""
    from engine.release.spec import percent
    from engine.sweeps.candidates import swap_ways

    ways = len(swap_ways(plan))
    return ", ".join(map(percent, plan.space.rates)) + (f", each in {ways:,} ways" if ways > 1 else "")


def _say_counts(plan: Plan, data: Microdata, counted: Counted) -> None:
    """Print the counts of the specs of a space that is too large to list."""
    from engine.sweeps.warnings import remark_text, zero_rates

    say(f"specs: {counted.legal:,} legal, {counted.feasible:,} feasible, {counted.distinct:,} distinct to run")
    if counted.n_impossible:
        say(f"  {counted.n_impossible:,} specs in all cannot work")
    for remark in zero_rates(plan, data.n_records):
        say(f"  {remark_text(remark)}")
