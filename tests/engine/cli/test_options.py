"""Values of options are checked, and every option says what it is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.bundle.readers import ALL, TIERS
from engine.cli.main import build_parser, main
from engine.cli.options import names
from engine.common.errors import UsageError
from engine.common.os_support import expanded
from engine.measures import call
from engine.mechanisms import mechanism
from engine.release.spec import rate_text

SPACE = ("space", "czech")
BAD = [
    (*SPACE, "--rates", "1e-999999999"),
    (*SPACE, "--rates", "1e400"),
    (*SPACE, "--rates", "nan"),
    (*SPACE, "--rates", ""),
    (*SPACE, "--keys", "A\nB"),
    (*SPACE, "--keys", "x" * 200_000),
    (*SPACE, "--swap-sizes", "9" * 5000),
    (*SPACE, "--swap-sizes", "²"),
    (*SPACE, "--budget", "9" * 5000),
    (*SPACE, "--budget", "1" * 10),
    (*SPACE, "--replicates", "9223372036854775808"),
    (*SPACE, "--replicates", "٣"),
    (*SPACE, "--cut", "A=nan"),
    (*SPACE, "--mechanism", "rds", "--param", "s=1e999999999"),
    (*SPACE, "--mechanism", "pram", "--param", "theta=1e-999999999"),
    (*SPACE, "--measures", "small_cells[n_rule=" + "9" * 4000 + "]"),
    ("space", "~nobody/here.csv"),
    ("space", "\udcff.csv"),
    ("choose", "no.study", "--why", "\udcff"),
    ("show", "no.study", "--max-risk", "inf"),
    ("show", "no.study", "--slope", "nan"),
    ("demo", "--port", "70000"),
    ("demo", "--port", "0"),
    ("sweep", "czech", "--study", "s.study", "--workers", "1000000"),
]


@pytest.mark.parametrize("argv", BAD, ids=lambda argv: " ".join(argv)[:40].encode("ascii", "replace").decode())
def test_nonsense_is_refused_in_a_sentence_and_leaves_nothing(
    argv: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        code = main(argv)
    except SystemExit as end:  # argparse's own way to leave
        code = end.code  # type: ignore[assignment]
    said = capsys.readouterr().err
    assert code in (1, 2)
    assert "frontier" in said.splitlines()[-1] and "Traceback" not in said
    assert not list(tmp_path.iterdir())


def test_rates_have_as_many_decimals_as_are_exact() -> None:
    assert rate_text("0." + "0" * 26 + "1") == "0." + "0" * 26 + "1"
    assert rate_text("0.10") == "0.1" and rate_text("0e-999999") == "0"
    with pytest.raises(UsageError, match="more than 28 decimals"):
        rate_text("0." + "1" * 29)


def test_parameters_are_numbers_that_can_be_written_out() -> None:
    one = mechanism("pram").parameter("theta")
    assert one.canonical("0.90") == "0.9"
    with pytest.raises(UsageError, match="must be a number"):
        one.canonical("1e-999999999")
    with pytest.raises(UsageError, match="at most 9 digits"):
        call("small_cells[n_rule=1234567890]")


def test_a_home_that_is_nobodys_is_a_name() -> None:
    assert expanded("~nobody-of-that-name/x").parts[0] == "~nobody-of-that-name"
    assert expanded("~/x") == Path.home() / "x"


@pytest.mark.parametrize("tier", [*TIERS, ALL])
def test_every_tier_can_be_exported(tier: str) -> None:
    arguments = ["export", "s.study", "--data", "czech", "--out", "out", "--tier", tier]
    assert build_parser().parse_args(arguments).tier == tier


def test_names_in_quotes_keep_their_blanks() -> None:
    assert names(' a ,"b ", " c,d","e""f ",') == ["a", "b ", " c,d", 'e"f ']


@pytest.mark.parametrize("text", ['a,"b', '"a', 'a,"b"c'])
def test_a_quote_that_is_not_closed_is_no_list_of_names(text):
    with pytest.raises(argparse.ArgumentTypeError, match="no list of names"):
        names(text)


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
