"""The risk–utility frontier: maxima, means and errors, dominance, and rules that choose."""

__all__ = [
    "chance",
    "indistinguishable",
    "neighbours",
    "risk_utility_map",
    "selection",
    "summary",
    "tradeoff",
    "undominated",
]
