"""Risk on unswapped keys: every mechanism, the laws, refusals, and what the comparison with the twins rejects."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.measures import call, evaluate, small_cells
from engine.measures import small_cells as unswapped_keys
from engine.sweeps.realisations import figure as on_records
from tests.examples import examples
from tests.record_releases import released
from tests.small_tables import Small, release, releases, roles_for, smalls
from tests.twins import disclosure
from tests.twins import random_swap as swap_twin

NAMES = ("small_cells_unswapped", "uniques_unswapped", "expected_matches_unswapped", "small_cells_subset[size=2]")


def figure(text: str, small: Small, batch) -> np.ndarray:
    return evaluate(call(text), batch, small.domain, {"keys": small.names, "analyse": small.names})


def by_twin(text: str, small: Small, after) -> float:
    asked = call(text)
    return disclosure.TWINS[asked.measure.name](
        small.records, after, range(len(small.shape)), small.shape, **asked.values
    )


@pytest.mark.slow
@given(smalls(), st.data())
@examples(40)
def test_any_mechanism(small, data):
    """Whatever changes in a release, cell counts and one-way tables among it: one or two tables, averaged."""
    altered = data.draw(st.sets(st.integers(0, len(small.shape) - 1)))
    random, tables = Random(data.draw(st.integers(0, 99))), []
    for _ in range(data.draw(st.integers(1, 2))):
        tables.append(
            [
                tuple(
                    random.randrange(small.shape[j]) if j in altered and random.random() < 0.4 else level
                    for j, level in enumerate(record)
                )
                for record in small.records
            ]
        )
    made = released(small, tables)
    for text in NAMES:
        wanted = [by_twin(text, small, after) for after in tables]
        name, _, inside = text.rstrip("]").partition("[")
        keys = "attributes=" + "+".join(small.names)
        got, _ = on_records(call(f"{name}[{';'.join(filter(None, (inside, keys)))}]"), made)
        assert got == pytest.approx(sum(wanted) / len(wanted), nan_ok=True), text


def test_who_ignores_a_swapped_key_sees_true_values():
    """By hand: on A and B two records stand alone and two together; all keys swapped leave one cell of everybody."""
    small = Small(((0, 0, 0), (0, 1, 1), (1, 1, 0), (1, 1, 1)), (2, 2, 2))
    batch = releases(small, [("UUS", [(0, 1)]), ("SSS", [(0, 2)]), ("SUU", []), ("SUU", [(0, 2)])])
    assert figure("small_cells_unswapped", small, batch).tolist() == [1, 0, 1, 1]
    assert figure("small_cells_unswapped[n_rule=2]", small, batch).tolist() == [0.5, 0, 1, 0.5]
    assert figure("uniques_unswapped", small, batch).tolist() == [2, 0, 4, 2]
    assert figure("expected_matches_unswapped", small, batch).tolist() == [3, 0, 4, 3]


@pytest.mark.slow
@given(smalls(), st.data(), st.integers(0, 99))
@examples(40)
def test_laws(small, data, seed):
    roles = data.draw(roles_for(len(small.shape)))
    pairs = swap_twin.draw(small.records, roles, "0.5", Random(seed), "loose").pairs
    batch, n, d = release(small, roles, pairs), len(small.records), len(small.shape)
    rising = [figure(f"small_cells_unswapped[n_rule={rule}]", small, batch)[0] for rule in range(2, 8)]
    assert rising == sorted(rising)
    uniques = figure("uniques_unswapped", small, batch)[0]
    assert uniques == figure("expected_matches_unswapped[n_rule=2]", small, batch)[0]
    assert uniques == pytest.approx(n * rising[0])
    # the keys left alone tell no more than all keys tell of the original
    nothing = release(small, roles, [])
    assert rising[1] <= figure("small_cells", small, nothing)[0] + 1e-12
    assert figure("small_cells_unswapped", small, nothing)[0] == figure("small_cells", small, nothing)[0]
    # all keys are one subset, and more than there are is the same
    whole = [figure(f"small_cells_subset[size={size}]", small, batch)[0] for size in (d, d + 3)]
    for got in whole:
        assert got == pytest.approx(figure("small_cells", small, batch)[0], nan_ok=True)


# -- what the comparison with the twins rejects ----------------------------------------------------------------------

TEXTS = (*NAMES, "small_cells_unswapped[n_rule=4]", "expected_matches_unswapped[n_rule=2]")


def agrees(number: int = 40) -> bool:
    random = Random(6)
    for _ in range(number):
        d = random.randint(2, 4)
        shape = tuple(random.randint(2, 3) for _ in range(d))
        records = tuple(tuple(random.randrange(size) for size in shape) for _ in range(random.randint(6, 25)))
        roles = "S" + "".join(random.choice("UUS") for _ in range(d - 2)) + "U"
        small, pairs = Small(records, shape), swap_twin.draw(records, roles, "0.4", random, "loose").pairs
        pairs = pairs if random.random() < 0.8 else []
        after, batch = swap_twin.exchange(records, pairs, roles), release(small, roles, pairs)
        for text in TEXTS:
            if figure(text, small, batch)[0] != pytest.approx(by_twin(text, small, after), nan_ok=True):
                return False
    return True


@pytest.mark.slow
def test_the_twins_agree():
    assert agrees()


_small_cells = small_cells.small_cells
MUTANTS = {
    "no key is swapped": ("_swaps", lambda batch: np.zeros_like(batch.swaps)),
    "keys that nobody changed are swapped too": ("_swaps", lambda batch: batch.swaps),
    "n_rule records are few": ("small_cells", lambda batch, n_rule: _small_cells(batch, n_rule + 1)),
    "swapped keys in place of unswapped ones": ("_swaps", lambda batch: ~(batch.swaps & (batch.changed > 0)[:, None])),
    "sets of one key fewer": ("combinations", lambda keys, size: [tuple(keys)[: max(size - 1, 1)]]),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_twins_reject(name, monkeypatch):
    monkeypatch.setattr(unswapped_keys, *MUTANTS[name])
    assert not agrees()


# -- words -----------------------------------------------------------------------------------------------------------


def test_too_many_sets_of_keys_are_refused():
    small = Small(tuple((0,) * 24 for _ in range(4)), (1,) * 24)
    with pytest.raises(UsageError, match=r"24 keys have 10,626 sets of 4, must be at most 2,000; name fewer keys"):
        figure("small_cells_subset[size=4]", small, release(small, "S" + "U" * 23, []))
    assert figure("small_cells_subset[size=2]", small, release(small, "S" + "U" * 23, []))[0] == 0


def test_no_unaltered_record_on_any_set_is_undefined():
    small = Small(((0, 0), (1, 1)), (2, 2))
    assert math.isnan(figure("small_cells_subset[size=1]", small, release(small, "SS", [(0, 1)]))[0])
    assert figure("small_cells_subset[size=1]", small, release(small, "SU", [(0, 1)]))[0] == 1
