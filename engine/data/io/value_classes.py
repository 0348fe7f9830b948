"""Classes of a column's values: those that a plan does not tell apart count as one, so that few rows are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa


class Classify(Protocol):
    """A function from distinct values to their classes, ``0`` to ``n_classes - 1``, that travels to other processes."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        ...

    def __call__(self, values: pa.Array) -> np.ndarray:
        """The class of each value."""
        ...


class ValueClasses:
    """The classes of a column's values as these are met, or each value as a class of its own.

    A class is told by the code of the first of its values, its *representative*.
    """

    def __init__(self, classify: Classify | None) -> None:
        self._classify = classify
        self._class_of = np.zeros(0, np.int32)
        self._first = np.full(0 if classify is None else classify.n_classes, -1, np.int32)

    def look_at(self, values: pa.Array) -> int:
        """Classify the values that are new among all ``values`` met so far; returns the number of classes."""
        if self._classify is None:
            return len(values)
        known = len(self._class_of)
        if len(values) > known:
            new = self._classify(values.slice(known)).astype(np.int32)
            classes, first = np.unique(new, return_index=True)
            is_new = self._first[classes] < 0
            self._first[classes[is_new]] = known + first[is_new]
            self._class_of = np.concatenate([self._class_of, new])
        return self._classify.n_classes

    def classes(self, codes: np.ndarray) -> np.ndarray:
        """The class of each code of a value; -1, null, stays."""
        if self._classify is None:
            return codes
        result: np.ndarray = np.append(self._class_of, np.int32(-1))[codes]
        return result

    def representatives(self, classes: np.ndarray) -> np.ndarray:
        """The code of the first value of each class; -1, null, stays."""
        if self._classify is None:
            return classes
        result: np.ndarray = np.append(self._first, np.int32(-1))[classes]
        return result
