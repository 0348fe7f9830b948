"""Assign every column of a file exactly one use: attribute, weight, id, carried, dropped."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate

from engine.common.errors import Remedy, UsageError, did_you_mean
from engine.plan.column_lists import count, listed
from engine.plan.types import DataPlan, is_pattern


@dataclass(frozen=True)
class ColumnAssignment:
    """Columns by use, each in file order; ``unassigned`` have none and ``absent`` are claimed but not there.
    ``matched`` are the carried and dropped ones that only a pattern covers."""

    carried: tuple[str, ...]
    dropped: tuple[str, ...]
    unassigned: tuple[str, ...]
    absent: tuple[str, ...]
    matched: tuple[str, ...] = ()

    def unseen(self, data: DataPlan) -> tuple[str, ...]:
        """Columns that only a pattern covers and of which the plan does not say that they were seen: nobody has decided
        on them."""
        return tuple(column for column in self.matched if column not in data.seen)


def assign_columns(data: DataPlan, columns: Sequence[str]) -> ColumnAssignment:
    """Sort ``columns`` by the plan.  A claim by exact name wins over a pattern; two patterns must not disagree."""
    return sort_columns(dict(data.claims()), data.carry, data.drop, columns)


def sort_columns(
    claims: dict[str, str], carry: Sequence[str], drop: Sequence[str], columns: Sequence[str]
) -> ColumnAssignment:
    """:func:`assign_columns` from bare parts: ``claims`` are columns claimed by exact name, with who claims them."""
    claims, present = dict(claims), frozenset(columns)
    # A column may really be called "x[1]" or "what?": an entry that is a column's name is no pattern.
    patterns: dict[str, list[str]] = {"carry": [], "drop": []}
    for use, entries in (("carry", carry), ("drop", drop)):
        for entry in entries:
            if entry in present and claims.get(entry, use) != use:
                raise UsageError(f"column '{entry}' is claimed by {claims[entry]} and by {use}; keep one of them")
            if entry in present or not is_pattern(entry):
                claims[entry] = use
            else:
                patterns[use].append(entry)
    matches = {use: _any_of(entries) for use, entries in patterns.items()}
    matched = []
    for column in columns:
        if column in claims:
            continue
        uses = [use for use, match in matches.items() if match(column)]
        if len(uses) > 1:
            raise UsageError(
                f"column '{column}' matches a pattern under carry and one under drop; name it in one of them"
            )
        if uses:
            claims[column] = uses[0]
            matched.append(column)
    return ColumnAssignment(
        carried=tuple(c for c in columns if claims.get(c) == "carry"),
        dropped=tuple(c for c in columns if claims.get(c) == "drop"),
        unassigned=tuple(c for c in columns if c not in claims),
        absent=tuple(c for c in claims if c not in present),
        matched=tuple(matched),
    )


def with_seen(data: DataPlan, columns: Sequence[str]) -> DataPlan:
    """``data`` that records which of ``columns`` only its patterns cover, unless it says so of another file."""
    if data.seen or not any(map(is_pattern, (*data.carry, *data.drop))):
        return data
    return replace(data, seen=assign_columns(data, columns).matched)


def _any_of(patterns: Sequence[str]) -> Callable[[str], object]:
    """A test of whether a name matches one of some patterns, put together once however many names there are."""
    if not patterns:
        return lambda name: False
    return re.compile("|".join(f"(?:{translate(pattern)})" for pattern in patterns)).match


def absent_unit(name: str, columns: Sequence[str]) -> str:
    """The sentence on a unit whose column the file does not have."""
    return f"unit names column '{name}', which the file lacks.{did_you_mean(name, columns)}"


def check_assignment(data: DataPlan, columns: Sequence[str]) -> ColumnAssignment:
    """:func:`assign_columns`, refusing columns that are claimed but absent and columns without a use."""
    assigned = assign_columns(data, columns)
    if assigned.absent:
        name = assigned.absent[0]
        claim = dict(data.claims())[name]
        if claim == "unit":
            raise UsageError(absent_unit(name, columns))
        hint = did_you_mean(name, columns)
        raise UsageError(f"the plan names column '{name}' ({claim}), which is not in the data.{hint}")
    if assigned.unassigned:
        n = len(assigned.unassigned)
        raise UsageError(
            f"{count(n, 'column')} of the data without a use in the plan: {listed(assigned.unassigned)}; "
            "make each an attribute, or keep it with its record with carry, or leave it out with drop"
        )
    if data.seen:  # a study of an earlier version says nothing of it; whether it is of these data is checked elsewhere
        _refuse_unseen(assigned.unseen(data))
    return assigned


def check_seen(data: DataPlan, columns: Sequence[str]) -> None:
    """Refuse (:class:`UsageError`) a plan of which some columns are covered by a pattern alone and not seen: for plans
    that come from a file, and meet data for which they need not have been made."""
    _refuse_unseen(assign_columns(data, columns).unseen(data))


def _refuse_unseen(unseen: Sequence[str]) -> None:
    if not unseen:
        return
    raise UsageError(
        f"{count(len(unseen), 'column')} of the data that the plan does not name, and only a pattern covers: "
        f"{listed(unseen)}; name each under carry or drop, make it an attribute, or list it under seen",
        Remedy.SETTLE_COLUMNS,
    )
