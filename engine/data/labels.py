"""Labels, codes that mean missing, format and measure of a column, as its file declares them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING

from engine.common.errors import EngineError
from engine.common.raw_values import Notation, nan_mask, notation_of, text_mask, without_blanks
from engine.common.wording import first_twice, number_text

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

MEASURES = ("", "nominal", "ordinal", "scale")
"""Levels of measurement that a file may declare; empty where it says none."""


@dataclass(frozen=True)
class ColumnLabels:
    """The labels of one column.

    ``label`` is the variable label.  ``values`` pairs raw values, as the text that
    :func:`engine.common.raw_values.texts` reads, with their labels, in the file's order; a value without a label is not
    in it.  ``missing`` are raw values that the file's owner declared missing, ``missing_ranges`` numeric ranges of such
    values, both ends included.  ``format`` is the file's own display format (``F8.2``, ``%tdD_m_Y``, ``DATE9``), kept
    for writing the same format back, and ``measure`` one of :data:`MEASURES`.  ``notation`` is how its texts write
    numbers, None where the texts say so themselves.
    """

    label: str = ""
    values: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    missing_ranges: tuple[tuple[float, float], ...] = ()
    format: str = ""
    measure: str = ""
    notation: Notation | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple((str(raw), str(label)) for raw, label in self.values))
        for name in ("missing", "missing_ranges"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        coded = [raw for raw, _ in self.values]
        repeated = first_twice(coded)
        if repeated is not None:
            raise EngineError(f"the value '{repeated}' has two labels; give each value one")
        for low, high in self.missing_ranges:
            if not low <= high:
                ends = f"from {number_text(low)} to {number_text(high)}"
                raise EngineError(f"a range of missing values goes {ends}; give the lower end first")
        if self.measure not in MEASURES:
            raise EngineError(f"measure is {self.measure!r}, must be one of {', '.join(MEASURES[1:])} or empty")

    @property
    def written_ranges(self) -> list[str]:
        """The ranges of missing values in words, such as ``-99 to -90``."""
        return [f"{number_text(low)} to {number_text(high)}" for low, high in self.missing_ranges]

    @cached_property
    def label_of(self) -> dict[str, str]:
        """Labels by raw value."""
        return dict(self.values)

    def label_or_value(self, raw: str) -> str:
        """The label of a raw value, or the value itself where it has none."""
        return self.label_of.get(raw) or raw

    def notation_of(self, values: pa.Array) -> Notation:
        """The notation in which distinct ``values`` are numbers."""
        return self.notation or notation_of(values)

    def missing_among(self, raw: Iterable[str]) -> tuple[str, ...]:
        """Those of the raw values that are declared missing, in their order, by name or by range."""
        return tuple(value for value in raw if value in self.missing or self._in_range(value))

    def missing_mask(self, values: pa.Array) -> np.ndarray:
        """Mask of values that are declared missing, by name or by range; shape ``(len(values),)``."""
        mask = text_mask(values, self.missing)
        if self.missing_ranges:
            figures = self.notation_of(values).numbers(values)
            for low, high in self.missing_ranges:
                mask |= (low <= figures) & (figures <= high)
        return mask

    def absent_mask(self, values: pa.Array, codes: Sequence[str]) -> np.ndarray:
        """Mask of values that say nothing: declared missing, NaN, blank, or one of the plan's ``codes`` between blanks;
        shape ``(len(values),)``."""
        mask: np.ndarray = self.missing_mask(values) | nan_mask(values) | text_mask(without_blanks(values), codes)
        return mask

    def _in_range(self, raw: str) -> bool:
        if not self.missing_ranges:
            return False
        try:
            number = float(raw)
        except ValueError:
            return False
        return isfinite(number) and any(low <= number <= high for low, high in self.missing_ranges)


NO_LABELS = ColumnLabels()
"""The labels of a column without labels."""
