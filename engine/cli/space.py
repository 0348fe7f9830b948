"""The command that counts what a plan asks for."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from engine.cli.arguments import whole
from engine.cli.parser import DATA_HELP, add_command
from engine.cli.plan_options import add_plan_options, plan_of
from engine.common.output import say
from engine.common.wording import duration

if TYPE_CHECKING:
    from engine.cli.parser import Commands
    from engine.data.microdata import Microdata
    from engine.plan import Plan
    from engine.release.space import Space
    from engine.sweeps.space_count import Counted


def add_commands(commands: Commands) -> None:
    """Add space."""
    space = add_command(commands, "space", run_space, "count the candidates of a plan and estimate the time of a sweep")
    space.add_argument("data", metavar="DATA", help=DATA_HELP)
    add_plan_options(space)
    space.add_argument("--replicates", type=whole, metavar="N", help="runs per scenario")


def run_space(args: argparse.Namespace) -> None:
    """Count candidates and estimate the time."""
    from collections import Counter

    from engine.plan.recode import code
    from engine.plan.samples import open_data
    from engine.release.space import Space
    from engine.release.space_size import n_specs
    from engine.release.spec import percent
    from engine.sweeps.candidates import scenarios_of
    from engine.sweeps.probe import estimate, probed
    from engine.sweeps.release_warnings import release_warnings
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
