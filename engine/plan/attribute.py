"""The coding of one attribute from raw columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Literal

from engine.common.errors import UsageError, did_you_mean
from engine.plan.field_types import Name, check_types, set_fields, typed

MISSING_LEVEL = "missing"
"""Label of the level that ``on_missing = "level"`` adds."""
OnMissing = Literal["refuse", "level"]


@dataclass(frozen=True)
class AttributePlan:
    """Coding of one attribute from raw columns.

    ``columns`` move as one block; ``view`` are those whose values make the levels.  Either ``cut`` (ascending numeric
    edges, with one label more than edges) or ``merge`` (new level -> raw values) may recode a column; ``levels``
    declares the order of value levels after ``merge``, and a value outside it is refused.  ``skip`` and ``missing`` are
    raw values of those kinds; ``on_missing`` says whether a missing value is refused or becomes the level "missing".
    """

    name: str
    columns: tuple[str, ...] = ()
    view: tuple[str, ...] = ()
    cut: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    merge: tuple[tuple[str, tuple[str, ...]], ...] = ()
    skip: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    on_missing: OnMissing = "refuse"

    def __post_init__(self) -> None:
        typed(self.name, Name, "an attribute's name")
        who = f"attribute '{self.name}'"
        check_types(self, where=f"{who}: ")
        columns = self.columns or (self.name,)
        view = self.view or columns[:1]
        set_fields(self, columns=columns, view=view)
        for column in view:
            if column not in columns:
                raise UsageError(f"{who} views column '{column}', which is not in its columns: {', '.join(columns)}")
        self._check_merge(who)
        self._check_cut(who)
        extra_levels = (*self.skip, *((MISSING_LEVEL,) if self.on_missing == "level" else ()))
        for level in (*self.levels, *self.labels):
            if level in extra_levels:
                raise UsageError(
                    f"{who}: '{level}' is a declared level and also a skip or missing one; those come last by "
                    "themselves"
                )

    def _check_merge(self, who: str) -> None:
        merge = tuple(self.merge.items() if isinstance(self.merge, dict) else self.merge)
        merge = tuple((level, typed(raw, tuple[str, ...], f"{who}: merge of '{level}'")) for level, raw in merge)
        merged: set[str] = set()
        for level, raw in merge:
            if not raw:
                raise UsageError(f"{who}: merge makes '{level}' of nothing; list at least one raw value")
            if merged.intersection(raw):
                raise UsageError(f"{who}: merge uses the value '{sorted(merged.intersection(raw))[0]}' more than once")
            merged.update(raw)
            if self.levels and level not in self.levels and level not in self.skip:
                raise UsageError(
                    f"{who}: merge makes '{level}', which is not in levels.{did_you_mean(level, self.levels)}"
                )
        set_fields(self, merge=merge)

    def _check_cut(self, who: str) -> None:
        if isinstance(self.cut, str) or not isinstance(self.cut, Iterable):
            raise UsageError(f"{who}: cut is {self.cut!r}, must be a list of numbers such as [25, 55]")
        edges = []
        for edge in self.cut:
            if isinstance(edge, bool) or not isinstance(edge, int | float) or not isfinite(edge):
                raise UsageError(f"{who}: cut holds {edge!r}, must hold numbers")
            edges.append(int(edge) if float(edge).is_integer() else float(edge))
        if any(a >= b for a, b in pairwise(edges)):
            raise UsageError(f"{who}: cut edges are {', '.join(map(str, edges))}, must be ascending")
        set_fields(self, cut=tuple(edges))
        if self.labels and not edges:
            raise UsageError(f"{who} has labels but no cut; labels name the cut levels, use levels or merge for others")
        if not edges:
            return
        if self.merge or self.levels:
            other = "merge" if self.merge else "levels"
            raise UsageError(f"{who} has both cut and {other}; a cut column takes labels instead")
        if len(self.view) > 1:
            raise UsageError(f"{who} cuts a view of {len(self.view)} columns; cut needs exactly one")
        if self.labels and len(self.labels) != len(edges) + 1:
            raise UsageError(
                f"{who} has {len(self.labels)} labels for {len(edges) + 1} cut levels; give one label per level"
            )

    @property
    def answers(self) -> frozenset[str]:
        """Raw values that are declared as answers, alone or in a merge, and so do not mean missing whatever the plan
        says of all attributes; none where several columns make the levels."""
        if len(self.view) > 1:
            return frozenset()
        plain = frozenset(self.levels).difference(dict(self.merge))
        return plain.union(raw for _, values in self.merge for raw in values)

    def missing_codes(self, of_plan: Iterable[str]) -> tuple[str, ...]:
        """Raw values that mean missing in this attribute: its own, and those of the plan that it does not declare."""
        return (*(code for code in of_plan if code not in self.answers), *self.missing)

    @property
    def cut_labels(self) -> tuple[str, ...]:
        """Names of the cut levels, given or written from the edges: ``<25``, ``25-<55``, ``>=55``."""
        if self.labels or not self.cut:
            return self.labels
        edges = [str(edge) for edge in self.cut]
        middle = [f"{a}-<{b}" for a, b in pairwise(edges)]
        return (f"<{edges[0]}", *middle, f">={edges[-1]}")
