"""Candidate releases: specs, release spaces, sparse changes of the table, records, results."""

__all__ = [
    "amount",
    "batch",
    "equal_roles",
    "exchanges",
    "ids",
    "order_trace",
    "parameter",
    "reader_view",
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
