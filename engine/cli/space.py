"""The command that counts what a plan asks for."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import TYPE_CHECKING

from engine.cli.arguments import whole_number
from engine.cli.parser import DATA_HELP, add_command
from engine.cli.plan_options import add_plan_options, plan_of
from engine.cli.source_options import add_stream_option, source_of
from engine.common.output import say
from engine.common.progress import announce
from engine.common.wording import rough_duration

if TYPE_CHECKING:
    from engine.cli.parser import Commands
    from engine.data.microdata import Microdata
    from engine.plan import Plan
    from engine.release.space import Space
    from engine.sweeps.candidates import Counted


def add_commands(commands: Commands) -> None:
    """Add space."""
    space = add_command(commands, "space", run_space, "count the candidates of a plan and estimate the time of a sweep")
    space.add_argument("data", metavar="DATA", help=DATA_HELP)
    add_plan_options(space)
    add_stream_option(space)
    space.add_argument("--replicates", type=whole_number, metavar="N", help="runs per scenario")


def run_space(args: argparse.Namespace) -> None:
    """Count candidates and estimate the time."""
    from engine.plan.recode import code
    from engine.release.space import Space
    from engine.sweeps.adaptive import most_runs
    from engine.sweeps.candidates import n_complete, per_spec, scenarios_of, space_or_count
    from engine.sweeps.meaning import check_meaning
    from engine.sweeps.probe import estimate, probed
    from engine.sweeps.sweep import check_single_columns, table_for

    loaded, began = time.process_time(), time.perf_counter()
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
    _say_warnings(data, plan, list(dict.fromkeys(said)))
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
    estimated = estimate(plan, data, specs=specs, total=n_listed, read=read, started=loaded)
    at_most = "at most " if asked.adaptive or asked.search else ""
    replicates = f"{asked.screen} to {asked.replicates}" if at_most else f"{asked.replicates}"
    say(f"runs: {at_most}{estimated.runs:,} ({replicates} replicates of each scenario)")
    if (most := most_runs(plan)) > asked.replicates:
        say(f"  and up to {most:,} of each scenario on which the choice under the bound depends")
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
