"""Groups of a batch drawn and summed in one compiled call.

A sweep of every spec has thousands of structures that each take a fraction of a millisecond, and what surrounds a call
of its own would take as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.common.compiled import Integer, kernel
from engine.measures.exchange_kernels import exchange_sums
from engine.mechanisms.swap_kernels import draw_pairs, prepare_cells
from engine.release.results import RunStatus
from engine.release.specs import C, F, S
from engine.sweeps.layout_kernels import lay_out

_NOOP, _OK, _FAILED = int(RunStatus.NOOP), int(RunStatus.OK), int(RunStatus.FAILED)


@kernel
def list_columns(
    roles: np.ndarray, several_kinds: np.ndarray, few_levels_first: np.ndarray, strict: bool, listed: np.ndarray
) -> tuple[int, int, int, bool]:
    """List the columns by which :func:`prepare_cells` sorts a structure in ``listed``; returns how many are those of
    equal attributes, up to where kinds and attributes that differ go, and whether a pair must differ on a free one.

    ``roles`` are of any spec of the structure; ``several_kinds`` marks attributes whose swapped levels must be of one
    kind.
    """
    d = len(roles)
    n, constrained = 0, False
    for j in range(d):
        constrained |= roles[j] == C
        if roles[j] == F:
            listed[n] = j
            n += 1
    n_equal = n
    for j in range(d):
        if roles[j] == S and several_kinds[j]:
            listed[n] = d + j
            n += 1
    n_stratum = n
    for j in few_levels_first:
        if roles[j] == S or roles[j] == C:
            listed[n] = j
            n += 1
    n_sorted = n
    for j in range(d):
        if roles[j] != S and roles[j] != C and roles[j] != F:
            listed[n] = j
            n += 1
    return n_equal, n_stratum, n_sorted, strict and not constrained


@kernel
def run_groups(
    task: int,
    split: int,
    tasks: np.ndarray,
    states: np.ndarray,
    candidates: np.ndarray,
    bounds: np.ndarray,
    structures: tuple[Any, ...],
    stops: np.ndarray,
    places: tuple[Any, ...],
    table: tuple[Any, ...],
    shift: Integer,
    runs_kept: int,
    room: tuple[Any, ...],
    index: tuple[Any, ...],
    n_cells: int,
    summing: tuple[Any, ...],
    n_sums: int,
    heads: np.ndarray,
    swaps: np.ndarray,
) -> tuple[int, int, int, int]:
    """Draw tasks and sum over what their candidates touch, from split ``split`` of task ``task`` on.

    The rows of ``tasks`` are a group and a replicate, those of ``states`` the state of its stream.  Group ``g`` has the
    ``candidates`` from ``bounds[g]`` to before ``bounds[g + 1]``, as :func:`lay_out` takes them, with the same
    ``stops`` for all.  ``structures`` are roles by spec, whether the rule is strict, and further arguments of
    :func:`list_columns`; ``places`` are the place of each procedure among the stops and scratch by spec, ``table``,
    ``shift`` and ``room`` arguments of :func:`prepare_cells`, ``index`` and ``summing`` those of :func:`exchange_sums`.

    ``heads`` receives the scenario, replicate, status and number of changed records of each candidate, ``swaps`` what
    it swaps; their rows belong to the columns of sums.  Stops where the index may lack room for another cell; returns
    the task and split to go on with, the number of known cells and of columns of sums in use.
    """
    roles, strict, several_kinds, few_levels_first = structures
    place, row_of = places
    columns, sizes, cell_counts, cell_words, bits = table
    order, other, keys, begins, cells, class_start, first_class, last_class, values, guide, memo = room
    words, limit, buckets, index_shift, counts, arrived, fresh = index
    roots, x_log_x, n_rule, squares, terms, sums = summing
    m, d, n_stops = len(order), roles.shape[1], stops.shape[1]
    most_pairs = stops[0, n_stops - 1]
    pairs, pair_keys = np.empty((most_pairs, 2), np.int64), np.empty((most_pairs, 2), np.int32)
    sources = np.empty((2 + n_stops, min(2 * most_pairs, m) + 1), counts.dtype)
    known, listed, used = np.empty(n_stops, np.int64), np.empty(2 * d, np.int64), np.zeros(2, np.int64)
    reached = np.empty(n_stops, np.int64)
    runs, reach, offset = np.empty((0, 2), np.int32), np.empty(0, cells.dtype), np.empty(0, cells.dtype)
    prepared, n_classes, n_runs, most, n_differ = -1, 0, 0, 0, 0
    swapped, is_member, members, swapping = lay_out(candidates[:, :0], roles, S, bits, place, stops, row_of)
    while task < len(tasks):
        g = tasks[task, 0]
        if g != prepared:
            mine = candidates[:, bounds[g] : bounds[g + 1]]
            n_equal, n_stratum, n_sorted, must_differ = list_columns(
                roles[mine[0, 0]], several_kinds, few_levels_first, strict, listed
            )
            n_listed = n_stratum - n_equal + d
            n_classes, n_runs, most = prepare_cells(
                columns,
                sizes,
                cell_counts,
                cell_words,
                bits,
                listed[:n_listed],
                n_equal,
                n_stratum,
                n_sorted,
                must_differ,
                shift,
                order,
                other,
                keys,
                begins,
                cells,
                class_start,
                first_class,
                last_class,
                values,
                guide,
                memo,
            )
            n_differ = n_sorted - n_stratum
            n_runs = min(runs_kept, n_runs + 1)
            if n_runs + most > len(runs):
                runs = np.empty((n_runs + most, 2), np.int32)
                reach, offset = np.empty(len(runs), cells.dtype), np.empty(len(runs), cells.dtype)
            used[0] = used[1] = 0
            swapped, is_member, members, swapping = lay_out(mine, roles, S, bits, place, stops, row_of)
            prepared = g
        n_pairs = draw_pairs(
            most_pairs,
            order,
            cells,
            class_start[: n_classes + 1],
            first_class[:n_classes],
            last_class[:n_classes],
            values[: n_classes * n_differ].reshape((n_classes, n_differ)),
            guide,
            shift,
            runs[: n_runs + most],
            n_runs,
            reach[: n_runs + most],
            offset[: n_runs + most],
            memo[:n_classes],
            used,
            states[task],
            pairs,
        )
        for k in range(n_stops):
            reached[k] = min(stops[0, k], n_pairs)
        split, n_cells, n_sums = exchange_sums(
            pairs,
            reached,
            split,
            swapped,
            is_member,
            sources,
            known,
            pair_keys,
            words,
            n_cells,
            limit,
            buckets,
            index_shift,
            counts,
            arrived,
            fresh,
            roots,
            x_log_x,
            n_rule,
            squares,
            terms,
            sums,
            n_sums,
        )
        if split < len(swapped):
            break
        split = 0
        first = n_sums - members.shape[1]
        for i in range(members.shape[1]):
            wanted = members[2, i]
            at = first + i
            heads[at, 0] = members[0, i]
            heads[at, 1] = tasks[task, 1]
            heads[at, 2] = _NOOP if members[3, i] else _OK if wanted <= n_pairs else _FAILED
            heads[at, 3] = 2 * min(wanted, n_pairs)
            for j in range(d):
                swaps[at, j] = swapping[i, j]
        task += 1
    return task, split, n_cells, n_sums
