"""Integer kernels that find donors for units that exchange their places.

Donors of one level stand in lists, one a group of units that agree on a profile, in the order of their race.  Two
places are kept of each list: of the first donor that is left, and of the first one left that lies in another area than
that.  Both only move forward.  The donor of an initiator is the first one, or where that is its neighbour the second,
so all searches of a level together cost as much as going through the lists once.

Kernels that find partners of least bias in neighbouring cells, for targets of a survey swap.

Donors stand cell by cell, in each cell by weight and then by rank, a random order of all records.  A target looks into
the nearest cell before its own and the nearest one after it that hold a donor of its zone.  In each it takes the donor
whose weight is nearest to its own, and of the two the one of less bias.  Of donors that are alike the one whose rank
comes first after the target's own is taken, going around, so that every target has a random order of its own.

Weights and values are floating point numbers that are only subtracted, multiplied once and compared, so the compiled
and the plain run give the same bits.

Integer kernels that find partners for records that exchange their keys.

Records stand at *positions* sorted by key cell, so that a record's cell is one run of positions.  A binary indexed tree
(Fenwick 1994, doi 10.1002/spe.4380240306) counts who is still in the pool: how many there are outside a run and which
of them is the r-th cost ``O(log n)``, so a partner is drawn with one uniform integer, exactly and without rejection,
however lopsided the cells are.

Kernels that choose by weights: a partner for each visited record, a key cell for each imputed one.

Weights are added up in order and compared, never multiplied with one another, so that compiled and plain runs give the
same bits.
"""

from __future__ import annotations

import numpy as np

from engine.common.compiled import Integer, below, kernel


@kernel
def in_groups(order: np.ndarray, group: np.ndarray, start: np.ndarray, members: np.ndarray) -> None:
    """List the units of ``order`` group by group, in their order.

    ``group`` is each unit's group; ``start`` (one longer than the groups, zeros on entry) names on return where each
    begins in ``members``, which has the length of ``order``.
    """
    for u in order:
        start[group[u] + 1] += 1
    for g in range(len(start) - 1):
        start[g + 1] += start[g]
    at = start.copy()
    for u in order:
        members[at[group[u]]] = u
        at[group[u]] += 1


@kernel
def refused(u: Integer, v: Integer, met: np.ndarray, place_met: np.ndarray, place: np.ndarray) -> bool:
    """Return whether an exchange of places between units ``u`` and ``v`` breaks an edit rule that was not broken
    before.

    ``met[u]`` has a bit for each rule whose other side some member of the unit meets, ``place_met[a]`` one for each
    rule whose geographic side the lowest area meets; ``place`` is each unit's lowest area.
    """
    for w in range(met.shape[1]):
        at_u, at_v = place_met[place[u], w], place_met[place[v], w]
        if (met[u, w] & at_v & ~at_u) | (met[v, w] & at_u & ~at_v):
            return True
    return False


@kernel
def move_on(
    s: Integer, members: np.ndarray, end: Integer, area: np.ndarray, taken: np.ndarray, left: np.ndarray
) -> None:
    """Move the two places ``left[s]`` of a list forward past donors that are taken."""
    first, second = left[s, 0], left[s, 1]
    while first < end and taken[members[first]]:
        first += 1
    if second <= first:
        second = first + 1
    while second < end and (taken[members[second]] or area[members[second]] == area[members[first]]):
        second += 1
    left[s, 0], left[s, 1] = first, second


