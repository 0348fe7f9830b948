"""Which column becomes what: every column of a file must have exactly one fate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from engine.errors import UsageError, did_you_mean
from engine.plan.types import DataPlan, is_pattern


@dataclass(frozen=True)
class Fates:
    """Columns of a file by fate, each in file order; ``homeless`` have none and ``absent`` are claimed but not there."""

    carried: tuple[str, ...]
    dropped: tuple[str, ...]
    homeless: tuple[str, ...]
    absent: tuple[str, ...]


def fates(data: DataPlan, columns: Sequence[str]) -> Fates:
    """Sort ``columns`` by the plan.  A claim by exact name wins over a pattern; two patterns must not disagree."""
    return sort_columns(dict(data.claims()), data.carry, data.drop, columns)


def sort_columns(claims: dict[str, str], carry: Sequence[str], drop: Sequence[str], columns: Sequence[str]) -> Fates:
    """:func:`fates` from bare parts: ``claims`` are the columns claimed by exact name, with the words for who claims."""
    claims = dict(claims)
    # A column may really be called "x[1]" or "what?": an entry that is a column's name is no pattern.
    patterns: dict[str, list[str]] = {"carry": [], "drop": []}
    for what, entries in (("carry", carry), ("drop", drop)):
        for entry in entries:
            if entry in columns and claims.get(entry, what) != what:
                raise UsageError(f"column '{entry}' is claimed by {claims[entry]} and by {what}; keep one of them")
            if entry in columns or not is_pattern(entry):
                claims[entry] = what
            else:
                patterns[what].append(entry)
    for column in columns:
        if column in claims:
            continue
        hits = [what for what, entries in patterns.items() if any(fnmatchcase(column, entry) for entry in entries)]
        if len(hits) > 1:
            raise UsageError(
                f"column '{column}' matches a pattern under carry and one under drop; name it in one of them"
            )
        if hits:
            claims[column] = hits[0]
    return Fates(
        carried=tuple(c for c in columns if claims.get(c) == "carry"),
        dropped=tuple(c for c in columns if claims.get(c) == "drop"),
        homeless=tuple(c for c in columns if c not in claims),
        absent=tuple(c for c in claims if c not in columns),
    )


def check_fates(data: DataPlan, columns: Sequence[str]) -> Fates:
    """:func:`fates`, refusing columns that are claimed but absent and columns without a fate."""
    found = fates(data, columns)
    if found.absent:
        claim = dict(data.claims())[found.absent[0]]
        raise UsageError(
            f"the plan names column '{found.absent[0]}' ({claim}), which is not in the data.{did_you_mean(found.absent[0], columns)}"
        )
    if found.homeless:
        raise UsageError(
            f"{_count(len(found.homeless), 'column')} of the data {'has' if len(found.homeless) == 1 else 'have'} no fate in the plan: "
            f"{_listed(found.homeless)}; make each an attribute, or keep it with its record with carry, or leave it out with drop"
        )
    return found


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _listed(names: Iterable[str], most: int = 5) -> str:
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"'{name}'" for name in names[:most]) + more
