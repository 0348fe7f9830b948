"""Wrong implementations are rejected by the page's own rows, and the right one is not."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from tests.papers import mutants_keys, rows_decision, rows_group_swap, rows_key_swaps, rows_maps, rows_smike
from tests.papers.mutants import MUST_BE_REJECTED, Mutant, rejections
from tests.papers.mutants_all import MUTANTS
from tests.papers.row import MOST, Row
from tests.shared import shared_file

BY_CODE = {mutant.code: mutant for mutant in MUTANTS}
AT_ONCE = (
    "M1", "M2", "D1", "D2", "D3", "D4", "R1", "R2", "R4", "K1", "S1", "S4", "G1", "G2", "G3", "W1", "W3", "L2", "L3",
)  # fmt: skip
"""Those that few simulations tell from the right implementation."""
CLEAR = 2 * MOST
"""Standard errors by which a row of few simulations misses so clearly that more of them need not be waited for."""


def _overlaps_and_ratios(quick: bool) -> list[Row]:
    n = 10 if quick else 100
    return [*rows_group_swap.overlap_rows(n), *rows_group_swap.ratio_rows(n)]


def _swaps(quick: bool) -> list[Row]:
    elsewhere = [*rows_decision.rows_elsewhere(quick), *rows_decision.rows_elsewhere_cps(quick)]
    return [*rows_decision.rows_figure_5(quick), *elsewhere]


RIGHT: dict[str, tuple[Callable[[bool], list[Row]], ...]] = {
    "M": (rows_maps.rows,),
    "D": (rows_key_swaps.rows_000, rows_key_swaps.rows_003),
    "R": (rows_key_swaps.rows_000, rows_key_swaps.rows_003),
    "K": (rows_smike.sensitivity_rows,),
    "S": (lambda quick: rows_smike.rows(quick, variants=rows_smike.VARIANTS[:1]),),
    "G": (_overlaps_and_ratios,),
    "W": (_swaps,),
    "L": (lambda quick: rows_decision.rows_counts(),),
    "L1": (lambda quick: rows_decision.rows_models(),),
}


@cache
def right(kind: str, quick: bool) -> dict[str, Row]:
    """The engine's own rows by name."""
    return {row.name: row for make in RIGHT[kind] for row in make(quick)}


def put_through(mutant: Mutant, quick: bool) -> dict[str, float]:
    """Required rows that reject a mutant."""
    for name in mutant.files:
        shared_file(*name.split("/"))
    own = right(mutant.code if mutant.code in RIGHT else mutant.code[0], quick)
    result = rejections(mutant, own, quick)
    assert result.met and set(result.met) <= set(own)
    return result.rejecting


def test_codes_are_unique_and_every_mechanism_has_doing_nothing() -> None:
    codes = [mutant.code for mutant in MUTANTS]
    assert len(set(codes)) == len(codes)
    assert {code[0] for code in codes} | {"L1"} == set(RIGHT)
    assert set(MUST_BE_REJECTED) <= set(codes) and {code[0] for code in MUST_BE_REJECTED} == set(RIGHT) - {"L", "L1"}
    assert all(BY_CODE[code].detectable for code in (*MUST_BE_REJECTED, *AT_ONCE))


@pytest.mark.slow
@pytest.mark.parametrize("code", AT_ONCE)
def test_few_simulations_reject(code: str) -> None:
    assert few(code)


@pytest.mark.slow
def test_the_right_cycles_written_plainly_are_not_rejected() -> None:
    """What is patched into MaPS is the mechanism itself unless it is told to be wrong."""
    again = mutants_keys.cycles()
    mutant = Mutant("M0", "MaPS", "nothing", lambda quick: rows_maps.rows(quick, again))
    assert {row.name: row for row in mutant.rows(True)} == right("M", True)
    assert put_through(mutant, quick=True) == {}


@cache
def few(code: str) -> dict[str, float]:
    """Required rows that reject a mutant by few simulations."""
    return put_through(BY_CODE[code], quick=True)


@pytest.mark.slow
@pytest.mark.parametrize("code", BY_CODE)
def test_as_many_simulations_as_on_the_page(code: str) -> None:
    """Required rows reject every mutant but those of which the page says that none does."""
    detectable = BY_CODE[code].detectable
    if not (detectable and max(few(code).values(), default=0.0) > CLEAR):
        assert bool(put_through(BY_CODE[code], quick=False)) == detectable
