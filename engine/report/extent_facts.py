"""Facts on the extent of the change, for the board."""

from __future__ import annotations

from dataclasses import dataclass

from engine.decision.gate import AlteredGroup
from engine.measures.verdict import Verdict
from engine.report.places import LevelRow
from engine.report.unit_counts import UnitsChanged


@dataclass(frozen=True)
class ChangedRow:
    """An attribute or numeric column: records whose value is another one, and their share."""

    name: str
    records: int
    share: float


@dataclass(frozen=True)
class Extent:
    """The spec and the rate of the release, asked for and reached, and the records it changes.

    ``spec`` is that of the candidate in words, ``asked`` the rate of a random swap as decimal text (empty for another
    mechanism), ``asked_amount`` the amount of any mechanism in words and ``amount`` what it counts.  ``records`` were
    changed in any attribute of any of the ``tables``, ``share`` is their share and ``per_table`` how many on average in
    one table, as by attribute.  ``groups`` are the levels of all attributes (of very many those most altered) with the
    share of their records that is altered, ``caution`` says where that is far above the share of all (empty: nowhere).
    ``units`` are the households that changed (None: records belong to none), ``levels`` the places of the plan.
    ``verdict`` is that of all attacks.
    """

    mechanism: str
    spec: str
    amount: str
    asked: str
    asked_amount: str
    records: int
    share: float
    tables: int
    per_table: float
    attributes: tuple[ChangedRow, ...]
    groups: tuple[AlteredGroup, ...]
    caution: str
    units: UnitsChanged | None
    levels: tuple[LevelRow, ...]
    verdict: Verdict

    @property
    def changed_in(self) -> str:
        """The name of the count of changed records."""
        return f"Records changed in at least one of {self.tables} tables" if self.tables > 1 else "Records changed"
