"""Data files that are wrong in some way: made from good ones by mutation, or from a grammar of CSV; seeded.

``bad_files(seed)`` yields names and contents without end; a name's ending says what the file pretends to be.  The same
seed gives the same files on the same machine (libraries of another version may write the good files otherwise).
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.data.microdata import ColumnLabels
from tests.hunt import damage

SAS = Path(__file__).parents[1] / "engine" / "data" / "io" / "sas"
FORMS = ("csv", "parquet", "sav", "zsav", "por", "dta", "xpt", "sas7bdat")
_N = 60


def _columns() -> tuple[dict[str, Any], dict[str, ColumnLabels]]:
    import pyarrow as pa

    draw = np.random.default_rng(7)
    columns = {
        "sex": pa.array(draw.integers(1, 3, _N)),
        "age": pa.array(draw.integers(16, 90, _N).astype(float), mask=draw.random(_N) < 0.1),
        "region": pa.array(draw.choice(["N", "S", "Östlich 'x'", ""], _N)),
        "income": pa.array(np.round(draw.normal(2000, 900, _N), 2)),
        "note": pa.array(["a text that is rather long " * int(k) for k in draw.integers(1, 6, _N)]),
    }
    labels = {
        "sex": ColumnLabels("Sex of the person", (("1", "Male"), ("2", "Female")), measure="nominal"),
        "age": ColumnLabels("Age in years", (("99", "no answer"),), ("99",)),
        "region": ColumnLabels("Region"),
    }
    return columns, labels


@cache
def good_file(form: str) -> bytes:
    """A small good file of one of :data:`FORMS`."""
    import pandas as pd
    import pyreadstat

    from engine.data.io import labelled_writers, writers
    from tests.engine.data.io.labelled import write_xpt

    if form == "sas7bdat":
        return (SAS / "people.sas7bdat").read_bytes()
    columns, labels = _columns()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"good.{form}"
        if form == "csv":
            writers.write_csv(path, columns)
        elif form == "parquet":
            writers.write_parquet(path, columns)
        elif form == "xpt":
            write_xpt(path, columns)
        elif form in ("sav", "dta"):
            getattr(labelled_writers, f"write_{form}")(path, columns, labels)
        else:
            frame = pd.DataFrame({name: values.to_pylist() for name, values in columns.items()})
            if form == "por":
                pyreadstat.write_por(frame.drop(columns="region").rename(columns=str.upper), str(path))
            else:
                pyreadstat.write_sav(frame, str(path), compress=True)
        return path.read_bytes()


_NAMES = ("A", "B", 'scr 15"', '"x"', '"', "", " ", "a,b", "\ufeff", "é", "\0", "=1+1", "A", "x" * 300, "\t", "a\nb")
_CELLS = (
    *("1", "", "0", "x", '"', '""', '"a,b"', '"a\nb"', '"open', "\0", "é", "1e999", "-", "NA", "\r", "\x1b[2J", "=cmd"),
)
_ENDS = ("\n", "\r\n", "\r", "\n\r", "", "\n\n", "\x85", "\u2028")
_ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp037")


def written_csv(draw: random.Random) -> bytes:
    """A text that is nearly CSV: odd names, cells, delimiters, line ends and encodings, each with some chance."""
    width, rows = draw.choice((1, 2, 3, 3, 4, 9)), draw.choice((0, 1, 2, 5, 40))
    delimiter, end = draw.choice((",", ",", ";", "\t", "|", " ", "::")), draw.choice(_ENDS[:2])
    odd = draw.choice((0.0, 0.02, 0.2, 0.9))

    def line(known: Sequence[str], plain: str) -> str:
        fields = [draw.choice(known) if draw.random() < odd else f"{plain}{j}" for j in range(width)]
        if draw.random() < odd / 4:
            fields = fields[: draw.randrange(len(fields) + 1)] + draw.choices(fields, k=draw.randrange(3))
        return delimiter.join(fields) + (draw.choice(_ENDS) if draw.random() < odd else end)

    text = line(_NAMES, "c") + "".join(line(_CELLS, "v") for _ in range(rows))
    if draw.random() < 0.2:
        text = text[: draw.randrange(len(text) + 1)]
    return text.encode(draw.choice(_ENCODINGS), errors=draw.choice(("replace", "ignore")))


def bad_files(seed: int, forms: Sequence[str] = FORMS) -> Iterator[tuple[str, bytes]]:
    """Names and contents of bad files without end; a few are good after all."""
    draw = random.Random(seed)
    number = 0
    while True:
        number += 1
        form = draw.choice(forms)
        if form == "csv" and draw.random() < 0.6:
            data = written_csv(draw)
        else:
            data = good_file(form)
            for _ in range(draw.choice((1, 1, 1, 2, 3))):
                data = damage.damaged(draw, data)
            if draw.random() < 0.07:  # and the end of a file of another form
                other = good_file(draw.choice(FORMS))
                data = data[: draw.randrange(len(data) + 1)] + other[draw.randrange(len(other)) :]
        ending = draw.choice(FORMS) if draw.random() < 0.03 else form
        yield f"{seed}-{number}.{ending}", data
