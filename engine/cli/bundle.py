"""The commands on bundles: export, replay, verify, apply, the comparison of two submissions, the selftest."""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.options import DATA_HELP, add_command, add_names_option, add_stream_option, names, table_of
from engine.common import __version__
from engine.common.errors import UsageError
from engine.common.output import say

if TYPE_CHECKING:
    from engine.cli.options import Commands


_FORMATS_HELP = "csv, parquet, sav and dta, separated by commas (default csv,parquet)"
_INCLUDE = ("weight", "id", "unit")  # as engine.plan.entries names them, which help does not wait for
_MOST_PROBLEMS = 20  # of one check that are listed


def add_commands(commands: Commands) -> None:
    """Add export, replay, verify and apply."""
    export = add_command(commands, "export", run_export, "remake one run of a candidate and write it as a release")
    export.add_argument("study", metavar="STUDY")
    export.add_argument("--data", required=True, metavar="DATA", help=DATA_HELP)
    export.add_argument(
        "--candidate",
        metavar="ID",
        help="a scenario's id, or a realisation's such as x7f3/12 (default: the recommended one)",
    )
    export.add_argument("--out", required=True, metavar="DIR", help="a folder that does not exist yet, or is empty")
    export.add_argument(
        "--for",
        "--tier",
        dest="tier",
        choices=("analyst", "board", "circulating", "public", "all"),
        default="analyst",
        help="who reads the bundle (default analyst); all writes one folder for each reader; public needs an approval",
    )
    export.add_argument("--formats", metavar="LIST", help=_FORMATS_HELP)
    export.add_argument("--key-file", metavar="PATH", help="the study key (default: STUDY.key)")
    include = (
        "release the weight, a new id or new numbers of households to the analyst too; [publish] of the plan says "
    )
    include += "what the public gets"
    export.add_argument("--include", action="append", default=[], choices=_INCLUDE, help=include)
    export.add_argument("--same-order-as", metavar="BUNDLE", help="use the row order and ids of an analyst's bundle")
    export.add_argument("--allow-partial", action="store_true", help="export a failed run all the same")
    add_stream_option(export)

    replay = add_command(commands, "replay", run_replay, "remake an exported release and compare it bit for bit")
    replay.add_argument("manifest", metavar="MANIFEST|BUNDLE", help="an analyst's bundle, or its manifest")
    replay.add_argument("--data", required=True, metavar="DATA", help=DATA_HELP)
    replay.add_argument("--out", metavar="DIR", help="keep the remade files in a new folder")
    key_help = "the study key, to see that it was fixed before the sweep and that the release was drawn from it"
    replay.add_argument("--key-file", metavar="PATH", help=key_help)
    add_stream_option(replay)

    verify = add_command(
        commands, "verify", run_verify, "check a bundle: its digests, its files and fields, the decision log"
    )
    verify.add_argument("bundle", metavar="BUNDLE", help="the folder of an export")
    verify.add_argument("--study", metavar="STUDY", help="the study of the export (default: the one beside the bundle)")

    _add_apply(commands)


def _add_apply(commands: Commands) -> None:
    """Add apply."""
    applying = add_command(
        commands, "apply", run_apply, "bring another file of the same records in line with a release"
    )
    applying.add_argument("bundle", metavar="BUNDLE", help="an analyst's bundle")
    applying.add_argument(
        "--data",
        required=True,
        metavar="OTHER",
        help="another file of the same records or of their households, derived or child",
    )
    add_names_option(applying)
    matched = applying.add_mutually_exclusive_group(required=True)
    matched.add_argument("--id", metavar="COLUMN", help="its column with the original ids")
    matched.add_argument(
        "--unit", type=names, metavar="A,B", help="its column or columns with the original numbers of households"
    )
    applying.add_argument("--out", metavar="DIR", help="a new folder (default: linked, beside the bundle)")
    applying.add_argument(
        "--block",
        action="append",
        default=[],
        metavar="ATTRIBUTE=COLUMN,COLUMN",
        help="further columns of OTHER that are exchanged with an attribute (repeatable)",
    )
    applying.add_argument("--formats", metavar="LIST", help=_FORMATS_HELP)


def _formats(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "csv,parquet").split(",") if name.strip())


