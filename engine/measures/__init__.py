"""All measures by name; each lives in a file of this package, which is imported on demand.

A new one is a function in a file of this package and a name here; :func:`register` adds one from outside
(docs/extending.md).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from engine.common.registry import Registry
from engine.measures.base import (
    Figure,
    Measure,
    MeasureCall,
    evaluate,
    evaluate_records,
    original_batch,
    parse_call,
)

BY_FILE = {
    "small_cells": (
        "small_cells",
        "small_cells_unswapped",
        "uniques_unswapped",
        "expected_matches_unswapped",
        "small_cells_subset",
    ),
    "distortion": (
        "hellinger",
        "hellinger_large",
        "total_variation",
        "entropy_change",
        "false_zeros",
        "false_nonzeros",
        "new_combinations",
        "hellinger_two_way",
        "total_variation_two_way",
        "entropy_change_two_way",
        "largest_two_way",
        "cramers_v_change",
        "contingency_change",
        "edit_failures",
    ),
    "inference": (
        "du_llm",
        "du_llm_per_record",
    ),
    "reanalysis": (
        "ci_overlap",
        "ci_disjoint",
        "coefficient_shift",
        "sign_changes",
        "coefficients_lost",
        "information_loss",
    ),
    "moments": (
        "mean_shift",
        "covariance_ratio",
        "correlation_change",
    ),
    "propensity": (
        "pmse",
        "pmse_ratio",
        "pmse_tree",
        "specks",
    ),
    "weighted": (
        "weighted_hellinger",
        "weighted_total_variation",
        "weighted_entropy_change",
        "weighted_margin_change",
    ),
    "little_liu": (
        "r1",
        "r1_share",
        "p1",
        "r2",
        "p2",
    ),
    "uniques": (
        "sample_uniques",
        "unchanged_uniques",
        "k_anonymity",
        "k_anonymity_share",
        "population_uniques",
        "expected_matches",
    ),
    "households": (
        "exposed_households",
        "household_uniques",
        "risky_left",
        "left_level",
        "area_change",
    ),
    "linkage": (
        "external_links",
        "external_unmatched",
        "distance_linkage",
    ),
    "fellegi_sunter": ("probabilistic_linkage",),
    "attack": ("attack",),
    "detection": (
        "rate_error",
        "detection_auc",
        "detection_precision",
        "small_cells_recognised",
        "altered_share_max",
        "rarity_auc",
    ),
    "moved_units": (
        "detection_unit_auc",
        "detection_unit_precision",
        "detection_unit_certain",
    ),
    "attribute_disclosure": (
        "l_diversity",
        "t_closeness",
        "correct_attribution",
        "attribution_gain",
    ),
}
"""Measures by the file of this package that holds them, each as a constant of its name in capitals."""
_FILES = {name: file for file, names in BY_FILE.items() for name in names}


@cache
def _load(name: str) -> Measure:
    loaded: Measure = getattr(import_module(f"engine.measures.{_FILES[name]}"), name.upper())
    return loaded


MEASURES: Registry[Measure] = Registry("measure", _FILES, _load, Measure)
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
