"""The commands that list mechanisms and measures."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from engine.cli.parser import add_command
from engine.common.output import say

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
        say(f"    {described.title}; {described.source}")
        in_space = " The plan names its specs and rates in [space]." if described.by_roles else ""
        say(f"    Amount: {described.rate}.{in_space}")
        say(f"    When: {described.when}.")
        for parameter in described.parameters:
            legal = "|".join(parameter.choices) or " to ".join(filter(None, (parameter.low, parameter.high)))
            default = "must be given" if parameter.default is None else f"default {parameter.default or 'none'}"
            say(f"    {parameter.name} ({default}{'; ' + legal if legal else ''}): {parameter.meaning}")


def run_measures(args: argparse.Namespace) -> None:
    """List the measures."""
    from engine.measures import MEASURES

    for measure in MEASURES.values():
        parameters = "; ".join(f"{key}={value}" for key, value in measure.parameters.items())
        direction = BETTER[measure.better]
        say(f"{measure.name}" + (f"[{parameters}]" if parameters else ""))
        say(
            f"    {measure.title} ({measure.symbol}), {measure.kind}; {direction}; {measure.range}, {measure.unit}; "
            f"tabulates {measure.over}"
        )
        say(f"    {measure.meaning}")
        say(f"    Source: {measure.source}. Cost per candidate: {measure.cost}; needs {measure.needs}.")
