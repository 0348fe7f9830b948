"""The command line: what it prints, how it ends, and one clear sentence for everything that can be wrong."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from engine.cli.main import main
from tests import forked_commands, needs

PEOPLE = "age,sex,work,pay\n" + "".join(
    f"{age},{sex},{work},{pay}\n"
    for i in range(30)
    for age, sex, work, pay in [(("young", "old")[i % 2], ("f", "m")[i % 3 == 0], ("a", "b", "c")[i % 3], i % 4)]
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with one good file and one small study's worth of options."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRONTIER_HOME", str(tmp_path / "home"))
    (tmp_path / "people.csv").write_text(PEOPLE)
    return tmp_path


def run(*words: str) -> int:
    """Exit code of one command."""
    try:
        return main(words)
    except SystemExit as ended:  # argparse leaves by itself
        return int(ended.code or 0)


@pytest.fixture
def study(here: Path) -> Path:
    """A small finished study."""
    assert (
        run(
            "sweep", "people.csv", "--study", "s.study", "--rates", "0.1,0.2", "--swap-sizes", "1", "--replicates", "10"
        )
        == 0
    )
    return here / "s.study"


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """What stands on standard error: one sentence, no traceback."""
    text = capsys.readouterr().err
    assert "Traceback" not in text
    return text


BAD_FILES = {
    "ragged": (b"a,b\n1,2\n1\n", 1, "line 3 has 1 field, 2 were expected"),
    "empty": (b"", 1, "is empty"),
    "header": (b"a,b\n", 1, "no records"),
    "latin": ("a,b\ncaf\xe9,2\n".encode("latin-1"), 1, "not UTF-8"),
    "twice": (b"a,a\n1,2\n", 1, "'a'"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_gets_one_sentence(here: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    content, code, words = BAD_FILES[name]
    (here / f"{name}.csv").write_bytes(content)
    assert run("sweep", f"{name}.csv", "--study", "s.study") == code
    assert words in said(capsys)
    assert not (here / "s.study").exists() and not (here / "s.study.key").exists()


BAD_CALLS = {
    "missing file": (["space", "absent.csv"], 2, "absent.csv"),
    "unknown sample": (["space", "fiar"], 2, "fair"),
    "unknown attribute": (["space", "people.csv", "--attributes", "agee,sex"], 2, "Did you mean 'age'?"),
    "unknown swap attribute": (["space", "people.csv", "--swap", "sexx"], 2, "Did you mean 'sex'?"),
    "rate above one": (["space", "people.csv", "--rates", "1.2"], 2, "1.2"),
    "rate no number": (["space", "people.csv", "--rates", "abc"], 2, "abc"),
    "all F": (["space", "people.csv", "--spec", "age:S sex:F work:F pay:F"], 2, "all are F"),
    "no S": (["space", "people.csv", "--spec", "sex:F"], 2, "no attribute is marked S"),
    "all S": (["space", "people.csv", "--spec", "age:S sex:S work:S pay:S"], 2, "every attribute is swapped"),
    "bad role": (["space", "people.csv", "--spec", "age:X"], 2, "S, F, C, U"),
    "bad size": (["space", "people.csv", "--swap-sizes", "9"], 2, "9"),
    "size no number": (["space", "people.csv", "--swap-sizes", "one"], 2, "whole numbers"),
    "no replicates": (["sweep", "people.csv", "--study", "s.study", "--replicates", "0"], 2, "replicates"),
    "no workers": (["sweep", "people.csv", "--study", "s.study", "--workers", "0"], 2, "workers"),
    "unknown measure": (["space", "people.csv", "--measures", "helinger"], 2, "hellinger"),
    "bad n_rule": (["space", "people.csv", "--measures", "small_cells[n_rule=1]"], 2, "n_rule"),
    "no folder": (["sweep", "people.csv", "--study", "no/s.study"], 2, "folder"),
    "bad plan": (["space", "people.csv", "--plan", "people.csv"], 2, "TOML"),
    "absent plan": (["space", "people.csv", "--plan", "absent.toml"], 2, "does not exist"),
    "absent study": (["show", "absent.study"], 2, "does not exist"),
    "no study": (["show", "people.csv"], 1, "is no study"),
    "no manifest": (["replay", "people.csv", "--data", "people.csv"], 1, "it is no JSON"),
    "unknown command": (["swap"], 2, "invalid choice"),
    "bad number": (["show", "s.study", "--max-risk", "low"], 2, "no number"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_bad_call_gets_one_sentence(here: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    words, code, sentence = BAD_CALLS[name]
    assert run(*words) == code
    assert sentence in said(capsys)
    assert not (here / "s.study").exists()


def test_one_level_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "flat.csv").write_text("a,b,c\n" + "x,1,u\nx,2,v\n" * 9)
    assert run("space", "flat.csv", "--spec", "a:S") == 2
    assert "attribute 'a' has one category" in said(capsys)


def test_a_numeric_column_that_nothing_names_is_refused_with_what_to_do(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "pay.csv").write_text("sex,work,pay\n" + "".join(f"{'fm'[i % 2]},{i % 3},{i * 1.5}\n" for i in range(60)))
    assert run("space", "pay.csv") == 1
    text = said(capsys)
    assert "'pay'" in text and "--carry" in text and "--drop" in text and "--cut" in text
    assert run("space", "pay.csv", "--carry", "pay") == 0


def test_a_study_answers_the_same_words(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run("show", "s.study", "--max-risk", "-1") == 2
    text = said(capsys)
    assert "no candidate is marked, since none meets the limit" in text
    assert text.count(" by x") == 1 and "nearest" not in text, "the nearest candidate is told once"
    assert "The least risk reached in 90 % of single runs is" in text and " larger rate " in text
    assert run("choose", "s.study", "--max-risk", "-1", "--why", "because") == 2
    text = said(capsys)
    assert "The least risk reached in 90 % of single runs is" in text
    assert text.count(" by x") == 1 and "nothing was chosen, since no candidate meets the limit" in text
    assert run("choose", "s.study", "--candidate", "xnone", "--why", "because") == 2
    assert "no candidate 'xnone'" in said(capsys)
    assert run("choose", "s.study", "--slope", "-1", "--why", "because") == 2
    assert "slope" in said(capsys)
    assert run("choose", "s.study", "--max-risk", "1", "--why", " ") == 2
    assert "reason" in said(capsys)
    assert run("show", "s.study", "--risk", "hellinger") == 2
    assert "a measure of utility, wanted one of risk" in said(capsys)
    assert run("show", "s.study", "--risk", "false_zeros") == 2
    assert "no measure 'false_zeros'" in said(capsys)


def untouched(folder: Path) -> dict[str, str]:
    """Every file of a folder with its digest; the write-ahead log's own files aside."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


