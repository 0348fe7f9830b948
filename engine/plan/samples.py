"""Data by the name of a sample or by path; large files are read by streaming.

``czech`` and ``nces`` ship as counts of cells, ``fair`` is read from the statsmodels package, ``survey`` and
``census`` are drawn anew each time from a fixed seed, and ``cps8d`` is made from the UCI Adult file by :func:`add` and
kept in the user's own folder.  Provenance: ``datasets/README.md``.
"""

from __future__ import annotations

import importlib.util
import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.common import os_support as resources
from engine.common.errors import EngineError, Remedy, UsageError, did_you_mean
from engine.common.os_support import arrow_file, expanded
from engine.common.raw_values import texts
from engine.data.io import writers
from engine.data.io.readers import EXTENSIONS, read_table
from engine.data.io.stream import STREAMED, RecordStream, open_stream, read_folder
from engine.data.microdata import ColumnLabels, RawColumn, RawTable
from engine.plan import Plan, read_plan
from engine.plan.coding import with_seen


@dataclass(frozen=True)
class Sample:
    """One sample: ``about`` says what it is, ``synthetic`` that no record is a real one, ``bundled`` that it comes with
    the program, ``here`` whether it can be loaded now."""

    name: str
    n_records: int
    n_attributes: int
    about: str
    synthetic: bool
    bundled: bool
    here: bool

    @property
    def summary(self) -> str:
        """One line about the sample, with what to bear in mind."""
        return f"{'SYNTHETIC ' * self.synthetic}{self.about}{'; to be added first' * (not self.bundled)}"


def names() -> tuple[str, ...]:
    """Names of all samples."""
    return tuple(_SAMPLES)


def describe() -> tuple[Sample, ...]:
    """All samples with one line about each."""
    return tuple(
        Sample(name, n, d, about, synthetic, name != "cps8d", name != "cps8d" or _own_file(name).exists())
        for name, (n, d, about, synthetic, _) in _SAMPLES.items()
    )


def load(name: str) -> tuple[RawTable, Plan]:
    """Records and plan of a sample; an unknown name is a :class:`UsageError`."""
    if name not in _SAMPLES:
        raise UsageError(f"unknown sample '{name}'.{did_you_mean(name, names())}")
    table = _SAMPLES[name][-1]()
    plan = read_plan(resources.datasets_folder() / f"{name}.toml")
    return replace(table, source=name), replace(plan, data=with_seen(plan.data, table.names))


def open_data(text: str, clean_names: bool = False) -> tuple[RawTable, Plan | None]:
    """Records of a sample by its name, with its plan, or of a file by its path, without one."""
    if text in _SAMPLES:
        return load(text)
    path = expanded(text)
    if path.suffix.lower() in EXTENSIONS or path.exists():
        return read_table(path, clean_names), None
    raise UsageError(
        f"'{path.name}' is neither a sample nor a file.{did_you_mean(text, names())} "
        f"Files end in {', '.join(EXTENSIONS[:-1])} or {EXTENSIONS[-1]}"
    )


def add(name: str, from_files: str | Path | Sequence[str | Path] | None = None) -> int:
    """Make the sample ``name`` from its publisher's files, or from a download; returns its number of records.

    Only ``cps8d`` needs this.  What is made stays in the user's own folder.
    """
    if name not in _SAMPLES:
        raise UsageError(f"unknown sample '{name}'.{did_you_mean(name, names())}")
    if name != "cps8d":
        raise UsageError(f"the sample '{name}' needs no adding; it is there already")
    if isinstance(from_files, str | Path):
        from_files = [from_files]
    made = runpy.run_path(str(resources.datasets_folder() / "make_cps8d.py"))
    if from_files is None or not list(from_files):
        rows = made["read_bytes"](made["download"]())
    else:
        rows = made["read_files"]([expanded(file) for file in from_files])
    resources.user_folder()
    n_records: int = made["store"](rows, _own_file(name))
    return n_records


def write(name: str, to: str | Path) -> tuple[str, ...]:
    """Write the records of a sample, with its labels where the format has such: .csv, .parquet, .sav or .dta.

    Returns notes on what the format could not hold; an existing file is not overwritten.
    """
    import pyarrow as pa

    from engine.data.io import labelled_writers

    path = expanded(to)
    labelled = {".sav": labelled_writers.write_sav, ".dta": labelled_writers.write_dta}
    plain = {".csv": writers.write_csv, ".parquet": writers.write_parquet}
    form = path.suffix.lower()
    if form not in labelled and form not in plain:
        raise UsageError(f"file '{path.name}' must end in {', '.join((*plain, *labelled))}")
    if path.exists():
        raise UsageError(f"file '{path.name}' is there already; give another name")
    table = load(name)[0]
    columns = {c.name: c.values.take(pa.array(c.codes, mask=c.codes < 0)) for c in table.columns.values()}
    if form in plain:
        plain[form](path, columns)
        return ()
    return labelled[form](path, columns, {c.name: c.about for c in table.columns.values()})


def _own_file(name: str) -> Path:
    return resources.user_folder_place() / "datasets" / f"{name}.csv"


_LABELS = {
    "A": "Smokes",
    "B": "Strenuous mental work",
    "C": "Strenuous physical work",
    "D": "Systolic blood pressure",
    "E": "Ratio of beta and alpha lipoproteins",
    "F": "Family history of coronary heart disease",
    "rate_marriage": "Rating of the marriage, 1 very poor to 5 very good",
    "yrs_married": "Years married",
    "religious": "How religious, 1 not to 4 strongly",
    "educ": "Years of schooling",
    "occupation": "Occupation of the wife",
    "affairs": "Any time spent in affairs",
}
"""Labels of the columns of czech, whose names are letters, and of fair."""


