"""Sweeps of streamed sources: the same rows as with all records in memory, and refusals before anything is read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest

from engine.common.errors import UsageError
from engine.data.io.readers import read_table
from engine.data.io.stream import RecordStream, open_stream
from engine.data.microdata import RawTable
from engine.plan import Plan, plan_from_toml, plan_to_toml
from engine.plan import coding as tabulation
from engine.plan.coding import code, tabulate, with_seen
from engine.study.ledger import is_of_data
from engine.study.study import Study
from engine.sweeps import warnings as warnings_module
from engine.sweeps.sweep import add_measures, check_same, open_sweep, plan_problems, sweep, table_for
from engine.sweeps.warnings import Identifier, Uncounted, release_warnings, uncounted_columns
from tests.engine.small_studies import keyed, table_of
from tests.small_tables import KEY
from tests.streamed_sources import FORMS, records, small_pieces, write_source

PLAN = """
[data]
carry = ["note", "income"]
{data}
[[attribute]]
name = "age"
cut = [25, 55]
[[attribute]]
name = "job"
on_missing = "level"
[[attribute]]
name = "sex"
[[edit]]
name = "no young guards"
forbid = {{ age = ["<25"], job = ["guard"] }}
{more}
[space]
rates = [0.05, 0.2]
swap_sizes = [1, 2]
replicates = 2
[measures]
names = ["small_cells", "hellinger", "largest_two_way"{measures}]
"""


def plan_of(data: str = "", more: str = "", measures: Sequence[str] = ()) -> Plan:
    return plan_from_toml(PLAN.format(data=data, more=more, measures="".join(f', "{name}"' for name in measures)))


def swept(path: Path, data: RawTable | RecordStream) -> Study:
    return sweep(table_for(data, plan_of()), plan_of(), keyed(path), workers=1)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_study_of_a_stream_has_the_rows_of_one_in_memory(tmp_path: Path, form: str) -> None:
    table = records(600)
    source = write_source(tmp_path, form, table, [90, 400], group=110)
    whole = read_table(write_source(tmp_path, form.split()[0], table, []))
    with (
        small_pieces(64, 200, 4096),
        swept(tmp_path / "streamed.study", open_stream(source)) as streamed,
        swept(tmp_path / "whole.study", whole) as in_memory,
    ):
        assert table_of(streamed) == table_of(in_memory)
        assert streamed.original == in_memory.original
        assert streamed.about["streamed"] == ["age", "job", "sex"]
        assert "streamed" not in in_memory.about
        assert {**streamed.about, **dict.fromkeys(("source", "fingerprint", "created", "streamed", "files"))} == {
            **in_memory.about,
            **dict.fromkeys(("source", "fingerprint", "created", "streamed", "files")),
        }


def test_a_study_is_gone_on_with_in_the_way_in_which_it_was_made(tmp_path: Path) -> None:
    path = write_source(tmp_path, "csv", records(300), [])
    counted, whole = table_for(open_stream(path), plan_of()), read_table(path)
    with swept(tmp_path / "s.study", open_stream(path)) as study:
        with pytest.raises(UsageError, match=r"study 's\.study' was made by streaming and 'people\.csv' is in memory"):
            open_sweep(whole, None, study)
        assert add_measures(study, counted, KEY, ["total_variation"], workers=1) == ["total_variation"]
        assert is_of_data(study, counted) is True
        assert is_of_data(study, whole) is None
    with (
        swept(tmp_path / "m.study", whole) as study,
        pytest.raises(UsageError, match=r"was made with all records in memory and 'people\.csv' is read by streaming"),
    ):
        open_sweep(counted, None, study)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet folder"])
def test_files_of_which_a_column_of_no_attribute_was_changed_are_refused(tmp_path: Path, form: str) -> None:
    table = records(300)
    path = write_source(tmp_path, form, table, [100])
    with swept(tmp_path / "s.study", open_stream(path)) as study:
        for part in (path, *path.glob("*")):
            os.utime(part, (1, 1))  # when a file was written tells nothing
        check_same(study, table_for(open_stream(path), plan_of()), KEY)
        moved = path.rename(tmp_path / f"moved{path.suffix}")
        counted = table_for(open_stream(moved), plan_of())
        check_same(study, counted, KEY)

        (tmp_path / "other").mkdir()
        notes = table.set_column(4, "note", pa.array([f"m{k}" for k in range(300)]))
        other = table_for(open_stream(write_source(tmp_path / "other", form, notes, [100])), plan_of())
        assert other.content_digest() == counted.content_digest()
        with pytest.raises(UsageError, match=r"hold the same, and something else has changed.*byte for byte"):
            check_same(study, other, KEY)

        about = dict(study.about)
        del about["files"]  # as a study of an earlier version
        earlier = mock.patch.object(type(study), "about", property(lambda self: about))
        with earlier:
            check_same(study, other, KEY)


def test_a_folder_name_of_which_no_attribute_was_made_counts_too(tmp_path: Path) -> None:
    digests = set()
    plan = replace(plan_of(), data=replace(plan_of().data, carry=("note", "income", "state")))
    for state in ("01", "02"):
        (tmp_path / state / f"state={state}").mkdir(parents=True)
        write_source(tmp_path / state / f"state={state}", "csv", records(30), [])
        digests.add(table_for(open_stream(tmp_path / state), plan).files_digest())
    assert len(digests) == 2


def test_a_study_of_all_columns_needs_no_digest_of_the_files(tmp_path: Path) -> None:
    path = write_source(tmp_path, "csv", records(300).select(["age", "job", "sex"]), [])
    plan = replace(plan_of(), data=replace(plan_of().data, carry=()))
    assert table_for(open_stream(path), plan).files_digest() is None


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (plan_of(measures=["pmse"]), "measure 'pmse' of the plan needs them"),
        (plan_of(measures=["pmse", "specks"]), "measures 'pmse' and 'specks' of the plan need"),
        (plan_of('unit = "hid"'), "unit 'hid' of the plan needs them"),
        (
            plan_of(more='[[mechanism]]\nname = "rds"\n[[mechanism]]\nname = "dds"', measures=["pmse"]),
            "measure 'pmse' and mechanisms 'rds' and 'dds' of the plan need them",
        ),
        (
            plan_of(more='[[analysis]]\nname = "wages"\nformula = "log(income) ~ sex"'),
            "analysis 'wages' of the plan needs them",
        ),
    ],
)
def test_what_needs_records_is_named_and_refused_before_anything_is_read(
    tmp_path: Path, plan: Plan, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = open_stream(write_source(tmp_path, "csv", records(50), []))
    monkeypatch.setattr(RecordStream, "batches", None)  # which nothing may ask for
    with pytest.raises(
        UsageError, match=r"'people\.csv' is read by streaming, so its records are not in memory"
    ) as error:
        table_for(source, plan)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("line", "data", "said"),
    [
        ("m,-1,5,FR", 'weight = "w"', "negative in 1 record (first: record 61) of 61"),
        ("m,,5,FR", 'weight = "w"', "missing in 1 record (first: record 61) of 61"),
        ("m,inf,5,FR", 'weight = "w"', "not a finite number in 1 record (first: record 61) of 61"),
        ("m,1,,FR", 'unit = "hh"', "unit 'hh' of the plan needs them"),
        ("m,1,5,NA", "", "takes 'NA' as missing, in 1 record"),
    ],
)
def test_the_last_record_of_a_stream_is_checked_before_any_run(line: str, data: str, said: str, tmp_path: Path) -> None:
    records = [f"{'mf'[i % 2]},1.5,{i // 3},{'DE' if i % 3 else 'FR'}" for i in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,w,hh,land", *records, line]))
    plan = plan_from_toml(f'[data]\ncarry = ["*"]\n{data}\n[[attribute]]\nname = "sex"\n[[attribute]]\nname = "land"')
    with small_pieces(20, 20, 100):
        source = tabulate(open_stream(tmp_path / "people.csv"), plan)
        seen = replace(plan, data=with_seen(plan.data, source.names))
        assert any(said in problem for problem in plan_problems(seen, source))


@pytest.mark.slow
def test_a_study_of_other_intervals_may_be_of_the_same_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody takes it for one of other data: what is counted by intervals has another digest with other intervals."""
    monkeypatch.setattr(tabulation, "MANY_ROWS", 1)
    stream = open_stream(write_source(tmp_path, "csv folder", records(300), [100]))
    one, other = plan_of(), plan_from_toml(plan_to_toml(plan_of()).replace("25", "30", 1))
    assert one != other
    with sweep(tabulate(stream, one), one, tmp_path / "first.study", workers=1) as study:
        assert is_of_data(study, tabulate(stream, one)) is True
        assert is_of_data(study, tabulate(stream, other)) is None