@pytest.mark.slow
def test_refusals_leave_study_and_export_untouched(study: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "other.csv").write_text(PEOPLE.replace("young", "youth"))
    first = rows(capsys, "show", "s.study", "--format", "csv")[0]["id"]
    assert run("export", "s.study", "--data", "people.csv", "--candidate", first, "--out", "out") == 0
    (here / "wrong.key").write_text("ab" * 16)
    before = untouched(here)
    assert run("sweep", "other.csv", "--study", "s.study") == 2
    assert "made on other data" in said(capsys)
    assert run("sweep", "people.csv", "--study", "s.study", "--rates", "0.3") == 2
    assert "More of the same can be added. (--extend)" in said(capsys)
    assert run("sweep", "people.csv", "--study", "s.study", "--key-file", "wrong.key") == 2
    assert "the key is not the one" in said(capsys)
    assert run("export", "s.study", "--data", "people.csv", "--candidate", first, "--out", "out") == 2
    assert "never overwrites" in said(capsys)
    assert run("export", "s.study", "--data", "other.csv", "--candidate", first, "--out", "new") == 2
    assert run("export", "s.study", "--data", "people.csv", "--candidate", first, "--out", "no/new") == 2
    assert run("replay", "out", "--data", "other.csv") == 2
    assert "belongs to other data" in said(capsys)
    (here / "s.study.key").rename(here / "elsewhere")
    assert run("sweep", "people.csv", "--study", "s.study", "--replicates", "9", "--extend") == 2
    assert "key file" in said(capsys)
    (here / "elsewhere").rename(here / "s.study.key")
    assert untouched(here) == before


