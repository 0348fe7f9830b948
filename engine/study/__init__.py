"""The study file; no other package speaks SQL."""

__all__ = [
    "decision_log",
    "keys",
    "lease",
    "live_frontier",
    "log_seal",
    "map_reader",
    "pins",
    "plan_changes",
    "runs",
    "study",
]
