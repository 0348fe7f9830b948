"""The whole way of a user's file: a first plan, every question answered as its hint says, a sweep, a choice, its
approval, and a release in every format that reads back."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.data.io.readers import read_table
from engine.study.study import Study
from tests.shared import shared_file

pytestmark = pytest.mark.slow
FORMATS = ("csv", "parquet", "sav", "dta")
RNG = random.Random(11)


def _lines(header: str, record: Callable[[int], Sequence[object]], n: int = 160, sep: str = ",") -> str:
    return "".join(f"{line}\n" for line in (header, *(sep.join(map(str, record(i))) for i in range(n))))


def any_of(*values: object) -> object:
    return RNG.choice(values)


KINDS: dict[str, str] = {
    "household numbers in two columns and codes among weights": _lines(
        "v001,v002,hvidx,sex,educ,wgt",
        lambda i: (
            i // 16 + 1,
            i // 2 % 8 + 1,
            i % 2 + 1,
            any_of(1, 2),
            any_of(1, 2, 3, -9),
            -1 if i % 50 == 3 else 100 + 7.25 * i,
        ),
    ),
    "decimal comma with a word": "sep=;\n"
    + _lines(
        "sexe;region;revenu",
        lambda i: (any_of("f", "m"), any_of("N", "S"), "k. A." if i == 9 else f"{10 + i},{i % 90 + 10}"),
        sep=";",
    ),
    "thousands with blanks": _lines(
        "sexe;region;revenu",
        lambda i: (any_of("f", "m"), any_of("N", "S"), f"{i % 40 + 1}\u00a0{i % 4 + 100}"),
        sep=";",
    ),
    "bands, months and a scale": _lines(
        "age,month,agree",
        lambda i: (
            any_of("<1", "1-4", "5-9", "85+"),
            any_of("Jan", "Feb", "Dec"),
            any_of("Agree", "Disagree", "DK", "."),
        ),
    ),
    "look-alikes and words for missing": _lines(
        "q1,q2,sex", lambda i: (any_of("1", " 1", "01", "2"), any_of("yes", "Yes ", "no", "None"), any_of("f", "m"))
    ),
    "names with a dot, a mark of direction and none": _lines(
        "educ.yrs,\u202esex,,", lambda i: (any_of(1, 2, 3), any_of("f", "m"), any_of("a", "b"), "")
    ),
    "an id and codes below 0": _lines(
        "pid,q1,q2,q3",
        lambda i: (1000 + i, any_of(0, 1, -8, -9), any_of(0, 1, -8, -9), any_of(0, 1, 2, -8, -9)),
    ),
}
GIVEN = (
    *("age_bands.csv", "country_na.csv", "decimal_comma.csv", "label_code_10_digits.sav", "line_numbers_cps.csv"),
    *("negative_weights.csv", "text_missing.sav", "time_zone.parquet", "with_codebook.csv"),
)


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """A function that runs a command, which works unless a code is given, and returns what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str, codes: Sequence[int] = (0,)) -> str:
        capsys.readouterr()
        code = main(list(words))
        printed = capsys.readouterr()
        assert code in codes, (words, printed.err)
        return printed.out + printed.err

    return run


def _plan_of(said: Callable[..., str], data: str, book: str, clean: Sequence[str]) -> str:
    """A plan that fits: of what the records suggest everything is accepted, and every mismatch settled as is likely."""
    number, plan = 0, "p0.toml"
    if book:
        said("plan", "propose", data, "--codebook", book, "--out", plan)
    else:
        said("plan", "init", data, "--out", plan, *clean)
    wanted = "all"
    while wanted:
        number, before = number + 1, plan
        plan = f"p{number}.toml"
        listed = said("plan", "propose", data, "--plan", before, "--accept", wanted, "--out", plan, *clean)
        wanted = next((key for key in re.findall(r"^(\w+:.+)\n  ", listed, re.M) if not key.startswith("weight")), "")
    while found := re.search(
        r"^  (\S.*?) = ([^,\n]+)", said("plan", "check", plan, "--data", data, *clean, codes=(0, 1)), re.M
    ):
        number, before = number + 1, plan
        plan = f"p{number}.toml"
        fix = ("--fix", f"{found[1]}={found[2]}", "--out", plan)
        said("plan", "check", before, "--data", data, *fix, *clean, codes=(0, 1))
    assert "the plan fits the data" in said("plan", "check", plan, "--data", data, *clean)
    return plan


def _goes_the_whole_way(said: Callable[..., str], data: str, book: str = "", clean: Sequence[str] = ()) -> None:
    plan = _plan_of(said, data, book, clean)
    said(
        "sweep",
        data,
        "--study",
        "s",
        "--plan",
        plan,
        "--replicates",
        "10",
        "--workers",
        "1",
        "--max-risk",
        "0.99",
        *clean,
    )
    with Study.open("s") as study:
        label = study.scenarios[len(study.scenarios) - 1].label
    said("choose", "s", "--candidate", label, "--why", "a try", "--by", "Ada")
    said("recheck", "s", "--data", data, "--candidate", label, "--replicates", "2", *clean)
    said("decide", "s", "--state", "submitted", "--by", "Ada", "--despite", "a try")
    said("decide", "s", "--state", "approved", "--by", "Board", "--number", "17")
    said("export", "s", "--data", data, "--out", "out", "--for", "public", "--formats", ",".join(FORMATS), *clean)
    n_records = read_table(data, bool(clean)).n_records
    for form in FORMATS:
        (released,) = Path("out").rglob(f"release.{form}")
        assert read_table(released).n_records == n_records


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_each_kind_ends_in_an_export(kind: str, said: Callable[..., str]) -> None:
    Path("a.csv").write_text(KINDS[kind])
    _goes_the_whole_way(said, "a.csv", clean=("--clean-names",) if "direction" in kind else ())


@pytest.mark.parametrize("name", GIVEN)
def test_a_given_file_ends_in_an_export(name: str, said: Callable[..., str]) -> None:
    _goes_the_whole_way(said, str(shared_file("reference", "files", name)))


def test_a_given_file_with_its_codebook_ends_in_an_export(said: Callable[..., str]) -> None:
    data, book = (str(shared_file("reference", "files", f"with_codebook{end}.csv")) for end in ("", "_book"))
    _goes_the_whole_way(said, data, book)


def test_a_quoted_field_with_text_behind_it_leads_on_when_it_is_mended(said: Callable[..., str]) -> None:
    text = _lines("a,b", lambda i: (any_of(1, 2), f'"{any_of("x", "y")}"'))
    Path("a.csv").write_text(text + '2,"y"z\n')
    assert "line 162" in said("plan", "init", "a.csv", codes=(1,))
    Path("a.csv").write_text(text + '2,"yz"\n')
    said("plan", "init", "a.csv")


def test_a_lone_category_leads_on_when_a_number_gets_levels(said: Callable[..., str]) -> None:
    Path("a.csv").write_text(_lines("sex,age", lambda i: (any_of("f", "m"), i % 80)))
    said("plan", "init", "a.csv", "--out", "p.toml")
    assert "make another column an attribute" in said("plan", "check", "p.toml", "--data", "a.csv", codes=(1,))
    said("plan", "init", "a.csv", "--attributes", "sex,age", "--cut", "age=25,55", "--out", "q.toml")
    said("plan", "check", "q.toml", "--data", "a.csv")
