"""Command lines with options that do not fit, each other included: made from the parser itself, so that no option is
forgotten."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from functools import cache

from tests.hunt import stock
from tests.hunt.tries import Content

LEFT_OUT = ("demo", "app", "selftest", "add")
"""What opens a server, takes half a minute, or asks the internet."""
_TABLE = b"A,B,C,w,id\n" + b"".join(
    b"%d,%s,%d,%d.5,%d\n" % (k % 3, b"xyz"[k % 2 : k % 2 + 1], k % 5, k, k) for k in range(40)
)
FILES: dict[str, Content] = {
    "d.csv": _TABLE,
    "a b.csv": _TABLE,
    "empty.csv": b"",
    "notes.txt": b"words\n",
    "bytes": bytes(range(256)),
}
ODD = [
    *("", " ", "\t", "\n", "\u202e", "🦊", "~nobody/x", "nowhere/x", "x" * 5000, "a" * 255 + ".csv", "\udcff"),
    *[
        ",",
        "=",
        "-",
        "--",
        "é",
        "'",
        '"',
        "%s",
        "{}",
        "$HOME",
        "*",
        "\\",
        "../..",
        "/",
        "/dev/null",
        ",,,",
        "A,A",
        "A:",
        ":S",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "1e-999",
        "-0",
        "-1",
        "0",
        "0.5",
    ],
    *f"1.5 2 1e3 1_000 ٣ 0x10 ² {2**63} {-(2**63) - 1} [[[[ a[b=c small_cells[n_rule= A=1,2".split(),
    *("A:S A:S", " 3", "9" * 5000, "0." + "0" * 400 + "1"),
]
FITTING = {
    "data": f"{stock.DATA} d.csv empty.csv notes.txt bytes out/public/release.csv",
    "study": f"{stock.STUDY} new.study d.csv",
    "plan": "plan.toml d.csv",
    "old": f"{stock.STUDY} plan.toml out/analyst out/board",
    "new": f"{stock.STUDY} plan.toml out/analyst out/board",
    "bundle": "out/analyst out/public out out/board",
    "manifest": "out/analyst out/analyst/internal/manifest.json",
    "same_order_as": "out/analyst out/public",
    "out": "written plan.toml - new.html new.docx",
    "to": "new.csv new.sav new.dta new.parquet d.csv",
    "key_file": f"{stock.STUDY}.key new.key d.csv bytes",
    "name": f"{stock.DATA} fair cps8d nothing",
    "replicates": "1 2 3",
    "workers": "1 2",
    "rates": "0.02 0.02,0.1 2 0 1",
    "swap_sizes": "1 1,2 9",
    "measures": "r1_share hellinger small_cells[n_rule=5],hellinger none",
    "objectives": "small_cells,hellinger hellinger small_cells,small_cells r1_share,hellinger",
    "spec": "A:S A:C Z:S",
    "mechanism": "rds pram maps none",
    "param": "s=3 theta=0.9,0.99 theta=2 D=5 x=1",
    "cut": "A=1 C=2,1 B=1 Z=1",
    "candidate": "x17c x000 x17c/1 x17c/0 x17c/99999999999999999999",
    "cluster": "tcp://[::1 tcp:// tls://x:0 tcp://127.0.0.1:99999 http://127.0.0.1:1",
    "accept": "all block none",
    "codebook": "d.csv empty.csv bytes",
    "max_risk": "0.5 0 -1",
    "slope": "1 0 -1",
    "budget": "1 20",
    "screen": "1 2",
    "formats": "csv csv,sav csv,csv docx",
    "id": "id A Z",
    "weight": "w B Z",
    "only": "1",
}
_WEIGHTS = {"sweep": 5, "space": 3, "export": 2, "recheck": 2, "measure": 2, "propose": 2}
"""Commands with many options come more often."""
_SLOW = {"all_specs", "search"}
"""Options after which a command may rightly run for long."""


def files() -> dict[str, Content]:
    """The files that are named: a study, its bundles, a plan, tables."""
    return {**stock.made(), **FILES, "plan.toml": stock.made()["out/analyst/internal/plan.toml"]}


def command_line(rng: random.Random) -> tuple[list[str], list[str]]:
    """A command line, and the files that it may change."""
    parsers = leaves()
    words, parser = rng.choices(parsers, [_WEIGHTS.get(words[-1], 1) for words, _ in parsers])[0]
    argv = arguments(rng, words, parser)
    writes = [stock.STUDY, *(["plan.toml"] if words == ["plan", "lock"] or "--out" in argv else [])]
    return argv, writes


@cache
def leaves() -> list[tuple[list[str], argparse.ArgumentParser]]:
    """Every command with its parser."""
    from engine.cli.main import build_parser
    from engine.cli.options import Parser

    def below(words: list[str], parser: Parser) -> Iterator[tuple[list[str], argparse.ArgumentParser]]:
        parser.complete()
        inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        if not inner or words == ["datasets"]:
            yield words, parser
        for action in inner:
            for name, child in action.choices.items():
                if name not in LEFT_OUT:
                    yield from below([*words, name], child)

    return list(below([], build_parser()))


def arguments(rng: random.Random, words: list[str], parser: argparse.ArgumentParser) -> list[str]:
    """A command line for one command: what it needs, and some of its options, fitting or not."""
    if rng.random() < 0.03:
        return [*words, *(rng.choice(ODD) for _ in range(rng.randint(0, 4)))]
    argv = [*words]
    actions = [a for a in parser._actions if not isinstance(a, (argparse._HelpAction, argparse._SubParsersAction))]
    options = [a for a in actions if a.option_strings and a.dest not in _SLOW]
    wanted = [a for a in options if a.required and rng.random() < 0.97]
    wanted += rng.sample(options, min(len(options), rng.choice((0, 1, 1, 2, 3, 5))))
    for action in wanted:
        argv.append(rng.choice(action.option_strings))
        if action.nargs != 0:
            argv.append(value(rng, action, 0.4))
    for action in actions:
        if not action.option_strings and rng.random() < 0.98:
            argv.append(value(rng, action, 0.15))
    return argv


def value(rng: random.Random, action: argparse.Action, odd: float) -> str:
    """A value of an argument, odd with that chance."""
    if rng.random() < odd:
        return rng.choice(ODD)
    if action.choices:
        return str(rng.choice(list(action.choices)))
    return rng.choice(FITTING.get(action.dest, "A A,B B,C words 1").split())
