"""Cautions are values: each kind has words for the analyst, and words without figures for the members of a board."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest

from engine.decision.cautions import Caution, CautionKind, caution_text
from engine.decision.slope import BeatenByOriginal
from engine.frontier.chance import ShareWithin
from engine.report.decision_history import member_text

_FIGURES = {"value": 0.12345678, "bound": 0.1, "changed": 1234, "runs": 9, "sweep": "running", "done": 3, "total": 1000}
_TOLD = {  # what the analyst reads, and studies store, word for word
    CautionKind.RISK_UNDEFINED: "its share at risk is undefined (no record), so it takes no part in the frontier",
    CautionKind.RISKIER_THAN_ORIGINAL: "its mean risk is above that of releasing the data unchanged",
    CautionKind.BEATEN_BY_ORIGINAL: "by the slope that picks it, doing nothing is better: risk + slope × loss of"
    " utility is 0.30001 for it and 0.30002 for the data unchanged",
    CautionKind.OFF_PLAN: "it is not the one that the plan's rule picks",
    CautionKind.CHANGES_NOTHING: "it changes nothing: the release is the original",
    CautionKind.PARTIAL_RUN: "the run to be released is partial: 1,234 records were swapped, then none could",
    CautionKind.NEAR_BOUND: "its mean share at risk, 0.12346, is within two standard errors of the bound 0.1",
    CautionKind.NOISE_UNKNOWN: "its mean share at risk, 0.12346, rests on 9 runs, too few to say how near the bound 0.1"
    " it is",
    CautionKind.UNSETTLED: "18 of 20 runs (95 % interval 68 to 99 %) meet the bound 0.1, which does not settle whether"
    " 90 % of all runs do",
    CautionKind.NOT_RECHECKED: "its figures are those that led to the choice; it has not been run again on fresh"
    " replicates",
    CautionKind.SWEEP_UNFINISHED: "the sweep is running: 3 of 1,000 runs so far",
    CautionKind.UNEVEN_GROUPS: "one group carries much of the change: the share of altered records is 0.12 times that"
    " of all records",
}


def _caution(kind: CautionKind) -> Caution:
    beaten = BeatenByOriginal(0.30001, 0.30002, False) if kind is CautionKind.BEATEN_BY_ORIGINAL else None
    share, asked = ShareWithin(18, 20, 0.68, 0.99), Fraction(9, 10)
    figures: dict[str, Any] = {**_FIGURES, "beaten": beaten, "share": share, "probability": asked}
    return Caution(kind, "share at risk", "no record", **figures)


@pytest.mark.parametrize("kind", CautionKind)
def test_the_analyst_reads_every_caution_with_its_figures(kind: CautionKind) -> None:
    assert caution_text(_caution(kind)) == _TOLD[kind]


@pytest.mark.parametrize("kind", CautionKind)
def test_a_member_reads_no_figure_of_risk_and_no_number_of_records_in_a_caution(kind: CautionKind) -> None:
    if kind is CautionKind.SWEEP_UNFINISHED:  # runs of a sweep are no secret
        assert member_text(_caution(kind)) == _TOLD[kind]
    else:
        assert not re.search(r"\d", member_text(_caution(kind)))


def test_who_carries_the_change_is_no_word_for_members() -> None:
    caution = Caution(CautionKind.UNEVEN_GROUPS, group="Race: Other", value=3.45)
    assert "Race: Other" in caution_text(caution) and "3.5 times" in caution_text(caution)
    assert member_text(caution) == ""
