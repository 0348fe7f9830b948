"""Random data swapping with role constraints (Gomatam, Karr and Sanil 2005, Appendix A).

:func:`prepare` does once what all replicates, rates and splits of a structure share; what it makes draws pairs of
cells from a replicate's stream (a lower rate is the beginning of a higher one); :func:`records_of_pairs` chooses the
records, when somebody wants them.  :mod:`engine.release.batch` turns pairs into post-swap tables.

The random swap as published (Gomatam, Karr and Sanil 2005, Appendix A), over the cells of a table.

:class:`Preparing` makes the cells ready for one structure after the other; :meth:`Prepared.draw` draws pairs of cells
from a replicate's stream, of which a lower rate takes the beginning.

A random swap that draws records by weight, or refuses pairs for edit rules, distance or similarity.

It takes the place of the published draw (:mod:`engine.mechanisms.random_swap`) where a structure asks for more than
roles, and of nothing else: the streams of the published swap do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from engine.common.errors import EngineError
from engine.common.streams import derive, derived_by_last, derived_by_rest, generator, kernel_state
from engine.common.wording import plural
from engine.data.microdata import Microdata
from engine.data.table import ContingencyTable
from engine.mechanisms.base import BatchedDraw, Drawn, Mechanism
from engine.mechanisms.targeted import parts_met
from engine.release.parameter import Parameter, Setting
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
from engine.release.spec import UNIFORM, AttributeSpec, ReleaseSpec, Selection, Structure, pairs_wanted, structure_of
from engine.release.specs import C, F, S, U

RUNS_KEPT = 1 << 20
"""Most runs remembered per structure (16 MB); what does not fit is looked up again."""
_GUIDE = 8  # entries per cell of the table that leads from positions to cells
_KEYS = 1 << 16  # combinations of levels that are sorted at once, at most


@cache
def _kernel() -> tuple[Callable[..., Any], Callable[[], AbstractContextManager[object]]]:
    """The kernel of the draw and what it is called under, imported once: an import statement costs a tenth of a small
    draw."""
    from engine.common.compiled import wrapping
    from engine.mechanisms import swap_kernels as kernels

    return kernels.draw_pairs, wrapping


@dataclass
class Prepared:
    """One structure's cells in drawing order, and what the draw remembers.

    Fields are as :func:`engine.mechanisms.swap_kernels.draw_pairs` takes them; positions are 32 bits wide where records
    are few enough and what else is kept of cells fits, because what stays in the processor's nearest cache is read
    several times faster.
    """

    order: np.ndarray
    cells: np.ndarray
    class_start: np.ndarray
    first_class: np.ndarray
    last_class: np.ndarray
    values: np.ndarray
    guide: np.ndarray
    shift: int
    runs: np.ndarray
    spare: int
    reach: np.ndarray
    offset: np.ndarray
    memo: np.ndarray
    used: np.ndarray

    def draw(self, derived: bytes, wanted: int) -> np.ndarray:
        """Pairs of table cells in drawing order, shape ``(pairs, 2)``; fewer than ``wanted`` when no feasible pair is
        left."""
        draw_pairs, wrapping = _kernel()
        pairs = np.empty((wanted, 2), np.int64)
        with wrapping():
            n_pairs = draw_pairs(
                wanted,
                self.order,
                self.cells,
                self.class_start,
                self.first_class,
                self.last_class,
                self.values,
                self.guide,
                self.shift,
                self.runs,
                self.spare,
                self.reach,
                self.offset,
                self.memo,
                self.used,
                kernel_state(derived),
                pairs,
            )
        return pairs[:n_pairs]

    def draw_told(self, derived: bytes, wanted: int) -> tuple[np.ndarray, None]:
        """The same; the published draw has nothing to tell."""
        return self.draw(derived, wanted), None


class Preparing:
    """Makes a table's cells ready for one structure after the other, in arrays that are used again: what was prepared
    holds until the next structure.

    ``table_arrays`` and ``room`` are what :func:`engine.mechanisms.swap_kernels.prepare_cells` takes first and
    last, ``shift`` what comes between; attributes with fewer levels come first in ``few_levels_first``.
    """

    def __init__(self, table: ContingencyTable) -> None:
        from engine.mechanisms import swap_kernels as preparing_kernels
        from engine.mechanisms.swap_kernels import GUIDE_STEP

        self._prepare = preparing_kernels.prepare_cells
        self._table = table
        domain, m, d = table.domain, len(table), len(table.domain)
        n = table.n_records
        narrow = n < 2**31 and (table.packing.n_words > 1 or table.packing.bits < 32)
        self._width = width = np.int32 if narrow else np.int64
        codes = table.cells.T.astype(np.int32)
        kinds = [attribute.kind_codes[codes[j]] for j, attribute in enumerate(domain.attributes)]
        columns = np.ascontiguousarray([*codes, *kinds], np.int32).reshape(2 * d, m)
        counts, words = (np.require(part, np.int64, ["C", "W"]) for part in (table.counts, table.words))
        sizes = np.array([*domain.shape, *([3] * d)], np.int64)
        self.few_levels_first = sorted(range(d), key=lambda j: (domain.shape[j], j))
        self.shift = max(0, n.bit_length() - (_GUIDE * m).bit_length())
        n_keys = max(int(sizes.max(initial=1)), min(_KEYS, 2 * m)) + 2
        self.table_arrays = columns, sizes, counts, words, table.packing.masks
        self._order, self._cells = np.empty(m, np.int64), np.zeros(4 * m + 4, width)
        self._classes = np.empty(m + 1, np.int64), np.empty(m, np.int64), np.empty(m, np.int64)
        self._values = np.empty(m * d, np.int64)
        self._guide = np.empty((n >> self.shift) + 1 + GUIDE_STEP, np.uint16 if m < 2**16 else np.int32)
        self._memo = np.empty((m, 4), width)
        scratch = np.empty(m, np.int64), np.empty(m, np.int32), np.empty(n_keys, np.int64)
        self.room = self._order, *scratch, self._cells, *self._classes, self._values, self._guide, self._memo
        self._runs, self._reach, self._offset = np.empty((0, 2), np.int32), np.empty(0, width), np.empty(0, width)

    def __call__(self, structure: Structure) -> Prepared:
        """Sort the cells by stratum and class for a structure.

        Strata are equal on F and on the kinds of levels of ``same_kind``; classes are equal on S∪C.  Attributes with
        fewer levels sort first, so that the classes a record may meet lie in few runs.
        """
        d, table = len(self._table.domain), self._table
        differ = [j for j in self.few_levels_first if j in structure.differ]
        equal, free = structure.equal, structure.free
        sorted_by = [*equal, *[d + j for j in structure.same_kind], *differ, *free]
        class_start, first_class, last_class = self._classes
        in_kernel = structure.needs_free_difference and table.packing.n_words == 1
        n_classes, n_runs, most = self._prepare(
            *self.table_arrays,
            np.array(sorted_by, np.int64),
            len(equal),
            len(sorted_by) - len(free) - len(differ),
            len(sorted_by) - len(free),
            in_kernel,
            self.shift,
            *self.room,
        )
        values = self._values[: n_classes * len(differ)].reshape(n_classes, len(differ))
        if structure.needs_free_difference and not in_kernel:
            self._cells[3:-4:4] = table.group_numbers(structure.free)[self._order]
        spare = min(RUNS_KEPT, n_runs + 1)
        room = spare + most
        if room > len(self._runs):
            self._runs = np.empty((room, 2), np.int32)
            self._reach, self._offset = np.empty(room, self._width), np.empty(room, self._width)
        return Prepared(
            order=self._order,
            cells=self._cells,
            class_start=class_start[: n_classes + 1],
            first_class=first_class[:n_classes],
            last_class=last_class[:n_classes],
            values=values,
            guide=self._guide,
            shift=self.shift,
            runs=self._runs[:room],
            spare=spare,
            reach=self._reach[:room],
            offset=self._offset[:room],
            memo=self._memo[:n_classes],
            used=np.zeros(2, np.int64),
        )


_HEAVIEST = 1 << 32
_DECIMALS = Context(prec=40, rounding=ROUND_HALF_EVEN)
_COMPARED = 100_000_000  # most comparisons of two cells in search of a pair

OBSTACLE_WORDS = ("", "", "", "lie too far apart", "agree on too few attributes", "would break an edit rule")
"""What keeps two cells from exchanging, by the numbers of :mod:`engine.mechanisms.swap_kernels`; empty where
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
    """One structure's cells in drawing order, as :mod:`engine.mechanisms.swap_kernels` takes them.

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
        from engine.mechanisms import swap_kernels as kernels

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
        from engine.mechanisms import swap_kernels as kernels

        return OBSTACLE_WORDS[kernels.nearest_to_a_pair(self.stratum, self.pair, _COMPARED)]


def prepare_restricted(structure: Structure, table: ContingencyTable) -> Restricted:
    """Sort a table's cells by stratum and class for one structure, with the weights of their records."""
    from engine.mechanisms import swap_kernels as kernels

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


