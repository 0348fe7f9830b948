"""Load scripts are looked at line by line."""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine.common.wording import printable
from engine.data.io.labelled_writers import load_scripts
from engine.data.microdata import ColumnLabels
from tests.engine.data.io.labelled import COLUMNS, LABELS

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
