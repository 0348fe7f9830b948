"""Writing SPSS and Stata: what was labelled reads back equal, equal columns give equal bytes without traces; load
scripts are looked at line by line.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import EngineError
from engine.common.wording import printable
from engine.data.io.encoded_column import Form, short_names
from engine.data.io.labelled_readers import read_statistical
from engine.data.io.labelled_writers import load_scripts, write_dta, write_sav
from engine.data.io.readers import read_table
from engine.data.microdata import ColumnLabels
from tests.engine.data.io import spss_file
from tests.engine.data.io.labelled import COLUMNS, LABELS, arrays_of, columns_of, labels_of
from tests.examples import examples

Writer = Callable[..., tuple[str, ...]]
WRITERS = [("a.sav", write_sav), ("a.dta", write_dta)]
PLAIN = {name: values.to_pylist() for name, values in COLUMNS.items()}


@pytest.fixture(autouse=True)
def forked_readers(quick_readers: None) -> None:
    """How readers start is tried in test_reader_process.py."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "write"), WRITERS)
def test_values_read_back_equal(tmp_path: Path, name: str, write: Writer) -> None:
    write(tmp_path / name, COLUMNS, LABELS)
    assert columns_of(read_table(tmp_path / name)) == PLAIN


@pytest.mark.slow
def test_spss_reads_back_labels_and_missing_codes(tmp_path: Path) -> None:
    assert write_sav(tmp_path / "a.sav", COLUMNS, LABELS) == ()
    back = labels_of(read_table(tmp_path / "a.sav"))
    for name, about in LABELS.items():
        got = back[name]
        assert (got.label, got.values, got.measure) == (about.label, about.values, about.measure)
        assert (set(got.missing), got.missing_ranges) == (set(about.missing), about.missing_ranges)


@pytest.mark.slow
def test_what_spss_wrote_is_written_again_to_the_byte(tmp_path: Path) -> None:
    write_sav(tmp_path / "a.sav", COLUMNS, LABELS)
    table = read_table(tmp_path / "a.sav")
    write_sav(tmp_path / "b.sav", arrays_of(table), labels_of(table))
    assert (tmp_path / "a.sav").read_bytes() == (tmp_path / "b.sav").read_bytes()


def test_stata_reads_back_special_missings_and_labels(tmp_path: Path) -> None:
    values = pa.array(["1", "2.5", ".a", None, ".b"])
    about = ColumnLabels("Mixed", (("1", "One"), (".a", "Refused"), (".b", "Skipped")), (".a", ".b"))
    unused = ColumnLabels("Never refused", (("1", "One"), (".a", "Refused")), (".a",))
    columns = {"m": values, "n": pa.array([1, 2, 1, 2, 1])}
    assert write_dta(tmp_path / "a.dta", columns, {"m": about, "n": unused}) == ()
    table = read_table(tmp_path / "a.dta")
    assert columns_of(table) == {"m": values.to_pylist(), "n": [1, 2, 1, 2, 1]}
    assert set(table.columns["m"].about.values) == set(about.values)
    assert table.columns["m"].about.missing == about.missing
    assert set(table.columns["n"].about.values) == set(unused.values)


@pytest.mark.slow
def test_stata_says_what_it_cannot_declare(tmp_path: Path) -> None:
    notes = write_dta(tmp_path / "a.dta", COLUMNS, LABELS)
    assert [n for n in notes if n.startswith("'work': its missing codes are plain values in Stata")]
    assert [n for n in notes if n.startswith("'region' is text, and Stata labels numbers only")]
    back = labels_of(read_table(tmp_path / "a.dta"))
    assert set(back["work"].values) == set(LABELS["work"].values)
    assert back["sex"].label == "Sex of the person"


@pytest.mark.slow
def test_equal_columns_give_equal_bytes_without_traces(tmp_path: Path) -> None:
    first = {}
    for name, write in WRITERS:
        write(tmp_path / name, COLUMNS, LABELS)
        first[name] = (tmp_path / name).read_bytes()
    time.sleep(1.01 - time.time() % 1)  # into the next second, which headers tell
    for name, write in WRITERS:
        write(tmp_path / name, COLUMNS, LABELS)
        assert (tmp_path / name).read_bytes() == first[name]
        for trace in (b"ReadStat", b"WizardMac", b"bsd4.2", time.strftime("%Y").encode(), tmp_path.name.encode()):
            assert trace not in first[name][:4096]