@pytest.mark.parametrize(
    "words",
    [
        ("--replicates", str(2**63)),
        ("--replicates", "1000001"),
        ("--replicates", "-1"),
        ("--screen", str(2**63)),
        ("--search", "--budget", str(2**63)),
        ("--swap-sizes", str(2**63)),
        ("--workers", str(2**63)),
        ("--rates", "1e-999999999"),
        ("--cluster", "tcp://[::1"),
    ],
)
def test_a_number_that_cannot_be_leaves_no_study(here: Path, capsys: pytest.CaptureFixture[str], words) -> None:
    before = untouched(here)
    with suppress(SystemExit):
        assert run("sweep", "people.csv", "--study", "none.study", *words) == 2
    assert ": " in said(capsys).strip().splitlines()[-1]
    assert untouched(here) == before


@pytest.mark.slow
@pytest.mark.parametrize("words", [("recheck",), ("measure", "--measures", "false_zeros")])
def test_a_cluster_is_refused_for_every_command_as_for_a_sweep(study: Path, capsys, words) -> None:
    command = [*words, "s.study", "--data", "people.csv", "--cluster", "tcp://10.1.2.3:8786"]
    before = untouched(study.parent)
    assert run(*command) == 2
    assert "is another host and not encrypted; use tls:// there" in said(capsys)
    assert run(*command[:-1], "tls://grid:1", "--workers", "2") == 2
    assert "a cluster has its own, so give one of the two" in said(capsys)
    assert untouched(study.parent) == before


def test_fresh_runs_are_not_more_than_have_numbers(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("recheck", "s.study", "--data", "people.csv", "--replicates", "1000001") == 2
    assert "must be at most 1,000,000" in said(capsys)


@needs.FILE_SIZES
@pytest.mark.parametrize("limit", [20_000, 60_000])
@pytest.mark.slow
def test_a_full_disk_gets_one_sentence_and_loses_nothing(study: Path, here: Path, limit: int) -> None:
    before = forked_commands.run(["show", "s.study", "--format", "csv"]).stdout
    words = ["sweep", "people.csv", "--study", "s.study", "--replicates", "4000", "--extend"]
    ended = forked_commands.run(words, largest=limit)
    assert ended.returncode == 1, ended.stderr
    assert "could not be written" in ended.stderr and "Traceback" not in ended.stderr
    after = forked_commands.run(["show", "s.study", "--by", "realisation", "--format", "csv"])
    assert after.returncode == 0 and len(after.stdout.splitlines()) >= len(before.splitlines()) > 1
    candidate = after.stdout.splitlines()[1].split(",")[0]
    export = ["export", "s.study", "--data", "people.csv", "--candidate", candidate, "--out", "o"]
    ended = forked_commands.run(export, largest=200)
    assert ended.returncode == 1 and "could not be written" in ended.stderr and "Traceback" not in ended.stderr
    assert not (here / "o").exists() and not list(here.glob(".o.*"))


def rows(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, str]]:
    """What a command prints as CSV."""
    capsys.readouterr()
    assert run(*words) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


