"""What the command line prints cannot steer a terminal, whatever names it quotes."""

from __future__ import annotations

import ast
import csv
import io
import json
from pathlib import Path

import pytest

import engine
from engine.bundle.writers import _write_candidates
from engine.cli.main import main
from engine.common.wording import printable
from engine.study.study import Study
from tests import sources

BAD = "\x1b]0;x\x07\x1b[31mred\r\x9b2J\u202eabc\u2066"
STEERING = set("\x1b\x07\r\x9b\u202e\u2066")


def test_what_steers_is_written_out_and_everything_else_stays():
    assert printable("\x1b[2J\u202e\x85\u2028\ud800") == "\\u001b[2J\\u202e\\u0085\\u2028\\ud800"
    same = "a\tb\n–é漢 👍 “x”"
    assert printable(same) == same


@pytest.mark.slow
def test_nothing_else_prints():
    """Whoever prints goes through :mod:`engine.common.output`."""
    folder = Path(engine.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        if path == folder / "common" / "output.py":
            continue
        for node in sources.nodes(path):
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            assert called != "print", f"{path.relative_to(folder)}:{node.lineno}"  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Data, plan and study whose names of attributes would steer a terminal and be formulas."""
    folder = tmp_path_factory.mktemp("steering")
    data, plan, study = folder / "data.csv", folder / "plan.toml", folder / "a.study"
    names, columns = [f"={BAD}".replace("\r", ""), "+b", "c\nd"], ["=a", "+b", "c\nd"]
    with data.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows([["xy"[i % 2], "uvw"[i % 3], "pqrs"[i * i % 4]] for i in range(40)])
    attributes = "\n".join(
        f"[[attribute]]\nname = {json.dumps(name)}\ncolumns = [{json.dumps(column)}]"
        for name, column in zip(names, columns, strict=True)
    )
    plan.write_text(
        f'{attributes}\n[space]\nswap_sizes = [1]\nrates = ["0.1"]\nreplicates = 10\n'
        '[measures]\nnames = ["small_cells", "hellinger"]\n',
        encoding="utf-8",
    )
    assert main(["sweep", str(data), "--plan", str(plan), "--study", str(study), "--workers", "1"]) == 0
    return data, plan, study


@pytest.mark.parametrize(
    "command",
    [
        ["plan", "init", "DATA", "--out", "-"],
        ["plan", "check", "PLAN", "DATA"],
        ["plan", "propose", "DATA"],
        ["space", "DATA", "--plan", "PLAN"],
        ["show", "STUDY"],
        ["show", "STUDY", "--format", "csv"],
        ["show", "STUDY", "--format", "json"],
        ["show", "STUDY", "--candidate", BAD],
        ["show", BAD],
        ["choose", "STUDY", "--candidate", BAD, "--why", BAD],
        ["decide", "STUDY", "--state", BAD],
        [BAD],
    ],
    ids=lambda command: " ".join(word for word in command if word != BAD) or "unknown",
)
def test_commands_print_nothing_that_steers(
    command: list[str], hostile: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
):
    held = dict(zip(("DATA", "PLAN", "STUDY"), map(str, hostile), strict=True))
    try:
        main([held.get(word, word) for word in command])
    except SystemExit as left:
        assert left.code == 2
    said = capsys.readouterr()
    assert said.out or said.err
    assert not STEERING & set(said.out + said.err)


@pytest.mark.slow
def test_tables_stay_valid_and_names_with_line_ends_begin_no_line(
    hostile: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
):
    _, _, study = hostile
    main(["show", str(study), "--format", "json"])
    rows = json.loads(capsys.readouterr().out)
    assert any(BAD.replace("\r", "") in row["spec"] for row in rows)
    main(["show", str(study), "--format", "csv"])
    cells = [cell for row in csv.reader(io.StringIO(capsys.readouterr().out)) for cell in row]
    assert any(cell.startswith("'=") for cell in cells) and any(cell.startswith("'+b") for cell in cells)
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
    main(["show", str(study)])
    assert not any(line.startswith("d:S") for line in capsys.readouterr().out.splitlines())


@pytest.mark.slow
def test_the_list_of_candidates_for_the_analyst_holds_no_formula(hostile: tuple[Path, Path, Path], tmp_path: Path):
    with Study.open(hostile[2]) as study:
        _write_candidates(study, tmp_path)
    with (tmp_path / "candidates.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert any(cell.startswith("'=") for cell in cells) and not any(cell.startswith(("=", "+", "@")) for cell in cells)
