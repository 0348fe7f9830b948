"""Risk from an attack on the swap itself: attributions by an intruder who knows the method."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import combinations
from typing import NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.data.domain import Domain
from engine.data.table import occupied
from engine.measures.base import Figure, Measure
from engine.measures.linkage import decimal_parameter
from engine.mechanisms import mechanism
from engine.models.record_release import RecordRelease
from engine.release.records import ReleasedTable
from engine.release.spec import ReleaseSpec, beyond_roles, pairs_wanted

_EQUAL = 1e-9  # anything less is rounding
_TIED = 1e-6  # two posterior probabilities this near, relatively, are one
_GONE = 1e-3  # a record less likely than this to be still there is not drawn any more
_STEPS, _STEP, _DONE = 60, 0.05, 1e-3  # at most so many steps of a twentieth of the records, up to a thousandth
_ENTRIES = 50_000_000  # most combinations of a cell and a value that are held at a time


class Release(NamedTuple):
    """The released file as the public sees it: its occupied cells over all attributes and their counts."""

    cells: np.ndarray
    counts: np.ndarray
    domain: Domain


class Origins(NamedTuple):
    """For each released cell, the probability of each value of the swapped attributes before the swap.

    ``values`` are the combinations of levels of the swapped attributes that occur (rows; attributes in the order of
    ``swapped``), ``chance[x, v]`` the probability that a record released in cell x came with value v.  Every row sums
    to 1.
    """

    swapped: tuple[int, ...]
    values: np.ndarray
    chance: np.ndarray


def undo(release: Release, spec: ReleaseSpec | None) -> Origins:
    """Posterior of every released record's own values of the swapped attributes, given the released file and the spec.

    The mechanism draws a record and, uniformly, a feasible partner, so a pair (r, p) arises with odds 1/f(r) + 1/f(p),
    f being the number of a record's feasible partners before the swap; r then carried the values that p carries now.
    Whether two records are feasible is the same before and after they exchange, and f is counted in the released file,
    which is all that the intruder has.  Records are used up as pairs are drawn: expected numbers are removed in small
    steps, as many from either side, until the rate is reached or no pair is left.

    Two things are left out.  Each record has the chances it has on average, whatever became of the others.  And every
    original file is taken as equally likely beforehand: somebody who also knows how the attributes hang together could
    tell that a rare combination was made by the swap, so the attack is a lower bound on what can be undone.
    """
    cells, counts, domain = release
    swapped = () if spec is None else spec.attributes.having("S")
    to_exchange = 0.0 if spec is None else 2.0 * pairs_wanted(spec.rate, int(counts.sum()))[1]
    values, own_value = occupied([cells[:, j] for j in swapped], [domain.shape[j] for j in swapped], len(cells))
    if len(cells) * len(values) > _ENTRIES or len(values) ** 2 > _ENTRIES:
        raise EngineError(
            f"{len(cells):,} released cells with {len(values):,} values of the swapped attributes are too many to undo"
        )
    still = np.ones(len(cells))  # chance of not having been exchanged yet
    came = np.zeros((len(cells), len(values)))
    odds_of = None if spec is None else _Odds(release, spec, values, own_value)
    goal = to_exchange * _DONE
    for _ in range(_STEPS):
        if odds_of is None or to_exchange <= goal:
            break
        remaining = counts * still
        total = odds_of(remaining, remaining).sum(axis=1)
        mass = float(remaining @ total)
        if mass <= _EQUAL:
            break
        exchanged = min(to_exchange, _STEP * float(remaining[total > 0].sum()))
        # a record drawn at that pace is gone before the step is over: the rest of the step passes without it
        pace = exchanged / mass * total
        present = np.where(pace > _EQUAL, -np.expm1(-pace) / np.maximum(pace, _EQUAL), 1.0)
        now = odds_of(remaining, remaining * present) * (still * present * exchanged / mass)[:, None]
        came += now
        still = still - now.sum(axis=1)
        nearly_gone = (
            still < _GONE
        )  # rounding grows when the last records are shared out, so they are left where they are
        came[nearly_gone, own_value[nearly_gone]] += np.maximum(still[nearly_gone], 0)
        still[nearly_gone] = 0
        removed = float(counts @ now.sum(axis=1))
        to_exchange -= removed
        if removed <= goal:
            break
    came[np.arange(len(cells)), own_value] += still
    return Origins(swapped, values, came)


class _Odds:
    """The odds with which records of each released cell were paired with a record that carries each value now.

    Partners differ on every S and C, are equal on every F, of one kind on every S, and differ on some U where the
    strict rule asks for it.  Differences on C (or on the whole of U) are counted by inclusion and exclusion.
    """

    def __init__(self, release: Release, spec: ReleaseSpec, values: np.ndarray, own: np.ndarray) -> None:
        cells, _, domain = release
        self.own, self.n_values = own, len(values)
        allowed = np.ones((len(values), len(values)), bool)
        for k, j in enumerate(spec.attributes.having("S")):
            levels, kinds = values[:, k], domain.attributes[j].kind_codes[values[:, k]]
            allowed &= (levels[:, None] != levels) & (kinds[:, None] == kinds)
        self.allowed = allowed
        fixed, differing, free = (spec.attributes.having(role) for role in "FCU")
        subsets = [subset for k in range(len(differing) + 1) for subset in combinations(differing, k)]
        terms = [((-1) ** len(subset), (*fixed, *subset)) for subset in subsets]
        if spec.rule == "strict" and not differing:
            terms.append((-1, (*fixed, *free)))
        self.terms = []
        for sign, equal in terms:
            groups, group = occupied([cells[:, j] for j in equal], [domain.shape[j] for j in equal], len(cells))
            self.terms.append((sign, len(groups), group))

    def suiting(self, amounts: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Amounts of records that suit the unswapped attributes of some cells, by the value they carry."""
        amounts_by_value = np.zeros((len(rows), self.n_values))
        for sign, n_groups, group in self.terms:
            groups_here = np.unique(group[rows])
            local = np.full(n_groups, -1)
            local[groups_here] = np.arange(len(groups_here))
            local_group = local[group]
            near = local_group >= 0
            flat = local_group[near] * self.n_values + self.own[near]
            sums = np.bincount(flat, weights=amounts[near], minlength=len(groups_here) * self.n_values)
            amounts_by_value += sign * sums.reshape(len(groups_here), self.n_values)[local_group[rows]]
        return np.where(amounts_by_value > _EQUAL, amounts_by_value, 0)

    def __call__(self, counts: np.ndarray, amounts: np.ndarray) -> np.ndarray:
        """Odds by released cell and value, shape ``(cells, values)``.

        ``counts`` are the records among which partners are drawn, ``amounts`` those that pairs are summed over.
        """
        everything = np.arange(len(counts))
        drawn = self.suiting(counts, everything)
        partners = drawn @ self.allowed.T.astype(float)  # of a record of the cell, had it each of the values
        inverse = np.divide(1.0, partners, out=np.zeros_like(partners), where=partners > 0)
        suiting = drawn if amounts is counts else self.suiting(amounts, everything)
        odds = suiting * inverse
        for value in np.unique(self.own):
            rows = np.flatnonzero(self.own == value)
            # the partner came with this value and was the one to be drawn first
            odds[rows] += self.suiting(amounts * inverse[:, value], rows)
        return np.where(self.allowed[self.own] & (suiting > 0), odds, 0)


