"""Integer kernels that find donors for units that exchange their places.

Donors of one level stand in lists, one a group of units that agree on a profile, in the order of their race.  Two
places are kept of each list: of the first donor that is left, and of the first one left that lies in another area than
that.  Both only move forward.  The donor of an initiator is the first one, or where that is its neighbour the second,
so all searches of a level together cost as much as going through the lists once.
"""

from __future__ import annotations

import numpy as np

from engine.common.compiled import Integer, kernel


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