@kernel
def find(
    u: Integer,
    s: Integer,
    members: np.ndarray,
    end: Integer,
    area: np.ndarray,
    taken: np.ndarray,
    left: np.ndarray,
    rules: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> int:
    """The first donor of list ``s`` that is left, lies outside the area of ``u`` and is not refused; -1 where there is
    none.  ``rules`` are the arguments of :func:`refused`, then counts, of which the first grows by each refused one.
    """
    move_on(s, members, end, area, taken, left)
    at = left[s, 0]
    if at < end and area[members[at]] == area[u]:
        at = left[s, 1]
    met, place_met, place, counts = rules
    while at < end:
        v = members[at]
        if not taken[v] and area[v] != area[u]:
            if not refused(u, v, met, place_met, place):
                return int(v)
            counts[0] += 1
        at += 1
    return -1


@kernel
def swap_level(
    turns: np.ndarray,
    area: np.ndarray,
    donor_area: np.ndarray,
    must: np.ndarray,
    lowest: np.ndarray,
    quota: np.ndarray,
    begun: np.ndarray,
    lists: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    taken: np.ndarray,
    barred: np.ndarray,
    limits: tuple[bool, bool],
    rules: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    partner: np.ndarray,
    profile_used: np.ndarray,
) -> int:
    """Let the units of ``turns`` take turns at one level; returns how many found no donor.

    ``turns`` is sorted by ``area``, in each area those that ``must`` swap first.  ``lists`` holds ``(members, start,
    slot, left)``: donors list by list, where each list begins, the list of each profile and unit, and the two places
    of each list.  ``taken`` units are no donors any more, ``barred`` ones no initiators.  ``limits`` says whether this
    is the last level, where an area goes on until its ``quota`` (less what it has ``begun``) is reached, and whether
    those that must swap stop there too.  ``rules`` are as :func:`find` takes them; the second of their counts grows by
    those who find no donor only because of them.  ``partner`` is the identity for who has not swapped; ``profile_used``
    is the profile by which an initiator found its donor.
    """
    members, start, slot, left = lists
    last, within = limits
    counts = rules[3]
    n_failed = 0
    i = 0
    while i < len(turns):
        here = area[turns[i]]
        end = i
        n_must = 0
        while end < len(turns) and area[turns[end]] == here:
            u = turns[end]
            if must[u] and not barred[u] and partner[u] == u:
                n_must += 1
            end += 1
        wanted = n_must
        if last:
            more = quota[lowest[turns[i]]] - begun[lowest[turns[i]]]
            wanted = max(more, 0) if within else max(n_must, more)
        for t in range(i, end):
            u = turns[t]
            if wanted == 0:
                break
            if barred[u] or partner[u] != u:
                continue
            if within and not last and begun[lowest[u]] >= quota[lowest[u]]:
                continue
            wanted -= 1
            donor = -1
            n_refused = counts[0]
            for p in range(len(slot)):
                s = slot[p, u]
                donor = find(u, s, members, start[s + 1], donor_area, taken, left, rules)
                if donor >= 0:
                    profile_used[u] = p
                    break
            if donor < 0:
                n_failed += 1
                barred[u] = True
                if counts[0] > n_refused:
                    counts[1] += 1
                continue
            partner[u], partner[donor] = donor, u
            taken[u] = taken[donor] = True
            begun[lowest[u]] += 1
        i = end
    return n_failed


Rules = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""The last arguments of :func:`refused`, then counts: of refused pairs, and of targets that found no partner only
because of them."""


@kernel
def after(p: Integer, t: Integer, rank: np.ndarray) -> int:
    """The number of steps by which the rank of ``p`` comes after that of ``t``, going around."""
    steps = int(rank[p]) - int(rank[t])
    return steps if steps >= 0 else steps + len(rank)


@kernel
def alike(
    t: Integer, begin: Integer, end: Integer, donors: np.ndarray, rank: np.ndarray, taken: np.ndarray, rules: Rules
) -> int:
    """The first donor after target ``t`` among the places ``begin`` to ``end`` of ``donors``, which are sorted by rank;
    -1 where all are taken or refused."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if rank[donors[middle]] < rank[t]:
            low = middle + 1
        else:
            high = middle
    met, place_met, place, counts = rules
    for step in range(end - begin):
        at = low + step if low + step < end else low + step - end + begin
        p = int(donors[at])
        if not taken[p]:
            if not refused(t, p, met, place_met, place):
                return p
            counts[0] += 1
    return -1


@kernel
def nearest(
    t: Integer,
    begin: Integer,
    end: Integer,
    donors: np.ndarray,
    group: tuple[np.ndarray, np.ndarray],
    weight: np.ndarray,
    rank: np.ndarray,
    taken: np.ndarray,
    rules: Rules,
) -> int:
    """The donor among the places ``begin`` to ``end`` whose weight is nearest to that of target ``t``; -1 where all are
    taken or refused.  ``group`` says of each place where donors of its weight begin and end."""
    starts, ends = group
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if weight[donors[middle]] < weight[t]:
            low = middle + 1
        else:
            high = middle
    lighter, heavier = low - 1, low
    while lighter >= begin or heavier < end:
        below = weight[t] - weight[donors[lighter]] if lighter >= begin else np.inf
        above = weight[donors[heavier]] - weight[t] if heavier < end else np.inf
        best = -1
        if below <= above:
            best = alike(t, int(starts[lighter]), lighter + 1, donors, rank, taken, rules)
            lighter = int(starts[lighter]) - 1
        if above <= below:
            other = alike(t, heavier, int(ends[heavier]), donors, rank, taken, rules)
            if best < 0 or (other >= 0 and after(other, t, rank) < after(best, t, rank)):
                best = other
            heavier = int(ends[heavier])
        if best >= 0:
            return int(best)
    return -1


@kernel
def skip_empty(c: Integer, step: Integer, left: np.ndarray, following: np.ndarray) -> int:
    """The first cell from ``c`` on that holds a donor, in the direction of ``step``; ``following`` remembers what was
    skipped.  Returns -1 or the number of cells where there is none."""
    at = c
    while 0 <= at < len(left) and left[at] == 0:
        at = following[at]
    while 0 <= c < len(left) and left[c] == 0:
        skipped = c
        c = following[c]
        following[skipped] = at
    return int(at)


@kernel
def find_partners(
    targets: np.ndarray,
    cell: np.ndarray,
    zone: np.ndarray,
    donors: np.ndarray,
    start: np.ndarray,
    group: tuple[np.ndarray, np.ndarray],
    weight: np.ndarray,
    value: np.ndarray,
    rank: np.ndarray,
    taken: np.ndarray,
    rules: Rules,
    partner: np.ndarray,
) -> int:
    """Let all targets choose in rounds until none is left that could; returns the number of rounds.

    ``cell`` is each record's cell, ``zone`` each cell's zone; cells of one zone follow each other.  ``start`` says
    where each cell's ``donors`` begin, ``value`` is each record's figure in the bias.  ``taken`` is True for all who
    are no donors, ``partner`` the identity; both are changed.  Where several targets choose one donor, the one of least
    bias keeps it and the others choose again.
    """
    n_cells = len(zone)
    left = np.zeros(n_cells, np.int64)
    for p in donors:
        left[cell[p]] += 1
    down, up = np.arange(n_cells) - 1, np.arange(n_cells) + 1
    choice = np.full(len(partner), -1, np.int64)
    claimed = np.full(len(partner), -1, np.int64)
    waiting = targets.copy()
    counts = rules[3]
    rounds = 0
    while len(waiting):
        rounds += 1
        for t in waiting:
            choice[t] = -1
            n_refused = counts[0]
            for step in (-1, 1):
                c = skip_empty(cell[t] + step, step, left, down if step < 0 else up)
                p = -1
                while p < 0 and 0 <= c < n_cells and zone[c] == zone[cell[t]]:
                    p = nearest(t, start[c], start[c + 1], donors, group, weight, rank, taken, rules)
                    if p < 0:
                        c = skip_empty(c + step, step, left, down if step < 0 else up)
                if p >= 0 and (choice[t] < 0 or better(t, p, t, choice[t], weight, value, rank)):
                    choice[t] = p
            p = choice[t]
            if p < 0 and counts[0] > n_refused:
                counts[1] += 1
            if p >= 0 and (claimed[p] < 0 or better(t, p, claimed[p], p, weight, value, rank)):
                claimed[p] = t
        again = 0
        for i in range(len(waiting)):
            t = waiting[i]
            p = choice[t]
            if p < 0:
                continue
            if claimed[p] == t:
                partner[t], partner[p] = p, t
                taken[p] = True
                left[cell[p]] -= 1
            else:
                waiting[again] = t
                again += 1
        waiting = waiting[:again]
    return rounds


@kernel
def better(
    t: Integer, p: Integer, other_t: Integer, other_p: Integer, weight: np.ndarray, value: np.ndarray, rank: np.ndarray
) -> bool:
    """Return whether an exchange of ``t`` and ``p`` has less bias than that of the others, or is alike and comes
    first."""
    bias = np.abs(weight[t] - weight[p]) * np.abs(value[t] - value[p])
    other = np.abs(weight[other_t] - weight[other_p]) * np.abs(value[other_t] - value[other_p])
    if bias != other:
        return bool(bias < other)
    return after(p, t, rank) < after(other_p, other_t, rank)


@kernel
def plant(tree: np.ndarray, pool: np.ndarray) -> int:
    """Fill ``tree`` (length ``n + 1``) with the counts of ``pool`` (length ``n``, 0 or 1); returns their sum."""
    n = len(pool)
    total = 0
    for p in range(n):
        tree[p + 1] += pool[p]
        total += pool[p]
        parent = p + 1 + ((p + 1) & -(p + 1))
        if parent <= n:
            tree[parent] += tree[p + 1]
    return total


@kernel
def ahead(tree: np.ndarray, p: Integer) -> int:
    """Number of positions among ``0..p-1`` that are in the pool."""
    count = 0
    while p > 0:
        count += tree[p]
        p -= p & -p
    return count


@kernel
def take_out(tree: np.ndarray, p: Integer) -> None:
    """Take position ``p`` out of the pool."""
    at = p + 1
    while at < len(tree):
        tree[at] -= 1
        at += at & -at


@kernel
def place_of(tree: np.ndarray, rank: Integer) -> Integer:
    """The position in the pool that has exactly ``rank`` pool positions ahead of it."""
    step = 1
    while 2 * step < len(tree):
        step *= 2
    at = 0
    while step > 0:
        if at + step < len(tree) and tree[at + step] <= rank:
            at += step
            rank -= tree[at]
        step //= 2
    return at


@kernel
def pair_up(
    visits: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    pool: np.ndarray,
    tree: np.ndarray,
    state: np.ndarray,
    source: np.ndarray,
) -> int:
    """Visit positions in order; each that is not yet swapped exchanges with one drawn from the pool outside its run.

    Visit ``v`` excludes positions ``low[v]..high[v]-1``, which hold ``visits[v]`` itself.  ``pool`` (0 or 1 per
    position) says who may be drawn; whoever has swapped leaves it.  ``tree`` is scratch of zeros, one longer.
    ``source`` is the identity on entry and names on return whose keys each position carries.  Returns how many found no
    partner.
    """
    n_left = plant(tree, pool)
    unpaired = 0
    for v in range(len(visits)):
        p = visits[v]
        if source[p] != p:
            continue
        before = ahead(tree, low[v])
        in_run = ahead(tree, high[v]) - before
        if n_left == in_run:
            unpaired += 1
            continue
        rank = below(state, n_left - in_run)
        if rank >= before:
            rank += in_run
        q = np.int64(place_of(tree, rank))
        source[p] = q
        source[q] = p
        take_out(tree, q)
        n_left -= 1
        if pool[p]:
            take_out(tree, p)
            n_left -= 1
    return unpaired


@kernel
def exchange(
    visits: np.ndarray,
    uniforms: np.ndarray,
    ends: np.ndarray,
    candidates: np.ndarray,
    weights: np.ndarray,
    free: np.ndarray,
    source: np.ndarray,
) -> None:
    """Visit records in order; each that is ``free`` stays (weight 1) or exchanges with a free one of its candidates.

    Visit ``v`` has the ``candidates`` that end at ``ends[v]``, ascending, with their ``weights``, and uses
    ``uniforms[v]``.  Who exchanges is free no more, and ``source`` names whose keys it carries.
    """
    begin = 0
    for v in range(len(visits)):
        first, end, i = begin, ends[v], visits[v]
        begin = end
        if not free[i]:
            continue
        free[i] = False
        total, last = 0.0, -1
        for k in range(first, end):
            if free[candidates[k]]:
                total += weights[k]
                last = k
        chosen = uniforms[v] * (1.0 + total)
        # A number below 1 out of the sum of all weights stays.
        if last < 0 or chosen < 1.0:
            free[i] = True
            continue
        total = 0.0
        for k in range(first, last + 1):
            if free[candidates[k]]:
                total += weights[k]
                if k == last or 1.0 + total > chosen:
                    j = candidates[k]
                    source[i], source[j] = j, i
                    free[j] = False
                    break


@kernel
def below_largest(logarithms: np.ndarray) -> None:
    """Take each row's largest number off the row."""
    for i in range(len(logarithms)):
        largest = logarithms[i, 0]
        for k in range(1, logarithms.shape[1]):
            if logarithms[i, k] > largest:
                largest = logarithms[i, k]
        for k in range(logarithms.shape[1]):
            logarithms[i, k] -= largest


@kernel
def choose(weights: np.ndarray, uniforms: np.ndarray, chosen: np.ndarray) -> None:
    """Fill ``chosen`` with the place in each row at which the sum of its weights passes ``uniforms`` of their total."""
    last = weights.shape[1] - 1
    for i in range(len(weights)):
        total = 0.0
        for k in range(last + 1):
            total += weights[i, k]
        target = uniforms[i] * total
        place, passed = 0, weights[i, 0]
        while place < last and passed <= target:
            place += 1
            passed += weights[i, place]
        chosen[i] = place
