"""Exports: what leaves, what stays, what a replay proves, and what a killed or refused export leaves behind."""

from __future__ import annotations

import importlib
import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from engine.bundle import MANIFEST, export, read_manifest, replay
from engine.bundle.folder import write_sums
from engine.bundle.manifest import SECRETS, SEEDS, write_manifest
from engine.bundle.replay import _contradictions
from engine.common.errors import EngineError, UsageError
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.measures import MeasureCall, call
from engine.plan import Plan
from engine.release.scenarios import RunStatus
from engine.study.study import Study
from engine.sweeps.sweep import sweep
from tests.engine import household_survey
from tests.engine.household_survey import label_of

ANALYSIS = """
[[analysis]]
name = "pay"
formula = "pay ~ sex + work"
"""


def plan(more: str = "") -> Plan:
    """The plan of the survey with a regression; it includes neither weight nor id."""
    measures = '["small_cells[n_rule=8]", "hellinger", "ci_overlap"]'
    return household_survey.plan(
        ANALYSIS + more, include="[]", carry='["note", "pay"]', rates='["0.2"]', names=measures
    )


def people() -> str:
    """120 records of the survey, each with a note that is its own."""
    header, *rows = household_survey.text(120).splitlines()
    return "\n".join([f"{header},note", *(f'{row},"n,{i}"' for i, row in enumerate(rows))]) + "\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RawTable]:
    folder = tmp_path_factory.mktemp("bundle")
    (folder / "people.csv").write_text(people())
    raw = read_table(folder / "people.csv")
    sweep(raw, plan(), folder / "s.study", workers=1).close()
    return folder, raw


def exported(made: tuple[Path, RawTable], out: Path, attribute: str = "age", **options: object) -> Path:
    folder, raw = made
    with Study.open(folder / "s.study") as study:
        return export(study, raw, label_of(study, attribute), out, **options)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_block_moves_together_and_everything_else_stays(made: tuple[Path, RawTable], tmp_path: Path) -> None:
    out = exported(made, tmp_path / "out")
    released = pq.read_table(out / "release" / "release.parquet").to_pylist()
    original = {row["note"]: row for row in _rows(read_table(made[0] / "people.csv"))}
    assert list(released[0]) == ["age", "age_flag", "sex", "work", "town", "pay", "note"]
    changed = 0
    for row in released:
        before = original[row["note"]]
        assert all(row[name] == before[name] for name in ("sex", "work", "town", "pay"))
        assert row["age_flag"] == f"f{int(row['age']) % 5}"
        changed += row["age"] != before["age"]
    manifest = read_manifest(out)
    assert changed == manifest["records_changed"] == 24
    assert [row["note"] for row in released] != list(original)


def _rows(raw: RawTable) -> list[dict[str, str]]:
    columns = [[column.values[code].as_py() for code in column.codes.tolist()] for column in raw.columns.values()]
    return [dict(zip(raw.names, row, strict=True)) for row in zip(*columns, strict=True)]


@pytest.mark.slow
def test_what_leaves_says_nothing_of_the_swap(made: tuple[Path, RawTable], tmp_path: Path) -> None:
    out = exported(made, tmp_path / "out")
    manifest = read_manifest(out)
    key = bytes.fromhex((made[0] / "s.study.key").read_text().strip())
    for path in (out / "internal").iterdir():
        inside = path.read_bytes()
        assert key.hex().encode() not in inside and key not in inside
    for path in (out / "release").iterdir():
        content = path.read_bytes()
        for secret in (key, bytes.fromhex(manifest["derived_key"]), bytes.fromhex(manifest["row_order_secret"])):
            assert secret not in content and secret.hex().encode() not in content
        for word in (b"pandas", b"s.study", b"people.csv", str(made[0]).encode(), manifest["candidate"].encode()):
            assert word not in content
    assert pq.read_schema(out / "release" / "release.parquet").metadata is None
    if os.name != "nt":
        assert (out / "internal" / "manifest.json").stat().st_mode & 0o077 == 0


