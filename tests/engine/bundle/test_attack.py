"""The attack on a release finds keys, orders and columns that give it away, and nothing where there is nothing."""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from engine.bundle import export
from engine.bundle.attack import (
    _find_identifiers,
    _find_misfits,
    _guess_keys,
    _guess_order,
    attack,
    told_words,
    weakness,
)
from engine.bundle.readers import Refused
from engine.bundle.released_files import Rows
from engine.bundle.source import ExportSource
from engine.common.output import Message
from engine.data.io.readers import read_table
from engine.decision.verdict_log import verdict_words
from engine.measures.verdict import Verdict
from engine.report.detected import release_verdict
from engine.study.decision_log import entries
from engine.study.study import Study
from tests.engine.bundle.sources import export_source
from tests.engine.household_survey import approve, label_of, plan, survey, swept
from tests.engine.household_survey import text as survey_text

SMALL_KEYS = {
    "number": (42).to_bytes(16, "big"),
    "number, low byte first": (42).to_bytes(16, "little"),
    "repeated byte": bytes([7]) * 16,
    "repeated digits": bytes.fromhex("1234" * 8),
    "SHA-256": hashlib.sha256(b"42").digest()[:16],
    "MD5": hashlib.md5(b"42").digest(),
    "Python's random": random.Random(42).randbytes(16),
    "NumPy's generator": np.random.default_rng(42).bytes(16),
    "NumPy's old generator": np.random.RandomState(42).bytes(16),
    "a date": bytes.fromhex("20260101".zfill(32)),
}


@pytest.mark.parametrize("name", SMALL_KEYS)
def test_keys_from_small_seeds_are_weak(name: str) -> None:
    assert weakness(SMALL_KEYS[name], 100)


@pytest.mark.slow
def test_keys_from_the_system_are_not(made: ExportSource) -> None:
    assert not any(weakness(random.SystemRandom().randbytes(16), 100) for _ in range(200))
    assert not _guess_keys(made)["succeeded"]


@pytest.fixture(scope="module")
def guessable(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ExportSource]:
    """An approved study under the key that NumPy makes of seed 42."""
    folder = tmp_path_factory.mktemp("guessable")
    raw = survey(folder)
    swept(raw, plan(), folder / "household.study", SMALL_KEYS["NumPy's generator"])
    with Study.open(folder / "household.study") as study:
        approve(study, raw, label_of(study, "town"))
        return folder, export_source(study, raw, None)


@pytest.mark.slow
def test_a_planted_small_key_blocks_the_public_export(guessable: tuple[Path, ExportSource], tmp_path: Path) -> None:
    folder, made = guessable
    with Study.open(folder / "household.study") as study:
        for tier in ("public", "all"):
            with pytest.raises(Refused, match="the study key can be guessed") as refused:
                export(study, made.raw, None, tmp_path / "out", tier=tier)
            assert refused.value.exit_code == 1
        assert [entry.event for entry in entries(study)[-2:]] == ["blocked", "blocked"]
        assert entries(study)[-1].detail["why"] == "attack: keys"
    assert list(tmp_path.iterdir()) == []


