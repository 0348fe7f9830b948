"""`frontier plan propose`: what it lists, accepts, writes and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cli.main import main
from engine.plan import AttributePlan, read_plan


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = ["case,wt,age,young,asked,hours,sex"]
    for i in range(400):
        age, asked = (i * 7) % 11, i % 3
        rows.append(
            f"c{i},{1 + i % 5}.5,{age},{int(age < 4)},{asked},{(i * 5) % 7 if asked == 1 else ''},{'mf'[i * i % 5 % 2]}"
        )
    (tmp_path / "people.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "book.csv").write_text("name,role\nsex,key\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> int:
    return main(["plan", "propose", *words])


def test_proposals_are_listed_and_nothing_is_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(here.iterdir())
    assert run("people.csv") == 0
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if not line.startswith(" ")] == [
        "id:case",
        "weight:wt",
        "block:age",
        "skip:asked:hours",
    ]
    assert "'hours' is skipped in exactly the records where 'asked' is 0 or 2." in said
    assert sorted(here.iterdir()) == before


def test_accepted_proposals_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("people.csv", "--accept", "weight,block:age", "--out", "p.toml") == 0
    ended = capsys.readouterr()
    assert "accepted 2: weight:wt, block:age" in ended.err
    assert "skip:asked:hours" in ended.out
    plan = read_plan("p.toml")
    assert (plan.data.id, plan.data.weight) == ("case", "wt")
    assert plan.attributes[plan.names.index("age")].columns == ("age", "young")
    assert run("people.csv", "--plan", "p.toml", "--accept", "all", "--out", "-") == 0
    ended = capsys.readouterr()
    assert "nothing more to propose" in ended.err
    assert 'columns = ["asked", "hours"]' in ended.out


def test_blank_values_are_one_question_that_can_be_answered(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "blanks.csv").write_text("q,sex\n" + " ,f\n  ,m\na,f\nb,m\n" * 9)
    assert run("blanks.csv", "--accept", "code:q: ", "--out", "p.toml") == 0
    assert set(read_plan("p.toml").attributes[0].missing) == {" ", "  "}
    assert "code:" not in capsys.readouterr().out


@pytest.mark.slow
def test_what_only_may_be_a_weight_is_accepted_by_its_key_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{'mf'[i % 2]},{1 + i * 37 % 400 / 7 + i / 1000:.5f}" for i in range(400)]
    (here / "own.csv").write_text("\n".join(["sex,factor", *rows]) + "\n")
    assert run("own.csv", "--accept", "all,weight", "--out", "p.toml") == 0
    assert read_plan("p.toml").data.weight is None
    assert "weight:factor\n  'factor' may be a weight" in capsys.readouterr().out
    assert run("own.csv", "--plan", "p.toml", "--accept", "weight:factor", "--out", "q.toml") == 0
    assert read_plan("q.toml").data.weight == "factor"
    assert "nothing more to propose" in capsys.readouterr().out
    assert main(["plan", "init", "own.csv", "--out", "-"]) == 0
    assert "#   weight:factor: 'factor' may be a weight" in capsys.readouterr().out


def test_attributes_and_a_codebook_come_first() -> None:
    assert run("people.csv", "--attributes", "hours", "--accept", "all", "--out", "p.toml") == 0
    (hours,) = read_plan("p.toml").attributes
    assert (hours.name, hours.columns, hours.on_missing) == ("hours", ("hours", "asked"), "level")
    assert run("people.csv", "--codebook", "book.csv", "--out", "q.toml") == 0
    assert read_plan("q.toml").attributes == (AttributePlan("sex", levels=("f", "m")),)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--accept", "all"), "say with --out where to write it"),
        (("--accept", "blok", "--out", "-"), "unknown proposal 'blok'. Did you mean 'block'"),
        (("--out", "people.csv"), "'people.csv' exists already"),
        (("--attributes", "agee"), "unknown attribute 'agee'"),
    ],
)
def test_a_wrong_request_is_one_sentence(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("people.csv", *words) == 2
    text = capsys.readouterr().err
    assert message in text
    assert text.startswith("frontier: ")
    assert text.count("\n") == 1


def test_columns_that_are_asked_for_keep_their_names_whenever_they_are_named(here: Path) -> None:
    def attribute(path: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        (part,) = [part for part in read_plan(path).attributes if "age" in part.columns]
        return part.name, part.view, part.levels

    wanted = ("young", ("young",), ("0", "1"))
    assert run("people.csv", "--attributes", "young,sex", "--accept", "all", "--out", "first.toml") == 0
    assert run("people.csv", "--accept", "all", "--out", "all.toml") == 0
    assert attribute("all.toml")[0] == "age"
    assert run("people.csv", "--plan", "all.toml", "--attributes", "young,sex", "--out", "later.toml") == 0
    assert main(["plan", "init", "people.csv", "--keys", "young,sex", "--out", "keys.toml"]) == 0
    assert run("people.csv", "--plan", "keys.toml", "--accept", "all", "--out", "joined.toml") == 0
    assert main(["plan", "init", "people.csv", "--plan", "all.toml", "--swap", "young", "--out", "edited.toml"]) == 0
    (here / "roles.csv").write_text("name,role\nyoung,key\nsex,key\n")
    assert run("people.csv", "--plan", "all.toml", "--codebook", "roles.csv", "--out", "book.toml") == 0
    assert [attribute(f"{name}.toml") for name in ("first", "later", "joined", "edited", "book")] == [wanted] * 5
