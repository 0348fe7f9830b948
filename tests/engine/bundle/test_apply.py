"""Other files of the same records follow the release: exchanged, renumbered, in its order."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from engine.bundle import export
from engine.bundle.apply import _read_map, apply
from engine.common.errors import EngineError, UsageError
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.plan import plan_from_toml
from engine.study.study import Study
from tests.engine.household_survey import PLAN, label_of, plan, survey, swept

pytestmark = pytest.mark.slow  # whole bundles are made


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def table(path: Path, lines: list[str]) -> RawTable:
    path.write_text("\n".join(lines) + "\n")
    return read_table(path)


@pytest.fixture(scope="module")
def original(home: tuple[Path, RawTable]) -> list[dict[str, str]]:
    return rows(home[0] / "original_survey.csv")


def test_a_derived_file_shows_the_values_of_the_release(every: Path, original, tmp_path: Path) -> None:
    lines = ["person,town,region,income"]
    lines += [f"{r['case']},{r['town']},region of {r['town']},{i}.25" for i, r in enumerate(original)]
    other = table(tmp_path / "derived.csv", [lines[0], *reversed(lines[1:])])
    done = apply(every, other, "person", tmp_path / "out", blocks={"town": ["region"]})
    assert done.exchanged == ("town", "region") and done.dropped == () and done.n_records == 160
    linked, released = rows(tmp_path / "out" / "linked.csv"), rows(every / "public" / "release.csv")
    assert [r["person"] for r in linked] == [r["case"] for r in released]
    assert [r["town"] for r in linked] == [r["town"] for r in released]
    assert all(r["region"] == f"region of {r['town']}" for r in linked)
    moved = sum(original[int(float(r["income"]))]["town"] != r["town"] for r in linked)
    assert moved == 24
    assert (tmp_path / "out" / "linked.parquet").exists()


def test_a_child_file_gets_the_new_ids_and_stays_together(every: Path, original, tmp_path: Path) -> None:
    lines = ["child,case,town,scratch,w"]
    for i, r in enumerate(original):
        lines += [f"{i}-{k},{r['case']},{r['town']},secret,{r['w']}" for k in range(i % 3)]
    # every partner must be there: give those without a child one
    lines += [f"{i}-0,{r['case']},{r['town']},secret,{r['w']}" for i, r in enumerate(original) if i % 3 == 0]
    done = apply(every, table(tmp_path / "children.csv", lines), "case", tmp_path / "out", formats=("csv",))
    assert done.dropped == ("scratch",) and done.exchanged == ("town",)
    linked, released = rows(tmp_path / "out" / "linked.csv"), rows(every / "public" / "release.csv")
    assert list(linked[0]) == ["child", "case", "town", "w"]
    town_of = {r["case"]: r["town"] for r in released}
    assert all(town_of[r["case"]] == r["town"] for r in linked)
    order = [r["case"] for r in linked]
    assert list(dict.fromkeys(order)) == [r["case"] for r in released]
    assert order == sorted(order, key=[r["case"] for r in released].index), "records of one id stay together"


@pytest.mark.parametrize(
    ("lines", "id_column", "words"),
    [
        (["case,town", "c1,p"], "person", "has no column 'person'"),
        (["case,x", "c1,1", "k9,2"], "case", "1 of 2 records of 'other.csv' have an id in column 'case' that the"),
        (["case,town", "c1,p", "c1,q"], "case", "column 'town' is to be exchanged between records but differs"),
        (["case,town", *(f"c{i},p" for i in range(30))], "case", "lacks the records whose values"),
    ],
)
def test_files_that_do_not_fit_are_refused(
    every: Path, tmp_path: Path, lines: list[str], id_column: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        apply(every, table(tmp_path / "other.csv", lines), id_column, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_unknown_names_and_other_bundles_are_refused(every: Path, tmp_path: Path) -> None:
    other = table(tmp_path / "other.csv", ["case,x", "c1,1"])
    with pytest.raises(UsageError, match="unknown attribute 'twn'"):
        apply(every, other, "case", tmp_path / "out", blocks={"twn": ["x"]})
    with pytest.raises(UsageError, match="has no column 'y'"):
        apply(every, other, "case", tmp_path / "out", blocks={"town": ["y"]})
    with pytest.raises(EngineError, match="analyst's bundle"):
        apply(every / "public", other, "case", tmp_path / "out")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            PLAN.replace('id = "case"\n', "").replace(', "id"]', "]").replace('"scratch"', '"scratch", "case"'),
            "declares no id",
        ),
        (
            PLAN.replace('id = "case"', 'id = "scratch"').replace('drop = ["scratch"]', 'drop = ["case"]'),
            "the ids of the original are not unique",
        ),
    ],
)
def test_records_without_ids_of_their_own_cannot_be_found_again(tmp_path: Path, asked: str, words: str) -> None:
    raw = survey(tmp_path)
    doubled = raw.columns["scratch"]
    doubled.codes[1] = doubled.codes[0]
    swept(raw, plan_from_toml(asked), tmp_path / "t.study")
    other = table(tmp_path / "other.csv", ["case,x", "c1,1"])
    with Study.open(tmp_path / "t.study") as study:
        bundle = export(study, raw, label_of(study, "town"), tmp_path / "bundle")
    with pytest.raises(EngineError, match=words):
        apply(bundle, other, "case", tmp_path / "out")


def test_columns_that_were_drawn_anew_are_refused(tmp_path: Path) -> None:
    raw = survey(tmp_path)
    noise = '\n[[mechanism]]\nname = "noise"\nc = "0.2"\n'
    swept(raw, plan(noise, names='["small_cells[n_rule=8]", "mean_shift"]'), tmp_path / "n.study")
    with Study.open(tmp_path / "n.study") as study:
        bundle = export(study, raw, study.scenarios[0].label, tmp_path / "bundle")
    other = table(tmp_path / "other.csv", ["case,pay", "c1,1.5"])
    with pytest.raises(UsageError, match="column 'pay' was drawn anew in the release"):
        apply(bundle, other, "case", tmp_path / "out")


@pytest.mark.parametrize(
    "forged",
    [
        {"row": [0, 9]},
        {"row": [-1, 0]},
        {"row": ["a", "b"]},
        {"new_id": [None, 2]},
        {"new_id": [1.5, 2.5]},
        {"id": [1, 2]},
        {"from:town": [0, 2]},
        {"from:town": [0.0, 1.0]},
        {"row": None},
        b"no Parquet at all",
    ],
)
def test_a_made_up_pair_map_is_refused_before_it_indexes_anything(forged: dict | bytes, tmp_path: Path) -> None:
    path = tmp_path / "pairs.parquet"
    if isinstance(forged, bytes):
        path.write_bytes(forged)
    else:
        columns = {"row": [1, 0], "new_id": [7, 8], "id": ["p", "q"], "from:town": [1, 0]} | forged
        parquet.write_table(pa.table({name: values for name, values in columns.items() if values}), path)
    with pytest.raises(
        EngineError, match=r"^'pairs\.parquet' of the analyst's bundle is no pair map, or a damaged one"
    ):
        _read_map(path)
