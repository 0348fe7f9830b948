"""The table of targets that benchmarks print, and the names by which a profile tells phases."""

from __future__ import annotations

import sys

import pytest

from benchmarks import __main__ as command
from benchmarks import _running, _sampled, _targets, phases


@pytest.fixture(autouse=True)
def nothing_judged():
    _targets.rows("before")
    yield
    _targets.rows("after")


def test_a_figure_is_judged_by_the_bound_that_is_given():
    assert [_targets.word("a", 2.0, most=2.0), _targets.word("a", 2.01, most=2.0)] == ["met", "MISSED"]
    assert [_targets.word("b", 20.0, least=20.0), _targets.word("b", 19.9, least=20.0)] == ["met", "MISSED"]
    assert [_targets.word("c", value, either=1.5) for value in (0.6, 0.7, 1.5, 1.6)] == [
        "MISSED",
        "met",
        "met",
        "MISSED",
    ]
    with pytest.raises(TypeError, match="no target"):
        _targets.word("d", 1.0)


def test_figures_of_one_name_share_a_row_that_shows_the_worst():
    for value in (0.5, 1.2, 0.9):
        _targets.word("ratio", value, most=1.0)
    _targets.word("alone", 3.0, least=2.0)
    many, alone = _targets.rows("speed")
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
    assert _targets.rows("speed") == []


def test_rows_of_benchmarks_that_were_not_run_stay_on_the_page(monkeypatch, tmp_path, capsys):
    page = tmp_path / "docs" / "performance.md"
    page.parent.mkdir()
    monkeypatch.setattr(command, "PAGE", page)
    monkeypatch.setattr(command, "HERE", tmp_path / "benchmarks")
    (tmp_path / "benchmarks").mkdir()
    for name in ("quick", "slow"):
        (tmp_path / "benchmarks" / f"{name}.py").touch()

    def measured(name):
        print(name)
        _targets.word(f"figure of {name}", len(name), most=4.0)
        return f"## {name}\n\n```\n{name}\n```\n"

    monkeypatch.setattr(_running, "measured", measured)
    monkeypatch.setattr(command, "in_own_process", _running.measured_with_rows)
    for asked in (["quick", "slow", "--write"], ["quick", "--write"]):
        monkeypatch.setattr(sys, "argv", ["benchmarks", *asked])
        command.main()
        text = page.read_text(encoding="utf-8")
        assert {name: len(rows) for name, rows in command.targets(text).items()} == {"quick": 1, "slow": 1}
        assert list(command.sections(text)) == ["quick", "slow"]
        assert text.index("figure of slow") < text.index("## quick")
    assert "MISSED" in capsys.readouterr().out


def test_every_module_by_which_phases_are_told_is_there():
    phases.check_names()


def test_a_module_that_has_gone_is_told(monkeypatch):
    monkeypatch.setitem(_sampled.PREFIXES, "engine.release.gone", "draws")
    with pytest.raises(RuntimeError, match=r"engine\.release\.gone"):
        phases.check_names()


def stack(*calls):
    """The frame of a call of functions of some modules, the outermost first."""
    innermost = sys._getframe
    for module, function in reversed(calls):
        names = {"__name__": module, "called": innermost}
        exec(f"def {function}(): return called()", names)
        innermost = names[function]
    return innermost()


@pytest.mark.parametrize(
    "calls, phase",
    [
        ([("engine.sweeps.realisations", "run"), ("engine.sweeps.realisations", "run")], _sampled.COMPILED),
        ([("engine.sweeps.realisations", "run"), ("engine.measures.hellinger", "value")], "figures from sums"),
        ([("engine.measures.hellinger", "value"), ("importlib", "import_module")], "start of processes"),
        ([("engine.study.runs", "add"), ("json", "dumps")], "storing"),
        ([("engine.cli.main", "main")], "the rest"),
    ],
)
def test_a_stack_is_in_the_phase_of_its_innermost_known_frame(calls, phase):
    assert _sampled.phase(stack(*calls)) == phase
