"""Columns whose names hold signs of the program's own notation go from a file to its release, under their names."""

from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import engine as sf
from engine.cli.main import main
from engine.common.errors import EngineError
from engine.plan import read_plan

NAMES = ("a[b]", "c;d", "e,f", "g+h", "i=j", "k|l", "m:n", "o'p", 'q"r', "s] t")
KEYS = 'a[b],"e,f",i=j,q"r'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(3)
    with (tmp_path / "odd.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([NAMES, *(rng.choice(list("uvw"), (300, len(NAMES))).tolist())])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(*options: str) -> None:
    assert main(["plan", "init", "odd.csv", "--rates", "0.1", *options]) == 0


@pytest.mark.slow
def test_odd_names_go_from_a_file_to_its_release(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    init("--replicates", "10", "--keys", KEYS, "--swap", KEYS, "--spec", "a[b]:S e,f:S", "--spec", 'q"r:S')
    plan = read_plan(here / "plan.toml")
    assert plan.keys == ("a[b]", "e,f", "i=j", 'q"r') and plan.names == NAMES
    assert main(["plan", "check", "plan.toml", "--data", "odd.csv"]) == 0
    assert main(["sweep", "odd.csv", "--plan", "plan.toml", "--study", "odd.study", "--workers", "1"]) == 0
    capsys.readouterr()
    assert main(["show", "odd.study", "--wide"]) == 0
    shown = capsys.readouterr().out
    (row,) = [line for line in shown.splitlines() if "a[b]" in line and "e,f" in line]
    label = row.split()[0]
    assert main(["choose", "odd.study", "--candidate", label, "--why", "a try", "--by", "A. Analyst"]) == 0
    assert main(["export", "odd.study", "--data", "odd.csv", "--out", "out", "--formats", "csv"]) == 0
    (released,) = (here / "out").rglob("release.csv")
    with released.open(newline="", encoding="utf-8") as file, (here / "odd.csv").open(newline="") as original:
        after, before = list(csv.reader(file)), list(csv.reader(original))
    assert tuple(after[0]) == NAMES and after[1:] != before[1:]
    for now, was in zip(zip(*after, strict=True), zip(*before, strict=True), strict=True):
        assert sorted(now) == sorted(was)


TABLES = (
    '\n[[table]]\nname = "odd"\nattributes = ["e,f", "k|l"]\n\n[[table]]\nname = "plain"\nattributes = ["k|l", "m:n"]\n'
)


@pytest.mark.slow
def test_a_plan_written_by_hand_is_told_which_measures_its_uses_lack(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init("--replicates", "2", "--swap-sizes", "1")
    path = here / "plan.toml"
    path.write_text(path.read_text(encoding="utf-8") + TABLES, encoding="utf-8")
    told = (
        "warning: the table 'odd' is declared and not measured, since no measure can name 'e,f', which holds one of"
        " [ ] ; , + =; rename that attribute to 'e_f'; its column keeps its name",
        "warning: the table 'plain' is declared and not measured; add 'total_variation[attributes=k|l+m:n]' to measures"
        " in the plan",
    )
    for command in (
        ["plan", "check", "plan.toml", "--data", "odd.csv"],
        ["space", "odd.csv", "--plan", "plan.toml"],
        ["sweep", "odd.csv", "--plan", "plan.toml", "--study", "odd.study", "--workers", "1"],
    ):
        capsys.readouterr()
        assert main(command) == 0
        printed = capsys.readouterr()
        assert all(line in (printed.out + printed.err).splitlines() for line in told), command


@pytest.mark.slow
def test_attributes_are_renamed_by_the_command_that_the_check_names_and_the_codebook_tells_the_columns(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init("--replicates", "10", "--keys", KEYS, "--swap", '"e,f",i=j', "--swap-sizes", "2")
    path = here / "plan.toml"
    path.write_text(path.read_text(encoding="utf-8") + TABLES, encoding="utf-8")
    capsys.readouterr()
    assert main(["plan", "check", "plan.toml", "--data", "odd.csv"]) == 0
    command = "frontier plan propose DATA --plan PLAN --accept name --out NEW"
    assert f"to rename: `{command}`" in capsys.readouterr().out.splitlines()
    named = {"DATA": "odd.csv", "PLAN": "plan.toml", "NEW": "new.toml"}
    assert main([named.get(word, word) for word in command.split()[1:]]) == 0
    plan = read_plan(here / "new.toml")
    assert plan.names == ("a_b", "c_d", "e_f", "g_h", "i_j", "k|l", "m:n", "o'p", 'q"r', "s_t")
    assert (plan.keys, plan.swap) == (("a_b", "e_f", "i_j", 'q"r'), ("e_f", "i_j"))
    assert plan.tables[0].attributes == ("e_f", "k|l")
    assert main(["sweep", "odd.csv", "--plan", "new.toml", "--study", "new.study", "--workers", "1"]) == 0
    capsys.readouterr()
    assert main(["show", "new.study", "--wide"]) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "e_f" in line and "i_j" in line]
    label = row.split()[0]
    assert main(["choose", "new.study", "--candidate", label, "--why", "a try", "--by", "A. Analyst"]) == 0
    assert main(["recheck", "new.study", "--data", "odd.csv"]) == 0
    for state in (["submitted"], ["approved", "--number", "7"]):
        assert main(["decide", "new.study", "--by", "B", "--state", *state]) == 0
    export = ["export", "new.study", "--data", "odd.csv", "--tier", "public", "--out", "out", "--formats", "csv"]
    assert main(export) == 0
    (book,) = (here / "out").rglob("codebook.xml")
    told = [element.get("name") for element in ElementTree.parse(book).iter("{ddi:codebook:2_5}var")]
    assert told == list(NAMES)


def test_a_file_with_a_hidden_sign_in_a_name_is_read_under_clean_names_as_the_error_says(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{i % 3},{i % 2},{i % 5}" for i in range(60)]
    (here / "turned.csv").write_text("\n".join(["a\u202eb,c,\u200b", *lines]), encoding="utf-8")
    assert main(["plan", "init", "turned.csv"]) == 1
    assert "--clean-names" in capsys.readouterr().err
    assert main(["plan", "init", "turned.csv", "--clean-names", "--drop", "column_3"]) == 0
    assert read_plan(here / "plan.toml").names == ("ab", "c")
    assert main(["plan", "check", "plan.toml", "--data", "turned.csv", "--clean-names"]) == 0
    assert list(sf.load("turned.csv", clean_names=True).columns) == ["ab", "c", "column_3"]
    with pytest.raises(EngineError, match=r"clean_names=True"):
        sf.load("turned.csv")
