"""The ``frontier`` command: its options, its exit codes, and the words for what goes wrong."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from engine import __version__
from engine.commands import (
    run_app,
    run_choose,
    run_datasets,
    run_datasets_add,
    run_demo,
    run_export,
    run_measure,
    run_measures,
    run_mechanisms,
    run_plan_check,
    run_plan_init,
    run_recheck,
    run_replay,
    run_show,
    run_space,
    run_sweep,
)
from engine.errors import EngineError
from engine.options import add_plan_options, measures, number, whole

_DATA = "a sample's name (see `frontier datasets`) or a .csv or .parquet file"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 could not be done, 2 wrong usage."""
    args = build_parser().parse_args(argv)
    try:
        return int(args.run(args) or 0)
    except EngineError as error:
        print(f"frontier: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("frontier: interrupted; what is done is kept", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except MemoryError:
        print(
            "frontier: the machine has too little memory for this; close other programs or use fewer attributes",
            file=sys.stderr,
        )
        return 1
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or type(error).__name__
        name = f"'{Path(str(error.filename)).name}': " if error.filename else ""
        print(f"frontier: {name}{reason}", file=sys.stderr)
        return 1


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="frontier", description="Choose how much data swapping to do, and of what, on a risk–utility frontier."
    )
    parser.add_argument("--version", action="version", version=f"swap-frontier {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(
        name: str, run: Callable[[argparse.Namespace], int | None], words: str, where: Any = commands
    ) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = where.add_parser(
            name, help=words, description=words[0].upper() + words[1:] + "."
        )
        made.set_defaults(run=run)
        return made

    demo = command("demo", run_demo, "sweep the sample `fair` and open the dashboard on it")
    app = command("app", run_app, "open the dashboard, on a study if one is named")
    app.add_argument("study", nargs="?", metavar="STUDY", help="a study file")
    app.add_argument(
        "--data", metavar="DATA", help="the study's data, for before-and-after tables and export: " + _DATA
    )
    for made in (demo, app):
        made.add_argument("--port", type=whole, metavar="N", help="port on this machine (default: a free one)")
        made.add_argument("--no-browser", action="store_true", help="do not open a browser; the address is printed")

    datasets = command("datasets", run_datasets, "list the samples, or add one that is not shipped")
    adding = datasets.add_subparsers(metavar="")
    add = command("add", run_datasets_add, "add a sample, such as cps8d from UCI Adult files", adding)
    add.add_argument("name", metavar="NAME")
    add.add_argument(
        "--from",
        dest="source",
        action="append",
        metavar="FILE",
        help="original file(s); without it, downloaded where there is internet",
    )

    plan = command("plan", lambda args: None, "write or check a plan")
    plans = plan.add_subparsers(title="commands", metavar="COMMAND", required=True)
    init = command("init", run_plan_init, "write a first plan for a file, to be edited", plans)
    init.add_argument("data", metavar="DATA", help=_DATA)
    init.add_argument("--out", default="plan.toml", metavar="FILE", help="where to (default plan.toml; - prints it)")
    check = command("check", run_plan_check, "list what differs between a plan and a file", plans)
    check.add_argument("plan", metavar="PLAN")
    check.add_argument("--data", required=True, metavar="NEW", help=_DATA)

    space = command("space", run_space, "count the candidates of a plan and estimate the time of a sweep")
    space.add_argument("data", metavar="DATA", help=_DATA)
    add_plan_options(space)
    space.add_argument("--replicates", type=whole, metavar="N", help="runs per scenario")

    sweep = command("sweep", run_sweep, "draw and measure every candidate; resumes an unfinished study")
    sweep.add_argument("data", metavar="DATA", help=_DATA)
    sweep.add_argument("--study", required=True, metavar="PATH", help="the study file to make or to resume")
    add_plan_options(sweep)
    sweep.add_argument("--replicates", type=whole, metavar="N", help="runs per scenario (default 20)")
    sweep.add_argument("--key-file", metavar="PATH", help="the study key (default: STUDY.key, made when absent)")
    sweep.add_argument("--workers", type=whole, metavar="N", help="processes (default: as many as pay off)")
    sweep.add_argument("--extend", action="store_true", help="add rates, specs or replicates to a study")

    command("mechanisms", run_mechanisms, "list the mechanisms with their parameters")
    command("measures", run_measures, "list the measures of risk and utility")

    show = command("show", run_show, "list candidates with their figures and the frontier")
    show.add_argument("study", metavar="STUDY")
    _add_objectives(show)
    show.add_argument(
        "--by", choices=("scenario", "realisation"), default="scenario", help="means over runs, or every run"
    )
    show.add_argument("--undominated", action="store_true", help="the frontier only")
    show.add_argument(
        "--max-risk", type=number, metavar="A", help="mark the most useful candidate with risk at or below A"
    )
    show.add_argument(
        "--slope", type=number, metavar="A", help="mark the best for a trade-off of A units of risk per unit of utility"
    )
    show.add_argument("--format", choices=("table", "csv", "json"), default="table")

    choose = command("choose", run_choose, "record the choice of a scenario and its reason")
    choose.add_argument("study", metavar="STUDY")
    _add_objectives(choose)
    rule = choose.add_mutually_exclusive_group()
    rule.add_argument("--candidate", metavar="ID", help="a scenario's id, such as x7f3")
    rule.add_argument("--max-risk", type=number, metavar="A")
    rule.add_argument("--slope", type=number, metavar="A")
    choose.add_argument("--why", required=True, metavar="TEXT", help="the reason, in words")

    adding_measures = command("measure", run_measure, "add measures to a finished study by remaking its releases")
    adding_measures.add_argument("study", metavar="STUDY")
    adding_measures.add_argument("--data", required=True, metavar="DATA", help=_DATA)
    adding_measures.add_argument("--measures", type=measures, required=True, metavar="NAMES")
    adding_measures.add_argument("--key-file", metavar="PATH")
    adding_measures.add_argument("--workers", type=whole, metavar="N")

    recheck = command("recheck", run_recheck, "run finalists again on fresh replicates")
    recheck.add_argument("study", metavar="STUDY")
    recheck.add_argument("--data", required=True, metavar="DATA", help=_DATA)
    recheck.add_argument(
        "--candidate", action="append", metavar="ID", help="a scenario (repeatable; default: the frontier)"
    )
    recheck.add_argument(
        "--replicates", type=whole, default=100, metavar="N", help="fresh runs per scenario (default 100)"
    )
    recheck.add_argument("--key-file", metavar="PATH")
    _add_objectives(recheck)

    export = command("export", run_export, "remake one candidate and write its release")
    export.add_argument("study", metavar="STUDY")
    export.add_argument("--data", required=True, metavar="DATA", help=_DATA)
    export.add_argument(
        "--candidate", required=True, metavar="ID", help="a scenario's id, or a realisation's such as x7f3/12"
    )
    export.add_argument("--out", required=True, metavar="DIR", help="a folder that does not exist yet, or is empty")
    export.add_argument("--key-file", metavar="PATH")
    export.add_argument(
        "--include", action="append", default=[], choices=("weight", "id"), help="export the weight or the id too"
    )
    export.add_argument("--allow-partial", action="store_true", help="export a failed run all the same")

    replay = command("replay", run_replay, "remake an exported release and compare it bit for bit")
    replay.add_argument("manifest", metavar="MANIFEST|BUNDLE", help="the manifest of an export, or its folder")
    replay.add_argument("--data", required=True, metavar="DATA", help=_DATA)
    replay.add_argument("--out", metavar="DIR", help="keep the remade release in a new folder")
    return parser


def _add_objectives(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--risk", metavar="MEASURE", help="risk measure (default: the plan's, else the first)")
    parser.add_argument("--utility", metavar="MEASURE", help="utility measure (default: the plan's, else the first)")
    parser.add_argument(
        "--objectives", type=measures, default=(), metavar="A,B,C", help="measures that define the frontier together"
    )
    parser.add_argument("--allow-partial", action="store_true", help="count failed runs too")


if __name__ == "__main__":
    sys.exit(main())
