"""Candidate releases: specs, release spaces, sparse changes of the table, records, results."""

__all__ = ["batch", "parameter", "records", "results", "scenarios", "space", "space_size", "spec", "touched"]