@pytest.fixture(scope="module")
def pristine(made: tuple[Path, RawTable], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One export for all tests that spoil a bundle; each takes a copy."""
    return exported(made, tmp_path_factory.mktemp("pristine") / "out")


@pytest.fixture
def out(pristine: Path, tmp_path: Path) -> Path:
    """A bundle to be spoilt."""
    return shutil.copytree(pristine, tmp_path / "out")


@pytest.mark.slow
def test_replay_is_bit_for_bit_from_anywhere(made: tuple[Path, RawTable], tmp_path: Path) -> None:
    out = exported(made, tmp_path / "out", "work")
    moved = tmp_path / "else" / "where"
    moved.parent.mkdir()
    out.rename(moved)
    found = replay(moved, made[1], tmp_path / "again")
    assert found.same == ("release.csv", "release.parquet") and found.differs == ()
    for name in found.same:
        assert (tmp_path / "again" / "release" / name).read_bytes() == (moved / "release" / name).read_bytes()


@pytest.mark.slow
def test_a_replay_sees_that_a_released_file_was_altered(made: tuple[Path, RawTable], tmp_path: Path) -> None:
    out = exported(made, tmp_path / "out", "work")
    (out / "release" / "release.parquet").unlink()
    with (out / "release" / "release.csv").open("a", encoding="utf-8") as file:
        file.write("one more\n")
    found = replay(out, made[1])
    assert found.same == () and all("altered or removed" in text for text in found.differs) and len(found.differs) == 2
    assert replay(out / "internal" / "manifest.json", made[1]).differs == ()


@pytest.mark.parametrize(
    ("file", "name", "value", "words"),
    [
        ("seed-annex.json", "derived_key", "00" * 32, "not the one that was sealed"),
        ("manifest.json", "seal", "00" * 32, "not the one that was sealed"),
        ("manifest.json", "stream_version", 999, "stream version 999"),
        ("manifest.json", "format", 999, "format 999"),
        ("manifest.json", "fingerprint", "00", "a field was changed"),
        ("manifest.json", "made", "1999-01-01T00:00:00Z", "a field was changed"),
    ],
)
def test_a_changed_manifest_is_refused(
    made: tuple[Path, RawTable], out: Path, file: str, name: str, value: object, words: str
) -> None:
    path = out / "internal" / file
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, name: value}))
    with pytest.raises(EngineError, match=words):
        replay(out, made[1])


def resealed(out: Path, **fields: object) -> Path:
    """The bundle with a manifest of other fields, sealed as if it had been written so."""
    read = read_manifest(out)
    secrets = {name: read[name] for name in SECRETS}
    content = {k: v for k, v in read.items() if k not in (*SECRETS, "intact", "seal", "format", "version")}
    for name in (MANIFEST, SEEDS):
        (out / "internal" / name).unlink()
    write_manifest(out / "internal", {**content, **fields}, secrets)
    write_sums(out)
    return out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("candidate", "x000/1", "candidate is x"),
        ("candidate", "x0", "candidate is x"),
        ("records_changed", 7, "records_changed is 24, the manifest says 7"),
        ("status", "failed", "status is 'ok', the manifest says 'failed'"),
    ],
)
def test_a_replay_names_entries_that_do_not_hold(
    made: tuple[Path, RawTable], out: Path, name: str, value: object, words: str
) -> None:
    found = replay(resealed(out, **{name: value}), made[1])
    assert found.same == ("release.csv", "release.parquet")
    assert any(words in text for text in found.differs)


@pytest.mark.parametrize(("name", "value"), [("rate", "0.1"), ("spec", "sex:S")])
def test_a_replay_names_what_differs(made: tuple[Path, RawTable], out: Path, name: str, value: str) -> None:
    found = replay(resealed(out, **{name: value}) / "internal" / "manifest.json", made[1])
    assert found.same == ()
    assert {"release.csv differs from the export", "release.parquet differs from the export"} <= set(found.differs)


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The measures that a replay asked for."""
    found = list[str]()

    def noted(text: str) -> MeasureCall:
        found.append(text)
        return call(text)

    monkeypatch.setattr(importlib.import_module("engine.bundle.replay"), "call", noted)
    return found


@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("alone", [False, True])
def test_nothing_that_a_changed_manifest_names_is_looked_at(
    made: tuple[Path, RawTable], out: Path, looked_at: list[str], summed: bool, alone: bool
) -> None:
    path = out / "internal" / "manifest.json"
    figures = {"external_links[file=/etc/passwd]": 0.5}
    path.write_text(json.dumps({**json.loads(path.read_text()), "figures": figures}))
    if summed:
        write_sums(out)
    with pytest.raises(EngineError, match=r"a field was changed; nothing in it was used"):
        replay(path if alone else out, made[1])
    assert looked_at == []


def test_a_path_in_a_manifest_that_is_sealed_is_refused(made: tuple[Path, RawTable], out: Path) -> None:
    with pytest.raises(EngineError, match="given by its name alone, without folders"):
        replay(resealed(out, figures={"external_links[file=/etc/passwd]": 0.5}), made[1])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (
            lambda out: (out / "internal" / "plan.toml").write_text("x"),
            "'internal/plan.toml' of the bundle was changed",
        ),
        (lambda out: (out / "internal" / "plan.toml").unlink(), "'internal/plan.toml' of the bundle was removed"),
        (lambda out: (out / "internal" / "more.txt").write_text("x"), "'internal/more.txt' of the bundle was added"),
        (lambda out: (out / "SHA256SUMS").unlink(), "SHA256SUMS is missing or damaged"),
    ],
)
def test_a_bundle_that_was_changed_inside_is_not_replayed(
    made: tuple[Path, RawTable], out: Path, looked_at: list[str], spoil: Callable[[Path], object], words: str
) -> None:
    assert replay(out, made[1]).differs == () and looked_at
    looked_at.clear()
    spoil(out)
    with pytest.raises(EngineError, match=words):
        replay(out, made[1])
    assert looked_at == []