def test_tables_that_tell_nothing_are_said_with_the_reason(
    reopened: ExportSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.bundle import attack as attacks

    monkeypatch.setattr(attacks, "detected_once", lambda *_: SimpleNamespace(why="nothing was exchanged"))
    found = attacks._use_published_tables(reopened)
    assert found == {"tried": 0, "published": "not known", "why": "nothing was exchanged"}


def test_new_ids_are_no_column_that_tells(reopened: ExportSource) -> None:
    assert "id" in reopened.include
    tried = _find_misfits(reopened)["tried"]
    assert tried == _find_misfits(replace(reopened, include=("weight",)))["tried"] > 0


class _Planted(Rows):
    """Rows in a planted order."""

    def __init__(self, order: np.ndarray, ids: np.ndarray) -> None:
        super().__init__(b"\1" * 32, len(order))
        self.__dict__.update(order=order, ids=ids)


N = 160
SHUFFLED, OTHER = np.random.default_rng(10**9).permutation(N), np.random.default_rng(10**9 + 1).permutation(N) + 1


@pytest.mark.parametrize(
    ("order", "ids", "why"),
    [
        (np.arange(N), OTHER, "the order of rows"),
        (np.arange(N)[::-1], OTHER, "the order of rows"),
        (np.roll(np.arange(N), 50), OTHER, "the order of rows"),
        (np.argsort(np.arange(N) % 2, kind="stable"), OTHER, "the order of rows"),
        (SHUFFLED, np.arange(N) + 1, "the order of new ids"),
        (SHUFFLED, np.argsort(SHUFFLED) + 1, "the order of new ids in the release"),
        (np.random.default_rng(17).permutation(N), OTHER, "the one that seed 17 makes"),
        (np.argsort(np.random.RandomState(3).permutation(N)), OTHER, "the one that seed 3 makes"),
    ],
)
def test_an_order_that_tells_something_is_seen(
    made: ExportSource, order: np.ndarray, ids: np.ndarray, why: str
) -> None:
    found = _guess_order(replace(made, rows=_Planted(order, ids)))
    assert found["succeeded"] and why in found["why"]


@pytest.mark.slow
def test_an_order_from_the_system_tells_nothing(made: ExportSource) -> None:
    for number in range(50):
        rows = Rows(hashlib.sha256(str(number).encode()).digest(), N)
        assert not _guess_order(replace(made, rows=rows))["succeeded"]


@pytest.mark.slow
def test_columns_that_tell_records_apart_are_seen(tmp_path: Path) -> None:
    raw = survey(tmp_path)
    asked = plan(carry='["pay", "scratch"]', drop="[]")
    swept(raw, asked, tmp_path / "s.study")
    with Study.open(tmp_path / "s.study") as study:
        found = _find_identifiers(export_source(study, raw, label_of(study, "town")))
        assert found["succeeded"] and found["columns"] == ["scratch"]
        with pytest.raises(Refused, match=r"column 'scratch' tells nearly every record apart.*drop it"):
            attack(export_source(study, raw, label_of(study, "town")), True, list[Message]().append)


@pytest.mark.slow
def test_published_tables_are_attacked_and_their_success_refuses_nothing(reopened: ExportSource) -> None:
    found = attack(reopened, True, list[Message]().append)["published_tables"]
    assert found["attributes"] == found["altered"] == ("town",)
    assert found["rate"] == pytest.approx(float(reopened.remade.changed.mean())) and found["low"] <= found["high"]
    assert found["published"] == "not known"
    assert not any(key in found for key in ("pairs", "flags", "key"))


def test_an_export_tells_one_verdict_the_more_complete() -> None:
    quiet, loud = {"telling": False}, {"telling": True, "why": "Longer."}
    units, rare = (Verdict(kind, 1000, 100, 90, 10) for kind in ("units", "rare"))

    def words(verdict: Verdict | None, **loud_ones: dict[str, object]) -> tuple[str, bool]:
        return told_words({"units": quiet, "several_tables": quiet, "guessed": quiet, **loud_ones}, verdict)

    assert words(units, units=loud) == ("Longer.", True)
    assert words(rare, units=loud) == (verdict_words(rare), True)
    assert words(None, units=loud) == words(None, guessed=loud) == ("Longer.", True)
    assert words(None) == ("", False)


@pytest.mark.slow
@pytest.mark.parametrize(("stays", "moves", "refused"), [("0.02", "0.98", True), ("0.2", "0.8", False)])
def test_a_release_whose_values_are_guessed_back_is_told_or_refused(
    stays: str, moves: str, refused: bool, tmp_path: Path
) -> None:
    text, messages = survey_text(600).splitlines(), list[str]()
    for i, sex in enumerate(np.random.default_rng(1).integers(1, 3, 600).tolist(), 1):
        row = text[i].split(",")
        text[i] = ",".join([*row[:3], str(sex), *row[4:]])
    (tmp_path / "s.csv").write_text("\n".join(text))
    raw = read_table(tmp_path / "s.csv")
    flips = f'[[mechanism]]\nname = "pram"\nvars = "sex"\nmatrix = "{stays} {moves}; {moves} {stays}"\n'
    swept(raw, plan(flips), tmp_path / "s.study")
    with Study.open(tmp_path / "s.study") as study:
        approve(study, raw, study.scenarios[0].label)
        verdict = release_verdict(export_source(study, raw, None).remade, study.plan)
        assert verdict.kind == "method" and verdict.severity == "serious"
        assert verdict.right > 0.75 * verdict.named > 0.75 * 590

        def tell(message: Message) -> None:
            messages.append(message.sentence)

        export(study, raw, None, tmp_path / "analyst", tell=tell)
        assert any("warning" in text and "guesses" in text for text in messages)
        messages.clear()
        if refused:
            with pytest.raises(Refused) as error:
                export(study, raw, None, tmp_path / "public", tier="public", tell=tell)
            assert error.value.values["attack"] == "guessed" and not (tmp_path / "public").exists()
        else:
            export(study, raw, None, tmp_path / "public", tier="public", tell=tell)
            assert any("warning" in text and "guesses" in text for text in messages)