@pytest.mark.slow
@examples(25)
@given(
    st.lists(st.one_of(st.none(), st.integers(-(2**53) + 1, 2**53 - 1)), min_size=1, max_size=6),
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5), min_size=1, max_size=6),
)
def test_any_whole_numbers_and_texts_survive(
    tmp_path_factory: pytest.TempPathFactory, whole: list, words: list
) -> None:
    folder = tmp_path_factory.mktemp("w")
    n = min(len(whole), len(words))
    columns = {"i": pa.array(whole[:n], pa.int64()), "t": pa.array(words[:n])}
    for name, write in WRITERS:
        write(folder / name, columns)
        found = columns_of(read_statistical(folder / name))
        assert found["i"] == whole[:n]
        if not any(str(w).strip().lstrip("+-").replace(".", "").isdigit() or w != w.rstrip(" ") for w in words[:n]):
            assert [w or "" for w in found["t"]] == words[:n], name


@pytest.mark.slow
def test_numbers_in_text_become_numbers_only_when_they_read_back_the_same(tmp_path: Path) -> None:
    columns = {
        "n": pa.array(["1", "", "-2.5"]),
        "code": pa.array(["007", "1", ""]),
        "half": pa.array(["1.50", "2", "3"]),
    }
    write_sav(tmp_path / "a.sav", columns)
    assert columns_of(read_table(tmp_path / "a.sav")) == {
        "n": [1.0, None, -2.5],
        "code": ["007", "1", ""],
        "half": ["1.50", "2", "3"],
    }


@pytest.mark.parametrize(("name", "write"), WRITERS)
def test_decimals_of_a_database_are_written_however_wide_their_type(tmp_path: Path, name: str, write: Writer) -> None:
    cents = [Decimal(i).scaleb(-2) for i in range(100)]
    assert write(tmp_path / name, {"pay": pa.array(cents, pa.decimal128(38, 2))}) == ()
    assert columns_of(read_table(tmp_path / name))["pay"] == list(map(float, cents))


@pytest.mark.parametrize(("name", "write"), WRITERS)
def test_spans_of_time_are_numbers(tmp_path: Path, name: str, write: Writer) -> None:
    spans = pa.array([1500, None], pa.duration("ms"))
    assert len(write(tmp_path / name, {"x": spans})) == 1
    assert columns_of(read_table(tmp_path / name))["x"] == [1500, None]


def test_truth_values_get_labels(tmp_path: Path) -> None:
    write_sav(tmp_path / "a.sav", {"b": pa.array([True, False, None])}, {"b": ColumnLabels("Truth")})
    table = read_table(tmp_path / "a.sav")
    assert columns_of(table)["b"] == [1, 0, None]
    assert table.columns["b"].about.values == (("0", "false"), ("1", "true"))


@pytest.mark.parametrize(
    ("write", "columns", "about", "message"),
    [
        (write_sav, {"x": pa.array(["t" * 40_000])}, None, "column 'x' has a text of 40,000 bytes, and a.f can hold"),
        (write_dta, {"x": pa.array([2**53 + 1])}, None, "whole numbers of more than 15 digits"),
        (write_sav, {"x": pa.array([np.inf])}, None, "has infinite numbers"),
        (write_sav, {"x": pa.array(["a\0b"])}, None, "column 'x' has texts with a zero byte, which only Parquet"),
        (write_dta, {"x": pa.array(["a\0b"])}, None, "column 'x' has texts with a zero byte, which only Parquet"),
        (write_sav, {"x": pa.array([1]), "y": pa.array([1, 2])}, None, "all must be equally long"),
    ],
)
def test_what_a_format_cannot_hold_is_refused(
    tmp_path: Path, write: Writer, columns: dict[str, pa.Array], about: ColumnLabels | None, message: str
) -> None:
    with pytest.raises(EngineError, match=message):
        write(tmp_path / "a.f", columns, {"x": about} if about else {})


