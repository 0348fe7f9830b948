"""Facts on what an intruder would recognise.

Counts are of the original, on keys that the release shows as they are or on sets of keys that anybody can tabulate
there.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.plan.entries import PublishedTables


@dataclass(frozen=True)
class KeySet:
    """The table of some ``keys`` in the original: records in its ``small`` cells, records ``alone`` in theirs, and the
    right ``matches`` to expect in small cells of somebody who knows these keys of everybody and picks at random among
    equal records.  ``exchanged`` are those of the keys that the release alters; without any the release shows the same
    table.  ``left`` are the unaltered records in small cells of the release (None: not counted, as in findings of an
    earlier version)."""

    keys: tuple[str, ...]
    exchanged: tuple[str, ...]
    small: int
    alone: int
    matches: int
    left: int | None = None


@dataclass(frozen=True)
class Discarded:
    """What is left to an intruder who discards the ``n`` most suspect records (``of``: or households), as many as are
    altered: of ``small`` records in small cells of the release ``unaltered`` are so, with ``matches`` right ones to
    expect; ``small_left``, ``unaltered_left`` and ``matches_left`` are those of the records that are not discarded."""

    n: int
    of: str
    small: int
    unaltered: int
    matches: float
    small_left: int
    unaltered_left: int
    matches_left: float


@dataclass(frozen=True)
class Recognised:
    """What an intruder would recognise.  A cell of fewer than ``fewest`` records is small.

    ``nothing_done`` is the table of all keys in the original, ``unswapped`` that of the keys that the release leaves as
    they are (None: it leaves none), ``few_keys`` for each size of a set the keys that expose most unaltered records in
    the release.  ``rare`` says whether somebody who knows that the method takes those at risk first finds altered ones
    among the rare better than by guessing (None: the method does not, or it was not worked out), ``rare_of`` whether
    these are records or households.  ``all_but_one`` are the sets of all keys but one, in the order of the key left out
    (empty where there are few keys or very many, and in findings of an earlier version); ``sensitive`` are the
    attributes that the plan declares sensitive.  ``published`` says whether two-way tables of the original are.
    ``discarded`` is None where no record is altered, and in findings of an earlier version.
    """

    fewest: int
    nothing_done: KeySet
    unswapped: KeySet | None
    few_keys: tuple[KeySet, ...]
    published: PublishedTables
    rare: bool | None = None
    rare_of: str = "records"
    all_but_one: tuple[KeySet, ...] = ()
    sensitive: tuple[str, ...] = ()
    discarded: Discarded | None = None
