"""Options that commands share: their values, the plan, data and map that they describe, and remedies of errors."""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn

from engine.common.errors import EngineError, Remedy, UsageError, did_you_mean
from engine.common.output import Ticker, announce
from engine.common.wording import printable, quoted

if TYPE_CHECKING:
    from engine.data.io.stream import RecordStream
    from engine.data.microdata import RawTable
    from engine.frontier.risk_utility_map import RiskUtilityMap
    from engine.plan import Plan
    from engine.plan.entries import SingleUse
    from engine.plan.schema import Entry
    from engine.study.study import Study
    from engine.sweeps.runner import RunOptions


DATA_HELP = (
    "a sample's name (see `frontier datasets`) or a CSV, Parquet, SPSS, Stata or SAS file, or a folder of CSV or "
    "Parquet files"
)


class Parser(argparse.ArgumentParser):
    """A parser whose errors quote arguments without control codes of a terminal, and that has some options only once
    it is used."""

    later: Callable[[Parser], None] | None = None

    def complete(self) -> None:
        """Add the options that were put off."""
        later, self.later = self.later, None
        if later is not None:
            later(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments with all options."""
        self.complete()
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print the error and leave with exit code 2."""
        super().error(printable(message))


if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Parser]


def add_command(commands: Commands, name: str, run: Callable[[argparse.Namespace], int | None], summary: str) -> Parser:
    """Add the command ``name`` that calls ``run`` with its arguments; returns its parser, for its options."""
    parser = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
    parser.set_defaults(run=run, command=parser)
    return parser


WHOLE = re.compile(r"\s*[+-]?[0-9]{1,9}\s*")


def check_texts(argv: Sequence[str]) -> None:
    """Refuse arguments of bytes that are no text: no file that is written can hold them."""
    for position, text in enumerate(argv, 1):
        if any("\ud800" <= sign <= "\udfff" for sign in text):
            raise UsageError(
                f"argument {position} holds bytes that are no text; rename the file, or type the name again"
            )


def names(text: str) -> list[str]:
    """``A,B`` as a list; a name that holds a comma, or blanks at an end, stands in double quotes."""
    try:
        items = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        raise argparse.ArgumentTypeError(
            f"{quoted(text)} is no list of names; write A,B in one line, with both quotes"
        ) from None
    quoted_names = {name for name in items if '"' + name.replace('"', '""') + '"' in text}
    return [name if name in quoted_names else name.strip() for name in items if name.strip()]


def measures(text: str) -> list[str]:
    """Measures separated by commas outside brackets: ``small_cells[n_rule=5],hellinger``."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def cut(text: str) -> tuple[str, list[float]]:
    """``Age=25,55`` as a column and its edges."""
    column, equals, edges = text.rpartition("=")
    try:
        if not equals or not column:
            raise ValueError
        return column.strip(), [number(edge) for edge in edges.split(",")]
    except (ValueError, argparse.ArgumentTypeError):
        raise argparse.ArgumentTypeError(
            f"{quoted(text)} is no cut; write COLUMN=EDGE,EDGE such as Age=25,55"
        ) from None


def whole_number(text: str) -> int:
    """A whole number of at most nine digits."""
    if not WHOLE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{quoted(text)} is no whole number of at most nine digits")
    return int(text)


def workers(text: str) -> int:
    """A number of processes."""
    return _within(text, 1, 1024, "a number of processes is 1 to 1,024")


def port(text: str) -> int:
    """A port of this machine."""
    return _within(text, 1, 65_535, "a port is 1 to 65,535")


def _within(text: str, low: int, high: int, range_text: str) -> int:
    value = whole_number(text)
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"{quoted(text)}: {range_text}")
    return value


def number(text: str) -> float:
    """A number such as 0.014."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise argparse.ArgumentTypeError(f"{quoted(text)} is no number; write it such as 0.014")
    return value


_FOR_A_PLAN = 500_000  # records


def add_names_option(parser: argparse.ArgumentParser) -> None:
    """Add how names of columns are read."""
    parser.add_argument(
        "--clean-names",
        action="store_true",
        help="read columns under clean names where theirs are empty, given twice or hold signs that cannot be seen",
    )


def add_stream_option(parser: argparse.ArgumentParser) -> None:
    """Add how the data are read."""
    add_names_option(parser)
    parser.add_argument(
        "--stream",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="read the data by streaming: count the records and keep none in memory (default: large files "
        "and folders, and studies that were made so)",
    )