NAME = "random_swap"
_ASKED = [bytes(role in asked for role in range(256)) for asked in ((S, C), (F,), (U,))]
"""What differs, is equal and is free, each as a mark for every role (its ASCII code)."""


def preparing(table: ContingencyTable) -> Callable[[Structure], Prepared | Restricted]:
    """Makes a table's cells ready for one structure after the other, for the published draw where roles are all that is
    asked: what was prepared holds until the next structure."""
    published: Preparing | None = None

    def prepare_next(structure: Structure) -> Prepared | Restricted:
        nonlocal published
        if not structure.is_published:
            return prepare_restricted(structure, table)
        published = published or Preparing(table)
        return published(structure)

    return prepare_next


def prepare(structure: Structure, table: ContingencyTable) -> Prepared | Restricted:
    """The cells made ready for one structure."""
    return preparing(table)(structure)


def streams(key: bytes, structure: Structure, table: ContingencyTable) -> Callable[[int], bytes]:
    """The derived keys of one structure's replicates by number: what they have in common is written out once."""
    return derived_by_last(key, NAME, structure.stream_parts(table.domain))


class RoleStreams:
    """Derived keys of structures as published, by the roles of any of their specs: those of :func:`stream`, without a
    structure for each of the thousands of which a sweep consists."""

    def __init__(self, key: bytes, table: ContingencyTable) -> None:
        self._derived = derived_by_rest(key, NAME, [table.domain.stream_part])
        self._places: dict[bytes, str] = {}

    def keys(self, roles: bytes, rule: str, several_kinds: Sequence[int], replicates: Sequence[int]) -> list[bytes]:
        """The keys of replicates; ``several_kinds`` are as :meth:`Structure.of_roles` takes them."""
        same_kind = tuple([j for j in several_kinds if roles[j] == S])
        parts = *(self._text(roles.translate(table)) for table in _ASKED), repr(C in roles), repr(rule), repr(same_kind)
        return [self._derived(*parts, repr(number)) for number in replicates]

    def _text(self, marks: bytes) -> str:
        if marks not in self._places:
            self._places[marks] = repr(tuple(j for j, mark in enumerate(marks) if mark))
        return self._places[marks]