@pytest.mark.slow
def test_show_by_realisation_and_by_scenario_agree(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = rows(capsys, "show", "s.study", "--by", "realisation", "--format", "csv")
    means = rows(capsys, "show", "s.study", "--format", "csv")
    named = ["id", "mechanism", "rate", "amount", "spec", "replicate", "status", "records_changed"]
    assert list(runs[0])[:8] == named
    assert list(runs[0])[8:] == [
        "small_cells",
        "hellinger",
        "total_variation",
        "entropy_change",
        "undominated",
        "optimal",
    ]
    assert len(means) == 8 and len(runs) == 80
    for mean in means:
        mine = [float(r["hellinger"]) for r in runs if r["id"].split("/")[0] == mean["id"] and r["status"] == "ok"]
        assert float(mean["hellinger"]) == pytest.approx(sum(mine) / len(mine), rel=1e-12)
    assert {r["spec"] for r in runs} == {"age:S", "sex:S", "work:S", "pay:S"}


@pytest.mark.slow
def test_json_and_table_hold_the_same_candidates(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run("show", "s.study", "--undominated", "--format", "json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed and all(row["undominated"] for row in listed)
    assert run("show", "s.study", "--undominated", "--max-risk", "1") == 0
    text = capsys.readouterr().out
    assert "doing nothing:" in text and all(row["id"] in text for row in listed)
    assert sum("best, frontier" in line for line in text.splitlines()) == 1


@pytest.mark.slow
def test_the_rule_marks_one_optimum_on_the_frontier(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    best = [r for r in rows(capsys, "show", "s.study", "--max-risk", "1", "--format", "csv") if r["optimal"] == "true"]
    assert len(best) == 1 and best[0]["undominated"] == "true"


def test_extend_adds_and_equals_one_big_sweep(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "k.key").write_text("0123456789abcdef" * 2)
    common = ["--swap-sizes", "1", "--key-file", "k.key"]
    assert run("sweep", "people.csv", "--study", "a.study", "--rates", "0.1", "--replicates", "2", *common) == 0
    grow = ["--rates", "0.2", "--replicates", "4", "--extend", "--key-file", "k.key"]
    assert run("sweep", "people.csv", "--study", "a.study", *grow) == 0
    whole = ["--rates", "0.2,0.10", "--replicates", "4", "--after", "a.study", *common]
    assert run("sweep", "people.csv", "--study", "b.study", *whole) == 0
    a = rows(capsys, "show", "a.study", "--by", "realisation", "--format", "csv")
    b = rows(capsys, "show", "b.study", "--by", "realisation", "--format", "csv")
    key = "id"
    assert sorted(a, key=lambda r: r[key]) == sorted(b, key=lambda r: r[key])


def test_choose_records_and_export_and_replay_follow(
    study: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("choose", "s.study", "--max-risk", "1", "--why", "the board's limit") == 0
    label = capsys.readouterr().out.split("chosen: ")[1].split("/")[0]
    assert run("export", "s.study", "--data", "people.csv", "--candidate", label, "--out", "out") == 0
    manifest = json.loads((here / "out/internal/manifest.json").read_text())
    assert manifest["decision"]["why"] == "the board's limit"
    assert bytes.fromhex((here / "s.study.key").read_text().strip()).hex() not in json.dumps(manifest)
    released = (here / "out/release/release.csv").read_text().splitlines()
    original = PEOPLE.splitlines()
    assert released[0] == original[0] and len(released) == len(original)
    for column in range(4):
        assert sorted(r.split(",")[column] for r in released) == sorted(r.split(",")[column] for r in original)
    assert run("replay", "out", "--data", "people.csv") == 0
    assert capsys.readouterr().out.count("bit for bit") == 2


@pytest.mark.slow
def test_adding_measures_equals_sweeping_with_them(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "k.key").write_text("0123456789abcdef" * 2)
    common = ["--rates", "0.1", "--swap-sizes", "1", "--replicates", "3", "--key-file", "k.key"]
    assert run("sweep", "people.csv", "--study", "a.study", *common) == 0
    more = "false_zeros,hellinger_two_way[summary=max]"
    assert run("measure", "a.study", "--data", "people.csv", "--measures", more, "--key-file", "k.key") == 0
    everything = "small_cells,hellinger,total_variation,entropy_change," + more
    whole = ["--measures", everything, "--after", "a.study", *common]
    assert run("sweep", "people.csv", "--study", "b.study", *whole) == 0
    a = rows(capsys, "show", "a.study", "--by", "realisation", "--format", "csv")
    assert a == rows(capsys, "show", "b.study", "--by", "realisation", "--format", "csv")


@pytest.mark.slow
def test_help_answers_without_numba_streamlit_or_statistics_libraries() -> None:
    code = (
        "import sys; from engine.cli.main import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "dear = ('numba', 'numpy', 'streamlit', 'scipy', 'statsmodels', 'pandas', 'plotly')\n"
        "print([m for m in dear if m in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


def test_arguments_come_by_standard_input_too(here: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(["plan", "init", "people.csv", "--out", "-"])))
    assert run("-") == 0
    assert "age" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(["show", "gone-é.study"])))
    assert run("-") != 0
    assert "gone-é.study" in json.loads(capsys.readouterr().err)["text"]


@pytest.mark.parametrize("told", ["", "sweep", '{"a": 1}', '["show", 3]', "null"])
def test_standard_input_without_arguments_is_refused(told: str, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(told))
    assert run("-") == 2
    assert "must be a JSON list of texts" in capsys.readouterr().err