def source_of(args: argparse.Namespace, study: Study | None = None) -> tuple[RawTable | RecordStream, Plan | None]:
    """The data that the arguments name, read as they say, else as ``study`` was made: with the plan of a sample."""
    from engine.plan.samples import open_source

    stream = args.stream
    if stream is None and study is not None:
        stream = "streamed" in study.about
    return open_source(args.data, stream, args.clean_names)


def first_records_of(args: argparse.Namespace) -> tuple[RawTable, Plan | None]:
    """The data from which a plan is made, with the plan of a sample: of a source that is read by streaming the first
    records, which is said."""
    from engine.common.output import announce
    from engine.data.io.stream import first_records
    from engine.data.microdata import RawTable
    from engine.plan.samples import open_source

    source, plan = open_source(args.data, clean_names=args.clean_names)
    if isinstance(source, RawTable):
        return source, plan
    records = first_records(source, _FOR_A_PLAN)
    announce(
        f"'{source.source}' is read by streaming: this looks at its first {records.n_records:,} records alone, so "
        "check the plan against all of them"
    )
    return records, plan


def table_of(args: argparse.Namespace, study: Study) -> RawTable:
    """The records, or the counts of them, for a study that was made of them."""
    from engine.sweeps.sweep import table_for

    return table_for(source_of(args, study)[0], study.plan, study.measures)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the number of threads or processes and the address of a cluster."""
    parser.add_argument(
        "--workers", type=workers, metavar="N", help="threads or processes (default: as many as pay off)"
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="work on the Dask cluster whose scheduler is at tls://HOST:PORT (or tcp://127.0.0.1:PORT on this machine)",
    )


def add_filled_study(parser: argparse.ArgumentParser) -> None:
    """Add a study that is filled further, its data and its key, and where the work is done."""
    parser.add_argument("study", metavar="STUDY")
    parser.add_argument("--data", required=True, metavar="DATA", help=DATA_HELP)
    parser.add_argument("--key-file", metavar="PATH", help="the study key (default: STUDY.key)")
    add_stream_option(parser)
    add_run_options(parser)


def run_options(args: argparse.Namespace) -> RunOptions:
    """The options that were given, with progress on the screen; :class:`UsageError` where they exclude each other."""
    from engine.sweeps.runner import RunOptions
    from engine.sweeps.sweep import check_options

    ticker = Ticker()
    options = RunOptions(
        workers=args.workers,
        cluster=args.cluster,
        on_progress=ticker,
        on_time_left=ticker.time_left,
        announce=announce,
    )
    check_options(options)
    return options


def add_objective_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that :func:`map_of` reads."""
    parser.add_argument("--risk", metavar="MEASURE", help="risk measure (default: the plan's, else the first)")
    parser.add_argument("--utility", metavar="MEASURE", help="utility measure (default: the plan's, else the first)")
    parser.add_argument(
        "--objectives", type=measures, default=(), metavar="A,B,C", help="measures that define the frontier together"
    )
    parser.add_argument("--allow-partial", action="store_true", help="count failed runs too")


def map_of(study: Study, args: argparse.Namespace, *, fresh: bool = False) -> RiskUtilityMap:
    """The map of a study that the options select; with ``fresh``, of the runs of a recheck."""
    from engine.study.map_reader import risk_utility_map

    return risk_utility_map(
        study, args.risk, args.utility, objectives=args.objectives, allow_partial=args.allow_partial, fresh=fresh
    )


def unmet_lines(study: Study, view: RiskUtilityMap, bound: float | None, path: str) -> list[str]:
    """The remedies where no candidate meets a bound, and the commands for them; nothing where one does."""
    from engine.decision.bounds import unmet_bound
    from engine.decision.statements import words

    unmet = None if bound is None else unmet_bound(study, view, bound)
    if unmet is None:
        return []
    lines = list(map(words, unmet.statements))
    if unmet.next_rate:
        lines.append(f"to add a rate: frontier sweep DATA --study {path} --rates {unmet.next_rate} --extend")
    if unmet.coarse_keys:
        lines.append("to merge levels: edit the plan, then: frontier sweep DATA --study NEW --plan PLAN")
    return lines


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


