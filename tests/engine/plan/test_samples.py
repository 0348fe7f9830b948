"""Samples by name, files and folders by path."""

from __future__ import annotations

import csv
import http.server
import io
import os
import runpy
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasets import make_cps8d as adult
from engine.common import os_support as resources
from engine.common.errors import EngineError, UsageError
from engine.data.io.stream import RecordStream
from engine.data.microdata import Microdata, RawTable
from engine.plan import samples
from engine.plan import samples as sources
from engine.plan.coding import code
from engine.plan.samples import open_records, open_source
from tests.shared import shared_file
from tests.streamed_sources import records, write_source


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FRONTIER_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def cells_of(micro: Microdata) -> Counter[tuple[str, ...]]:
    """Counts of the occupied cells under their labels."""
    attributes = micro.domain.attributes
    return Counter(
        {
            tuple(a.levels[c] for a, c in zip(attributes, cell, strict=True)): int(count)
            for cell, count in zip(micro.table.cells, micro.table.counts, strict=True)
        }
    )


def rows_of(path: Path) -> Counter[tuple[str, ...]]:
    with path.open(encoding="utf-8", newline="") as file:
        return Counter(map(tuple, list(csv.reader(file))[1:]))


def test_czech_is_the_published_table() -> None:
    micro = code(*samples.load("czech"))
    counts = micro.table.counts
    assert micro.n_records == 1841
    assert micro.domain.shape == (2,) * 6
    assert (len(counts), (counts == 1).sum(), (counts == 2).sum()) == (63, 1, 2), "64 cells, one of them zero"
    cells = cells_of(micro)
    assert sum(n for cell, n in cells.items() if cell[5] == "pos") == 260
    assert cells["no", "no", "no", "<140", "<3", "neg"] == 44
    assert cells["yes", "no", "no", ">=140", ">=3", "pos"] == 0
    assert cells["no", "yes", "yes", "<140", "<3", "pos"] == 1
    assert all(attribute.exact for attribute in micro.domain.attributes)


def test_czech_against_another_transcription() -> None:
    assert cells_of(code(*samples.load("czech"))) == rows_of(shared_file("data/czech.csv"))


def test_fair_is_recoded_by_its_plan() -> None:
    table, plan = samples.load("fair")
    assert table.columns["affairs"].is_text
    assert len(table.columns["affairs"].values) == 77, "raw columns stay raw"
    micro = code(table, plan)
    counts = micro.table.counts
    assert (micro.n_records, len(counts)) == (6366, 1158)
    assert micro.dropped == ("occupation_husb",)
    size = 1
    for levels in micro.domain.shape:
        size *= levels
    assert size == 2916
    assert counts[counts < 3].sum() / 6366 == pytest.approx(0.129, abs=5e-4)


@pytest.mark.slow
def test_fair_against_another_recode() -> None:
    assert cells_of(code(*samples.load("fair"))) == rows_of(shared_file("data/fair8_coarse.csv"))


@pytest.mark.slow
def test_nces_is_synthetic_and_can_be_made_again(tmp_path: Path) -> None:
    folder = resources.datasets_folder()
    script = tmp_path / "make_nces.py"
    script.write_bytes((folder / "make_nces.py").read_bytes())
    runpy.run_path(str(script), run_name="__main__")
    assert (tmp_path / "nces.csv").read_bytes() == (folder / "nces.csv").read_bytes()
    assert (folder / "nces.csv").stat().st_size < 400_000
    micro = code(*samples.load("nces"))
    assert micro.n_records == 5000
    assert micro.domain.shape == (4, 4, 7, 4, 3, 3, 2, 2)
    assert micro.table.levels_in_use == micro.domain.shape
    (nces,) = (sample for sample in samples.describe() if sample.name == "nces")
    assert nces.synthetic
    assert "SYNTHETIC" in nces.summary
    assert "Synthetic" in (folder / "nces.toml").read_text()


