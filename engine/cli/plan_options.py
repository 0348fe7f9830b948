"""Options that make or edit a plan, and the plan that they describe."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.cli.arguments import WHOLE, cut, measures, names, shown, whole_number
from engine.common.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.data.io.stream import RecordStream
    from engine.data.microdata import RawTable
    from engine.plan import Plan
    from engine.plan.context import SingleUse

FIRST_PLAN = ("cut", "carry", "drop", "weight", "id", "unit")
"""Options that describe a first plan and change no other."""


class _MechanismName(argparse.Action):
    """``--mechanism NAME`` opens the list that ``--param`` adds to."""

    def __call__(self, parser: object, namespace: argparse.Namespace, values: object, option: object = None) -> None:
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), (str(values), {})])


class _MechanismParameter(argparse.Action):
    """``--param K=V,V`` belongs to the mechanism before it."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: object = None
    ) -> None:
        mechanisms = getattr(namespace, self.dest) or []
        key, equals, text = str(values).partition("=")
        if not mechanisms:
            parser.error("--param belongs to the --mechanism before it; name one first")
        if not equals or not key.strip() or not text.strip():
            parser.error(f"--param {values}: write K=V or K=V,V such as w0=0.8,0.9")
        mechanisms[-1][1][key.strip()] = [part.strip() for part in text.split(",")]


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """Options that make or edit a plan."""
    group = parser.add_argument_group(
        "plan options",
        "With --plan these options edit the plan in FILE, without it they describe a plan; a sample has its own plan."
        " In a list a name that holds a comma stands in double quotes: --keys '\"a,b\",c'.",
    )
    group.add_argument("--plan", metavar="FILE", help="a plan.toml; `frontier plan init DATA` writes a first one")
    _add_columns(group)
    _add_space(group)
    _add_mechanisms_and_measures(group)
    group.add_argument(
        "--max-risk", metavar="A", help="the bound on risk under which a release will be chosen after the sweep"
    )


def _add_columns(group: argparse._ArgumentGroup) -> None:
    """Options on columns: attributes with their three lists, and what stays with its record."""
    group.add_argument(
        "--attributes", type=names, metavar="A,B", help="attributes for all three lists: keys, swap, analyse"
    )
    group.add_argument("--keys", type=names, metavar="A,B", help="attributes that an intruder knows (risk)")
    group.add_argument("--swap", type=names, metavar="A,B", help="attributes that may be swapped")
    group.add_argument("--analyse", type=names, metavar="A,B", help="attributes that users tabulate (utility)")
    group.add_argument(
        "--cut",
        type=cut,
        action="append",
        metavar="COL=EDGES",
        help="cut a numeric column at edges, such as Age=25,55 (repeatable)",
    )
    group.add_argument("--carry", type=names, metavar="A,B", help="columns that stay with their record")
    group.add_argument("--drop", type=names, metavar="A,B", help="columns that never leave")
    group.add_argument(
        "--weight", metavar="COLUMN", help="the weight; stays with its record, released only where it is included"
    )
    group.add_argument("--id", metavar="COLUMN", help="the id; released only as a new id, where it is included")
    group.add_argument(
        "--unit",
        type=names,
        metavar="A,B",
        help="the column that numbers households, or the columns that do so together; released likewise",
    )
    group.add_argument(
        "--places",
        type=names,
        metavar="A,B",
        help="exchange whole households between these places, coarse to fine, in place of the random swap, and measure "
        "at each level",
    )


