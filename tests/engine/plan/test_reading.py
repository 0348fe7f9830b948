"""Files that are no plan are refused in a sentence, at once, whatever they hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.common.errors import EngineError, UsageError
from engine.common.untrusted import MOST_BYTES
from engine.plan import plan_from_toml, read_plan
from engine.plan.entries import AnalysisPlan

TEXTS = {
    "lists nested deep": ("[about]\nsurvey = " + "[" * 5000 + "]" * 5000, "line 2 nests lists or tables deeper"),
    "tables nested deep": ("[about]\nsurvey = " + "{a=" * 1000 + "1" + "}" * 1000, "nests lists or tables deeper"),
    "4,301 digits": ("[space]\nreplicates = " + "9" * 4301, "line 2 holds a number of very many digits"),
    "hexadecimal digits": ("[space]\nreplicates = 0x" + "f" * 5000, "a number of very many digits"),
    "more than 64 bits": ("[space]\nreplicates = 9223372036854775808", "replicates holds a whole number of more than"),
    "a large edge": ("[[attribute]]\nname = 'A'\ncut = [1" + "0" * 80 + "]", "cut holds a whole number of more than"),
    "a key of many parts": ("[about]\n" + "a." * 50_000 + "b = 1", "line 2 holds a name of very many parts"),
    "a quoted key of many parts": ("[" + "'a'." * 50_000 + "b]", "a name of very many parts"),
    "a day that is none": ("[about]\nsurvey = 2024-02-30", "not valid TOML"),
    "a tiny rate": ("[[attribute]]\nname = 'A'\n[space]\nrates = ['1e-999999999']", "rate has more than 28 decimals"),
}


@pytest.mark.parametrize("what", TEXTS)
def test_what_no_plan_needs_is_refused(what: str) -> None:
    text, words = TEXTS[what]
    with pytest.raises(UsageError, match=words):
        plan_from_toml(text)


@pytest.mark.parametrize("value", ['"[[[[" # [[[[', "'''\n[[[[\n'''", '"""\n{{{{ "" \\""" [[[[\n"""', '"a.b.c.d"'])
def test_brackets_within_texts_and_comments_are_no_nesting(value: str) -> None:
    value = value.replace("[[[[", "[" * 40).replace("a.b", "a." * 40)
    assert plan_from_toml(f"[about]\nsurvey = {value}\n[[attribute]]\nname = 'A'").names == ("A",)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1_000_001, 2_000_003])
@pytest.mark.parametrize("sign", ['"', "'", "\\", '"\\'])
def test_signs_without_end_are_read_through_once(sign: str, n: int) -> None:
    with pytest.raises(UsageError, match="not valid TOML"):
        plan_from_toml("[about]\nsurvey = " + sign * n)


def test_a_folder_a_device_and_a_very_large_file_are_no_plans(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="is a folder"):
        read_plan(tmp_path)
    large = tmp_path / "large.toml"
    with large.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(UsageError, match="is it the data"):
        read_plan(large)


@pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="Windows has no named pipes among its files; run the tests on Linux or macOS"
)
def test_a_pipe_and_an_endless_file_are_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    for name, kind in (("pipe.toml", "a named pipe"), ("endless.toml", "a device")):
        with pytest.raises(UsageError, match=f"plan '{name}' is {kind}; give the file of a plan"):
            read_plan(tmp_path / name)


@pytest.mark.parametrize(
    "predictors", ["(" * 30 + "x" + ")" * 30, " + ".join(["x"] * 3000), "-" * 2000 + "x", "x" * 30_000]
)
def test_a_formula_that_a_parser_cannot_hold_is_refused(predictors: str) -> None:
    with pytest.raises(UsageError, match=r"characters, .* are read"):
        AnalysisPlan("a", f"y ~ {predictors}")


def test_quoted_names_in_a_formula_may_hold_any_signs() -> None:
    assert AnalysisPlan("a", "y ~ Q('" + "(" * 300 + "')").columns[-1] == "(" * 300