_NAMES = {"type": names, "metavar": "A,B"}
_OWN: dict[str, tuple[dict[str, Any], str]] = {
    "plan": ({"metavar": "FILE"}, "a plan.toml; `frontier plan init DATA` writes a first one"),
    "attributes": (_NAMES, "attributes for all three lists: keys, swap, analyse"),
    "cut": (
        {"type": cut, "action": "append", "metavar": "COL=EDGES"},
        "cut a numeric column at edges, such as Age=25,55 (repeatable)",
    ),
    "places": (
        _NAMES,
        "exchange whole households between these places, coarse to fine, in place of the random swap, and measure at "
        "each level",
    ),
    "mechanism": (
        {"dest": "mechanisms", "action": _MechanismName, "metavar": "NAME"},
        "a mechanism in place of the plan's (repeatable); `frontier mechanisms` lists them",
    ),
    "param": (
        {"dest": "mechanisms", "action": _MechanismParameter, "metavar": "K=V,V"},
        "values of a parameter of the mechanism before it (repeatable)",
    ),
}
"""Options that are no entry of a plan."""
_OF_ENTRY: dict[str, dict[str, Any]] = {
    "rates": {"type": names, "metavar": "R,R"},
    "swap_sizes": {"type": names, "metavar": "K,K"},
    "spec": {"action": "append", "metavar": "SPEC", "dest": "specs"},
    "measures": {"type": measures, "metavar": "NAMES"},
    "max_risk": {"metavar": "A"},
    "weight": {"metavar": "COLUMN"},
    "id": {"metavar": "COLUMN"},
}
"""Forms of options that do not follow from the type of their entry."""
_PLAN_OPTIONS = (
    *("plan", "attributes", "keys", "swap", "analyse", "cut", "carry", "drop", "weight", "id", "unit", "places"),
    *("rates", "swap_sizes", "all_specs", "search", "budget", "adaptive", "screen", "spec", "fix", "change"),
    *("mechanism", "param", "rule", "measures", "max_risk", "replicates"),
)
"""Options that make or edit a plan, in the order of the help."""


def add_plan_options(parser: Parser) -> None:
    """Options that make or edit a plan, once the command is asked for: their declarations load NumPy."""
    parser.later = _add_plan_options


def _add_plan_options(parser: Parser) -> None:
    from engine.plan.schema import declared
    from engine.plan.types import DataPlan, DecisionPlan, Plan, SpacePlan

    group = parser.add_argument_group(
        "plan options",
        "With --plan these options edit the plan in FILE, without it they describe a plan; a sample has its own plan."
        " In a list a name that holds a comma stands in double quotes: --keys '\"a,b\",c'.",
    )
    entries = {**declared(Plan), **declared(DataPlan), **declared(SpacePlan), **declared(DecisionPlan)}
    for name in _PLAN_OPTIONS:
        if name in _OWN:
            form, words = _OWN[name]
        else:
            kind, _, said = entries["specs" if name == "spec" else name]
            form, words = _OF_ENTRY.get(name) or _form(kind, said), said.help or said.label
        group.add_argument(f"--{name.replace('_', '-')}", help=words, **form)


def _form(kind: object, said: Entry) -> dict[str, Any]:
    """The form of the option for an entry."""
    if kind is bool:
        return {"action": "store_true", "default": None}
    if kind is int:
        return {"type": whole_number, "metavar": "N"}
    return {"choices": said.choices} if said.choices else _NAMES


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
    from engine.plan.coding import check_seen
    from engine.plan.edit import PlanChanges, refuse_first_plan

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
    if study_plan is None:
        if args.plan or sample_plan is not None:
            refuse_first_plan(vars(args), "--")
        base = with_named_columns(base, raw, args.attributes, args.keys, args.swap, args.analyse)
    changes: dict[str, Any] = {name: getattr(args, name, None) for name in PlanChanges.__annotations__}
    changes["swap_sizes"] = _swap_sizes(args.swap_sizes)
    if args.mechanisms is not None:
        changes["mechanisms"] = [MechanismPlan.of(name, grid) for name, grid in args.mechanisms]
    plan = edit_plan(base, **changes)
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
    from engine.plan.edit import led_by

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
    from engine.plan.edit import FIRST_PLAN, add_attribute, set_unit, set_use, take_out

    plan, cuts = first_plan(raw), dict(args.cut or ())
    single: list[tuple[str | None, SingleUse]] = [(args.weight, "weight"), (args.id, "id")]
    named = [*(column for column, _ in single if column is not None), *(args.unit or ())]
    for column in (*named, *(args.carry or ()), *(args.drop or ()), *cuts):
        if column not in raw.columns:
            raise UsageError(f"unknown column '{column}'.{did_you_mean(column, raw.names)}")
    carried = (*(args.carry or ()), *cuts)
    if twice := [column for column in args.drop or () if column in carried]:
        raise UsageError(f"column '{twice[0]}' is named under --drop and to be kept; name it once")
    guess = plan.data  # which dropped such a column, or took it for the id, where nobody said otherwise
    left = tuple(column for column in guess.drop if column not in carried)
    plan = replace(plan, data=replace(guess, id=None if guess.id in carried else guess.id, drop=left))
    for column in args.drop or ():
        plan = set_use(plan, column, "drop")
    plan = take_out(plan, carried)
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
        raise UsageError(f"swap sizes == {quoted(','.join(texts))}, must be whole numbers such as 1,2.")
    return [int(size) for size in texts]


