"""DU_llm: the three readings beside their literal twin, what is exactly 0, and what is refused."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.measures import call, evaluate, inference
from engine.models.loglinear import FitWarning, Model
from tests.examples import examples
from tests.small_tables import Small, release, releases, roles_for, smalls
from tests.twins import loglinear as twin
from tests.twins import random_swap as swap_twin


def values(small: Small, batch, model="aic", mode="fixed", zero="smooth", name="du_llm", attributes=None) -> np.ndarray:
    shown = model if isinstance(model, str) else model.show(small.names)
    inside = f"model={shown};mode={mode};zero={zero}"
    if attributes:
        inside += ";attributes=" + "+".join(attributes)
    return evaluate(call(f"{name}[{inside}]"), batch, small.domain, {"analyse": small.names})


@st.composite
def models(draw, d: int) -> Model:
    sets = draw(st.lists(st.sets(st.integers(0, d - 1), min_size=1, max_size=3), max_size=4))
    return Model.of([*sets, *((j,) for j in range(d))])


@st.composite
def cases(draw):
    """A small table, roles, pairs that exchange, the records after, and a model."""
    small = draw(smalls())
    assume(math.prod(small.shape) <= 100)
    roles = draw(roles_for(len(small.shape)))
    pairs = swap_twin.draw(small.records, roles, draw(st.sampled_from(["0.2", "1"])), Random(1), "loose").pairs
    return small, roles, pairs, swap_twin.exchange(small.records, pairs, roles), draw(models(len(small.shape)))


def close(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or a == pytest.approx(b, rel=1e-6, abs=1e-6)


def converges(records, small: Small, model: Model, cycles: int = 150) -> bool:
    """Whether the literal fit ends well before the limit, so that no test hangs on the last of 1000 cycles."""
    table = twin.full_table(records, range(len(small.shape)), small.shape)
    return twin.ipf(table, model.generators, cycles)[1]


# -- formulas --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(cases())
@examples(60)
def test_the_three_readings_are_those_of_the_definition(case):
    small, roles, pairs, after, model = case
    assume(converges(small.records, small, model) and converges(after, small, model))
    batch = release(small, roles, pairs)
    everything = range(len(small.shape))
    got = {}
    for mode in inference.MODES:
        got[mode] = values(small, batch, model, mode)[0]
        wanted = twin.du_llm(small.records, after, everything, small.shape, model.generators, mode)
        assert close(got[mode], wanted), (mode, model.show(small.names))
    strict = values(small, batch, model, zero="error")[0]
    assert close(strict, twin.du_llm(small.records, after, everything, small.shape, model.generators, zero="error"))
    if not math.isnan(strict):
        assert strict == got["fixed"]
        assert got["refit"] >= got["fixed"] - 1e-6, "the refitted parameters are the best ones"
    per_record = values(small, batch, model, name="du_llm_per_record")[0]
    assert per_record == got["fixed"] / len(small.records)


@given(cases(), st.sampled_from(["aic", "bic"]), st.data())
@examples(40)
def test_on_some_attributes_it_is_that_of_their_table(case, criterion, data):
    small, roles, pairs, after, _ = case
    places = sorted(data.draw(st.sets(st.integers(0, len(small.shape) - 1), min_size=1, max_size=3)))
    batch = release(small, roles, pairs)
    got = values(small, batch, criterion, attributes=[small.names[j] for j in places])[0]
    wanted = twin.du_llm(small.records, after, places, small.shape, criterion)
    assert (math.isnan(got) and len(places) == 1) or got == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@pytest.mark.slow
@given(cases())
@examples(60)
def test_the_saturated_model_with_its_parameters_kept_weighs_every_change(case):
    small, roles, pairs, after, _ = case
    everything = range(len(small.shape))
    old, new = (twin.full_table(records, everything, small.shape) for records in (small.records, after))
    assume(all(old[cell] > 0 for cell, count in new.items() if count))
    n = len(small.records)
    wanted = sum((new[c] - old[c]) * math.log(old[c] / n) for c in old if old[c])
    got = values(small, release(small, roles, pairs), Model.of([everything]))[0]
    assert got == pytest.approx(wanted, rel=1e-9, abs=1e-9)


# -- exactly 0 -------------------------------------------------------------------------------------------------------


def scattered(seed: int = 4, n: int = 60, shape: tuple[int, ...] = (2, 3, 2, 3)) -> Small:
    random = np.random.default_rng(seed)
    records = np.column_stack([random.integers(0, size, n) for size in shape])
    records[:, 2] = np.where(random.random(n) < 0.7, records[:, 0] % 2, records[:, 2])
    return Small(tuple(map(tuple, records.tolist())), shape)


@pytest.mark.parametrize("model", ["[ABC][D]", "[AB][AC][BC][D]", "[AB][C][D]"])
def test_kept_margins_give_0_exactly_but_not_with_the_multinomial_coefficient(model):
    small = scattered()
    pairs = [(i, i + 30) for i in range(25)]
    for roles in ("UUUS", "SSSU"):  # either way D parts from A, B and C, and nothing else does
        batch = release(small, roles, pairs)
        for mode in ("fixed", "refit"):
            figure = values(small, batch, model, mode)
            assert figure[0] == 0 and not np.signbit(figure)[0]
        assert abs(values(small, batch, model, "refit_full")[0]) > 0.1


@pytest.mark.parametrize("mode", inference.MODES)
def test_nothing_changed_is_0(mode):
    small = scattered()
    for model in ("aic", "bic", "[AB][BC][CD][AD]", "[ABCD]"):
        figure = values(small, release(small, "SUUU", []), model, mode)
        assert figure.tobytes() == np.zeros(1).tobytes()


def test_the_full_reading_may_be_positive():
    small = scattered()
    figures = [
        values(
            small, release(small, "UUUS", [(i, (i * step + 7) % 30 + 30) for i in range(10)]), "[ABC][D]", "refit_full"
        )
        for step in (1, 7, 11, 13, 17, 19, 23, 29)
    ]
    assert max(figures)[0] > 0 > min(figures)[0]


# -- zeros -----------------------------------------------------------------------------------------------------------


def test_a_released_record_where_the_model_allows_none():
    small = Small(((0, 0), (0, 0), (1, 1), (1, 1), (1, 0)), (2, 2))
    impossible, possible = ("US", [(0, 2)]), ("US", [(2, 4)])
    batch = releases(small, [impossible, possible])
    smooth = values(small, batch, "[AB]")
    # cells 00 01 10 11: 2 0 1 2 before, 1 1 2 1 after; smoothed p = (N + 1/4) / 6 in both terms
    assert smooth[0] == pytest.approx(
        sum(c * math.log((n + 0.25) / 6) for c, n in zip((-1, 1, 1, -1), (2, 0, 1, 2), strict=True))
    )
    assert smooth[1] == 0
    strict = values(small, batch, "[AB]", zero="error")
    assert np.isnan(strict).tolist() == [True, False] and strict[1] == 0
    assert np.isfinite(values(small, batch, "[AB]", "refit", "error")).all(), "a refitted model allows what is there"


# -- company, order, memory ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["aic", "[AB][BC][CD][AD]", "[ABC][CD]", "[ABCD]"])
def test_in_company_and_alone_the_same_bits(model):
    small = scattered()
    several = [
        (roles, swap_twin.draw(small.records, roles, rate, Random(seed)).pairs)
        for seed, (roles, rate) in enumerate([("SUUU", "0.3"), ("USUU", "1"), ("SUSU", "0.5"), ("UUUS", "0.1")])
    ]
    together = releases(small, several)
    for mode in inference.MODES:
        alone = [values(small, release(small, roles, pairs), model, mode) for roles, pairs in several]
        assert values(small, together, model, mode).tobytes() == np.concatenate(alone).tobytes()


def test_a_refit_that_begins_at_the_original_ends_where_a_fresh_one_does():
    small = scattered(n=200)
    batch = release(small, "USUU", [(i, i + 100) for i in range(60)])
    model = "[AB][AC][BC][BD]"
    after = swap_twin.exchange(small.records, [(i, i + 100) for i in range(60)], "USUU")
    generators = [(0, 1), (0, 2), (1, 2), (1, 3)]
    wanted = twin.du_llm(small.records, after, range(4), small.shape, generators, "refit")
    assert wanted < -1
    assert values(small, batch, model, "refit")[0] == pytest.approx(wanted, abs=1e-7)


@pytest.mark.slow
def test_a_refit_that_does_not_converge_is_undefined_and_a_first_fit_says_so():
    # opposite corners empty: the model without the three-way interaction has no maximum likelihood fit
    cells = {(0, 0, 1): 4, (0, 1, 0): 3, (0, 1, 1): 2, (1, 0, 0): 5, (1, 0, 1): 1, (1, 1, 0): 6}
    records = tuple(cell for cell, count in cells.items() for _ in range(count))
    small = Small(records, (2, 2, 2))
    with pytest.warns(FitWarning, match="stopped after 1000 cycles"):
        fixed = values(small, release(small, "USU", [(0, 15)]), "[AB][AC][BC]")
    assert np.isfinite(fixed).all()
    with pytest.warns(FitWarning):
        refitted = values(small, releases(small, [("USU", [(0, 15)]), ("USU", [(0, 4)])]), "[AB][AC][BC]", "refit")
    assert np.isnan(refitted).tolist() == [True, False]


# -- words -----------------------------------------------------------------------------------------------------------


def test_a_model_of_other_attributes_is_refused_at_first_use():
    small = scattered()
    batch = release(small, "SUUU", [(0, 1)])
    with pytest.raises(UsageError, match=r"names the unknown attribute 'X'. Known: A, B, C, D."):
        values(small, batch, "[ABX][C][D]")
    with pytest.raises(UsageError, match=r"leaves out 'D'; add \[D\]"):
        values(small, batch, "[AB][C]")
    assert np.isfinite(values(small, batch, "[AB][C]", attributes=("A", "B", "C")))[0]


@pytest.mark.parametrize(
    "text", ["du_llm[model=[ABC][D]]", "du_llm[model=ABC+D]", "du_llm[model=[A*B*C][D];mode=refit]"]
)
def test_a_call_keeps_its_spelling(text):
    assert str(call(text)) == text
