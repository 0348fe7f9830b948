"""Look for the original ids of records in the columns that stay with their records, while these stream by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.common.raw_values import as_text

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = 1e-3  # share of records of which a column shows the id; of unrelated numbers far fewer agree
_FEWEST = 20
_IN_ORDER = 0.95


@dataclass
class _Seen:
    known: int = 0
    equal: int = 0
    steps: int = 0
    alike: int = 0
    reverse: int = 0


@dataclass
class IdWatch:
    """Counts of agreement between original ids and other columns, by the name of the column."""

    _columns: dict[str, _Seen] = field(default_factory=dict)

    def compare(self, ids: pa.Array, columns: Mapping[str, pa.Array]) -> None:
        """Compare the ids of some records, in file order, with other columns of theirs."""
        import pyarrow.compute as pc

        texts, rises, falls = as_text(ids), _steps(ids, pc.greater), _steps(ids, pc.less)
        for name, values in columns.items():
            seen = self._columns.setdefault(name, _Seen())
            equal = pc.equal(texts, as_text(values))
            seen.known += len(equal) - equal.null_count
            seen.equal += _count(equal)
            up, down = _steps(values, pc.greater), _steps(values, pc.less)
            seen.steps += len(up) - up.null_count
            seen.alike += _count(pc.and_(rises, up)) + _count(pc.and_(falls, down))
            seen.reverse += _count(pc.and_(rises, down)) + _count(pc.and_(falls, up))

    def found(self) -> tuple[str, str] | None:
        """A column that shows the original ids, or stands in their order from record to record, and which of the two
        in words; None where no column does."""
        for name, seen in self._columns.items():
            if seen.equal >= max(_FEWEST, _SHOWN * seen.known):
                return name, "the original ids of records"
            if seen.steps > _FEWEST and max(seen.alike, seen.reverse) > _IN_ORDER * seen.steps:
                return name, "values in the order of the original ids of records"
        return None


def _steps(values: pa.Array, compare: object) -> pa.Array:
    """Return whether each record compares so with the one before it; null where one of them is."""
    import pyarrow as pa

    if pa.types.is_float16(values.type):  # which Arrow does not compare
        values = values.cast(pa.float32())
    result: pa.Array = compare(values.slice(1), values.slice(0, max(0, len(values) - 1)))  # type: ignore[operator]
    return result


def _count(truths: pa.Array) -> int:
    import pyarrow.compute as pc

    return int(pc.sum(truths).as_py() or 0)
