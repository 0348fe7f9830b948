"""Columns that a release can change: those that its method exchanges or draws anew, and the tables that they alter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.models.record_release import variable

if TYPE_CHECKING:
    from engine.models.record_release import RecordRelease
    from engine.plan import Plan
    from engine.plan.entries import AnalysisPlan


@dataclass(frozen=True)
class Alterable:
    """What may differ between the original and its release, by how the release is made and not by how it came out.

    ``attributes`` (places) and ``columns`` (raw ones) may be altered.  Where ``exchanged`` is true whole records trade
    all of them at once, so that a figure which uses nothing else stays as it is; so does one that uses besides them
    only attributes on which the two records of a pair agree (``agreeing``).
    """

    attributes: frozenset[int]
    columns: frozenset[str]
    exchanged: bool
    agreeing: frozenset[int]

    @classmethod
    def of(cls, release: RecordRelease) -> Alterable:
        """What the tables of a release may alter."""
        attributes: set[int] = set()
        columns: set[str] = set()
        exchanged, moved = True, set()
        for table in release.tables:
            swapped = table.swapped if table.source is not None else frozenset()
            drawn = {j for j in range(len(table.data.domain)) if table.is_replaced(j)}
            numbers = {name for name in table.data.raw.names if table.is_renumbered(name)}
            exchanged = exchanged and not drawn and not numbers
            moved.add(swapped)
            attributes |= swapped | drawn
            columns |= (table.swapped_columns if swapped else set()) | numbers
            columns |= {name for j in drawn for name in table.data.domain.attributes[j].columns}
        spec = release.spec
        agreeing = spec.attributes.having("F") if spec is not None and spec.by_roles else ()
        return cls(frozenset(attributes), frozenset(columns), exchanged and len(moved) == 1, frozenset(agreeing))

    def can_change(self, attributes: Iterable[int], columns: Iterable[str | None] = ()) -> bool:
        """Whether a figure that uses these attributes and raw columns (a weight among them; None: none) may differ."""
        attributes, columns = set(attributes), {name for name in columns if name is not None}
        if not (attributes & self.attributes or columns & self.columns):
            return False
        if not self.exchanged:
            return True
        others = attributes - self.attributes
        return bool(others - self.agreeing or columns - self.columns)

    def analysis_can_change(self, analysis: AnalysisPlan, release: RecordRelease, plan: Plan) -> bool:
        """The same for a declared analysis, with its strata and, where it is weighted, the weight."""
        data = release.data
        used = [variable(name, plan, data, f"analysis '{analysis.name}'") for name in (*analysis.columns, *analysis.by)]
        columns = [use.column for use in used] + ([plan.data.weight] if analysis.weighted else [])
        return self.can_change((use.attribute for use in used if use.attribute is not None), columns)