def stream(key: bytes, structure: Structure, table: ContingencyTable, replicate: int) -> bytes:
    """The derived key of one replicate of one structure; everything about its randomness follows from it."""
    return streams(key, structure, table)(replicate)


def records_of_pairs(derived: bytes, pairs: np.ndarray, cell_of_record: np.ndarray) -> np.ndarray:
    """Records for drawn pairs of cells, shape ``(pairs, 2)``, from a stream of their own.

    Every cell deals its records in a random order; a pair takes the next one of each of its cells.  A lower rate takes
    the same records as the beginning of a higher one.
    """
    if len(pairs) == 0:
        return np.zeros((0, 2), np.int64)
    shuffled = generator(derive(derived, "records")).permutation(len(cell_of_record))
    by_cell = shuffled[np.argsort(cell_of_record[shuffled], kind="stable")]
    size = np.bincount(cell_of_record)
    start = np.cumsum(size) - size
    flat = pairs.reshape(-1)
    order = np.argsort(flat, kind="stable")
    grouped = flat[order]
    first = np.searchsorted(grouped, grouped)
    records = np.empty(len(flat), np.int64)
    records[order] = by_cell[start[grouped] + np.arange(len(grouped)) - first]
    return records.reshape(-1, 2)


def altering(pairs: np.ndarray, structure: Structure, table: ContingencyTable) -> np.ndarray:
    """Mask of the pairs of cells, shape ``(pairs, 2)``, whose partners differ on what they do not exchange.  The others
    trade places in the file: where rows are cells, their exchange changes nothing that its reader sees."""
    if not structure.may_trade_rows:
        return np.ones(len(pairs), bool)
    stays = [j for j in range(len(table.domain)) if j not in structure.differ]
    mask: np.ndarray = (table.cells[pairs[:, 0]][:, stays] != table.cells[pairs[:, 1]][:, stays]).any(axis=1)
    return mask


