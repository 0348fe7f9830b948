"""Write scenarios as rows.

The database cuts the rows out of a few long texts: Python objects for each row would take longer than storing it, and
would keep other threads from working meanwhile.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from zlib import crc32

import numpy as np

from engine.release.ids import LONGEST_ID
from engine.release.release_specs import ReleaseSpecs
from engine.release.scenarios import params_text

_CHUNK = 50_000  # rows written by one statement
_BYTES = 2**24  # of the roles in them
_DIGITS = 10  # of a check sum
_ZERO, _SPACE = b"0 "


def insert_scenarios(db: sqlite3.Connection, start: int, labels: np.ndarray, specs: ReleaseSpecs, sums: bool) -> None:
    """Add rows to the table from an index on, with their check sums where a study has them, in a transaction of the
    caller's; labels are texts of dtype S."""
    n_at_once = max(1, min(_CHUNK, _BYTES // max(1, len(specs.specs.names))))
    for part in specs.parts(n_at_once):
        own, labels = labels[: len(part)], labels[len(part) :]
        columns = [_cut(_characters(own)), *_procedures(part)]
        columns.insert(-1, _cut(part.specs.roles[part.spec_codes]))
        if sums:
            expression, text = _cut(_digits(_sums(start, own, part), _DIGITS))
            columns.append((f"cast({expression} as integer)", text))
        db.execute(
            "insert into scenario with recursive place(i) as (select 0 union all select i + 1 from place where i < ?)"
            f" select {start} + i, {', '.join(expression for expression, _ in columns)} from place",
            (len(part) - 1, *(value for _, value in columns)),
        )
        start += len(part)


def _cut(characters: np.ndarray) -> tuple[str, bytes]:
    """The SQL expression for the i-th of many texts, and all texts in one, which the expression takes as its value.
    The texts are rows of bytes that zeros fill up; none ends with a space."""
    width = characters.shape[1]
    expression = f"cast(substr(?, i * {width} + 1, {width}) as text)"
    if width and not characters[:, -1].all():
        expression, characters = f"rtrim({expression})", np.where(characters == 0, np.uint8(_SPACE), characters)
    return expression, characters.tobytes()


def _procedures(part: ReleaseSpecs) -> list[tuple[str, str | bytes]]:
    """Expression and value of mechanism, rate, rule and parameters."""
    fields = [(one.mechanism, one.rate, one.rule, params_text(one.params)) for one in part.procedures]
    return [_of_procedures(texts, part.procedure_codes) for texts in zip(*fields, strict=True)]


def _of_procedures(texts: Sequence[str], codes: np.ndarray) -> tuple[str, str | bytes]:
    """Expression and value of one of them: the text itself where all have the same."""
    if len(set(texts)) == 1:
        return "?", texts[0]
    return _cut(_characters(np.array([text.encode() for text in texts])[codes]))


def _characters(texts: np.ndarray) -> np.ndarray:
    """Texts of dtype S as rows of bytes, which zeros fill up."""
    return np.ascontiguousarray(texts).view(np.uint8).reshape(len(texts), texts.dtype.itemsize)


def _digits(numbers: np.ndarray, n_digits: int) -> np.ndarray:
    """So many decimal digits of each number as rows of bytes."""
    digits = np.empty((n_digits, len(numbers)), np.uint8)
    for place in range(n_digits - 1, -1, -1):  # NumPy divides by one number many times as fast as by several
        tenth = numbers // 10
        digits[place] = numbers - 10 * tenth + _ZERO
        numbers = tenth
    return np.ascontiguousarray(digits.T)


def _sums(start: int, labels: np.ndarray, part: ReleaseSpecs) -> np.ndarray:
    """The check sum of each row (:func:`engine.common.stored_values.sum_of`): rows of one procedure whose indices and
    ids are equally long are rows of one matrix."""
    indices, ids = np.arange(start, start + len(part)), _characters(labels)
    roles = part.specs.roles[part.spec_codes]
    lengths = (ids != 0).sum(axis=1)
    n_digits = np.searchsorted(10 ** np.arange(1, 19, dtype=np.int64), indices, side="right") + 1
    layout = (n_digits * (LONGEST_ID + 1) + lengths) * len(part.procedures) + part.procedure_codes
    order = np.argsort(layout, kind="stable")
    sums = np.empty(len(part), np.int64)
    for rows in np.split(order, np.flatnonzero(np.diff(layout[order])) + 1):
        first = rows[0]
        one = part.procedures[part.procedure_codes[first]]
        pieces = [
            _digits(indices[rows], int(n_digits[first])),
            _constant("\0", rows),
            ids[rows, : lengths[first]],
            _constant(f"\0{one.mechanism}\0{one.rate}\0{one.rule}\0", rows),
            roles[rows],
            _constant(f"\0{params_text(one.params)}", rows),
        ]
        text = np.concatenate(pieces, axis=1)
        sums[rows] = list(map(crc32, text.view(f"V{text.shape[1]}").ravel().tolist()))
    return sums


def _constant(text: str, rows: np.ndarray) -> np.ndarray:
    """The same text for every row."""
    characters = np.frombuffer(text.encode(), np.uint8)
    return np.broadcast_to(characters, (len(rows), len(characters)))