@pytest.mark.slow
def test_every_sample_says_where_it_is_from() -> None:
    readme = (resources.datasets_folder() / "README.md").read_text(encoding="utf-8")
    for sample in samples.describe():
        assert f"\n## {sample.name}\n" in readme
        if sample.here:
            micro = code(*samples.load(sample.name))
            assert (micro.n_records, len(micro.domain)) == (sample.n_records, sample.n_attributes)
            assert micro.raw.source == sample.name


def test_describing_the_samples_makes_no_folder(home: Path) -> None:
    assert [sample.here for sample in samples.describe()] == [True, True, True, False, True, True]
    assert not home.exists()


def test_data_is_a_sample_or_a_file(tmp_path: Path) -> None:
    table, plan = samples.open_data("czech")
    assert plan is not None
    assert table.n_records == 1841
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    table, plan = samples.open_data(str(tmp_path / "a.csv"))
    assert plan is None
    assert table.names == ("a", "b")
    with pytest.raises(
        UsageError, match=r"'czeck' is neither a sample nor a file\. Did you mean 'czech'\? Files end in \.csv"
    ):
        samples.open_data("czeck")
    with pytest.raises(UsageError, match=r"file 'none\.csv' does not exist"):
        samples.open_data(str(tmp_path / "none.csv"))
    with pytest.raises(UsageError, match=r"unknown sample 'fairr'\. Did you mean 'fair'"):
        samples.load("fairr")
    with pytest.raises(UsageError, match="the sample 'czech' needs no adding"):
        samples.add("czech")
    with pytest.raises(UsageError, match="unknown sample 'adult'"):
        samples.add("adult", "x")


def test_cps8d_has_to_be_added_first() -> None:
    with pytest.raises(EngineError, match="is not there yet; make it from the UCI Adult file") as caught:
        samples.load("cps8d")
    assert caught.value.exit_code == 1


@pytest.fixture(scope="module")
def raw() -> list[tuple[str, ...]]:
    """The records of the Adult file: header, then 48,842 rows."""
    with shared_file("data/adult_raw.csv").open(encoding="utf-8", newline="") as file:
        return list(map(tuple, csv.reader(file)))


def test_cps8d_is_made_from_one_file(home: Path) -> None:
    assert samples.add("cps8d", shared_file("data/adult_raw.csv")) == 48842
    micro = code(*samples.load("cps8d"))
    counts = micro.table.counts
    assert (len(counts), (counts == 1).sum(), (counts == 2).sum()) == (1695, 361, 186)
    assert counts[counts < 3].sum() / 48842 == pytest.approx(0.015008, abs=1e-6)
    assert cells_of(micro) == rows_of(shared_file("data/cps8d.csv"))
    assert [path.name for path in home.rglob("*") if path.is_file()] == ["cps8d.csv"]


@pytest.mark.slow
def test_cps8d_is_made_from_the_publishers_two_files(tmp_path: Path, raw: list[tuple[str, ...]]) -> None:
    train = "".join(", ".join(row) + "\n" for row in raw[1:32562]) + "\n"
    test = "|1x3 Cross validator\n" + "".join(", ".join(row) + ".\n" for row in raw[32562:]) + "\n"
    (tmp_path / "adult.data").write_text(train)
    (tmp_path / "adult.test").write_text(test)
    assert samples.add("cps8d", [tmp_path / "adult.data", tmp_path / "adult.test"]) == 48842
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("adult.data", train)
        files.writestr("adult.test", test)
    assert len(adult.read_bytes(archive.getvalue())) == 48842
    with pytest.raises(
        EngineError, match=r"the records are not CPS-8D: found 32,561 records, .* wanted 48,842 records, 1,695"
    ):
        samples.add("cps8d", tmp_path / "adult.data")


