"""The log begins with a commitment to the study key, so that no other key can take its place."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from engine.bundle import export, replay
from engine.bundle.verify import verify
from engine.common.errors import UsageError
from engine.common.streams import fingerprint, key_check
from engine.data.microdata import RawTable
from engine.decision.states import decision_status
from engine.study.decision_log import FIXED, check_key, commitment_of, commitment_words, entries
from engine.study.study import Study
from engine.sweeps.sweep import recheck, sweep
from tests.engine.household_survey import approved, few_guesses
from tests.engine.small_studies import RAW, keyed, plan_of
from tests.small_tables import KEY

OTHER = bytes(range(1, 17))
REFUSED = "the key is not the one that was fixed before the sweep of"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RawTable]:
    """A folder with an approved study, and its data."""
    folder = tmp_path_factory.mktemp("home")
    return folder, approved(folder)


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
    assert not any(check.problems for check in verify(tmp_path / "out", path))
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
    assert any(REFUSED in problem for check in verify(tmp_path / "out", path) for problem in check.problems)


def test_a_log_without_it_says_so() -> None:
    with Study.create_in_memory(plan_of(), {"measures": [], "attributes": []}, {}) as study:
        assert commitment_of(study) is None
        assert commitment_words(study).startswith("The log holds no digest of the study key, so nothing shows")
        check_key(study, KEY)
