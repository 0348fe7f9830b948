"""The commands that list mechanisms, measures and samples, and those that open the dashboard."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.options import DATA_HELP, add_command, port
from engine.common.errors import UsageError
from engine.common.os_support import user_folder
from engine.common.output import Ticker, announce, say, width_of

if TYPE_CHECKING:
    from engine.cli.options import Commands


BETTER = {"lower": "lower is better", "higher": "higher is better", "zero": "nearer to zero is better"}


def add_commands(commands: Commands) -> None:
    """Add mechanisms and measures."""
    for noun, run, what in (
        ("mechanism", run_mechanisms, "list the mechanisms; of one that is named, its parameters"),
        ("measure", run_measures, "list the measures of risk and utility; of one that is named, what it means"),
    ):
        command = add_command(commands, f"{noun}s", run, what)
        command.add_argument("name", nargs="?", metavar="NAME", help=f"a {noun}, to tell all about it")


def run_mechanisms(args: argparse.Namespace) -> None:
    """List the mechanisms, or tell all about one."""
    from engine.mechanisms import mechanism, names

    if args.name is None:
        _say_table(("mechanism", "what it does"), ((name, mechanism(name).title) for name in names()))
        say("one in full: frontier mechanisms NAME")
        return
    described = mechanism(args.name)
    say(described.name)
    _say_below(f"{described.title}; {described.source}")
    in_space = " The plan names its specs and rates in [space]." if described.by_roles else ""
    _say_below(f"Amount: {described.rate}.{in_space}")
    _say_below(f"When: {described.when}.")
    for parameter in described.parameters:
        legal = "|".join(parameter.choices) or " to ".join(filter(None, (parameter.low, parameter.high)))
        default = "must be given" if parameter.default is None else f"default {parameter.default or 'none'}"
        _say_below(f"{parameter.name} ({default}{'; ' + legal if legal else ''}): {parameter.meaning}")


def run_measures(args: argparse.Namespace) -> None:
    """List the measures, or tell all about one."""
    from engine.measures import MEASURES

    if args.name is None:
        rows = ((m.name, m.kind, BETTER[m.better].split()[0], m.title) for m in MEASURES.values())
        _say_table(("measure", "kind", "better", "what it measures"), rows)
        say("one in full, with range, unit, source and cost: frontier measures NAME")
        return
    measure = MEASURES.find(args.name)
    parameters = "; ".join(f"{key}={value}" for key, value in measure.parameters.items())
    say(f"{measure.name}" + (f"[{parameters}]" if parameters else ""))
    _say_below(
        f"{measure.title} ({measure.symbol}), {measure.kind}; {BETTER[measure.better]}; {measure.range}, "
        f"{measure.unit}; tabulates {measure.over}"
    )
    _say_below(f"{measure.meaning}")
    _say_below(f"Source: {measure.source}. Cost per candidate: {measure.cost}; needs {measure.needs}.")


def _say_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows of texts as a table, the last column cut where a terminal is narrower."""
    from engine.cli.show_table import Column, table_lines

    columns = [
        Column(title, cells, cut=title == titles[-1])
        for title, cells in zip(titles, zip(*rows, strict=True), strict=True)
    ]
    for line in table_lines(columns, width_of(sys.stdout)):
        say(line)


def _say_below(text: str) -> None:
    """Print a sentence below a name, broken between words where a terminal is narrower."""
    width = width_of(sys.stdout)
    if width is None:
        say(f"    {text}")
    else:
        say(
            textwrap.fill(
                text, max(width, 40), initial_indent=" " * 4, subsequent_indent=" " * 4, break_on_hyphens=False
            )
        )


def add_datasets(commands: Commands) -> None:
    """Add datasets with its two commands."""
    datasets = add_command(commands, "datasets", run_datasets, "list the samples, or add one that is not shipped")
    adding = datasets.add_subparsers(title="commands", metavar="[COMMAND]")
    add = add_command(adding, "add", run_datasets_add, "add a sample, such as cps8d from UCI Adult files")
    add.add_argument("name", metavar="NAME")
    add.add_argument(
        "--from",
        dest="source",
        action="append",
        metavar="FILE",
        help="an original file (repeatable); without it the files are downloaded",
    )

    write = add_command(adding, "write", run_datasets_write, "write a sample's records as a file, with its labels")
    write.add_argument("name", metavar="NAME")
    write.add_argument("--to", required=True, metavar="FILE", help="ends in .csv, .parquet, .sav or .dta")


def run_datasets(args: argparse.Namespace) -> None:
    """List the samples."""
    from engine.plan.samples import describe

    for sample in describe():
        size = f"{sample.n_records:,} records, {sample.n_attributes} attributes"
        say(f"{sample.name:8} {size:32} {sample.summary}")


def run_datasets_add(args: argparse.Namespace) -> None:
    """Add a sample that is not shipped."""
    from engine.plan.samples import add

    say(f"added '{args.name}': {add(args.name, args.source):,} records")


def run_datasets_write(args: argparse.Namespace) -> None:
    """Write a sample's records as a file."""
    from engine.plan.samples import write

    for note in write(args.name, args.to):
        say(note, file=sys.stderr)
    say(f"wrote '{args.name}' to {args.to}")


def add_dashboard(commands: Commands) -> None:
    """Add demo and app."""
    demo = add_command(commands, "demo", run_demo, "sweep the sample `fair` and open the dashboard on it")
    app = add_command(
        commands, "app", run_app, "open the dashboard, on a study or a bundle for the board if one is named"
    )
    app.add_argument("study", nargs="?", metavar="STUDY|BUNDLE", help="a study file, or a board bundle (folder)")
    app.add_argument(
        "--data", metavar="DATA", help="the study's data, for tables before and after and for exports: " + DATA_HELP
    )
    for command in (demo, app):
        command.add_argument("--port", type=port, metavar="N", help="port on this machine (default: a free one)")
        command.add_argument("--no-browser", action="store_true", help="print the address and open no browser")


def run_demo(args: argparse.Namespace) -> int:
    """Sweep the sample and open the dashboard on it."""
    from engine.plan.samples import load
    from engine.sweeps.sweep import sweep

    folder = user_folder() / "demo"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / "fair.study"
    raw, plan = load("fair")
    for attempt in range(2):
        try:
            say(
                f"sweeping the sample 'fair' ({raw.n_records:,} records); the study is kept in {folder}",
                file=sys.stderr,
            )
            ticker = Ticker()
            sweep(raw, plan, path, on_progress=ticker, on_time_left=ticker.time_left, announce=announce).close()
            break
        except UsageError:
            # The demo's study holds nobody's work: one that another version made is replaced.
            if attempt:
                raise
            for old in folder.glob("fair.study*"):
                old.unlink()
    return _launch(path, "fair", args)


def run_app(args: argparse.Namespace) -> int:
    """Open the dashboard."""
    path = None
    if args.study and (Path(args.study).is_dir() or Path(args.study).suffix == ".json"):
        from engine.report.findings import read_board

        read_board(args.study)
        return _launch(None, None, args, board=Path(args.study))
    if args.study:
        from engine.plan.samples import names
        from engine.study.study import Study

        path = Path(args.study)
        with Study.open(path) as study:
            about = study.about
        if args.data is None and about["source"] in names():
            args.data = about["source"]
    return _launch(path, args.data, args)


def _launch(study: Path | None, data: str | None, args: argparse.Namespace, *, board: Path | None = None) -> int:
    from frontier_app.session.launch import launch

    return launch(study, data, args.port, not args.no_browser, board=board)
