"""The decision log is chained, sealed with the study key, and begins with a commitment to it."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from engine.bundle import export, replay
from engine.bundle.verify import verify as verify_bundle
from engine.cli.main import main
from engine.common.errors import EngineError, UsageError
from engine.common.output import Message
from engine.common.streams import fingerprint, key_check
from engine.data.microdata import RawTable
from engine.decision.choice import choose
from engine.decision.states import decide, decision_status
from engine.plan.coding import code
from engine.plan.samples import load
from engine.study import decision_log
from engine.study.decision_log import (
    FIXED,
    WHOLE,
    append,
    check_key,
    check_seal,
    commitment_of,
    commitment_words,
    entries,
    entry_digest,
    key_at_hand,
    seal_words,
    verify,
)
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study, pin, pins, unpin
from engine.sweeps.candidates import scenarios_of
from engine.sweeps.sweep import recheck, sweep
from tests.engine.household_survey import approved, few_guesses, label_of, plan
from tests.engine.small_studies import RAW, keyed, plan_of
from tests.small_tables import KEY


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    _, plan = load("czech")
    about = {"measures": ["small_cells"], "attributes": list(plan.names)}
    with Study.create(tmp_path / "s.study", plan, about, {"small_cells": 0.1}) as made:
        raw, plan = load("czech")
        made.scenario_table.add(scenarios_of(plan, code(raw, plan))[0][:5])
        yield made


def test_entries_come_back_as_they_were_written(study: Study) -> None:
    assert decision_log.entries(study) == []
    first = decision_log.append(study, "plan", {"rates": ["0.1"]}, by="Ada")
    second = decision_log.append(study, "chosen", {"why": "ümlaut", "share": 0.1})
    assert decision_log.entries(study) == [first, second]
    assert first.previous == decision_log.START and second.previous == first.digest
    decision_log.verify([first, second])


@pytest.mark.parametrize("broken", ["changed", "removed", "swapped", "inserted"])
def test_a_log_that_was_touched_is_refused(study: Study, broken: str) -> None:
    log = [decision_log.append(study, "plan", {"n": i}) for i in range(3)]
    touched = {
        "changed": [log[0], replace(log[1], detail={"n": 7}), log[2]],
        "removed": [log[0], log[2]],
        "swapped": [log[1], log[0], log[2]],
        "inserted": [log[0], replace(log[0], number=2, previous=log[0].digest), *log[1:]],
    }[broken]
    with pytest.raises(EngineError, match="broken at entry"):
        decision_log.verify(touched)


def test_an_unknown_event_is_refused(study: Study) -> None:
    with pytest.raises(ValueError, match="must be one of"):
        decision_log.append(study, "gossip")  # type: ignore[arg-type]


def test_pins_are_named_annotated_and_taken_away(study: Study) -> None:
    a, b = study.scenarios[0].label, study.scenarios[3].label
    assert pins(study) == []
    pin(study, b, "favourite", "small loss")
    pin(study, a)
    assert [(p.label, p.name) for p in pins(study)] == [(b, "favourite"), (a, "")]
    pin(study, b, "second", "x")
    assert pins(study)[0].name == "second" and len(pins(study)) == 2
    with pytest.raises(UsageError, match="already called"):
        pin(study, a, "second")
    with pytest.raises(UsageError, match="at most 60"):
        pin(study, a, "n" * 61)
    with pytest.raises(UsageError, match="no candidate"):
        pin(study, "nobody")
    unpin(study, b)
    assert [p.label for p in pins(study)] == [a]


@pytest.mark.parametrize(
    ("sentence", "entry", "section", "words"),
    [
        (
            "publish.include: the study has nothing, asked id",
            "publish.include",
            "publish",
            "the study has nothing, asked id",
        ),
        ("keys: the study has A, asked A: B", "keys", "keys", "the study has A, asked A: B"),
        ("attribute 'publish: x' is new", "", "", "attribute 'publish: x' is new"),
        ("the limit has moved", "", "", "the limit has moved"),
    ],
)
def test_a_logged_change_is_read_as_the_entry_of_the_plan_and_its_words(
    sentence: str, entry: str, section: str, words: str
) -> None:
    change = decision_log.LoggedChange.read(sentence)
    assert (change.entry, change.section, change.words) == (entry, section, words)


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
            lambda: decide(study, "withheld", "Ada", why="no"),
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


OTHER = bytes(range(1, 17))
REFUSED = "the key is not the one that was fixed before the sweep of"


def exchange_key(path: Path, raw: RawTable) -> None:
    """Exchange the key of a study as whoever may write to its files can: beside it, and in what the study tells it
    by."""
    Path(f"{path}.key").write_text(OTHER.hex() + "\n")
    with Study.open(path) as study, study.database.transaction() as db:
        known = {"key_check": key_check(OTHER), "fingerprint": fingerprint(OTHER, raw.content_digest())}
        study.subject.put(db, known)


def test_the_first_entry_holds_a_digest_that_any_program_can_make_again(tmp_path: Path) -> None:
    with sweep(RAW, plan_of(), keyed(tmp_path / "s.study"), workers=1) as study:
        first = entries(study)[0]
        digest = hashlib.sha256(b"swap-frontier study key 1\n" + KEY).hexdigest()
        assert first.event == "plan" and first.detail["key_commitment"] == digest == commitment_of(study)
        assert commitment_words(study) == FIXED
        check_key(study, KEY)
        with pytest.raises(UsageError, match=REFUSED):
            check_key(study, OTHER)


@pytest.mark.slow
def test_another_key_is_refused_wherever_the_key_is_used(tmp_path: Path) -> None:
    path = keyed(tmp_path / "s.study")
    sweep(RAW, plan_of(), path, workers=1).close()
    exchange_key(path, RAW)
    with pytest.raises(UsageError, match=REFUSED):
        sweep(RAW, plan_of(space={"replicates": 5}), path, workers=1, extend=True)
    with Study.open(path) as study:
        with pytest.raises(UsageError, match=REFUSED):
            recheck(study, RAW, OTHER, [0], 3)
        with pytest.raises(UsageError, match=REFUSED):
            decision_status(study)


def test_another_key_is_neither_exported_nor_verified(home: tuple[Path, RawTable], tmp_path: Path, monkeypatch) -> None:
    few_guesses(monkeypatch)
    folder, raw = home
    path = tmp_path / "household.study"
    for name in (path.name, f"{path.name}.key"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    with Study.open(path) as study:
        export(study, raw, None, tmp_path / "out", tier="analyst")
    assert not any(check.problems for check in verify_bundle(tmp_path / "out", path))
    replay(tmp_path / "out", raw, key_file=f"{path}.key")
    exchange_key(path, raw)
    for bundle in (tmp_path / "out", tmp_path / "out" / "internal" / "manifest.json"):
        with pytest.raises(UsageError, match=REFUSED):
            replay(bundle, raw, key_file=f"{path}.key")
    (tmp_path / "alone").mkdir()
    for name in ("manifest.json", "seed-annex.json"):  # without the log
        shutil.copy(tmp_path / "out" / "internal" / name, tmp_path / "alone" / name)
    with pytest.raises(UsageError, match="the release was not drawn from this study key: run "):
        replay(tmp_path / "alone" / "manifest.json", raw, key_file=f"{path}.key")
    with Study.open(path) as study, pytest.raises(UsageError, match=REFUSED):
        export(study, raw, None, tmp_path / "again", tier="analyst")
    assert not (tmp_path / "again").exists()
    assert any(REFUSED in problem for check in verify_bundle(tmp_path / "out", path) for problem in check.problems)


def test_a_log_without_it_says_so() -> None:
    with Study.create_in_memory(plan_of(), {"measures": [], "attributes": []}, {}) as study:
        assert commitment_of(study) is None
        assert commitment_words(study).startswith("The log holds no digest of the study key, so nothing shows")
        check_key(study, KEY)