class Success(NamedTuple):
    """Results of an attack on all targets: expected numbers of correct attributions, of confident ones and of both,
    how many of the confident ones the intruder expects to be correct, and the expected hits of guessing."""

    correct: float
    confident: float
    confident_correct: float
    believed: float
    guessed: float


def attack_table(
    release: RecordRelease,
    table: ReleasedTable,
    spec: ReleaseSpec | None,
    known: Sequence[int],
    target: int | None,
    threshold: float,
) -> Success:
    """Attack every record in turn and compare with the truth."""
    domain, n = release.data.domain, release.data.n_records
    everything = range(len(domain))
    cells, inverse = occupied([table.codes(j) for j in everything], domain.shape, n)
    public = Release(cells, np.bincount(inverse, minlength=len(cells)), domain)
    origins = table.cached(("origins", spec), lambda: undo(public, spec))
    # a target is somebody's original keys; its number joins the unswapped and the swapped keys
    unswapped = [j for j in known if j not in origins.swapped]
    known_swapped = [k for k, j in enumerate(origins.swapped) if j in known]
    joint_codes = [np.concatenate([release.original.codes(j), cells[:, j]]) for j in unswapped]
    groups, group = occupied(joint_codes, [domain.shape[j] for j in unswapped], n + len(cells))
    sizes = [domain.shape[origins.swapped[k]] for k in known_swapped]
    original_codes = [release.original.codes(origins.swapped[k]) for k in known_swapped]
    released_codes = [origins.values[:, k] for k in known_swapped]
    joint_codes = [np.concatenate(pair) for pair in zip(original_codes, released_codes, strict=True)]
    keys, key = occupied(joint_codes, sizes, n + len(origins.values))
    # likelihood of the swapped keys for every released cell: the chance that its record came with them
    weight = np.zeros((len(keys), len(origins.values)))
    weight[key[n:], np.arange(len(origins.values))] = 1.0
    if target is None:
        return _records(origins.chance @ weight.T, public.counts, group[n:], group[:n], key[:n], inverse, threshold)
    truth = release.original.codes(target)
    guessed = _modal(table.codes(target), truth)
    size = domain.shape[target]
    if len(keys) * size * len(groups) > _ENTRIES:
        raise EngineError("there are too many combinations of keys and target to hold; name fewer keys")
    if target in origins.swapped:
        levels = origins.values[:, origins.swapped.index(target)]
        chances = [origins.chance[:, levels == t] @ weight[:, levels == t].T for t in range(size)]
        scores = np.stack([_sums(part_of, public.counts, group[n:], len(groups)) for part_of in chances])
    else:
        same = origins.chance @ weight.T
        having = [np.where(cells[:, target] == t, public.counts, 0) for t in range(size)]
        scores = np.stack([_sums(same, counts, group[n:], len(groups)) for counts in having])
    return _values(scores, group[:n], key[:n], truth, guessed, threshold)


