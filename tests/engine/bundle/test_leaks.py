"""The search for what must not leave: every kind of secret, planted in every kind of file, is found."""

from __future__ import annotations

import base64
import gzip
import io
import json
import shutil
import zipfile
from dataclasses import replace
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pytest

from engine.bundle import leaks
from engine.bundle.leaks import OldNumbers, Search, Secret, check_fields, forms_of_bytes, forms_of_text, scan, search_of
from engine.bundle.readers import Refused, Tier
from engine.bundle.source import ExportSource
from engine.bundle.unpack import Part, parts_of, plain_text
from engine.data.microdata import RawColumn, RawTable

KEY = bytes(range(100, 116))


def found(path: Path, secret: Secret) -> bool:
    return any(secret.found_in(part) for part in parts_of(path))


def zipped(content: bytes, name: str = "word/document.xml", comment: bytes = b"") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
        archive.comment = comment
    return out.getvalue()


def test_parts_behind_a_damaged_one_are_searched(tmp_path: Path) -> None:
    """The bytes of the first part are those of no deflated stream, or its method is unknown."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("first.xml", b"a" * 50)
        archive.writestr("second.xml", b"Springfield " * 9)
    content, at = out.getvalue(), 30 + len("first.xml")
    place = content.index(b"PK\1\2") + 10  # of the method in the list of entries
    for damaged in (content[:at] + b"\xff" * 4 + content[at + 4 :], content[:place] + b"\x63" + content[place + 1 :]):
        (tmp_path / "a.docx").write_bytes(damaged)
        assert b"Springfield " * 9 in [part.content for part in parts_of(tmp_path / "a.docx")]


def docx(content: bytes) -> bytes:
    return zipped(b"<w:t>" + content + b"</w:t>")


def pdf(content: bytes) -> bytes:
    import zlib

    return b"%PDF-1.7\n1 0 obj<</Filter/FlateDecode>>\nstream\n" + zlib.compress(content) + b"\nendstream\nendobj\n"


def png(content: bytes) -> bytes:
    import struct
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"zTXt", b"Comment\0\0" + zlib.compress(content)) + chunk(b"IEND", b"")


WRAPPED = {
    "plain": lambda b: b,
    "gz": gzip.compress,
    "docx": docx,
    "xlsx in zip": lambda b: zipped(docx(b), "tables.xlsx"),
    "comment of a zip": lambda b: zipped(b"x", comment=b),
    "pdf": pdf,
    "png": png,
    "picture in HTML": lambda b: b'<img src="data:image/png;base64,' + base64.b64encode(png(b)) + b'">',
}
WRITTEN = {
    "raw": lambda b: b,
    "hex": lambda b: b.hex().encode(),
    "HEX": lambda b: b.hex().upper().encode(),
    "base64": base64.b64encode,
    "base64 within more": lambda b: base64.b64encode(b"a" + b + b"bc"),
    "base64 one later": lambda b: base64.b64encode(b"ab" + b + b"c"),
    "base64 for URLs": base64.urlsafe_b64encode,
    "UTF-16": lambda b: b.hex().encode().decode().encode("utf-16-le"),
    "turned": lambda b: b[::-1],
}


@pytest.mark.parametrize("wrap", WRAPPED)
@pytest.mark.parametrize("way", WRITTEN)
def test_a_key_is_found_however_it_is_written_and_packed(tmp_path: Path, wrap: str, way: str) -> None:
    secret = Secret("the key", forms_of_bytes(KEY))
    path = tmp_path / "file.bin"
    path.write_bytes(WRAPPED[wrap](b"some text " + WRITTEN[way](KEY) + b" and more text"))
    assert found(path, secret)
    path.write_bytes(WRAPPED[wrap](b"some text " + WRITTEN[way](KEY[:6] + b"four" + KEY[10:]) + b" and more text"))
    assert not found(path, secret)


@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.encode(),
        lambda t: t.encode("utf-16-le"),
        lambda t: t.encode("utf-16-be"),
        lambda t: json.dumps(t).encode(),
        lambda t: escape(t).encode(),
        lambda t: quote(t).encode(),
        lambda t: quote(t, safe="").encode(),
        lambda t: t.replace("/", "\\/").encode(),
        lambda t: base64.b64encode(t.encode()),
        lambda t: t.encode().hex().encode(),
    ],
)
def test_a_path_is_found_however_it_is_escaped(tmp_path: Path, write) -> None:
    name = "/home/jürgen & co/secret study"
    path = tmp_path / "file.txt"
    path.write_bytes(b"before " + write(name) + b" after")
    assert found(path, Secret("a path", forms_of_text(name)))


def test_a_path_is_searched_by_the_highest_of_its_folders_that_is_long_enough() -> None:
    (secret,) = leaks._secrets_of_path(Path("/home/abcdefgh/secret/a.study"))
    assert b"/home/abcdefgh" in secret.forms


@pytest.mark.slow
def test_values_names_and_labels_of_data_files_are_read(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    from engine.data.io.labelled_writers import write_dta, write_sav
    from engine.data.microdata import ColumnLabels
    from tests.engine.data.io.labelled import write_xpt

    name = "quarterly_staff_file"
    secret = Secret("a name", forms_of_text(name), word=True)
    long = [f"value {i} of many" for i in range(50)]
    for where in ("value", "label", "nothing"):
        values = pa.array([*long, name if where == "value" else "none"])
        about = {"a": ColumnLabels(name if where == "label" else "a column")}
        write_sav(tmp_path / "a.sav", {"a": values}, about)
        write_dta(tmp_path / "a.dta", {"a": values}, about)
        write_xpt(tmp_path / "a.xpt", {"a": values})
        meta = {"why": name} if where == "label" else None
        parquet.write_table(pa.table({"a": values}).replace_schema_metadata(meta), tmp_path / "a.parquet")
        for file in ("a.sav", "a.dta", "a.xpt", "a.parquet"):
            kept = ("value",) if file == "a.xpt" else ("value", "label")  # this writer of test files has no labels
            assert found(tmp_path / file, secret) == (where in kept), (file, where)


def test_short_names_count_in_descriptions_only_and_long_ones_as_words() -> None:
    short = leaks._secrets_of_name("the user's name", "mary", frozenset())[0]
    assert not short.found_in(Part("data.csv", b"name,mary"))
    assert short.found_in(Part("memo.docx: docProps/core.xml", b"<creator>mary</creator>", metadata=True))
    assert not short.found_in(Part("memo.docx: docProps/core.xml", b"<t>rosemary</t>", metadata=True))
    long = leaks._secrets_of_name("the user's name", "mary.jones", frozenset())[0]
    assert long.found_in(Part("data.csv", b"by mary.jones."))
    assert not long.found_in(Part("data.csv", b"by rosemary.jones"))
    assert not long.found_in(Part("memo.html", b"ask mary.jones"), "", "mary.jones")
    assert leaks._secrets_of_name("the user's name", "statistics", frozenset())[0].metadata
    assert leaks._secrets_of_name("the user's name", "household", frozenset({"household"}))[0].metadata
    assert leaks._secrets_of_name("the user's name", "me", frozenset()) == []


def planted(bundle: Path, tmp_path: Path, name: str, content: bytes) -> Path:
    copy = tmp_path / "bundle"
    shutil.copytree(bundle, copy)
    with (copy / name).open("ab") as file:
        file.write(content)
    return copy


SECRETS = {
    "the study key": lambda m, out: m.key,
    "the key of the realisation": lambda m, out: m.remade.derived.hex().encode(),
    "the secret of the row order": lambda m, out: base64.b64encode(m.rows.secret),
    "a digest of the original": lambda m, out: m.raw.content_digest().hex().encode(),
    "a fingerprint of the original": lambda m, out: m.fingerprint.encode(),
    "a path of this machine": lambda m, out: str(m.study.path.absolute()).encode(),
    "the name of the original file": lambda m, out: b" original_survey.csv ",
    "the name of the study file": lambda m, out: b" household.study ",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", SECRETS)
@pytest.mark.parametrize(("tier", "file"), [(Tier.PUBLIC, "release.csv"), (Tier.BOARD, "memo.html")])
def test_planted_secrets_refuse_the_bundle(
    every: Path, reopened: ExportSource, tmp_path: Path, tier: Tier, file: str, what: str
) -> None:
    search = search_of(reopened, tmp_path / "out")
    copy = planted(every / tier, tmp_path, file, b"\n" + SECRETS[what](reopened, tmp_path) + b"\n")
    with pytest.raises(Refused, match=f"the {tier} bundle was refused: '.*' holds {what}"):
        scan(copy, tier, search)


@pytest.mark.slow
def test_the_cover_may_name_a_survey_like_its_file_but_the_public_reads_no_files_name(
    every: Path, reopened: ExportSource, tmp_path: Path
) -> None:
    search = search_of(reopened, tmp_path / "out")
    stem = Path(reopened.raw.source).stem
    for tier, file in ((Tier.BOARD, "memo.html"), (Tier.PUBLIC, "release.csv")):
        copy = planted(every / tier, tmp_path / tier, file, f" {stem} ".encode())
        with pytest.raises(Refused, match=f"the {tier} bundle was refused: '.*' holds the name of the data file"):
            scan(copy, tier, search)
    plan = reopened.study.plan
    named = replace(plan, about=replace(plan.about, survey=stem))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reopened.study.subject, "_plan", named)
        scan(tmp_path / "board" / "bundle", Tier.BOARD, search)
        with pytest.raises(Refused, match="the name of the data file"):
            scan(tmp_path / "public" / "bundle", Tier.PUBLIC, search)


@pytest.mark.slow
def test_the_analyst_may_know_the_secrets_of_the_realisation_inside_only(
    every: Path, reopened: ExportSource, tmp_path: Path
) -> None:
    search = search_of(reopened, tmp_path / "out")
    with pytest.raises(Refused, match="the study key"):
        scan(planted(every / "analyst", tmp_path, "internal/REPLAY.txt", reopened.key), Tier.ANALYST, search)
    shutil.rmtree(tmp_path / "bundle")
    secret = reopened.rows.secret
    scan(planted(every / "analyst", tmp_path, "internal/REPLAY.txt", secret), Tier.ANALYST, search)
    shutil.rmtree(tmp_path / "bundle")
    with pytest.raises(Refused, match="the secret of the row order"):
        scan(planted(every / "analyst", tmp_path, "release/release.csv", secret), Tier.ANALYST, search)


@pytest.mark.slow
def test_columns_and_descriptions_of_public_files_are_checked(
    every: Path, reopened: ExportSource, tmp_path: Path
) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    copy = tmp_path / "bundle"
    shutil.copytree(every / "public", copy)
    check_fields(copy, Tier.PUBLIC, reopened)
    table = parquet.read_table(copy / "release.parquet")
    parquet.write_table(table.replace_schema_metadata({"pandas": "{}"}), copy / "release.parquet")
    with pytest.raises(Refused, match="a description beside its columns"):
        check_fields(copy, Tier.PUBLIC, reopened)
    parquet.write_table(
        table.append_column("changed", pa.array([0] * 160)), copy / "release.parquet", store_schema=False
    )
    with pytest.raises(Refused, match=r"a column that is not released \(changed\)"):
        check_fields(copy, Tier.PUBLIC, reopened)
    shutil.copy(every / "public" / "release.parquet", copy)
    (copy / "METHODS.txt").write_text("We swapped 15 % of the records.\n")
    with pytest.raises(Refused, match="other words than those on the methods"):
        check_fields(copy, Tier.PUBLIC, reopened)


@pytest.mark.slow
def test_short_items_in_the_boards_file_are_checked(every: Path, reopened: ExportSource, tmp_path: Path) -> None:
    copy = tmp_path / "bundle"
    shutil.copytree(every / "board", copy)
    check_fields(copy, Tier.BOARD, reopened)
    board = json.loads((copy / "board.json").read_text(encoding="utf-8"))
    label = reopened.scenario.label
    for words in (f"it is {label}", f"({label}/3)"):
        board["recommendation"]["why"] = words
        (copy / "board.json").write_text(json.dumps(board), encoding="utf-8")
        with pytest.raises(Refused, match="the id of a candidate"):
            check_fields(copy, Tier.BOARD, reopened)
    board["recommendation"]["why"], name = "", board["checks"][0]["name"]
    board["checks"][0]["name"] = f"rule for {label}"  # names that people give are read too
    (copy / "board.json").write_text(json.dumps(board), encoding="utf-8")
    with pytest.raises(Refused, match="the id of a candidate"):
        check_fields(copy, Tier.BOARD, reopened)
    board["checks"][0]["name"] = name
    board["recommendation"]["why"] = "town:S at 15 %, which changes 24 records"
    (copy / "board.json").write_text(json.dumps(board), encoding="utf-8")
    check_fields(copy, Tier.BOARD, reopened)  # the board may read it


def test_text_is_read_without_tags_and_pictures() -> None:
    picture = b'<p>x1<b>2</b> &amp; more <img src="data:image/png;base64,' + b"QUJD" * 20 + b'"></p>'
    assert "QUJD" not in plain_text(Part("memo.html", picture)) and "& more" in plain_text(Part("memo.html", picture))
    assert plain_text(Part("a.png", b"\x89PNG\0\0")) == ""


def test_a_leak_leaves_nothing_and_is_logged(home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.bundle import export
    from engine.bundle import writers as public
    from engine.study.decision_log import entries
    from engine.study.study import Study

    folder, raw = home
    for name in ("household.study", "household.study.key"):
        shutil.copy(folder / name, tmp_path / name)
    monkeypatch.setattr(public, "load_scripts", lambda name, columns, labels: {"load.R": f"setwd('{tmp_path}')\n"})
    with Study.open(tmp_path / "household.study") as study:
        with pytest.raises(Refused, match=r"'load\.R' holds a path of this machine"):
            export(study, raw, None, tmp_path / "out", tier="public")
        last = entries(study)[-1]
    assert last.event == "blocked" and last.detail["why"] == "public: a path of this machine"
    assert sorted(p.name for p in tmp_path.iterdir() if "study" not in p.name) == []


def test_the_search_knows_names_of_this_machine(reopened: ExportSource, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("USER", "bartholomew")
    search = search_of(replace(reopened), tmp_path / "out")
    assert any(
        s.description == "the user's name" and b"bartholomew" in s.forms and not s.metadata for s in search.secrets
    )


def test_large_files_are_searched_in_pieces_that_overlap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.bundle import unpack

    monkeypatch.setattr(unpack, "_CHUNK", 100)
    path = tmp_path / "release.csv"
    for before in range(90, 101):
        path.write_bytes(b"x" * before + KEY + b"y" * 300)
        assert found(path, Secret("the key", forms_of_bytes(KEY)))
    assert len(list(parts_of(path))) == 5


def test_an_analysts_release_holds_no_secret_that_its_internal_folder_may(tmp_path: Path) -> None:
    about = SimpleNamespace(survey="", contact="")
    plan = SimpleNamespace(about=about, publish=SimpleNamespace(title=""))
    source: Any = SimpleNamespace(study=SimpleNamespace(plan=plan))
    search = Search((Secret("the key", forms_of_bytes(KEY), inside=True),), (), source)
    for folder in ("internal", "release"):
        (tmp_path / folder).mkdir()
    (tmp_path / "internal" / "seed-annex.json").write_text(KEY.hex())
    (tmp_path / "release" / "release.csv").write_text("a,b\n1,2\n")
    scan(tmp_path, Tier.ANALYST, search)
    (tmp_path / "release" / "release.csv").write_text(KEY.hex())
    with pytest.raises(Refused, match=r"'release\.csv' holds the key"):
        scan(tmp_path, Tier.ANALYST, search)


N = 200
SHOWN = ("other", "the original ids of records")


def searched(numbers: list[str], shown: list[str], codes: np.ndarray, n_known: int = N) -> OldNumbers:
    """The search for ``numbers`` of the first ``n_known`` records, where a column of values ``shown`` is released."""
    number = np.where(np.arange(N) < n_known, np.arange(N) % len(numbers), -1)
    columns = {
        "case": RawColumn("case", pa.array(numbers), number.astype(np.int32)),
        "other": RawColumn("other", pa.array(shown), codes.astype(np.int32)),
    }
    source = SimpleNamespace(
        raw=RawTable(columns, N, "made up"),
        columns=["other"],
        data=SimpleNamespace(single_uses={"case": "id"}, n_records=N),
    )
    return OldNumbers(source, "case", "the original ids of records")  # type: ignore[arg-type]


def test_a_column_that_shows_them_is_found_whatever_they_look_like() -> None:
    numbers = [str(i) for i in range(N)]
    assert searched(numbers, numbers, np.arange(N)).shown_by() == SHOWN
    assert searched(numbers, numbers, np.arange(N) ^ 1).shown_by() is None


def test_records_without_one_make_no_other_column_suspect() -> None:
    few = [f"p{i}" for i in range(80)]
    ages = [str(age) for age in range(90)]
    assert searched(few, ages, np.arange(N) % 90, n_known=80).shown_by() is None
    assert searched(few, few, np.arange(N) % 80, n_known=80).shown_by() == SHOWN
    gaps = np.where(np.arange(N) < 80, np.arange(N) % 80, -1)
    assert searched(few, few, gaps, n_known=80).shown_by() == SHOWN


@pytest.mark.parametrize("form", ["home-{:05d}", "home {:05d} north", "Österreich-{}", "户口登记{:05d}"])
def test_one_with_letters_is_found_as_a_field_of_a_file(form: str) -> None:
    search = searched([form.format(i) for i in range(N)], ["a", "b"], np.arange(N) % 2)
    assert search.found_in(f"x,case\n1,{form.format(7)}\n".encode())
    assert search.found_in(f"<td>{form.format(7)}</td>".encode())
    assert not search.found_in(f"x,case\n1,{form.format(N)}\n".encode())


def test_numbers_without_letters_are_found_by_several() -> None:
    search = searched([str(40_000_000 + 7 * i) for i in range(N)], ["a", "b"], np.arange(N) % 2)
    assert not search.found_in(b"40000007 40000014 40000015")
    assert search.found_in(b"40000007 40000014 40000021")


def test_values_of_released_columns_are_not_searched() -> None:
    numbers = [f"number {i:04d}" for i in range(N)]
    assert not searched(numbers, numbers, np.arange(N)).found_in(b"number 0007")


def test_a_column_that_shows_some_of_them_is_found_beyond_chance() -> None:
    numbers = [str(i) for i in range(N)]
    rng = np.random.default_rng(5)
    shown = rng.permutation(N)
    unrelated = searched(numbers, numbers, shown)
    assert unrelated.shown_by() is None
    shown[:40] = np.arange(40)
    assert searched(numbers, numbers, shown).shown_by() == SHOWN, "a fifth of the records"
    shown[10:40] = rng.integers(100, N, 30)
    assert searched(numbers, numbers, shown).shown_by() is None, "ten may agree by accident"


def test_numbers_of_few_households_agree_by_chance_with_ages() -> None:
    rng = np.random.default_rng(6)
    for _ in range(50):
        ages = [str(age) for age in range(90)]
        assert searched(ages[:60], ages, rng.integers(0, 90, N)).shown_by() is None


@pytest.mark.parametrize(
    "shown",
    [
        [str(5000 + i) for i in range(N)],
        [str(-3 * i) for i in range(N)],
        [f"{i * i}.5" for i in range(N)],
        [f"n{i:04d}" for i in range(N)],
    ],
)
def test_a_column_in_the_order_of_the_numbers_is_found(shown: list[str]) -> None:
    search = searched([str(i) for i in range(N)], shown, np.arange(N))
    assert search.shown_by() == ("other", "values in the order of the original ids of records")
    scrambled = np.random.default_rng(7).permutation(N)
    assert searched([str(i) for i in range(N)], shown, scrambled).shown_by() is None
    mostly = np.arange(N)
    mostly[:20] = scrambled[:20]
    assert searched([str(i) for i in range(N)], shown, mostly).shown_by() is None, "one in ten is another"


def test_a_sorted_file_of_repeated_values_is_no_order_of_numbers() -> None:
    numbers, shown = [str(i) for i in range(N)], [str(i) for i in range(90)]
    assert searched(numbers, shown, np.arange(N) * 90 // N).shown_by() is None


def test_many_records_that_agree_in_one_number_alone_show_none() -> None:
    numbers = [str(i) for i in range(N)]
    search = searched(numbers, ["0", "none"], np.where(np.arange(N) < 100, 0, 1))
    # the first household has 100 records, and each of the others one
    search.source.raw.columns["case"].codes[:100] = 0
    assert search.shown_by() is None
