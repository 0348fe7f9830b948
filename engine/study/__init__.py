"""The study file; no other package speaks SQL."""

__all__ = [
    "decision_log",
    "key_commitment",
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
