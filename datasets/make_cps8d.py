"""The UCI Adult file (Becker and Kohavi 1996, doi 10.24432/C5XW20) recoded to CPS-8D.

CPS-8D is Table 1 of Gomatam, Karr and Sanil (2005).  The recode gives exactly the paper's 1,695 non-zero cells; it is a
post-hoc choice (see ``datasets/README.md``).
"""

from __future__ import annotations

import csv
import hashlib
import io
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.os_support import aside, writing
from engine.common.untrusted import kind_of

HEADER = ("Age", "EmpTyp", "Edu", "MS", "Race", "Sex", "AvgHrs", "AnnSal")
URL = "https://archive.ics.uci.edu/static/public/2/adult.zip"
_HINT = "the sample is made from adult.data and adult.test, or from one file of both"
_TIMEOUT = 30.0
_MOST_BYTES = 64 << 20

# Places in the publisher's files, and the names that joined copies give the columns (compared by letters only).
_COLUMNS = {
    "age": (0, ("age",)),
    "workclass": (1, ("workclass",)),
    "education": (3, ("education",)),
    "marital": (5, ("maritalstatus", "marital")),
    "race": (8, ("race",)),
    "sex": (9, ("sex", "gender")),
    "hours": (12, ("hoursperweek", "hours")),
    "income": (14, ("income", "class", "salary", "target")),
}
_EMPLOYMENT = {
    "Federal-gov": "Govt.",
    "State-gov": "Govt.",
    "Local-gov": "Govt.",
    "Private": "Priv.",
    "Self-emp-inc": "Self-Emp.",
    "Self-emp-not-inc": "Self-Emp.",
    "?": "Other",
    "": "Other",
    "nan": "Other",
    "Without-pay": "Other",
    "Never-worked": "Other",
}
_EDUCATION = {
    **dict.fromkeys(("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th"), "<HS"),
    "HS-grad": "HS",
    "Some-college": "Coll",
    **dict.fromkeys(("Bachelors", "Assoc-voc", "Assoc-acdm"), "Bach"),
    **dict.fromkeys(("Masters", "Prof-school", "Doctorate"), "Bach+"),
}
_MARRIED = ("Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent")
_SALARY = {"<=50K": "<$50K", ">50K": "$50K+"}

# Records, non-zero cells, cells of one, cells of two; and the SHA-256 of the sorted cells with their counts.
_WANTED = (48_842, 1_695, 361, 186)
_SHA256 = "58ac022ba9ad79440f3c3175217ef4d4528403aaa61d641f3327a46e6cbde7cc"

Row = tuple[str, ...]


def read_files(paths: Sequence[Path]) -> list[Row]:
    """Recoded records of one or several Adult files, in order."""
    rows: list[Row] = []
    for path in paths:
        try:
            _refuse_other(path)
            text = path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            raise UsageError(f"file '{path.name}' does not exist; check the spelling and the folder") from None
        except UnicodeDecodeError:
            raise EngineError(f"file '{path.name}' is not text; {_HINT}", Remedy.ADD_SAMPLE) from None
        except OSError as error:
            raise EngineError(
                f"file '{path.name}' could not be read: {error.strerror}; {_HINT}", Remedy.ADD_SAMPLE
            ) from None
        rows += recode(text, path.name)
    return rows


def _refuse_other(path: Path) -> None:
    """Refuse a pipe or a device, which may have no end, and what is far larger than the Adult file."""
    if kind := kind_of(path, follow=True):
        raise UsageError(f"'{path.name}' is {kind}; {_HINT}", Remedy.ADD_SAMPLE)
    if path.stat().st_size > _MOST_BYTES:
        raise UsageError(
            f"file '{path.name}' has more than {_MOST_BYTES >> 20} MB and is not the Adult file; {_HINT}",
            Remedy.ADD_SAMPLE,
        )


def read_bytes(archive: bytes) -> list[Row]:
    """Recoded records of the publisher's zip archive."""
    rows: list[Row] = []
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            for name in ("adult.data", "adult.test"):
                rows += recode(files.read(name).decode("utf-8"), name)
    except (zipfile.BadZipFile, KeyError, UnicodeDecodeError):
        raise EngineError(
            f"the downloaded archive does not hold adult.data and adult.test; {_HINT}", Remedy.ADD_SAMPLE
        ) from None
    return rows