def test_reordered_records_are_other_data(out: Path, tmp_path: Path) -> None:
    lines = people().splitlines()
    (tmp_path / "turned.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    with pytest.raises(UsageError, match="belongs to other data"):
        replay(out, read_table(tmp_path / "turned.csv"))


def test_a_figure_that_is_not_the_studys_refuses_the_export(made: tuple[Path, RawTable], tmp_path: Path) -> None:
    import sqlite3

    for name in ("s.study", "s.study.key"):
        shutil.copy(made[0] / name, tmp_path / name)
    with closing(sqlite3.connect(tmp_path / "s.study")) as db, db:
        db.execute("update realisation set m1 = m1 + 0.01")
    with Study.open(tmp_path / "s.study") as study, pytest.raises(EngineError, match="hellinger"):
        export(study, made[1], label_of(study, "age"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("stored", "remade", "differs"),
    [
        (0.25, 0.25, None),
        (None, float("nan"), None),
        (0.25, 0.25 + 1e-10, True),
        (-2000.0, -2000.0 + 1e-6, True),
        (0.25, 0.25 + 2e-9, False),
        (0.25, -0.25, False),
        (None, 0.25, False),
        (0.25, float("nan"), False),
    ],
)
def test_a_figure_that_another_platform_rounds_otherwise_is_told_apart_from_another_one(
    stored: float | None, remade: float, differs: bool | None
) -> None:
    release = SimpleNamespace(
        status=RunStatus.OK, n_changed=1, data=SimpleNamespace(n_records=2), figures={"hellinger": remade}
    )
    manifest = {"candidate": "xabc/1", "status": RunStatus.OK.word, "records_changed": 1, "n_records": 2}
    spec = SimpleNamespace(digest=lambda: "abcd")
    found = _contradictions({**manifest, "figures": {"hellinger": stored}}, release, spec)  # type: ignore[arg-type]
    assert len(found) == (differs is not None)
    assert all(("another platform" in words) is differs for words in found)
