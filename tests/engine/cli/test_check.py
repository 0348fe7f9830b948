"""`frontier plan check`: what differs is listed with its fixes, and settled into a new plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cli.main import main
from engine.plan import read_plan


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Last year's file with its plan, and this year's: a column gone, two new, a level and a code that are new."""
    rows = [("fm"[i % 2], str(1 + i % 3), f"n{i % 4}") for i in range(120)]
    (tmp_path / "last.csv").write_text("sex,job,note\n" + "".join(f"{','.join(row)}\n" for row in rows))
    lines = [
        f"{sex},{(4 if i % 9 == 0 else -9 if i % 11 == 0 else job)},{i % 2},{i % 5}"
        for i, (sex, job, _) in enumerate(rows)
    ]
    (tmp_path / "new.csv").write_text("sex,job,pet,car=s\n" + "\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "init", "last.csv", "--out", "plan.toml"]) == 0
    return tmp_path


def check(*words: str) -> int:
    return main(["plan", "check", "plan.toml", "--data", "new.csv", *words])


def test_what_differs_is_listed_with_its_fixes(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert check() == 1
    listed = capsys.readouterr().out
    assert (
        "column 'note' (attribute 'note') is not in the data\n  absent:note = drop, rename:pet, rename:car=s\n"
        "  drop also takes out attribute 'note'\n" in listed
    )
    assert "new:pet = drop, carry, weight, attribute\n" in listed
    assert "level:job:4 = level, missing, skip, merge:1, merge:2, merge:3\n" in listed
    assert "code:job:-9 = missing, level, skip, merge:1, merge:2, merge:3\n" in listed
    assert "--fix KIND=FIX, with --out PLAN" in listed


def test_all_is_settled_by_kind_or_by_name_into_a_new_plan(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (here / "plan.toml").read_text()
    fixes = ("absent=drop", "new:car=s=drop", "new=carry", "level:job:4=merge:3", "code=missing")
    assert check(*(word for fix in fixes for word in ("--fix", fix)), "--out", "this.toml") == 0
    assert "wrote this.toml\nthe plan fits the data\n" in capsys.readouterr().out
    plan = read_plan(here / "this.toml")
    assert plan.names == ("sex", "job") and plan.data.drop == ("car=s",) and plan.data.carry == ("pet",)
    (job,) = [part for part in plan.attributes if part.name == "job"]
    assert job.missing == ("-9",) and ("3", ("3", "4")) in job.merge
    assert (here / "plan.toml").read_text() == before


def test_the_plan_is_printed_and_what_is_left_goes_to_the_other_stream(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert check("--fix", "new=drop", "--out", "-") == 1
    printed = capsys.readouterr()
    assert 'drop = ["pet", "car=s"]' in printed.out and "absent:note" in printed.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fix", "new=drop"), "--fix and --out belong together"),
        (("--out", "x.toml"), "--fix and --out belong together"),
        (("--fix", "new", "--out", "x.toml"), "write WHICH=FIX, such as new=drop"),
        (("--fix", "news=drop", "--out", "x.toml"), "which is none of the differences. Did you mean 'new'"),
        (("--fix", "new=merge", "--out", "x.toml"), "'merge' does not settle new:pet. Known: drop, carry"),
        (("--fix", "new=drop", "--out", "plan.toml"), "'plan.toml' exists already"),
    ],
)
def test_a_wrong_fix_is_refused_and_nothing_is_written(
    here: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    assert check(*words) == 2
    assert said in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_what_no_public_bundle_may_hold_is_told_before_a_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"{'fm'[i % 2]},{1 + i % 3},{i * i}\n" for i in range(120))
    (here / "paid.csv").write_text(f"sex,job,pay\n{rows}")
    assert main(["plan", "init", "paid.csv", "--carry", "pay", "--out", "paid.toml"]) == 0
    data = read_plan(here / "paid.toml").data
    assert (data.carry, data.id, data.drop) == (("pay",), None, ()), "not the id, as a guess has it"
    capsys.readouterr()
    assert main(["plan", "check", "paid.toml", "--data", "paid.csv"]) == 0
    assert "'pay'" in capsys.readouterr().out


def test_a_column_to_drop_and_to_keep_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("sex,region\n1,2\n2,1\n")
    assert main(["plan", "init", "a.csv", "--drop", "region", "--carry", "region", "--out", "a.toml"]) == 2
    assert "'region' is named under --drop and to be kept" in capsys.readouterr().err


@pytest.mark.parametrize("use", [("--carry", "when"), ("--cut", "when=20,60"), ("--weight", "when")])
def test_a_use_that_options_name_wins_over_a_first_guess(here: Path, use: tuple[str, str]) -> None:
    (here / "when.csv").write_text(
        "sex,job,when\n" + "".join(f"{'fm'[i % 2]},{i % 3},{i + 0.5} kg\n" for i in range(99))
    )
    assert main(["plan", "init", "when.csv", *use, "--out", "when.toml"]) == 0
    data = read_plan(here / "when.toml").data
    assert data.drop == () and data.id is None
    assert "when" in (*data.carry, data.weight, *(part.name for part in data.attributes if part.cut))


@pytest.mark.slow
def test_check_sweep_and_space_all_ask_for_a_decision_on_what_a_pattern_alone_covers(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plan written by hand, without a list of the columns that were seen, carries nothing silently."""
    (here / "hand.toml").write_text(
        '[data]\ncarry = ["*"]\n\n[[attribute]]\nname = "sex"\n\n[[attribute]]\nname = "job"\n'
    )
    by_hand = ["--plan", "hand.toml"]
    capsys.readouterr()
    assert main(["plan", "check", "hand.toml", "--data", "last.csv"]) == 1
    assert "the plan does not name column 'note', and only a pattern says that it is carried" in capsys.readouterr().out
    refusal = "1 column of the data that the plan does not name, and only a pattern covers: 'note'"
    for command in (["space", "last.csv"], ["sweep", "last.csv", "--study", "a.study"]):
        assert main([*command, *by_hand]) == 2
        assert refusal in capsys.readouterr().err
    assert not (here / "a.study").exists() and not (here / "a.study.key").exists()
    words = ["plan", "check", "hand.toml", "--data", "last.csv", "--fix", "new=carry", "--out", "decided.toml"]
    assert main(words) == 0
    decided = ["--plan", "decided.toml", "--swap-sizes", "1", "--rates", "0.1", "--replicates", "2"]
    assert main(["sweep", "last.csv", "--study", "a.study", *decided, "--workers", "1"]) == 0
