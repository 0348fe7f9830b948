"""Candidate releases: specs, release spaces, sparse changes of the table, records, results."""

__all__ = [
    "batch",
    "order_trace",
    "parameter",
    "records",
    "results",
    "scenarios",
    "selection",
    "space",
    "space_size",
    "spec",
    "touched",
]