def _sums(chances: np.ndarray, counts: np.ndarray, group: np.ndarray, rows: int) -> np.ndarray:
    """Sums over released records by group, for every value of the swapped keys; shape ``(rows, values)``."""
    width = chances.shape[1]
    flat = group.astype(np.int64)[:, None] * width + np.arange(width)
    return np.bincount(flat.ravel(), weights=(chances * counts[:, None]).ravel(), minlength=rows * width).reshape(
        rows, width
    )


def _records(
    chances: np.ndarray,
    counts: np.ndarray,
    group: np.ndarray,
    of_target: np.ndarray,
    keys: np.ndarray,
    cell: np.ndarray,
    threshold: float,
) -> Success:
    """Re-identification: the target is linked to the likeliest released record, one of them at random among ties."""
    rows = int(max(group.max(), of_target.max())) + 1
    total = _sums(chances, counts, group, rows)
    best = np.zeros_like(total)
    np.maximum.at(best, group, chances)
    tied = chances >= best[group] * (1 - _TIED)
    ties = _sums(tied.astype(float), counts, group, rows)[of_target, keys]
    top, all_ = best[of_target, keys], total[of_target, keys]
    hits = tied[cell, keys] & (group[cell] == of_target) & (top > 0)
    return _count(hits, ties, np.divide(top, all_, out=np.zeros(len(top)), where=all_ > 0), threshold, 1.0)


def _values(
    scores: np.ndarray, group: np.ndarray, keys: np.ndarray, truth: np.ndarray, guessed: float, threshold: float
) -> Success:
    """Attribution of a value: the likeliest level of the target attribute, one of them at random among ties."""
    best, total = scores.max(axis=0), scores.sum(axis=0)
    tied = (scores >= best * (1 - _TIED)) & (best > 0)
    posterior = np.divide(best, total, out=np.zeros_like(best), where=total > 0)[group, keys]
    return _count(tied[truth, group, keys], tied.sum(axis=0)[group, keys], posterior, threshold, guessed)


def _count(hits: np.ndarray, ties: np.ndarray, posterior: np.ndarray, threshold: float, guessed: float) -> Success:
    """Credit 1/ties for every hit, added up in an order that does not depend on the records'."""
    confident = posterior > threshold + _TIED

    def credit(which: np.ndarray) -> float:
        distinct, targets = np.unique(np.rint(ties[which]), return_counts=True)
        return float((targets / distinct).sum())

    believed = float(np.sort(posterior[confident]).sum())
    return Success(credit(hits), float(np.count_nonzero(confident)), credit(hits & confident), believed, guessed)


def _modal(released: np.ndarray, truth: np.ndarray) -> float:
    """Expected hits of naming the commonest released level for everybody."""
    counts = np.bincount(released)
    modes = np.flatnonzero(counts == counts.max())
    return float(np.isin(truth, modes).sum() / len(modes))