@pytest.mark.slow
def test_the_right_counts_are_not_enough(raw: list[tuple[str, ...]]) -> None:
    rows = adult.recode("".join(",".join(row) + "\n" for row in raw), "adult.csv")
    adult.check(rows)
    swapped = [tuple({"Male": "Female", "Female": "Male"}.get(value, value) for value in row) for row in rows]
    with pytest.raises(EngineError, match="the size of CPS-8D but other contents"):
        adult.check(swapped)


LINE = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, "
    "United-States, <=50K"
)
CODED = ("25-55", "Govt.", "Bach", "Other", "White", "Male", "40", "<$50K")


@pytest.mark.parametrize(
    "text",
    [
        LINE,
        LINE + ".\n\n",
        "|1x3 Cross validator\n" + LINE.replace(", ", ","),
        "income,sex,race,age,marital.status,workclass,hours.per.week,education\n<=50K,Male,White,39,Never-married,State-gov,40,Bachelors",
        '"age","workclass","education","marital_status","race","gender","hours-per-week","class"\n'
        '39,State-gov,Bachelors,Never-married,White,Male,40,"<=50K."',
    ],
)
def test_forms_in_which_the_adult_file_goes_round(text: str) -> None:
    assert adult.recode(text, "adult.data") == [CODED]


@pytest.mark.parametrize(
    ("old", "new", "place", "wanted"),
    [
        ("39,", "24,", 0, "<25"),
        ("39,", "25,", 0, "25-55"),
        ("39,", "54,", 0, "25-55"),
        ("39,", "55,", 0, ">55"),
        ("State-gov", "?", 1, "Other"),
        ("State-gov", "Self-emp-inc", 1, "Self-Emp."),
        ("Bachelors", "12th", 2, "<HS"),
        ("Bachelors", "Assoc-voc", 2, "Bach"),
        ("Never-married", "Married-spouse-absent", 3, "Married"),
        ("White", "Black", 4, "Non-White"),
        (" 40,", " 39,", 6, "<40"),
        (" 40,", " 41,", 6, ">40"),
        ("<=50K", ">50K.", 7, "$50K+"),
    ],
)
def test_the_recode(old: str, new: str, place: int, wanted: str) -> None:
    assert adult.recode(LINE.replace(old, new), "adult.data")[0][place] == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "file 'adult.data' has no column 'age', so it is not the Adult file"),
        (LINE + "\n1,2\n", "file 'adult.data': line 2 has 2 fields, 15 were expected"),
        (LINE + "\n" + LINE.replace("Bachelors", "secret"), "file 'adult.data': line 2 is no record of the Adult file"),
    ],
)
def test_what_is_no_adult_file(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "adult.data").write_text(text)
    with pytest.raises(EngineError) as caught:
        samples.add("cps8d", tmp_path / "adult.data")
    assert str(caught.value).startswith(message)
    assert "secret" not in str(caught.value)
    with pytest.raises(UsageError, match="file 'none' does not exist"):
        samples.add("cps8d", tmp_path / "none")