def run_export(args: argparse.Namespace) -> None:
    """Write one release as bundles."""
    from engine.bundle import export
    from engine.study.study import Study

    with Study.open(args.study) as study:
        raw = table_of(args, study)
        out = export(
            study,
            raw,
            args.candidate,
            args.out,
            tier=args.tier,
            formats=_formats(args.formats),
            key_file=args.key_file,
            include=args.include,
            allow_partial=args.allow_partial,
            same_order_as=args.same_order_as,
            tell=args.report,
        )
    if args.tier == "all":
        content = "one folder for each reader; only public may be published"
    elif args.tier == "analyst":
        content = "the analyst's bundle, which can undo the swap and must stay in the agency"
    else:
        readers = {"public": "the bundle for the public", "circulating": "the circulating copy"}
        content = readers.get(args.tier, "the bundle for the board")
    say(f"wrote {out}: {content}")


def run_replay(args: argparse.Namespace) -> int:
    """Remake an exported release; exit code 1 when it differs."""
    from engine.bundle import replay
    from engine.bundle.replay import is_streamed
    from engine.plan.samples import open_source

    stream = args.stream if args.stream is not None else is_streamed(args.manifest)
    result = replay(
        args.manifest, open_source(args.data, stream, args.clean_names)[0], args.out, key_file=args.key_file
    )
    for name in result.same:
        say(f"{name}: the same, bit for bit")
    if args.key_file is not None:
        say("the release was drawn from this study key")
    for difference in result.differs:
        say(difference)
    return 1 if result.differs else 0


def run_verify(args: argparse.Namespace) -> int:
    """Check a bundle; exit code 1 when something is wrong with it."""
    from engine.bundle.verify import verify

    results = verify(args.bundle, args.study)
    for check in results:
        say(f"{check.tier:8} {'wrong' if check.problems else 'open ' if check.note else 'holds'}  {check.statement}")
        if check.note:
            say(f"{'':16}{check.note}")
        for problem in check.problems[:_MOST_PROBLEMS]:
            say(f"{'':16}{problem}")
        if len(check.problems) > _MOST_PROBLEMS:
            say(f"{'':16}... {len(check.problems) - _MOST_PROBLEMS:,} more")
    return 1 if any(check.problems for check in results) else 0


def run_apply(args: argparse.Namespace) -> None:
    """Bring another file of the same records in line with a release."""
    from engine.bundle.apply import Matched, apply
    from engine.plan.samples import open_records

    blocks: dict[str, list[str]] = {}
    for text in args.block:
        attribute, equals, listed = text.partition("=")
        if not equals or not listed.strip():
            raise UsageError(f"--block '{text}' must read ATTRIBUTE=COLUMN,COLUMN")
        blocks.setdefault(attribute.strip(), []).extend(name.strip() for name in listed.split(","))
    raw, _ = open_records(args.data, args.clean_names)
    out = Path(args.out) if args.out else Path(args.bundle).absolute().parent / "linked"
    by: Matched = "id" if args.id else "unit"
    applied = apply(args.bundle, raw, args.id or args.unit, out, by=by, blocks=blocks, formats=_formats(args.formats))
    new = "new ids" if args.id else "new numbers of households"
    say(f"wrote {out}: {applied.n_records:,} records with {new}, in the order of the release")
    say(f"exchanged: {', '.join(applied.exchanged) or 'no column of this file'}")
    for note in applied.notes:
        say(f"note: {note[:-1]}")
    if applied.dropped:
        say(f"left out, since the plan drops them: {', '.join(applied.dropped)}")


def add_diff(commands: Commands) -> None:
    """Add diff."""
    diff = add_command(commands, "diff", run_diff, "list what changed between two submissions to a board")
    diff.add_argument("old", metavar="OLD", help="a plan or a study")
    diff.add_argument("new", metavar="NEW", help="the later one")


def run_diff(args: argparse.Namespace) -> None:
    """List what changed between two submissions."""
    from engine.bundle.submissions import differences, read_submission

    changes = differences(read_submission(args.old), read_submission(args.new))
    for change in changes:
        say(change)
    if not changes:
        say("nothing has changed")


def add_selftest(commands: Commands) -> None:
    """Add selftest."""
    add_command(commands, "selftest", run_selftest, "validate this installation: offline, in minutes")


def run_selftest(args: argparse.Namespace) -> int:
    """Run all checks; exit code 1 when one fails."""
    from engine.bundle.selftest import run_checks

    say(f"swap-frontier {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    failed, seconds = 0, 0.0
    for check in run_checks():
        failed += not check.passed
        seconds += check.seconds
        say(f"{'ok    ' if check.passed else 'FAILED'}  {check.subject}: {check.result} ({check.seconds:.1f} s)")
        sys.stdout.flush()
    say(f"{f'{failed} failed' if failed else 'all passed'}, {seconds:.0f} s")
    return 1 if failed else 0
