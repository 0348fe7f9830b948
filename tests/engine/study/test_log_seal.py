"""Who has the study key sees that the log was cut, changed or continued without it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from engine.bundle import export
from engine.cli.main import main
from engine.common.errors import EngineError
from engine.common.output import Message
from engine.data.microdata import RawTable
from engine.decision.choice import choose
from engine.decision.states import decide, decision_status, withhold
from engine.study.decision_log import WHOLE, append, check_seal, entries, entry_digest, key_at_hand, seal_words, verify
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.sweep import recheck, sweep
from tests.engine.household_survey import approved, label_of, plan


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RawTable]:
    """A folder with an approved study, and its data."""
    folder = tmp_path_factory.mktemp("home")
    return folder, approved(folder)


@pytest.fixture
def path(home: tuple[Path, RawTable], tmp_path: Path) -> Path:
    """A copy of the study and its key."""
    for name in ("household.study", "household.study.key"):
        (tmp_path / name).write_bytes((home[0] / name).read_bytes())
    return tmp_path / "household.study"


def by_hand(path: Path, *statements: tuple[str, tuple]) -> None:
    """Write to a study as any SQLite program can."""
    with closing(sqlite3.connect(path)) as db, db:
        for words, values in statements:
            db.execute(words, values)


def forged(path: Path, event: str) -> tuple[str, tuple]:
    """An entry at the end, its digest as the chain wants it."""
    with Study.open(path) as study:
        last = entries(study)[-1]
    number, digest = last.number + 1, entry_digest(last.number + 1, last.at, "Eve", event, {}, last.digest)
    row = (number, last.at, "Eve", event, json.dumps({}), last.digest, digest)
    return "insert into log values (?, ?, ?, ?, ?, ?, ?)", row


@pytest.mark.slow
def test_every_step_is_sealed(path: Path, home: tuple[Path, RawTable]) -> None:
    with Study.open(path) as study:
        assert key_at_hand(study) is not None and seal_words(study) == WHOLE
        assert not any("unsealed" in entry.detail for entry in entries(study))
        decide(study, "released", "Ada")
        assert seal_words(study) == WHOLE
        length, seal = study.database.rows("select length, seal from log_seal")[0]
        assert length == len(entries(study)) and len(bytes.fromhex(seal)) == 64
    key = path.with_name("household.study.key").read_text().strip()
    assert key.encode() not in path.read_bytes() and bytes.fromhex(key) not in path.read_bytes()


def test_a_log_that_was_cut_is_refused(path: Path, home: tuple[Path, RawTable], tmp_path: Path) -> None:
    with Study.open(path) as study:
        n = len(entries(study))
    by_hand(path, ("delete from log where number = ?", (n,)))
    words = f"the decision log was cut: {n} entries were sealed with the study key, and {n - 1} are there"
    with Study.open(path) as study:
        verify(entries(study))
        label = label_of(study, "town")
        for step in (
            lambda: decision_status(study),
            lambda: decide(study, "approved", "Board", number="1"),
            lambda: withhold(study, "Ada", "no"),
            lambda: choose(study, risk_utility_map(study), "it is fine", candidate=label),
            lambda: export(study, home[1], label, tmp_path / "out"),
            lambda: seal_words(study),
        ):
            with pytest.raises(EngineError, match=words):
                step()
        assert len(study.choices.all()) == 1 and len(entries(study)) == n - 1
    assert not (tmp_path / "out").exists()


def test_a_chain_that_was_written_anew_is_refused(path: Path) -> None:
    with Study.open(path) as study:
        n = len(entries(study))
    by_hand(path, ("delete from log where number = ?", (n,)))
    by_hand(path, forged(path, "returned"))
    with Study.open(path) as study:
        verify(entries(study))
        with pytest.raises(EngineError, match=f"the decision log was changed: its first {n} entries are not those"):
            check_seal(study)
    by_hand(path, ("update log_seal set length = ?", (n - 1,)))
    with Study.open(path) as study, pytest.raises(EngineError, match="the decision log was changed"):
        check_seal(study)


def test_an_entry_that_came_without_the_key_stays_marked(path: Path) -> None:
    with Study.open(path) as study:
        n = len(entries(study))
    by_hand(path, forged(path, "released"))
    with Study.open(path) as study:
        assert seal_words(study).startswith(f"Entry {n + 1} of the decision log came without the study key")
        append(study, "blocked", {"why": "x"})
        assert entries(study)[-1].detail == {"why": "x", "unsealed": [n + 1, n + 1]}
        assert seal_words(study) == WHOLE
        append(study, "blocked", {"why": "y"})
        assert entries(study)[-1].detail == {"why": "y"}


@pytest.mark.slow
def test_a_study_without_a_seal_is_said_and_not_refused(
    path: Path, home: tuple[Path, RawTable], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_hand(path, ("drop table log_seal", ()))
    assert main(["decide", str(path)]) == 0
    assert "The decision log has no seal: it was begun by an earlier version" in capsys.readouterr().out
    messages: list[Message] = []
    with Study.open(path) as study:
        n = len(entries(study))
        assert decision_status(study).state == "approved"
        export(study, home[1], None, tmp_path / "out", formats=("csv",), tell=messages.append)
        assert messages[0].sentence.startswith("note: the decision log has no seal")
        assert entries(study)[n].detail["unsealed"] == [1, n]
    assert main(["decide", str(path)]) == 0
    assert WHOLE in capsys.readouterr().out


def test_a_key_that_lies_elsewhere_or_is_another_one(path: Path, home: tuple[Path, RawTable]) -> None:
    beside = path.with_name("household.study.key")
    right = beside.read_text()
    for wrong in (None, "00" * 16, "no key"):
        beside.unlink(missing_ok=True)
        if wrong:
            beside.write_text(wrong)
        with Study.open(path) as study:
            assert key_at_hand(study) is None and "was not checked" in seal_words(study)
            n = len(entries(study))
            append(study, "blocked", {"why": "x"})
    with Study.open(path) as study:
        recheck(study, home[1], bytes.fromhex(right), [0], 2)
        assert entries(study)[-1].detail["unsealed"] == [n - 1, n + 1] and seal_words(study) == WHOLE


@pytest.mark.slow
def test_a_sweep_with_a_key_file_seals_from_the_first_entry(home: tuple[Path, RawTable], tmp_path: Path) -> None:
    with sweep(home[1], plan(), tmp_path / "s.study", key_file=tmp_path / "elsewhere.key", workers=1) as study:
        assert seal_words(study) == WHOLE and not any("unsealed" in entry.detail for entry in entries(study))
    with Study.open(tmp_path / "s.study") as study:
        assert "was not checked" in seal_words(study)
