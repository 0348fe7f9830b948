"""Codes of a file that is read in blocks become one column; names of columns are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import EngineError
from engine.common.raw_values import index_codes, smallest
from engine.common.wording import first_twice
from engine.data.microdata import RawColumn

if TYPE_CHECKING:
    import pyarrow as pa


def join(name: str, blocks: list[tuple[pa.Array, np.ndarray]]) -> RawColumn:
    """One column from its blocks, each with its own dictionary; values end up in order of first appearance."""
    import pyarrow as pa

    dictionaries = [values for values, _ in blocks]
    if sum(values.nbytes for values in dictionaries) > 2**30:
        # 32-bit offsets end at 2 GiB of text.
        dictionaries = [values.cast(pa.large_string()) for values in dictionaries]
    coded = pa.concat_arrays(dictionaries or [pa.array([], pa.string())]).dictionary_encode()
    global_codes = smallest(index_codes(coded.indices), len(coded.dictionary))
    codes = np.empty(sum(len(local) for _, local in blocks), dtype=global_codes.dtype)
    start = offset = 0
    for values, local in blocks:
        here = codes[start : start + len(local)]
        if len(values):
            np.take(global_codes[offset : offset + len(values)], local, out=here, mode="clip")
        here[local < 0] = -1
        start += len(local)
        offset += len(values)
    return RawColumn(name, coded.dictionary, codes)


def check_names(file: str, names: list[str]) -> None:
    """Refuse a column name that is empty, repeated or holds a zero byte."""
    for place, name in enumerate(names, 1):
        if not name.strip():
            raise EngineError(
                f"file '{file}': column {place} of {len(names)} has no name; name every column in the header line"
            )
        if "\0" in name:
            raise EngineError(f"file '{file}': the name of column {place} of {len(names)} holds a zero byte; rename it")
    twice = first_twice(names)
    if twice is not None:
        raise EngineError(f"file '{file}' has two columns called '{twice}'; give each column a name of its own")
