"""`frontier show` lists what a choice needs, along the frontier and as wide as the terminal; programs get all of it.

The lists of measures and mechanisms on a terminal.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from engine.cli import catalogue, show
from engine.cli.main import main
from engine.cli.show_table import Column, figure_cells, table_lines
from engine.measures import MEASURES
from engine.mechanisms import MECHANISMS, mechanism
from tests import needs
from tests.households import CENSUS_PLAN, census_files

PEOPLE = "age,sex,work\n" + "".join(
    f"{('young', 'old')[i % 2]},{('f', 'm')[i % 3 == 0]},{('a', 'b', 'c')[i * i % 7 % 3]}\n" for i in range(120)
)
KEY = "0123456789abcdef" * 2


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A finished study of twelve candidates under a fixed key."""
    folder = tmp_path_factory.mktemp("show")
    data, path = folder / "people.csv", folder / "s.study"
    data.write_text(PEOPLE, encoding="utf-8")
    (folder / "s.study.key").write_text(KEY)
    (folder / "s.study.key").chmod(0o600)
    options = ["--swap-sizes", "1,2", "--rates", "0.1,0.3", "--replicates", "10", "--workers", "1"]
    assert main(["sweep", str(data), "--study", str(path), *options]) == 0
    return str(path)


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main(["show", *words]) == 0
    return capsys.readouterr().out


def table(text: str) -> list[list[str]]:
    """Cells of the table, its head first."""
    lines = text.splitlines()[2:]
    rule = next(line for line in lines if set(line) == {"-", " "})
    at = lines.index(rule)
    body = []
    for line in lines[at + 1 :]:
        if not re.match("x[0-9a-f]{3,}", line):
            break
        body.append(line)
    spans = [match.span() for match in re.finditer("-+", rule)]
    return [[line[start:end].strip() for start, end in spans] for line in [lines[at - 1], *body]]


def rows(capsys: pytest.CaptureFixture[str], study: str, *words: str) -> dict[str, dict]:
    return {row["id"]: row for row in json.loads(printed(capsys, study, "--format", "json", *words))}


