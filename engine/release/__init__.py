"""Candidate releases: specs, release spaces, sparse changes of the table, records, results."""