def _exchanging(plan: Plan, raw: RawTable, places: Sequence[str], keep_measures: bool) -> Plan:
    """The plan that exchanges whole households between places."""
    from engine.plan.coding import code
    from engine.plan.households import with_exchange

    if plan.data.unit is None:
        raise UsageError("--places moves whole households; name the column that numbers them with --unit")
    attributes = [part.name for part in plan.attributes]
    for name in places:
        if name not in attributes:
            raise UsageError(f"--places names '{name}', which is no attribute.{did_you_mean(name, attributes)}")
    plan_of_households = with_exchange(plan, code(raw, plan), places)
    return replace(plan_of_households, measures=plan.measures) if keep_measures else plan_of_households


OPTIONS = {
    Remedy.ADD_SAMPLE: "`frontier datasets add cps8d --from FILE`",
    Remedy.APPROVAL: "`frontier decide`, or --tier analyst",
    Remedy.APPROVED_CANDIDATE: "leave --candidate out",
    Remedy.ATTRIBUTES: "--attributes A,B",
    Remedy.ATTRIBUTES_AND_CUTS: "--attributes A,B and --cut COLUMN=EDGE,EDGE",
    Remedy.CANCEL: "`frontier cancel {study}`",
    Remedy.CANDIDATE: "--candidate ID",
    Remedy.CANDIDATE_OR_CHOICE: "--candidate ID, or `frontier choose`",
    Remedy.CLEAN_NAMES: "--clean-names",
    Remedy.CUT: '--cut "{column}={edges}"',
    Remedy.DESPITE: "--despite TEXT",
    Remedy.DEVIATION: "--deviation TEXT --by NAME",
    Remedy.DROP: "--drop {column}",
    Remedy.EARLIER: "--after STUDY, --after-all, or --unrelated WHY",
    Remedy.EXTEND: "--extend",
    Remedy.FAILED_RUNS: "--allow-partial",
    Remedy.FEWER_SWAPS: "--swap A,B or --search",
    Remedy.FIRST_PLAN: "`frontier plan init DATA`",
    Remedy.ID_COLUMN: "--id {column}, --carry {column} or --drop {column}",
    Remedy.IN_MEMORY: "--no-stream",
    Remedy.KEYS: "--keys A,B",
    Remedy.KEY_FILE: "--key-file PATH",
    Remedy.LOCK: "`frontier plan lock`",
    Remedy.MECHANISMS: "`frontier mechanisms`",
    Remedy.NAME: "--by NAME",
    Remedy.NEW_STUDY: "`frontier sweep DATA --study {study}`",
    Remedy.NO_CLUSTER: "leave --cluster out",
    Remedy.NUMBER: "--number NO",
    Remedy.NUMERIC_COLUMN: '--cut "{column}={edges}", --carry {column} or --drop {column}',
    Remedy.ONE_WORKER: "--workers 1",
    Remedy.OUTPUT: "--out",
    Remedy.REASON: "--why TEXT",
    Remedy.RECHECK: "`frontier recheck {study} --data DATA --candidate {candidate}`",
    Remedy.RECOMMEND: "`frontier choose`",
    Remedy.RENAME: "`frontier plan propose DATA --plan PLAN --accept name --out NEW`",
    Remedy.REPLICATES: "`frontier sweep ... --replicates 20 --extend`",
    Remedy.RULE: "--candidate ID, --max-risk A or --slope A",
    Remedy.SETTLE_COLUMNS: "`frontier plan check PLAN --data DATA --fix new=carry --out NEW`",
    Remedy.SMALLER_SPACE: "--search, --fix, --change, --swap or --swap-sizes",
    Remedy.SPACE: "--spec, --swap-sizes or --all-specs",
    Remedy.STREAM: "--stream",
    Remedy.SWEEP: "`frontier sweep`",
    Remedy.TAKE_BACK: "`frontier decide --state returned`",
}


def error_text(error: EngineError) -> str:
    """The sentence of an error, and after it the option or command that remedies it, where there is one."""
    return str(error) if error.remedy is None else f"{error} ({OPTIONS[error.remedy].format(**error.values)})"
