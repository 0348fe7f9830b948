"""The recorded choice, its states, comparisons, altered groups, bounds that nothing meets, and disclosing texts."""

__all__ = [
    "altered_groups",
    "bound_words",
    "choice",
    "comparison",
    "disclosure_text",
    "gate",
    "meant_run",
    "statements",
    "states",
    "unmet_bound",
    "verdict_log",
]