@pytest.mark.parametrize(
    ("values", "about", "declared", "n_left"),
    [
        ([1, 2, 3, 9, 11], ColumnLabels(missing=("1", "3", "9", "11")), [1, 3, 9], 1),
        ([11, 5], ColumnLabels(missing=("1", "3", "9", "11")), [11, 1, 3], 1),
        (["a"], ColumnLabels(missing=("b", "c", "d", "a")), ["a", "b", "c"], 1),
        (["not_asked_code", "b"], ColumnLabels(missing=("not_asked_code",)), [], 1),
        ([1, 8], ColumnLabels(missing=("8", "9"), missing_ranges=((-9, -1),)), [(-9, -1), 8], 1),
        ([1, -99], ColumnLabels(missing=("NA", "-99", "1e400")), [-99], 2),
        ([1], ColumnLabels(missing_ranges=((-float("inf"), -1),)), [(spss_file.LOWEST, -1)], 0),
    ],
)
def test_spss_is_told_what_missing_codes_it_can_and_the_analyst_how_many_are_left(
    tmp_path: Path, values: list, about: ColumnLabels, declared: list, n_left: int
) -> None:
    notes = write_sav(tmp_path / "a.sav", {"x": pa.array(values)}, {"x": about})
    assert spss_file.read_spss(tmp_path / "a.sav")["x"].missing == declared
    assert [note for note in notes if note.startswith(f"'x': {n_left} of its missing codes")] == [*notes]
    assert bool(notes) == bool(n_left)


@pytest.mark.parametrize("seed", range(12))
def test_long_texts_of_similar_names_are_read_by_another_reader(tmp_path: Path, seed: int) -> None:
    """SPSS breaks a text of more than 255 bytes into pieces with short names of their own."""
    rng = random.Random(seed)
    stem = rng.choice(["comment", "comme", "V", "V1", "äöü", "answer_to_question"])
    ends = rng.sample(["", "0", "1", "A", "00", "_one", "_two", "_1", "_2", "nt_1", "nd"], 7)
    columns = {}
    for end in ends:
        width = rng.choice([5, 255, 256, 300, 504, 505, 2600])
        columns[stem + end] = pa.array([f"{sign * width}"[: width - 1] + "." for sign in "pq"])
    write_sav(tmp_path / "a.sav", columns)
    held = spss_file.read_spss(tmp_path / "a.sav")
    assert {name: variable.values for name, variable in held.items()} == {n: c.to_pylist() for n, c in columns.items()}


def test_neighbouring_missing_codes_become_a_range(tmp_path: Path) -> None:
    about = ColumnLabels(missing=("-1", "-7", "-8", "-9"))
    write_sav(tmp_path / "a.sav", {"x": pa.array([1, -9, -8, -1])}, {"x": about})
    assert read_table(tmp_path / "a.sav").columns["x"].about.missing_ranges == ((-9.0, -1.0),)


@pytest.mark.parametrize(
    ("form", "names", "wanted"),
    [
        ("dta", ["age", "AGE", "int", "2nd wave", "ä"], ["age", "AGE", "int2", "v2nd_wave", "_"]),
        ("sav", ["age", "AGE", "by", "my name", "x."], ["age", "AGE2", "by2", "my_name", "x"]),
        ("dta", ["str5", "@b", "$n", "if"], ["str5100", "_b2", "_n2", "if2"]),
        ("sav", ["@b", "Ⅳ", "½", "a½", "#by"], ["v@b", "vⅣ", "v½", "a½", "v#by"]),
    ],
)
def test_names_that_a_format_refuses_are_made_anew(
    tmp_path: Path, form: Form, names: list[str], wanted: list[str]
) -> None:
    assert list(short_names(names, form).values()) == wanted
    write = {"sav": write_sav, "dta": write_dta}[form]
    assert len(write(tmp_path / f"a.{form}", {name: pa.array([1]) for name in names})) == sum(
        name not in wanted for name in names
    )


@pytest.mark.slow
@given(
    st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=8, unique=True),
    st.sampled_from(["sav", "dta"]),
)
def test_new_names_are_apart_and_short(names: list[str], form: Form) -> None:
    short = short_names(names, form)
    assert list(short) == names
    folded = [name if form == "dta" else name.upper() for name in short.values()]
    assert len(set(folded)) == len(names)
    assert all(len(name.encode()) <= {"sav": 64, "dta": 32}[form] for name in short.values())


def test_labels_of_words_on_a_column_of_numbers_are_said(tmp_path: Path) -> None:
    about = ColumnLabels("", (("1", "One"), ("x", "None")))
    notes = write_sav(tmp_path / "a.sav", {"n": pa.array([1])}, {"n": about})
    assert len(notes) == 1 and notes[0].startswith("'n':")


