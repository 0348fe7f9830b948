"""The study file; no other package speaks SQL."""

__all__ = [
    "decision_log",
    "earlier_studies",
    "key_commitment",
    "keys",
    "lease",
    "ledger",
    "live_frontier",
    "log_seal",
    "map_reader",
    "pins",
    "plan_changes",
    "runs",
    "study",
]
