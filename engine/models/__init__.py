"""Statistical models that mechanisms and measures rest on."""

__all__ = [
    "adjusted_table",
    "analyses",
    "columns",
    "combining",
    "formulas",
    "level_model",
    "levels",
    "location",
    "loglinear",
    "loglinear_search",
    "margin_inference",
    "rate_likelihood",
    "record_release",
    "regression",
    "statsmodels_fit",
    "swap_detection",
    "table_excess",
    "transition",
    "unknown_counts",
]
