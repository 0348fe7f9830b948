"""The table of targets that benchmarks print, and the benchmarks themselves."""

from __future__ import annotations

import importlib
import inspect
import sys

import pytest

from benchmarks import __main__ as command
from benchmarks import _harness


@pytest.fixture(autouse=True)
def nothing_judged():
    _harness.rows("before")
    yield
    _harness.rows("after")


def test_a_figure_is_judged_by_the_bound_that_is_given():
    assert [_harness.word("a", 2.0, most=2.0), _harness.word("a", 2.01, most=2.0)] == ["met", "MISSED"]
    assert [_harness.word("b", 20.0, least=20.0), _harness.word("b", 19.9, least=20.0)] == ["met", "MISSED"]
    assert [_harness.word("c", value, either=1.5) for value in (0.6, 0.7, 1.5, 1.6)] == [
        "MISSED",
        "met",
        "met",
        "MISSED",
    ]
    with pytest.raises(TypeError, match="no target"):
        _harness.word("d", 1.0)


def test_figures_of_one_name_share_a_row_that_shows_the_worst():
    for value in (0.5, 1.2, 0.9):
        _harness.word("ratio", value, most=1.0)
    _harness.word("alone", 3.0, least=2.0)
    many, alone = _harness.rows("speed")
    assert many.split() == [
        "speed",
        "ratio",
        "1.2",
        "<=",
        "1",
        "MISSED",
        "2",
        "of",
        "3,",
        "the",
        "worst",
        "is",
        "shown",
    ]
    assert alone.split() == ["speed", "alone", "3", ">=", "2", "met"]
    assert _harness.rows("speed") == []


def test_rows_of_benchmarks_that_were_not_run_stay_on_the_page(monkeypatch, tmp_path, capsys):
    page = tmp_path / "docs" / "performance.md"
    page.parent.mkdir()
    monkeypatch.setattr(command, "PAGE", page)
    monkeypatch.setattr(command, "HERE", tmp_path / "benchmarks")
    (tmp_path / "benchmarks").mkdir()
    for name in ("quick", "slow"):
        (tmp_path / "benchmarks" / f"{name}.py").touch()

    def measured(name, small):
        print(name)
        _harness.word(f"figure of {name}", len(name), most=4.0)
        return f"## {name}\n\n```\n{name}\n```\n"

    monkeypatch.setattr(_harness, "measured", measured)
    monkeypatch.setattr(command, "in_own_process", _harness.measured_with_rows)
    for asked in (["quick", "slow", "--write"], ["quick", "--write"]):
        monkeypatch.setattr(sys, "argv", ["benchmarks", *asked])
        command.main()
        text = page.read_text(encoding="utf-8")
        assert {name: len(rows) for name, rows in command.targets(text).items()} == {"quick": 1, "slow": 1}
        assert list(command.sections(text)) == ["quick", "slow"]
        assert text.index("figure of slow") < text.index("## quick")
    assert "MISSED" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(path.stem for path in command.HERE.glob("[a-z]*.py")))
def test_each_benchmark_is_imported_and_has_a_small_case(name):
    main = importlib.import_module(f"benchmarks.{name}").main
    assert inspect.signature(main).parameters["small"].default is False


@pytest.mark.slow
@pytest.mark.parametrize("name", ["measures", "estimate", "growth", "twins"])
def test_the_smallest_case_of_a_benchmark_runs(name):
    assert f"## {name}" in _harness.in_own_process(name, small=True)[0]
