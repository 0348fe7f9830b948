"""The command line on folders of parts: plans, spaces and studies of a stream, and words for what needs records."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cli.main import main
from engine.plan import samples as sources
from engine.study.study import Study
from tests.engine.small_studies import table_of
from tests.engine.sweeps.test_streamed_source import PLAN
from tests.streamed_sources import records, write_source


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_source(tmp_path, "parquet folder", records(300), [100], group=60)
    (tmp_path / "plan.toml").write_text(PLAN.format(data="", more="", measures=""))
    monkeypatch.setattr(sources, "MOST_RECORDS", 299)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_folder_is_checked_counted_and_swept(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "check", "plan.toml", "--data", "people"]) == 0
    assert main(["space", "people", "--plan", "plan.toml"]) == 0
    assert "300 records in 30 occupied cells" in capsys.readouterr().out
    for _ in range(2):  # the second resumes it, the plan being the study's own
        sweep = ["sweep", "people", "--study", "a.study", "--workers", "1"]
        assert main([*sweep, *([] if Path("a.study").exists() else ["--plan", "plan.toml"])]) == 0
        assert "'people' is read by streaming" in capsys.readouterr().err
    assert main(["measure", "a.study", "--data", "people", "--measures", "total_variation"]) == 0
    assert main(["recheck", "a.study", "--data", "people", "--replicates", "2"]) == 0
    with Study.open(place / "a.study") as study:
        assert study.about["streamed"] == ["age", "job", "sex"]


@pytest.mark.slow
def test_a_small_folder_is_read_into_memory(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = ["sweep", "people", "--plan", "plan.toml", "--workers", "1"]
    assert main([*sweep, "--study", "a.study"]) == 0
    monkeypatch.setattr(sources, "MOST_RECORDS", 300)
    capsys.readouterr()
    key = ["--key-file", "a.study.key"]
    assert main([*sweep, "--study", "b.study", *key, "--after", "a.study"]) == 0
    assert "by streaming" not in capsys.readouterr().err
    with Study.open(place / "a.study") as streamed, Study.open(place / "b.study") as in_memory:
        assert "streamed" in streamed.about and "streamed" not in in_memory.about
        assert table_of(streamed) == table_of(in_memory)
    assert main(["measure", "a.study", "--data", "people", "--measures", "total_variation"]) == 0, "as it was made"
    assert main(["measure", "b.study", *key, "--data", "people", "--measures", "pmse"]) == 0, "a measure on records"


@pytest.mark.parametrize("most", [299, 300])
def test_a_document_counts_a_folder(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(sources, "MOST_RECORDS", most)
    assert main(["plan", "document", "plan.toml", "--data", "people", "--out", "plan.html"]) == 0
    assert ("by streaming" in capsys.readouterr().err) == (most < 300)
    assert "300 records" in Path("plan.html").read_text(encoding="utf-8")


def test_a_study_of_a_stream_asks_for_its_way_of_reading(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "people.csv").write_bytes(write_source(place, "csv", records(300), []).read_bytes())
    assert main(["sweep", "people.csv", "--stream", "--plan", "plan.toml", "--study", "a.study"]) == 0
    assert main(["measure", "a.study", "--data", "people.csv", "--measures", "total_variation"]) == 0
    capsys.readouterr()
    asked = ["measure", "a.study", "--data", "people.csv", "--no-stream", "--measures", "entropy"]
    assert main(asked) == 2
    assert "was made by streaming and 'people.csv' is in memory; read it by streaming (--stream)" in (
        capsys.readouterr().err
    )


def test_a_plan_is_not_guessed_from_a_stream(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["space", "people"]) == 2
    assert "no plan can be guessed from its records; give one with --plan" in capsys.readouterr().err


@pytest.mark.slow
def test_a_release_of_a_folder_is_exported_verified_and_replayed(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", "people", "--plan", "plan.toml", "--study", "a.study", "--workers", "1"]) == 0
    with Study.open(place / "a.study") as study:
        label = study.scenarios[0].label
    export = ["export", "a.study", "--data", "people", "--candidate", label]
    assert main([*export, "--out", "out"]) == 0
    assert main(["verify", "out"]) == 0
    capsys.readouterr()
    assert main(["replay", "out", "--data", "people"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "release.csv: the same, bit for bit",
        "release.parquet: the same, bit for bit",
    ]
    assert main([*export, "--out", "public", "--tier", "board"]) == 2
    assert "export the analyst's bundle" in capsys.readouterr().err
    assert not (place / "public").exists()


@pytest.mark.slow
def test_a_plan_is_made_from_the_first_records_and_says_so(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "init", "people", "--drop", "note", "--out", "first.toml"]) == 0
    assert "this looks at its first 300 records alone, so check the plan against all of them" in capsys.readouterr().err
    assert main(["plan", "check", "first.toml", "--data", "people"]) == 0
    assert "the plan fits the data" in capsys.readouterr().out
    assert main(["plan", "propose", "people"]) == 0


def test_the_help_names_folders_of_both_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["sweep", "--help"])
    assert "or a folder of CSV or Parquet files" in " ".join(capsys.readouterr().out.split())


def test_a_first_plan_says_what_becomes_of_carried_columns(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "init", "people", "--drop", "note", "--out", "first.toml"]) == 0
    remark = "The columns 'age' and 'income' are carried, so released as in the file, and no risk figure counts them."
    assert remark in capsys.readouterr().err
    assert remark in Path("first.toml").read_text(encoding="utf-8").replace("\n# ", " ")
