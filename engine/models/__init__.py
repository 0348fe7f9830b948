"""Statistical models that mechanisms and measures rest on."""

__all__ = [
    "adjusted_table",
    "analyses",
    "formulas",
    "learned_suspicion",
    "level_model",
    "location",
    "loglinear",
    "margin_inference",
    "record_release",
    "regression",
    "statsmodels_fit",
    "swap_detection",
    "table_excess",
]
