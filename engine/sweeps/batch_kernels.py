"""Groups of a batch drawn and summed in one compiled call.

A sweep of every spec has thousands of structures that each take a fraction of a millisecond, and what surrounds a call
of its own would take as long.

Candidates of a group by split and stop, compiled: a sweep lays out thousands of groups of few candidates each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.common.compiled import Integer, kernel
from engine.measures.exchange_kernels import exchange_sums
from engine.mechanisms.swap_kernels import draw_pairs, prepare_cells
from engine.release.scenarios import RunStatus
from engine.release.specs import C, F, S


@kernel
def lay_out(
    candidates: np.ndarray,
    roles: np.ndarray,
    swapped_role: Integer,
    masks: np.ndarray,
    place: np.ndarray,
    stops: np.ndarray,
    row_of: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Lay candidates out by split and stop.

    The rows of ``candidates`` are the codes of their specs (rows of ``roles``) and of their procedures, and their
    scenarios. ``place`` is the stop of each procedure; ``stops`` are the pairs wanted at each stop and whether nothing
    is to be swapped. ``row_of`` is scratch, an entry for each spec, -1 on entry and on return.

    Returns for each split, in the order in which they first appear, the mask of the words of its swapped attributes,
    and at which stops it has a candidate; and for each candidate, split by split, its scenario, its stop, the pairs
    wanted and whether nothing is to be swapped (a row each), and what it swaps.
    """
    d, width = masks.shape
    n, n_stops, n_rows = candidates.shape[1], stops.shape[1], 0
    split = np.empty(n, np.int64)
    for i in range(n):
        code = candidates[0, i]
        if row_of[code] < 0:
            row_of[code] = n_rows
            split[n_rows] = code
            n_rows += 1
    at = np.zeros((n_rows, n_stops), np.int64)
    for i in range(n):
        at[row_of[candidates[0, i]], place[candidates[1, i]]] = i + 1
    words, is_member = np.zeros((n_rows, width), np.int64), np.zeros((n_rows, n_stops), np.bool_)
    listed, swaps = np.empty((4, n), np.int64), np.empty((n, d), np.bool_)
    k = 0
    for row in range(n_rows):
        code = split[row]
        row_of[code] = -1
        first = k
        for stop in range(n_stops):
            if at[row, stop] > 0:
                is_member[row, stop] = True
                listed[0, k] = candidates[2, at[row, stop] - 1]
                listed[1, k] = stop
                listed[2, k] = stops[0, stop]
                listed[3, k] = stops[1, stop]
                k += 1
        for j in range(d):
            swapped = roles[code, j] == swapped_role
            for i in range(first, k):
                swaps[i, j] = swapped
            if swapped:
                for w in range(width):
                    words[row, w] |= masks[j, w]
    return words, is_member, listed, swaps


_NOOP, _OK, _FAILED = int(RunStatus.NOOP), int(RunStatus.OK), int(RunStatus.FAILED)


@kernel
def list_columns(
    roles: np.ndarray, several_kinds: np.ndarray, few_levels_first: np.ndarray, listed: np.ndarray
) -> tuple[int, int, int, bool]:
    """List the columns by which :func:`prepare_cells` sorts a structure in ``listed``; returns how many are those of
    equal attributes, up to where kinds and attributes that differ go, and whether no attribute is C.

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
    return n_equal, n_stratum, n_sorted, not constrained


@kernel
def altering_first(pairs: np.ndarray, words: np.ndarray, swapped: Integer, reached: np.ndarray) -> None:
    """Keep the pairs of cells, of one word each, that differ on more than what is ``swapped``, and lower the numbers of
    pairs ``reached`` (non-decreasing) to those that are kept: the others only trade rows."""
    n = done = 0
    for k in range(len(reached)):
        for i in range(done, reached[k]):
            if (words[pairs[i, 0], 0] ^ words[pairs[i, 1], 0]) & ~swapped != 0:
                pairs[n] = pairs[i]
                n += 1
        done = max(done, reached[k])
        reached[k] = n


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
    ``stops`` for all.  ``structures`` are roles by spec, whether the rule is strict, whether partners that are alike in
    all else only trade rows, and further arguments of :func:`list_columns`; ``places`` are the place of each procedure
    among the stops and scratch by spec, ``table``, ``shift`` and ``room`` arguments of :func:`prepare_cells`, ``index``
    and ``summing`` those of :func:`exchange_sums`.

    ``heads`` receives the scenario, replicate, status and numbers of records changed and taking part of each candidate,
    ``swaps`` what it swaps; their rows belong to the columns of sums.  Stops where the index may lack room for another
    cell; returns the task and split to go on with, the number of known cells and of columns of sums in use.
    """
    roles, strict, trades, several_kinds, few_levels_first = structures
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
    prepared, n_classes, n_runs, most, n_differ, unconstrained = -1, 0, 0, 0, 0, False
    swapped, is_member, members, swapping = lay_out(candidates[:, :0], roles, S, bits, place, stops, row_of)
    while task < len(tasks):
        g = tasks[task, 0]
        if g != prepared:
            mine = candidates[:, bounds[g] : bounds[g + 1]]
            n_equal, n_stratum, n_sorted, unconstrained = list_columns(
                roles[mine[0, 0]], several_kinds, few_levels_first, listed
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
                strict and unconstrained,
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
        if trades and unconstrained:
            altering_first(pairs, words, swapped[0, 0], reached)
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
            heads[at, 3] = 2 * reached[members[1, i]]
            heads[at, 4] = 2 * min(wanted, n_pairs)
            for j in range(d):
                swaps[at, j] = swapping[i, j]
        task += 1
    return task, split, n_cells, n_sums
