"""Deal the pairs of a random swap to records that stream by: memory follows pairs and cells, not records.

A realisation of a random swap is a list of pairs of cells; records of one cell are exchangeable, so any rule that gives
every ordered sample of a cell's records the same chance has the law of drawing records (see
:mod:`engine.mechanisms.swap_kernels`).  In memory, :func:`engine.mechanisms.random_swap.records_of_pairs` shuffles all
records.  Here each pair has two *places*, ``2 * pair`` and ``2 * pair + 1``, and a cell of ``n`` records gives its
``t`` places in two steps, each from a stream of its own:

* The places of the cell are put in a random order.
* Records come by in file order.  With ``m`` of the cell's records and ``k`` of its places left, this one included, the
  record takes the next place with probability ``k / m`` (selection sampling: Knuth, The Art of Computer Programming 2,
  3.4.2, algorithm S).

The set of records that are taken is then each of the ``n! / (t! (n - t)!)`` sets alike, and given the set, each of its
``t!`` ways to fill the places alike; so each ordered sample has the chance ``(n - t)! / n!``, exactly: integers are
drawn without bias.  The same stream and the same file give the same records, whatever the batches in which they come.

A record shows its partner's raw values, of which one cell may hold several.  :func:`deal_rows` therefore deals twice:
first the places of cells to their distinct raw rows, as to records that come by row after row, so that the raw values
at each place are known before the file is read; then the places of raw rows to records.  Given how many places a raw
row has, its records are again each ordered sample alike, so the two steps together have the law of one.
"""

from __future__ import annotations

import numpy as np

from engine.common.errors import EngineError
from engine.common.streams import derive, generator, kernel_state

_MOST_RECORDS = 1 << 32  # of integers below this the kernel draws without bias
_MOST_PAIRS = 1 << 30  # whose places have numbers of 32 bits


class Deal:
    """The places of pairs for records in file order.

    ``pairs`` are cells, shape ``(pairs, 2)``; ``counts`` are the records of each cell.  :meth:`places` is called with
    batch after batch; :meth:`restart` begins a further pass over the same file, which is dealt the same.
    """

    def __init__(self, derived: bytes, pairs: np.ndarray, counts: np.ndarray) -> None:
        from engine.mechanisms.dealing_kernels import group_places

        if int(counts.max(initial=0)) >= _MOST_RECORDS:
            raise EngineError(f"a cell holds {int(counts.max()):,} records, must be fewer than {_MOST_RECORDS:,}")
        if len(pairs) >= _MOST_PAIRS:
            raise EngineError(
                f"the release has {len(pairs):,} pairs, and at most {_MOST_PAIRS - 1:,} are dealt to records that "
                "stream by; choose a candidate of a lower rate"
            )
        self.cell_of_place = pairs.reshape(-1).astype(np.int32, copy=False)
        taken = np.bincount(self.cell_of_place, minlength=len(counts))
        if len(taken) > len(counts) or bool((taken > counts).any()):
            raise EngineError("the pairs take more records of a cell than the data have; they belong to other data")
        self._counts = np.asarray(counts, np.int64)
        self._end = np.cumsum(taken)
        self._state_key = derive(derived, "records")
        shuffled = np.arange(len(self.cell_of_place), dtype=np.int32)
        generator(derive(derived, "places")).shuffle(shuffled)
        self._grouped = np.empty_like(shuffled)
        group_places(shuffled, self.cell_of_place, self._end - taken, self._grouped)
        self._start = self._end - taken
        self.restart()

    def restart(self) -> None:
        """Begin again with the first record of the file."""
        self._unseen, self._next = self._counts.copy(), self._start.copy()
        self._state = kernel_state(self._state_key)

    def places(self, cells: np.ndarray) -> np.ndarray:
        """The place of each of the next records in a pair, -1 for one that is in none; ``cells`` are theirs."""
        from engine.common.compiled import wrapping
        from engine.mechanisms import dealing_kernels

        places = np.empty(len(cells), np.int32)
        with wrapping():
            dealing_kernels.deal(cells, self._unseen, self._next, self._end, self._grouped, self._state, places)
        return places

    def groups_of_places(self, cell_of_group: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """The group of the record at each place, of records that come by group after group; ``sizes`` are the numbers
        of records of the groups, each of which lies in one cell."""
        from engine.common.compiled import wrapping
        from engine.mechanisms import dealing_kernels

        groups = np.empty(len(self.cell_of_place), np.int32)
        with wrapping():
            dealing_kernels.deal_groups(
                cell_of_group, sizes, self._unseen, self._next, self._end, self._grouped, self._state, groups
            )
        return groups

    def check_complete(self) -> None:
        """Refuse (:class:`EngineError`) a pass in which other records came by than the cells hold."""
        if self._unseen.any():
            raise EngineError(
                "the file does not hold the records that were counted in it; it was changed meanwhile. Nothing was "
                "written"
            )


def deal_rows(derived: bytes, pairs: np.ndarray, cell_of_row: np.ndarray, counts: np.ndarray) -> Deal:
    """The deal of places to the distinct raw rows of a file, of whose cells ``pairs`` were drawn, shape ``(pairs, 2)``.

    ``cell_of_row`` is the cell of each raw row and ``counts`` its number of records.  Of the deal that is returned the
    raw rows are the cells: ``cell_of_place`` is the raw row at each place.
    """
    n_cells = int(cell_of_row.max(initial=-1)) + 1
    of_cells = np.bincount(cell_of_row, weights=counts, minlength=n_cells).astype(np.int64)  # exact below 2 ** 53
    rows = Deal(derive(derived, "streamed cells"), pairs, of_cells).groups_of_places(cell_of_row, counts)
    return Deal(derive(derived, "streamed rows"), rows.reshape(-1, 2), counts)