def _add_space(group: argparse._ArgumentGroup) -> None:
    """Options on the space of specs, rates and replicates."""
    group.add_argument(
        "--rates", type=names, metavar="R,R", help="swap rates as shares of records, such as 0.01,0.02,0.10"
    )
    group.add_argument(
        "--swap-sizes", type=names, metavar="K,K", help="try every choice of that many swapped attributes, such as 1,2"
    )
    group.add_argument(
        "--all-specs", action="store_true", default=None, help="try every role S, F, C, U of every attribute"
    )
    group.add_argument(
        "--search",
        action="store_true",
        default=None,
        help="look for the frontier of all roles of all attributes, without trying every one (implies --adaptive)",
    )
    group.add_argument(
        "--budget", type=whole_number, metavar="N", help="the most scenarios of the random swap that --search looks at"
    )
    group.add_argument(
        "--adaptive",
        action="store_true",
        default=None,
        help="run few replicates of scenarios that others clearly dominate and all of the rest, under a bound on risk "
        "up to five times as many until the choice is settled; then fresh ones of the frontier",
    )
    group.add_argument(
        "--screen", type=whole_number, metavar="N", help="replicates that every scenario gets (--adaptive)"
    )
    group.add_argument(
        "--spec", action="append", metavar="SPEC", help='one spec in text form, such as "Age:S Race:F" (repeatable)'
    )
    group.add_argument(
        "--fix", type=names, metavar="A,B", help="attributes on which partners must be equal (F) in every spec"
    )
    group.add_argument(
        "--change", type=names, metavar="A,B", help="attributes on which partners must differ (C) in every spec"
    )


def _add_mechanisms_and_measures(group: argparse._ArgumentGroup) -> None:
    """Options on how to draw and what to measure."""
    group.add_argument(
        "--mechanism",
        dest="mechanisms",
        action=_MechanismName,
        metavar="NAME",
        help="a mechanism in place of the plan's (repeatable); `frontier mechanisms` lists them",
    )
    group.add_argument(
        "--param",
        dest="mechanisms",
        action=_MechanismParameter,
        metavar="K=V,V",
        help="values of a parameter of the mechanism before it (repeatable)",
    )
    group.add_argument("--rule", choices=("strict", "loose"), help="what counts as a true swap")
    group.add_argument(
        "--measures",
        type=measures,
        metavar="NAMES",
        help="measures such as small_cells[n_rule=5],hellinger; `frontier measures` lists them",
    )


def plan_of(
    args: argparse.Namespace,
    raw: RawTable | RecordStream,
    sample_plan: Plan | None,
    study_plan: Plan | None = None,
) -> Plan:
    """The plan that the options describe: from a file, else the study's own, else the sample's, else a first guess;
    then edited."""
    from engine.measures.planned import check_decision, planned_calls
    from engine.mechanisms import mechanism
    from engine.plan import MechanismPlan, edit_plan, read_plan
    from engine.plan.column_assignment import check_seen

    first_plan_options = {name: getattr(args, name) for name in FIRST_PLAN}
    if args.plan:
        base = read_plan(args.plan)
        if study_plan is None:
            check_seen(base.data, raw.names)
    elif study_plan is not None:
        base = study_plan
    elif sample_plan is not None:
        base = sample_plan
    else:
        base = _guessed(args, raw)
        first_plan_options = {}
    used = [f"--{name}" for name, value in first_plan_options.items() if value]
    if used and study_plan is None:
        raise UsageError(
            f"{used[0]} describes a first plan and cannot change this one; write it into the plan's [data] section "
            "instead"
        )
    if study_plan is None:
        base = with_named_columns(base, raw, args.attributes, args.keys, args.swap, args.analyse)
    replicates = getattr(args, "replicates", None)
    mechanisms = None
    if args.mechanisms is not None:
        mechanisms = [MechanismPlan.of(name, grid) for name, grid in args.mechanisms]
    plan = edit_plan(
        base,
        attributes=args.attributes,
        keys=args.keys,
        swap=args.swap,
        analyse=args.analyse,
        rates=args.rates,
        swap_sizes=_swap_sizes(args.swap_sizes),
        all_specs=args.all_specs,
        specs=args.spec,
        search=args.search,
        budget=args.budget,
        adaptive=args.adaptive,
        screen=args.screen,
        fix=args.fix,
        change=args.change,
        rule=args.rule,
        measures=args.measures,
        mechanisms=mechanisms,
        replicates=replicates,
        max_risk=args.max_risk,
    )
    check_decision(plan, planned_calls(plan))
    for declared in plan.mechanisms:
        mechanism(declared.name).check_grid(declared.grid)
    return (
        plan
        if args.places is None
        else _exchanging(plan, _in_memory(raw), args.places, keep_measures=args.measures is not None)
    )


