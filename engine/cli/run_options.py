"""Options that say where the work of a sweep is done."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from engine.cli.arguments import workers
from engine.common.progress import Ticker, announce

if TYPE_CHECKING:
    from engine.sweeps.runner import RunOptions


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
