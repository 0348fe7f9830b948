"""From a plan to a filled study, and one realisation made again."""

__all__ = [
    "adaptive",
    "added_measures",
    "baseline",
    "candidates",
    "evaluator",
    "probe",
    "readiness",
    "recheck",
    "recodes",
    "record_evaluator",
    "release_warnings",
    "remake",
    "remarks",
    "runner",
    "space_count",
    "swap_ways",
    "sweep",
    "unit_warnings",
    "warning_remedies",
    "workers",
]
