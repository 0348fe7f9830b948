"""Locking a plan from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cli.main import main
from engine.plan import plan_to_toml, read_plan
from engine.plan.differences import departures
from engine.plan.samples import load
from tests.engine.report.pages import text_of


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text("# our own words\n" + plan_to_toml(load("czech")[1]))
    return path


def test_a_lock_is_written_beside_what_stands_there(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = plan.read_text()
    assert main(["plan", "lock", str(plan), "--number", "DRB-7", "--by", "Grace"]) == 0
    assert "locked as DRB-7" in capsys.readouterr().out
    assert plan.read_text().startswith(before.rstrip())
    locked = read_plan(plan)
    assert locked.lock is not None and locked.lock.by == "Grace" and not departures(locked)
    assert main(["plan", "lock", str(plan), "--number", "DRB-8", "--by", "Grace"]) == 2
    assert "locked already" in capsys.readouterr().err
    assert list(plan.parent.iterdir()) == [plan]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_plan_with_a_mark_of_utf8_is_locked_as_it_stands(plan: Path, ends: str) -> None:
    before = b"\xef\xbb\xbf" + plan.read_bytes().rstrip().replace(b"\n", ends.encode())
    plan.write_bytes(before)
    assert main(["plan", "lock", str(plan), "--number", "DRB-7", "--by", "Grace"]) == 0
    assert plan.read_bytes().startswith(before)
    locked = read_plan(plan)
    assert locked.lock is not None and locked.lock.by == "Grace" and not departures(locked)


def test_an_empty_name_is_refused(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "lock", str(plan), "--number", "DRB-7", "--by", " "]) == 2
    assert "--by is empty" in capsys.readouterr().err


@pytest.mark.slow
def test_a_sweep_holds_a_locked_plan(plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", "lock", str(plan), "--number", "DRB-7", "--by", "Grace"])
    sweep = ["sweep", "czech", "--study", str(tmp_path / "s.study"), "--plan", str(plan), "--workers", "1"]
    assert main([*sweep, "--rates", "0.05"]) == 2
    assert "departs from the one approved as DRB-7: space.rates" in capsys.readouterr().err
    assert not (tmp_path / "s.study").exists()
    assert main([*sweep, "--rates", "0.05", "--deviation", "the rates were a slip", "--by", "Ada"]) == 0


@pytest.mark.slow
def test_a_plan_becomes_a_document(plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "dap.html"
    document = ["plan", "document", str(plan), "--out"]
    assert main([*document, str(out), "--data", "czech"]) == 0
    assert "wrote" in capsys.readouterr().out
    text = text_of(out.read_text(encoding="utf-8"))
    assert "1,841" in text and "1 %, 2 % and 10 %" in text
    assert main([*document, str(tmp_path / "bare.html")]) == 0
    assert "name the data with --data" in capsys.readouterr().out
    assert main([*document, str(tmp_path / "dap.docx")]) == 0
    assert (tmp_path / "dap.docx").read_bytes().startswith(b"PK")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("out", "more", "code", "message"),
    [
        ("plan.toml", (), 2, "must end in .docx or .html"),
        ("there.html", (), 2, "'there.html' exists already"),
        ("no/dap.docx", (), 2, "'dap.docx' could not be written"),
        ("dap.docx", ("--data", "czesch"), 2, "neither a sample nor a file"),
        ("dap.docx", ("--data", "nces"), 2, "which is not in the data"),
    ],
)
def test_a_document_that_cannot_be_written_is_one_sentence(
    out: str, more: tuple[str, ...], code: int, message: str, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (plan.parent / "there.html").write_text("mine")
    assert main(["plan", "document", str(plan), "--out", str(plan.parent / out), *more]) == code
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1
    assert sorted(p.name for p in plan.parent.iterdir()) == ["plan.toml", "there.html"]
    assert (plan.parent / "there.html").read_text() == "mine"
