"""Matrices of transition probabilities: reading, checking, and the invariant one.

``A`` is K × K with ``A[k, l]`` the probability to release level ``l`` of a record whose true level is ``k``, so every
row sums to 1 (Gouweleeuw, Kooiman, Willenborg and de Wolf 1998, Journal of Official Statistics 14, 463–478).
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engine.common.errors import UsageError, did_you_mean
from engine.release.parameter import Parameter

_SUM, _NEGATIVE = 1e-9, -1e-12
_NUMBER = Parameter("an entry of the matrix", "decimal", None, "")
FORMS = (
    "0.9 0.1; 0.2 0.8 or [[0.9, 0.1], [0.2, 0.8]] in the order of the levels, "
    '{"attribute": [[...]], ...} or {"attribute": {"levels": [...], "rows": [[...]]}, ...}, '
    "or a file: .json with one of these, or .csv whose first row and first column name the levels"
)


class Given(NamedTuple):
    """A matrix as it was given: ``levels`` in the order of its rows and columns (None: as declared), and its rows."""

    levels: tuple[str, ...] | None
    rows: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Matrices(Parameter):
    """Matrices by attribute, inline or from a file; the canonical text holds what a file says, never where it is."""

    def canonical(self, text: str) -> str:
        """JSON of levels and rows by attribute ("" for the only one), numbers as canonical decimals; empty for none."""
        text = str(text).strip()
        if not text:
            return ""
        if re.fullmatch(r"[-+.\deE;\s]*", text):
            rows = [row.split() for row in text.split(";") if row.strip()]
            return json.dumps({"": _shaped(rows, "")}, separators=(",", ":"))
        if text[0] not in "[{":
            try:
                content = Path(text).read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError) as error:
                why = "is neither a matrix nor a file that can be read"
                raise UsageError(f"{self.name} == {text[:80]!r}, {why}; wanted: {FORMS}.") from error
            if not text.lower().endswith(".json"):
                return json.dumps({"": _from_csv(content)}, ensure_ascii=False, separators=(",", ":"))
            text = content
        try:
            read = json.loads(text, parse_float=str, parse_int=str)
        except json.JSONDecodeError as error:
            raise UsageError(f"{self.name}: not a matrix ({error}); wanted: {FORMS}.") from None
        named = read if isinstance(read, dict) else {"": read}
        shaped = {name: _shaped(matrix, name) for name, matrix in sorted(named.items())}
        return json.dumps(shaped, ensure_ascii=False, separators=(",", ":"))

    def value(self, canonical: str) -> Any:
        """The matrices by attribute name."""
        parsed = json.loads(canonical) if canonical else {}
        return {
            name: Given(
                None if matrix["levels"] is None else tuple(matrix["levels"]),
                tuple(tuple(float(entry) for entry in row) for row in matrix["rows"]),
            )
            for name, matrix in parsed.items()
        }


def _shaped(read: Any, name: str) -> dict[str, Any]:
    levels = None
    if isinstance(read, dict):
        if "rows" not in read or set(read) - {"levels", "rows"}:
            raise UsageError(f"matrix of '{name}' must have rows and may have levels; got {', '.join(read) or 'none'}.")
        levels, read = read.get("levels"), read["rows"]
        if levels is not None and not (isinstance(levels, list) and len(set(map(str, levels))) == len(levels)):
            raise UsageError(f"levels of the matrix of '{name}' must be a list without repeats.")
    if not isinstance(read, list) or not all(isinstance(row, list) for row in read):
        raise UsageError(f"matrix must be a list of rows; wanted: {FORMS}.")
    rows = [[_NUMBER.canonical(entry) for entry in row] for row in read]
    return {"levels": None if levels is None else [str(level) for level in levels], "rows": rows}


def _from_csv(text: str) -> dict[str, Any]:
    table = [row for row in csv.reader(StringIO(text, newline="")) if any(entry.strip() for entry in row)]
    if len(table) < 2:
        raise UsageError("the file of the matrix needs a row of level names and a row for each level.")
    levels = [entry.strip() for entry in table[0][1:]]
    rows = {row[0].strip(): row[1:] for row in table[1:]}
    if len(rows) < len(table) - 1 or len(set(levels)) < len(levels):
        raise UsageError("the file of the matrix names a level twice.")
    odd = sorted(set(rows) ^ set(levels))
    if odd:
        where = "rows" if odd[0] in rows else "columns"
        raise UsageError(f"level '{odd[0]}' is only among the {where} of the matrix.")
    return _shaped({"levels": levels, "rows": [rows[level] for level in levels]}, "")


def checked(entered: Given, name: str, labels: Sequence[str], noun: str = "levels") -> np.ndarray:
    """A given matrix in the order of ``labels``, shape ``(K, K)``, rows summing to 1.

    Refuses another size, other labels, negative entries (below -1e-12; what is above is rounding and becomes 0) and
    rows whose sum is off by more than 1e-9.
    """
    size = len(labels)
    if len(entered.rows) != size:
        raise UsageError(f"matrix has {len(entered.rows)} rows but '{name}' has {size} {noun}")
    order = np.arange(size)
    if entered.levels is not None:
        if len(entered.levels) != size:
            raise UsageError(f"matrix has {size} rows but names {len(entered.levels)} levels")
        for level in entered.levels:
            if level not in labels:
                raise UsageError(f"matrix names '{level}', which '{name}' has not.{did_you_mean(level, labels)}")
        order = np.array([entered.levels.index(label) for label in labels])
    for label, row in zip(entered.levels or labels, entered.rows, strict=True):
        if len(row) != size:
            raise UsageError(f"row '{label}' of the transition matrix has {len(row)} entries, not {size}")
        if min(row) < _NEGATIVE:
            raise UsageError(f"row '{label}' of the transition matrix has a negative entry ({min(row):g})")
        total = float(sum((Decimal(str(entry)) for entry in row), Decimal(0)))
        if abs(total - 1) > _SUM:
            raise UsageError(f"row '{label}' of the transition matrix sums to {total:.10g}")
    matrix = np.maximum(np.array(entered.rows), 0.0)[np.ix_(order, order)]
    result: np.ndarray = matrix / matrix.sum(axis=1, keepdims=True)
    return result


def leaving(counts: np.ndarray, theta: float) -> np.ndarray:
    """Probability of each category to be left under invariant PRAM, ``θ T_min / T(k)``; 0 to 1, shape ``(K,)``.

    ``counts`` are the observed counts T, all above 0.
    """
    result: np.ndarray = theta * counts.min() / counts
    return result


def spread(leave: np.ndarray) -> np.ndarray:
    """The matrix whose category ``k`` is left with probability ``leave[k]`` for any other one alike."""
    matrix = np.repeat((leave / (len(leave) - 1))[:, None], len(leave), axis=1)
    np.fill_diagonal(matrix, 1 - leave)
    return matrix
