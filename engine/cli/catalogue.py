"""The commands that list mechanisms and measures."""

from __future__ import annotations

import argparse
import sys
import textwrap
from typing import TYPE_CHECKING

from engine.cli.parser import add_command
from engine.common.output import say
from engine.common.terminal import width_of

if TYPE_CHECKING:
    from engine.cli.parser import Commands

BETTER = {"lower": "lower is better", "higher": "higher is better", "zero": "nearer to zero is better"}


def add_commands(commands: Commands) -> None:
    """Add mechanisms and measures."""
    add_command(commands, "mechanisms", run_mechanisms, "list the mechanisms with their parameters")
    add_command(commands, "measures", run_measures, "list the measures of risk and utility")


def run_mechanisms(args: argparse.Namespace) -> None:
    """List the mechanisms."""
    from engine.mechanisms import mechanism, names

    for name in names():
        described = mechanism(name)
        say(f"{described.name}")
        _say_below(f"{described.title}; {described.source}")
        in_space = " The plan names its specs and rates in [space]." if described.by_roles else ""
        _say_below(f"Amount: {described.rate}.{in_space}")
        _say_below(f"When: {described.when}.")
        for parameter in described.parameters:
            legal = "|".join(parameter.choices) or " to ".join(filter(None, (parameter.low, parameter.high)))
            default = "must be given" if parameter.default is None else f"default {parameter.default or 'none'}"
            _say_below(f"{parameter.name} ({default}{'; ' + legal if legal else ''}): {parameter.meaning}")


def run_measures(args: argparse.Namespace) -> None:
    """List the measures."""
    from engine.measures import MEASURES

    for measure in MEASURES.values():
        parameters = "; ".join(f"{key}={value}" for key, value in measure.parameters.items())
        direction = BETTER[measure.better]
        say(f"{measure.name}" + (f"[{parameters}]" if parameters else ""))
        _say_below(
            f"{measure.title} ({measure.symbol}), {measure.kind}; {direction}; {measure.range}, {measure.unit}; "
            f"tabulates {measure.over}"
        )
        _say_below(f"{measure.meaning}")
        _say_below(f"Source: {measure.source}. Cost per candidate: {measure.cost}; needs {measure.needs}.")


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
