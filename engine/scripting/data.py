"""Data as scripts give them: a DataFrame, the path of a file or a folder, or the name of a sample."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, Union

from engine.data.frames import frame_of_table, table_of_frame
from engine.data.microdata import RawTable
from engine.plan import Plan
from engine.plan.samples import describe, open_records
from engine.scripting.arguments import public

if TYPE_CHECKING:
    import pandas as pd

Data: TypeAlias = Union["pd.DataFrame", str, Path]
"""A DataFrame, the path of a file or of a folder of parts, or the name of a sample."""


def records_of(data: Data, clean_names: bool = False) -> tuple[RawTable, Plan | None]:
    """Return the records, and the plan that a sample brings along."""
    if isinstance(data, str | Path):
        return open_records(str(data), clean_names)
    return table_of_frame(data), None


def frame_of(data: Data) -> pd.DataFrame:
    """Return the records as a DataFrame: the very one that was given, or that of the file."""
    return load(data) if isinstance(data, str | Path) else data


@public()
def load(name_or_path: str | Path, clean_names: bool = False) -> pd.DataFrame:
    """Return the records of a sample or of a file as a DataFrame.

    Parameters: ``name_or_path`` is the name of a sample (:func:`list_samples`) or the path of a CSV, Parquet, SPSS,
    Stata or SAS file, or of a folder of CSV or Parquet files.  Values are those of the file: all values of a CSV file
    are texts.  ``clean_names`` replaces names of columns that no format holds, such as those with hidden signs.

    Errors: :class:`UsageError` for a name that is neither, :class:`EngineError` for a file that cannot be read.

    Example::

        df = sf.load("czech")
    """
    return frame_of_table(records_of(name_or_path, clean_names)[0])


def list_samples() -> pd.DataFrame:
    """Return the samples that :func:`load` knows, one row each: records, attributes, a summary, whether the records are
    synthetic, and whether they are on this machine.

    Example::

        sf.list_samples()
    """
    import pandas as pd

    return pd.DataFrame([asdict(sample) for sample in describe()]).rename(columns={"here": "available"})
