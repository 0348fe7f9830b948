"""Join the chunks of a file into columns, and check the names of columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import EngineError
from engine.common.printable import has_hidden_signs, is_blank, with_hidden_signs_written, without_hidden_signs
from engine.common.raw_values import index_codes, smallest
from engine.common.wording import first_twice
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


def check_names(file: str, names: list[str]) -> None:
    """Refuse a column name that is empty, repeated or that no format holds (:func:`refuse_steering`)."""
    for number, name in enumerate(names, 1):
        if is_blank(name):
            raise EngineError(
                f"file '{file}': column {number} of {len(names)} has no name; name every column in the header line"
            )
    refuse_steering(f"file '{file}'", names)
    repeated = first_twice(names)
    if repeated is not None:
        raise EngineError(f"file '{file}' has two columns called '{repeated}'; give each column a name of its own")


def refuse_steering(source: str, names: Sequence[str], kind: type[EngineError] = EngineError) -> None:
    """Refuse a column name with a control sign, a sign of format (one that turns the direction of writing, a soft
    hyphen), a letter without ink, a line separator of Unicode or half a surrogate pair: codebooks cannot hold it, or
    programs and pages show another name than it is.

    The sentence, of an error of this ``kind``, offers the name without such signs.
    """
    for number, name in enumerate(names, 1):
        if not has_hidden_signs(name):
            continue
        plain = without_hidden_signs(name).strip()
        free = _apart(plain, names) if not is_blank(plain) else f"column_{number}"
        raise kind(
            f"{source}: the name of column {number} of {len(names)}, '{with_hidden_signs_written(name)}', holds a sign "
            "that cannot be seen and that a codebook cannot hold or a page cannot show (a control sign, a mark of the "
            f"direction of writing, a sign of format or an empty letter); rename the column, for example to '{free}'"
        )


def _apart(name: str, others: Collection[str]) -> str:
    """``name``, with a number at its end where one of the ``others`` is called so."""
    taken, number = set(others), 2
    free = name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free