def test_the_command_alone_shows_its_help(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 0
    text = capsys.readouterr()
    assert text.out.startswith("usage: frontier") and "sweep" in text.out and text.err == ""


@pytest.mark.slow
def test_what_a_choice_needs_is_listed(study: str, capsys: pytest.CaptureFixture[str]):
    head, *body = table(printed(capsys, study))
    assert head == ["id", "swapped", "rate", "small_cells ± se", "hellinger ± se", "standing"]
    known = rows(capsys, study)
    assert {cells[0] for cells in body} == set(known)
    for label, swapped, rate, risk, _, standing in body:
        row = known[label]
        assert swapped == " + ".join(part.removesuffix(":S") for part in row["spec"].split())
        assert rate == f"{100 * float(row['rate']):g} %"
        mean, error = map(float, risk.split(" ± "))
        assert mean == pytest.approx(row["small_cells"], abs=error + 1e-9)
        assert standing.startswith("frontier" if row["undominated"] else "dominated")
        assert ("?" in standing) == (row["dominance"] == "uncertain")
        assert ("!" in standing) == row["riskier_than_original"]


def test_rows_run_along_the_frontier(study: str, capsys: pytest.CaptureFixture[str]):
    known = rows(capsys, study)
    order = [known[cells[0]] for cells in table(printed(capsys, study))[1:]]
    keys = [(not row["undominated"], row["small_cells"], row["hellinger"]) for row in order]
    assert keys == sorted(keys) and keys != sorted(keys, reverse=True)


@pytest.mark.parametrize("width", [60, 79])
def test_the_table_fits_the_terminal(
    study: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
):
    monkeypatch.setattr(show, "width_of", lambda stream: width)
    text = printed(capsys, study, "--plot")
    cut = [line for line in text.splitlines()[2:] if "|" in line or re.match("x[0-9a-f]{3}", line)]
    assert len(cut) == 12 + 18 and max(map(len, cut)) <= width
    assert ("±" in text) == (width == 79), "errors are left out where there is no room for them"


def test_what_lacks_room_is_cut_and_nothing_else_is():
    columns = [Column("id", ["x1", "x2"]), Column("swapped", ["age + education", "age"], cut=True)]
    assert table_lines(columns, None)[2:] == ["x1  age + education", "x2  age"]
    assert table_lines(columns, 14)[2:] == ["x1  age + e...", "x2  age"]
    assert table_lines(columns, 3)[2:] == ["x1  age +...", "x2  age"]


def test_figures_have_as_many_decimals_as_their_errors_allow():
    assert figure_cells([0.123456, 0.2, None], [0.00123, 0.0011, None]) == ["0.1235 ± 0.0012", "0.2000 ± 0.0011", "-"]
    assert figure_cells([-0.00001], [0.012]) == ["0.000 ± 0.012"]
    assert figure_cells([0.5, 1234.5678], [0.0, None]) == ["0.5", "1234.6"]


def test_the_bound_marks_its_best_and_shows_what_it_is_held_against(study: str, capsys: pytest.CaptureFixture[str]):
    known = rows(capsys, study, "--max-risk", "1")
    head, *body = table(printed(capsys, study, "--max-risk", "1"))
    at = head.index("90 % of runs")
    assert {cells[0]: cells[at] for cells in body} == {
        label: "-" if (value := row["small_cells_quantile"]) is None else f"{value:.5g}" for label, row in known.items()
    }
    best = [cells[0] for cells in body if cells[-1].startswith("best, frontier")]
    assert best == [label for label, row in known.items() if row["optimal"]] and len(best) == 1


def test_columns_are_those_that_are_asked_for(study: str, capsys: pytest.CaptureFixture[str]):
    wanted = "id,records_changed,entropy_change"
    assert table(printed(capsys, study, "--columns", wanted))[0] == wanted.split(",")
    csv = printed(capsys, study, "--columns", wanted, "--format", "csv").splitlines()
    assert csv[0] == wanted and len(csv) == 13
    assert all(list(row) == wanted.split(",") for row in rows(capsys, study, "--columns", wanted).values())
    assert len(table(printed(capsys, study, "--wide"))[0]) > 12


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--columns", "id,helinger"], "no column 'helinger'. Did you mean 'hellinger'"),
        (["--columns", "id", "--wide"], "give one of them"),
        (["--plot", "--format", "csv"], "--plot is for reading, and --format csv is for programs"),
        (["--wide", "--format", "json"], "--wide is for reading"),
    ],
)
def test_what_makes_no_sense_is_refused(
    study: str, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
):
    capsys.readouterr()
    assert main(["show", study, *words]) == 2
    assert sentence in capsys.readouterr().err


def test_runs_are_listed_in_the_same_way(study: str, capsys: pytest.CaptureFixture[str]):
    head, *body = table(printed(capsys, study, "--by", "realisation"))
    assert head == ["id", "swapped", "rate", "small_cells", "hellinger", "standing"]
    known = rows(capsys, study, "--by", "realisation")
    assert len(body) == 120
    keys = [(not (row := known[cells[0]])["undominated"], row["small_cells"], row["hellinger"]) for cells in body]
    assert keys == sorted(keys)


def test_the_plot_holds_every_candidate_and_the_data_unchanged(study: str, capsys: pytest.CaptureFixture[str]):
    known = rows(capsys, study)
    text = printed(capsys, study, "--plot", "--max-risk", "1")
    grid = [line.partition("|")[2] for line in text.splitlines() if "|" in line]
    drawn = "".join(grid)
    assert "".join(grid).isascii()
    assert drawn.count("A") == 1 and drawn.count("X") == 1
    assert 0 < drawn.count("o") <= sum(row["undominated"] for row in known.values())
    assert 0 < drawn.count(".") <= sum(not row["undominated"] for row in known.values())
    limit = [line for line in text.splitlines() if "|" in line].index(
        next(li for li in text.splitlines() if "|--" in li)
    )
    assert limit == 0, "no candidate has more risk than the limit of 1"
    assert "X" in max(grid[1:], key=len), "the data unchanged are the most useful"


