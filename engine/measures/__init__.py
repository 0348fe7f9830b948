"""All measures by name.

A new one is a function in a file of this package and a line here; :func:`register` adds one from outside
(docs/extending.md).
"""

from __future__ import annotations

from engine.common.registry import Registry
from engine.measures import (
    association,
    attack,
    attribute_disclosure,
    attribution,
    detection,
    distortion,
    edits,
    external,
    fellegi_sunter,
    households,
    inference,
    linkage,
    little_liu,
    moments,
    propensity,
    rarity,
    reanalysis,
    small_cells,
    uniques,
    unswapped_keys,
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

_BUILT_IN = {
    measure.name: measure
    for measure in (
        small_cells.SMALL_CELLS,
        distortion.HELLINGER,
        distortion.HELLINGER_LARGE,
        distortion.TOTAL_VARIATION,
        distortion.ENTROPY_CHANGE,
        distortion.FALSE_ZEROS,
        distortion.FALSE_NONZEROS,
        distortion.HELLINGER_TWO_WAY,
        distortion.TOTAL_VARIATION_TWO_WAY,
        distortion.ENTROPY_CHANGE_TWO_WAY,
        distortion.LARGEST_TWO_WAY,
        association.CRAMERS_V_CHANGE,
        association.CONTINGENCY_CHANGE,
        inference.DU_LLM,
        inference.DU_LLM_PER_RECORD,
        edits.EDIT_FAILURES,
        reanalysis.CI_OVERLAP,
        reanalysis.CI_DISJOINT,
        reanalysis.COEFFICIENT_SHIFT,
        reanalysis.SIGN_CHANGES,
        reanalysis.COEFFICIENTS_LOST,
        reanalysis.INFORMATION_LOSS,
        moments.MEAN_SHIFT,
        moments.COVARIANCE_RATIO,
        moments.CORRELATION_CHANGE,
        propensity.PMSE,
        propensity.PMSE_RATIO,
        propensity.PMSE_TREE,
        propensity.SPECKS,
        weighted.WEIGHTED_HELLINGER,
        weighted.WEIGHTED_TOTAL_VARIATION,
        weighted.WEIGHTED_ENTROPY_CHANGE,
        weighted.WEIGHTED_MARGIN_CHANGE,
        little_liu.R1,
        little_liu.R1_SHARE,
        little_liu.P1,
        little_liu.R2,
        little_liu.P2,
        uniques.SAMPLE_UNIQUES,
        uniques.UNCHANGED_UNIQUES,
        uniques.K_ANONYMITY,
        uniques.K_ANONYMITY_SHARE,
        uniques.POPULATION_UNIQUES,
        uniques.EXPECTED_MATCHES,
        households.EXPOSED_HOUSEHOLDS,
        households.HOUSEHOLD_UNIQUES,
        households.RISKY_LEFT,
        households.LEFT_LEVEL,
        households.AREA_CHANGE,
        external.EXTERNAL_LINKS,
        external.EXTERNAL_UNMATCHED,
        attribution.CORRECT_ATTRIBUTION,
        attribution.ATTRIBUTION_GAIN,
        linkage.DISTANCE_LINKAGE,
        fellegi_sunter.PROBABILISTIC_LINKAGE,
        attack.ATTACK,
        unswapped_keys.SMALL_CELLS_UNSWAPPED,
        unswapped_keys.UNIQUES_UNSWAPPED,
        unswapped_keys.EXPECTED_MATCHES_UNSWAPPED,
        unswapped_keys.SMALL_CELLS_SUBSET,
        detection.RATE_ERROR,
        detection.DETECTION_AUC,
        detection.DETECTION_PRECISION,
        detection.SMALL_CELLS_RECOGNISED,
        detection.ALTERED_SHARE_MAX,
        rarity.RARITY_AUC,
        attribute_disclosure.L_DIVERSITY,
        attribute_disclosure.T_CLOSENESS,
    )
}

MEASURES: Registry[Measure] = Registry("measure", _BUILT_IN, _BUILT_IN.__getitem__, Measure)
"""Every measure by its name."""


def register(measure: Measure) -> Measure:
    """Add a measure from outside the package, for as long as this process runs; returns it.

    A measure registered before under the same name is replaced; the name of a measure of the package is refused.

    Example::

        sf.register_measure(sf.Measure("moved", kind="utility", better="lower", compute=share_moved, ...))
    """
    return MEASURES.register(measure)


def call(text: str) -> MeasureCall:
    """The measure written as ``name`` or ``name[parameter=value]``."""
    return parse_call(text, MEASURES)


__all__ = [
    "MEASURES",
    "Figure",
    "Measure",
    "MeasureCall",
    "call",
    "evaluate",
    "evaluate_records",
    "original_batch",
    "register",
]
