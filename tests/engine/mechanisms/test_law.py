"""The kernel draws what Appendix A draws: against exact laws, a record-by-record twin, and mutants that must fail.

Keys are fixed, so nothing here can flake; the thresholds leave a chance of one in a million for any key, and every kind
of test is shown to reject a swap that is nearly right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from math import sqrt
from random import Random

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from engine.common.streams import kernel_states
from engine.mechanisms import random_swap
from engine.mechanisms.random_swap import Prepared
from engine.release.spec import ReleaseSpec, multi_kind
from tests.engine.mechanisms.laws import CASES, Case, distinct, draw_many
from tests.small_tables import KEY
from tests.twins import random_swap as twin

AGREES, DIFFERS = 1e-6, 1e-9
"""A right draw must be likelier than the first, a wrong one less likely than the second."""
TWIN_RUNS = 5_000
"""Runs of the slow twin."""

Outcome = tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]


def outcome_of(pairs: Iterable[Sequence[int]]) -> Outcome:
    """As :func:`tests.twins.random_swap.law` names it."""
    drawn = [(int(a), int(b)) for a, b in pairs]
    return tuple(sorted((min(pair), max(pair)) for pair in drawn)), tuple(drawn[-1:])


def outcomes_of(draws: Iterable[np.ndarray]) -> Counter[Outcome]:
    """How often each outcome was drawn; equal draws are read once, since there are few kinds of them."""
    found: Counter[Outcome] = Counter()
    for content, times in Counter(pairs.tobytes() for pairs in draws).items():
        found[outcome_of(np.frombuffer(content, np.int64).reshape(-1, 2))] += times
    return found


def outcomes_of_many(draws: np.ndarray) -> Counter[Outcome]:
    """The same for draws side by side, in which -1 stands for pairs that were not drawn."""
    kinds, times = distinct(draws)
    outcomes = [outcome_of(pairs[pairs[:, 0] >= 0].tolist()) for pairs in kinds]
    return Counter(dict(zip(outcomes, times.tolist(), strict=True)))


def kernel_of(case: Case) -> tuple[Prepared, Callable[[int], bytes]]:
    """The cells of a case made ready, and the streams of its replicates."""
    table, _ = case.small.coded()
    structure = ReleaseSpec(case.small.spec(case.roles), "1", case.rule).structure(multi_kind(table))
    prepared = random_swap.prepare(structure, table)
    assert isinstance(prepared, Prepared)
    return prepared, random_swap.streams(KEY, structure, table)


def kernel_draws(case: Case, replicates: int, records: bool = False) -> Iterator[np.ndarray]:
    _, cell_of_record = case.small.coded()
    prepared, stream = kernel_of(case)
    wanted = case.wanted
    for replicate in range(1, replicates + 1):
        derived = stream(replicate)
        pairs = prepared.draw(derived, wanted)
        yield random_swap.records_of_pairs(derived, pairs, cell_of_record) if records else pairs


def twin_draws(case: Case, replicates: int, partner: twin.Partner = twin.any_feasible) -> list[list[tuple[int, int]]]:
    """Pairs of cells from the twin."""
    _, cell_of_record = case.small.coded()
    rng = Random(20051)
    draws = []
    for _ in range(replicates):
        drawn = twin.draw(case.small.records, case.roles, case.rate or "1", rng, case.rule, partner=partner)
        draws.append([(int(cell_of_record[a]), int(cell_of_record[b])) for a, b in drawn.pairs])
    return draws


def against_law(outcomes: Counter[Outcome], law: twin.Law) -> float:
    """Chance of a chi-square as large under the exact law; outcomes expected fewer than 8 times are taken together."""
    if set(outcomes) - set(law):
        return 0.0
    n = sum(outcomes.values())
    statistic, cells = 0.0, 0
    rare_expected = rare_seen = 0.0
    for outcome, chance in law.items():
        expected = float(chance) * n
        if expected < 8:
            rare_expected += expected
            rare_seen += outcomes[outcome]
        else:
            statistic += (outcomes[outcome] - expected) ** 2 / expected
            cells += 1
    if rare_expected >= 8:
        statistic += (rare_seen - rare_expected) ** 2 / rare_expected
        cells += 1
    return float(chi2.sf(statistic, cells - 1)) if cells > 1 else 1.0


def two_samples(one: Counter[int], other: Counter[int]) -> float:
    """Chance of a chi-square as large when both samples are of one law; values met fewer than 20 times are left out."""
    common = [value for value in one | other if one[value] + other[value] >= 20]
    if len(common) < 2:
        return 1.0
    return float(chi2_contingency([[one[value] for value in common], [other[value] for value in common]]).pvalue)


# -- mutants: swaps that are nearly right ----------------------------------------------------------------------------


def next_after_first(records, first, others, feasible, rng) -> int | None:
    """One order of records and the next feasible one after R1."""
    for candidate in sorted(others, key=lambda record: (record - first) % len(records)):
        if candidate != first and feasible(candidate):
            return candidate
    return None


def by_cell(records, first, others, feasible, rng) -> int | None:
    """A uniform cell, then a record of it."""
    able = [record for record in others if record != first and feasible(record)]
    if not able:
        return None
    cell = rng.choice(sorted({records[record] for record in able}))
    return rng.choice([record for record in able if records[record] == cell])


def few_tries(records, first, others, feasible, rng) -> int | None:
    """Rejection that gives up."""
    for _ in range(3):
        candidate = others[rng.randrange(len(others))]
        if candidate != first and feasible(candidate):
            return candidate
    return None


MUTANTS = {"next": next_after_first, "by cell": by_cell, "few tries": few_tries}


# -- exact laws ------------------------------------------------------------------------------------------------------


DEAR_LAWS = ("tight F and C", "two F cells", "one U")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in DEAR_LAWS else []) for name in CASES]
)
def test_the_kernel_has_the_exact_law(name):
    case = CASES[name]
    assert sum(case.law.values()) == 1
    assert against_law(outcomes_of(kernel_draws(case, 3_000)), case.law) > AGREES


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_kernel_has_the_exact_law_in_many_more_runs(name):
    case = CASES[name]
    prepared, stream = kernel_of(case)
    draws = draw_many(prepared, kernel_states(map(stream, range(1, 200_001))), case.wanted)
    for drawn, alone in zip(draws, kernel_draws(case, 100), strict=False):
        assert np.array_equal(drawn[: len(alone)], alone) and np.all(drawn[len(alone) :] == -1)
    assert against_law(outcomes_of_many(draws), case.law) > AGREES


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_twin_has_the_exact_law(name):
    case = CASES[name]
    runs = 500 if name == "rare partners" else TWIN_RUNS
    assert against_law(Counter(outcome_of(pairs) for pairs in twin_draws(case, runs)), case.law) > AGREES


TOLD_APART = {
    "next": ["first pair", "three pairs", "depleted", "unequal", "tight F and C", "tight C", "one U"],
    "by cell": ["first pair", "first pair, loose", "three pairs", "depleted", "unequal"],
    "few tries": ["first pair", "depleted", "depleted, loose", "unequal", "tight F and C", "one U", "two S"],
}


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "name"), [(m, name) for m, names in TOLD_APART.items() for name in names])
def test_a_swap_that_is_nearly_right_is_rejected(mutant, name):
    case = CASES[name]
    # fewer of the dearest runs: to be rejected in them asks more of the judge
    runs = 1_000 if name == "unequal" else TWIN_RUNS
    found = Counter(outcome_of(pairs) for pairs in twin_draws(case, runs, MUTANTS[mutant]))
    assert against_law(found, case.law) < DIFFERS


@pytest.mark.slow
@pytest.mark.parametrize("mutant", ["partner by cell", "first by cell"])
def test_a_wrong_kernel_is_rejected(mutant):
    """The same judge on 10,000 draws whose last pair alone is a little wrong."""
    case = CASES["three pairs"]
    rng = Random(3)
    found: Counter[Outcome] = Counter()
    for pairs in kernel_draws(case, 10_000):
        drawn = [tuple(pair) for pair in pairs.tolist()]
        a, b = drawn[-1]
        left = list(case.counts)
        for one, other in drawn[:-1]:
            left[one] -= 1
            left[other] -= 1
        if mutant == "partner by cell":
            able = [c for c in range(6) if left[c] and twin.may_swap(case.cells[a], case.cells[c], case.roles)]
            drawn[-1] = (a, rng.choice(able))
        elif rng.random() < 0.2:
            drawn[-1] = (min(a, b), max(a, b))
        found[outcome_of(drawn)] += 1
    assert against_law(found, case.law) < DIFFERS


# -- down to records -------------------------------------------------------------------------------------------------

BY_RECORD = Case(((0, 0), (0, 1), (1, 0), (1, 1)), (2, 1, 1, 2), "SU")


@pytest.mark.slow
def test_records_have_the_law_of_drawing_records():
    """Every record a cell of its own: the law over pairs of records, first and second and all."""
    records = BY_RECORD.small.records
    law = twin.law(records, [1] * len(records), BY_RECORD.roles, BY_RECORD.wanted)
    found = outcomes_of(kernel_draws(BY_RECORD, 8_000, records=True))
    assert against_law(found, law) > AGREES


@pytest.mark.slow
def test_every_partner_is_equally_likely():
    """One feasible set of q partners in cells of unequal size: each record with chance 1/q."""
    case = Case(((0, 0), (1, 1), (1, 2), (1, 3)), (1, 5, 2, 1), "SU", "0.2")
    partners = Counter(max(pair) for pairs in kernel_draws(case, 8_000, records=True) for pair in pairs.tolist())
    assert set(partners) == set(range(1, 9))
    expected = 8_000 / 8
    statistic = sum((count - expected) ** 2 / expected for count in partners.values())
    assert chi2.sf(statistic, 7) > AGREES


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(10, 3, 2, 5), (1, 1, 1, 30), (6, 7, 8, 9)])
def test_closed_form_of_one_swap_in_a_two_by_two_table(counts):
    """One pair: the cell (1, 1) loses a record with chance (n11 + n00) / n and else gains one."""
    cells = ((0, 0), (0, 1), (1, 0), (1, 1))
    n, runs = sum(counts), 8_000
    case = Case(cells, counts, "SU", str(2 / n))
    assert case.wanted == 1
    falls = sum({int(a), int(b)} == {0, 3} for pairs in kernel_draws(case, runs) for a, b in pairs)
    chance = (counts[3] + counts[0]) / n
    assert abs(falls - runs * chance) <= 4.9 * sqrt(runs * chance * (1 - chance))


# -- larger tables, record-by-record twin ----------------------------------------------------------------------------


def larger(roles: str, rate: str | None, rule: str = "strict", seed: int = 1) -> Case:
    """Some 60 records in very unequal cells of 3 x 3 x 4."""
    rng = np.random.default_rng(seed)
    drawn = np.column_stack([np.minimum(rng.geometric(0.45, 60) - 1, size - 1) for size in (3, 3, 4)])
    counted = Counter(map(tuple, drawn.tolist()))
    cells = tuple(sorted(counted))
    return Case(cells, tuple(counted[cell] for cell in cells), roles, rate, rule)


LARGER = {
    "half": larger("SUU", "0.5"),
    "all": larger("SUU", None),
    "loose": larger("SUU", None, "loose"),
    "F and C": larger("SFC", None),
    "C": larger("SCU", None),
    "one U": larger("SFU", None),
    "two S": larger("SSU", None),
    "C, loose": larger("UCS", None, "loose"),
}


def statistics(draws, case: Case) -> dict[str, Counter[int]]:
    """How many pairs, which types of pairs, and the types of the first and the last pair."""
    number: Counter[int] = Counter()
    types: Counter[int] = Counter()
    first: Counter[int] = Counter()
    last: Counter[int] = Counter()
    for pairs in draws:
        coded = [min(a, b) * 100 + max(a, b) for a, b in pairs]
        number[len(coded)] += 1
        # one pair of each run, at a place that differs from run to run: pairs of one run depend on one another
        if coded:
            types[coded[number.total() % len(coded)]] += 1
            first[coded[0]] += 1
            last[coded[-1]] += 1
    return {"number": number, "types": types, "first": first, "last": last}


@cache
def of_kernel(name: str) -> dict[str, Counter[int]]:
    case = LARGER[name]
    return statistics((pairs.tolist() for pairs in kernel_draws(case, 4000)), case)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGER)
def test_the_kernel_and_the_twin_draw_alike(name):
    case = LARGER[name]
    slow = statistics(twin_draws(case, 4000), case)
    for what, counts in of_kernel(name).items():
        assert two_samples(counts, slow[what]) > AGREES, what


@pytest.mark.slow
@pytest.mark.parametrize("mutant", ["next", "by cell"])
def test_the_comparison_tells_a_mutant_from_the_twin(mutant):
    case = LARGER["all"]
    wrong = statistics(twin_draws(case, 2000, MUTANTS[mutant]), case)
    assert min(two_samples(counts, wrong[what]) for what, counts in of_kernel("all").items()) < DIFFERS


def test_what_never_swaps_never_swaps():
    for name in ("never", "never, by class"):
        assert all(len(pairs) == 0 for pairs in kernel_draws(CASES[name], 200))


def test_a_greedy_run_may_fail_where_a_perfect_matching_exists():
    """Part of the method and not a bug: of 2 + 1 + 1 records, a pair of the two lone ones strands the others."""
    case = Case(((0, 0), (1, 1), (2, 2)), (2, 1, 1), "SU")
    numbers = Counter(len(pairs) for pairs in kernel_draws(case, 4000))
    assert set(numbers) == {1, 2}
    # pairs of the two lone records: R1 is one of them (1/2) and meets the other among three partners (1/3)
    assert abs(numbers[1] - 4000 / 6) <= 4.9 * sqrt(4000 * 5 / 36)
