"""Load scripts: the Python one is run, the others are looked at line by line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from engine.common.errors import UsageError
from engine.common.printable import printable
from engine.data.io.scripts import SCRIPTS, load_script, load_scripts
from engine.data.io.writers import write_csv
from engine.data.labels import ColumnLabels
from tests.engine.data.io.labelled import COLUMNS, LABELS

TEXTS = load_scripts("release.csv", COLUMNS, LABELS)


def test_there_is_one_for_each_package_and_the_same_twice() -> None:
    assert sorted(TEXTS) == sorted(SCRIPTS.values())
    assert load_scripts("release.csv", COLUMNS, LABELS) == TEXTS
    with pytest.raises(UsageError, match="unknown package 'Excel'"):
        load_script("Excel", "a.csv", [])


@pytest.mark.slow
def test_the_python_script_reads_the_file(tmp_path: Path) -> None:
    columns = {**COLUMNS, "code": pa.array(["007", "1", "2", "3", "NA"])}
    write_csv(tmp_path / "release.csv", columns)
    text = load_scripts("release.csv", columns, LABELS)["load.py"]
    check = (
        "assert data['sex'].isna().sum() == 1 and data['sex'].sum() == 6\n"
        "assert list(data['code']) == ['007', '1', '2', '3', 'NA']\n"
        "assert data['region'][3] == '' and VALUE_LABELS['work'][-9] == 'Refused, said no'\n"
        "assert MISSING['work'] == [-9, -1] and MISSING_RANGES['income'] == [(-99.0, -90.0)]\n"
        "assert LABELS['sex'] == 'Sex of the person'\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", text + check], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


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
                "    region $10",
            ],
        ),
        (
            "load.do",
            [
                'label variable sex `"Sex of the person"\'',
                "label values work work_l",
                "* missing codes; to make them missing: mvdecode work, mv(-9=.a \\ -1=.b)",
                "* missing codes; to make them missing: mvdecode income, mv(-1=.a \\ -99=.b)",
                "* missing codes of region: X",
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


def test_stata_is_told_of_the_codes_of_a_range_that_occur() -> None:
    def said(values: list[float], *, missing: tuple[str, ...] = (), upper: float = -90.0) -> str:
        labels = ColumnLabels(missing=missing, missing_ranges=((-99.0, upper),))
        return load_scripts("r.csv", {"v": pa.array(values)}, {"v": labels})["load.do"].splitlines()[-1]

    begin = "* missing codes; to make them missing: "
    assert said([-95, 3, -99, -95, -89]) == begin + "mvdecode v, mv(-99=.a \\ -95=.b)"
    assert said([1.0, 2.0]) == "* missing codes of v, of which none occurs: -99 to -90"
    many = said([-99 + i for i in range(40)], missing=("-1",), upper=-60)
    assert many == begin + "replace v = . if inrange(v, -99, -60) | v == -1"


def test_labels_cannot_break_out_of_their_quotes() -> None:
    bad = ColumnLabels("a\"'`\n*/ $x; .", (("1", 'it\'s "x"\\'),))
    texts = load_scripts("r.csv", {"v": pa.array([1])}, {"v": bad})
    assert "  label v = 'a\"''` */ $x; .';" in texts["load.sas"].splitlines()
    assert "label variable v `\"a\" '' */ \\$x; .\"'" in texts["load.do"].splitlines()
    assert '"it\'s \\"x\\"\\\\" = 1' in texts["load.R"]
    compile(texts["load.py"], "load.py", "exec")


@pytest.mark.parametrize("file", [*SCRIPTS.values()])
def test_no_program_holds_a_sign_that_steers(file: str) -> None:
    steering = "a\x1b[2J\u202eb\x9b"
    about = ColumnLabels(steering, (("1", steering), (steering, "x")), (steering,))
    columns = {"v": pa.array([1]), "w": pa.array([steering])}
    text = load_scripts("r.csv", columns, {"v": about, "w": about})[file]
    assert printable(text) == text and "u202e" in text
