"""A random swap that draws records by weight, or refuses pairs for edit rules, distance or similarity.

It takes the place of the published draw (:mod:`engine.mechanisms.random_swap`) where a structure asks for more than
roles, and of nothing else: the streams of the published swap do not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import NamedTuple

import numpy as np

from engine.common.streams import kernel_state
from engine.common.wording import plural
from engine.data.table import ContingencyTable
from engine.mechanisms.crossing import parts_met
from engine.release.selection import UNIFORM, Selection
from engine.release.spec import Structure

_HEAVIEST = 1 << 32
_DECIMALS = Context(prec=40, rounding=ROUND_HALF_EVEN)
_COMPARED = 100_000_000  # most comparisons of two cells in search of a pair

OBSTACLE_WORDS = ("", "", "", "lie too far apart", "agree on too few attributes", "would break an edit rule")
"""What keeps two cells from exchanging, by the numbers of :mod:`engine.mechanisms.restricted_kernels`; empty where
roles do."""
_NAMES = ("", "", "", "too_far", "not_similar", "by_rules")


def weights_of(counts: np.ndarray, lean: str) -> np.ndarray:
    """Whole numbers in proportion to ``1/count`` to the power ``lean``: 2^32 for the smallest count, never below 1.

    Powers are taken in decimal arithmetic, so that they are the same on every machine.
    """
    sizes, inverse = np.unique(counts, return_inverse=True)
    power, least = Decimal(lean), Decimal(int(sizes[0]))
    shares = [_DECIMALS.power(_DECIMALS.divide(least, Decimal(int(size))), power) for size in sizes]
    weights = [max(1, int(_DECIMALS.to_integral_value(_DECIMALS.multiply(share, _HEAVIEST)))) for share in shares]
    drawn: np.ndarray = np.array(weights, np.int64)[inverse]
    return drawn


class Told(NamedTuple):
    """A draw's account of partners turned down.

    ``turned_down[i, o]`` is how often obstacle ``o`` turned one down before pair ``i`` was drawn, in all in its last
    row; ``alone[o]`` the number of records found without any partner because of it.
    """

    turned_down: np.ndarray
    alone: np.ndarray

    def diagnostics(self, n_pairs: int, wanted: int) -> dict[str, float | str]:
        """Counts by name for the first ``n_pairs`` pairs; where these are fewer than ``wanted``, who found no partner
        and why."""
        told: dict[str, float | str] = {}
        last = n_pairs == len(self.turned_down) - 1
        row = self.turned_down[n_pairs]
        limited = [o for o, name in enumerate(_NAMES) if name and (self.turned_down[-1, o] or self.alone[o])]
        for o in limited:
            told[f"partners_turned_down_{_NAMES[o]}"] = float(row[o])
        if n_pairs < wanted and last:
            told["without_partner"] = float(self.alone.sum())
            for o in limited:
                told[f"without_partner_{_NAMES[o]}"] = float(self.alone[o])
            reasons = [f"{int(self.alone[o]):,} because all that are left {OBSTACLE_WORDS[o]}" for o in limited]
            because = f": {'; '.join(reasons)}" if reasons else ""
            told["warning"] = f"{plural(int(self.alone.sum()), 'record')} found no partner{because}"
        return told


@dataclass
class Restricted:
    """One structure's cells in drawing order, as :mod:`engine.mechanisms.restricted_kernels` takes them.

    ``order`` are the cells' places in the table, ``counts`` their records.
    """

    order: np.ndarray
    counts: np.ndarray
    weight: np.ndarray
    stratum: np.ndarray
    same_class: np.ndarray
    pair: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, tuple[np.ndarray, int], tuple[np.ndarray, np.ndarray]]

    def draw(self, derived: bytes, wanted: int) -> np.ndarray:
        """Pairs of table cells in drawing order, shape ``(pairs, 2)``; fewer than ``wanted`` when no feasible pair is
        left."""
        return self.draw_told(derived, wanted)[0]

    def draw_told(self, derived: bytes, wanted: int) -> tuple[np.ndarray, Told]:
        """The same, and what it tells of partners turned down."""
        from engine.common.compiled import wrapping
        from engine.mechanisms import restricted_kernels as kernels

        pairs = np.empty((wanted, 2), np.int64)
        turned_down = np.zeros((wanted + 1, kernels.OBSTACLES), np.int64)
        alone = np.zeros(kernels.OBSTACLES, np.int64)
        with wrapping():
            n_pairs = kernels.draw_restricted(
                wanted, self.counts.copy(), self.weight, self.stratum, self.same_class, self.pair,
                kernel_state(derived), pairs, turned_down, alone,
            )  # fmt: skip
        return self.order[pairs[:n_pairs]], Told(turned_down[: n_pairs + 1], alone)

    def obstacle(self) -> str:
        """The obstacle that keeps every two records from exchanging, in words; empty where some may, or where too many
        would have to be compared."""
        from engine.mechanisms import restricted_kernels as kernels

        return OBSTACLE_WORDS[kernels.nearest_to_a_pair(self.stratum, self.pair, _COMPARED)]


def prepare_restricted(structure: Structure, table: ContingencyTable) -> Restricted:
    """Sort a table's cells by stratum and class for one structure, with the weights of their records."""
    from engine.mechanisms import restricted_kernels as kernels

    shape, attributes, cells = table.domain.shape, table.domain.attributes, table.cells
    kinds = [attributes[j].kind_codes[cells[:, j]] for j in structure.same_kind]
    held = [*(cells[:, j] for j in structure.equal), *kinds]
    keys = np.column_stack([*held, *(cells[:, j] for j in structure.differ)]).astype(np.int64)
    sizes = [*(shape[j] for j in structure.equal), *([3] * len(kinds)), *(shape[j] for j in structure.differ)]
    order = kernels.sort_cells(keys, np.array(sizes, np.int64))
    keys = keys[order]
    class_of, class_start, first_class, last_class = kernels.classes(keys, len(held))
    stratum = np.column_stack([class_start[first_class], class_start[last_class]])[class_of]
    same_class = np.column_stack([class_start[:-1], class_start[1:]])[class_of]
    others = np.arange(len(order))
    if structure.needs_free_difference:
        others = np.unique(table.group_numbers(structure.free), return_inverse=True)[1].astype(np.int64)[order]
    selection = structure.selection or Selection()
    ranks = np.column_stack([_ranks(table, j)[order] for j, _ in selection.near] or [np.zeros((len(order), 0))])
    steps = np.array([steps for _, steps in selection.near], np.int64)
    levels = cells[order][:, list(selection.similar)].astype(np.int64)
    rules = tuple(words[order] for words in _rules_met(structure, table))
    weight = np.ones(len(order), np.int64)
    if selection.lean != UNIFORM:
        _, shared, cell_of_key = table.margin(selection.risk)
        weight = weights_of(shared[cell_of_key], selection.lean)[order]
    return Restricted(
        order=order,
        counts=table.counts[order].astype(np.int64),
        weight=weight,
        stratum=stratum.astype(np.int64),
        same_class=same_class.astype(np.int64),
        pair=(
            np.ascontiguousarray(keys[:, len(held) :]),
            others,
            ranks.astype(np.int64),
            steps,
            (np.ascontiguousarray(levels), selection.similarity),
            (rules[0], rules[1]),
        ),
    )


def _ranks(table: ContingencyTable, attribute: int) -> np.ndarray:
    """Each cell's rank among the real answers of an attribute, in their order; skipped and missing ones are negative,
    equal where the level is."""
    kinds = table.domain.attributes[attribute].kind_codes
    rank = np.where(kinds == 0, np.cumsum(kinds == 0) - 1, -1 - np.arange(len(kinds)))
    ranks: np.ndarray = rank[table.cells[:, attribute]]
    return ranks


def _rules_met(structure: Structure, table: ContingencyTable) -> tuple[np.ndarray, np.ndarray]:
    """Bits of the refusing edit rules whose unswapped part each cell meets, and of those whose swapped part it meets;
    without words where no rule looks at a swapped attribute."""
    rules = table.domain.refusing if structure.ruled else ()
    return parts_met(rules, table.domain, list(table.cells.T), structure.ruled)
