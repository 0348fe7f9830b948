"""A release that is the original is stopped at each gate on the way out, whatever the gates before let through."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine as sf
from engine.bundle import export
from engine.bundle.readers import Refused
from engine.bundle.released_files import refuse_original
from engine.cli.main import main
from engine.cli.options import error_text
from engine.cli.show_table import standing
from engine.common.errors import EngineError, UsageError
from engine.data.microdata import RawTable
from engine.decision.choice import choose, gate_now, pick
from engine.decision.statements import of_severity
from engine.decision.states import decide
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
from engine.report.candidate_table import NO_CHANGE, scenario_table
from engine.study.decision_log import entries
from engine.study.keys import key_path, read_key
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.remake import Remade
from engine.sweeps.sweep import plan_problems, recheck
from tests.engine.attacks import log_attack
from tests.engine.household_survey import few_guesses, plan, survey, swept

SWAPS = '\n[[mechanism]]\nname = "random_swap"\n[[mechanism]]\nname = "rds"\ns = 12\nrate = ["0", "0.2"]\n'
EVERYTHING = "would exchange all that is released"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RawTable]:
    """A swept study of which one candidate is the original: keys that no record exchanges."""
    folder = tmp_path_factory.mktemp("void")
    raw = survey(folder, 60)
    asked = plan(SWAPS)
    swept(raw, replace(asked, keys=("work", "town")), folder / "s.study")
    return folder, raw


@pytest.fixture
def study(home: tuple[Path, RawTable], tmp_path: Path) -> Iterator[Study]:
    for name in ("s.study", "s.study.key"):
        shutil.copy(home[0] / name, tmp_path / name)
    with Study.open(tmp_path / "s.study") as opened:
        yield opened


def void_of(study: Study) -> str:
    return next(s.label for s in study.scenarios if dict(s.spec.params).get("rate") == "0")


@contextmanager
def open_gates(*gates: str) -> Iterator[None]:
    """Take away checks, each by its module and name, so that later gates meet what these would stop."""
    with pytest.MonkeyPatch.context() as patched:
        few_guesses(patched)
        for gate in gates:
            module, _, name = gate.rpartition(".")
            patched.setattr(sys.modules[f"engine.{module}"], name, lambda *arguments: set())
        yield


def chosen(study: Study) -> str:
    label = void_of(study)
    choose(study, risk_utility_map(study), "it is useful", candidate=label, by="Ada")
    return label


def rechecked(study: Study, raw: RawTable) -> None:
    """Recommend the candidate and run it again, past the gates."""
    with open_gates("decision.choice.refuse_void", "sweeps.sweep._void"):
        index = study.find(chosen(study))[0].index
        recheck(study, raw, read_key(key_path(study.path)), [index], 2)


def test_it_is_marked_and_no_rule_picks_it(study: Study) -> None:
    view, label = risk_utility_map(study), void_of(study)
    index = study.find(label)[0].index
    runs = study.runs.of([index])
    assert (runs.status == RunStatus.NOOP).all() and not runs.changed.any()
    assert (runs.values == view.original).all(), "its figures are those of the original"
    assert view.changes_nothing.tolist() == [s.label == label for s in study.scenarios]
    (row,) = (row for row in scenario_table(view)[1] if row["id"] == label)
    assert standing(row) == NO_CHANGE and not row["undominated"]
    assert index not in view.frontier() and not view.undominated_by_quantile()[index]
    assert label not in [row["id"] for row in scenario_table(view, undominated=True)[1]]
    assert pick(study, view, max_risk=1.0).index != index
    assert index not in view.by_slope(float("inf"))


def test_it_is_not_chosen(study: Study) -> None:
    with pytest.raises(UsageError, match="changes nothing"):
        chosen(study)
    assert not study.choices.all()


def test_it_is_not_run_again(study: Study, home: tuple[Path, RawTable]) -> None:
    index = study.find(void_of(study))[0].index
    with pytest.raises(UsageError, match="rows of what was named are those of the original"):
        recheck(study, home[1], read_key(key_path(study.path)), [index], 2)
    assert not len(study.runs.of([index], "fresh"))


@pytest.mark.parametrize("despite", ["", "the board knows it"])
def test_it_is_not_submitted_for_any_reason(study: Study, home: tuple[Path, RawTable], despite: str) -> None:
    rechecked(study, home[1])
    standing = of_severity(gate_now(study, study.choices.all()[-1]), "obstacle")
    assert standing[0].kind == "changes_nothing"
    with pytest.raises(UsageError, match="changes nothing"):
        decide(study, "submitted", "Ada", despite=despite)


def test_it_is_not_approved(study: Study, home: tuple[Path, RawTable]) -> None:
    rechecked(study, home[1])
    with open_gates("decision.states.refuse_void"):
        decide(study, "submitted", "Ada", despite="a test")
    with pytest.raises(UsageError, match="changes nothing"):
        log_attack(study)
        decide(study, "approved", "Board", number="7")
    decide(study, "returned", "Board", why="it is the original")


@pytest.mark.slow
@pytest.mark.parametrize("tier", ["analyst", "public"])
def test_it_is_not_exported(study: Study, home: tuple[Path, RawTable], tmp_path: Path, tier: str) -> None:
    rechecked(study, home[1])
    with open_gates("decision.states.refuse_void"):
        decide(study, "submitted", "Ada", despite="a test")
        log_attack(study)
        decide(study, "approved", "Board", number="7")
    with pytest.raises(UsageError, match="changes nothing"):
        export(study, home[1], None, tmp_path / "out", tier=tier)
    with (
        open_gates("bundle.source.refuse_void"),
        pytest.raises(Refused, match="rows of 'release' are those of the original"),
    ):
        export(study, home[1], None, tmp_path / "out", tier=tier)
    assert entries(study)[-1].event == "blocked" and entries(study)[-1].detail["why"] == "no change"
    assert not (tmp_path / "out").exists()
    with open_gates("bundle.source.refuse_void", "bundle.export.refuse_original"):
        released = export(study, home[1], None, tmp_path / "out", tier=tier)  # so that is what the gates stop
    (path,) = released.rglob("release.csv")
    names, *rows = (line.split(",") for line in path.read_text().splitlines())
    shown = [name for name in names if name != "case"]
    before = zip(*(_texts(home[1], name) for name in shown), strict=True)
    after = (tuple(row[names.index(name)] for name in shown) for row in rows)
    assert Counter(after) == Counter(before)


def _texts(raw: RawTable, name: str) -> list[str]:
    values = raw.columns[name].values.to_pylist()
    return [str(values[code]) for code in raw.columns[name].codes.tolist()]


def test_a_script_gets_no_release_that_is_the_original() -> None:
    swaps = sf.sweep("czech", keys=["A", "B"], mechanisms={"rds": {"s": 3, "rate": ["0", "0.1"]}}, replicates=2)
    marked = swaps.to_frame().query("dominance == 'no change'")
    assert len(marked) == 1 and marked.index[0] not in swaps.frontier().index
    with pytest.raises(EngineError, match="are those of the original"):
        swaps[marked.index[0]].release("czech")


@pytest.mark.parametrize("source", ["czech", "fair"])
@pytest.mark.parametrize("mechanism", ["rds", "dds"])
def test_keys_that_are_all_that_leaves_are_refused_before_anything_is_drawn(
    source: str, mechanism: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.mechanisms.base import Mechanism

    monkeypatch.setattr(Mechanism, "draw_replicate", lambda *arguments: pytest.fail("it was drawn"))
    asked = ["--mechanism", mechanism, "--param", "s=3"]
    assert main(["sweep", source, "--study", str(tmp_path / "s.study"), *asked]) == 2
    said = capsys.readouterr().err
    assert EVERYTHING in said and "--keys" in said and not (tmp_path / "s.study").exists()
    assert main(["plan", "init", source, *asked, "--out", str(tmp_path / "p.toml")]) == 0
    capsys.readouterr()
    assert main(["plan", "check", str(tmp_path / "p.toml"), "--data", source]) == 1
    assert EVERYTHING in capsys.readouterr().out
    with pytest.raises(UsageError, match=EVERYTHING) as refused:
        sf.sweep(source, mechanisms={mechanism: {"s": 3}})
    assert "keys=" in str(refused.value) and error_text(refused.value) == str(refused.value)


def test_a_carried_column_tells_records_apart(tmp_path: Path) -> None:
    raw, rds = survey(tmp_path, 60), '\n[[mechanism]]\nname = "rds"\ns = 12\n'
    assert EVERYTHING not in str(plan_problems(plan(rds, include="[]"), raw)), "pay stays with its record"
    dropped = {"carry": "[]", "drop": '["scratch", "pay"]', "numeric": '["age"]'}
    assert EVERYTHING in plan_problems(plan(rds, include="[]", **dropped), raw)[0]
    assert EVERYTHING in plan_problems(plan(rds, include='["id"]', **dropped), raw)[0], "new ids tell nothing apart"
    assert EVERYTHING not in str(plan_problems(plan(rds, include='["weight"]', **dropped), raw))


@pytest.mark.parametrize("include", [(), ("weight", "id")])
def test_the_tables_that_are_written_are_compared(home: tuple[Path, RawTable], include: tuple[str, ...]) -> None:
    """By what is in the file: carried numbers, missing values and weights count, new ids do not."""
    from engine.bundle.released_files import Rows, new_secret, tables_of
    from engine.plan.coding import code

    data = code(home[1], plan())
    rows = Rows(new_secret(), data.n_records)

    def made(*tables: ReleasedTable) -> Any:
        return tables_of(Remade(data, None, tables, RunStatus.OK, {}, bytes(32)), rows, include)  # type: ignore[arg-type]

    everything, swapped = range(len(data.domain)), ReleasedTable(data, np.roll(np.arange(data.n_records), 1), [2])
    with pytest.raises(Refused):
        refuse_original(made(ReleasedTable(data)), data)
    with pytest.raises(Refused, match="release-02"):
        refuse_original(made(swapped, ReleasedTable(data)), data)
    refuse_original(made(swapped), data)
    moved = ReleasedTable(data, np.roll(np.arange(data.n_records), 1), everything)
    refuse_original(made(moved), data)  # pay stays with its record


def test_the_map_of_a_study_without_any_change_says_so(
    home: tuple[Path, RawTable], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.sweeps.sweep.refuse_idle", lambda *given: None)  # such studies were made
    nothing = replace(plan('\n[[mechanism]]\nname = "rds"\ns = 12\nrate = "0"\n'), keys=("work",))
    swept(home[1], nothing, tmp_path / "s.study")
    with Study.open(tmp_path / "s.study") as study:
        view: RiskUtilityMap = risk_utility_map(study)
        assert not len(view.frontier())
        with pytest.raises(UsageError, match="leaves the data unchanged"):
            view.under_bound(1.0)
        with pytest.raises(UsageError, match="leaves the data unchanged"):
            view.by_slope(1.0)