@pytest.mark.parametrize(("name", "write"), WRITERS)
def test_a_folder_that_is_not_there(tmp_path: Path, name: str, write: Writer) -> None:
    with pytest.raises(EngineError, match="its folder does not exist"):
        write(tmp_path / "no" / name, {"n": pa.array([1])})


def test_what_the_library_refuses_leaves_no_file_and_names_no_folder(tmp_path: Path) -> None:
    from pyreadstat import PyreadstatError

    from engine.data.io import labelled_writers

    def refuse(frame: object, path: str, **options: object) -> None:
        raise PyreadstatError(f"cannot write {path}")

    with pytest.raises(EngineError, match=r"file 'a\.sav' could not be written: a name or value") as error:
        labelled_writers._write(tmp_path / "b.part", "a.sav", refuse, None)
    assert tmp_path.name not in str(error.value)
    assert not (tmp_path / "a.sav").exists()


TEXTS = load_scripts("release.csv", COLUMNS, LABELS)


def test_there_is_one_for_each_package() -> None:
    assert [*TEXTS] == ["load.R", "load.sas", "load.do", "load.sps"]


@pytest.mark.parametrize(
    ("file", "lines"),
    [
        (
            "load.R",
            [
                'attr(data[["work"]], "labels") <- c("Yes" = 1, "No" = 2, "Valid skip" = -1, "Refused, said no" = -9)',
                'attr(data[["work"]], "na_values") <- c(-9, -1)',
                'attr(data[["income"]], "na_range") <- c(-99, -90)',
                'attr(data[["region"]], "na_values") <- c("X")',
            ],
        ),
        (
            "load.sas",
            [
                "  value f2_",
                "    -9 = 'Refused, said no'",
                "    'N' = 'North'",
                "  format region $f4_.;",
                "  length region $10;",
                "  /* income: missing codes -1, -99 to -90 */",
            ],
        ),
        (
            "load.do",
            [
                'label variable sex `"Sex of the person"\'',
                "label values work l2_",
                "* work: missing codes -9, -1",
                "* income: missing codes -1, -99 to -90",
                "* region: missing codes X",
                "* region: Stata cannot label some of its values; the codebook lists them",
            ],
        ),
        (
            "load.sps",
            [
                "MISSING VALUES work (-9, -1).",
                "MISSING VALUES income (-99 THRU -90, -1).",
                "MISSING VALUES region ('X').",
                "  -99 'Don''t know'",
                "VARIABLE LEVEL sex (NOMINAL).",
                "  region A10",
            ],
        ),
    ],
)
def test_labels_and_missing_codes_are_in_every_script(file: str, lines: list[str]) -> None:
    for line in lines:
        assert line in TEXTS[file].splitlines()


def test_labels_cannot_break_out_of_their_quotes() -> None:
    bad = ColumnLabels("a\"'`\n*/ $x; .", (("1", 'it\'s "x"\\'),))
    texts = load_scripts("r.csv", {"v": pa.array([1])}, {"v": bad})
    assert "  label v = 'a\"''` */ $x; .';" in texts["load.sas"].splitlines()
    assert "label variable v `\"a\" '' */ \\$x; .\"'" in texts["load.do"].splitlines()
    assert '"it\'s \\"x\\"\\\\" = 1' in texts["load.R"]


def test_missing_codes_cannot_break_out_of_their_comments() -> None:
    about = ColumnLabels(missing=("x /* */ ///",))
    texts = load_scripts("r.csv", {"v": pa.array(["x /* */ ///"])}, {"v": about})
    assert "* v: missing codes x / * */ / / /" in texts["load.do"].splitlines()
    assert "  /* v: missing codes x /* * / /// */" in texts["load.sas"].splitlines()


@pytest.mark.parametrize("file", [*TEXTS])
def test_no_program_holds_a_sign_that_steers(file: str) -> None:
    steering = "a\x1b[2J\u202eb\x9b"
    about = ColumnLabels(steering, (("1", steering), (steering, "x")), (steering,))
    columns = {"v": pa.array([1]), "w": pa.array([steering])}
    text = load_scripts("r.csv", columns, {"v": about, "w": about})[file]
    assert printable(text) == text and "u202e" in text


@pytest.mark.parametrize(("values", "kind"), [(["1", "1.0", "2"], "character"), (["1.0", "2"], "numeric")])
def test_texts_that_are_one_number_are_read_as_texts(values: list[str], kind: str) -> None:
    assert f'c("x" = "{kind}")' in load_scripts("release.csv", {"x": pa.array(values)})["load.R"]
