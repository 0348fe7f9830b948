"""Convert pandas DataFrames to dictionary-coded columns, and columns back to DataFrames."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.common.raw_values import smallest, texts
from engine.common.wording import is_blank, plural, quoted
from engine.data.io.checks import names_in_file, told_apart
from engine.data.microdata import RawColumn, RawTable

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_HALF = re.compile("[\ud800-\udfff]")
SOURCE = "DataFrame"
"""Source that a study names for records of a DataFrame."""


def table_of_frame(frame: pd.DataFrame, source: str = SOURCE) -> RawTable:
    """Return the records of a DataFrame; its index is left out.

    Values are those that a Parquet file of the frame would hold: categories count by their values, and NaN, None and
    NaT are nulls.  Raises :class:`UsageError` for anything but a DataFrame and for column names that are no texts, and
    :class:`EngineError` for a frame without records or columns and for columns of other than plain values.
    """
    check_frame(frame)
    columns = {name: _written(name, frame[name]) for name in frame.columns}
    return RawTable(columns, len(frame), source)


def check_frame(frame: pd.DataFrame) -> None:
    """Refuse what is no DataFrame, or one without records, columns or distinct names of columns that are texts."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise UsageError(f"the data are of type {type(frame).__name__}, must be a pandas DataFrame")
    names = list(frame.columns)
    if not names:
        raise EngineError("the DataFrame has no columns")
    for i, name in enumerate(names):
        if not isinstance(name, str) or is_blank(name):
            way = "df.columns = df.columns.map(str) makes texts of other names"
            if isinstance(name, str):
                way = f"df = df.set_axis([*df.columns[:{i}], 'column_{i + 1}', *df.columns[{i + 1}:]], axis=1)"
            raise UsageError(
                f"a column of the DataFrame is called {quoted(name)}, must be a text that is not empty and can be "
                f"seen; {way}"
            )
    apart = told_apart(names)
    try:
        names_in_file("the DataFrame", apart, clean=False)
    except EngineError as error:
        clean = list(names_in_file("the DataFrame", apart, clean=True))
        n = next(i for i, (name, free) in enumerate(zip(apart, clean, strict=True)) if name != free)
        way = f"df = df.set_axis([*df.columns[:{n}], {clean[n]!r}, *df.columns[{n + 1}:]], axis=1)"
        raise UsageError(f"{error}: {way}") from None
    if not len(frame):
        raise EngineError("the DataFrame has no records")


def _written(name: str, series: pd.Series) -> RawColumn:
    """A column; :class:`EngineError` for texts with half of a character, of which pandas and Arrow give up anywhere."""
    try:
        return _column(name, series)
    except UnicodeEncodeError:
        halves = [isinstance(value, str) and bool(_HALF.search(value)) for value in np.asarray(series, object)]
        where = (
            f" in {plural(sum(halves), 'record')}, first in record {halves.index(True) + 1:,}," if any(halves) else ""
        )
        raise EngineError(
            f"column '{name}' holds a text with half of a character (a surrogate){where} which no file holds; read the "
            "data again with the encoding that they have, or replace such texts"
        ) from None


def _column(name: str, series: pd.Series) -> RawColumn:
    import pandas as pd
    import pyarrow as pa

    if isinstance(series.dtype, pd.CategoricalDtype):
        return _categorical(name, series)
    values = _arrow(name, series)
    if pa.types.is_null(values.type):
        return RawColumn(name, pa.array([], pa.string()), np.full(len(values), -1, np.int8))
    coded = values.dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return RawColumn(name, coded.dictionary, smallest(codes, len(coded.dictionary)))


def _categorical(name: str, series: pd.Series) -> RawColumn:
    """A categorical by its values, in order of first appearance as everywhere; intervals by their text."""
    import pandas as pd
    import pyarrow as pa

    categories = series.cat.categories
    if isinstance(categories.dtype, pd.IntervalDtype | pd.PeriodDtype):
        categories = categories.astype(str)
    codes = series.cat.codes.to_numpy()
    present, first = np.unique(codes[codes >= 0], return_index=True)
    present = present[np.argsort(first)]
    rank = np.full(len(categories) + 1, -1, np.int64)  # the last one for records without a category
    rank[present] = np.arange(len(present))
    values = _arrow(name, categories.take(present).to_series())
    if pa.types.is_null(values.type):
        values = values.cast(pa.string())
    return RawColumn(name, values, smallest(rank[codes], len(present)))


def _arrow(name: str, series: pd.Series) -> pa.Array:
    """Values as Arrow has them in a file: text of one kind, times to their own precision."""
    import pyarrow as pa

    wanted = "wanted are plain values (numbers, text, truth values, dates)"
    try:
        values = pa.Array.from_pandas(series)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        raise EngineError(
            f"column '{name}' holds values of several types or of a type that no file holds, {wanted}; "
            f"make them texts with df['{name}'].astype(str)"
        ) from None
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    arrow_type = values.type
    if pa.types.is_nested(arrow_type) or isinstance(arrow_type, pa.BaseExtensionType):
        raise EngineError(
            f"column '{name}' has the type {type(arrow_type).__name__}, {wanted}; flatten or leave it out"
        )
    if pa.types.is_large_string(arrow_type) or pa.types.is_string_view(arrow_type):
        # the text of a CSV file has this kind too, so the same records have the same digest
        return values.cast(pa.string())
    return values


def category_order(series: pd.Series) -> tuple[str, ...]:
    """Return the categories of a categorical that occur, as texts in their order; empty for any other column."""
    import pandas as pd

    if not isinstance(series.dtype, pd.CategoricalDtype):
        return ()
    values = _categorical(str(series.name), series.cat.remove_unused_categories()).values
    order = np.unique(series.cat.codes.to_numpy()[series.notna().to_numpy()], return_index=True)[1]
    written = texts(values)
    by_appearance = np.argsort(np.argsort(order))
    return tuple(written[k] for k in by_appearance.tolist())


def frame_of_table(table: RawTable) -> pd.DataFrame:
    """Return all columns of a file as a DataFrame, the values as the file holds them: those of a CSV file are texts.

    A column that pandas would hold as another type (whole numbers with missing ones as floating-point numbers) keeps
    Arrow's type, so that the DataFrame stands for the same data as the file.
    """
    import pandas as pd

    return pd.DataFrame({name: _series(column) for name, column in table.columns.items()})


def _series(column: RawColumn) -> pd.Series:
    import pandas as pd
    import pyarrow as pa

    mask = column.codes < 0
    taken = column.values.take(pa.array(column.codes.astype(np.int32), mask=mask))
    distinct = pa.concat_arrays([column.values, pa.nulls(int(mask.any()), column.values.type)])
    if pa.types.is_large_string(distinct.type) or _arrow(column.name, distinct.to_pandas()).equals(distinct):
        series: pd.Series = taken.to_pandas()
        return series
    return pd.Series(taken, dtype=pd.ArrowDtype(taken.type))
