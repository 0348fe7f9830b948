"""From a plan to a filled study, and one realisation made again."""

__all__ = [
    "baseline",
    "candidates",
    "evaluator",
    "probe",
    "readiness",
    "recodes",
    "record_evaluator",
    "release_warnings",
    "remake",
    "rerun",
    "runner",
    "space_count",
    "sweep",
    "workers",
]