def test_a_plot_of_one_candidate_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    path = str(tmp_path / "one.study")
    options = ["--spec", "age:S", "--rates", "0.1", "--replicates", "1", "--workers", "1"]
    assert main(["sweep", str(tmp_path / "people.csv"), "--study", path, *options]) == 0
    assert "o frontier" in printed(capsys, path, "--plot")


@pytest.mark.slow
@needs.TERMINAL
@pytest.mark.parametrize(("no_colour", "codes"), [("", True), ("1", False)])
def test_a_terminal_gets_colours_unless_it_wants_none(study: str, no_colour: str, codes: bool):
    import pty

    ours, theirs = pty.openpty()
    environment = {**os.environ, "NO_COLOR": no_colour, "TERM": "xterm", "COLUMNS": "100"}
    command = [sys.executable, "-m", "engine", "show", study, "--undominated"]
    with os.fdopen(ours, "rb", closefd=True) as screen:
        subprocess.run(command, env=environment, stdout=theirs, check=True)
        os.close(theirs)
        text = b""
        while chunk := _read(screen.fileno()):
            text += chunk
    assert b"frontier" in text and (b"\x1b[" in text) == codes


def _read(file: int) -> bytes:
    """The next bytes of a terminal; nothing once whoever wrote has ended, which Linux reports as an error."""
    try:
        return os.read(file, 65536)
    except OSError:
        return b""


@pytest.mark.slow
def test_a_household_swap_shows_its_rate_and_says_what_it_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, plan = census_files(tmp_path)[0], tmp_path / "p.toml"
    plan.write_text(CENSUS_PLAN.replace('rate = "0.1"', 'rate = ["0.05", "0.1"]\nlean = ["0", "1"]'), encoding="utf-8")
    study = str(tmp_path / "s.study")
    assert main(["sweep", str(data), "--plan", str(plan), "--study", study, "--workers", "1"]) == 0
    text = printed(capsys, study)
    head, *body = table(text)
    swapped, rate = head.index("swapped"), head.index("rate")
    assert sorted((row[swapped], row[rate]) for row in body) == [
        ("trs lean=0", "10 %"), ("trs lean=0", "5 %"), ("trs lean=1", "10 %"), ("trs lean=1", "5 %"),
    ]  # fmt: skip
    assert f"rate of trs: {mechanism('trs').rate}" in text
    bound = ["--risk", "exposed_households", "--max-risk", "1", "--why", "a test"]
    assert main(["measure", study, "--data", str(data), "--measures", "exposed_households"]) == 0
    capsys.readouterr()
    assert main(["choose", study, *bound]) == 0
    assert "(most useful with exposed households of at most 1 (" in capsys.readouterr().out
    plot = printed(capsys, study, "--risk", "exposed_households", "--plot").split("\n\n")[-1]
    assert sum(line.count("C") for line in plot.splitlines() if "|" in line) == 1, "the choice"
    assert "-" not in plot.split("+--")[0], "a limit that the plan does not have"


@pytest.mark.parametrize(("command", "known"), [("measures", MEASURES), ("mechanisms", MECHANISMS)])
def test_a_list_names_all_and_each_is_told_in_full_within_the_terminal(
    command: str, known: Mapping[str, object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed[2:-1]] == list(known)
    name = list(known)[-1]
    assert main([command, name]) == 0
    whole = capsys.readouterr().out
    monkeypatch.setattr(catalogue, "width_of", lambda stream: 79)
    assert main([command, name]) == 0
    fitted = capsys.readouterr().out
    assert fitted.split() == whole.split(), "breaking lines changed the words"
    assert max(map(len, fitted.splitlines())) <= 79 < max(map(len, whole.splitlines()))
    assert main([command, name[:-1] + "q"]) == 2