def wilson(successes: float, n: int) -> tuple[float, float]:
    """The 95 % score interval of a proportion (Wilson 1927, doi 10.1080/01621459.1927.10502953)."""
    z = 1.959963984540054
    share, spread = successes / n, z * z / n
    middle = (share + spread / 2) / (1 + spread)
    half = z * float(np.sqrt(share * (1 - share) / n + spread / (4 * n))) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def attack(release: RecordRelease, places: Sequence[int], target: str = "", threshold: str = "0.5") -> Figure:
    """Share of persons about whom an intruder who knows the swap is right and confident.

    Threat model.  *The intruder knows* that the random swap was used, its rate, which attributes were swapped, held
    equal or made to differ, and the rule; and, of a person known to be in the file, the true keys.  *The intruder sees*
    the released file, in no order that helps.  *The intruder does not know* the study key or anything else about who
    was paired, and holds no second release; nor, where records were drawn by weight or
    pairs refused for more than roles, that they were, which the note says.  *The intruder wants*, without ``target``,
    the person's released record; with ``target=ATTRIBUTE`` the person's true value of that attribute (which is then no
    key).

    By Bayes' rule (as Reiter 2005, doi 10.1198/016214505000000619): every released record r is the person's with
    posterior probability ``P(r had the keys before the swap) / sum over all records of the same``, where unswapped keys
    must agree, and swapped ones agree if r was left alone and are a feasible partner's if not (see :func:`undo`).  The
    value of a target that was not swapped is read off the record; that of a swapped one is inferred with the keys.  The
    intruder names the likeliest (at random among equals: credit 1/ties) and is confident if its posterior probability
    is above ``threshold``.  The figure is the expected share of all persons about whom the intruder is confident and
    right; ``threshold=0`` counts whatever is right.  Every record is attacked in turn.  As with attack-based
    assessments (Giomi et al. 2023, doi 10.56553/popets-2023-0055) the note sets it against guessing (any record, or the
    commonest released value for everybody), with a 95 % Wilson interval for a population of which these records are a
    sample.

    In [0, 1]; higher is riskier.  The unaltered data are attacked as such; NaN for a release whose spec is not known or
    that another mechanism made.  Several tables: their mean.
    """
    certain = float(_checked(target, threshold))
    domain, n = release.data.domain, release.data.n_records
    aim = domain.index(target) if target else None
    known = [j for j in places if j != aim]
    if not known:
        raise UsageError(f"attack: '{target}' is the only key; name other keys with attributes=ATTRIBUTE+ATTRIBUTE")
    untouched = all(table is release.original for table in release.tables)
    if release.spec is None and not untouched:
        return Figure(float("nan"), "attack: the scenario of the release is not known")
    if release.spec is not None and not mechanism(release.spec.mechanism).by_roles:
        return Figure(float("nan"), f"attack: it undoes the random swap, not {release.spec.mechanism}")
    results = [attack_table(release, table, release.spec, known, aim, certain) for table in release.tables]
    mean = Success(*(float(np.mean(column)) for column in zip(*results, strict=True)))
    low, high = wilson(mean.confident_correct, n)
    note = (
        f"confident and right for {mean.confident_correct:.1f} of {n} (95 % interval {low * 100:.2f} to "
        f"{high * 100:.2f} %) in {mean.confident:.1f} confident attributions; right for {mean.correct:.1f} of {n} "
        f"with any confidence against {mean.guessed:.1f} by guessing"
    )
    unknown = beyond_roles(release.spec, domain) if release.spec is not None else ()
    if unknown:
        note += f"; the intruder does not know that {' and that '.join(unknown)}: who does may do better"
    return Figure(mean.confident_correct / n, note)


def _checked(target: str, threshold: str) -> Decimal:
    certain = decimal_parameter("attack", "threshold", threshold)
    if not 0 <= certain < 1:
        raise UsageError(f"attack: threshold == {threshold}, must be at least 0 and below 1.")
    return certain


ATTACK = Measure.of(
    attack,
    "risk",
    symbol="BA",
    title="Attack by somebody who knows the swap",
    share_of="records",
    source="Bayes' rule over the mechanism's pairs; after Reiter (2005), doi 10.1198/016214505000000619",
    meaning=(
        "The share of persons for whom an intruder is right, and more than half sure, about which released record "
        "(or which value of a target attribute) is theirs. The intruder knows their keys, the swapped attributes "
        "and the rate."
    ),
    check=_checked,
    undefined="the scenario of the release is not known, or another mechanism made it",
    needs="records",
    cost="milliseconds; grows with occupied cells times values of the swapped attributes",
)
