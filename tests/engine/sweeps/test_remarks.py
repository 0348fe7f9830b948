"""Remarks on a plan's candidates are values; the analyst reads one sentence for each."""

from __future__ import annotations

from engine.plan import SpacePlan
from engine.release.space import Impossibility, ImpossibilityKind, Space
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.release.specs import PairedSpecs, Specs
from engine.sweeps.warnings import (
    PredictedFailure,
    RemarkKind,
    failure_text,
    remark_text,
    space_remarks,
    widest_first,
    zero_rates,
)
from tests.small_tables import Small

SMALL = Small(((0, 0, 0), (1, 1, 1)), (2, 2, 2))
SPEC, OTHER = SMALL.spec("SUU"), SMALL.spec("USU")
FIXED = Impossibility(ImpossibilityKind.ALL_OTHERS_FIXED)


def remarks_of(n: int) -> list[tuple[RemarkKind, str]]:
    """Kinds and sentences where so many specs are merged and as many impossible."""
    plan = SMALL.plan(space=SpacePlan(rates=("0.1", "0.5"), replicates=1))
    space = Space(Specs.of([SPEC]), 1, 1, PairedSpecs.of([(SPEC, OTHER)] * n), PairedSpecs.of([(SPEC, FIXED)] * n))
    return [(remark.kind, remark_text(remark)) for remark in space_remarks(plan, space, 8)]


def test_few_specs_are_named_one_by_one():
    assert remarks_of(1) == [
        (RemarkKind.MERGED, f"'{SPEC}' is equivalent to '{OTHER}' (swap of complement) and was skipped"),
        (
            RemarkKind.IMPOSSIBLE,
            f"'{SPEC}' cannot work: no unswapped attribute may differ (all are F), so no true swap exists",
        ),
        (RemarkKind.ZERO_RATE, "rate 0.1 of 8 records rounds to zero: nothing would be swapped"),
    ]


def test_many_specs_are_counted():
    kinds = [kind for kind, _ in remarks_of(4)]
    assert [kinds.count(kind) for kind in RemarkKind] == [3, 1, 3, 1, 1, 0, 0, 0]
    texts = [text for _, text in remarks_of(1200)]
    assert "1,200 equivalent specs in all were skipped" in texts and "1,200 specs in all cannot work" in texts


def test_rates_that_round_to_zero_are_values():
    (remark,) = zero_rates(SMALL.plan(space=SpacePlan(rates=("0.1", "0.5"), replicates=1)), 8)
    assert (remark.kind, remark.rate, remark.n) == (RemarkKind.ZERO_RATE, "0.1", 8)


def test_a_predicted_failure_names_what_sets_the_bound():
    spec = ReleaseSpec(AttributeSpec(SMALL.names, "SUU"), "0.5")
    assert failure_text(PredictedFailure(spec, 260, 450, "F")) == "at most 260 pairs can differ on 'F'; 450 requested"
    assert failure_text(PredictedFailure(spec, 0, 1, "")) == "at most 0 pairs can be formed; 1 requested"


def test_remarks_on_most_candidates_come_first_and_each_once() -> None:
    assert widest_first(["9.7 % will be", "no donor", "7.6 % will be", "no donor"]) == (
        "no donor",
        "9.7 % will be",
        "7.6 % will be",
    )