@pytest.fixture
def server() -> Iterator[str]:
    """A local server that sends a small archive, or garbage under /bad."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("adult.data", LINE)
        files.writestr("adult.test", "|1x3\n" + LINE + ".")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = {"/adult.zip": archive.getvalue(), "/bad": b"not a zip"}
            self.send_response(200 if self.path in known else 404)
            self.end_headers()
            self.wfile.write(known.get(self.path, b""))

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http_server:
        threading.Thread(target=http_server.serve_forever, args=(0.01,), daemon=True).start()  # seconds until it stops
        yield f"http://127.0.0.1:{http_server.server_address[1]}"
        http_server.shutdown()


def test_the_download(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("http_proxy", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert adult.read_bytes(adult.download(f"{server}/adult.zip")) == [CODED, CODED]
    with pytest.raises(EngineError, match=r"the downloaded archive does not hold adult\.data and adult\.test"):
        adult.read_bytes(adult.download(f"{server}/bad"))
    with pytest.raises(EngineError, match="the UCI archive could not be reached"):
        adult.download(f"{server}/none")
    monkeypatch.setattr(adult, "_MOST_BYTES", 4)
    with pytest.raises(EngineError, match="which is not the Adult file"):
        adult.download(f"{server}/bad")


def test_no_internet_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(adult.download, "__defaults__", ("http://127.0.0.1:1/", 1.0))
    with pytest.raises(
        EngineError, match=r"the UCI archive could not be reached .* the sample is made from adult.data and adult.test"
    ):
        samples.add("cps8d")


@pytest.mark.slow
@pytest.mark.usefixtures("quick_readers")
@pytest.mark.parametrize("form", ["csv", "parquet", "sav", "dta"])
def test_a_sample_is_written_and_read_back(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"czech.{form}"
    assert samples.write("czech", path) == ()
    table, plan = samples.open_data(str(path))[0], samples.load("czech")[1]
    assert cells_of(code(table, plan)) == cells_of(code(*samples.load("czech")))
    with pytest.raises(UsageError, match="is there already"):
        samples.write("czech", path)


def test_a_sample_is_written_only_in_known_forms(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"file 'a\.doc' must end in \.csv, \.parquet, \.sav, \.dta"):
        samples.write("czech", tmp_path / "a.doc")


def test_a_file_that_cannot_be_the_adult_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe held the command for ever, and a link to an endless file took all memory."""
    path = tmp_path / "adult.data"
    with path.open("wb") as file:
        file.truncate(65 << 20)
    with pytest.raises(UsageError, match=r"file 'adult\.data' has more than 64 MB and is not the Adult file"):
        samples.add("cps8d", path)
    path.write_bytes(b"39, a\rb, 1\r\rc" + b'"' + b"x" * 200_000)
    with pytest.raises(EngineError, match=r"file 'adult\.data'"):
        samples.add("cps8d", path)
    with pytest.raises(UsageError, match="is a folder; "):
        samples.add("cps8d", tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.data")
        with pytest.raises(UsageError, match=r"'pipe\.data' is a named pipe; "):
            samples.add("cps8d", tmp_path / "pipe.data")


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_are_streamed_when_they_are_large_or_when_it_is_asked_for(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(write_source(tmp_path, form, records(400), []))
    assert isinstance(open_source(path)[0], RawTable)
    assert isinstance(open_source(path, True)[0], RecordStream)
    monkeypatch.setattr(sources, "MOST_RECORDS", 300)
    monkeypatch.setattr(sources, "MOST_VALUES", 1000)
    assert isinstance(open_source(path)[0], RecordStream)
    assert isinstance(open_source(path, False)[0], RawTable)


@pytest.mark.parametrize("form", ["csv folder", "parquet folder"])
def test_folders_are_streamed_by_the_same_rule(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(write_source(tmp_path, form, records(400), [10, 200]))
    assert isinstance(open_source(path)[0], RawTable)
    assert isinstance(open_source(path, True)[0], RecordStream)
    monkeypatch.setattr(sources, "MOST_RECORDS", 300)
    monkeypatch.setattr(sources, "MOST_VALUES", 1000)
    assert isinstance(open_source(path)[0], RecordStream)
    assert isinstance(open_source(path, False)[0], RawTable)
    assert open_records(path)[0].n_records == 400


def test_samples_and_other_formats_are_not(tmp_path: Path) -> None:
    data, plan = open_source("czech")
    assert isinstance(data, RawTable)
    assert plan is not None
    with pytest.raises(UsageError, match="'czech' is no file or folder"):
        open_source("czech", True)
    (tmp_path / "a.sav").write_bytes(b"x")
    with pytest.raises(UsageError, match=r"file 'a\.sav' cannot be read by streaming; export it as \.csv or \.parquet"):
        open_source(str(tmp_path / "a.sav"), True)
    with pytest.raises(UsageError, match="does not exist"):
        open_source(str(tmp_path / "none.csv"))
