"""The ``frontier`` command: its options, its exit codes, and the words for what goes wrong."""

from __future__ import annotations

import argparse
import errno
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from engine.cli.bundle import run_apply, run_export, run_replay, run_verify
from engine.cli.decide import run_choose, run_decide
from engine.cli.explore import (
    run_app,
    run_datasets,
    run_datasets_add,
    run_datasets_write,
    run_demo,
    run_measure,
    run_measures,
    run_mechanisms,
    run_plan_check,
    run_plan_init,
    run_recheck,
    run_show,
    run_sweep,
)
from engine.cli.options import add_plan_options, check_texts, measures, names, number, port, whole, workers
from engine.cli.propose import run_plan_propose, run_space
from engine.cli.review import run_diff, run_plan_document, run_plan_lock, run_selftest
from engine.cli.study import run_cancel, run_status
from engine.common.errors import EngineError, UsageError
from engine.common.os_support import external_beside, open_to_others, private_files
from engine.common.output import escape_unknown_signs, say
from engine.common.printable import printable
from engine.common.version import __version__
from engine.study.keys import key_path

_DATA = "a sample's name (see `frontier datasets`) or a CSV, Parquet, SPSS, Stata or SAS file"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 could not be done, 2 wrong usage.

    The one argument ``-`` stands for arguments on standard input, as a JSON list of texts: for a program that starts
    this one, since command lines can be read by every user of the machine.
    """
    escape_unknown_signs()
    given = sys.argv[1:] if argv is None else list(argv)
    try:
        asked = _told() if given == ["-"] else given
        check_texts(asked)
        args = build_parser().parse_args(asked)
        with private_files(), external_beside(getattr(args, name, None) for name in ("plan", "data", "study")):
            _say_open_key(args)
            return int(args.run(args) or 0)
    except EngineError as error:
        say(f"frontier: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        say("frontier: interrupted; what is done is kept", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except MemoryError:
        say(
            "frontier: the machine has too little memory for this; close other programs or use fewer attributes",
            file=sys.stderr,
        )
        return 1
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or type(error).__name__
        name = f"'{Path(str(error.filename)).name}': " if error.filename else ""
        say(f"frontier: {name}{reason}", file=sys.stderr)
        return 1


def _told() -> list[str]:
    """The arguments on standard input."""
    try:
        told = json.load(sys.stdin)
    except ValueError:  # neither JSON nor UTF-8
        told = None
    if not isinstance(told, list) or not all(isinstance(one, str) for one in told):
        raise UsageError("standard input holds no arguments; after '-' it must be a JSON list of texts")
    return told


def _say_open_key(args: argparse.Namespace) -> None:
    """A study key that others may read undoes what it protects; whose it is decides, so its rights stay as they are."""
    study, named = getattr(args, "study", None), getattr(args, "key_file", None)
    if not (study or named):
        return
    key = key_path(study or "", named)
    if mode := open_to_others(key):
        say(
            f"frontier: warning: others on this machine may read the key file '{key.name}' (mode {mode}); make it your "
            f"own with: chmod 600 {key.name}",
            file=sys.stderr,
        )


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints quote arguments without what steers a terminal."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = _Parser(
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
    app = command("app", run_app, "open the dashboard, on a study or a bundle for the board if one is named")
    app.add_argument("study", nargs="?", metavar="STUDY|BUNDLE", help="a study file, or a member's bundle (folder)")
    app.add_argument(
        "--data", metavar="DATA", help="the study's data, for before-and-after tables and export: " + _DATA
    )
    for made in (demo, app):
        made.add_argument("--port", type=port, metavar="N", help="port on this machine (default: a free one)")
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

    writing = command("write", run_datasets_write, "write a sample's records as a file, with its labels", adding)
    writing.add_argument("name", metavar="NAME")
    writing.add_argument("--to", required=True, metavar="FILE", help="ends in .csv, .parquet, .sav, .dta or .xpt")

    plan = command("plan", lambda args: None, "write or check a plan")
    plans = plan.add_subparsers(title="commands", metavar="COMMAND", required=True)
    init = command("init", run_plan_init, "write a first plan for a file, to be edited", plans)
    init.add_argument("data", metavar="DATA", help=_DATA)
    init.add_argument("--out", default="plan.toml", metavar="FILE", help="where to (default plan.toml; - prints it)")
    proposing = command(
        "propose", run_plan_propose, "list the blocks, skips, ids, weights and missing codes that a file shows", plans
    )
    proposing.add_argument("data", metavar="DATA", help=_DATA)
    proposing.add_argument("--plan", metavar="PLAN", help="list only what would change this plan")
    proposing.add_argument("--codebook", metavar="FILE", help="a CSV table with name, label, role, block, missing ...")
    proposing.add_argument("--attributes", type=names, metavar="A,B", help="the columns to be attributes")
    proposing.add_argument(
        "--accept", type=names, default=(), metavar="KIND,KEY", help="accept proposals by kind or key, or all"
    )
    proposing.add_argument("--out", metavar="FILE", help="write the plan there (- prints it)")
    check = command("check", run_plan_check, "list what differs between a plan and a file", plans)
    check.add_argument("plan", metavar="PLAN")
    check.add_argument("--data", required=True, metavar="NEW", help=_DATA)

    locking = command("lock", run_plan_lock, "write the approval of a Disclosure Analysis Plan into the plan", plans)
    locking.add_argument("plan", metavar="PLAN")
    locking.add_argument("--number", required=True, metavar="NO", help="the approval's number")
    locking.add_argument("--by", required=True, metavar="NAME", help="who approved")

    writing_down = command(
        "document", run_plan_document, "write a plan as the Disclosure Analysis Plan that a board approves", plans
    )
    writing_down.add_argument("plan", metavar="PLAN")
    writing_down.add_argument("--data", metavar="DATA", help="adds what the plan amounts to on them: " + _DATA)
    writing_down.add_argument("--out", required=True, metavar="FILE", help="a new file that ends in .docx or .html")
    writing_down.add_argument(
        "--rates", action="store_true", help="the chair's version: with the rates and settings that members never see"
    )

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
    sweep.add_argument("--workers", type=workers, metavar="N", help="processes (default: as many as pay off)")
    sweep.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="work on the Dask cluster whose scheduler is at tls://HOST:PORT (or tcp://127.0.0.1:PORT on this machine)",
    )
    sweep.add_argument("--extend", action="store_true", help="add rates, specs or replicates to a study")
    sweep.add_argument(
        "--deviation", default="", metavar="TEXT", help="why the plan departs from its approval; logged with --by"
    )
    sweep.add_argument("--by", default="", metavar="NAME", help="who asks, for the decision log")

    diff = command("diff", run_diff, "list what changed between two submissions to a board")
    diff.add_argument("old", metavar="OLD", help="a plan, a study, or the folder of an analyst's or member's bundle")
    diff.add_argument("new", metavar="NEW", help="the later one")
    command("selftest", run_selftest, "validate this installation: offline, in minutes")
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

    for name, run, words in (
        ("status", run_status, "say how far a study is and who is at work on it"),
        ("cancel", run_cancel, "ask whoever is at work on a study to stop; what is done is kept"),
    ):
        command(name, run, words).add_argument("study", metavar="STUDY")

    choose = command("choose", run_choose, "record the choice of a scenario and its reason")
    choose.add_argument("study", metavar="STUDY")
    _add_objectives(choose)
    rule = choose.add_mutually_exclusive_group()
    rule.add_argument("--candidate", metavar="ID", help="a scenario's id, such as x7f3")
    rule.add_argument("--max-risk", type=number, metavar="A")
    rule.add_argument("--slope", type=number, metavar="A")
    choose.add_argument("--why", required=True, metavar="TEXT", help="the reason, in words")
    choose.add_argument("--by", default="", metavar="NAME", help="who recommends it")

    decide = command(
        "decide", run_decide, "take the recommendation through its states; without --state, where it stands"
    )
    decide.add_argument("study", metavar="STUDY")
    decide.add_argument(
        "--state",
        choices=("submitted", "approved", "returned", "released", "withheld"),
        help="the next state; withheld is the decision to release nothing",
    )
    decide.add_argument("--by", default="", metavar="NAME", help="who says so")
    decide.add_argument("--number", default="", metavar="NO", help="the number under which an approval is filed")
    decide.add_argument("--conditions", default="", metavar="TEXT", help="the conditions of an approval")
    decide.add_argument("--why", default="", metavar="TEXT", help="the reason, needed for returned and withheld")

    adding_measures = command("measure", run_measure, "add measures to a finished study by remaking its releases")
    adding_measures.add_argument("study", metavar="STUDY")
    adding_measures.add_argument("--data", required=True, metavar="DATA", help=_DATA)
    adding_measures.add_argument("--measures", type=measures, required=True, metavar="NAMES")
    adding_measures.add_argument("--key-file", metavar="PATH")
    adding_measures.add_argument("--workers", type=workers, metavar="N")

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

    _add_bundle_commands(command)
    return parser


def _add_bundle_commands(command: Callable[..., argparse.ArgumentParser]) -> None:
    export = command("export", run_export, "remake one candidate and write its release for a reader")
    export.add_argument("study", metavar="STUDY")
    export.add_argument("--data", required=True, metavar="DATA", help=_DATA)
    export.add_argument(
        "--candidate",
        metavar="ID",
        help="a scenario's id, or a realisation's such as x7f3/12 (default: the recommended one)",
    )
    export.add_argument("--out", required=True, metavar="DIR", help="a folder that does not exist yet, or is empty")
    export.add_argument(
        "--tier",
        choices=("analyst", "chair", "member", "public", "all"),
        default="analyst",
        help="who reads it (default analyst); all writes one folder for each; public needs an approval",
    )
    formats = "csv, parquet, sav, dta and xpt, separated by commas (default csv,parquet)"
    export.add_argument("--formats", metavar="LIST", help=formats)
    export.add_argument("--key-file", metavar="PATH")
    besides = "an analyst's release holds the weight, or a new id, too; in public what [publish] of the plan includes"
    export.add_argument("--include", action="append", default=[], choices=("weight", "id"), help=besides)
    export.add_argument("--same-order-as", metavar="BUNDLE", help="use the row order and ids of an analyst's bundle")
    export.add_argument("--allow-partial", action="store_true", help="export a failed run all the same")

    replay = command("replay", run_replay, "remake an exported release and compare it bit for bit")
    replay.add_argument("manifest", metavar="MANIFEST|BUNDLE", help="an analyst's bundle, or its manifest")
    replay.add_argument("--data", required=True, metavar="DATA", help=_DATA)
    replay.add_argument("--out", metavar="DIR", help="keep the remade files in a new folder")

    verify = command("verify", run_verify, "check a bundle: digests, what its reader may get, the decision log")
    verify.add_argument("bundle", metavar="BUNDLE", help="the folder of an export")
    verify.add_argument("--study", metavar="STUDY", help="whose decision log says what was exported (default: beside)")

    applying = command("apply", run_apply, "bring another file of the same records in line with a release")
    applying.add_argument("bundle", metavar="BUNDLE", help="an analyst's bundle")
    applying.add_argument("--data", required=True, metavar="OTHER", help="a derived or child file")
    applying.add_argument("--id", required=True, metavar="COLUMN", help="its column with the original ids")
    applying.add_argument("--out", metavar="DIR", help="a new folder (default: linked, beside the bundle)")
    applying.add_argument(
        "--block",
        action="append",
        default=[],
        metavar="ATTRIBUTE=COLUMN,COLUMN",
        help="further columns of OTHER that go with an attribute (repeatable)",
    )
    applying.add_argument("--formats", metavar="LIST", help=formats)


def _add_objectives(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--risk", metavar="MEASURE", help="risk measure (default: the plan's, else the first)")
    parser.add_argument("--utility", metavar="MEASURE", help="utility measure (default: the plan's, else the first)")
    parser.add_argument(
        "--objectives", type=measures, default=(), metavar="A,B,C", help="measures that define the frontier together"
    )
    parser.add_argument("--allow-partial", action="store_true", help="count failed runs too")


if __name__ == "__main__":
    sys.exit(main())
