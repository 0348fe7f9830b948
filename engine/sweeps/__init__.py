"""From a plan to a filled study, and one realisation made again."""

__all__ = [
    "adaptive",
    "candidates",
    "cluster",
    "evaluator",
    "groups",
    "meaning",
    "probe",
    "reader_attacks",
    "record_evaluator",
    "remake",
    "runner",
    "sweep",
    "warnings",
    "workers",
]