def with_named_columns(plan: Plan, raw: RawTable | RecordStream, *lists: Sequence[str] | None) -> Plan:
    """The plan whose blocks are named by the columns in ``lists``, which may name some of them."""
    from engine.data.microdata import RawTable
    from engine.plan.reshape import led_by

    return led_by(raw, plan, [name for names in lists for name in names or ()]) if isinstance(raw, RawTable) else plan


def _guessed(args: argparse.Namespace, raw: RawTable | RecordStream) -> Plan:
    """The first guess at a plan, with the uses of columns that the options name."""
    from engine.plan import guess_plan

    return guess_plan(
        _in_memory(raw),
        attributes=args.attributes,
        carry=args.carry or (),
        drop=args.drop or (),
        weight=args.weight,
        id=args.id,
        unit=tuple(args.unit) if args.unit else None,
        cut=dict(args.cut or ()),
    )


def _in_memory(raw: RawTable | RecordStream) -> RawTable:
    """The records that a plan is guessed from."""
    from engine.data.microdata import RawTable

    if not isinstance(raw, RawTable):
        raise UsageError(
            f"'{raw.source}' is read by streaming, so no plan can be guessed from its records; give one with --plan, "
            "made from a part of the data with `frontier plan init`"
        )
    return raw


def first_plan_of(args: argparse.Namespace, raw: RawTable) -> Plan:
    """The first plan of a file with the uses of columns that the options name, which are then taken care of."""
    from engine.plan import AttributePlan, first_plan
    from engine.plan.accept import take_out
    from engine.plan.reshape import add_attribute, set_unit, set_use

    plan, cuts = first_plan(raw), dict(args.cut or ())
    single: list[tuple[str | None, SingleUse]] = [(args.weight, "weight"), (args.id, "id")]
    named = [*(column for column, _ in single if column is not None), *(args.unit or ())]
    for column in (*named, *(args.carry or ()), *(args.drop or ()), *cuts):
        if column not in raw.columns:
            raise UsageError(f"unknown column '{column}'.{did_you_mean(column, raw.names)}")
    for column in args.drop or ():
        plan = set_use(plan, column, "drop")
    plan = take_out(plan, (*(args.carry or ()), *cuts))
    for column, edges in cuts.items():
        plan = add_attribute(plan, AttributePlan(column, cut=tuple(edges)))
    for column, use in single:
        if column is not None:
            plan = set_use(plan, column, use)
    plan = set_unit(plan, args.unit) if args.unit else plan
    for name in FIRST_PLAN:
        setattr(args, name, None)
    return plan


def _swap_sizes(texts: Sequence[str] | None) -> list[int] | None:
    if texts is None:
        return None
    if not all(WHOLE.fullmatch(size) for size in texts):
        raise UsageError(f"swap sizes == {shown(','.join(texts))}, must be whole numbers such as 1,2.")
    return [int(size) for size in texts]


def _exchanging(plan: Plan, raw: RawTable, places: Sequence[str], keep_measures: bool) -> Plan:
    """The plan that exchanges whole households between places."""
    from engine.plan.places import with_exchange
    from engine.plan.recode import code

    if plan.data.unit is None:
        raise UsageError("--places moves whole households; name the column that numbers them with --unit")
    attributes = [part.name for part in plan.attributes]
    for name in places:
        if name not in attributes:
            raise UsageError(f"--places names '{name}', which is no attribute.{did_you_mean(name, attributes)}")
    plan_of_households = with_exchange(plan, code(raw, plan), places)
    return replace(plan_of_households, measures=plan.measures) if keep_measures else plan_of_households
