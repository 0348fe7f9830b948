"""The ``frontier`` command: its options, its exit codes, and its error messages."""

from __future__ import annotations

import argparse
import atexit
import gc
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from engine.cli import bundle, catalogue, decision, plan, show, sweep
from engine.cli.options import Parser, check_texts, error_text
from engine.common import __version__
from engine.common.errors import EngineError, UsageError
from engine.common.os_support import external_beside, open_to_others, private_files, reason_of
from engine.common.output import Message, escape_unknown_signs, open_closed_streams, report_json, report_words, say

_COMMANDS: tuple[Callable[[Any], None], ...] = (
    catalogue.add_dashboard,
    catalogue.add_datasets,
    plan.add_commands,
    plan.add_space,
    sweep.add_sweep,
    sweep.add_status,
    sweep.add_measure,
    sweep.add_recheck,
    show.add_commands,
    catalogue.add_commands,
    decision.add_commands,
    bundle.add_diff,
    bundle.add_commands,
    bundle.add_selftest,
)
"""What adds commands to the parser, in the order of the help."""
STARTED_BY_PROGRAM = ["-"]
"""The arguments with which another program starts this one; the real ones come on standard input, as JSON."""
_GARBAGE = 250_000  # new objects after which garbage is looked for: loading what a sweep needs makes 170,000 that stay


def command() -> NoReturn:
    """Run the command of this process and end it: what ``frontier`` and ``python -m engine`` do."""
    # Threads that NumPy's linear algebra starts look for work for a twentieth of a second before they sleep, and slow
    # down what starts meanwhile; a sweep gives them none (engine.common.processes).
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    # To search all objects for garbage every few hundred new ones takes a twentieth of the time of a sweep.
    gc.set_threshold(_GARBAGE)
    open_closed_streams()
    code = main()
    # The system takes back all memory at once, which Python would give back object by object.  Threads are waited for
    # by the commands that start them.
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):  # what cannot be written has been told, or whoever read it has gone
        _flush()
    os._exit(code if abs(code) < 256 else 1)  # Windows has larger ones


def _flush() -> None:
    """Write what is said but still waits; a fault of standard error is none of the command."""
    for stream in (sys.stderr, sys.stdout):
        with suppress(OSError) if stream is sys.stderr else nullcontext():
            if stream is not None:
                stream.flush()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 could not be done, 2 wrong usage.

    The one argument ``-`` stands for arguments on standard input, as a JSON list of texts: for a program that starts
    this one, since command lines can be read by every user of the machine.  That program reads messages as JSON lines
    (:mod:`engine.common.output`).
    """
    return _run(sys.argv[1:] if argv is None else list(argv))


def _run(arguments: list[str]) -> int:
    """Run the command of these arguments; returns the exit code."""
    escape_unknown_signs()
    started = arguments == STARTED_BY_PROGRAM
    report = report_json if started else report_words
    try:
        if started:
            arguments = _read_arguments()
        if not arguments:
            build_parser().print_help()
            _flush()
            return 0
        check_texts(arguments)
        args, unknown = build_parser().parse_known_args(arguments, argparse.Namespace(report=report))
        if unknown:  # with the usage of the command, which the parser of all commands does not print
            args.command.error(f"unrecognized arguments: {' '.join(unknown)}")
        with private_files(), external_beside(getattr(args, name, None) for name in ("plan", "data", "study")):
            _warn_of_open_key(args)
            code = int(args.run(args) or 0)
        _flush()
        return code
    except EngineError as error:
        # A program that starts this one shows its messages to somebody who typed no option.
        text = str(error) if started else error_text(error)
        report(Message("error", text, error.values, error.remedy.name if error.remedy else ""))
        return error.exit_code
    except KeyboardInterrupt:
        report(Message("error", "interrupted; what is done is kept"))
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except MemoryError:
        text = "the machine has too little memory for this; close other programs or use fewer attributes"
        report(Message("error", text))
        return 1
    except OSError as error:
        name = f"'{Path(str(error.filename)).name}': " if error.filename else ""
        report(Message("error", f"{name}{reason_of(error)}"))
        return 1


def _read_arguments() -> list[str]:
    """The arguments on standard input."""
    try:
        arguments = json.load(sys.stdin)
    except ValueError:  # neither JSON nor UTF-8
        arguments = None
    if not isinstance(arguments, list) or not all(isinstance(argument, str) for argument in arguments):
        raise UsageError("standard input holds no arguments; after '-' it must be a JSON list of texts")
    return arguments


def _warn_of_open_key(args: argparse.Namespace) -> None:
    """Warn of a study key that others may read, which undoes its protection.  Its owner decides, so its rights stay."""
    study, named = getattr(args, "study", None), getattr(args, "key_file", None)
    if not (study or named):
        return
    from engine.study.keys import key_path

    key = key_path(study or "", named)
    if mode := open_to_others(key):
        say(
            f"frontier: warning: others on this machine may read the key file '{key.name}' (mode {mode}); make it your "
            f"own with: chmod 600 {key.name}",
            file=sys.stderr,
        )


@cache
def build_parser() -> Parser:
    """The parser of all commands, made once for a program that runs many."""
    parser = Parser(
        prog="frontier", description="Choose how much data swapping to do, and of what, on a risk–utility frontier."
    )
    parser.add_argument("--version", action="version", version=f"swap-frontier {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in _COMMANDS:
        add(commands)
    return parser


if __name__ == "__main__":
    command()
