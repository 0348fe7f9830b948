"""The study file; no other package speaks SQL."""

__all__ = [
    "decision_log",
    "keys",
    "lease",
    "live_frontier",
    "log_seal",
    "pins",
    "plan_changes",
    "runs",
    "study",
    "study_map",
]