def test_columns_that_were_not_counted_are_named_and_looked_at(tmp_path: Path) -> None:
    path = write_source(tmp_path, "parquet folder", records(300), [100, 250], group=60)
    counted = code(table_for(open_stream(path), plan_of()), plan_of())
    with small_pieces(70, 100, 4096):
        found = {type(warning): str(warning) for warning in uncounted_columns(counted)}
    assert found[Uncounted] == (
        "columns 'income' and 'note' are carried, so released as in the file; no risk figure counts them, and only the "
        "first 300 records were looked at for values that tell records apart; drop what users do not need"
    )
    assert found[Identifier] == (
        "column 'note' is carried and differs in 300 of the first 300 records: released as it is, it may identify "
        "them; drop it, or put classes of it into the file in its place, or declare it as the id only if it numbers "
        "the records"
    )
    assert set(map(str, release_warnings(counted, plan_of()))) >= set(found.values())


def test_only_the_first_records_of_carried_columns_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warnings_module, "_LOOKED_AT", 120)
    table = records(300)
    notes = pa.array([f"n{min(k, 120)}" for k in range(300)])
    path = write_source(tmp_path, "parquet", table.set_column(4, "note", notes), [], group=100)
    counted = code(table_for(open_stream(path), plan_of()), plan_of())
    with small_pieces(50, 100, 4096):
        identifiers = [w for w in uncounted_columns(counted) if isinstance(w, Identifier) and w.tells_apart]
    assert [(warning.column, warning.n_values, warning.n_records) for warning in identifiers] == [("note", 120, 120)]
    assert not identifiers[0].refused, "no public bundle is made"


def test_columns_of_records_in_memory_and_columns_of_attributes_are_counted(tmp_path: Path) -> None:
    path = write_source(tmp_path, "csv", records(300).select(["age", "job", "sex"]), [])
    plan = replace(plan_of(), data=replace(plan_of().data, carry=()))
    assert uncounted_columns(code(table_for(open_stream(path), plan), plan)) == []
    assert uncounted_columns(code(read_table(path), plan)) == []
