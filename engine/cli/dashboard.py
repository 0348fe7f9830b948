"""The commands that open the dashboard: demo, app."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.arguments import port
from engine.cli.parser import DATA_HELP, add_command
from engine.common.errors import UsageError
from engine.common.output import say
from engine.common.progress import Ticker, announce
from engine.common.resources import user_folder

if TYPE_CHECKING:
    from engine.cli.parser import Commands


def add_commands(commands: Commands) -> None:
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
    return _launch(path, "fair", args, tour=True)


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


def _launch(
    study: Path | None, data: str | None, args: argparse.Namespace, *, board: Path | None = None, tour: bool = False
) -> int:
    from frontier_app.session.launch import launch

    return launch(study, data, args.port, not args.no_browser, board=board, tour=tour)