def download(url: str = URL, timeout: float = _TIMEOUT) -> bytes:
    """The publisher's archive; a machine without internet gets a sentence, not a traceback."""
    import http.client
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(url, timeout=timeout) as response:
            data = response.read(_MOST_BYTES + 1)
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # it holds the answer
        reason = getattr(error, "reason", None) or type(error).__name__
        raise EngineError(
            f"the UCI archive could not be reached ({reason}); get the file elsewhere: {_HINT}", Remedy.ADD_SAMPLE
        ) from None
    if len(data) > _MOST_BYTES:
        raise EngineError(
            f"the UCI archive sent more than {_MOST_BYTES >> 20} MB, which is not the Adult file; {_HINT}",
            Remedy.ADD_SAMPLE,
        )
    result: bytes = data
    return result


def recode(text: str, file: str) -> list[Row]:
    """Recoded records of one Adult file; tolerates a header, spaces after commas, dots after labels, a comment line."""
    rows: list[Row] = []
    positions = {name: position for name, (position, _) in _COLUMNS.items()}
    width, begun = 15, False
    reader = csv.reader(io.StringIO(text), skipinitialspace=True)
    for fields in _records(reader, file):
        if not fields or fields[0].startswith("|") or fields == [""]:
            continue
        first, begun = not begun, True
        if first and not any(field.strip().isdigit() for field in fields):
            positions, width = _header(fields, file), len(fields)
            continue
        if len(fields) != width:
            raise EngineError(
                f"file '{file}': line {reader.line_num} has {len(fields)} fields, {width} were expected; {_HINT}",
                Remedy.ADD_SAMPLE,
            )
        value = {name: fields[position].strip() for name, position in positions.items()}
        try:
            rows.append(_recoded(value))
        except (KeyError, ValueError):
            raise EngineError(
                f"file '{file}': line {reader.line_num} is no record of the Adult file; {_HINT}",
                Remedy.ADD_SAMPLE,
            ) from None
    return rows


def _records(reader: Iterator[list[str]], file: str) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error:
        raise EngineError(
            f"file '{file}' is no CSV text, so it is not the Adult file; {_HINT}", Remedy.ADD_SAMPLE
        ) from None


def _header(fields: Sequence[str], file: str) -> dict[str, int]:
    letters = ["".join(sign for sign in field.casefold() if sign.isalpha()) for field in fields]
    positions = {}
    for name, (_, headings) in _COLUMNS.items():
        matches = [letters.index(heading) for heading in headings if heading in letters]
        if not matches:
            raise EngineError(
                f"file '{file}' has no column '{headings[0]}', so it is not the Adult file; {_HINT}", Remedy.ADD_SAMPLE
            )
        positions[name] = matches[0]
    return positions


def _recoded(value: dict[str, str]) -> Row:
    age, hours = int(value["age"]), int(value["hours"])
    return (
        "<25" if age < 25 else "25-55" if age < 55 else ">55",
        _EMPLOYMENT[value["workclass"]],
        _EDUCATION[value["education"]],
        "Married" if value["marital"] in _MARRIED else "Other",
        "White" if value["race"] == "White" else "Non-White",
        {"Male": "Male", "Female": "Female"}[value["sex"]],
        "<40" if hours < 40 else "40" if hours == 40 else ">40",
        _SALARY[value["income"].rstrip(".")],
    )


def check(rows: Iterable[Row]) -> None:
    """Refuse records that are not exactly those of CPS-8D, naming what was found."""
    cells = Counter(rows)
    counts = list(cells.values())
    got = (sum(counts), len(cells), counts.count(1), counts.count(2))
    if got != _WANTED:
        template = "{:,} records, {:,} non-zero cells, {:,} ones and {:,} twos"
        present, expected = template.format(*got), template.format(*_WANTED)
        raise EngineError(f"the records are not CPS-8D: found {present}; wanted {expected}; {_HINT}", Remedy.ADD_SAMPLE)
    text = "".join(",".join(cell) + f",{cells[cell]}\n" for cell in sorted(cells))
    if hashlib.sha256(text.encode()).hexdigest() != _SHA256:
        raise EngineError(f"the records have the size of CPS-8D but other contents; {_HINT}", Remedy.ADD_SAMPLE)


def store(rows: Sequence[Row], path: Path) -> int:
    """Check the records and write them to ``path`` (readable by this user alone); returns their number."""
    check(rows)
    with writing(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with aside(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(rows)
    return len(rows)