def exchanged(data: Microdata, records: np.ndarray, spec: AttributeSpec) -> ReleasedTable:
    """The table in which pairs of records, shape ``(pairs, 2)``, have exchanged what the spec swaps."""
    source = np.arange(data.n_records)
    source[records[:, 0]], source[records[:, 1]] = records[:, 1], records[:, 0]
    return ReleasedTable(data, source, spec.having("S"))


def _spec(setting: Setting) -> ReleaseSpec:
    if setting.spec is None:
        raise EngineError("the random swap needs a spec: roles of all attributes and a rate.")
    return setting.spec


def prepare_setting(setting: Setting) -> Prepared | Restricted:
    """The cells made ready for the structure of a scenario."""
    table = setting.data.table
    return prepare(structure_of(_spec(setting), table), table)


def draw(prepared: Prepared | Restricted, setting: Setting, derived: bytes) -> Drawn:
    """One replicate down to records: RunStatus.FAILED when fewer pairs could be formed than the rate asks for."""
    spec, data = _spec(setting), setting.data
    to_swap, n_wanted = pairs_wanted(spec.rate, data.n_records)
    pairs, told = prepared.draw_told(derived, n_wanted)
    records = records_of_pairs(derived, pairs, data.cell_of_record)
    table = as_drawn = exchanged(data, records, spec.attributes)
    if setting.rows_are_cells:
        records = records[altering(pairs, structure_of(spec, data.table), data.table)]
        table = exchanged(data, records, spec.attributes)
        table.as_drawn = as_drawn
    touched = np.zeros((1, data.n_records), bool)
    touched[0, records.reshape(-1)] = True
    status = RunStatus.NOOP if to_swap == 0 else RunStatus.OK if len(pairs) == n_wanted else RunStatus.FAILED
    diagnostics = told.diagnostics(len(pairs), n_wanted) if told else {}
    return Drawn([table], status, touched, diagnostics)


SWAP = Mechanism(
    name=NAME,
    title="Random swap of attributes",
    source="Gomatam, Karr and Sanil (2005), Data swapping as a decision problem",
    when="attributes may be exchanged one by one, and every one-way table must stay as it is",
    rate="records that take part in swaps, both partners counted, as a share of all records",
    prepare=prepare_setting,
    draw=draw,
    parameters=(
        Parameter(
            "lean",
            "decimal",
            "0",
            "how far the draw leans to rare keys: records are drawn by 1/count to this power; 0: all alike",
            low="0",
            high="10",
            label="How far the draw leans to rare keys",
        ),
        Parameter(
            "risk",
            "names",
            "",
            "attributes whose combinations are counted for lean, joined by +; default the keys",
            label="What makes a record rare",
        ),
        Parameter(
            "near",
            "names",
            "",
            "most steps between the levels of two partners, such as Age:2, joined by +",
            label="How far partners may lie apart",
        ),
        Parameter(
            "similar",
            "names",
            "",
            "attributes on which partners are compared, joined by +",
            label="On what partners are compared",
        ),
        Parameter(
            "similarity",
            "whole",
            "0",
            "on how many of similar two partners agree at least",
            low="0",
            label="On how many of these partners agree",
        ),
    ),
    by_roles=True,
    batched=BatchedDraw(preparing, streams, records_of_pairs),
    partners_differ=True,
    exchanges=True,
    refuses_pairs=True,
)
