"""Batches of the random swap as published whose measures need no more than sums: drawn and summed as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from engine.common.streams import kernel_states
from engine.data.table import ContingencyTable
from engine.measures.exchange_sums import ExchangeSums
from engine.mechanisms import random_swap as published_swap
from engine.release.batch import CellIndex
from engine.release.release_specs import Procedure
from engine.release.spec import pairs_wanted
from engine.release.specs import Specs
from engine.sweeps.groups import Task

AT_ONCE = 30_000_000
"""Cells and records of the draws of one compiled call, at most: no interruption is heard meanwhile."""


class Stops(NamedTuple):
    """Numbers of pairs after which a group's candidates stop, from the fewest on: the place of each procedure among
    them, and two rows, the pairs ``wanted`` and whether nothing is to be swapped."""

    place: np.ndarray
    rows: np.ndarray

    @property
    def wanted(self) -> np.ndarray:
        """The pairs wanted at each stop."""
        wanted: np.ndarray = self.rows[0]
        return wanted

    @classmethod
    def of(cls, procedures: Sequence[Procedure], used: np.ndarray, n_records: int) -> Stops:
        """Return those of the procedures that are ``used``; they differ in their rates alone."""
        codes = np.flatnonzero(used)
        numbers = np.array([pairs_wanted(procedures[code].rate, n_records) for code in codes.tolist()], np.int64)
        order = np.argsort(numbers[:, 1], kind="stable")
        place = np.full(len(used), -1, np.int64)
        place[codes[order]] = np.arange(len(codes))
        return cls(place, np.array([numbers[order, 1], numbers[order, 0] == 0]))


class Layouts:
    """Arrays of specs and procedures that laying out groups takes, made once for groups over the same ones."""

    def __init__(self, n_records: int) -> None:
        self._n_records = n_records
        self._specs: Specs | None = None
        self._roles, self._row_of = np.zeros((0, 0), np.uint8), np.zeros(0, np.int64)
        self._stops: dict[tuple[tuple[Procedure, ...], bytes], Stops] = {}

    def roles(self, specs: Specs) -> tuple[np.ndarray, np.ndarray]:
        """The roles of specs, and scratch by spec."""
        if self._specs is not specs:
            self._specs, self._roles = specs, np.require(specs.roles, np.uint8, ["C", "W"])
        if len(self._row_of) < len(self._roles):
            self._row_of = np.full(len(self._roles), -1, np.int64)
        return self._roles, self._row_of

    def stops(self, procedures: tuple[Procedure, ...], used: np.ndarray) -> Stops:
        """The stops of those procedures that are ``used``."""
        name = procedures, used.tobytes()
        if name not in self._stops:
            self._stops[name] = Stops.of(procedures, used, self._n_records)
        return self._stops[name]


class _Laid(NamedTuple):
    """Groups of a batch as the kernel takes them: its ``structures``, scratch by spec, and the ``candidates`` with the
    ``bounds`` of each group."""

    structures: tuple[np.ndarray, bool, np.ndarray, np.ndarray]
    row_of: np.ndarray
    candidates: np.ndarray
    bounds: np.ndarray


def drawn_as_wholes(table: ContingencyTable, procedures: Sequence[Procedure]) -> bool:
    """Return whether batches of these procedures over a table are drawn in compiled calls for many tasks: whether roles
    are all that is asked of pairs."""
    by_roles_alone = all(procedure.by_roles and not procedure.params for procedure in procedures)
    return by_roles_alone and table.packing.n_words == 1 and not table.domain.ruled


class BatchRuns:
    """Draws tasks over one table and adds the sums of their candidates, in one compiled call for many tasks whose
    candidates stop after the same numbers of pairs."""

    def __init__(self, index: CellIndex, sums: ExchangeSums, layouts: Layouts) -> None:
        from engine.sweeps.batch_kernels import run_groups

        self._run_groups = run_groups
        self._index, self._sums, self._layouts = index, sums, layouts
        self._preparing = published_swap.Preparing(index.table)
        self._few_levels_first = np.array(self._preparing.few_levels_first, np.int64)

    def load(self) -> None:
        """Load the compiled code, or compile it, by a call for no run at all."""
        d, stops = len(self._index.table.domain), Stops(np.zeros(1, np.int64), np.zeros((2, 1), np.int64))
        structures = np.zeros((1, d), np.uint8), False, np.zeros(d, bool), self._few_levels_first
        nothing = _Laid(structures, np.zeros(1, np.int64), np.empty((3, 0), np.int64), np.zeros(1, np.int64))
        heads, swaps = np.empty((0, 4), np.int64), np.empty((0, d), bool)
        self._add(nothing, np.empty((0, 2), np.int64), kernel_states([]), stops, heads, swaps)

    def take(self, tasks: Sequence[Task]) -> bool:
        """Return whether tasks can be run so: they are :func:`drawn_as_wholes`, and groups are over the same specs and
        procedures, of one rule."""
        first = tasks[0][0]
        specs, procedures = first.specs.specs, first.specs.procedures
        return (
            drawn_as_wholes(self._index.table, procedures)
            and len({procedure.rule for procedure in procedures}) == 1
            and all(group.specs.specs is specs and group.specs.procedures is procedures for group, _ in tasks)
        )

    def run(self, tasks: Sequence[Task], keys: Sequence[Sequence[bytes]]) -> tuple[np.ndarray, np.ndarray]:
        """Scenario, replicate, status and changed records of each candidate, and the attributes that it swaps; their
        sums are added in this order.  ``keys`` are each task's derived keys."""
        groups = [group for group, _ in tasks]
        sizes, replicates = np.array([(len(group), len(numbers)) for group, numbers in tasks], np.int64).T
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        numbers = np.array([number for _, listed in tasks for number in listed], np.int64)
        runs = np.column_stack([np.repeat(np.arange(len(tasks)), replicates), numbers])
        states = kernel_states([derived for listed in keys for derived in listed])
        candidates = np.empty((3, bounds[-1]), np.int64)
        np.concatenate([group.specs.spec_codes for group in groups], out=candidates[0])
        np.concatenate([group.specs.procedure_codes for group in groups], out=candidates[1])
        np.concatenate([group.indices for group in groups], out=candidates[2])
        used = np.zeros((len(tasks), len(groups[0].specs.procedures)), bool)
        used[np.repeat(np.arange(len(tasks)), sizes), candidates[1]] = True
        n = int(sizes @ replicates)
        d = len(self._index.table.domain)
        heads, swaps = np.empty((n, 4), np.int64), np.empty((n, d), bool)
        roles, row_of = self._layouts.roles(groups[0].specs.specs)
        several_kinds = np.zeros(d, bool)
        several_kinds[list(groups[0].split_kept.several_kinds)] = True
        strict = groups[0].specs.procedures[0].rule == "strict"
        laid = _Laid((roles, strict, several_kinds, self._few_levels_first), row_of, candidates, bounds)
        self._sums.make_room(n)
        differs = (used[runs[1:, 0]] != used[runs[:-1, 0]]).any(axis=1)
        step = max(1, AT_ONCE // (len(self._index.table) + self._index.table.n_records))
        begins = sorted({*range(0, len(runs), step), *(np.flatnonzero(differs) + 1).tolist()})
        for first, end in pairwise([*begins, len(runs)]):
            some = slice(first, end)
            stops = self._layouts.stops(groups[0].specs.procedures, used[runs[first, 0]])
            self._add(laid, runs[some], states[some], stops, heads, swaps)
        return heads, swaps

    def _add(
        self,
        laid: _Laid,
        runs: np.ndarray,
        states: np.ndarray,
        stops: Stops,
        heads: np.ndarray,
        swaps: np.ndarray,
    ) -> None:
        """Add runs that have the same stops, of groups that were laid out."""
        index, sums, preparing = self._index, self._sums, self._preparing
        done = split = 0
        while True:
            cells = index.words, index.most_cells, index.buckets, index.bucket_shift
            done, split, index.n_cells, sums.n_added = self._run_groups(
                done,
                split,
                runs,
                states,
                laid.candidates,
                laid.bounds,
                laid.structures,
                stops.rows,
                (stops.place, laid.row_of),
                preparing.table_arrays,
                preparing.shift,
                published_swap.RUNS_KEPT,
                preparing.room,
                (*cells, index.counts, index.arrived, index.fresh),
                index.n_cells,
                sums.arrays(index),
                sums.n_added,
                heads,
                swaps,
            )
            if done == len(runs):
                break
            index.make_room(2 * int(stops.wanted[-1]) + 1)
