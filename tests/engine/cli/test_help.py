"""The help of every command says what each of its options is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from engine.cli.main import build_parser


def _commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _commands(command)


def test_every_option_says_what_it_is() -> None:
    silent = [
        f"{command.prog} {action.option_strings[0]}"
        for command in _commands(build_parser())
        for action in command._actions
        if action.option_strings and not action.help and not action.choices
    ]
    assert not silent
