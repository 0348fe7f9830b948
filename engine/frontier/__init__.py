"""The risk–utility frontier: maxima, means and errors, dominance, and rules that choose."""

__all__ = [
    "chance",
    "indistinguishable",
    "neighbours",
    "recall",
    "risk_utility_map",
    "selection",
    "summary",
    "tradeoff",
    "undominated",
]
