"""Statistical models that mechanisms and measures rest on."""

__all__ = [
    "analyses",
    "columns",
    "combining",
    "location",
    "loglinear",
    "loglinear_search",
    "record_release",
    "regression",
    "statsmodels_fit",
    "transition",
]
