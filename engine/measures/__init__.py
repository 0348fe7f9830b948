"""All measures by name; adding one is one function and one line here."""

from __future__ import annotations

from engine.measures import (
    association,
    attack,
    attribution,
    distortion,
    edits,
    external,
    fellegi_sunter,
    inference,
    linkage,
    little_liu,
    moments,
    propensity,
    reanalysis,
    risk,
    uniques,
    weighted,
)
from engine.measures.base import (
    Figure,
    Measure,
    MeasureCall,
    evaluate,
    evaluate_records,
    original_batch,
    parse_call,
)

MEASURES: dict[str, Measure] = {
    "small_cells": risk.SMALL_CELLS,
    "hellinger": distortion.HELLINGER,
    "hellinger_large": distortion.HELLINGER_LARGE,
    "total_variation": distortion.TOTAL_VARIATION,
    "entropy_change": distortion.ENTROPY_CHANGE,
    "false_zeros": distortion.FALSE_ZEROS,
    "false_nonzeros": distortion.FALSE_NONZEROS,
    "hellinger_two_way": distortion.HELLINGER_TWO_WAY,
    "total_variation_two_way": distortion.TOTAL_VARIATION_TWO_WAY,
    "entropy_change_two_way": distortion.ENTROPY_CHANGE_TWO_WAY,
    "cramers_v_change": association.CRAMERS_V_CHANGE,
    "contingency_change": association.CONTINGENCY_CHANGE,
    "du_llm": inference.DU_LLM,
    "du_llm_per_record": inference.DU_LLM_PER_RECORD,
    "edit_failures": edits.EDIT_FAILURES,
    "ci_overlap": reanalysis.CI_OVERLAP,
    "ci_disjoint": reanalysis.CI_DISJOINT,
    "coefficient_shift": reanalysis.COEFFICIENT_SHIFT,
    "sign_changes": reanalysis.SIGN_CHANGES,
    "coefficients_lost": reanalysis.COEFFICIENTS_LOST,
    "information_loss": reanalysis.INFORMATION_LOSS,
    "mean_shift": moments.MEAN_SHIFT,
    "covariance_ratio": moments.COVARIANCE_RATIO,
    "correlation_change": moments.CORRELATION_CHANGE,
    "pmse": propensity.PMSE,
    "pmse_ratio": propensity.PMSE_RATIO,
    "pmse_tree": propensity.PMSE_TREE,
    "specks": propensity.SPECKS,
    "weighted_hellinger": weighted.WEIGHTED_HELLINGER,
    "weighted_total_variation": weighted.WEIGHTED_TOTAL_VARIATION,
    "weighted_entropy_change": weighted.WEIGHTED_ENTROPY_CHANGE,
    "weighted_margin_change": weighted.WEIGHTED_MARGIN_CHANGE,
    "r1": little_liu.R1,
    "r1_share": little_liu.R1_SHARE,
    "p1": little_liu.P1,
    "r2": little_liu.R2,
    "p2": little_liu.P2,
    "sample_uniques": uniques.SAMPLE_UNIQUES,
    "unchanged_uniques": uniques.UNCHANGED_UNIQUES,
    "k_anonymity": uniques.K_ANONYMITY,
    "k_anonymity_share": uniques.K_ANONYMITY_SHARE,
    "population_uniques": uniques.POPULATION_UNIQUES,
    "expected_matches": uniques.EXPECTED_MATCHES,
    "external_links": external.EXTERNAL_LINKS,
    "external_unmatched": external.EXTERNAL_UNMATCHED,
    "correct_attribution": attribution.CORRECT_ATTRIBUTION,
    "attribution_gain": attribution.ATTRIBUTION_GAIN,
    "distance_linkage": linkage.DISTANCE_LINKAGE,
    "probabilistic_linkage": fellegi_sunter.PROBABILISTIC_LINKAGE,
    "attack": attack.ATTACK,
}

DEFAULT = ("small_cells", "hellinger", "total_variation", "entropy_change", "false_zeros")


def call(text: str) -> MeasureCall:
    """The measure written as ``name`` or ``name[parameter=value]``."""
    return parse_call(text, MEASURES)


__all__ = [
    "DEFAULT",
    "MEASURES",
    "Figure",
    "Measure",
    "MeasureCall",
    "call",
    "evaluate",
    "evaluate_records",
    "original_batch",
]
