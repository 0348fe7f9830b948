"""Join the chunks of a file into columns, and check the names of columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import EngineError, Remedy
from engine.common.raw_values import index_codes, smallest
from engine.common.wording import (
    first_twice,
    has_hidden_signs,
    is_blank,
    with_hidden_signs_written,
    without_hidden_signs,
)
from engine.data.microdata import RawColumn

if TYPE_CHECKING:
    import pyarrow as pa


def join_chunks(name: str, chunks: list[tuple[pa.Array, np.ndarray]]) -> RawColumn:
    """One column from its chunks, each with its own dictionary; values end up in order of first appearance."""
    import pyarrow as pa

    if len(chunks) == 1:  # a reader codes the values of a chunk in this order; Arrow's functions take long to load
        return RawColumn(name, chunks[0][0], chunks[0][1])
    dictionaries = [values for values, _ in chunks]
    if sum(values.nbytes for values in dictionaries) > 2**30:
        # 32-bit offsets end at 2 GiB of text.
        dictionaries = [values.cast(pa.large_string()) for values in dictionaries]
    coded = pa.concat_arrays(dictionaries or [pa.array([], pa.string())]).dictionary_encode()
    global_codes = smallest(index_codes(coded.indices), len(coded.dictionary))
    codes = np.empty(sum(len(local) for _, local in chunks), dtype=global_codes.dtype)
    start = offset = 0
    for values, local in chunks:
        target = codes[start : start + len(local)]
        if len(values):
            np.take(global_codes[offset : offset + len(values)], local, out=target, mode="clip")
        target[local < 0] = -1
        start += len(local)
        offset += len(values)
    return RawColumn(name, coded.dictionary, codes)


def check_names(file: str, names: Sequence[str]) -> None:
    """Refuse a column name that is repeated."""
    repeated = first_twice(list(names))
    if repeated is None:
        return
    if is_blank(repeated):
        raise EngineError(
            f"file '{file}': columns {names.index(repeated) + 1} and more of {len(names)} have no name; name every "
            "column in the header line"
        )
    raise EngineError(f"file '{file}' has two columns called '{repeated}'; give each column a name of its own")


def names_in_file(source: str, names: Sequence[str], clean: bool) -> dict[str, str]:
    """The names under which columns are read, each with its name in the file.

    A name is empty or holds a control sign, a sign of format (one that turns the direction of writing, a soft hyphen),
    a letter without ink, a line separator of Unicode or half a surrogate pair: codebooks cannot hold it, or programs
    and pages show another name than it is.  Such a name is replaced by one without such signs where ``clean``, else
    refused (:class:`EngineError`) with that name.
    """
    found: dict[str, str] = {}
    taken = set(names)
    for number, name in enumerate(names, 1):
        free, blank = name, is_blank(name)
        if blank or has_hidden_signs(name):
            plain = without_hidden_signs(name).strip()
            free = _apart(f"column_{number}" if is_blank(plain) else plain, taken)
            taken.add(free)
        if free != name and not clean:
            said = (
                f"column {number} of {len(names)} has no name; name every column in the header line"
                if blank
                else f"the name of column {number} of {len(names)}, '{with_hidden_signs_written(name)}', holds a sign "
                "that cannot be seen and that a codebook cannot hold or a page cannot show (a control sign, a mark of "
                "the direction of writing, a sign of format or an empty letter); rename the column"
            )
            raise EngineError(f"{source}: {said}, for example '{free}'", Remedy.CLEAN_NAMES)
        found[free] = name
    return found


def _apart(name: str, taken: Collection[str]) -> str:
    """``name``, with a number at its end where one is called so."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free
