"""The recorded choice, its states, comparisons, altered groups, bounds that nothing meets, and disclosing texts."""

__all__ = [
    "altered_groups",
    "bound_words",
    "cautions",
    "choice",
    "comparison",
    "disclosure_text",
    "meant_run",
    "release_check",
    "slope",
    "states",
    "unmet_bound",
    "verdict_log",
]
