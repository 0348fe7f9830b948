"""Candidate releases: specs, release spaces, sparse changes of the table, records, results."""

__all__ = [
    "batch",
    "equal_roles",
    "exchanges",
    "ids",
    "order_trace",
    "parameter",
    "records",
    "release_specs",
    "results",
    "scenarios",
    "selection",
    "space",
    "space_size",
    "spec",
    "specs",
    "touched",
]