def _expand(name: str) -> RawTable:
    """Records from a file of cells with a last column ``count``, in the order of the cells."""
    cells = read_table(resources.datasets_folder() / f"{name}.csv")
    count = cells.columns["count"]
    times = np.array([int(text) for text in texts(count.values)])[count.codes]
    columns = {
        column.name: RawColumn(
            column.name, column.values, np.repeat(column.codes, times), about=ColumnLabels(_LABELS.get(column.name, ""))
        )
        for column in cells.columns.values()
        if column is not count
    }
    return RawTable(columns, int(times.sum()), name)


def _fair() -> RawTable:
    # Found without importing statsmodels, whose import takes longer than everything else here.
    spec = importlib.util.find_spec("statsmodels")
    path = Path(spec.origin).parent / "datasets" / "fair" / "fair.csv" if spec and spec.origin else None
    if path is None or not path.exists():
        raise EngineError(
            "the sample 'fair' is read from the package statsmodels, which is not installed; install statsmodels"
        )
    raw = read_table(path)
    labelled = {c.name: replace(c, about=ColumnLabels(_LABELS.get(c.name, ""))) for c in raw.columns.values()}
    return replace(raw, columns=labelled)


def _cps8d() -> RawTable:
    path = _own_file("cps8d")
    if not path.exists():
        raise EngineError("the sample 'cps8d' is not there yet; make it from the UCI Adult file", Remedy.ADD_SAMPLE)
    return read_table(path)


@cache
def _drawn(generator: Path, name: str) -> Any:
    """The result of a sample's generator, which lies beside the samples' plans and makes the same every time."""
    return runpy.run_path(str(generator))[name]()


_SAMPLES: dict[str, tuple[int, int, str, bool, Callable[[], RawTable]]] = {
    "czech": (
        1_841,
        6,
        "Czech auto workers: six risk factors (Edwards and Havranek 1985); dense",
        False,
        lambda: _expand("czech"),
    ),
    "fair": (6_366, 8, "Fair's survey of affairs (1978), coarsened; sparse", False, _fair),
    "nces": (
        5_000,
        8,
        "school administrators with the attributes of an NCES extract",
        True,
        lambda: _expand("nces"),
    ),
    "cps8d": (
        48_842,
        8,
        "CPS-8D: UCI Adult (Current Population Survey 1994), recoded",
        False,
        _cps8d,
    ),
    "survey": (
        12_000,
        8,
        "household survey of 300 labelled columns: recodes, skips, weights, ids",
        True,
        lambda: _drawn(resources.datasets_folder() / "make_survey.py", "survey")[0],
    ),
    "census": (
        20_000,
        13,
        "census of households in four regions: whole households exchange their places",
        True,
        lambda: _drawn(resources.datasets_folder() / "make_census.py", "census"),
    ),
}


MOST_RECORDS = 20_000_000
"""Records of a Parquet file, or of a folder of such files, beyond which they are read by streaming."""
MOST_VALUES = 1_000_000_000
"""Their values, and the bytes of a CSV file or of a folder of such files, beyond which they are."""


def open_source(
    text: str, stream: bool | None = None, clean_names: bool = False
) -> tuple[RawTable | RecordStream, Plan | None]:
    """Records of a sample by its name, with its plan, or of a file or a folder by its path, without one.

    ``stream`` says whether to read by streaming, None that large ones are (:data:`MOST_RECORDS`,
    :data:`MOST_VALUES`); ``clean_names`` replaces names of columns that no format holds.  What cannot be read so is a
    :class:`UsageError`.
    """
    if text in names() or not (path := expanded(text)).exists():
        if stream:
            raise UsageError(f"'{text}' is no file or folder, so it cannot be read by streaming")
        return open_data(text, clean_names)
    if path.is_dir():
        source = open_stream(path, clean_names)
        return (source if stream or (stream is None and _is_large_source(source)) else read_folder(source)), None
    if stream and path.suffix.lower() not in STREAMED:
        raise UsageError(f"file '{path.name}' cannot be read by streaming; export it as {STREAMED[0]} or {STREAMED[2]}")
    if stream or (stream is None and is_large(path)):
        return open_stream(path, clean_names), None
    return open_data(text, clean_names)


def open_records(text: str, clean_names: bool = False) -> tuple[RawTable, Plan | None]:
    """The same, all records in memory whatever their number."""
    source, plan = open_source(text, False, clean_names)
    assert isinstance(source, RawTable)
    return source, plan


def _is_large_source(source: RecordStream) -> bool:
    n_records, n_columns = source.n_records, len(source.names)
    if n_records is None:
        return source.n_bytes > MOST_VALUES
    return n_records > MOST_RECORDS or n_records * n_columns > MOST_VALUES


def is_large(path: Path) -> bool:
    """Return whether a file holds so much that it is read by streaming unless somebody says otherwise."""
    if path.suffix.lower() not in STREAMED:
        return False
    size = path.stat().st_size
    if path.suffix.lower() != ".parquet":
        return size > MOST_VALUES
    if size < MOST_RECORDS // 1000:  # a thousand records take more than a byte
        return False
    from pyarrow import parquet

    from engine.data.io.checks import parquet_errors

    with parquet_errors(path), arrow_file(path) as source, parquet.ParquetFile(source) as file:
        n_records, n_columns = file.metadata.num_rows, file.metadata.num_columns
    return bool(n_records > MOST_RECORDS or n_records * n_columns > MOST_VALUES)
